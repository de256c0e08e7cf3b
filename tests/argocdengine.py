"""
A small Argo CD: ApplicationSets to Applications, and Applications to what is on each cluster.

It knows Argo CD's rules and nothing of gitplacer. Generators: list, clusters, git directories, and matrix, whose second part may
use the parameters of the first. Templates: fields, `index`, `printf`, and the few functions of sprig that name things; a missing key
is an error. An Application reads its directory as `judges.argocd` does, with or without the folders below it; a path that is not there
is an error, and nothing is pruned. It takes what it applies for its own, whoever had it, and prunes what is its own and not in its
directory. One that goes takes what is its own with it if it has the finalizer, and leaves it if not; one whose ApplicationSet is
deleted without `cascade` stays. An object that is deleted and made again is another one: that is what a RayJob that runs twice is.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tests.judges import Identity, Object, argocd

FINALIZER = "resources-finalizer.argocd.argoproj.io"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\(|\)|\||[^\s()|]+')


class MissingKey(Exception):
    """What Argo CD says with `missingkey=error`."""


def render(text: str, values: Mapping[str, Any]) -> str:
    """A Go template, as far as one names things."""
    return re.sub(r"\{\{(.*?)\}\}", lambda found: str(_evaluated(found[1], values)), text, flags=re.DOTALL)


def _evaluated(expression: str, values: Mapping[str, Any]) -> Any:
    tokens = _TOKEN.findall(expression)
    return _pipeline(tokens, values)


def _pipeline(tokens: list[str], values: Mapping[str, Any]) -> Any:
    result: list[Any] = []
    while True:
        words: list[Any] = []
        while tokens and tokens[0] not in ("|", ")"):
            token = tokens.pop(0)
            words.append(_pipeline(tokens, values) if token == "(" else _word(token, values))
        result = [_called([*words, *result])]
        if not tokens or tokens.pop(0) == ")":
            return result[0]


def _word(token: str, values: Mapping[str, Any]) -> Any:
    if token.startswith('"'):
        return token[1:-1]
    if token.isdecimal():
        return int(token)
    if not token.startswith("."):
        return _Function(token)
    found: Any = values
    for part in token[1:].split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise MissingKey(token)
        found = found[part]
    return found


@dataclass(frozen=True)
class _Function:
    name: str


def _called(words: list[Any]) -> Any:
    if not isinstance(words[0], _Function):
        assert len(words) == 1, words
        return words[0]
    name, arguments = words[0].name, words[1:]
    if name == "index":
        found = arguments[0]
        for key in arguments[1:]:
            if isinstance(found, Mapping) and key not in found:
                raise MissingKey(key)
            found = found[key]
        return found
    if name == "printf":
        return arguments[0] % tuple(arguments[1:])
    if name == "trunc":
        return arguments[1][: arguments[0]]
    if name == "trimAll":
        return arguments[1].strip(arguments[0])
    assert name == "sha256sum", name
    return hashlib.sha256(arguments[0].encode()).hexdigest()


def _rendered(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return render(value, values)
    if isinstance(value, Mapping):
        return {key: _rendered(item, values) for key, item in value.items()}
    return [_rendered(item, values) for item in value] if isinstance(value, list) else value


def _parameters(generator: Mapping[str, Any], tree: Mapping[str, bytes], secrets: Sequence[Mapping[str, Any]]) -> Any:
    ((kind, body),) = generator.items()
    if kind == "list":
        return list(body["elements"])
    if kind == "clusters":
        wanted = [each["key"] for each in body["selector"]["matchExpressions"]]
        return [s for s in secrets if all(key in s["metadata"]["labels"] for key in wanted)]
    if kind == "git":
        folders = sorted({"/".join(p.split("/")[:n]) for p in tree for n in range(1, p.count("/") + 1)})
        patterns = [each["path"] for each in body["directories"]]
        return [_path(f) for f in folders if any(_matches(f, pattern) for pattern in patterns)]
    assert kind == "matrix", kind
    first, second = body["generators"]
    return [
        {**left, **right}
        for left in _parameters(first, tree, secrets)
        for right in _parameters(_rendered(second, left) if "git" in second else second, tree, secrets)
    ]


def _matches(folder: str, pattern: str) -> bool:
    parts, wanted = folder.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _path(folder: str) -> dict[str, Any]:
    name = folder.rpartition("/")[2]
    normal = re.sub(r"[^a-z0-9.-]", "-", name.lower())[:253].strip("-.")
    return {"path": {"path": folder, "basename": name, "basenameNormalized": normal, "segments": folder.split("/")}}


def applications(
    made: Mapping[str, Any], tree: Mapping[str, bytes], secrets: Sequence[Mapping[str, Any]] = ()
) -> dict[str, dict[str, Any]]:
    """The Applications of an ApplicationSet, by name. Two of one name are an error, as for Argo CD."""
    spec = made["spec"]
    assert spec["goTemplate"] and spec["goTemplateOptions"] == ["missingkey=error"]
    found: dict[str, dict[str, Any]] = {}
    for generator in spec["generators"]:
        for values in _parameters(generator, tree, secrets):
            application = _rendered(spec["template"], values)
            name = application["metadata"]["name"]
            assert name not in found, f"two Applications called {name}"
            if not spec["syncPolicy"]["preserveResourcesOnDeletion"]:
                application["metadata"].setdefault("finalizers", [FINALIZER])
            found[name] = application
    return found


def read_by(application: Mapping[str, Any], tree: Mapping[str, bytes]) -> list[Object] | None:
    """What an Application would apply, None where its path is not there."""
    source = application["spec"]["source"]
    folder, recurse = source["path"], source["directory"]["recurse"]
    files = {path[len(folder) + 1 :]: data for path, data in tree.items() if path.startswith(folder + "/")}
    if not files:
        return None
    return argocd(folder, {name: data for name, data in files.items() if recurse or "/" not in name}, [])


@dataclass
class Live:
    """An object on a cluster: which one it is, whose it is, and what it says."""

    uid: int
    owner: str
    says: str


@dataclass
class ArgoCD:
    """Argo CD and the clusters it reaches. `refresh` is what its controllers do about a commit."""

    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    apps: dict[str, dict[str, Any]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """Application to the ApplicationSet that made it."""
    clusters: dict[str, dict[Identity, Live]] = field(default_factory=dict)
    _uids: Iterator[int] = field(default_factory=itertools.count)

    def apply(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """`kubectl apply`."""
        for document in documents:
            if document["kind"] == "ApplicationSet":
                self.sets[document["metadata"]["name"]] = dict(document)

    def generate(self, tree: Mapping[str, bytes], name: str) -> None:
        """What the ApplicationSet controller does about one ApplicationSet."""
        wanted = applications(self.sets[name], tree)
        for gone in [app for app, owner in self.owners.items() if owner == name and app not in wanted]:
            self.delete(gone)
        for app, value in wanted.items():
            assert self.owners.setdefault(app, name) == name, f"{app} belongs to another ApplicationSet"
            self.apps[app] = value

    def delete(self, app: str) -> None:
        """Delete an Application: with the finalizer, what is its own goes too."""
        value = self.apps.pop(app)
        self.owners.pop(app, None)
        if FINALIZER in value["metadata"].get("finalizers", ()):
            for objects in self.clusters.values():
                for identity in [i for i, live in objects.items() if live.owner == app]:
                    del objects[identity]

    def sync(self, tree: Mapping[str, bytes], app: str) -> None:
        """What the application controller does about one Application."""
        wanted = read_by(self.apps[app], tree)
        if wanted is None:
            return
        destination = self.apps[app]["spec"]["destination"]
        there = self.clusters.setdefault(destination.get("name") or destination["server"], {})
        for item in wanted:
            known = there.get(item.identity)
            there[item.identity] = Live(known.uid if known else next(self._uids), app, item.canonical)
        keep = {item.identity for item in wanted}
        for identity in [i for i, live in there.items() if live.owner == app and i not in keep]:
            del there[identity]

    def refresh(self, tree: Mapping[str, bytes]) -> None:
        """Everything once, in some order."""
        for name in list(self.sets):
            self.generate(tree, name)
        for app in sorted(self.apps):
            self.sync(tree, app)

    def objects(self) -> dict[str, set[Identity]]:
        return {cluster: set(objects) for cluster, objects in self.clusters.items()}
