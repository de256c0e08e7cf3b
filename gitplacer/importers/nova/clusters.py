"""
Nova's Cluster resources: what each cluster is, and what it had when they were exported.

The spec and labels become a Cluster. The status is a state of the moment, but it has what each node offers and what is free of it, which
is a first CapacitySnapshot; `gitplacer snapshot` knows more, and a snapshot that lies in the same folder wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import Document
from gitplacer.importers.nova.options import NovaOptions
from gitplacer.importers.nova.vocabulary import FIELDS, VERSION, Vocabulary
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import ForeignMetadata, read_metadata
from gitplacer.kinds.fields import duration_text
from gitplacer.model.labels import NAME_KEY
from gitplacer.model.resources import Resources
from gitplacer.plaintext import few
from gitplacer.problems import Problem

MESH = "nova"
"""The name that the mesh of all clusters gets, where Nova was told that apps may span them."""
_CREATED = "nova.elotl.co/cluster.novacreated"
_KUBERNETES_NAME = "nova.elotl.co/kubernetescluster"
_SNAPSHOT = "take a snapshot: gitplacer snapshot, docs/snapshots.md"


class NodeGroupConfig(Struct, frozen=True):
    """A node group as Nova remembers it."""

    name: str
    instance_type: str
    most: int | None
    accelerators: str = ""


class NovaCluster(Struct, frozen=True):
    """A Cluster of Nova as it is written. `nodes` are by name: what each offers, what is free of it, and its taints."""

    root: Reader
    metadata: ForeignMetadata
    fields: Mapping[str, str]
    autoscaled: bool = False
    conditions: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, tuple[Resources, Resources | None, tuple[dict[str, str], ...]]] = field(default_factory=dict)
    groups: tuple[NodeGroupConfig, ...] = ()
    observed_at: str = ""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def asleep(self) -> bool:
        return self.conditions.get("Standby") == "True"


def read_cluster(document: Document, notes: Notes) -> NovaCluster | list[Problem]:
    """The Cluster in a document, or what is wrong with it. A field that is not known is a line, and nothing else."""
    root = Reader.of(document)
    metadata = read_metadata(root, notes, kept=True)
    spec, status = root.mapping("spec"), root.mapping("status")
    name = spec.text("name")
    if name and metadata.name and name != metadata.name:
        what = f"spec.name {name} is not metadata.name; the cluster is called {metadata.name}, as policies call it"
        notes.about(Outcome.CHOSEN, spec, "name", what)
    fields = {
        key: spec.text(source) for key, source in (("provider", "provider"), ("region", "region"), ("zone", "zone"))
    }
    fields["kubernetesVersion"] = spec.text("kubernetesversion")
    fields[_KUBERNETES_NAME] = spec.text("kubernetescluster")
    if spec.boolean("novacreated"):
        what = "Nova made this cluster; gitplacer makes clusters only from manifests that you write"
        notes.about(Outcome.NO_EQUAL, spec, "novacreated", what, "docs/standby.md tells of clones")
    found = NovaCluster(
        root,
        metadata,
        {key: value for key, value in fields.items() if value},
        status.boolean("autoscaled"),
        {each.text("type"): _condition(each) for each in status.items("conditions")},
        _nodes(status),
        tuple(
            _node_group(status.mapping("nodeGroupsConfigs").mapping(key), key)
            for key in status.mapping("nodeGroupsConfigs").fields
        ),
        status.text("lastUpdateTime"),
    )
    notes.unread(root)
    return root.problems or found


def _condition(reader: Reader) -> str:
    for key in ("reason", "message", "lastTransitionTime", "lastUpdateTime", "lastProbeTime", "observedGeneration"):
        if reader.has(key):
            reader.value(key)
    return reader.text("status")


def _nodes(status: Reader) -> dict[str, tuple[Resources, Resources | None, tuple[dict[str, str], ...]]]:
    whole, free, taints = (status.mapping(key) for key in ("capacityResources", "availableResources", "nodeTaints"))
    for node in (*free.fields, *taints.fields):
        if node not in whole.fields:
            where = free if node in free.fields else taints
            where.report(
                "InvalidValue", f"node {node} is not in capacityResources", "export the Cluster again", key=node
            )
    return {
        node: (
            whole.quantities(node),
            free.quantities(node) if free.has(node) else None,
            tuple(_taint(each) for each in taints.items(node)),
        )
        for node in whole.fields
    }


def _taint(reader: Reader) -> dict[str, str]:
    if reader.has("timeAdded"):
        reader.value("timeAdded")
    found = {key: reader.text(key) for key in ("key", "value", "effect")}
    return {key: value for key, value in found.items() if value}


def _node_group(reader: Reader, name: str) -> NodeGroupConfig:
    for key in ("desiredCapacity", "minSize", "nodeGroupType"):
        if reader.has(key):
            reader.integer(key) if key != "nodeGroupType" else reader.text(key)
    count, kind = reader.value("accelCount"), reader.text("accelType")
    accelerators = f"{count if count is not None else 'some'} {kind}" if kind else ""
    return NodeGroupConfig(name, reader.text("instanceType"), reader.integer("maxSize"), accelerators)


class ClusterMaking(Struct, frozen=True):
    """What all clusters of an import share. `snapshots` are CapacitySnapshots that lie beside them, by cluster, as they are written."""

    words: Vocabulary
    options: NovaOptions
    notes: Notes
    snapshots: Mapping[str, Mapping[str, Any]]

    def parts(self, cluster: NovaCluster) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
        """The spec of our Cluster, its labels, and its annotations."""
        labels, spec = self._labels(cluster)
        annotations = dict(cluster.metadata.annotations)
        if _KUBERNETES_NAME in cluster.fields:
            annotations[_KUBERNETES_NAME] = cluster.fields[_KUBERNETES_NAME]
            what = f"nothing here asks for a cluster's other name; it is kept as the annotation {_KUBERNETES_NAME}"
            self.notes.about(Outcome.CHANGED, cluster.root.mapping("spec"), "kubernetescluster", what)
        if self.options.spans:
            spec["mesh"] = MESH
            what = f"apps may span clusters of one mesh, and Nova does not say which have one: all get 'mesh: {MESH}'"
            self.notes.about(
                Outcome.CHOSEN, cluster.root, None, what, "take 'mesh' from those that Cilium does not join"
            )
        self._state(cluster, spec)
        self._autoscaler(cluster, spec)
        self._standby(cluster, spec)
        return spec, labels, annotations

    def snapshot(self, cluster: NovaCluster) -> dict[str, Any] | None:
        """What the status says of the cluster's nodes, as a CapacitySnapshot; None where it says too little."""
        root, status = cluster.root, cluster.root.mapping("status")
        if cluster.name in self.snapshots:
            if cluster.nodes:
                what = f"the CapacitySnapshot of {cluster.name} that lies beside it is newer or knows more"
                self.notes.about(Outcome.LEFT_OUT, root, "status", what)
            return None
        if cluster.asleep or not cluster.nodes or not cluster.observed_at:
            missing = "its nodes sleep" if cluster.asleep else "no nodes" if not cluster.nodes else "no lastUpdateTime"
            todo = "" if cluster.asleep else _SNAPSHOT
            outcome = Outcome.LEFT_OUT if cluster.asleep else Outcome.NO_EQUAL
            self.notes.about(outcome, root, "status", f"{missing}, so there is no snapshot of {cluster.name}", todo)
            return None
        what = (
            f"what its nodes offer and use: capacity/{cluster.name}.yaml. Labels of nodes and single pods are not in it, "
            "and apps that Nova runs there count as used"
        )
        self.notes.about(Outcome.CHANGED, status, "capacityResources", what, _SNAPSHOT)
        return {
            "apiVersion": "gitplacer.dev/v1alpha1",
            "kind": "CapacitySnapshot",
            "metadata": {"name": cluster.name},
            "observedAt": cluster.observed_at,
            "nodes": [_node(name, *each) for name, each in sorted(cluster.nodes.items())],
        }

    def _labels(self, cluster: NovaCluster) -> tuple[dict[str, str], dict[str, Any]]:
        """Labels that stay labels, and those that become fields; a label wins over Nova's field, because policies look at it."""
        labels = dict(cluster.metadata.labels)
        name = labels.pop(NAME_KEY, cluster.name)
        where = cluster.root.mapping("metadata")
        if name != cluster.name:
            self.notes.about(Outcome.CHANGED, where, "labels", f"the label {NAME_KEY} is always the name, not {name}")
        spec: dict[str, Any] = {}
        for key, (field_, _) in FIELDS.items():
            written = cluster.fields.get(field_, "")
            value = labels.get(key, written)
            if key in labels and key not in self.words.kept:
                del labels[key]
                if written and written != value and not _same_version(field_, written, value):
                    what = f"the label {key}={value} is not spec's {written}; the label is taken, because policies look at it"
                    self.notes.about(Outcome.CHOSEN, where, "labels", what)
            elif key in labels:
                what = f"{key}={value} cannot be '{field_}'; the label stays, and policies ask for it"
                self.notes.about(Outcome.CHANGED, where, "labels", what)
            if field_ == "kubernetesVersion":
                number = VERSION.match(value.removeprefix("v"))
                value = number[0] if number else ""
            if value:
                spec[field_] = value
        if labels.get(_CREATED) == "true":
            what = f"the label {_CREATED} stays, and nobody keeps it up to date"
            self.notes.about(Outcome.CHANGED, where, "labels", what)
        return labels, spec

    def _state(self, cluster: NovaCluster, spec: dict[str, Any]) -> None:
        status = cluster.root.mapping("status")
        if cluster.conditions.get("Ready") == "False" and not cluster.asleep:
            spec["state"] = "Cordoned"
            what = "it is not ready, so nothing new goes there: 'state: Cordoned'"
            self.notes.about(Outcome.CHOSEN, status, "conditions", what, "take 'state' out when it is ready")
        elif cluster.conditions:
            self.notes.about(Outcome.LEFT_OUT, status, "conditions", "how it was when it was exported")

    def _autoscaler(self, cluster: NovaCluster, spec: dict[str, Any]) -> None:
        status = cluster.root.mapping("status")
        if not cluster.autoscaled:
            if cluster.groups:
                what = "counts of node groups, by which Nova wakes a cluster; whoever owns clusters keeps them"
                self.notes.about(Outcome.LEFT_OUT, status, "nodeGroupsConfigs", what)
            return
        kind = "Luna" if self.options.luna else "ClusterAutoscaler"
        spec["autoscaler"] = {"type": kind}
        what = f"Nova says that it scales, not by what: 'autoscaler.type: {kind}'"
        self.notes.about(Outcome.CHOSEN, status, "autoscaled", what, "write Luna, ClusterAutoscaler or Karpenter")
        if self.options.luna:
            spec["autoscaler"]["podLabels"] = {"elotl-luna": "true"}
        types = [_node_type(group) for group in cluster.groups if re.fullmatch(r"[A-Za-z0-9._-]{1,63}", group.name)]
        if types:
            spec["autoscaler"]["nodeTypes"] = types
        if not (self.snapshots.get(cluster.name, {}).get("nodeGroups")):
            machines = [f"{group.name} has {group.accelerators} each" for group in cluster.groups if group.accelerators]
            known = f" ({few(machines)})" if machines else ""
            what = f"Nova trusts that machines come; here a machine counts when it is known what it offers{known}"
            todo = f"write 'allocatable' and 'max' of each machine into 'autoscaler.nodeTypes' of clusters/{cluster.name}.yaml, or {_SNAPSHOT}"
            self.notes.about(Outcome.NO_EQUAL, status, "autoscaled", what, todo)

    def _standby(self, cluster: NovaCluster, spec: dict[str, Any]) -> None:
        status, seconds = cluster.root.mapping("status"), self.options.idle_seconds
        if seconds is None and not cluster.asleep:
            return
        if seconds is None:
            what = "it sleeps, and no option says after how long: 'idleAfter: 1h', Nova's default"
            todo = "--option NOVA_IDLE_ENTER_STANDBY_ENABLE imports what the options say"
            self.notes.about(Outcome.CHOSEN, status, "conditions", what, todo)
        nodes = self._nodes_awake(cluster)
        deletes = self.options.deletes and bool(nodes)
        if self.options.deletes and not nodes:
            what = "it is deleted when it sleeps, and nobody says what nodes it has when it is awake: 'mode: Suspend'"
            self.notes.about(
                Outcome.NO_EQUAL, status, None, what, "write 'nodes' and 'mode: Delete' into its 'standby'"
            )
        elif not nodes and cluster.asleep:
            what = "nobody says what nodes it has when it is awake, so nothing is counted on"
            self.notes.about(Outcome.NO_EQUAL, status, None, what, "write 'nodes' into its 'standby'")
        ignored = {"ignoreNamespaces": list(self.options.ignored_namespaces)} if self.options.ignored_namespaces else {}
        spec["standby"] = {
            "mode": "Delete" if deletes else "Suspend",
            "idleAfter": duration_text(3600 if seconds is None else seconds),
            **ignored,
            **({"nodes": nodes} if nodes else {}),
        }

    def _nodes_awake(self, cluster: NovaCluster) -> list[Any]:
        """What it has when it is awake, as its snapshot or its status says it; nothing is used then."""
        given = self.snapshots.get(cluster.name, {}).get("nodes")
        if isinstance(given, list):
            return [
                {k: v for k, v in node.items() if k not in ("used", "pods")} for node in given if isinstance(node, dict)
            ]
        return [_node(name, whole, None, taints) for name, (whole, _, taints) in sorted(cluster.nodes.items())]


def _same_version(field_: str, written: str, value: str) -> bool:
    return field_ == "kubernetesVersion" and written.removeprefix("v").startswith(value)


def _node(name: str, whole: Resources, free: Resources | None, taints: tuple[dict[str, str], ...]) -> dict[str, Any]:
    used = (
        {}
        if free is None
        else Resources({key: max(0, all_ - free.get(key, 0)) for key, all_ in whole.items()}).rendered()
    )
    return {
        "name": name,
        **({"taints": list(taints)} if taints else {}),
        "allocatable": whole.rendered(),
        **({"used": used} if used else {}),
    }


def _node_type(group: NodeGroupConfig) -> dict[str, Any]:
    instance = {"instanceType": group.instance_type} if group.instance_type else {}
    return {"name": group.name, **instance, **({"max": group.most} if group.most is not None else {})}
