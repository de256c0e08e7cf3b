"""
Annotations and labels by which an object tells Argo CD, Flux and their like what to do with it.

gitplacer moves a group by removing its files from one cluster's directory and adding them to another's, and waits until the engine
has done so. An object that is not pruned, is a hook, or bears another app's tracking id stays behind: the job runs twice.
That cannot be allowed. What only changes order or method can, by its author, with a reason.
Source: the annotation tables of Argo CD (common.go, resource hooks, sync options), Helm, kustomize-controller, Config Sync.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gitplacer.documents import Path
from gitplacer.rules.anything import Anything, ObjectRule
from gitplacer.rules.fluxvariables import SUBSTITUTE

SECRET_TYPE = "argocd.argoproj.io/secret-type"
"""The label by which Argo CD takes a Secret for one of its clusters or repositories."""

_LINKS = "link.argocd.argoproj.io/"
_WEB = re.compile(r"(?i)https?://\S+")
_SCRIPT = re.compile(r"(?i)(javascript|vbscript|data|file|blob):")
_BLANK = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\ufeff]+")

_ENGINES = re.compile(
    r"([\w.-]+\.)?(argoproj\.io|fluxcd\.io|akuity\.io|fluxcd\.controlplane\.io|configsync\.gke\.io|configmanagement\.gke\.io|"
    r"client\.lifecycle\.config\.k8s\.io|cattle\.io|crossplane\.io|karmada\.io|open-cluster-management\.io|kluctl\.io|"
    r"projectsveltos\.io|helm\.sh)/.*"
)
"""Keys of tools that bring objects from Git to clusters."""
_NOTES = ("helm.sh/chart", "cluster.open-cluster-management.io/placement")
"""Mere notes: nobody looks for the second on anything but a PlacementDecision, and here a policy that was imported selects by it."""
_NOT_PRUNED = re.compile(r"(?i)\b(prune|delete)=(false|confirm)\b")


def _always(value: str) -> bool:
    return True


_ORPHANS: Mapping[str, Callable[[str], object]] = {
    "argocd.argoproj.io/tracking-id": _always,
    "argocd.argoproj.io/installation-id": _always,
    "argocd.argoproj.io/instance": _always,
    "argocd.argoproj.io/managed-by": _always,
    "argocd.argoproj.io/hook": _always,
    "argocd.argoproj.io/hook-delete-policy": _always,
    "argocd.argoproj.io/sync-options": _NOT_PRUNED.search,
    "argocd.argoproj.io/compare-options": re.compile(r"(?i)ignoreextraneous").search,
    "helm.sh/hook": _always,
    "helm.sh/hook-delete-policy": _always,
    "helm.sh/resource-policy": _always,
    "meta.helm.sh/release-name": _always,
    "meta.helm.sh/release-namespace": _always,
    "kustomize.toolkit.fluxcd.io/prune": _always,
    "kustomize.toolkit.fluxcd.io/reconcile": _always,
    "kustomize.toolkit.fluxcd.io/ssa": re.compile(r"(?i)ignore").fullmatch,
    "kustomize.toolkit.fluxcd.io/name": _always,
    "kustomize.toolkit.fluxcd.io/namespace": _always,
    "helm.toolkit.fluxcd.io/name": _always,
    "helm.toolkit.fluxcd.io/namespace": _always,
    "configmanagement.gke.io/managed": _always,
    "configmanagement.gke.io/cluster-selector": _always,
    "configsync.gke.io/resource-id": _always,
    "configsync.gke.io/manager": _always,
    "client.lifecycle.config.k8s.io/deletion": _always,
    "config.k8s.io/owning-inventory": _always,
    "objectset.rio.cattle.io/id": _always,
}
"""What leaves an object to nobody, or to somebody else: key, and the values that do."""


def control(found: Anything) -> None:
    """Whatever steers an engine, sorted by whether it lets an object stay behind."""
    for path, key, value in found.marks():
        if key == SECRET_TYPE or key.startswith(_LINKS) or key in _NOTES or (key, value) == (SUBSTITUTE, "disabled"):
            continue
        if (orphans := _ORPHANS.get(key)) is not None and orphans(value):
            message = f"{key} takes the object from the engine that applies and prunes it, so it would stay when its group moves"
            found.tell("OrphaningAnnotation", message, "remove it", path, key=True)
        elif key in _ORPHANS or _ENGINES.fullmatch(key):
            hint = "remove it, or allow it with a reason: allow.gitplacer.dev/ControlAnnotation"
            found.tell(
                "ControlAnnotation", f"{key} tells a GitOps engine how to handle the object", hint, path, key=True
            )


def links(found: Anything) -> None:
    """What a page of Argo CD or a dashboard would make a link of, and lets a browser run something."""
    for path, key, value in found.marks():
        target = _BLANK.sub("", value.rpartition("|")[2])
        if key.startswith(_LINKS) and not _WEB.fullmatch(target):
            found.tell("UnsafeLink", f"{key} is no address that begins with http:// or https://", "write one", path)
        elif path[1] == "annotations" and _SCRIPT.match(target) and not key.startswith(_LINKS):
            hint = "write an address that begins with https://"
            found.tell("UnsafeLink", f"{key} is an address that a browser would run or open as a file", hint, path)


def configures(found: Anything) -> None:
    """A Secret that Argo CD takes for a cluster or repo of its own, or into which Kubernetes writes a token; also one yet to be made."""
    for path, mapping in found.mappings:
        labels = mapping.get("labels") if path[-1:] == ("metadata",) else None
        if isinstance(labels, dict) and SECRET_TYPE in labels:
            told: Path = (*path, "labels", SECRET_TYPE)
            message = "a Secret with this label is a cluster or repository of Argo CD"
            found.tell("NotAllowed", message, "move it under the platform paths of the Fleet", told, key=True)
        if mapping.get("type") == "kubernetes.io/service-account-token":
            message = "Kubernetes writes a token of the ServiceAccount into such a Secret, and it never expires"
            hint = "let the pod have a token of its own: serviceAccountName, or a projected volume"
            found.tell("NotAllowed", message, hint, (*path, "type"))


RULES: tuple[ObjectRule, ...] = (control, links, configures)
