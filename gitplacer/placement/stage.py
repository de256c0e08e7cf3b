"""
One cluster as a stage on which gangs are tried: would all of these pods find a node, whatever order they come in?

The pods that are to come are those of the gang in question and of every gang that was promised room and does not show in the
snapshot yet. They arrive interleaved, nobody knows how, so they are tried together; a gang is refused a plain yes if it, or one
that was promised before it, can be left out. Pods that may have to wait for new machines come too, and may be left out.

Where pods mind nothing but room, or none but pods like themselves, most answers are a proof in a few array operations (`scheduler.crowding`,
`ownproof`). Only what that leaves open, and gangs with rules about others, get a board of the scheduler. What the snapshot shows does not change during
a pass, so answers are remembered.
"""

from __future__ import annotations

import copy
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.decision import Reason, Tally
from gitplacer.model.podrules import kinship, vary
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Gang, PodSet, PodShape, Roster
from gitplacer.placement.arrivals import Arrivals
from gitplacer.placement.asseen import to_come
from gitplacer.placement.nodes import Amounts
from gitplacer.placement.ownproof import OwnProofs
from gitplacer.placement.ownrules import kind_of, one_of
from gitplacer.placement.pack import Packing, Room, Shortfall, Use
from gitplacer.placement.shapecrowd import ShapeCrowd, known_of
from gitplacer.scheduler import ClusterObjects, Node, Pod
from gitplacer.scheduler.answer import Refuted, found_in, refuted
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.gangs import expanded, slice_key
from gitplacer.scheduler.neighbours import Placed
from gitplacer.scheduler.shortage import Shortage, shortage
from gitplacer.scheduler.site import Site

Answer = TypeVar("Answer")

_Key = tuple[object, ...]
"""A question: the gang, what it may leave out, and what is to come."""

STEPS = 6000
"""Pods bound to try one gang with all that is to come; `gitplacer fit`, which has one question, tries longer."""
WORK = 120_000
"""The same times the sorts of pods that there are, each of which a pod that is bound has to be held against."""
FEWEST = 12
"""Runs; what fewer say is worth nothing."""
LARGEST = 10_000
"""Pods times sorts of pods for which a placement is searched where rules about other pods hold."""


class Tight(Struct, frozen=True):
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

COARSE = Tight("", "", "", ())
"""Nobody can know: taints, labels and pods of the nodes were not seen."""


class Missing(NamedTuple):
    """No packing was found, in so many steps as `Packing` counts; `told` finds out what is missing, which takes as long again."""

    steps: int
    told: Callable[[], Shortfall]


class Lack(NamedTuple):
    """There is no proof that every order places a gang; where `alone` is told, not even for so many pods of that shape by themselves."""

    alone: tuple[PodShape, int] | None = None


