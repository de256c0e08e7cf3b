"""
Two readers of a deployment tree, and what they would complain about.

Argo CD (a Directory source with `recurse: true`) and Flux (a Kustomization without a kustomization.yaml, so one is
generated) read the same directory by different rules. This judge knows those rules and nothing of gitplacer: it is
given a tree as paths and bytes, reads every synced directory `<root>/<cluster>/<unit>` as both engines would, and
returns what would fail, be skipped by one of them, be applied twice, or be pruned unasked.

Rules, from the engines' sources and docs: Argo CD reads *.yaml, *.yml, *.json (one object each) and *.jsonnet, expands
whatever has a list `items`, ignores YAML that is no object, and skips a file that says `+argocd:skip-file-rendering`
anywhere. Flux reads *.yaml and *.yml, expands kinds that end in List, fails the whole build for a document that is no
object, for a null in a list, and for an object that is there twice; drops what has the annotation
`config.kubernetes.io/local-config`, and leaves out what `.sourceignore` and its defaults name. A directory without
manifests is pruned whole by Flux and refused by Argo CD; one that vanishes stops both.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import yaml

UNITS = ("platform", "workloads")
SENTINEL = "gitplacer.yaml"
SKIP_MARKER = b"+argocd:skip-file-rendering"
LOCAL_CONFIG = "config.kubernetes.io/local-config"
COMBINED_LIMIT = 10 * 1024 * 1024
"""Bytes. Argo CD's default for all manifests of one Directory source."""

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_FLUX_IGNORES = (
    *(".git", ".gitignore", ".gitmodules", ".gitattributes", ".github", ".circleci", ".travis.yml", ".gitlab-ci.yml"),
    *("appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml"),
    *(".goreleaser.yml", ".sops.yaml", ".flux.yaml"),
    *("*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip"),
)
_CLUSTER_SCOPED = {
    *("Namespace", "Node", "PersistentVolume", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"),
    *("PriorityClass", "StorageClass", "RuntimeClass", "IngressClass", "APIService", "CSIDriver"),
    *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy"),
    *("ValidatingAdmissionPolicyBinding", "GatewayClass", "FlowSchema", "PriorityLevelConfiguration", "CSINode"),
    *("VolumeAttachment", "VolumeSnapshotClass", "DeviceClass", "ResourceSlice", "CertificateSigningRequest"),
}
_EVERYWHERE = {"default", "kube-system", "kube-public", "kube-node-lease"}

Identity = tuple[str, str, str, str]
"""API group, kind, namespace, name: what the API server tells objects apart by."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that an engine would do otherwise than was meant. `rule` is one of a few words that tests name."""

    path: str
    rule: str
    detail: str = ""


@dataclass(frozen=True)
class Object:
    """One Kubernetes object as an engine would apply it, and the file it came from."""

    path: str
    value: Mapping[str, Any]

    @property
    def identity(self) -> Identity:
        metadata = self.value["metadata"]
        kind = self.value["kind"]
        group = self.value["apiVersion"].rpartition("/")[0]
        namespace = "" if kind in _CLUSTER_SCOPED else metadata.get("namespace") or "default"
        return group, kind, namespace, metadata["name"]

    @property
    def canonical(self) -> str:
        return json.dumps(self.value, sort_keys=True, default=str)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML in which a date is text, as for Kubernetes, and a key that is there twice is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if len({repr(key) for key in keys}) != len(keys):
            raise yaml.constructor.ConstructorError(None, None, "a key is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
_Loader.add_constructor("tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node, deep=True))


def judge(tree: Mapping[str, bytes], root: str = "clusters", foreign: Collection[str] = ()) -> list[Finding]:
    """
    Everything that is wrong with the synced directories of a deployment tree, sorted.

    `foreign` are paths that somebody else keeps there: they are read like the rest, but may be of any type that
    both engines leave alone.
    """
    findings: list[Finding] = []
    synced: dict[tuple[str, str], dict[str, bytes]] = units(tree, root)
    applied: dict[str, dict[str, list[Object]]] = defaultdict(dict)
    for (cluster, unit), files in sorted(synced.items()):
        where = f"{root}/{cluster}/{unit}"
        own = {path.removeprefix(where + "/") for path in foreign if path.startswith(where + "/")}
        applied[cluster][unit] = _judge_unit(where, unit, files, own, findings)
    for path in sorted(tree):
        if path.startswith(root + "/") and path.count("/") < root.count("/") + 3 and path not in foreign:
            findings.append(Finding(path, "unsynced", "belongs to no unit, so no engine reads it"))
    _judge_paths(tree, root, findings)
    for cluster, by_unit in sorted(applied.items()):
        _judge_cluster(f"{root}/{cluster}", by_unit, findings)
    _judge_same_paths(root, applied, foreign, findings)
    return sorted(set(findings))


def judge_change(before: Mapping[str, bytes], after: Mapping[str, bytes], root: str = "clusters") -> list[Finding]:
    """What is wrong with the way from one tree to the next: vanished units, and epochs that do not tell of changes."""
    findings = []
    old, new = units(before, root), units(after, root)
    for key, files in sorted(old.items()):
        where = f"{root}/{key[0]}/{key[1]}"
        if SENTINEL not in files:
            continue
        if key not in new:
            findings.append(Finding(where, "vanished", "both engines stop with an error"))
            continue
        was, now = epoch(files[SENTINEL]), epoch(new[key].get(SENTINEL, b""))
        if was is None or now is None:
            findings.append(Finding(where, "sentinel", "has no epoch"))
            continue
        rest_changed = _without_sentinel(files) != _without_sentinel(new[key])
        if rest_changed and now <= was:
            findings.append(Finding(where, "epoch", f"the unit changed, and its epoch went from {was} to {now}"))
        if not rest_changed and files[SENTINEL] != new[key].get(SENTINEL):
            findings.append(Finding(where, "epoch", f"nothing else changed, and its epoch went from {was} to {now}"))
    for key in sorted(new.keys() - old.keys()):
        if (epoch(new[key].get(SENTINEL, b"")) or 0) < 1:
            findings.append(Finding(f"{root}/{key[0]}/{key[1]}", "sentinel", "a new unit has no epoch"))
    return findings


def units(tree: Mapping[str, bytes], root: str) -> dict[tuple[str, str], dict[str, bytes]]:
    """The synced directories: (cluster, unit) to files by their path below the unit."""
    found: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
    for path, data in tree.items():
        if path.startswith(root + "/"):
            parts = path.removeprefix(root + "/").split("/", 2)
            if len(parts) == 3:
                found[parts[0], parts[1]][parts[2]] = data
    return dict(found)


def objects_on(tree: Mapping[str, bytes], root: str = "clusters") -> dict[str, dict[Identity, Object]]:
    """What Argo CD would apply to each cluster, of all its units."""
    found: dict[str, dict[Identity, Object]] = defaultdict(dict)
    for (cluster, unit), files in units(tree, root).items():
        for item in argocd(f"{root}/{cluster}/{unit}", files, []):
            found[cluster][item.identity] = item
    return dict(found)


def epoch(sentinel: bytes) -> int | None:
    """The epoch that a sentinel tells, None if it tells none."""
    documents, fault = _documents(sentinel)
    if fault or len(documents) != 1 or not isinstance(documents[0], dict):
        return None
    text = (documents[0].get("data") or {}).get("epoch")
    return int(text) if isinstance(text, str) and re.fullmatch(r"[1-9][0-9]*", text) else None


def argocd(where: str, files: Mapping[str, bytes], findings: list[Finding]) -> list[Object]:
    """What Argo CD would apply from a directory, with what it would stumble over added to the findings."""
    found = []
    for name, data in sorted(files.items()):
        path, file = f"{where}/{name}", name.rpartition("/")[2]
        if re.fullmatch(r"(?s).*\.(yaml|yml|json|jsonnet)", file) is None or SKIP_MARKER in data:
            continue
        if file.endswith(".jsonnet"):
            findings.append(Finding(path, "engine", "Argo CD would run it"))
            continue
        if file.endswith(".json"):
            try:
                documents, fault = [json.loads(data)], ""
            except ValueError as error:
                documents, fault = [], str(error)
        else:
            documents, fault = _documents(data)
        if fault:
            findings.append(Finding(path, "unreadable", fault))
        for value in documents:
            items = value.get("items") if isinstance(value, dict) else None
            for item in items if isinstance(items, list) else [value]:
                if _fault_of(item) == "":
                    found.append(Object(path, item))
    return found


def flux(where: str, files: Mapping[str, bytes], findings: list[Finding]) -> list[Object]:
    """What Flux would apply from a directory, with what its build would fail for added to the findings."""
    found = []
    for name, data in sorted(files.items()):
        path, file = f"{where}/{name}", name.rpartition("/")[2]
        if not file.endswith((".yaml", ".yml")) or _ignored_by_flux(f"{where}/{name}"):
            continue
        documents, fault = _documents(data)
        if fault:
            findings.append(Finding(path, "unreadable", fault))
        for value in documents:
            for item in _expanded_by_kustomize(value):
                wrong = _fault_of(item) or _null_in_list(item)
                if wrong:
                    findings.append(Finding(path, "incomplete", wrong))
                elif (item["metadata"].get("annotations") or {}).get(LOCAL_CONFIG, "false") == "false":
                    found.append(Object(path, item))
    return found


def _judge_unit(
    where: str, unit: str, files: Mapping[str, bytes], own: set[str], findings: list[Finding]
) -> list[Object]:
    if unit not in UNITS:
        findings.append(Finding(where, "unit", f"is none of {', '.join(UNITS)}"))
    for name in sorted(files):
        file, path = name.rpartition("/")[2], f"{where}/{name}"
        if file in (*_KUSTOMIZATIONS, "Chart.yaml", ".sourceignore", ".krmignore") or file.startswith(".argocd-source"):
            findings.append(Finding(path, "engine", "changes how an engine reads the directory"))
        elif file.endswith((".json", ".jsonnet")):
            findings.append(Finding(path, "engine", "Argo CD reads it, Flux does not"))
        elif not file.endswith((".yaml", ".yml")) and name not in own:
            findings.append(Finding(path, "stray", "is no manifest"))
    if sum(map(len, files.values())) > COMBINED_LIMIT:
        findings.append(Finding(where, "size", "Argo CD refuses more than 10 MiB"))
    seen_by_argocd = argocd(where, files, findings)
    seen_by_flux = flux(where, files, findings)
    _judge_agreement(where, seen_by_argocd, seen_by_flux, findings)
    if not seen_by_argocd or not seen_by_flux:
        findings.append(Finding(where, "empty", "Flux would delete everything, Argo CD would refuse to sync"))
    for engine in (seen_by_argocd, seen_by_flux):
        _judge_duplicates(engine, "is in this unit twice", findings)
    _judge_sentinel(where, unit, files, seen_by_flux, findings)
    for item in seen_by_flux:
        namespace = item.value["metadata"].get("namespace")
        if unit == "workloads" and item.value["kind"] in _CLUSTER_SCOPED:
            findings.append(Finding(item.path, "scope", f"{item.value['kind']} is no object of a namespace"))
        if not namespace and (unit == "workloads" or _is_builtin(item)):
            findings.append(Finding(item.path, "namespace", "has none, so each engine would choose its own"))
    return seen_by_flux


def _judge_agreement(where: str, argo: list[Object], flux_: list[Object], findings: list[Finding]) -> None:
    ours = {(item.path, item.canonical): item for item in argo}
    theirs = {(item.path, item.canonical): item for item in flux_}
    for key in sorted(ours.keys() ^ theirs.keys()):
        item = ours.get(key) or theirs[key]
        who = "Argo CD" if key in ours else "Flux"
        findings.append(Finding(item.path, "disagree", f"only {who} applies {item.value['kind']} {item.identity[-1]}"))


def _judge_duplicates(items: list[Object], how: str, findings: list[Finding]) -> None:
    places: dict[Identity, list[Object]] = defaultdict(list)
    for item in items:
        places[item.identity].append(item)
    for identity, twins in sorted(places.items()):
        if len(twins) > 1:
            others = ", ".join(sorted({twin.path for twin in twins[:-1]}))
            findings.append(Finding(twins[-1].path, "twice", f"{'/'.join(identity)} {how}, also in {others}"))


def _judge_sentinel(
    where: str, unit: str, files: Mapping[str, bytes], applied: list[Object], findings: list[Finding]
) -> None:
    path = f"{where}/{SENTINEL}"
    if SENTINEL not in files:
        findings.append(Finding(path, "sentinel", "is not there"))
        return
    values = [item.value for item in applied if item.path == path]
    if len(values) != 1 or values[0]["kind"] != "ConfigMap" or values[0]["metadata"]["name"] != f"gitplacer-{unit}":
        findings.append(Finding(path, "sentinel", f"is not one ConfigMap gitplacer-{unit}"))
    elif epoch(files[SENTINEL]) is None:
        findings.append(Finding(path, "sentinel", "has no epoch"))


def _judge_cluster(where: str, by_unit: Mapping[str, list[Object]], findings: list[Finding]) -> None:
    once = [list({item.identity: item for item in items}.values()) for _, items in sorted(by_unit.items())]
    everything = [item for items in once for item in items]
    _judge_duplicates(everything, "is in two units of this cluster", findings)
    for unit in UNITS:
        if unit not in by_unit:
            findings.append(Finding(f"{where}/{unit}", "missing", "both engines stop with an error"))
    made = {item.identity[-1] for item in by_unit.get("platform", ()) if item.identity[:2] == ("", "Namespace")}
    for item in everything:
        namespace = item.value["metadata"].get("namespace")
        if namespace and namespace not in made | _EVERYWHERE and item.value["kind"] not in _CLUSTER_SCOPED:
            findings.append(Finding(item.path, "namespace", f"nothing makes namespace {namespace} on this cluster"))


def _judge_same_paths(
    root: str, applied: Mapping[str, Mapping[str, list[Object]]], foreign: Collection[str], findings: list[Finding]
) -> None:
    """The same object at the same path below every cluster, and the same files in the same group's directory."""
    first: dict[Identity, tuple[str, str]] = {}
    folders: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cluster, by_unit in sorted(applied.items()):
        prefix = f"{root}/{cluster}/"
        for items in by_unit.values():
            for item in items:
                if item.path in foreign:
                    continue
                below = item.path.removeprefix(prefix)
                known, at = first.setdefault(item.identity, (below, cluster))
                if known != below:
                    findings.append(Finding(item.path, "path", f"is {known} on {at}"))
                parts = below.split("/")
                if parts[0] == "workloads" and len(parts) > 3 and parts[2] != "_shared":
                    folders["/".join(parts[:3])][cluster].add(below)
    for folder, by_cluster in sorted(folders.items()):
        whole = set().union(*by_cluster.values())
        for cluster, have in sorted(by_cluster.items()):
            if have != whole:
                missing = ", ".join(sorted(whole - have))
                findings.append(Finding(f"{root}/{cluster}/{folder}", "path", f"lacks {missing}, which others have"))


def _judge_paths(tree: Mapping[str, bytes], root: str, findings: list[Finding]) -> None:
    """Two paths that are one where case does not count, and names that no file system takes."""
    folded: dict[str, str] = {}
    for path in sorted(p for p in tree if p.startswith(root + "/")):
        twin = folded.setdefault(path.casefold(), path)
        if twin != path:
            findings.append(Finding(path, "case", f"is {twin} where case does not count"))
        if any(
            len(part.encode()) > 255 or part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/")
        ):
            findings.append(Finding(path, "name", "has a part that cannot be checked out"))
        if any(ord(letter) < 32 for letter in path):
            findings.append(Finding(path, "name", "has control characters"))


def _without_sentinel(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name != SENTINEL}


@lru_cache(maxsize=8192)
def _documents(data: bytes) -> tuple[list[Any], str]:
    """The documents of a YAML file but the empty ones, or why there are none."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return [], f"is not UTF-8: {error}"
    try:
        return [value for value in yaml.load_all(text, _Loader) if value is not None], ""
    except (yaml.YAMLError, ValueError) as error:
        return [], " ".join(str(error).split())


def _expanded_by_kustomize(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and isinstance(value.get("kind"), str) and value["kind"].endswith("List"):
        for item in value.get("items") or ():
            yield from _expanded_by_kustomize(item)
    else:
        yield value


def _fault_of(value: Any) -> str:
    """Why a document is no complete object; '' if it is one."""
    if not isinstance(value, dict):
        return "a document is no mapping"
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            return f"a document has no {key}"
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return f"a {value['kind']} has no metadata.name"
    if not isinstance(metadata.get("namespace", ""), str):
        return f"{value['kind']} {metadata['name']} has a namespace that is no string"
    for key in ("labels", "annotations"):
        entries = metadata.get(key) or {}
        if not isinstance(entries, dict) or not all(isinstance(v, str) for pair in entries.items() for v in pair):
            return f"{value['kind']} {metadata['name']} has {key} that are no strings"
    return ""


def _null_in_list(value: Any) -> str:
    if isinstance(value, dict):
        return next(filter(None, map(_null_in_list, value.values())), "")
    if isinstance(value, list):
        return "has an empty item in a list" if None in value else next(filter(None, map(_null_in_list, value)), "")
    return ""


def _ignored_by_flux(path: str) -> bool:
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _FLUX_IGNORES)


def _is_builtin(item: Object) -> bool:
    """Whether the object is of a kind that Kubernetes brings, and lives in a namespace."""
    group = item.identity[0]
    return item.value["kind"] not in _CLUSTER_SCOPED and (group in ("", "apps", "batch") or group.endswith(".k8s.io"))
