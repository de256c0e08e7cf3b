"""
What a set of new machines costs, as one whole number.

Sets are compared by several things, each of which decides only where those before it are equal: what the autoscaler
would not take by itself, machines whose price nobody knows, the price, how many machines, how many of them the provider
may take back, and how large they are. Packed into one number they add up machine by machine, so that one comparison
decides; prices are counted in billionths, because sums of floats depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

import numpy as np

from gitplacer.machines import MachineType
from gitplacer.placement.nodes import Amounts

_COUNT, _PRICE, _SIZE = 2**24, 2**110, 2**40
GRAIN = 10**9
"""Of a price: it is counted in billionths."""


def costs(types: Mapping[str, MachineType], rows: Mapping[str, Amounts]) -> dict[str, int]:
    """The cost of one machine of each type."""
    if not types:
        return {}
    largest = np.maximum(np.max(np.array([rows[key] for key in types]), axis=0), 1)
    return {key: _packed(type_, int((rows[key] / largest * 1000).sum())) for key, type_ in types.items()}


def _packed(type_: MachineType, size: int) -> int:
    price = type_.price_per_hour
    parts = (
        (type_.demotion, _COUNT),
        (int(price is None), _COUNT),
        (billionths(price or 0.0), _PRICE),
        (1, _COUNT),
        (int(type_.spot), _COUNT),
        (size, _SIZE),
    )
    packed = 0
    for value, base in parts:
        packed = packed * base + value
    return packed


def billionths(price: float) -> int:
    """A price as a whole number, as it was written and not as a float comes close to it."""
    return round(Decimal(repr(price)) * GRAIN)


def total(machines: Iterable[tuple[float | None, int]]) -> float | None:
    """The sum of (price of one, how many), None if a price is not known."""
    billion = 0
    for price, count in machines:
        if price is None:
            return None
        billion += billionths(price) * count
    return billion / GRAIN
