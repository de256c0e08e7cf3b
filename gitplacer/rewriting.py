"""
Manifests of which only the text was edited, written again where they are deployed.

A comment, another layout, quotes: many commits change how a manifest is written and nothing of what it says, or only what a ConfigMap holds. Planning
looks at the values of all else, so to a fleet in which nothing else has moved such a commit brings nothing but other bytes in files that are there. `Rewritable` is what has to
be known of a group for that, taken down when its fleet was last found at rest (`atrest`); here it is held against the manifests before and
after, and against what is deployed. Whatever is not exactly as expected is None: then the whole pass finds out what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from gitplacer.documents import Document, Edit
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.render import as_deployed, sentinel
from gitplacer.source.files import ReadFile
from gitplacer.units import epoch_in
from gitplacer.workloads.edits import effects

_DATA = ("data", "binaryData")
Edits = tuple[tuple[int, tuple[Edit, ...]], ...]
"""What is edited in the documents of a file on its way to a cluster: the number of each, in the order in which they are written, and its edits."""


class Place(Struct, frozen=True):
    """
    A file of the deployment repo that is made of one source file: its path, that of its unit's sentinel with the epoch which was the greatest
    there, and what is edited on the way.
    """

    path: str
    cluster: str
    unit: str
    sentinel: str
    epoch: int
    edits: Edits


class Rewritable(Struct, frozen=True):
    """
    A source file that is all of one group, which stays where it is: the group, what a commit says of its update, and every place of the file.
    `plain`: no override may look at what is in it.
    """

    group: str
    said: str
    places: tuple[Place, ...]
    plain: bool = False


class Edited(Struct, frozen=True):
    """A source file that was edited: what it is to its fleet, and its bytes and what was read of them, before and after."""

    rewritable: Rewritable
    before: bytes
    after: bytes
    was: ReadFile
    now: ReadFile


def says_the_same(was: ReadFile, now: ReadFile, *, plain: bool = False) -> bool:
    """
    Whether two manifests hold the same objects, value for value and of the same types, in the same order, and the same is wrong with them in
    the same places. In `plain` ones a ConfigMap may hold other data: nobody who plans looks at it.
    """
    if was.parsed.faults or now.parsed.faults or was.problems != now.problems or was.facts != now.facts:
        return False
    pairs = list(zip_longest(was.parsed.documents, now.parsed.documents))
    return all(
        old is not None
        and new is not None
        and old.prefix == new.prefix
        and (repr(old.value) == repr(new.value) or (plain and _differs_in_data(old.value, new.value)))
        for old, new in pairs
    )


def _differs_in_data(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether two values are a ConfigMap's that holds other data, as it may."""
    kinds = {(value.get("apiVersion"), value.get("kind")) for value in (old, new)}
    rest = [repr({key: item for key, item in value.items() if key not in _DATA}) for value in (old, new)]
    return kinds == {("v1", "ConfigMap")} and rest[0] == rest[1] and not effects(old, new)


def stands_the_same(edited: Edited) -> bool:
    """Whether every key and value of a manifest is in the line and column in which it was, so that whatever is told of one still holds."""
    before, after = (
        [document.places() for document in _all_of(file, data)]
        for file, data in ((edited.was, edited.before), (edited.now, edited.after))
    )
    return before == after


def rewritten(edits: Sequence[Edited], deployed: Mapping[str, bytes], spec: FleetSpec) -> dict[str, bytes] | None:
    """
    What edited files come to in the deployment repo, with the sentinels of the units concerned. `deployed` is what is at all their places now.
    None where one of them says something else than before, or where something is not as it was written last.
    """
    written: dict[str, bytes] = {}
    units: dict[str, Place] = {}
    for edited in edits:
        if not says_the_same(edited.was, edited.now, plain=edited.rewritable.plain):
            return None
        for place in edited.rewritable.places:
            before, after = (
                as_deployed(_documents(place.edits, file, data))
                for file, data in ((edited.was, edited.before), (edited.now, edited.after))
            )
            if before is None or after is None or deployed.get(place.path) != before:
                return None
            if after != before:
                written[place.path] = after
                units[place.sentinel] = place
    for path, place in units.items():
        counted = _counted_up(deployed.get(path, b""), place, spec)
        if counted is None:
            return None
        written[path] = counted
    return written


def _all_of(file: ReadFile, data: bytes) -> list[Document]:
    read = partial(bytes, data)
    return [Document("", parsed, index, read) for index, parsed in enumerate(file.parsed.documents)]


def _documents(edits: Edits, file: ReadFile, data: bytes) -> list[tuple[Document, Sequence[Edit]]]:
    found = _all_of(file, data)
    return [(found[index], own) for index, own in edits]


def _counted_up(deployed: bytes, place: Place, spec: FleetSpec) -> bytes | None:
    """The sentinel of a unit that changes; None where it is not as we wrote it, or an epoch was reached that it does not tell."""
    epoch = epoch_in(deployed)
    if epoch < max(1, place.epoch) or deployed != sentinel(spec, place.cluster, place.unit, epoch):
        return None
    return sentinel(spec, place.cluster, place.unit, epoch + 1)


def needed(rewritables: Iterable[Rewritable]) -> list[str]:
    """The files of the deployment repo that `rewritten` asks for."""
    places = [place for each in rewritables for place in each.places]
    return sorted({path for place in places for path in (place.path, place.sentinel)})
