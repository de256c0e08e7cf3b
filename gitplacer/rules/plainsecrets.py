"""
Secrets in plain text, which Git keeps for ever and shows to whoever may read the deployment repo.

A Secret with values is one, unless SOPS encrypted each of them. Of other objects a value is called by its name at most; what
it is never stands in a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gitplacer.documents import Path, dotted
from gitplacer.rules.anything import Anything, ObjectRule
from gitplacer.rules.embedded import env_vars
from gitplacer.rules.secretwords import surely_secret
from gitplacer.rules.serverfields import LAST_APPLIED
from gitplacer.rules.sops import is_sops
from gitplacer.workloads.annotated import SECRETS as NAMING_SECRETS

_SECRET_FIELDS = ("data", "stringData")
_ENCRYPTED = "ENC["
_ARGUMENTS = ("args", "command")
_NO_VALUES = (
    "checksum/",
    "allow.gitplacer.dev/",
    LAST_APPLIED,
    "vault.hashicorp.com/agent-inject-secret-",
    *NAMING_SECRETS,
)
"""
Annotations with the digest of a secret, with a reason, and one that another rule refuses; those that say where in a vault a secret is, and those
that name a Secret.
"""
_INSTEAD = "seal it, let an ExternalSecret bring it, or encrypt it with SOPS; its Tenant may say secrets: Plain"


def secret(found: Anything) -> None:
    """A Secret whose values can be read."""
    if (found.group, found.kind) != ("", "Secret"):
        return
    encrypted = is_sops(found.root.value)
    for field in _SECRET_FIELDS:
        values = found.root.value.get(field)
        if not values or (encrypted and _all_encrypted(values)):
            continue
        found.tell("PlainSecret", f"{field} of this Secret is in plain text", _INSTEAD, (field,), key=True)


def elsewhere(found: Anything) -> None:
    """Variables, arguments and annotations that look like secrets, and variables that Ray is given in a text."""
    for path, name, value in _texts(found):
        if surely_secret(name, value):
            _tell(found, path, name, "take it from a Secret, by valueFrom or a volume")
    for path, mapping in found.mappings:
        for field, name, value in env_vars(mapping):
            if surely_secret(name, value):
                _tell(
                    found,
                    (*path, field),
                    name[:63],
                    "give it to the pods of the Ray cluster, from a Secret: valueFrom in their env",
                )


def _tell(found: Anything, path: Path, name: str, hint: str) -> None:
    what = f"{name} looks" if name else "this looks"
    found.tell("SecretInPlain", f"{dotted(path)}: {what} like a secret in plain text", hint, path)


def _all_encrypted(values: Any) -> bool:
    """SOPS leaves what is empty as it is."""
    texts: Iterable[Any] = values.values() if isinstance(values, dict) else (values,)
    return all(not text or (isinstance(text, str) and text.startswith(_ENCRYPTED)) for text in texts)


def _texts(found: Anything) -> Iterator[tuple[Path, str, str]]:
    """Path, name ('' for none) and value of what an app is started with, and of annotations."""
    for path, key, value in found.marks():
        if path[1] == "annotations" and not key.startswith(_NO_VALUES):
            yield path, key.rpartition("/")[2], value
    for path, mapping in found.mappings:
        variable, text = mapping.get("name"), mapping.get("value")
        if isinstance(variable, str) and isinstance(text, str):
            yield (*path, "value"), variable, text
        for field in _ARGUMENTS:
            items = mapping.get(field)
            for index, item in enumerate(items) if isinstance(items, list) else ():
                if isinstance(item, str):
                    yield (*path, field, index), "", item
        if isinstance(entrypoint := mapping.get("entrypoint"), str):
            yield (*path, "entrypoint"), "", entrypoint


RULES: tuple[ObjectRule, ...] = (secret, elsewhere)
