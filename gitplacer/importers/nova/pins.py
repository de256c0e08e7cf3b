"""
Nova's labels and annotations on objects: which say where an object goes, and which Nova wrote itself.

An object that an annotation places gets a policy that selects it alone. The annotation itself stays in the manifest, whose bytes are not
touched; nothing here looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.shelves import Thing

CLUSTER = "nova.elotl.co/cluster"
SPREAD = "nova.elotl.co/spread-onto"
_MIRRORED = "nova.elotl.co/backpropagated"
_WRITTEN_BY_NOVA = (
    "nova.elotl.co/target-cluster",
    "nova.elotl.co/matching-policy",
    "nova.elotl.co/cluster.original-name",
)
_OURS = "nova.elotl.co/"
_LUNAS = "node.elotl.co/"


class Pin(Struct, frozen=True):
    """Where an annotation puts an object. `everywhere`: a copy on each of the clusters."""

    clusters: tuple[str, ...]
    placement: dict[str, Any]

    @property
    def everywhere(self) -> bool:
        return self.placement.get("copies") == "All"


def is_mirrored(thing: Thing) -> bool:
    """Whether Nova only shows an object of a cluster here: what made it there makes it again."""
    return _MIRRORED in thing.labels


def pin_of(thing: Thing, *, spread_by_policy: bool, notes: Notes) -> Pin | None:
    """What the annotations of an object say, and a line for each label and annotation of Nova's."""
    for key in _keys(thing):
        _told(thing, key, notes)
    where = ("metadata", "annotations", SPREAD)
    if SPREAD in thing.annotations and spread_by_policy:
        what = f"{SPREAD} is what Nova made of the policy that spreads it"
        notes.add(Outcome.LEFT_OUT, thing.document, where, what)
    elif SPREAD in thing.annotations:
        names, _, mode = thing.annotations[SPREAD].partition("::")
        clusters = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
        if mode not in ("", "Duplicate", "Divide") or not clusters:
            what = f"{SPREAD} {thing.annotations[SPREAD]} is no list of clusters with Duplicate or Divide"
            notes.add(Outcome.NOT_UNDERSTOOD, thing.document, where, what, "write a policy for it")
            return None
        what = f"{thing} goes to {', '.join(clusters)}"
        if not mode:
            notes.add(Outcome.CHOSEN, thing.document, where, f"{what}, whole, because nothing says that it is divided")
        else:
            notes.add(Outcome.CONVERTED, thing.document, where, what)
        placement = {"type": "Divide"} if mode == "Divide" else {"copies": "All"}
        return Pin(clusters, {**placement, "admission": "Immediate"})
    if thing.annotations.get(CLUSTER):
        cluster = thing.annotations[CLUSTER]
        notes.add(
            Outcome.CONVERTED,
            thing.document,
            ("metadata", "annotations", CLUSTER),
            f"{thing} goes to {cluster}, by a policy that selects it alone; to move it, change the policy",
        )
        return Pin((cluster,), {"admission": "Immediate"})
    return None


def _keys(thing: Thing) -> Iterator[tuple[str, str]]:
    for field, entries in (("labels", thing.labels), ("annotations", thing.annotations)):
        yield from ((field, key) for key in entries if key.startswith((_OURS, _LUNAS)) and key not in (CLUSTER, SPREAD))


def _told(thing: Thing, key: tuple[str, str], notes: Notes) -> None:
    field, name = key
    path = ("metadata", field, name)
    if name in _WRITTEN_BY_NOVA:
        entries = thing.labels if field == "labels" else thing.annotations
        notes.add(Outcome.LEFT_OUT, thing.document, path, f"Nova found: {name}={entries[name]}")
    elif name == "nova.elotl.co/schedule" or name.startswith(_MIRRORED):
        notes.add(Outcome.LEFT_OUT, thing.document, path, f"{name} is between Nova and its agents")
    elif name.startswith(_LUNAS):
        notes.add(
            Outcome.CHANGED, thing.document, path, f"{name} stays in the manifest for Luna; nothing is placed by it"
        )
    else:
        notes.add(Outcome.NOT_UNDERSTOOD, thing.document, path, f"{name} is not known here", "it stays in the manifest")
