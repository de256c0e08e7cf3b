"""
One cluster as a stage on which gangs are tried: would all of these pods find a node, whatever order they come in?

The pods that are to come are those of the gang in question and of every gang that was promised room and does not show in the
snapshot yet. They arrive interleaved, nobody knows how, so they are tried together; a gang is refused a plain yes if it, or one
that was promised before it, can be left out. Pods that may have to wait for new machines come too, and may be left out.

Where pods mind nothing but room, most answers are a proof in a few array operations (`scheduler.crowding`). Only what that
leaves open, and gangs with rules about other pods, get a board of the scheduler. What the snapshot shows does not change during
a pass, so answers are remembered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gitplacer.model.decision import Reason, Tally
from gitplacer.model.resources import NOTHING
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.nodes import Amounts
from gitplacer.placement.pack import Room, Shortfall, Use
from gitplacer.scheduler import ClusterObjects, Node, Pod
from gitplacer.scheduler.answer import Refuted, found_in, refuted
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.crowding import certain
from gitplacer.scheduler.gangs import expanded, slice_key
from gitplacer.scheduler.shortage import shortage

STEPS = 6000
"""Pods bound to try one gang with all that is to come; `gitplacer fit`, which has one question, tries longer."""
WORK = 120_000
"""The same times the sorts of pods that there are, each of which a pod that is bound has to be held against."""
FEWEST = 12
"""Runs; what fewer say is worth nothing."""
LARGEST = 10_000
"""Pods times sorts of pods for which a placement is searched where rules about other pods hold."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Pods of a group that were promised room and are not seen yet; `sure`: in every order."""

    group: str
    gang: Gang
    sure: bool


@dataclass(frozen=True, slots=True)
class Tight:
    """
    An order of pods and a scoring with which a pod is left out, and which one: its role, and its group where it is another's. `left`
    are all that are left out then.
    """

    order: str
    scoring: str
    pod: str
    left: Gang


NOT_TRIED = Tight("", "", "", ())
"""Nobody knows: there are too many pods to try."""


