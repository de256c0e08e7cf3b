"""
A pod template, read: what its pods ask for, where they may run, what they cannot start without.

Every kind has templates like this one, and some controllers add containers of their own to them; those come in
as `Injected`, so that the sum is that of the pod that will really be created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor, Path
from gitplacer.model.labels import KEY_HINT, VALUE_HINT, is_label_key, is_label_value
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import NO_NAMES, Named, PodShape
from gitplacer.problems import Severity
from gitplacer.workloads import podlevel
from gitplacer.workloads.bounds import bounded_pod
from gitplacer.workloads.claims import own_disks, pod_claims
from gitplacer.workloads.constraints import NamedPorts, constraints, tolerations
from gitplacer.workloads.facts import ObjectFacts, PodLabels, Reference, Role, distinct, existing
from gitplacer.workloads.images import is_image
from gitplacer.workloads.networks import attached
from gitplacer.workloads.podgroups import joined, scheduled
from gitplacer.workloads.provisioning import consumed
from gitplacer.workloads.requests import Amounts, Part, PodAsk, container_part, with_defaults, written
from gitplacer.workloads.surroundings import RuntimeClass, Surroundings, of_extended_resources
from gitplacer.workloads.webhooks import asked_for


class Injected(Struct, frozen=True):
    """
    What a controller adds to a template: containers, and `ports` of the first container, by name, where it has none of that
    name.
    """

    containers: tuple[Part, ...] = ()
    first_init: tuple[Part, ...] = ()
    last_init: tuple[Part, ...] = ()
    ports: NamedPorts = ()


_ONLY_ANNOTATED = {
    **dict.fromkeys(("gpu-fraction", "gpu-memory"), "the part of a GPU"),
    **dict.fromkeys(
        ("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-slice-required-topology"),
        "the common place in a topology of Kueue's",
    ),
}
"""Annotations of pods, with what is asked for and neither resources nor rules of theirs say: of KAI Scheduler and Run:ai, and of Kueue."""
DEFAULT_SCHEDULER = "default-scheduler"
"""The name of kube-scheduler, where nobody gave it another."""

NONE = Injected()
_NO_LABELS: Mapping[str, str] = {}


class PodTemplate(Struct, frozen=True):
    """
    One template: the shape of its pods and where its requests come from, its labels, and what it names in its namespace.
    `claims` are the ResourceClaimTemplates that its pods claim devices by; `named` is what its pods name that their cluster has
    to know.
    """

    shape: PodShape
    ask: PodAsk
    labels: Mapping[str, str]
    needs: tuple[Reference, ...]
    claims: tuple[str, ...] = ()
    named: Named = NO_NAMES

    @property
    def queued_requests(self) -> Resources | None:
        """What Kueue counts of a pod; None where that is what a node must have room for."""
        if not self.ask.devices and not any(part.origin for part in self.ask.parts):
            return None
        written = self.ask.as_written()
        return None if written == self.shape.requests else written

    def pod_labels(self, role: str, more: Mapping[str, str] | None = None) -> PodLabels:
        return PodLabels(role, tuple(sorted({**self.labels, **(more or {})}.items())))


def in_spec(value: Mapping[str, Any]) -> tuple[Path, ...]:
    """The path of the template in a kind that has one, in its spec."""
    return existing(value, ("spec", "template"))


def read(owner: Cursor, key: str, around: Surroundings, injected: Injected = NONE) -> PodTemplate:
    """The template under a key of its owner. One that is missing is a problem."""
    if not owner.has(key):
        owner.report("MissingField", f"{key} is missing", f"add {key}: the pod template with its spec.containers")
        return _EMPTY
    return read_pod(owner.mapping(key), around, injected)


def read_pod(pod: Cursor, around: Surroundings, injected: Injected = NONE) -> PodTemplate:
    """A pod or pod template: anything with `metadata` and `spec`."""
    metadata = pod.mapping("metadata")
    labels = metadata.labels("labels")
    if pod.path:  # else it is the object itself, of which everybody is told what its metadata must be
        _report_metadata(metadata, labels)
    if metadata.has("annotations"):
        annotations = metadata.mapping("annotations")
        for key, what in _ONLY_ANNOTATED.items():
            if annotations.has(key):
                _report_uncounted(annotations, key, f"{what} that annotation {key} asks for")
    if not pod.has("spec"):
        pod.report("MissingField", "spec is missing", "add spec.containers")
        return replace(_EMPTY, labels=labels)
    spec = pod.mapping("spec")
    found = read_spec(spec, around, injected, labels)
    for webhook in asked_for(metadata, spec):
        what = f"the container {webhook.container} that a webhook adds for {webhook.key}"
        _report_uncounted(metadata.mapping(webhook.where), webhook.key, what)
    named_there = (*attached(metadata), *joined(metadata), *consumed(metadata))
    return replace(found, needs=(*found.needs, *named_there)) if named_there else found


def _report_metadata(metadata: Cursor, labels: Mapping[str, str]) -> None:
    """
    Reports labels and keys of annotations for which the API server refuses every pod that is made of a template. It takes the object with the template,
    if its kind has no schema for them, so nobody else tells.
    """
    if metadata.has("labels"):
        at = metadata.mapping("labels")
        for key, value in labels.items():
            if not is_label_value(value):
                at.report("InvalidLabel", f'"{value[:100]}" is no value of a label', VALUE_HINT, key=key)
            if not is_label_key(key):
                at.report("InvalidLabel", f'"{key[:100]}" is no key of a label', KEY_HINT, key=key)
    if metadata.has("annotations"):
        metadata.check_texts("annotations")
        at = metadata.mapping("annotations")
        for key in at.value:
            if not is_label_key(key.lower()):
                at.report("InvalidLabel", f'"{key[:100]}" is no key of an annotation', KEY_HINT, key=key)


def read_spec(
    spec: Cursor, around: Surroundings, injected: Injected = NONE, labels: Mapping[str, str] = _NO_LABELS
) -> PodTemplate:
    """A pod spec: anything with `containers`. Its labels are beside it."""
    containers = spec.items("containers")
    if not spec.value.get("containers"):
        spec.report("MissingField", "there are no containers", "a pod has at least one container")
    inits = spec.items("initContainers")
    _report_not_counted(spec, around)
    _check_containers([*inits, *containers])
    runtime_class = spec.text("runtimeClassName")
    if not runtime_class and spec.value.get("overhead"):
        spec.report(
            "InvalidResources",
            "there is an overhead, and no RuntimeClass that it is of",
            "remove it, or name the class: runtimeClassName",
            key="overhead",
        )
    runtime = around.runtime_class(runtime_class)
    claims = tuple(_claims(spec, around)) if spec.has("resourceClaims") else ()
    ask = _ask(spec, containers, inits, injected, around, runtime)
    selector, tolerated = spec.labels("nodeSelector"), tuple(tolerations(spec))
    if runtime is not None:
        selector = {**dict(runtime.node_selector), **selector}
        tolerated += tuple(t for t in runtime.tolerations if t not in tolerated)
    if around.tolerates_extended:
        asked = {name for part in ask.parts for name in part.amounts}
        tolerated += tuple(t for t in of_extended_resources(asked) if t not in tolerated)
    shape = PodShape(
        **ask.sizes(),
        node_selector=tuple(sorted(selector.items())),
        tolerations=tolerated,
        node_name=spec.text("nodeName"),
        **constraints(spec, injected.ports),
    )
    shape = bounded_pod(spec, len(containers) + len(inits), shape)
    return PodTemplate(shape, ask, labels, tuple(_needs(spec, [*inits, *containers])), claims, _named(spec))


def _named(spec: Cursor) -> Named:
    found = Named(
        tuple(pod_claims(spec)),
        spec.text("priorityClassName"),
        spec.integer("priority"),
        spec.text("preemptionPolicy"),
        spec.text("runtimeClassName"),
        gated=spec.has("schedulingGates") and bool(spec.items("schedulingGates")),
        ends=spec.has("activeDeadlineSeconds"),
    )
    return NO_NAMES if found == NO_NAMES else found


_EMPTY = PodTemplate(PodShape(), PodAsk(()), {}, ())


def facts(
    template: PodTemplate, number: int, counted: str, more_labels: Mapping[str, str] | None = None
) -> ObjectFacts:
    """The facts of `number` pods of one template, all in the role `pod`; `counted` says why so many."""
    role = Role(
        "pod", template.shape, number, number, number, named=template.named, ask=template.ask, counted=counted,
        queued_requests=template.queued_requests,
    )  # fmt: skip
    return ObjectFacts(
        roles=(role,),
        sized=True,
        pods=(template.pod_labels("pod", more_labels),),
        needs=distinct(template.needs),
        claims=template.claims,
    )


def _ask(
    spec: Cursor,
    containers: list[Cursor],
    inits: list[Cursor],
    injected: Injected,
    around: Surroundings,
    runtime: RuntimeClass | None,
) -> PodAsk:
    pod_requests, pod_limits = podlevel.read(spec.mapping("resources"))
    defaults = around.container_defaults
    parts = (
        *injected.first_init,
        *(
            container_part(init, "sidecar" if init.text("restartPolicy") == "Always" else "init", defaults)
            for init in inits
        ),
        *injected.last_init,
        *(container_part(container, "container", defaults) for container in containers),
        *injected.containers,
    )
    overhead = written(spec, "overhead")
    if runtime is not None and not overhead:
        overhead = runtime.overhead
    ask = PodAsk(
        tuple(with_defaults(part, defaults) for part in parts) if defaults else parts,
        pod_level=pod_requests,
        pod_level_limits=pod_limits,
        overhead=overhead,
        devices=_devices(spec, around) if around.claims else NOTHING,
    )
    if pod_requests or pod_limits:
        podlevel.check_containers(spec, containers, ask)
    return ask


def _claims(spec: Cursor, around: Surroundings) -> Iterator[str]:
    """The ResourceClaimTemplates of a pod. One whose devices cannot be known makes the pod one of unknown size."""
    known = around.claims
    for claim in spec.items("resourceClaims"):
        name = claim.text("resourceClaimTemplateName")
        if not name:
            continue
        yield name
        if known is not None and name not in around.device_claims:
            claim.report(
                "UnknownDevices",
                f"ResourceClaimTemplate {name} is not in the source, so nobody knows how many devices the pod asks for",
                "put it beside the object, in the same namespace",
                key="resourceClaimTemplateName",
            )


def _devices(spec: Cursor, around: Surroundings) -> Amounts:
    """The devices that a pod claims by templates, one claim for each."""
    total: dict[str, int | Fraction] = {}
    for claim in spec.items("resourceClaims"):
        for name, count in around.device_claims.get(claim.text("resourceClaimTemplateName"), NOTHING).items():
            total[name] = total.get(name, 0) + count
    return total


# -- what is not counted ------------------------------------------------------------------------------------------


def _report_not_counted(spec: Cursor, around: Surroundings) -> None:
    """A field that narrows where the pod may run, and that the fit does not look at, is named, not silently ignored."""
    for key, name in _not_counted(spec, around):
        _report_uncounted(spec, key, name)


def _report_uncounted(owner: Cursor, key: str, name: str) -> None:
    owner.report(
        "NotCounted",
        f"gitplacer does not count {name} yet; the fit may be too optimistic",
        "leave room on the clusters it may go to, or pin it by node selector",
        key=key,
        severity=Severity.WARNING,
    )


def _not_counted(spec: Cursor, around: Surroundings) -> Iterator[tuple[str, str]]:
    """The key to point at, and the name of the field."""
    if spec.items("schedulingGates") and not around.judged:
        yield "schedulingGates", "schedulingGates"
    if any(claim.has("resourceClaimName") for claim in spec.items("resourceClaims")):
        yield "resourceClaims", "a ResourceClaim that several pods share"
    for sort in own_disks(spec):
        yield "volumes", f"a disk that a pod names itself ({sort})"
    if (scheduler := spec.text("schedulerName")) not in ("", DEFAULT_SCHEDULER):
        yield "schedulerName", f"what scheduler {scheduler} does otherwise than kube-scheduler"


# -- what it needs ------------------------------------------------------------------------------------------------


def named(cursor: Cursor, kind: str, key: str = "name", *, api_group: str = "") -> Iterator[Reference]:
    """The reference that a key of this mapping makes; none if it is empty."""
    name = cursor.text(key)
    if name:
        yield Reference(api_group, kind, name, cursor.boolean("optional"), path=(*cursor.path, key))


def env_needs(container: Cursor) -> Iterator[Reference]:
    """ConfigMaps and Secrets behind `env` and `envFrom`. A value that is no text is told."""
    if container.has("env"):
        for variable in container.items("env"):
            if variable.has("valueFrom"):
                yield from value_needs(variable)
            elif variable.has("value"):
                variable.check_text("value", variable.value["value"])
    if container.has("envFrom"):
        for source in container.items("envFrom"):
            yield from named(source.mapping("configMapRef"), "ConfigMap")
            yield from named(source.mapping("secretRef"), "Secret")


def value_needs(variable: Cursor) -> Iterator[Reference]:
    """The ConfigMap or Secret behind a `valueFrom`."""
    source = variable.mapping("valueFrom")
    yield from named(source.mapping("configMapKeyRef"), "ConfigMap")
    yield from named(source.mapping("secretKeyRef"), "Secret")


def _check_containers(containers: list[Cursor]) -> None:
    """
    The words of a command are texts: the API server refuses `args: [--port, 8000]`. And an image has a name that a kubelet can read.
    """
    for container in containers:
        image = container.text("image")
        if image and not is_image(image):
            container.report(
                "InvalidImage",
                f"no node can pull image {image[:100]}: it is no name of an image",
                "write its name, such as rayproject/ray:2.52.0; what stands for another text is replaced before it is committed",
                key="image",
                severity=Severity.WARNING,
            )
        for key in ("command", "args"):
            if container.has(key):
                container.check_words(key)


def _needs(spec: Cursor, containers: list[Cursor]) -> Iterator[Reference]:
    for container in containers:
        yield from env_needs(container)
    for volume in spec.items("volumes"):
        yield from _volume_needs(volume)
    for secret in spec.items("imagePullSecrets"):
        yield from named(secret, "Secret")
    if spec.text("serviceAccountName") != "default":  # every namespace has that one
        yield from named(spec, "ServiceAccount", "serviceAccountName")
    if priority := spec.text("priorityClassName"):
        path = (*spec.path, "priorityClassName")
        yield Reference("scheduling.k8s.io", "PriorityClass", priority, path=path, cluster_scoped=True)
    for claim in spec.items("resourceClaims"):
        yield from named(claim, "ResourceClaim", "resourceClaimName", api_group="resource.k8s.io")
        yield from named(claim, "ResourceClaimTemplate", "resourceClaimTemplateName", api_group="resource.k8s.io")
    yield from scheduled(spec)


_WITH_SECRET = {
    "azureFile": "secretName",
    **dict.fromkeys(("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"), "secretRef"),
}
"""Volumes of Kubernetes' own that are mounted with a Secret of the pod's namespace, and where they name it."""
_DRIVERS_WITH_SECRET = ("blob.csi.azure.com", "file.csi.azure.com", "smb.csi.k8s.io")
"""Drivers that find the Secret of a volume in its attributes, by `secretName` and, where it is elsewhere, `secretNamespace`."""


def _volume_needs(volume: Cursor) -> Iterator[Reference]:
    if volume.has("configMap"):
        yield from named(volume.mapping("configMap"), "ConfigMap")
    if volume.has("secret"):
        yield from named(volume.mapping("secret"), "Secret", "secretName")
    if volume.has("persistentVolumeClaim"):
        yield from named(volume.mapping("persistentVolumeClaim"), "PersistentVolumeClaim", "claimName")
    if volume.has("csi"):
        yield from _driver_needs(volume.mapping("csi"))
    if volume.has("projected"):
        for source in volume.mapping("projected").items("sources"):
            yield from named(source.mapping("configMap"), "ConfigMap")
            yield from named(source.mapping("secret"), "Secret")
    for kind, key in _WITH_SECRET.items():
        if volume.has(kind):
            found = volume.mapping(kind)
            yield from named(found, "Secret", key) if key == "secretName" else named(found.mapping(key), "Secret")


def _driver_needs(driver: Cursor) -> Iterator[Reference]:
    yield from named(driver.mapping("nodePublishSecretRef"), "Secret")
    attributes = driver.mapping("volumeAttributes")
    yield from named(attributes, "SecretProviderClass", "secretProviderClass", api_group="secrets-store.csi.x-k8s.io")
    if driver.text("driver") in _DRIVERS_WITH_SECRET and (name := attributes.text("secretName")):
        path = (*attributes.path, "secretName")
        yield Reference("", "Secret", name, namespace=attributes.text("secretNamespace"), path=path)
