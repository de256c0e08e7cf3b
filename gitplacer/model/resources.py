"""
Resources: names to integers, with the arithmetic of requests.

An absent name is zero. Amounts are in the grain of `quantity.amount`. Values are immutable and hashable,
so that equal pods are one pod to whoever counts them.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar, overload

from gitplacer.model import quantity

_Else = TypeVar("_Else")


class Resources(Mapping[str, int]):
    """Immutable amounts by resource name; zero amounts are dropped, so equal needs are equal values."""

    __slots__ = ("_amounts", "_hash")

    def __init__(self, amounts: Mapping[str, int] | None = None) -> None:
        self._amounts = {name: value for name, value in sorted((amounts or {}).items()) if value}
        self._hash: int | None = None

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    # What a Mapping makes of these three, without its detours: a pass asks some millions of times.

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    @overload
    def get(self, name: str) -> int | None: ...
    @overload
    def get(self, name: str, default: int | _Else) -> int | _Else: ...
    def get(self, name: str, default: object = None) -> object:
        return self._amounts.get(name, default)

    def keys(self) -> KeysView[str]:
        return self._amounts.keys()

    def values(self) -> ValuesView[int]:
        return self._amounts.values()

    def items(self) -> ItemsView[str, int]:
        return self._amounts.items()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._amounts.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._amounts == other._amounts if isinstance(other, Resources) else NotImplemented

    def __getstate__(self) -> dict[str, int]:
        return self._amounts

    def __setstate__(self, amounts: dict[str, int]) -> None:
        self._amounts = amounts
        self._hash = None

    def __repr__(self) -> str:
        return f"Resources({self._amounts})"

    def __add__(self, other: Mapping[str, int]) -> Resources:
        total = dict(self._amounts)
        for name, value in other.items():
            total[name] = total.get(name, 0) + value
        return Resources(total)

    def __mul__(self, count: int) -> Resources:
        return Resources({name: value * count for name, value in self._amounts.items()})

    def largest(self, other: Mapping[str, int]) -> Resources:
        """The larger amount of each resource."""
        names = self._amounts.keys() | other.keys()
        return Resources({name: max(self.get(name, 0), other.get(name, 0)) for name in names})

    def rendered(self) -> dict[str, str]:
        """As Kubernetes quantity strings, sorted by name."""
        return {name: quantity.render(name, value) for name, value in self._amounts.items()}


NOTHING = Resources()
