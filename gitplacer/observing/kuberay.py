"""
The KubeRay operator of a cluster, by its Deployment: its version from the tag of its image, and what it was told by flags, by its
environment, and by a configuration file in a ConfigMap.

Several operators, each with namespaces of its own, are told as one only in what they agree on.
Source: KubeRay's ray-operator/main.go (flags), apis/config/v1alpha1 (the file), controllers/ray/utils/constant.go (variables).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from pydantic import ValidationError

from gitplacer.documents import Cursor, parse
from gitplacer.kinds.profile import GangScheduler, KubeRay, Sidecar
from gitplacer.model.labels import is_subdomain
from gitplacer.scheduler.reading import cursor_of

_IMAGE = re.compile(r"(?:^|/)(?:kuberay/operator|kuberay-operator|operator)(?::(?P<tag>[^@]+))?(?:@.+)?$")
_VERSION = re.compile(r"v?[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?([-+][A-Za-z0-9.+-]*)?")
_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/component")
_NAMES = ("kuberay-operator", "kuberay")
_SCHEDULERS: Mapping[str, GangScheduler] = {
    "": "none",
    "default": "none",
    "volcano": "volcano",
    "yunikorn": "yunikorn",
    "scheduler-plugins": "scheduler-plugins",
    "kai-scheduler": "kai",
    "kai": "kai",
    "kubernetes": "kubernetes",
}
_TRUE = ("1", "t", "true")
_FALSE = ("0", "f", "false")


class Operator(Struct, frozen=True):
    """What was found of one operator. `config` is (namespace, ConfigMap, key) of a configuration file that it was given."""

    settings: KubeRay
    scheduler: GangScheduler | None
    config: tuple[str, str, str] | None = None


def operator_of(value: Mapping[str, Any]) -> Operator | None:
    """The operator that a Deployment runs; None for any other Deployment."""
    root = cursor_of(value)
    pod = root.mapping("spec").mapping("template")
    labels = {**root.mapping("metadata").labels("labels"), **pod.mapping("metadata").labels("labels")}
    named = any(labels.get(key) in _NAMES for key in _LABELS)
    for container in pod.mapping("spec").items("containers"):
        image = _IMAGE.search(container.text("image"))
        if image is not None and (named or "kuberay" in container.text("image")):
            return _operator(root, pod.mapping("spec"), container, image["tag"] or "")
    return None


def _operator(root: Cursor, spec: Cursor, container: Cursor, tag: str) -> Operator:
    flags = _flags([*container.texts("command"), *container.texts("args")])
    env = {item.text("name"): item.text("value") for item in container.items("env") if not item.has("valueFrom")}
    version = _VERSION.fullmatch(tag)
    watched = tuple(sorted(name for name in flags.get("watch-namespace", "").split(",") if name))
    settings = KubeRay(
        version=version[0] if version else None,
        feature_gates=_gates(flags.get("feature-gates", "")) or None,
        init_container_injection=_switch(env.get("ENABLE_INIT_CONTAINER_INJECTION")),
        zero_downtime=_switch(env.get("ENABLE_ZERO_DOWNTIME")),
        head_cluster_ip_service=_switch(env.get("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE")),
        watch_namespaces=watched,
        deletes_finished_jobs=_switch(env.get("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES")),
    )
    if "config" in flags:  # then the file tells, and flags do not count
        namespace = root.mapping("metadata").text("namespace")
        config = _mounted(spec, container, flags["config"])
        unknown = settings.model_copy(update={"feature_gates": None, "watch_namespaces": None})
        return Operator(unknown, None, (namespace, *config) if config else None)
    name = flags.get("batch-scheduler", "volcano" if flags.get("enable-batch-scheduler") in _TRUE else "")
    return Operator(settings, _SCHEDULERS.get(name))


def _flags(words: Sequence[str]) -> dict[str, str]:
    """Flags as Go reads them: `-a=b`, `--a=b`, `--a b`, and `--a` for one that is switched on."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        following = words[index + 1] if index + 1 < len(words) else "-"
        found[name] = value if equals else "true" if following.startswith("-") else following
    return found


def _gates(text: str) -> dict[str, bool]:
    pairs = (item.partition("=") for item in text.split(",") if "=" in item)
    return {
        name.strip(): value.strip().lower() in _TRUE
        for name, _, value in pairs
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name.strip())
    }


def _switch(text: str | None) -> bool | None:
    word = (text or "").strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _mounted(spec: Cursor, container: Cursor, path: str) -> tuple[str, str] | None:
    """
    The ConfigMap and its key that a container has at a path. Kubernetes takes any text for the name of one, and who writes a Deployment must not
    choose what else of the API we read: what no ConfigMap can be called is none.
    """
    folder, _, file = path.rpartition("/")
    volumes = {item.text("name"): item.mapping("configMap") for item in spec.items("volumes")}
    for mount in container.items("volumeMounts"):
        volume = volumes.get(mount.text("name"))
        if volume is None or not is_subdomain(volume.text("name")):
            continue
        if mount.text("mountPath").rstrip("/") == folder:
            return volume.text("name"), file
        if mount.text("mountPath") == path:
            return volume.text("name"), mount.text("subPath") or file
    return None


def with_config(found: Operator, text: str) -> Operator:
    """What an operator's configuration file adds. One that cannot be read adds nothing."""
    documents = parse(text.encode()).documents
    if len(documents) != 1:
        return found
    root = cursor_of(documents[0].value)
    gates = root.mapping("featureGates").value
    watched = tuple(sorted(name for name in root.text("watchNamespace").split(",") if name))
    name = root.text("batchScheduler") or ("volcano" if root.boolean("enableBatchScheduler") else "")
    update: dict[str, Any] = {
        "feature_gates": {name: on for name, on in gates.items() if isinstance(on, bool)} or None,
        "watch_namespaces": watched,
        "head_sidecars": _sidecars(root.items("headSidecarContainers")),
        "worker_sidecars": _sidecars(root.items("workerSidecarContainers")),
    }
    return Operator(found.settings.model_copy(update=update), _SCHEDULERS.get(name), found.config)


def _sidecars(containers: Iterable[Cursor]) -> tuple[Sidecar, ...] | None:
    found = []
    for container in containers:
        resources = container.mapping("resources")
        requests = {**resources.labels("limits"), **resources.labels("requests")}
        try:
            found.append(Sidecar.model_validate({"name": container.text("name"), "requests": requests}))
        except ValidationError:
            return None  # nobody knows what it asks for
    return tuple(found) or None


def agreed(operators: Sequence[Operator]) -> tuple[KubeRay | None, GangScheduler | None]:
    """
    The one operator of a cluster; of several what all of them say. Together they watch the namespaces of all, or every one where
    one of them does.
    """
    if not operators:
        return None, None
    first = operators[0]
    fields = {
        name: getattr(first.settings, name)
        for name in KubeRay.model_fields
        if all(getattr(each.settings, name) == getattr(first.settings, name) for each in operators)
    }
    watched = [each.settings.watch_namespaces for each in operators]
    if all(watched):
        fields["watch_namespaces"] = tuple(sorted({name for names in watched for name in names or ()}))
    elif () in watched:
        fields["watch_namespaces"] = ()
    schedulers = {each.scheduler for each in operators}
    return KubeRay(**fields), first.scheduler if len(schedulers) == 1 else None
