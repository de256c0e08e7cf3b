"""
Texts in a Ray spec that KubeRay reads as a YAML mapping: `runtimeEnvYAML` of a job, `serveConfigV2` of a service.

The manifest around such a text is valid YAML whatever is in it, so the API server takes it, and only KubeRay stumbles. Go's reader takes
the first document and nothing after it, and we are stricter than it: of a key set twice it takes the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Cursor
from gitplacer.documents.parse import load
from gitplacer.rules.manifest import tell

RUNTIME_ENV, SERVE_CONFIG = "runtimeEnvYAML", "serveConfigV2"
_NOT_YAML = frozenset(
    (
        "ConflictMarkers",
        "InvalidCharacter",
        "InvalidMerge",
        "InvalidYAML",
        "RecursiveAlias",
        "TabIndentation",
        "UndefinedAlias",
        "UnrenderedTemplate",
    )
)
"""Flaws that Go's YAML reader stumbles over too."""


def mapping_in_text(cursor: Cursor, key: str, code: str, example: str) -> Mapping[str, Any]:
    """
    The YAML mapping in the text under a key; an empty text is one. Where it is none that is told with a code, and it is empty.
    `example` is what may stand below the key.
    """
    text = cursor.text(key)
    if not text:
        return {}
    hint = f"write it as a block: {key}: | and below it, indented, for example {example}"
    documents, flaws = load(text)
    end = documents[0].end if documents else len(text) + 1
    for flaw in flaws:
        if flaw.code in _NOT_YAML and flaw.at < end:
            line = text.rstrip().count("\n", 0, flaw.at) + 1
            tell(cursor, code, f"{key} is not YAML: line {line}: {flaw.message}", flaw.hint or hint, key=key)
            return {}
    if not documents or not documents[0].sound:
        return {}
    value = documents[0].value
    if not isinstance(value, dict):
        tell(cursor, code, f"{key} is not a mapping", hint, key=key)
        return {}
    return value


def runtime_envs(app: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Those of an application of a `serveConfigV2`: its own, and those of the actors of its deployments."""
    deployments = app.get("deployments")
    of_actors = [each.get("ray_actor_options") for each in _mappings(deployments)]
    for owner in (app, *of_actors):
        env = owner.get("runtime_env") if isinstance(owner, dict) else None
        if isinstance(env, dict):
            yield env


def env_vars(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The variables that such texts of a spec give what Ray runs: the field, the name and the value. What is wrong with a text is told elsewhere."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    if RUNTIME_ENV in spec:  # few have either, and this is asked of every mapping
        found.append((RUNTIME_ENV, _loaded(spec[RUNTIME_ENV])))
    if SERVE_CONFIG in spec:
        apps = _mappings(_loaded(spec[SERVE_CONFIG]).get("applications"))
        found += [(SERVE_CONFIG, env) for app in apps for env in runtime_envs(app)]
    for field, env in found:
        variables = env.get("env_vars")
        for name, value in variables.items() if isinstance(variables, dict) else ():
            if isinstance(value, str):
                yield field, name, value


def _loaded(text: Any) -> Mapping[str, Any]:
    """What a text says that may have variables in it; nothing of any other."""
    # The name of the variables may be spelt by escapes. What has neither is spared another parse.
    if not isinstance(text, str) or ("env_vars" not in text and "\\" not in text):
        return {}
    documents, _ = load(text)
    value = documents[0].value if documents and documents[0].sound else None
    return value if isinstance(value, dict) else {}


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
