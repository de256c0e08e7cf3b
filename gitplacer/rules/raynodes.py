"""
What the head and the groups tell Ray about their nodes: labels, logical resources and start parameters.

None of it changes what a pod asks Kubernetes for. Group `labels` and `resources` came with KubeRay 1.5 beside the start
parameters that had said the same before, and KubeRay refuses a group that says it in both ways.
Source: validateRayGroupLabels and validateRayGroupResources in ray-operator/controllers/ray/utils/validation.go.
"""

from __future__ import annotations

import re

from gitplacer.rules.manifest import RayManifest, Rule, tell

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253
_LOGICAL_RESOURCES = ("num-cpus", "num-gpus", "memory", "resources")


def required_start_params(manifest: RayManifest) -> None:
    """`ray.io/v1alpha1` requires `rayStartParams`, empty or not, of the head and every group. Source: its CRD schema."""
    if manifest.root.text("apiVersion") != "ray.io/v1alpha1":
        return
    heads = (manifest.head,) if manifest.cluster.has("headGroupSpec") else ()
    for group in (*heads, *manifest.groups):
        if not group.has("rayStartParams"):
            hint = "add rayStartParams: {}, which v1alpha1 requires, or write apiVersion: ray.io/v1"
            tell(group, "MissingField", "rayStartParams is missing", hint)


def start_params(manifest: RayManifest) -> None:
    """
    Start parameters are text, as the CRD schema says, and `labels` is none that KubeRay takes.
    Source: validateRayGroupLabels.
    """
    for group in (manifest.head, *manifest.groups):
        if group.value.get("rayStartParams") and "labels" in group.labels("rayStartParams"):
            message = "KubeRay refuses rayStartParams.labels"
            hint = "write the labels in labels, beside rayStartParams"
            tell(group.mapping("rayStartParams"), "LabelsInStartParams", message, hint, key="labels")


def labels(manifest: RayManifest) -> None:
    """Group labels become labels of pods and of Ray nodes, so they have the syntax of both. Source: validateRayGroupLabels."""
    if not manifest.v1:
        return
    for group in (manifest.head, *manifest.groups):
        if not group.value.get("labels"):
            continue
        at = group.mapping("labels")
        for key, value in group.labels("labels").items():
            if not _is_label_key(key):
                hint = "up to 63 letters, digits, '-', '_' and '.', after an optional DNS name and a slash"
                tell(at, "InvalidLabel", f'"{key}" is no label key', hint, key=key)
            if value and not _NAME.fullmatch(value):
                hint = "up to 63 letters, digits, '-', '_' and '.'; begin and end with a letter or digit"
                tell(at, "InvalidLabel", f'"{value}" is no value of a label', hint, key=key)


def logical_resources(manifest: RayManifest) -> None:
    """What Ray counts on a node is said in `resources` or in start parameters. Source: validateRayGroupResources."""
    if not manifest.v1:
        return
    for group in (manifest.head, *manifest.groups):
        if not group.labels("resources"):
            continue
        params = group.mapping("rayStartParams").value
        twice = [name for name in _LOGICAL_RESOURCES if params.get(name)]
        if twice:
            message = f"resources and rayStartParams ({', '.join(twice)}) both say what Ray may use"
            tell(group, "ConflictingResources", message, "keep one of them", key="resources")


def _is_label_key(key: str) -> bool:
    """Whether Kubernetes takes it for a qualified name: `name`, or `prefix/name` with a DNS subdomain before the slash."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


RULES: tuple[Rule, ...] = (required_start_params, start_params, labels, logical_resources)
