"""
What the head and the groups tell Ray about their nodes: labels, logical resources and start parameters.

None of it changes what a pod asks Kubernetes for. Group `labels` and `resources` came with KubeRay 1.5 beside the start
parameters that had said the same before, and KubeRay refuses a group that says it in both ways.
Source: validateRayGroupLabels and validateRayGroupResources in ray-operator/controllers/ray/utils/validation.go.
"""

from __future__ import annotations

from gitplacer.model.labels import KEY_HINT, VALUE_HINT, is_label_key, is_label_value
from gitplacer.rules.manifest import RayManifest, Rule, tell

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
            if not is_label_key(key):
                tell(at, "InvalidLabel", f'"{key}" is no label key', KEY_HINT, key=key)
            if not is_label_value(value):
                tell(at, "InvalidLabel", f'"{value}" is no value of a label', VALUE_HINT, key=key)


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


RULES: tuple[Rule, ...] = (required_start_params, start_params, labels, logical_resources)
