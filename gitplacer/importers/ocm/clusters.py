"""
OCM's ManagedClusters, and the sets that they are in.

A cluster's claims are facts that it tells of itself, and Placements may ask for them like labels; those that some Placement asks for
become labels here. What a hub knows of room are totals, which promise no gang any room, so its snapshots are coarse and have no nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import Document
from gitplacer.importers.clusterselectors import taken
from gitplacer.importers.fleetrepo import FleetRepo
from gitplacer.importers.hubclusters import SNAPSHOT, leave_out_reach, version_field, write_snapshot
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Outcome
from gitplacer.importers.selectors import read_metadata, read_selector
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import NAME_KEY, VALUE_HINT, Labels, Requirement, is_label_key, is_label_value

OCM = "cluster.open-cluster-management.io"
SET_LABEL = f"{OCM}/clusterset"
EFFECTS: Mapping[str, str] = {
    "NoSelect": "NoExecute",
    "NoSelectIfNew": "NoSchedule",
    "PreferNoSelect": "PreferNoSchedule",
}
"""OCM's effects of taints in Kubernetes' words: not there at all, nothing new there, rather not there."""
_OWN_TAINTS = (f"{OCM}/unavailable", f"{OCM}/unreachable")
"""What the hub sets when it does not hear of a cluster."""
_FACTS: Mapping[str, str] = {
    "region.open-cluster-management.io": "region",
    "platform.open-cluster-management.io": "provider",
}
_FIELDS: Mapping[str, str] = {
    "topology.kubernetes.io/region": "region",
    "topology.kubernetes.io/zone": "zone",
    "gitplacer.dev/provider": "provider",
}
"""Labels that follow from a Cluster's fields, with the field: what is a label at OCM has to be the field here."""
_VERSION = "gitplacer.dev/kubernetes-version"


class Known(Struct, frozen=True):
    """The clusters by name: the labels that policies see, and the claims of each. `sets` are the conditions of each set."""

    labels: Mapping[str, Labels] = field(default_factory=dict)
    claims: Mapping[str, Labels] = field(default_factory=dict)
    sets: Mapping[str, tuple[Requirement, ...]] = field(default_factory=dict)
    bound: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def members(self, name: str) -> list[str]:
        return taken(self.labels, self.set(name))

    def set(self, name: str) -> tuple[Requirement, ...]:
        """The conditions of a set; of one that there is no file of, its label, and of `global` none."""
        if name in self.sets:
            return self.sets[name]
        return () if name == "global" else (Requirement(SET_LABEL, "In", (name,)),)


def write_clusters(documents: Iterable[Document], asked: frozenset[str], repo: FleetRepo, now: datetime) -> Known:
    """Writes every cluster and its snapshot. `asked` are the claims that Placements ask for."""
    labels: dict[str, Labels] = {}
    claims: dict[str, Labels] = {}
    for document in documents:
        root, notes = Reader.of(document), repo.notes
        metadata = read_metadata(root, notes, kept=True)
        name = metadata.name
        spec, own = _spec(root, repo)
        found = _claims(root)
        version = root.mapping("status").mapping("version").text("kubernetes")
        _status(root, repo)
        notes.unread(root)
        if root.problems:
            repo.problems += root.problems
            continue
        if name in labels:
            notes.add(
                Outcome.CHOSEN, document, (), f"ManagedCluster {name} is there twice, and the first counts", "keep one"
            )
            continue
        spec |= version_field(version)
        for claim, ours in _FACTS.items():
            if claim in found:
                spec[ours] = found[claim].lower() if ours == "provider" else found[claim]
        kept = _own_labels(metadata.labels, spec, root, repo)
        _labelled(kept, found, asked, root, repo)
        comment = f"Imported from the ManagedCluster at {document.locate()}."
        spec |= own
        made = repo.own(
            "clusters", "Cluster", name, spec, document, comment, labels=kept, annotations=metadata.annotations
        )
        if isinstance(made, Cluster):
            labels[name], claims[name] = made.labels(), found
            notes.add(Outcome.CONVERTED, document, (), f"ManagedCluster {name}: clusters/{name}.yaml")
            if write_snapshot("ocm", name, root, repo, now) is not None:
                what = f"a hub knows totals and no nodes, so capacity/{name}.yaml promises no gang any room"
                notes.about(Outcome.CHANGED, root, "status", what, SNAPSHOT)
    return Known(labels, claims)


def _spec(root: Reader, repo: FleetRepo) -> tuple[dict[str, Any], dict[str, Any]]:
    """Taints, and the state."""
    spec, notes = root.mapping("spec"), repo.notes
    leave_out_reach(spec, ("managedClusterClientConfigs", "leaseDurationSeconds"), "the hub", notes)
    taints = []
    for item in spec.items("taints"):
        if item.has("timeAdded"):
            item.value("timeAdded")
        found = {key: item.text(key) for key in ("key", "value", "effect")}
        if found["key"] in _OWN_TAINTS:
            notes.about(
                Outcome.LEFT_OUT,
                item,
                None,
                f"{found['key']} says that the hub did not hear of it when it was exported",
            )
        elif found["effect"] not in EFFECTS:
            item.report(
                "InvalidValue", f'unknown effect "{found["effect"]}"', f"one of {', '.join(EFFECTS)}", key="effect"
            )
        else:
            if found["effect"] == "NoSelectIfNew":
                what = "what is there and does not tolerate it moves away here; in OCM it stays"
                notes.about(
                    Outcome.CHANGED, item, "effect", what, "write `state: Cordoned` if only new apps should keep away"
                )
            taints.append(
                {key: value for key, value in (found | {"effect": EFFECTS[found["effect"]]}).items() if value}
            )
    accepted = "hubAcceptsClient" not in spec.fields or spec.boolean("hubAcceptsClient")
    state: dict[str, Any] = {}
    if not accepted:
        state = {"state": "Cordoned"}
        what = "the hub has not accepted it, so nothing goes there: `state: Cordoned`"
        notes.about(Outcome.CONVERTED, spec, "hubAcceptsClient", what)
    elif _unavailable(root):
        state = {"state": "Cordoned"}
        what = "it is not available, so nothing new goes there: `state: Cordoned`"
        notes.about(Outcome.CHOSEN, root.mapping("status"), "conditions", what, "take `state` out when it is")
    return ({"taints": taints} if taints else {}), state


