"""
Whether a gang fits a cluster now: yes whatever the scheduler does, yes with luck, or no.

* `Fits`: no order and no choice that we can construct leaves a pod out (`orders` has the list), or it is proved that none can.
* `TightFit`: all pods can be placed, and here is how, but an order and a scoring were found that leave one out; or they
  can only be placed with a node that does not say that it is ready.
* `No`: no placement was found. The reason says whether that is certain, or the search ran out of steps.

A node whose Ready condition is not True, and that has no taint which says so, is one that kube-scheduler still uses in the
minute before the taint comes. To promise it would be daring, to deny it would be wrong about the scheduler, so it makes a fit tight.

Every placement has been replayed through the filters, pod by pod in the order given, before it is in an answer.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.model.decision import Reason
from gitplacer.model.resources import NOTHING
from gitplacer.scheduler.board import Board
from gitplacer.scheduler.objects import Pod
from gitplacer.scheduler.orders import Order, trials
from gitplacer.scheduler.packing import Packing, find, replay
from gitplacer.scheduler.player import PLAYERS
from gitplacer.scheduler.reading import ClusterObjects
from gitplacer.scheduler.shortage import Shortage, shortage
from gitplacer.scheduler.simulation import Score
from gitplacer.scheduler.site import Site


class Fit(enum.StrEnum):
    """The answer."""

    FITS = "Fits"
    TIGHT = "TightFit"
    NO = "No"


class Why(Struct, frozen=True):
    """
    The reason. `code` is for programs and `message` for people; `shortage` says what is missing where a gang does not fit, and
    `tried` how many runs of the scheduler were played through.
    """

    code: Reason
    message: str
    shortage: Shortage | None = None
    tried: int = 0


class Answer(Struct, frozen=True):
    """`placement` is node by pod (see `pod_names`), in an order that the filters accept; empty for `No`."""

    fit: Fit
    placement: Mapping[str, str] = field(default_factory=dict)
    why: Why = Why(Reason.FITS, "")


class Refuted(Struct, frozen=True):
    """A run that leaves a pod out, like the one named; `left` are the classes of all pods that it leaves out."""

    order: str
    scoring: str
    pod: str
    tried: int
    left: tuple[int, ...]


def judge(
    cluster: ClusterObjects, gang: Sequence[Pod], besides: Sequence[Pod] = (), held: Sequence[Pod] = ()
) -> Answer:
    """
    Whether all pods of a gang find a place on what a cluster has free now. `besides` is the same gang as it would be scored
    if the scheduler spreads it by itself: every order must work with either. For those `held` there is room kept where they are
    nominated, and nothing else is seen of them.
    """
    if not gang:
        return Answer(Fit.FITS, {}, Why(Reason.FITS, "there are no pods to place"))
    for pod in gang:
        if pod.flaw:
            return Answer(Fit.NO, {}, Why(Reason.INVALID_POD, f"pod {pod.name or '?'} cannot be read: {pod.flaw}"))
    names = pod_names(gang)
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        return Answer(Fit.NO, {}, Why(Reason.INVALID_POD, f"two pods are named {twice}"))
    if any(pod.nominated and not pod.node_name for pod in cluster.pods):
        return _beside_nominated(cluster, gang, besides)
    site = Site(cluster).holding(held)
    otherwise = (Board(site, besides),) if besides else ()
    doubtful = frozenset(node.name for node in cluster.nodes if node.doubtful)
    board = Board(site, gang)
    if doubtful:
        without = Site(_relying_on_none(cluster)).holding(held)
        ready = Board(without, gang)
        found = found_in(ready)
        if found.outcome == "found":
            others = (Board(without, besides),) if besides else ()
            tried = _refuted(board, *otherwise)
            if not isinstance(tried, Refuted):
                more = _refuted(ready, *others)
                tried = (
                    replace(more, order=f"{more.order}, without nodes that are not ready")
                    if isinstance(more, Refuted)
                    else tried + more
                )
            return _fitting(ready, found, names, tried)
    found = found_in(board)
    if found.outcome != "found":
        missing = shortage(board, certain=found.outcome == "impossible")
        if missing.code is Reason.INSUFFICIENT_CAPACITY and _exceeds(cluster, gang):
            missing = replace(missing, code=Reason.EXCEEDS_CLUSTER)
        return Answer(Fit.NO, {}, Why(missing.code, missing.message, missing))
    used = sorted({board.nodes[node].name for _, node in found.bound} & doubtful)
    if used:
        message = f"fits only with {', '.join(used[:3])}, which {'is' if len(used) == 1 else 'are'} not ready"
        return Answer(Fit.TIGHT, _placement(board, found, names), Why(Reason.NODE_NOT_READY, message))
    return _fitting(board, found, names, _refuted(board, *otherwise))


def _exceeds(cluster: ClusterObjects, gang: Sequence[Pod]) -> bool:
    """
    Whether it is proved that there is no room even when nothing else runs. Of a gang that asks for other pods to be near nobody
    can tell, as these may be the ones that run; nor of a cluster without nodes, as some may come.
    """
    if not cluster.nodes or any(pod.pod_affinity for pod in gang):
        return False
    nodes = tuple(replace(node, used=NOTHING) for node in cluster.nodes)
    return find(Board(Site(replace(cluster, nodes=nodes, pods=())), gang)).outcome == "impossible"


def _relying_on_none(cluster: ClusterObjects) -> ClusterObjects:
    """
    A cluster whose doubtful nodes take nothing new, as after the taint that may come. They are there all the same: pods on them keep
    others away, and a domain that they are in counts for spreading.
    """
    return replace(
        cluster, nodes=tuple(replace(node, ready=False) if node.doubtful else node for node in cluster.nodes)
    )


def _refuted(*boards: Board) -> Refuted | int:
    """
    The first run that leaves a pod out on one of some boards that may be what comes about, such as the gang as it is and as it would be scored otherwise; or
    the number of runs that do not, of all together.
    """
    tried = 0
    for board in boards:
        found = refuted(board)
        if isinstance(found, Refuted):
            return found
        tried += found
    return tried


def _beside_nominated(cluster: ClusterObjects, gang: Sequence[Pod], besides: Sequence[Pod]) -> Answer:
    """
    Pods that are about to come to a node, such as those for which others are preempted, hold their room there against pods of the same priority and below. Where some of
    the gang outrank them, what they hold may still be had, and is not promised.

    The gang may come before them or after. Until they are there no score counts them, and no rule of the gang is met by them; so every order must work
    with them on their nodes, and with only their room held.
    """
    waiting = [pod for pod in cluster.pods if pod.nominated and not pod.node_name]
    others = tuple(pod for pod in cluster.pods if not (pod.nominated and not pod.node_name))
    least, most = min(pod.priority for pod in gang), max(pod.priority for pod in gang)

    def beside(floor: int) -> Answer:
        held = [pod for pod in waiting if pod.priority >= floor]
        there = tuple(replace(pod, node_name=pod.nominated) for pod in held)
        found = judge(replace(cluster, pods=(*others, *there)), gang, besides)
        if not held or (found.fit is Fit.FITS and not found.why.tried):
            return found
        sooner = judge(replace(cluster, pods=others), gang, besides, held)
        if found.fit is Fit.NO and sooner.fit is not Fit.NO:
            message = "fits only before a pod that is about to come to its node is there"
            return Answer(Fit.TIGHT, sooner.placement, Why(Reason.NODE_NOMINATED, message))
        if found.fit is not Fit.NO and sooner.fit is Fit.NO:
            message = "fits only once a pod that is about to come to its node is there"
            return Answer(Fit.TIGHT, found.placement, Why(Reason.NODE_NOMINATED, message))
        return replace(sooner, placement=found.placement) if found.fit is Fit.FITS else found

    found = beside(least)
    if found.fit is not Fit.NO or not any(least <= pod.priority < most for pod in waiting):
        return found
    daring = beside(most)
    if daring.fit is Fit.NO:
        return found
    message = "fits only where room is held for a pod that is about to come there, and that some of the gang outrank"
    return Answer(Fit.TIGHT, daring.placement, Why(Reason.NODE_NOMINATED, message))


def found_in(board: Board) -> Packing:
    """A packing that passes its replay. One that does not is a fault of ours and never a yes."""
    found = find(board)
    return found if found.outcome != "found" or replay(board, found.bound) else Packing("unknown", steps=found.steps)


def _fitting(board: Board, found: Packing, names: Sequence[str], tried: Refuted | int) -> Answer:
    placement = _placement(board, found, names)
    whole, each = ("the one pod", "finds") if len(names) == 1 else (f"all {len(names)} pods", "find")
    if isinstance(tried, Refuted):
        message = (
            f"{whole} can be placed, but not in every order: "
            f"{tried.order}, with {tried.scoring} scoring, {tried.pod} finds no node"
        )
        return Answer(Fit.TIGHT, placement, Why(Reason.TIGHT_FIT, message, tried=tried.tried))
    how = f"in each of {tried} runs tried" if tried else "whatever the order and the scoring"
    return Answer(Fit.FITS, placement, Why(Reason.FITS, f"{whole} {each} a node, {how}", tried=tried))


def refuted(
    board: Board,
    may_wait: frozenset[int] = frozenset(),
    steps: int | None = None,
    heads: Sequence[int] = (),
    *,
    unproved: bool = False,
    late: int = 0,
) -> Refuted | int:
    """
    The first run that leaves a pod out, or the number of runs that do not; 0 where it is proved that none does. Pods of classes
    that `may_wait` come too, and may be left out. `steps` bounds how many pods are bound in all. `heads` are the classes of
    pods that may come first where several gangs come together. `unproved`: it is known that there is no proof. So many of the
    last nodes are `late`: they come for pods that have found no other.
    """
    if not unproved and board.never_crowded(may_wait):
        return 0
    tried, most = 0, math.inf if steps is None else max(1, steps // len(board.gang))
    settled: set[tuple[Order, Score]] = set()
    play = PLAYERS.on(board)
    for order, sequence, profile in trials(board, heads):
        if tried >= most:
            break
        tried += 1
        if (sequence, profile.score) in settled:
            continue  # luck had no say: it ends as the first did, and counts as tried
        profile = replace(profile, late=late) if late else profile
        run = play(sequence, profile, may_wait=may_wait)
        if not run.by_luck:
            settled.add((sequence, profile.score))
        if run.left:
            left = play(sequence, profile, whole=False, may_wait=may_wait).left
            return Refuted(order, str(profile), board.names[run.left[0]], tried, left)
    return tried


def _placement(board: Board, found: Packing, names: Sequence[str]) -> dict[str, str]:
    """Nodes by pod, in the order in which they are bound; pods of one class in the order of the gang."""
    waiting: list[list[str]] = [[] for _ in board.classes]
    for name, k in zip(reversed(names), reversed(board.class_of), strict=True):
        waiting[k].append(name)
    return {waiting[k].pop(): board.nodes[node].name for k, node in found.bound}


def pod_names(gang: Sequence[Pod]) -> tuple[str, ...]:
    """What each pod is called in an answer: its name; with its namespace where several have that name; a number without one."""
    counts = Counter(pod.name for pod in gang)
    return tuple(
        f"#{i}" if not pod.name else f"{pod.namespace}/{pod.name}" if counts[pod.name] > 1 else pod.name
        for i, pod in enumerate(gang)
    )
