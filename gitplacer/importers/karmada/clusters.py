"""
Karmada's Clusters: what each is, and a coarse snapshot of what its control plane knows of it.

How Karmada reaches a cluster is of no use here, because an engine in the cluster, or beside it, fetches what is placed there. What
it knows of room are totals and sizes of nodes; `gitplacer snapshot` knows more, and a snapshot that lies in the same folder wins.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from gitplacer.documents import Document
from gitplacer.importers.fleetrepo import FleetRepo
from gitplacer.importers.hubclusters import SNAPSHOT, leave_out_reach, version_field, write_snapshot
from gitplacer.importers.karmada.affinities import FIELDS, Known
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Outcome
from gitplacer.importers.selectors import ForeignMetadata, read_metadata
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import NAME_KEY, Labels
from gitplacer.problems import Problem

TAINTS = "cluster.karmada.io/"
_REACHED = (
    "id",
    "syncMode",
    "apiEndpoint",
    "secretRef",
    "impersonatorSecretRef",
    "insecureSkipTLSVerification",
    "proxyURL",
    "proxyHeader",
)
"""How Karmada reaches a cluster."""


class KarmadaCluster(Struct, frozen=True):
    """A Cluster as it is written."""

    root: Reader
    metadata: ForeignMetadata
    fields: dict[str, str]
    zones: tuple[str, ...]
    taints: tuple[dict[str, str], ...]
    ready: bool
    version: str

    @property
    def name(self) -> str:
        return self.metadata.name


def read_cluster(document: Document, repo: FleetRepo) -> KarmadaCluster | list[Problem]:
    """The Cluster in a document, or what is wrong with it."""
    notes, root = repo.notes, Reader.of(document)
    metadata = read_metadata(root, notes, kept=True)
    spec, status = root.mapping("spec"), root.mapping("status")
    leave_out_reach(spec, _REACHED, "Karmada", notes)
    one, zones = spec.text("zone"), spec.texts("zones")
    fields = {key: spec.text(key) for key in ("provider", "region")}
    zones = zones or ((one,) if one else ())
    if len(zones) > 1:
        what = f"it is in {len(zones)} zones, and a Cluster here has one: it is called after the first"
        notes.about(Outcome.CHANGED, spec, "zones", what, "conditions on zones were written as names of clusters")
    if zones:
        fields["zone"] = zones[0]
    taints = tuple(taint for item in spec.items("taints") if (taint := _taint(item, repo)))
    if spec.has("resourceModels"):
        spec.value("resourceModels")
    ready, version = _status(root, status, repo)
    notes.unread(root)
    made = KarmadaCluster(root, metadata, {k: v for k, v in fields.items() if v}, zones, taints, ready, version)
    return root.problems or made


def _taint(reader: Reader, repo: FleetRepo) -> dict[str, str]:
    if reader.has("timeAdded"):
        reader.value("timeAdded")
    found = {key: reader.text(key) for key in ("key", "value", "effect")}
    if found["key"].startswith(TAINTS):
        what = f"{found['key']} is what Karmada's controllers made of the cluster's state when it was exported"
        repo.notes.about(Outcome.LEFT_OUT, reader, None, what)
        return {}
    return {key: value for key, value in found.items() if value}


def _status(root: Reader, status: Reader, repo: FleetRepo) -> tuple[bool, str]:
    """Whether it is ready, as far as is known, and its version. The rest is for the snapshot."""
    ready = True
    for item in status.items("conditions"):
        for key in item.fields:
            item.value(key)
        if item.cursor.value.get("type") == "Ready" and item.cursor.value.get("status") in ("False", "Unknown"):
            ready = False
    for key in status.fields:
        if key not in ("conditions", "kubernetesVersion"):
            status.value(key)
    if root.has("status"):
        repo.notes.about(Outcome.LEFT_OUT, root, "status", "how it was when it was exported, but for its snapshot")
    return ready, status.text("kubernetesVersion")


def write_clusters(documents: list[Document], repo: FleetRepo, now: datetime) -> tuple[Known, bool]:
    """Writes every cluster and its snapshot. Returns what policies have to know of them, and whether some snapshot is coarse."""
    labels: dict[str, Labels] = {}
    zones: dict[str, tuple[str, ...]] = {}
    coarse = False
    for document in documents:
        cluster = read_cluster(document, repo)
        if isinstance(cluster, list):
            repo.problems += cluster
            continue
        if f"clusters/{cluster.name}.yaml" in repo.files:
            what = f"Cluster {cluster.name} is there twice, and the first counts"
            repo.notes.add(Outcome.CHOSEN, document, (), what, "keep one")
            continue
        spec, own = _parts(cluster, repo)
        comment = f"Imported from the Cluster at {document.locate()}."
        annotations = cluster.metadata.annotations
        ours = repo.own(
            "clusters", "Cluster", cluster.name, spec, document, comment, labels=own, annotations=annotations
        )
        if not isinstance(ours, Cluster):
            continue
        labels[cluster.name], zones[cluster.name] = ours.labels(), cluster.zones
        repo.notes.add(Outcome.CONVERTED, document, (), f"Cluster {cluster.name}: clusters/{cluster.name}.yaml")
        coarse = _snapshot(cluster, repo, now) or coarse
    return Known(labels, zones), coarse


def _parts(cluster: KarmadaCluster, repo: FleetRepo) -> tuple[dict[str, Any], dict[str, str]]:
    """The spec of our Cluster, and its labels, without those that follow from fields."""
    notes, root = repo.notes, cluster.root
    own, spec = dict(cluster.metadata.labels), dict[str, Any](cluster.fields)
    for field, key in FIELDS.items():
        if key not in own:
            continue
        value = own.pop(key)
        if spec.setdefault(field, value) != value:
            what = (
                f"the label {key}={value} is not spec's {field} {spec[field]}; the field is taken, and gives the label"
            )
            notes.about(
                Outcome.CHOSEN,
                root.mapping("metadata"),
                "labels",
                what,
                "policies that ask for the label take other clusters now",
            )
    own.pop(NAME_KEY, None)
    spec |= version_field(cluster.version)
    if cluster.taints:
        spec["taints"] = list(cluster.taints)
    if not cluster.ready:
        spec["state"] = "Cordoned"
        what = "it is not ready, so nothing new goes there: `state: Cordoned`"
        notes.about(Outcome.CHOSEN, root.mapping("status"), "conditions", what, "take `state` out when it is ready")
    return spec, own


def _snapshot(cluster: KarmadaCluster, repo: FleetRepo, now: datetime) -> bool:
    """Writes what Karmada knows of the room there. True where that is coarse."""
    snapshot = write_snapshot("karmada", cluster.name, cluster.root, repo, now)
    if snapshot is None:
        return False
    path = f"capacity/{cluster.name}.yaml"
    if snapshot.nodes:
        what = f"how many nodes have at least how much free: {path}. Devices, labels and taints of nodes are not in it"
    else:
        what = f"Karmada knows totals and no nodes, so {path} promises no gang any room"
    repo.notes.about(Outcome.CHANGED, cluster.root.mapping("status"), "resourceSummary", what, SNAPSHOT)
    return True
