"""
The way to a cluster: a kubeconfig of the user's own, or the service account of the pod that we run in.

A kubeconfig can name a program that is run to get a token, and a server to which it goes. So a file is believed only if it is the
user's: named on the command line, by KUBECONFIG, or in the home directory; and neither writable by everybody, nor another
user's, nor from within a Git work tree. What a repository holds is input, and input runs nothing. A server whose certificate is not
checked could be anybody, so that takes a word on the command line.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct
from pydantic import ValidationError

from gitplacer.capacity.access import Access, ClusterError
from gitplacer.capacity.programs import in_time
from gitplacer.documents import parse
from gitplacer.git.address import is_loopback
from gitplacer.kinds.selectors import ClusterMetadata
from gitplacer.plaintext import few, pasted, printable
from gitplacer.problems import nearest
from gitplacer.redactor import hide

VARIABLE = "KUBECONFIG"
USUAL = "~/.kube/config"
LARGEST = 16 << 20
"""Bytes of a kubeconfig."""
INSTALL = "pip install 'gitplacer[clusters]'"


class UntrustedKubeconfig(ClusterError):
    """A kubeconfig that may be somebody else's."""


class Kubeconfig(Struct, frozen=True):
    """One or several files that are read as one: what an earlier one says counts."""

    files: tuple[str, ...]
    contents: tuple[Mapping[str, Any], ...]

    @property
    def named(self) -> str:
        return os.pathsep.join(self.files)

    def entry(self, key: str, name: object) -> Mapping[str, Any]:
        """The cluster, user or context of a name; empty if there is none."""
        for content in self.contents:
            for item in _entries(content, f"{key}s"):
                found = item.get(key)
                if item.get("name") == name:
                    return found if isinstance(found, dict) else {}
        return {}

    def names(self, key: str) -> tuple[str, ...]:
        """The names of its clusters, users or contexts."""
        names = (item.get("name") for content in self.contents for item in _entries(content, f"{key}s"))
        return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))

    @property
    def contexts(self) -> tuple[str, ...]:
        """The names of its contexts."""
        return self.names("context")

    def context(self, wanted: str | None) -> str:
        """A context that is there: the wanted one, or the current one. Raises ClusterError."""
        current = next((text for c in self.contents if isinstance(text := c.get("current-context"), str) and text), "")
        name = wanted or current
        if name in self.contexts:
            return name
        if not wanted and not current:
            known = few(self.contexts) or "of which it has none"
            raise ClusterError(f"{self.named} has no current context", f"give --context: {known}")
        raise ClusterError(f'there is no context "{printable(name)}" in {self.named}', nearest(name, self.contexts))


def kubeconfig(given: str | None, environ: Mapping[str, str]) -> Kubeconfig:
    """
    The kubeconfig that was named, else those that KUBECONFIG names, else the usual one. Raises ClusterError,
    UntrustedKubeconfig for a file that is not to be believed.
    """
    usual = str(Path(USUAL).expanduser())
    names = [given] if given else [name for name in environ.get(VARIABLE, "").split(os.pathsep) if name] or [usual]
    there = [name for name in names if given or Path(name).exists()]  # kubectl passes over what is not there, too
    if not there:
        raise ClusterError(
            f"there is no kubeconfig {few(names)}", "give --kubeconfig FILE, or --in-cluster inside of a pod"
        )
    return Kubeconfig(tuple(there), tuple(_read(Path(name)) for name in there))