def _unavailable(root: Reader) -> bool:
    for item in root.mapping("status").items("conditions"):
        for key in item.fields:
            item.value(key)
        value = item.cursor.value
        if value.get("type") == "ManagedClusterConditionAvailable" and value.get("status") != "True":
            return True
    return False


def _claims(root: Reader) -> dict[str, str]:
    """The claims of a cluster by name."""
    return {item.text("name"): item.text("value") for item in root.mapping("status").items("clusterClaims")}


def _status(root: Reader, repo: FleetRepo) -> None:
    status = root.mapping("status")
    for key in status.fields:
        if key not in ("clusterClaims", "version"):
            status.value(key)
    if root.has("status"):
        repo.notes.about(
            Outcome.LEFT_OUT, root, "status", "how it was when it was exported, but for claims that Placements ask for"
        )


def _own_labels(labels: Labels, spec: dict[str, Any], root: Reader, repo: FleetRepo) -> dict[str, str]:
    """The labels that stay labels; those that follow from fields become these, and win over claims, because Placements look at them."""
    kept, where = dict(labels), root.mapping("metadata")
    for key, ours in _FIELDS.items():
        if key in kept:
            value = kept.pop(key)
            if spec.get(ours, value) != value:
                what = f"the label {key}={value} is not the claim's {ours} {spec[ours]}; the label is taken, because Placements look at it"
                repo.notes.about(Outcome.CHOSEN, where, "labels", what)
            spec[ours] = value
    follows: dict[str, Any] = {NAME_KEY: where.text("name"), _VERSION: spec.get("kubernetesVersion")}
    for key in sorted(follows.keys() & kept.keys()):
        if (written := kept.pop(key)) != follows[key]:
            what = f"the label {key} follows from the cluster, and is not {written} here"
            repo.notes.about(Outcome.CHANGED, where, "labels", what, "ask for another label in policies")
    return kept


def _labelled(
    labels: dict[str, str], claims: Mapping[str, str], asked: frozenset[str], root: Reader, repo: FleetRepo
) -> None:
    """Adds the claims that Placements ask for to the labels."""
    for name in sorted(asked & claims.keys()):
        where = root.mapping("status")
        if not (is_label_key(name) and is_label_value(claims[name])) or labels.get(name, claims[name]) != claims[name]:
            what = f"the claim {name} cannot be a label, or is one of another value, and Placements ask for it"
            repo.notes.about(
                Outcome.NO_EQUAL, where, "clusterClaims", what, "label the Cluster by another key, and ask for that"
            )
        else:
            labels[name] = claims[name]
            what = f"the claim {name} is a label now, because Placements ask for it; nobody keeps it up to date"
            repo.notes.about(Outcome.CHANGED, where, "clusterClaims", what)


def read_sets(documents: Iterable[Document], bindings: Iterable[Document], known: Known, repo: FleetRepo) -> Known:
    """The sets, and which of them each namespace is bound to."""
    sets: dict[str, tuple[Requirement, ...]] = {}
    bound: dict[str, set[str]] = {}
    for document in documents:
        root = Reader.of(document)
        name = read_metadata(root, repo.notes).name
        if not is_label_value(name):
            root.report("InvalidLabel", "the name of a set is the value of a label", VALUE_HINT, key="metadata")
            repo.problems += root.problems
            continue
        chosen = root.mapping("spec").mapping("clusterSelector")
        kind = chosen.text("selectorType") or "ExclusiveClusterSetLabel"
        if kind == "LabelSelector":
            sets[name] = (
                read_selector(chosen.mapping("labelSelector")).requirements() if chosen.has("labelSelector") else ()
            )
        elif kind in ("ExclusiveClusterSetLabel", "LegacyClusterSetLabel"):
            sets[name] = (Requirement(SET_LABEL, "In", (name,)),)
        else:
            chosen.report(
                "InvalidValue",
                f'unknown selectorType "{kind}"',
                "ExclusiveClusterSetLabel or LabelSelector",
                key="selectorType",
            )
        _end(root, repo, f"the clusters of set {name}: policies say which they are")
    for document in bindings:
        root = Reader.of(document)
        metadata = read_metadata(root, repo.notes)
        space = root.mapping("metadata").text("namespace")
        name = root.mapping("spec").text("clusterSet") or metadata.name
        if is_label_value(name):
            bound.setdefault(space, set()).add(name)
        else:
            root.report("InvalidLabel", "the name of a set is the value of a label", VALUE_HINT, key="spec")
        _end(root, repo, f"Placements of {space or 'no namespace'} may use the set {name}")
    return Known(known.labels, known.claims, sets, {space: frozenset(names) for space, names in bound.items()})


def _end(root: Reader, repo: FleetRepo, what: str) -> None:
    if root.has("status"):
        root.value("status")
        repo.notes.about(Outcome.LEFT_OUT, root, "status", "what OCM found out")
    repo.notes.unread(root)
    repo.problems += root.problems
    if not root.problems:
        repo.notes.about(Outcome.CONVERTED, root, None, what)