class Stage:
    """
    `room` is what the snapshot shows as free, with nothing promised; `objects` makes all that the snapshot shows, when
    it is first needed; `repels`: something that runs there keeps certain pods away.
    """

    def __init__(
        self, room: Room, objects: Callable[[], ClusterObjects], repels: bool, slice_topology: str = ""
    ) -> None:
        self._room = room
        self._make = objects
        self._made: ClusterObjects | None = None
        self._repels = repels
        self._slice_topology = slice_topology
        self._answers: dict[_Key, tuple[Tight | None, int]] = {}
        """With how many steps each took."""
        self._heard: set[_Key] = set()
        """Which of the answers somebody was given, since this stage is for a pass."""
        self._crowds: dict[tuple[str, ...], ShapeCrowd] = {}
        self._sites: dict[tuple[str, ...], Site] = {}
        self._proofs: dict[tuple[str, ...], OwnProofs] = {}

    def anew(self) -> Stage:
        """
        The same stage for another pass. What was computed is not computed again, but counts as not asked yet: what is
        known without a trial must not depend on what an earlier pass has tried.
        """
        twin = copy.copy(self)
        twin._heard = set()
        return twin

    def overheard(self, ask: Callable[[], Answer]) -> tuple[Answer, frozenset[_Key]]:
        """The answer of a function that asks this stage, and the keys of the answers of the stage that went into it."""
        before, self._heard = self._heard, set()
        found = ask()
        heard = frozenset(self._heard)
        self._heard |= before
        return found, heard

    def tell(self, heard: frozenset[_Key]) -> None:
        """Count these answers as asked for in this pass."""
        self._heard |= heard

    @cached_property
    def free(self) -> Amounts:
        """What is free on all nodes together."""
        total: Amounts = np.clip(self._room.free, 0, None).sum(axis=0)
        return total

    @property
    def shown(self) -> Amounts:
        """What the snapshot shows as free on each node. Do not write to it."""
        return self._room.free

    @property
    def _objects(self) -> ClusterObjects:
        if self._made is None:
            self._made = self._make()
        return self._made

    def minds(self, gang: Gang, coming: Arrivals | None = None) -> bool:
        """
        Whether where a gang may be depends on more than nodes and room: on rules about other pods, its own or theirs.
        """
        roster = Roster.of(gang)
        if roster.may_mind and any(self.ruled(pods) for pods in roster):
            return True
        if not roster.is_looked_at:
            return False
        return self._repels or (coming is not None and coming.repels)

    def has_no_slices(self, gang: Gang, *, added: bool = False) -> bool:
        """
        Whether some pods have to be hosts of a slice, and no node has the label that says which slice it is part of;
        `added`: nor one that may be added.
        """
        if not Roster.of(gang).may_mind:
            return False
        sliced = (pods for pods in gang if pods.count and pods.slice_size > 1)
        keys = {key for pods in sliced if (key := slice_key(pods, self._slice_topology))}
        nodes = self._room.nodes
        return any(key not in nodes.label_keys and not (added and key in nodes.type_label_keys) for key in keys)

    def ruled(self, pods: PodSet) -> bool:
        """Whether a rule about other pods holds for these."""
        return pods.shape.minds_others or bool(slice_key(pods, self._slice_topology))

    def _sorts(self, sets: Collection[PodSet]) -> int:
        """How many sorts of pods there are: each slice is one of its own, and so is what labels that a rule looks at tell apart."""
        told_apart = (
            pods.count // (kinship(pods.labels, pods.slice_size) or pods.slice_size)
            for pods in sets
            if vary(pods.labels) or slice_key(pods, self._slice_topology)
        )
        return len(sets) + sum(told_apart)

    def proves(
        self, gang: Gang, coming: Arrivals, *, lucky: bool = False, added: tuple[str, ...] = (), late: bool = False
    ) -> bool:
        """
        Whether it is known without a trial that every order works. A `lucky` gang may be left out itself. `added` are the types of
        machines that are to come as well, `late` if it has to work both where these are there and where they come for pods that have found no other.
        """
        if lucky and not coming.must(lucky):
            return True
        if self._heard and self.minds(gang, coming):
            keys = [_key(gang, coming, lucky, added, when) for when in ((False, True) if late else (False,))]
            if all(key in self._heard for key in keys):
                return all(self._answers[key][0] is None for key in keys)
        return self._proof(gang, coming, lucky, added)

    def lacks_proof(self, gang: Gang, coming: Arrivals, first: Callable[[PodShape], int]) -> Lack | None:
        """
        None where `proves` says yes; else for which pods of a gang there is no proof, even if its others stay away. Asked about first are those
        shapes of which `first` says the most.
        """
        if self.minds(gang, coming) or (coming.ruled(False) and Roster.of(gang).is_looked_at):
            # What is lacking may be due to its labels, so that nothing is said of others of these shapes.
            return None if self.proves(gang, coming) else Lack()
        present = Roster.of(gang).present
        if not present:
            return None
        own = present
        if len(present) > 1:
            own = {shape: present[shape] for shape in sorted(present, key=first, reverse=True)}
        if not coming.ruled(False):
            at = self._crowd((), known_of(coming)).unsure(own, coming.table)
            return None if at is None else Lack([*own.items(), None][at])
        for shape, count in own.items():
            if not self._proof(tuple(pods for pods in gang if pods.shape == shape), coming, False, ()):
                return Lack((shape, count))
        return None if self._proof(gang, coming, False, ()) else Lack()

    def tight(
        self, gang: Gang, coming: Arrivals, *, lucky: bool = False, added: tuple[str, ...] = (), late: bool = False
    ) -> Tight | None:
        """
        An order that leaves out a pod of a gang, or one that was promised otherwise; None if there is none that we can find. Of
        a `lucky` gang pods may be left out, but not for its sake those of others who count on more than luck. Machines that are added are there
        already, or are `late` and come for pods that have found no other.
        """
        if lucky and not coming.must(lucky):
            return None
        key = _key(gang, coming, lucky, added, late)
        if key not in self._answers:
            self._answers[key] = self._tried(gang, coming, lucky, added, late)
        self._heard.add(key)
        return self._answers[key][0]

    def steps_of_trial(self, gang: Gang, coming: Arrivals, *, lucky: bool, added: tuple[str, ...], late: bool) -> int:
        """How many steps the answer to `tight` took; 0 where nothing was tried."""
        if lucky and not coming.must(lucky):
            return 0
        return self._answers.get(_key(gang, coming, lucky, added, late), (None, 0))[1]

    def _tried(
        self, gang: Gang, coming: Arrivals, lucky: bool, added: tuple[str, ...], late: bool
    ) -> tuple[Tight | None, int]:
        if self._proof(gang, coming, lucky, added):
            return None, 0
        near = None if self.minds(gang, coming) else self._near(gang, coming, lucky, added)
        pods: list[Pod] = []
        sets: list[PodSet] = []
        names: list[str] = []
        sure: list[bool] = []
        heads: list[int] = []
        for group, members, promised in (("", gang, not lucky), *((c.group, c.gang, c.must(lucky)) for c in coming)):
            heads.append(len(pods))
            for each in members:
                if near is None or each.shape in near:
                    if each.count > STEPS:
                        return NOT_TRIED, 0
                    pods += self._unnamed(each, len(pods))
                    sets += [each] * each.count
                    names += [f"{each.role} of {group}" if group else each.role] * each.count
                    sure += [promised] * each.count
        if not pods:
            return None, 0
        sorts = self._sorts(set(sets))
        steps = min(STEPS, WORK // sorts)
        if steps < FEWEST * len(pods):
            return NOT_TRIED, 0
        board = Board(self._site(added), pods, names)
        must = {k for k, promised in zip(board.class_of, sure, strict=True) if promised}
        first_pods = tuple(dict.fromkeys(board.class_of[i] for i in heads if i < len(pods)))
        may_wait = frozenset(range(len(board.classes))) - must
        answer = refuted(board, may_wait, steps, first_pods, unproved=near is not None, late=len(added) if late else 0)
        if not isinstance(answer, Refuted):
            return None, answer * len(pods) * sorts
        left = Counter(sets[board.class_of.index(k)] for k in answer.left)
        out = tuple(replace(each, count=count) for each, count in left.items())
        tight = Tight(answer.order, answer.scoring, answer.pod, out)
        return tight, answer.tried * len(pods) * sorts

    def _unnamed(self, pods: PodSet, first: int) -> list[Pod]:
        """
        The pods of a set, the first of which is pod number so and so, for who does not tell them by their names: those that differ in nothing else are
        one, many times.
        """
        topology = slice_key(pods, self._slice_topology)
        if topology or pods.claims or vary(pods.labels):  # which are told by names, such as no pod of a cluster has
            return list(expanded(pods, lambda i: f"#{first}.{i}", topology))
        return [one_of(*kind_of(pods))] * pods.count

    def _site(self, added: tuple[str, ...]) -> Site:
        """The cluster as the scheduler finds it, with machines that are to come beside those that there are."""
        if added not in self._sites:
            there, first = self._objects, len(self._objects.nodes)
            more = (to_come(self._room.nodes, key, first + i) for i, key in enumerate(added))
            self._sites[added] = Site(replace(there, nodes=(*there.nodes, *more)))
        return self._sites[added]

    def _crowd(self, added: tuple[str, ...], most: int) -> ShapeCrowd:
        """
        The pods that may come to what the snapshot shows, and to machines that are to come beside it. If it knows more than `most` shapes
        all are forgotten: the pods of most that were asked about went elsewhere, and each shape takes as much memory as there are nodes.
        """
        crowd = self._crowds.get(added)
        if crowd is None or len(crowd) > most:
            crowd = self._crowds[added] = ShapeCrowd(self._with_machines(added))
        return crowd

    def _with_machines(self, added: tuple[str, ...]) -> Room:
        """What the snapshot shows as free, and machines that are to come."""
        if not added:
            return self._room
        nodes, free = self._room.nodes, self._room.free
        rows = np.array([nodes.type_row[key] for key in added], dtype=np.int64).reshape(-1, free.shape[1])
        return Room(nodes, np.concatenate([free, rows]), added, {})

    def _proof(self, gang: Gang, coming: Arrivals, lucky: bool, added: tuple[str, ...]) -> bool:
        """Whether every order works for sure. Only pods that can get in each other's way matter: those that share a node, or share one with such."""
        if not any(pods.count for pods in gang):
            return True
        own, crowd = Roster.of(gang).present, self._crowd(added, known_of(coming))
        if self.minds(gang, coming) or self._looks_far(gang, coming, lucky, crowd):
            alone = not lucky and coming.keep_to_themselves(gang)
            return alone and self._own_proofs(added).sure(gang, coming)
        return crowd.sure(own, coming.table, lucky)

    def _own_proofs(self, added: tuple[str, ...]) -> OwnProofs:
        """The proofs of gangs that keep to themselves, on the cluster with the machines that are to come."""
        if added not in self._proofs:
            self._proofs[added] = OwnProofs(self._site(added), self._with_machines(added))
        return self._proofs[added]

    def _near(self, gang: Gang, coming: Arrivals, lucky: bool, added: tuple[str, ...]) -> frozenset[PodShape]:
        """The shapes of all pods that may get in the way of a gang, its own included."""
        own, crowd = Roster.of(gang).present, self._crowd(added, known_of(coming))
        far = self._looks_far(gang, coming, lucky, crowd)
        return frozenset((*own, *coming.counts)) if far else frozenset(crowd.near(own, coming.table))

    def _looks_far(self, gang: Gang, coming: Arrivals, lucky: bool, crowd: ShapeCrowd) -> bool:
        """Whether rules about other pods hold for some that may get in its way: such look farther than to the nodes that pods share."""
        roster, ruled = Roster.of(gang), set(coming.ruled(lucky))
        if not lucky and roster.may_mind:
            ruled.update(pods.shape for pods in roster if self.ruled(pods))
        if not ruled:
            return False
        near = crowd.near(Roster.of(gang).present, coming.table)
        return roster.is_looked_at or any(shape in ruled for shape in near)

    def beside(self, bound: Sequence[Placed], taken: Mapping[int, Resources], extra: Sequence[Node] = ()) -> Site:
        """
        The cluster with more pods bound to machines, and with what else is `taken` of some. `extra` are machines that are not there yet,
        numbered after those that are; what is bound to others is left out.
        """
        site = self._site(())
        if extra:
            site = Site(replace(self._objects, nodes=(*self._objects.nodes, *extra)))
        machines = range(len(site.nodes))
        return site.beside(
            [(machine, pod) for machine, pod in bound if machine in machines],
            {machine: amounts for machine, amounts in taken.items() if machine in machines},
        )

    def seek(self, gang: Gang, site: Site) -> Packing | Missing:
        """A packing of a gang that minds other pods, on a cluster as `beside` has it."""
        board_pods: list[Pod] = []
        sets: list[PodSet] = []
        if sum(pods.count for pods in gang) * self._sorts(gang) > LARGEST:
            return Missing(0, partial(_too_many, gang))
        for each in gang:
            board_pods += self._unnamed(each, len(board_pods))
            sets += [each] * each.count
        board = Board(site, board_pods, [each.role for each in sets])
        packing = found_in(board)
        steps = packing.steps * len(board.classes)
        if packing.outcome != "found":
            return Missing(steps, partial(_shortfall, board, sets, packing.outcome == "impossible", steps))
        queues: list[deque[PodSet]] = [deque() for _ in board.classes]
        for k, each in zip(board.class_of, sets, strict=True):
            queues[k].append(each)
        used = Counter((node, queues[k].popleft()) for k, node in packing.bound)
        asked = self._room.nodes.columns.asked
        uses = (Use(machine, asked(each.shape), count, each) for (machine, each), count in used.items())
        return Packing(tuple(uses), steps=steps)


def _shortfall(board: Board, sets: Sequence[PodSet], certain: bool, steps: int) -> Shortfall:
    missing = shortage(board, certain=certain)
    tally = tuple(Tally(reason, subject, count) for reason, subject, count in missing.tally)
    role, placed, wanted = _first_short(board, sets, missing)
    return Shortfall(role, placed, wanted, missing.short, tally, missing.nodes, missing.code, steps=steps)


def _first_short(board: Board, sets: Sequence[PodSet], missing: Shortage) -> tuple[str, int, int]:
    """
    The first role of which not all pods find room, with how many do and how many there are. Pods that are alike are one class, of whichever roles
    they are; they find room in their order.
    """
    ours = [each for k, each in zip(board.class_of, sets, strict=True) if board.names[k] == missing.pod]
    left = missing.placed
    for role, wanted in Counter(each.role for each in ours).items() if len(ours) == missing.wanted else ():
        if left < wanted:
            return role, left, wanted
        left -= wanted
    return missing.pod, missing.placed, missing.wanted


def _too_many(gang: Gang) -> Shortfall:
    largest = max(gang, key=lambda pods: pods.count)
    return Shortfall(largest.role, 0, largest.count, NOTHING, (), 0, Reason.SEARCH_BOUND)


def _key(gang: Gang, coming: Arrivals, lucky: bool, added: tuple[str, ...], late: bool = False) -> _Key:
    # In which order they were promised room decides which orders are tried, so it is part of the question.
    return gang, lucky, added, late, tuple((other.group, other.gang, other.must(lucky)) for other in coming)