def _entries(content: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    items = content.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _read(path: Path) -> Mapping[str, Any]:
    """A kubeconfig, if it is to be believed."""
    trusted(path)
    if path.stat().st_size > LARGEST:
        raise ClusterError(f"{path} is too large for a kubeconfig")
    parsed = parse(path.read_bytes())
    if parsed.faults:
        fault = parsed.faults[0]
        raise ClusterError(f"{path}:{fault.line}:{fault.column}: {fault.message}", fault.hint)
    if len(parsed.documents) != 1:
        raise ClusterError(f"{path} is not a kubeconfig", "`kubectl config view --raw` shows one")
    content: Mapping[str, Any] = parsed.documents[0].value
    for number, secret in enumerate(_certain_secrets(content)):
        hide(secret, f"{path} {number}")
    return content


def trusted(path: Path) -> None:
    """Raises UntrustedKubeconfig for a file that others than the user may have written."""
    place = path.resolve()
    if not place.is_file():
        raise ClusterError(f"there is no kubeconfig {path}", "give --kubeconfig FILE")
    info = place.stat()
    if info.st_uid not in (os.getuid(), 0):
        raise UntrustedKubeconfig(
            f"{path} belongs to another user, who could have us run programs", "make a copy that is your own"
        )
    if info.st_mode & stat.S_IWOTH:
        raise UntrustedKubeconfig(
            f"everybody may write {path}, and so have us run programs", f"chmod o-w {pasted(path)}"
        )
    if place.is_relative_to(Path(USUAL).expanduser().parent.resolve()):
        return  # where some keep their whole home directory in Git
    for folder in place.parents:
        if (folder / ".git").exists():
            raise UntrustedKubeconfig(
                f"{path} is in the Git work tree {folder}, and what a repository says runs nothing here",
                "keep kubeconfigs outside of repositories",
            )


def cluster_name(text: str, *, given: bool = True) -> str:
    """What the fleet calls a cluster, if it can be called that. Raises ClusterError."""
    try:
        return ClusterMetadata(name=text).name
    except ValidationError:
        said = f'"{printable(text)}" cannot be the name of a cluster'
        hint = "a cluster's name has up to 63 lower-case letters, digits and dashes"
        raise ClusterError(said, hint if given else f"{hint}: give --cluster NAME") from None


def access_to(found: Kubeconfig, name: str, *, insecure: bool = False) -> Access:
    """The API server of a context. Raises ClusterError."""
    client, config = _client()
    context = found.entry("context", name)
    for key in ("cluster", "user"):
        if context.get(key, "") not in (*found.names(key), "" if key == "user" else None):
            said = printable(str(context.get(key) or ""))
            raise ClusterError(f'context {name} of {found.named} names a {key} "{said}" that is not there')
    if found.entry("cluster", context.get("cluster")).get("insecure-skip-tls-verify") and not insecure:
        raise ClusterError(
            f"context {name} does not check the certificate of its server, so it could be anybody",
            "give its certificate-authority in the kubeconfig; --insecure goes on without",
        )
    address = str(found.entry("cluster", context.get("cluster")).get("server") or "")
    try:
        server = urlsplit(address)
    except ValueError:
        raise ClusterError(
            f"context {name} goes to {printable(address)}, which is no address", "write https://HOST:PORT"
        ) from None
    if server.scheme != "https" and not insecure and not is_loopback(server.hostname or ""):
        raise ClusterError(
            f"context {name} goes to {printable(server.geturl())}, where everybody on the way can read the token",
            "give an https:// server; --insecure goes on without",
        )

    def unusable(said: str) -> ClusterError:
        return ClusterError(
            f"context {name} of {found.named} cannot be used: {_without_secrets(said, found.contents)}",
            f"does `kubectl --context {name} get nodes` work?",
        )

    configuration = client.Configuration()
    with _said() as said_by_client:
        try:
            in_time(
                partial(
                    config.load_kube_config,
                    found.named,
                    context=name,
                    client_configuration=configuration,
                    persist_config=False,
                )
            )
            if not said_by_client:
                return _access(client, configuration, unusable, _acting_as(found.entry("user", context.get("user"))))
        except Exception as error:  # whatever the client stumbles over: providers, proxies, certificates
            said_by_client.append(f"{error}" or type(error).__name__)
    raise unusable(said_by_client[0])


@contextlib.contextmanager
def _said() -> Iterator[list[str]]:
    """What the client logs instead of raising it, such as that a program that should get a token has failed."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record.getMessage())

    handler = Keep(logging.ERROR)
    logging.getLogger().addHandler(handler)
    try:
        yield found
    finally:
        logging.getLogger().removeHandler(handler)


def access_in_cluster() -> Access:
    """The API server of the cluster that we run in. Raises ClusterError."""
    client, config = _client()
    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)
    except config.ConfigException as error:
        raise ClusterError(
            f"this is not a pod with a service account: {error}", "outside of a cluster give --context or --kubeconfig"
        ) from None
    return _access(client, configuration, _unusable_account)


def _unusable_account(said: str) -> ClusterError:
    hint = "does the pod still have the token of its service account?"
    return ClusterError(f"the service account of this pod cannot be used: {printable(said, 500)}", hint)


def _client() -> tuple[Any, Any]:
    try:
        from kubernetes import client, config
    except ImportError:
        raise ClusterError("reading live clusters needs the Kubernetes client", INSTALL) from None
    return client, config


def _acting_as(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers by which a user of a kubeconfig acts as another, which the client leaves out. Raises ValueError."""
    named = [("Impersonate-User", user.get("as")), ("Impersonate-Uid", user.get("as-uid"))]
    named += [("Impersonate-Group", group) for group in user.get("as-groups") or ()]
    for key, values in (user.get("as-user-extra") or {}).items():
        named += [(f"Impersonate-Extra-{quote(key, safe='').lower()}", value) for value in values]
    told = [(name, value) for name, value in named if value not in (None, "")]
    if any(not isinstance(value, str) or not _SENDABLE.fullmatch(value) for _, value in told):
        raise ValueError("whom it acts as is no name")
    if told and told[0][0] != "Impersonate-User":
        raise ValueError("it acts as somebody without `as`")
    return told


def _access(
    client: Any, configuration: Any, unusable: Callable[[str], ClusterError], acting_as: Iterable[tuple[str, str]] = ()
) -> Access:
    configuration.retries = False
    if not configuration.verify_ssl:  # which somebody asked for on the command line
        import urllib3

        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    from gitplacer.capacity.deadlines import with_deadline  # which needs urllib3

    pool = with_deadline(client.ApiClient(configuration).rest_client.pool_manager)
    for value in configuration.api_key.values():  # before a program that gave it can repeat it
        hide(str(value).rpartition(" ")[2].strip(), f"first token for {configuration.host}")

    def headers() -> Mapping[str, str]:
        """Those that prove who we are; a token that is about to expire is fetched anew."""
        with _said() as said_by_client:
            try:
                hook, settings = configuration.refresh_api_key_hook, configuration.auth_settings
                known = (settings() if hook is None else in_time(settings)).values()
            except Exception as error:  # the token's file is gone, or empty
                said_by_client.append(f"{error}" or type(error).__name__)
        if said_by_client:
            raise unusable(said_by_client[0])
        # Files end in a line break, which is no part of a token and must not be in a header.
        found = {item["key"]: item["value"].strip() for item in known if item["in"] == "header" and item["value"]}
        for name, value in found.items():
            hide(value.rpartition(" ")[2], f"{name} for {configuration.host}")
            if not _SENDABLE.fullmatch(value):
                raise unusable("its token or password holds characters that cannot be sent")
        if not acting_as:
            return found
        import urllib3

        sent = urllib3.HTTPHeaderDict(found)
        for name, value in acting_as:
            sent.add(name, value)
        return sent

    return Access(configuration.host.rstrip("/"), pool, headers)


_SENDABLE = re.compile(r"[\x20-\x7e]*")
_HELD = frozenset(
    {"token", "password", "client-key-data", "id-token", "refresh-token", "access-token", "client-secret"}
)


def _certain_secrets(value: Any) -> Iterator[str]:
    """What a kubeconfig holds that lets somebody in: tokens, passwords, keys, and what it hands to programs under such a name."""
    if isinstance(value, dict):
        named = value.get("name") if isinstance(value.get("value"), str) else None
        if isinstance(named, str) and _SECRET.search(named):
            yield value["value"]
        for key, item in value.items():
            if key in _HELD and isinstance(item, str):
                yield item
            else:
                yield from _certain_secrets(item)
    elif isinstance(value, list):
        for item in value:
            yield from _certain_secrets(item)


_SECRET = re.compile(r"token|password|key|secret|data", re.IGNORECASE)


def _without_secrets(text: str, contents: Iterable[Mapping[str, Any]]) -> str:
    """What went wrong, without anything secret that kubeconfigs hold."""
    found = {secret for content in contents for secret in _secrets(content)}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, "…")
    return printable(" ".join(text.split()), 500)


def _secrets(value: Any, *, under: bool = False) -> set[str]:
    if isinstance(value, dict):
        return {s for key, item in value.items() for s in _secrets(item, under=under or bool(_SECRET.search(str(key))))}
    if isinstance(value, list):
        return {secret for item in value for secret in _secrets(item, under=under)}
    return {value} if under and isinstance(value, str) and len(value) > 3 else set()
