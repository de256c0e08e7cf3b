"""
Why a gang does not fit: which pods, what they are short of, and on how many nodes.

A refusal counts, and the counts add up: every node is in the tally once. What is missing is looked for in this order: a class
that no node admits; one for which there are too few places even if it came alone; a resource of which the whole gang asks
more than is free; and else what the best attempt left over. Where a class has rules about other pods, the places that nodes have for it
are more than its pods can take, so that no number of these is told, but what the best attempt came to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from gitplacer.model import quantity
from gitplacer.model.decision import Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.plaintext import counted
from gitplacer.scheduler.board import Board, Bound
from gitplacer.scheduler.neighbours import Mask, allowed, allowed_by_spread
from gitplacer.scheduler.objects import PODS
from gitplacer.scheduler.packing import closest

_SHOWN = 4


class Shortage(Struct, frozen=True):
    """
    `placed` of `wanted` pods like `pod`; `short` is what is missing, as far as it can be counted; `tally` has for each
    (code, subject) the nodes that refuse it, most first, adding up to `nodes`. `message` is the `summary` with the most
    frequent of these, and how many nodes have others.
    """

    code: Reason
    summary: str
    message: str
    pod: str
    placed: int
    wanted: int
    short: Resources = NOTHING
    tally: tuple[tuple[Reason, str, int], ...] = ()
    nodes: int = 0


def shortage(board: Board, *, certain: bool) -> Shortage:
    """What keeps the gang from fitting. `certain`: it is proved that nothing fits."""
    start = board.bound()
    scarce: set[int] = set()
    for k in range(len(board.classes)):
        places = int(start.room(k).sum())
        if places < board.counts[k]:
            if board.static[k] or not places:
                return _of_class(board, _filled(board, k), k, places, certain=True)
            scarce.add(k)
    total = _totals(board)
    if total is not None:
        return total
    run = closest(board)
    state, placed = board.bound(), [0] * len(board.classes)
    for k, node in run.bound:
        state.bind(k, node)
        placed[k] += 1
    left = [k for k, count in enumerate(board.counts) if placed[k] < count]
    k = next((k for k in left if k in scarce), left[0] if left else 0)
    return _of_class(board, state, k, placed[k], certain=certain or bool(scarce), among=len(run.bound))


def _filled(board: Board, k: int) -> Bound:
    """The cluster with as many pods of one class as it has places for."""
    state = board.bound()
    for node, places in enumerate(state.room(k).tolist()):
        for _ in range(places):
            state.bind(k, node)
    return state


def _of_class(board: Board, state: Bound, k: int, placed: int, *, certain: bool, among: int | None = None) -> Shortage:
    pod, wanted = board.names[k], board.counts[k]
    tally = _tally(board, state, k)
    code = _code(board, k, tally) if certain else Reason.SEARCH_BOUND
    short = _short(board, state, k, wanted - placed)
    like = f"{pod or 'the pod'}" + (f" and {wanted - 1} like it" if wanted > 1 else "")
    if among is None:
        said = f"{placed} of {wanted} pods find room ({like})"
    else:
        said = (
            f"the best attempt places {among} of {len(board.gang)} pods; "
            f"{wanted - placed} of {wanted} like {pod} left over"
        )
    if not certain:
        said += "; the search for a better placement ran out of steps"
    if short:
        said += "; short " + ", ".join(f"{quantity.render(n, v)} {n}" for n, v in short.items())
    shown = [
        f"{count} of {counted(len(board.nodes), 'node')}: {said_of(reason, what)}"
        for reason, what, count in tally[:_SHOWN]
    ]
    if others := sum(count for _, _, count in tally[_SHOWN:]):
        shown.append(f"{others} of {counted(len(board.nodes), 'node')}: other reasons")
    message = "; ".join([said, *shown]) if board.nodes else f"{said}; the cluster has no nodes"
    return Shortage(code, said, message, pod, placed, wanted, short, tally, len(board.nodes))


def said_of(reason: Reason, subject: str) -> str:
    """A line of the tally in words."""
    match reason:
        case Reason.INSUFFICIENT_CAPACITY:
            return f"not enough {subject}"
        case Reason.UNTOLERATED_TAINT:
            return f"taint {subject}"
        case Reason.NODE_SELECTOR_MISMATCH | Reason.NODE_AFFINITY_MISMATCH:
            return f"not {subject}"
        case Reason.VOLUME_NODE_MISMATCH:
            return f"not {subject}, where a volume is"
        case Reason.HOST_PORT_TAKEN:
            return "a host port is taken"
        case Reason.TOPOLOGY_SPREAD:
            return f"topology spread over {subject}"
        case Reason.POD_AFFINITY:
            return "pod affinity or anti-affinity"
    return subject


def _code(board: Board, k: int, tally: Sequence[tuple[Reason, str, int]]) -> Reason:
    """
    The reason in a word: what keeps the pods off every node, else what is short. `ExceedsCluster`: there is not enough even
    when nothing else runs.
    """
    codes = [code for code, _, _ in tally]
    if any(code == Reason.INSUFFICIENT_CAPACITY for code in codes):
        ask = [(name, board.asks[k][c]) for c, name in enumerate(board.columns) if board.asks[k][c] > 0]
        empty = sum(
            max(0, min(board.nodes[i].allocatable.get(name, 0) // amount for name, amount in ask))
            for i in np.flatnonzero(_when_empty(board, k)).tolist()
        )
        return Reason.INSUFFICIENT_CAPACITY if empty >= board.counts[k] else Reason.EXCEEDS_CLUSTER
    return codes[0] if codes else Reason.INSUFFICIENT_CAPACITY


def _when_empty(board: Board, k: int) -> Mask:
    """The nodes that admit a class when nothing else runs: neither a port that is taken nor who is beside them is there for good."""
    return board.site.admits(board.classes[k]) & board.keyed[k]


def _tally(board: Board, state: Bound, k: int) -> tuple[tuple[Reason, str, int], ...]:
    """Why each node takes no further pod of a class; nodes that do are left out."""
    counted: Counter[tuple[Reason, str]] = Counter()
    rules, counters = board.rules[k], board.counters
    others = allowed(rules, counters, state.counts)
    spreads = [
        (counters[rule.counter].key, allowed_by_spread(rule, counters, state.counts))
        for rule in (rules.spread if others is not None else ())
    ]
    room = state.room(k)
    for i in range(len(board.nodes)):
        said = next((key for key, mask in spreads if not mask[i]), "")
        refusal = _refusal(board, state, k, i, int(room[i]), others is None or bool(others[i]), said)
        if refusal is not None:
            counted[refusal] += 1
    return tuple((*key, n) for key, n in sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _refusal(
    board: Board, state: Bound, k: int, i: int, room: int, allowed_by_others: bool, spread: str
) -> tuple[Reason, str] | None:
    """A rule about other pods comes before room: more room would not help there. `spread` is over what a constraint refuses the node, '' where none does."""
    obstacle = board.site.obstacle(board.classes[k], i)
    if obstacle is not None:
        return obstacle
    if board.taken[k][i]:
        return Reason.HOST_PORT_TAKEN, ""
    if not board.keyed[k][i]:
        return Reason.MISSING_TOPOLOGY_KEY, f"no label {board.neighbourhood.key_missing(board.classes[k], i)}"
    if board.neighbourhood.refused[k][i] or board.site.kept_off(board.classes[k])[i]:
        return Reason.POD_AFFINITY, ""
    if not allowed_by_others:
        return (Reason.TOPOLOGY_SPREAD, spread) if spread else (Reason.POD_AFFINITY, "")
    if room <= 0:
        free = board.loads.free(int(state.load[i]))
        lacking = [
            ("/" not in name, (amount - have) / amount * -1, name)
            for name, amount, have in zip(board.columns, board.asks[k], free, strict=True)
            if amount > 0 and have < amount
        ]
        return (Reason.INSUFFICIENT_CAPACITY, min(lacking)[2]) if lacking else (Reason.HOST_PORT_TAKEN, "")
    return None


def _short(board: Board, state: Bound, k: int, missing: int) -> Resources:
    """What the missing pods ask of the resources of which admitting nodes have too few shares."""
    nodes = np.flatnonzero(board.admitted[k]).tolist()
    found = {}
    for column, name in enumerate(board.columns):
        ask = board.asks[k][column]
        if ask > 0 and name != PODS and nodes:
            shares = sum(max(0, board.loads.free(int(state.load[i]))[column] // ask) for i in nodes)
            if shares < missing:
                found[name] = (missing - shares) * ask
    return Resources(found)


def _totals(board: Board) -> Shortage | None:
    """A resource of which the gang asks more than is free on all nodes that admit any of its pods."""
    usable = np.flatnonzero(board.admitted.any(axis=0)).tolist()
    for column, name in enumerate(board.columns):
        wanted = sum(board.asks[k][column] * count for k, count in enumerate(board.counts))
        free = sum(max(0, board.loads.free(int(board.start[i]))[column]) for i in usable)
        if wanted > free:
            asked, there = quantity.render(name, wanted), quantity.render(name, free)
            able = np.flatnonzero(np.any([_when_empty(board, k) for k in range(len(board.classes))], axis=0)).tolist()
            offered = sum(board.nodes[i].allocatable.get(name, 0) for i in able)
            code = Reason.INSUFFICIENT_CAPACITY if offered >= wanted else Reason.EXCEEDS_CLUSTER
            on = (
                "the one node that admits any has"
                if len(usable) == 1
                else f"the {len(usable)} nodes that admit any have"
            )
            said = f"the pods ask for {asked} {name} together; {on} {there} free"
            return Shortage(
                code, said, said, "", 0, len(board.gang), Resources({name: wanted - free}), (), len(board.nodes),
            )  # fmt: skip
    return None
