"""
Volumes of a cluster: claims, volumes, storage classes, and what drivers can do on each node. Values, and how they are read.

Read are lists of core/v1 and storage/v1 objects as JSON. Whatever is not there was not asked for or does not exist, and nobody
can tell which; `kinds` has what was met, so that a cluster of which no storage is known keeps nothing off.
Source: kubernetes 1.34 pkg/scheduler/framework/plugins/volumezone, pkg/apis/core/v1/helper (MatchTopologySelectorTerms),
component-helpers/storage/volume (CheckNodeAffinity).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import LabelPairs
from gitplacer.model.workload import ClaimSpec, NodeTerm
from gitplacer.scheduler.capacities import CAPACITY, DRIVER, Capacities, read_capacities
from gitplacer.scheduler.reading import cursor_of, pairs
from gitplacer.workloads.claims import CLASS_ANNOTATION, claim_spec
from gitplacer.workloads.constraints import node_term

Reach = tuple[tuple[NodeTerm, ...], ...]
"""Nodes from which a volume is reached: one term of each."""

CLAIM, VOLUME, CLASS, CSI_NODE = "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode"
ATTACHMENT = "VolumeAttachment"
KINDS = (CLAIM, VOLUME, CLASS, CSI_NODE, DRIVER, CAPACITY, ATTACHMENT)
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SHARED_MODES = ("ReadWriteMany", "ReadOnlyMany")
ONE_POD, ONE_NODE = "ReadWriteOncePod", "ReadWriteOnce"

_ZONES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "",
    "topology.kubernetes.io/region": "",
}
"""Labels of volumes that mean zones, with the label that a node may have instead."""
_BOUND = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

_DRIVERS = {
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "azureFile": ("kubernetes.io/azure-file", "file.csi.azure.com"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    "portworxVolume": ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    "vsphereVolume": ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
}
"""
What Kubernetes had drivers for within itself: the field of such a volume, its provisioner, and the driver that serves both since (csi-translation-lib). Disks
that were made then are attached by that driver and count for its limits.
"""
_PROVISIONERS = dict(_DRIVERS.values())

ClaimKey = tuple[str, str]
"""Namespace and name."""


class StorageClass(Struct, frozen=True, kw_only=True):
    """`delayed`: a volume is bound when a pod is there (WaitForFirstConsumer). `topologies` () are all nodes."""

    name: str
    provisioner: str = ""
    delayed: bool = False
    topologies: Reach = ()
    default: bool = False

    @property
    def provisions(self) -> bool:
        """Whether volumes are made for claims, and not only found."""
        return self.provisioner not in ("", NO_PROVISIONER)


class Volume(Struct, frozen=True, kw_only=True):
    """
    A PersistentVolume. `affinity` has the nodes from which it is reached, and `zoned` those that its labels name, which kube-scheduler
    asks only of a volume that a claim has already. `claim` is that to which it belongs, `owner` the uid of that, '' if any claim of the name may have it;
    `free`: any claim that it matches may have it.
    """

    name: str
    affinity: Reach = ()
    zoned: Reach = ()
    storage_class: str = ""
    size: int = 0
    modes: tuple[str, ...] = ()
    block: bool = False
    labels: LabelPairs = ()
    claim: ClaimKey | None = None
    owner: str = ""
    free: bool = False
    driver: str = ""

    @property
    def reach(self) -> Reach:
        """The nodes on which a pod may be whose claim has it."""
        return (*self.affinity, *self.zoned)

    def is_kept_for(self, key: ClaimKey, uid: str) -> bool:
        """Whether it waits for a claim. What was a deleted claim's is not for the next one of its name."""
        return self.claim == key and self.owner in ("", uid)

    def holds(self, spec: ClaimSpec) -> bool:
        """Whether it has what a claim asks for."""
        return self.size >= spec.size and self.block == spec.block and set(spec.modes) <= set(self.modes)

    def suits(self, spec: ClaimSpec, storage_class: str) -> bool:
        """Whether a claim would take it, wherever its pod is."""
        labels = dict(self.labels)
        return (
            self.free
            and self.storage_class == storage_class
            and self.holds(spec)
            and all(each.matches(labels) for each in spec.selector)
        )


