"""
The nodes of a snapshot as columns.

A large cluster has thousands of nodes that are alike but for their names, and an object for each of them, with objects of its own, takes longer
to unpickle than all else that is remembered of a file, and half a kilobyte. So what several nodes have alike is kept once, and each node is a row of
numbers that say which. Who counts nodes reads the columns; who looks at one has it made. It is equal in every field to the one that was there, also
in which fields were set; a tuple of nodes is the plain version of this.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from msgspec import Struct

from gitplacer.model.resources import Resources

if TYPE_CHECKING:
    from gitplacer.kinds.capacity import Node
    from gitplacer.kinds.listedpods import ListedPod
    from gitplacer.kinds.selectors import TaintField

Value = TypeVar("Value")

_NOTHING_ELSE: dict[str, Any] = {"__pydantic_extra__": None, "__pydantic_private__": None}
"""The rest of what pydantic keeps of an object; nodes have none of it."""


class Alike(Struct, frozen=True):
    """What many nodes have alike, and which fields were given. Names, the values of labels and what is used tell nodes apart."""

    count: int
    taints: tuple[TaintField, ...]
    unschedulable: bool
    ready: bool
    allocatable: Resources
    given: frozenset[str]


class Column(Struct, Generic[Value], frozen=True):
    """Values, each once, in the order in which they came first, and for each row the number of its own. Iterating gives the value of each row."""

    values: tuple[Value, ...]
    rows: array[int]

    def __iter__(self) -> Iterator[Value]:
        return map(self.values.__getitem__, self.rows)

    @staticmethod
    def of(values: Iterable[Hashable]) -> Column[Any]:
        """The column of some values, one for each row."""
        numbers: dict[Hashable, int] = {}
        rows = [numbers.setdefault(value, len(numbers)) for value in values]
        return Column(tuple(numbers), array(_narrowest(len(numbers)), rows))


def _narrowest(numbers: int) -> str:
    """The type code of the arrays that take the least for so many numbers, from 0 on: most columns have few."""
    return next(code for code, size in (("B", 2**8), ("H", 2**16), ("Q", 2**64)) if numbers <= size)


class NodeColumns(Struct, frozen=True):
    """Nodes by row; of their labels the keys, and the values in the order of these. Few list `pods`, so these are by the number of a row."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    alike: Column[Alike]
    keys: Column[tuple[str, ...]]
    used: Column[Resources]
    pods: Mapping[int, tuple[ListedPod, ...]]

    @staticmethod
    def of(nodes: Sequence[Node]) -> NodeColumns:
        """Nodes as columns; of those that are columns already, these."""
        if isinstance(nodes, NodeTable):
            return nodes.columns
        alike = Column.of(
            (n.count, n.taints, n.unschedulable, n.ready, n.allocatable, frozenset(n.model_fields_set)) for n in nodes
        )
        return NodeColumns(
            names=tuple(node.name for node in nodes),
            labels=tuple(tuple(node.labels.values()) for node in nodes),
            alike=Column(tuple(Alike(*each) for each in alike.values), alike.rows),
            keys=Column.of(tuple(node.labels) for node in nodes),
            used=Column.of(node.used for node in nodes),
            pods={row: node.pods for row, node in enumerate(nodes) if node.pods},
        )


class NodeTable(Sequence["Node"]):
    """Nodes that are kept as columns: objects of `kind`, each made when somebody looks at it, and let go of when nobody does."""

    __slots__ = ("_kind", "columns")

    def __init__(self, columns: NodeColumns, kind: type[Node]) -> None:
        self.columns = columns
        self._kind = kind

    def __len__(self) -> int:
        return len(self.columns.names)

    @overload
    def __getitem__(self, row: int) -> Node: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[Node, ...]: ...

    def __getitem__(self, row: int | slice) -> Node | tuple[Node, ...]:
        rows = range(len(self))[row]
        return self._made(rows) if isinstance(rows, int) else tuple(map(self._made, rows))

    def __iter__(self) -> Iterator[Node]:
        return map(self._made, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NodeTable) and self.columns == other.columns:
            return True
        return tuple(self) == tuple(other) if isinstance(other, (tuple, NodeTable)) else NotImplemented

    def __repr__(self) -> str:
        return repr(tuple(self))

    __hash__ = None  # type: ignore[assignment]  # as nodes have none

    def _made(self, row: int) -> Node:
        columns = self.columns
        alike, keys = columns.alike.values[columns.alike.rows[row]], columns.keys.values[columns.keys.rows[row]]
        fields = {
            "name": columns.names[row],
            "count": alike.count,
            "labels": dict(zip(keys, columns.labels[row], strict=True)),
            "taints": alike.taints,
            "unschedulable": alike.unschedulable,
            "ready": alike.ready,
            "allocatable": alike.allocatable,
            "used": columns.used.values[columns.used.rows[row]],
            "pods": columns.pods.get(row, ()),
        }
        node = self._kind.__new__(self._kind)
        node.__setstate__({"__dict__": fields, "__pydantic_fields_set__": set(alike.given), **_NOTHING_ELSE})
        return node
