"""
The room of all groups that are placed on a cluster, taken in its ledger one group after another, with as little packing as may be.

With a bystander it is kept on which machines its pods sit (`Seated`). Packing would put them there again, if all groups before it sit where they sat then
and the cluster is as it was. So a cluster on which nothing has happened is filled without a search.

A large cluster may have a thousand groups that no snapshot shows yet, each of which is packed into ten thousand machines, and in every process anew. Where
none of their pods has rules about other pods, the outcome depends only on what is free, on how much the pods ask for and on which nodes take them. So
it is remembered by a digest of these. Where packing is as quick as looking up, nothing is remembered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, Protocol

import numpy as np

from gitplacer.model.bystander import Holding, Seated
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Counts
from gitplacer.placement.pack import Packing, Use, merged

WORTH = 1_000_000
"""Groups times machines from which on packing takes longer than to look up what came of it."""
_COLUMNS = 4
"""Of what is kept: the gang, its set, the machine and how many pods, for each use."""


class Seats(Protocol):
    """
    Remembers texts by the name of a cluster and a digest of what they were made from. Forgetting is always allowed. What is remembered was asked for
    before.
    """

    def recall(self, cluster: str, digest: str) -> bytes | None: ...

    def remember(self, cluster: str, digest: str, text: bytes) -> None: ...


class NoSeats(Seats):
    """Remembers nothing."""

    def recall(self, cluster: str, digest: str) -> bytes | None:
        return None

    def remember(self, cluster: str, digest: str, text: bytes) -> None:
        return None


class HeldRoom(NamedTuple):
    """What a ledger is asked for by a placed group, and where it sat before, if that is known."""

    group: str
    holds: Holding
    seat: Seated | None = None

    def reserved(self, ledger: Ledger, known: Packing | None = None) -> bool:
        """Take it; whether there was room for all of it. `known` is where it is known to sit."""
        gang, finished, scale_up, sure, lucky, by_machines = self.holds
        return ledger.reserve_placed(
            self.group, gang, finished=finished, scale_up=scale_up, sure=sure, lucky=lucky, by_machines=by_machines,
            known=known,
        )  # fmt: skip

    def missing(self, ledger: Ledger) -> Gang:
        """The pods that are to sit somewhere: all that the snapshot does not show. Sets of which it shows all are there too, and are empty."""
        return () if self.holds.finished else ledger.shown.not_seen(self.group, self.holds.gang)


def is_soon_filled(ledger: Ledger, asked: Sequence[HeldRoom]) -> bool:
    """Whether taking the room of groups takes no longer than to look up what came of it."""
    return ledger.size * len(asked) < WORTH


def reserved(asked: Sequence[HeldRoom], seats: Seats, cluster: str, ledger: Ledger) -> list[str]:
    """Take the room of groups on a cluster, one after another; those that found none for all their pods."""
    seated = list(_as_before(asked, ledger))
    if len(seated) == len(asked) or is_soon_filled(ledger, asked):
        return [each.group for each, known in zip_longest(asked, seated) if not each.reserved(ledger, known)]
    gangs = [each.missing(ledger) for each in asked]
    # Empty sets count: where the others of a gang may be is sought by who minds other pods, also where it is these alone that do.
    if ledger.size * sum(map(bool, map(merged, gangs))) < WORTH or any(map(ledger.minds, gangs)):
        return [each.group for each in asked if not each.reserved(ledger)]
    digest = _digest(ledger, gangs)
    text = seats.recall(cluster, digest)
    known = [] if text is None else list(_read(text, ledger, gangs))
    found: list[Packing] = []
    left_over = []
    for at, (each, gang) in enumerate(zip(asked, gangs, strict=True)):
        packing = None
        if len(found) == at:  # where one finds no room it takes what it gets, and nobody knows where the next sit
            sought = known[at] if at < len(known) else ledger.fit(gang, scale_up=False)
            packing = sought if isinstance(sought, Packing) else None
        if packing is not None:
            found.append(packing)
        if not each.reserved(ledger, packing):
            left_over.append(each.group)
    if len(found) > len(known):
        seats.remember(cluster, digest, _written(found, gangs))
    return left_over


def seats_in(ledger: Ledger, asked: Sequence[HeldRoom], opened: bytes) -> dict[str, Seated]:
    """
    By id, on which machines groups sit in a ledger that was filled with them and nothing else, each with room for all its pods; `opened` is its digest
    before that. Groups that wait for machines are left out, and all are where some pods have rules about others.
    """
    gangs = [each.missing(ledger) for each in asked]
    if any(map(ledger.minds, gangs)):
        return {}
    found = {}
    for number, (each, gang) in enumerate(zip(asked, gangs, strict=True)):
        packing, sets = ledger.packing_of(each.group), {pods: k for k, pods in enumerate(merged(gang))}
        if packing.is_there:
            found[each.group] = Seated(
                opened, number, tuple((sets[use.pods], use.machine, use.number) for use in packing.uses)
            )
    return found


def _as_before(asked: Sequence[HeldRoom], ledger: Ledger) -> Iterator[Packing]:
    """Where the first groups sit, who sat there when the same sat before them on the same cluster."""
    opened = ledger.digest() if asked and asked[0].seat is not None else b""
    for number, each in enumerate(asked):
        seat = each.seat
        if seat is None or (seat.opened, seat.number) != (opened, number):
            return
        yield _packing(seat.uses, merged(each.missing(ledger)), ledger)


def _digest(ledger: Ledger, gangs: Sequence[Gang]) -> str:
    """That of all on which it depends where gangs sit that mind nothing but nodes and room, one after another."""
    free = ledger.free_on_nodes()
    told = hashlib.sha256(repr(free.shape).encode() + free.tobytes() + ledger.columns.devices.tobytes())
    numbers: dict[PodShape, int] = {}
    sets = [
        (at, numbers.setdefault(pods.shape, len(numbers)), pods.count)
        for at, gang in enumerate(gangs)
        for pods in merged(gang)
    ]
    masks: dict[int, int] = {}
    for shape in numbers:
        mask = ledger.nodes.admits(shape)
        if id(mask) not in masks:  # of thousands of shapes many are admitted on the same nodes
            masks[id(mask)] = len(masks)
            told.update(mask.tobytes())
        told.update(f"{masks[id(mask)]} {ledger.columns.asked(shape).tolist()}".encode())
    told.update(repr(sets).encode())
    return told.hexdigest()


def _written(found: Sequence[Packing], gangs: Sequence[Gang]) -> bytes:
    """Where the first gangs sit, as bytes."""
    rows: list[tuple[int, int, int, int]] = [(len(found), 0, 0, 0)]
    for at, (packing, gang) in enumerate(zip(found, gangs, strict=False)):
        sets = {pods: k for k, pods in enumerate(merged(gang))}
        rows += [(at, sets[use.pods], use.machine, use.number) for use in packing.uses]
    return np.array(rows, dtype=np.int64).tobytes()


def _read(text: bytes, ledger: Ledger, gangs: Sequence[Gang]) -> Iterator[Packing]:
    """The same, for the gangs of which it tells."""
    rows: Counts = np.frombuffer(text, dtype=np.int64).reshape(-1, _COLUMNS)
    known = int(rows[0, 0])
    begins = np.searchsorted(rows[1:, 0], np.arange(known + 1)) + 1
    uses = rows.tolist()
    for at, gang in enumerate(gangs[:known]):
        yield _packing((use[1:] for use in uses[begins[at] : begins[at + 1]]), merged(gang), ledger)


def _packing(uses: Iterable[Sequence[int]], sets: Sequence[PodSet], ledger: Ledger) -> Packing:
    """That of some sets of pods, of which each use says which it is, the machine and how many."""
    asked = ledger.columns.asked
    return Packing(tuple(Use(machine, asked(sets[k].shape), count, sets[k]) for k, machine, count in uses))