class VolumeClaim(Struct, frozen=True, kw_only=True):
    """A claim that is there: `volume` by name if it is bound; `node` for which a volume is being made; what is `wrong`."""

    spec: ClaimSpec
    uid: str = ""
    volume: str = ""
    node: str = ""
    wrong: str = ""
    new: bool = False


class Attachment(NamedTuple):
    """A volume that a driver has attached to a node, or is about to."""

    node: str
    driver: str
    volume: str


class Storage(Struct, frozen=True):
    """All of a cluster. `drivers` has by node and driver how many volumes it takes, None if any number."""

    claims: Mapping[ClaimKey, VolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    drivers: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    topology_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    capacities: Capacities = Capacities()
    attachments: frozenset[Attachment] = frozenset()

    @property
    def default_class(self) -> StorageClass | None:
        return next((found for found in self.classes.values() if found.default), None)

    @property
    def usual_class(self) -> str | None:
        """The class of claims that name none; '' where they get none, None where no class is known."""
        if not self.classes:
            return None
        return next((name for name, found in self.classes.items() if found.default), "")

    def with_claims(self, more: Mapping[ClaimKey, ClaimSpec]) -> Storage:
        """The same with claims that are about to be made; one that is there already stays as it is."""
        made = {key: VolumeClaim(spec=spec, new=True) for key, spec in more.items()}
        return replace(self, claims={**made, **self.claims})


def read_storage(objects: Iterable[Mapping[str, Any]]) -> Storage:
    """What is known of a cluster's storage from its objects of these kinds."""
    by_kind: dict[str, list[Cursor]] = {kind: [] for kind in KINDS}
    for value in objects:
        kind = value.get("kind")
        if isinstance(kind, str) and kind in by_kind:
            by_kind[kind].append(cursor_of(value))
    drivers = {root.mapping("metadata").text("name"): _drivers(root) for root in by_kind[CSI_NODE]}
    return Storage(
        claims=dict(_claim(root) for root in by_kind[CLAIM]),
        volumes={found.name: found for found in map(_volume, by_kind[VOLUME])},
        classes={found.name: found for found in _classes(by_kind[CLASS])},
        drivers=drivers,
        topology_keys=_topology_keys(by_kind[CSI_NODE]),
        kinds=frozenset(kind for kind, found in by_kind.items() if found),
        capacities=read_capacities(by_kind),
        attachments=frozenset(map(_attachment, by_kind[ATTACHMENT])),
    )


def _claim(root: Cursor) -> tuple[ClaimKey, VolumeClaim]:
    metadata, spec = root.mapping("metadata"), claim_spec(root)
    annotations = metadata.mapping("annotations")
    wrong = "is being deleted" if metadata.has("deletionTimestamp") else ""
    if root.mapping("status").text("phase") == "Lost":
        wrong = "has lost its volume"
    key = (metadata.text("namespace") or "default", metadata.text("name"))
    bound = spec.volume if annotations.has(_BOUND) or root.mapping("status").text("phase") == "Bound" else ""
    return key, VolumeClaim(
        spec=spec, uid=metadata.text("uid"), volume=bound, node=annotations.text(_SELECTED_NODE), wrong=wrong
    )


def _volume(root: Cursor) -> Volume:
    metadata, spec = root.mapping("metadata"), root.mapping("spec")
    labels = metadata.labels("labels")
    annotated = metadata.mapping("annotations").value.get(CLASS_ANNOTATION)
    owner = spec.mapping("claimRef")
    claim = (owner.text("namespace"), owner.text("name")) if spec.has("claimRef") else None
    available = root.mapping("status").text("phase") == "Available" and not metadata.has("deletionTimestamp")
    return Volume(
        name=metadata.text("name"),
        affinity=tuple(_affinity(spec)),
        zoned=tuple(zones(labels)),
        storage_class=annotated if isinstance(annotated, str) else spec.text("storageClassName"),
        size=spec.mapping("capacity").quantity("storage", "storage") or 0,
        modes=spec.texts("accessModes"),
        block=spec.text("volumeMode") == "Block",
        labels=pairs(labels),
        claim=claim,
        owner=owner.text("uid"),
        free=available and claim is None,
        driver=_driver(spec),
    )


def _driver(spec: Cursor) -> str:
    """That which attaches a volume; '' for none."""
    older = (driver for source, (_, driver) in _DRIVERS.items() if spec.has(source))
    return spec.mapping("csi").text("driver") or next(older, "")


def _affinity(spec: Cursor) -> Iterator[tuple[NodeTerm, ...]]:
    """Terms about a node's name see none, as the scheduler asks them with the labels alone."""
    required = spec.mapping("nodeAffinity").mapping("required")
    if spec.mapping("nodeAffinity").has("required"):
        terms = map(node_term, required.items("nodeSelectorTerms"))
        nameless = {"metadata.name": ""}
        yield tuple(NodeTerm(term.labels) for term in terms if all(r.matches(nameless) for r in term.fields))


def zones(labels: Mapping[str, str]) -> Iterator[tuple[NodeTerm, ...]]:
    """
    What zone labels of a volume ask of nodes: such a zone, or no labels of this sort at all. Several zones are joined by two
    underscores.
    """
    nowhere = NodeTerm(tuple(Requirement(key, "DoesNotExist") for key in _ZONES))
    for key, instead in _ZONES.items():
        values = tuple(sorted(set(filter(None, labels.get(key, "").split("__")))))
        if not values:
            continue
        terms = [NodeTerm((Requirement(key, "In", values),)), nowhere]
        if instead:
            terms.append(NodeTerm((Requirement(key, "DoesNotExist"), Requirement(instead, "In", values))))
        yield tuple(terms)


def _classes(roots: Sequence[Cursor]) -> Iterator[StorageClass]:
    """Of several defaults the newest counts, then the first by name (the admission plugin DefaultStorageClass)."""
    defaults = {root.mapping("metadata").text("name"): _created(root) for root in roots if _is_default(root)}
    newest = max(defaults.values(), default="")
    default = min((name for name, created in defaults.items() if created == newest), default=None)
    for root in roots:
        name = root.mapping("metadata").text("name")
        yield StorageClass(
            name=name,
            provisioner=_PROVISIONERS.get(root.text("provisioner"), root.text("provisioner")),
            delayed=root.text("volumeBindingMode") == "WaitForFirstConsumer",
            topologies=_topologies(root),
            default=name == default,
        )


def _is_default(root: Cursor) -> bool:
    annotations = root.mapping("metadata").mapping("annotations")
    return any(annotations.value.get(key) == "true" for key in _DEFAULT_CLASS)


def _created(root: Cursor) -> str:
    return root.mapping("metadata").text("creationTimestamp")


def _topologies(root: Cursor) -> Reach:
    """An empty term selects no node, and no terms at all select every node."""
    if not root.items("allowedTopologies"):
        return ()
    return (
        tuple(
            NodeTerm(tuple(Requirement(e.text("key"), "In", e.texts("values")) for e in expressions))
            for term in root.items("allowedTopologies")
            if (expressions := term.items("matchLabelExpressions"))
        ),
    )


def _attachment(root: Cursor) -> Attachment:
    spec = root.mapping("spec")
    volume = spec.mapping("source").text("persistentVolumeName")
    return Attachment(spec.text("nodeName"), spec.text("attacher"), volume)


def _drivers(root: Cursor) -> Mapping[str, int | None]:
    return {
        driver.text("name"): driver.mapping("allocatable").integer("count")
        for driver in root.mapping("spec").items("drivers")
    }


def _topology_keys(roots: Sequence[Cursor]) -> Mapping[str, tuple[str, ...]]:
    """The labels by which a driver's volumes are reached, of all nodes that have it."""
    found: dict[str, set[str]] = {}
    for root in roots:
        for driver in root.mapping("spec").items("drivers"):
            found.setdefault(driver.text("name"), set()).update(driver.texts("topologyKeys"))
    return {name: tuple(sorted(keys)) for name, keys in found.items()}


def alternatives(reach: Reach) -> tuple[NodeTerm, ...]:
    """The same as alternatives: of each way to choose one term of each, all of them together."""
    return tuple(
        NodeTerm(
            tuple(r for term in chosen for r in term.labels),
            tuple(r for term in chosen for r in term.fields),
        )
        for chosen in product(*reach)
    )


def reaches(reach: Reach, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node of such labels and name is one of them."""
    return all(any(term.matches(labels, name) for term in terms) for terms in reach)
