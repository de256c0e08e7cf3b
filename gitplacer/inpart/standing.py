"""
The groups that may be bystanders, kept and packed cluster by cluster.

A part of a fleet has few clusters of a thousand, so few are unpacked. All of them are written with every edit; what they hold is much alike, so a quarter of
the bytes is left when it is packed.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from gitplacer.model.bystander import Bystander


class Standing(Struct, frozen=True, eq=False):
    """By cluster, each as it was packed."""

    packed: Mapping[str, bytes]

    @staticmethod
    def of(standing: Mapping[str, Mapping[str, Bystander]]) -> Standing:
        """The same, packed."""
        return Standing({name: _packed(there) for name, there in standing.items() if there})

    def on(self, names: Iterable[str]) -> dict[str, Mapping[str, Bystander]]:
        """The groups that may be bystanders on some clusters, by id."""
        return {name: pickle.loads(zlib.decompress(self.packed[name])) for name in names if name in self.packed}

    def changed(self, standing: Mapping[str, Mapping[str, Bystander]], names: Iterable[str]) -> Standing:
        """The same when on some clusters it is these."""
        now = set(names)
        kept = {name: text for name, text in self.packed.items() if name not in now}
        return Standing({**kept, **Standing.of(standing).packed})

    def without(self, gone: Mapping[str, Collection[str]]) -> Standing:
        """The same without some, by cluster."""
        left = {
            name: {group: one for group, one in there.items() if group not in gone[name]}
            for name, there in self.on(gone).items()
        }
        return self.changed(left, gone)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Standing) and self.on(self.packed) == other.on(other.packed)

    def __hash__(self) -> int:
        return hash(frozenset(self.packed))


def _packed(there: Mapping[str, Bystander]) -> bytes:
    return zlib.compress(pickle.dumps(dict(there), protocol=5), 1)