class Stage:
    """
    `room` is what the snapshot shows as free, with nothing promised; `objects` what it shows in full, made when first needed;
    `repels`: something that runs there keeps certain pods away.
    """

    def __init__(
        self, room: Room, objects: Callable[[], ClusterObjects], repels: bool, slice_topology: str = ""
    ) -> None:
        self._room = room
        self._make = objects
        self._made: ClusterObjects | None = None
        self._repels = repels
        self._slice_topology = slice_topology
        self._answers: dict[tuple[object, ...], Tight | None] = {}
        self._proofs: dict[tuple[object, ...], _Proof] = {}

    @cached_property
    def free(self) -> Amounts:
        """What is free on all nodes together."""
        total: Amounts = np.clip(self._room.free, 0, None).sum(axis=0)
        return total

    @property
    def _objects(self) -> ClusterObjects:
        if self._made is None:
            self._made = self._make()
        return self._made

    def minds(self, gang: Gang, coming: Iterable[Coming] = ()) -> bool:
        """Whether where a gang may be depends on more than nodes and room."""
        if any(self._ruled(pods) for pods in gang):
            return True
        if not _is_looked_at(gang):
            return False
        return self._repels or any(pods.shape.pod_anti_affinity for other in coming for pods in other.gang)

    def _ruled(self, pods: PodSet) -> bool:
        return pods.shape.minds_others or bool(slice_key(pods, self._slice_topology))

    def _sorts(self, sets: Collection[PodSet]) -> int:
        """How many sorts of pods there are: each slice is one of its own."""
        sliced = (pods.count // pods.slice_size for pods in sets if slice_key(pods, self._slice_topology))
        return len(sets) + sum(sliced)

    def proves(self, gang: Gang, coming: Sequence[Coming]) -> bool:
        """Whether it is known without a trial that every order works."""
        if self.minds(gang, coming):
            key = _key(gang, coming)
            return key in self._answers and self._answers[key] is None
        return self._proof(gang, coming).holds

    def tight(self, gang: Gang, coming: Sequence[Coming]) -> Tight | None:
        """An order that leaves out a pod of a gang, or one that was promised otherwise; None if there is none that we can find."""
        key = _key(gang, coming)
        if key not in self._answers:
            self._answers[key] = self._tried(gang, coming)
        return self._answers[key]

    def _tried(self, gang: Gang, coming: Sequence[Coming]) -> Tight | None:
        near: frozenset[PodShape] | None = None
        if not self.minds(gang, coming):
            proof = self._proof(gang, coming)
            if proof.holds:
                return None
            near = proof.near
        pods: list[Pod] = []
        sets: list[PodSet] = []
        sure: list[bool] = []
        for group, members, promised in (("", gang, True), *((c.group, c.gang, c.sure) for c in coming)):
            for each in members:
                if near is None or each.shape in near:
                    name = f"{each.role} of {group}" if group else each.role
                    if each.count > STEPS:
                        return NOT_TRIED
                    found = list(expanded(each, _numbered(name), slice_key(each, self._slice_topology)))
                    pods += found
                    sets += [each] * len(found)
                    sure += [promised] * len(found)
        steps = min(STEPS, WORK // self._sorts(set(sets)))
        if steps < FEWEST * len(pods):
            return NOT_TRIED
        board = Board(self._objects, pods)
        must = {k for k, promised in zip(board.class_of, sure, strict=True) if promised}
        answer = refuted(board, frozenset(range(len(board.classes))) - must, steps)
        if not isinstance(answer, Refuted):
            return None
        left = Counter(sets[board.class_of.index(k)] for k in answer.left)
        out = tuple(replace(each, count=count) for each, count in left.items())
        return Tight(answer.order, answer.scoring, answer.pod.partition(_MARK)[0], out)

    def _proof(self, gang: Gang, coming: Sequence[Coming]) -> _Proof:
        key = _key(gang, coming)
        if key not in self._proofs:
            self._proofs[key] = self._proved(gang, coming)
        return self._proofs[key]

    def _proved(self, gang: Gang, coming: Sequence[Coming]) -> _Proof:
        """Only pods that can get in each other's way matter: those that share a node, or share one with such."""
        counts: Counter[PodShape] = Counter()
        must: set[PodShape] = set()
        ruled: set[PodShape] = set()
        for sets, promised in ((gang, True), *((other.gang, other.sure) for other in coming)):
            for pods in sets:
                counts[pods.shape] += pods.count
                if promised:
                    must.add(pods.shape)
                    if self._ruled(pods):
                        ruled.add(pods.shape)
        shapes = tuple(shape for shape, count in counts.items() if count)
        if not any(pods.count for pods in gang):
            return _Proof(True)
        takes = [self._room.takes(shape) for shape in shapes]
        places = np.array([t.able for t in takes])
        near = _near(places > 0, [i for i, shape in enumerate(shapes) if any(p.shape == shape for p in gang)])
        sure = certain(
            places[near],
            np.array([takes[i].row for i in near]),
            np.array([counts[shapes[i]] for i in near]),
            np.maximum(self._room.free, 0),
        )
        if ruled and _is_looked_at(gang):
            return _Proof(False, frozenset(shapes))  # what it does to the others is no matter of room alone
        return _Proof(
            all(ok and shapes[i] not in ruled for ok, i in zip(sure.tolist(), near, strict=True) if shapes[i] in must),
            frozenset(shapes[i] for i in near),
        )

    def seek(
        self, gang: Gang, bound: Sequence[tuple[Pod, int]], extra: Sequence[Node], first_extra: int
    ) -> tuple[Use, ...] | Shortfall:
        """
        A packing of a gang that minds other pods, beside pods that are bound to machines. `extra` are machines that are not there
        yet, numbered from `first_extra`.
        """
        nodes = (*self._objects.nodes, *extra)
        number = [*range(len(self._objects.nodes)), *range(first_extra, first_extra + len(extra))]
        name = dict(zip(number, (node.name for node in nodes), strict=True))
        there = (replace(pod, node_name=name[machine]) for pod, machine in bound if machine in name)
        board_pods: list[Pod] = []
        sets: list[PodSet] = []
        if sum(pods.count for pods in gang) * self._sorts(gang) > LARGEST:
            return _too_many(gang)
        for each in gang:
            found = list(expanded(each, _numbered(each.role), slice_key(each, self._slice_topology)))
            board_pods += found
            sets += [each] * len(found)
        board = Board(ClusterObjects(nodes, (*self._objects.pods, *there), self._objects.namespaces), board_pods)
        packing = found_in(board)
        if packing.outcome != "found":
            missing = shortage(board, certain=packing.outcome == "impossible")
            tally = tuple(Tally(reason, subject, count) for reason, subject, count in missing.tally)
            role = missing.pod.partition(_MARK)[0]
            return Shortfall(
                role, missing.placed, missing.wanted, missing.short, tally, missing.nodes, missing.code
            )  # fmt: skip
        queues: list[deque[PodSet]] = [deque() for _ in board.classes]
        for k, each in zip(board.class_of, sets, strict=True):
            queues[k].append(each)
        used = Counter((number[node], queues[k].popleft()) for k, node in packing.bound)
        asked = self._room.nodes.columns.asked
        return tuple(Use(machine, asked(each.shape), count, each) for (machine, each), count in used.items())


def _is_looked_at(gang: Gang) -> bool:
    """Whether some rule of the fleet looks at pods of a gang; others have neither namespace nor labels here."""
    return any(pods.labels or pods.namespace for pods in gang)


def _too_many(gang: Gang) -> Shortfall:
    largest = max(gang, key=lambda pods: pods.count)
    return Shortfall(largest.role, 0, largest.count, NOTHING, (), 0, Reason.SEARCH_BOUND)


_MARK = "#"


def _numbered(name: str) -> Callable[[int], str]:
    return lambda i: f"{name}{_MARK}{i}"


@dataclass(frozen=True, slots=True)
class _Proof:
    """Whether every order works for sure, and the shapes that can get in the way of the gang in question."""

    holds: bool
    near: frozenset[PodShape] = frozenset()


def _key(gang: Gang, coming: Sequence[Coming]) -> tuple[object, ...]:
    return gang, frozenset(Counter((other.gang, other.sure) for other in coming).items())


def _near(open_to: np.ndarray[tuple[int, int], np.dtype[np.bool_]], start: list[int]) -> list[int]:
    """The classes that share a node with one of `start`, or with one that does; `start` included, in order."""
    meets = (open_to.astype(np.float32) @ open_to.T.astype(np.float32)) > 0
    reached = np.zeros(len(open_to), dtype=np.bool_)
    reached[start] = True
    while True:
        grown = reached | meets[reached].any(axis=0)
        if (grown == reached).all():
            return [int(i) for i in np.flatnonzero(reached)]
        reached = grown
