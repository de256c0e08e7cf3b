"""
Clones: clusters that stand in no file of the source, because they were made when a group needed one.

A clone is like the Cluster that it was made after but for its name, and it is a cluster of the fleet like any other for as long as
its state stands in the deployment repo. A Cluster of the same name in the source takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gitplacer.kinds.clusterstate import CLUSTER_STATES, ClusterState
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.record import PlacementRecord
from gitplacer.kinds.selectors import ClusterMetadata
from gitplacer.problems import Location, Problem
from gitplacer.source.reading import Source


def like(model: Cluster, name: str) -> Cluster:
    """A cluster like another, of another name. It takes groups whatever is happening to its model."""
    metadata = ClusterMetadata(name=name, labels=model.metadata.labels, annotations=model.metadata.annotations)
    return model.model_copy(update={"metadata": metadata, "spec": model.spec.model_copy(update={"state": "Active"})})


def with_clones(source: Source, models: Mapping[str, str]) -> Source:
    """The source with clones as clusters; `models` has by name what each is like. Those whose model is gone are left out."""
    own, sleeping = source.own, source.sleeping
    made = {n: m for n, m in sorted(models.items()) if n not in own.clusters and m in own.clusters}
    if not made:
        return source
    clusters = {**own.clusters, **{name: like(own.clusters[model], name) for name, model in made.items()}}
    places = {f"Cluster/{name}": own.places[f"Cluster/{model}"] for name, model in made.items()}
    templates = dict.fromkeys(made, sleeping.templates) if sleeping.templates is not None else {}
    sets = {name: found for name, found in templates.items() if found is not None}
    faulty = sleeping.faulty | (made.keys() - sets.keys())
    return replace(
        source,
        own=replace(own, clusters=dict(sorted(clusters.items())), places={**own.places, **places}),
        sleeping=replace(sleeping, manifests={**sleeping.manifests, **sets}, faulty=frozenset(faulty)),
    )


def without_a_model(
    source: Source, states: Mapping[str, ClusterState], records: Mapping[str, PlacementRecord]
) -> list[Problem]:
    """Clones that have groups and of which nobody knows any more what they are."""
    inhabited = {entry.name for record in records.values() for entry in record.clusters}
    hint = "put that Cluster back, or write one for the clone"
    return [
        Problem(
            Location(f"{CLUSTER_STATES}/{name}.yaml"),
            "CloneModel",
            f"cluster {name} has groups and was made after {state.clone_of}, which is not in the source any more",
            hint,
        )
        for name, state in sorted(states.items())
        if state.clone_of is not None and name in inhabited and name not in source.own.clusters
    ]
