"""
Machines that could be bought: those that clusters' autoscalers know, or those of a file with `nodeTypes` as a Cluster has them.

What counts is what one fresh machine is. How many of them there may be is no question here: that is what is to be found out.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.machines import NodeType
from gitplacer.kinds.parse import parsed_as
from gitplacer.machines import MachineType
from gitplacer.machines.types import INSTANCE_TYPE, REGION, ZONE
from gitplacer.placement.ledger import Ledger
from gitplacer.problems import Rejected
from gitplacer.source.files import documents_in


class NodeCatalogue(Model):
    """Machines on offer."""

    node_types: tuple[NodeType, ...]
    """Each kind of machine, with what it offers and costs."""


def read_catalogue(name: str, data: bytes) -> tuple[NodeType, ...]:
    """The machines of a file. Raises Rejected with everything that is wrong with it."""
    documents, problems = documents_in(name, data)
    found: tuple[NodeType, ...] = ()
    for document in documents:
        parsed = parsed_as(document, NodeCatalogue)
        if isinstance(parsed, NodeCatalogue):
            found += parsed.node_types
            problems += [
                document.problem("MissingField", f'node type {t.name}: "allocatable" is missing', path=("nodeTypes", i))
                for i, t in enumerate(parsed.node_types)
                if t.allocatable is None
            ]
        elif isinstance(parsed, list):
            problems += parsed
    if problems:
        raise Rejected(problems)
    return found


def on_offer(cluster: Cluster, ledger: Ledger, catalogue: tuple[NodeType, ...] | None) -> Mapping[str, MachineType]:
    """The machines that a cluster could get, by key, without any limit on how many."""
    place = {REGION: cluster.spec.region, ZONE: cluster.spec.zone}
    derived = {key: value for key, value in place.items() if value is not None}
    if catalogue is None:
        made = {key: replace(type_, draws=()) for key, type_ in ledger.nodes.types.items()}
        named = {type_.name for type_ in made.values()}
        for one in ledger.nodes.catalogue.merged:
            if (
                one.name not in named
                and one.allocatable is not None
                and not (cluster.spec.autoscaler and cluster.spec.autoscaler.node_pools)
            ):
                labels = {**derived, **dict(one.labels), INSTANCE_TYPE: one.instance_type}
                made[one.name] = MachineType(
                    key=one.name, name=one.name, labels=tuple(sorted(labels.items())), taints=one.taints,
                    allocatable=one.allocatable, overhead=one.overhead, price_per_hour=one.price_per_hour, spot=bool(one.spot),
                )  # fmt: skip
        return dict(sorted(made.items()))
    found = {}
    for entry in catalogue:
        if entry.allocatable is not None:
            labels = {**derived, **entry.labels, INSTANCE_TYPE: entry.instance_type or entry.name}
            found[entry.name] = MachineType(
                key=entry.name, name=entry.name, labels=tuple(sorted(labels.items())),
                taints=tuple(field.taint() for field in entry.taints), allocatable=entry.allocatable,
                overhead=entry.overhead, price_per_hour=entry.price_per_hour, spot=bool(entry.spot),
            )  # fmt: skip
    return dict(sorted(found.items()))
