"""
Values as bytes, of which most say little: what a Struct has by default is not written.

The plan of a fleet is ten thousand decisions, nearly all of which say that a group stays where it is. Pickled as they are each has thirty
fields, and that takes twice as long.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from msgspec import NODEFAULT, Struct


def pickled(value: object, kinds: Iterable[type[Struct]]) -> bytes:
    """Any value, for `pickle.loads`; Structs of some kinds in it, each of several fields, are short where they can be."""
    into = io.BytesIO()
    pickler = pickle.Pickler(into, protocol=5)
    pickler.dispatch_table = {**copyreg.dispatch_table, **{kind: _reducer(kind) for kind in kinds}}
    pickler.dump(value)
    return into.getvalue()


def _reducer(kind: type[Struct]) -> Callable[[Any], tuple[Any, ...]]:
    defaults = dict(zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False))
    rest = {name: _usual(default) for name, default in defaults.items() if default is not NODEFAULT}
    names = tuple(name for name in kind.__struct_fields__ if name not in rest)
    read, number, usual = attrgetter(*names, *rest), len(names), tuple(rest.values())

    def reduced(one: Any) -> tuple[Any, ...]:
        values = read(one)
        if values[number:] == usual:
            return _made, (kind, names, values[:number])
        whole: tuple[Any, ...] = one.__reduce_ex__(5)
        return whole

    return reduced


def _usual(default: Any) -> object:
    """What a field has by default; where that is made anew for each, one that is equal."""
    factory: Callable[[], object] | None = getattr(default, "factory", None)
    return default if factory is None else factory()


def _made(kind: type, names: tuple[str, ...], values: tuple[object, ...]) -> object:
    return kind(**dict(zip(names, values, strict=True)))
