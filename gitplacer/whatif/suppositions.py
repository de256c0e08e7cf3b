"""
Suppositions: what somebody asks "what if" of, as values.

Each changes the inputs of a pass as a commit would do it: a line in a Cluster, a count in a manifest, a file more or less. So a
plan that was made on a supposition is the plan that its pull request would show. What a supposition cannot say of a fleet is
refused before anything is planned, with the names that are near.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import ClassVar, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer import workloads
from gitplacer.documents import Edit
from gitplacer.hydrate import Inputs
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.counts import Count
from gitplacer.plaintext import few, printable
from gitplacer.problems import nearest
from gitplacer.snapshot import Snapshot, snapshot_of
from gitplacer.source.files import Memo, NoMemo
from gitplacer.source.manifests import SourceObject
from gitplacer.tree import Changes, Tree
from gitplacer.treeids import tree_id
from gitplacer.whatif.editing import Unsupposable, Value, edited, with_cluster_edited
from gitplacer.workloads.facts import Scale


class Supposition(Protocol):
    """One thing that is otherwise."""

    @property
    def title(self) -> str:
        """What is supposed, in a few words that are safe to print: `losing cluster a`."""
        ...

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        """The inputs as they would be. `base` is what was read of those given. Raises Unsupposable."""
        ...


def _with_source(inputs: Inputs, source: Tree) -> Inputs:
    """Inputs of another source, which is no commit."""
    return inputs if source is inputs.source else replace(inputs, source=source, commit=None)


class _InState(Struct, frozen=True):
    """A cluster whose `state` is another; `doing` is what somebody does who writes that."""

    name: str
    state: ClassVar[str]
    doing: ClassVar[str]

    @property
    def title(self) -> str:
        return f"{self.doing} cluster {printable(self.name)}"

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        return _with_source(inputs, with_cluster_edited(inputs.source, base, self.name, self._edits))

    def _edits(self, value: Value) -> Sequence[Edit]:
        spec = value.get("spec")
        same = isinstance(spec, Mapping) and spec.get("state", "Active") == self.state
        return () if same else (Edit(("spec", "state"), "add", self.state),)


class LoseCluster(_InState, frozen=True):
    """A cluster is lost, and somebody says so: its groups go elsewhere, but for what may run on unseen and must not run twice."""

    state, doing = "Lost", "losing"


class DrainCluster(_InState, frozen=True):
    """A cluster is to be empty: its groups leave one by one, as guards, strategies and evidence let them."""

    state, doing = "Draining", "draining"


class CordonCluster(_InState, frozen=True):
    """A cluster takes nothing new."""

    state, doing = "Cordoned", "cordoning"


class AddFiles(Struct, frozen=True):
    """Files more, or other bytes in files: by their paths in the source, and in the directory of the snapshots."""

    source: Mapping[str, bytes] = field(default_factory=dict)
    capacity: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def title(self) -> str:
        names = [printable(path) for path in sorted((*self.source, *self.capacity))]
        return f"adding {few(names)}"

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        inputs = _with_source(inputs, inputs.source.apply(Changes(self.source)) if self.source else inputs.source)
        if not self.capacity:
            return inputs
        capacity = inputs.capacity.apply(Changes(self.capacity))
        return replace(inputs, capacity=capacity, capacity_id=tree_id(capacity))


class AddCluster(Struct, frozen=True):
    """A cluster more: its Cluster, and its first CapacitySnapshot."""

    name: str
    cluster: bytes
    snapshot: bytes

    @property
    def title(self) -> str:
        return f"adding cluster {printable(self.name)}"

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        path = f"clusters/{self.name}.yaml"
        if self.name in base.source.own.clusters or path in inputs.source:
            raise Unsupposable(f'there is a cluster "{printable(self.name)}" already', "give the new one another name")
        return AddFiles({path: self.cluster}, {f"{self.name}.yaml": self.snapshot}).applied(inputs, base)


class RemoveFiles(Struct, frozen=True):
    """Files less."""

    paths: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"removing {few([printable(path) for path in sorted(self.paths)])}"

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        for path in self.paths:
            if path not in inputs.source:
                raise Unsupposable(f"there is no file {printable(path)}", nearest(path, inputs.source))
        return _with_source(inputs, inputs.source.apply(Changes(removed=frozenset(self.paths))))


class RaiseReplicas(Struct, frozen=True, kw_only=True):
    """
    A group with other replica counts: `to` so many, or `times` as many (rounded up). `worker` names the worker group; where it is
    '', `to` is for the only count that the group has, and `times` for all of them. Bounds follow a count that would lie outside.
    """

    group: str
    worker: str = ""
    to: int | None = None
    times: float = 1.0

    @property
    def title(self) -> str:
        what = printable(self.group) + (f" worker group {printable(self.worker)}" if self.worker else "")
        return (
            f"{what} with {self.to} replica{'s' * (self.to != 1)}"
            if self.to is not None
            else f"{what} with {self.times:g}× its replicas"
        )

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        tree, found = inputs.source, self._counted(base)
        for member in {id(member): member for member, _ in found}.values():
            roles = {scale.role for item, scale in found if item is member}

            def edits(value: Value, roles: set[str] = roles) -> Sequence[Edit]:
                declared = base.source.declarations.kinds
                scales = (scale for scale in workloads.scales(value, declared) if scale.role in roles)
                return workloads.counted(value, {s.role: Count(self._number(s.replicas)) for s in scales}, declared)

            changed = edited(tree, member.path, _is_object(member), edits)
            if changed is None:
                raise Unsupposable(f"{printable(member.path)} has no {member.identity} any more")
            tree = changed
        return _with_source(inputs, tree)

    def _number(self, replicas: int) -> int:
        return self.to if self.to is not None else ceil(replicas * self.times)

    def _counted(self, base: Snapshot) -> list[tuple[SourceObject, Scale]]:
        group = base.groups.get(self.group)
        if group is None:
            raise Unsupposable(f'there is no group "{printable(self.group)}"', nearest(self.group, base.groups))
        counts = [
            (member, scale)
            for member in group.members
            for scale in workloads.scales(member.document.value, base.source.declarations.kinds)
            if scale.path
        ]
        if not counts:
            raise Unsupposable(
                f"nothing of {printable(self.group)} has a replica count", "its pods are as they are written"
            )
        names = sorted({_worker(scale) for _, scale in counts} - {""})
        if self.worker:
            counts = [(member, scale) for member, scale in counts if _worker(scale) == self.worker]
            if not counts:
                message = f'{printable(self.group)} has no worker group "{printable(self.worker)}"'
                raise Unsupposable(message, nearest(self.worker, names))
        elif self.to is not None and len(counts) > 1:
            choices = ", ".join(printable(name) for name in names) or "it has several objects with replicas"
            hint = f"say which: {choices}; or give a factor such as 2x, which is for all"
            raise Unsupposable(f"{printable(self.group)} has {len(counts)} replica counts", hint)
        return counts


def _worker(scale: Scale) -> str:
    kind, _, name = scale.role.partition("/")
    return name if kind == "worker" else ""


def _is_object(member: SourceObject) -> Callable[[Value], bool]:
    wanted = member.document.value
    return lambda value: (
        value.get("apiVersion") == wanted.get("apiVersion")
        and value.get("kind") == wanted.get("kind")
        and _named(value) == _named(wanted)
    )


def _named(value: Value) -> tuple[object, object]:
    metadata = value.get("metadata")
    return (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, dict) else (None, None)


class SetPrice(Struct, frozen=True):
    """What a node type of a cluster costs in an hour. It is written into the Cluster, which wins over what a snapshot reports."""

    cluster: str
    node_type: str
    price_per_hour: float

    @property
    def title(self) -> str:
        return f"{printable(self.node_type)} of cluster {printable(self.cluster)} at {self.price_per_hour:g} an hour"

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        cluster = base.source.own.clusters.get(self.cluster)
        if cluster is not None:
            self._check(cluster, base)
        return _with_source(inputs, with_cluster_edited(inputs.source, base, self.cluster, self._edits))

    def _check(self, cluster: Cluster, base: Snapshot) -> None:
        if cluster.spec.autoscaler is None:
            raise Unsupposable(f"cluster {printable(self.cluster)} has no autoscaler, so none of its nodes has a price")
        known = set(_types(cluster, base))
        if self.node_type not in known:
            message = f'cluster {printable(self.cluster)} has no node type "{printable(self.node_type)}"'
            raise Unsupposable(message, nearest(self.node_type, known))

    def _edits(self, value: Value) -> Sequence[Edit]:
        path = ("spec", "autoscaler", "nodeTypes")
        types = value["spec"]["autoscaler"].get("nodeTypes") or []
        for index, item in enumerate(types):
            if item.get("name") == self.node_type:
                return (Edit((*path, index, "pricePerHour"), "add", self.price_per_hour),)
        entry = {"name": self.node_type, "pricePerHour": self.price_per_hour}
        return (Edit((*path, "-"), "add", entry) if types else Edit(path, "add", [entry]),)


def _types(cluster: Cluster, base: Snapshot) -> Iterator[str]:
    """The names by which node types of a cluster are known: to whoever wrote it, and to its snapshot."""
    if cluster.spec.autoscaler is not None:
        yield from (item.name for item in cluster.spec.autoscaler.node_types)
    snapshot = base.capacity.get(cluster.name)
    for group in snapshot.node_groups if snapshot is not None else ():
        yield group.name
        if group.node_type is not None:
            yield group.node_type


class Together(Struct, frozen=True):
    """Several suppositions at once, each on top of those before it."""

    parts: tuple[Supposition, ...]
    name: str = ""

    @property
    def title(self) -> str:
        return printable(self.name) if self.name else few([part.title for part in self.parts], most=5)

    def applied(self, inputs: Inputs, base: Snapshot, memo: Memo | None = None) -> Inputs:
        memo = memo or NoMemo()
        for number, part in enumerate(self.parts):
            if number and isinstance(self.parts[number - 1], MOVES_FILES):
                base = snapshot_of(inputs, memo)  # what later parts name may have come, or gone
            inputs = part.applied(inputs, base)
        return inputs


MOVES_FILES = (AddFiles, AddCluster, RemoveFiles, Together)

TABLE: Mapping[str, type[Supposition]] = MappingProxyType(
    {
        "lose": LoseCluster,
        "drain": DrainCluster,
        "cordon": CordonCluster,
        "add": AddFiles,
        "addCluster": AddCluster,
        "remove": RemoveFiles,
        "replicas": RaiseReplicas,
        "price": SetPrice,
    }
)
"""Every supposition, by the word that a user has for it."""
