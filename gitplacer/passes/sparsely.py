"""
Values as bytes, of which most say little: what a dataclass has by default is not written.

The plan of a fleet is ten thousand decisions, nearly all of which say that a group stays where it is. Pickled as they are each has thirty
fields, and that takes twice as long.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from operator import attrgetter
from typing import Any


def pickled(value: object, kinds: Iterable[type]) -> bytes:
    """Any value, for `pickle.loads`; dataclasses of some kinds in it, each of several fields, are short where they can be."""
    into = io.BytesIO()
    pickler = pickle.Pickler(into, protocol=5)
    pickler.dispatch_table = {**copyreg.dispatch_table, **{kind: _reducer(kind) for kind in kinds}}
    pickler.dump(value)
    return into.getvalue()


def _reducer(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    all_fields = sorted(fields(kind), key=_has_default)
    read, number = attrgetter(*(f.name for f in all_fields)), sum(not _has_default(f) for f in all_fields)
    names = tuple(f.name for f in all_fields[:number])
    rest = tuple(_default(f) for f in all_fields[number:])

    def reduced(one: Any) -> tuple[Any, ...]:
        values = read(one)
        if values[number:] == rest:
            return _made, (kind, names, values[:number])
        whole: tuple[Any, ...] = one.__reduce_ex__(5)
        return whole

    return reduced


def _made(kind: type, names: tuple[str, ...], values: tuple[object, ...]) -> object:
    return kind(**dict(zip(names, values, strict=True)))


def _has_default(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def _default(one: Field[Any]) -> object:
    return one.default_factory() if one.default_factory is not MISSING else one.default
