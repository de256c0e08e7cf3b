"""
The cheapest machines that would place everything that waits.

Which group goes to which cluster is a search: a group after the other is given to one of the clusters that may take it, and what a
cluster's groups need together is asked of the planner's own search for the cheapest machines, with nothing that bounds how
many there may be. A way that costs more already than one that is known is not followed, since more groups never cost less. The
steps of it are counted; where they run out the best way so far is told, and that it may not be the best.

What was found is proved: a plan is made with these machines. Where an autoscaler adds them its limits are raised; where nobody does,
or the plan makes other use of them, the nodes are there. Pods on nodes that are there may sit badly, so that a gang does not find
room in every order: then a machine more is bought for it, a few times. For whom a budget or a quota forbids them nothing is bought, and the
others are shopped for again. What Kueue's queues and the quotas of namespaces have left is known before: no cluster gets groups that ask
for more of it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.accounts import Accounts
from gitplacer.hydrate import Hydration, Inputs
from gitplacer.kinds.machines import NodeType
from gitplacer.machines import LimitKind, MachineType
from gitplacer.model.decision import Decision, Finding, Reason
from gitplacer.model.room import Bought, Shopping
from gitplacer.model.workload import Gang
from gitplacer.placement.autoscalers.cost import costs
from gitplacer.placement.nodes import Nodes
from gitplacer.placement.pack import Packing, Room, pack
from gitplacer.remedies.amended import with_limit, with_nodes
from gitplacer.remedies.case import Case, is_placed, waits
from gitplacer.remedies.search import OutOfTrials, Trials
from gitplacer.room.catalogue import on_offer
from gitplacer.source.files import Memo, NoMemo

STEPS = 400
"""Questions about the machines of one cluster."""
MOST_GROUPS = 200
"""Groups for which something is bought, by name."""
REPAIRS = 4
"""Machines that are bought besides, one by one, where a plan does not place all that waits."""
REFUSALS = 4
"""How often shopping begins again without those whom a budget or a quota forbids what was found."""
_NODES = 6
"""Plans beside these."""

_FORBIDS = frozenset({Reason.BUDGET_EXCEEDED, Reason.TENANT_QUOTA})
"""Why a group waits to which nobody may give more."""

Ways = Mapping[str, frozenset[str]]
"""The groups that each cluster gets."""


class _Need(Struct, frozen=True):
    """What the groups of a cluster need together: its cost as one number that adds up, and how many of which type."""

    cost: int
    machines: tuple[tuple[str, int], ...]


class _Proof(Struct, frozen=True):
    """
    What comes of machines that were bought: the groups that a plan with them places, the machines with which it does, and the groups that
    may not have what is bought for them, with why.
    """

    placed: tuple[str, ...]
    bought: dict[tuple[str, str], int]
    forbidden: Mapping[str, Finding] = field(default_factory=dict)


def shop(
    inputs: Inputs,
    hydration: Hydration,
    memo: Memo | None = None,
    *,
    catalogue: tuple[NodeType, ...] | None = None,
    accounts: Accounts | None = None,
) -> Shopping:
    """What to buy for all groups that wait in a plan of these inputs: of what autoscalers know, or of a catalogue."""
    accounts = accounts or Accounts(hydration.view)
    names = [d.group for d in hydration.view.plan.decisions if waits(d) and not d.after]
    cases = {n: case for n in names if (case := Case.of(inputs, hydration, n, accounts)) is not None}
    market = _Market(cases, catalogue)
    open_ = {name: clusters for name, case in cases.items() if (clusters := market.clusters(case))}
    possible = {n: c for n, c in open_.items() if any(market.need(name, frozenset([n])) is not None for name in c)}
    within = dict(sorted(possible.items())[:MOST_GROUPS])
    whole, over, left = len(within) == len(possible), dict[str, Finding](), REFUSALS
    while True:
        ways, without, complete = _cheapest(market, within)
        bought = _bought(market, ways)
        wanted = tuple(group for group in within if group not in without)
        proof = _proved(inputs, hydration, memo, market, ways, bought, wanted) if wanted else _Proof((), bought)
        if not (proof.forbidden and left):
            break
        left -= 1
        over |= proof.forbidden
        within = {group: clusters for group, clusters in within.items() if group not in over}
    helpless = [name for name in cases if name not in possible or name in without]
    lacking = {name: why for name in helpless if (why := market.lacks_quota(name, open_.get(name, ()), ways))}
    return Shopping(
        waiting=tuple(cases), bought=_told(market, proof.bought), places=_places(ways), placed=proof.placed,
        impossible=tuple(name for name in helpless if name not in lacking),
        forbidden=tuple(sorted((over | lacking).items())), complete=complete and proof.bought == bought and whole,
    )  # fmt: skip


class _Market(Struct):
    """What machines are on offer on each cluster, and what groups would need there. Answers are remembered, and counted."""

    cases: Mapping[str, Case]
    catalogue: tuple[NodeType, ...] | None
    steps: int = 0
    _offers: dict[str, Mapping[str, MachineType]] = field(default_factory=dict)
    _selling: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    _rooms: dict[str, Room] = field(default_factory=dict)
    _needs: dict[tuple[str, frozenset[str]], _Need | None] = field(default_factory=dict)
    _of_gangs: dict[tuple[str, Gang], _Need | None] = field(default_factory=dict)
    """The same for gangs, of which there are fewer than groups."""

    @property
    def first(self) -> Case:
        return next(iter(self.cases.values()))

    def clusters(self, case: Case) -> list[str]:
        """The clusters that might take a group if they had more machines, and where machines are on offer."""
        names = self.first.accounts.may_enter(case.group, case.policy)
        if names not in self._selling:
            self._selling[names] = [name for name in sorted(names) if self._sells(name)]
        unspread = {c.cluster for c in case.decision.candidates if c.finding.code is Reason.COPIES_SPREAD}
        return [name for name in self._selling[names] if name not in unspread] if unspread else self._selling[names]

    def _sells(self, name: str) -> bool:
        case = self.first
        return name in case.clusters and name in case.books and case.snapshot.is_awake(name) and bool(self.offers(name))

    def offers(self, name: str) -> Mapping[str, MachineType]:
        if name not in self._offers:
            books, cluster = self.first.books, self.first.view.clusters[name]
            self._offers[name] = on_offer(cluster, books[name], self.catalogue)
        return self._offers[name]

    def need(self, name: str, groups: frozenset[str]) -> _Need | None:
        """The cheapest machines that some groups need together on a cluster; None where no number of them will do."""
        if not groups:
            return _Need(0, ())
        if (name, groups) not in self._needs:
            lacks_quota = self.first.accounts.quotas_refuse(groups, name) is not None
            self._needs[name, groups] = None if lacks_quota else self._machines(name, groups)
        return self._needs[name, groups]

    def lacks_quota(self, group: str, names: Sequence[str], ways: Ways) -> Finding | None:
        """Of the first cluster on which machines would do for a group: what quota there lacks for it beside those that go there, or None."""
        for name in names:
            beside = ways.get(name, frozenset())
            finding = self.first.accounts.quotas_refuse([group], name, beside)
            if finding is not None and self._machines(name, beside | {group}) is not None:
                return replace(finding, subject=name if finding.queue is not None else f"on {name}, {finding.subject}")
        return None

    def _machines(self, name: str, groups: frozenset[str]) -> _Need | None:
        gang = tuple(pods for group in sorted(groups) for pods in self.cases[group].gang_on(name))
        if (name, gang) not in self._of_gangs:
            self._of_gangs[name, gang] = self._asked(name, gang)
        return self._of_gangs[name, gang]

    def _asked(self, name: str, gang: Gang) -> _Need | None:
        there = self._room(name)
        if any(there.takes(p.shape).total < p.count and not there.may_be_on_new(p.shape) for p in gang):
            return None  # most that cannot help are known by this, at a hundredth of the price
        self.steps += 1
        found = pack(there, gang, scale_up=True)
        if not isinstance(found, Packing):
            return None
        each = costs(there.nodes.types, there.nodes.type_row)
        return _Need(sum(each[key] for key in found.opened), tuple(sorted(Counter(found.opened).items())))

    def _room(self, name: str) -> Room:
        """What is left on a cluster, where machines on offer can be added without a limit."""
        if name not in self._rooms:
            ledger, offers = self.first.books[name], self.offers(name)
            nodes, room, real = _with_offers(ledger.nodes, offers), ledger.room(), len(ledger.nodes.machines)
            known = all(not key or key in offers for key in room.promised)
            self._rooms[name] = Room(
                nodes, room.free if known else room.free[:real], room.promised if known else (), {}
            )
        return self._rooms[name]


def _with_offers(nodes: Nodes, offers: Mapping[str, MachineType]) -> Nodes:
    """The nodes of a cluster to which machines on offer can be added."""
    twin = copy.copy(nodes)
    twin.types = dict(offers)
    twin.type_shape = {key: nodes.shape_for(dict(t.labels), t.taints) for key, t in offers.items()}
    twin.type_row = {
        key: np.maximum(nodes.columns.offered(t.allocatable) - nodes.columns.row(t.overhead), 0)
        for key, t in offers.items()
    }
    return twin


def _cheapest(market: _Market, possible: Mapping[str, Sequence[str]]) -> tuple[Ways, tuple[str, ...], bool]:
    """
    The cheapest way found to give each group a cluster; the groups that get none beside the others, as few as can be; and whether all other
    ways were looked at, or cost more.
    """

    def turn(group: str) -> tuple[int, int, datetime, str]:
        case = market.cases[group]
        return len(possible[group]), -case.group.priority, case.decision.waiting_since or case.snapshot.now, group

    groups = sorted(possible, key=turn)
    best: tuple[int, int, Ways, tuple[str, ...]] | None = None
    complete = True

    def give(index: int, ways: dict[str, frozenset[str]], without: tuple[str, ...], spent: int) -> None:
        nonlocal best, complete
        if best is not None and (len(without), spent) >= best[:2]:
            return
        if index == len(groups):
            best = len(without), spent, dict(ways), without
            return
        if market.steps >= STEPS:
            complete = False
            if best is not None:
                return
        options = []
        for name in possible[groups[index]]:
            here = ways.get(name, frozenset())
            before, after = market.need(name, here), market.need(name, here | {groups[index]})
            if before is not None and after is not None:
                options.append((max(after.cost - before.cost, 0), name))
                if market.steps >= STEPS:
                    break  # one way at least is followed to its end
        for more, name in sorted(options):
            give(index + 1, {**ways, name: ways.get(name, frozenset()) | {groups[index]}}, without, spent + more)
        if not options:
            give(index + 1, ways, (*without, groups[index]), spent)

    give(0, {}, (), 0)
    assert best is not None
    return best[2], best[3], complete


def _bought(market: _Market, ways: Ways) -> dict[tuple[str, str], int]:
    """How many machines of which type for which cluster."""
    found = {}
    for name, groups in ways.items():
        need = market.need(name, groups)
        assert need is not None
        found.update({(name, key): count for key, count in need.machines})
    return found


def _told(market: _Market, bought: Mapping[tuple[str, str], int]) -> tuple[Bought, ...]:
    counted: Counter[tuple[str, str, float | None]] = Counter()
    for (name, key), count in bought.items():
        type_ = market.offers(name)[key]
        counted[name, type_.name, type_.price_per_hour] += count
    return tuple(
        Bought(name, type_, count, price)
        for (name, type_, price), count in sorted(counted.items(), key=lambda entry: entry[0][:2])
    )


def _places(ways: Ways) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((group, name) for name, groups in ways.items() for group in groups))


def _proved(
    inputs: Inputs,
    hydration: Hydration,
    memo: Memo | None,
    market: _Market,
    ways: Ways,
    bought: dict[tuple[str, str], int],
    wanted: tuple[str, ...],
) -> _Proof:
    """Which of the groups a plan with the machines places, or with a few more."""
    trials = Trials("", memo or NoMemo(), _NODES + REPAIRS)
    keep = frozenset(d.group for d in hydration.view.plan.decisions if is_placed(d))
    best: tuple[str, ...] = ()
    tried, then = dict(bought), dict(bought)
    for repair in range(REPAIRS + 1):
        forbidden: Mapping[str, Finding] | None = None
        for there in (False, True) if not repair else (True,):
            made = _planned(_with_machines(inputs, market, tried, there=there), trials, keep)
            placed = tuple(group for group in wanted if group in made and is_placed(made[group]))
            if len(placed) > len(best) or placed == wanted:
                best, then = placed, dict(tried)
            if placed == wanted:
                return _Proof(best, then)
            over = {group: made[group].finding for group in wanted if group in made and _is_forbidden(made[group])}
            forbidden = over if forbidden is None else {g: why for g, why in over.items() if g in forbidden}
        if forbidden and not repair:
            return _Proof(best, then, forbidden)
        waiting = next(group for group in wanted if group not in best)
        name = next(name for name, groups in ways.items() if waiting in groups)
        tried = _one_more(market, tried, name, waiting)
    return _Proof(best, then)


def _one_more(market: _Market, bought: dict[tuple[str, str], int], name: str, group: str) -> dict[tuple[str, str], int]:
    """A machine more on a cluster: of the cheapest that a group which needs luck there would buy by itself."""
    need = market.need(name, frozenset([group]))
    keys = [key for key, _ in need.machines] if need is not None else []
    keys = keys or [key for cluster, key in bought if cluster == name]
    offers = market.offers(name)
    key = min(keys or offers, key=lambda k: (offers[k].price_per_hour is None, offers[k].price_per_hour or 0.0, k))
    return {**bought, (name, key): bought.get((name, key), 0) + 1}


def _planned(inputs: Inputs | None, trials: Trials, keep: frozenset[str]) -> Mapping[str, Decision]:
    """What becomes of each group in a plan; of none, if others lose their place for them."""
    if inputs is None:
        return {}
    try:
        decisions = trials.decisions(inputs)
    except OutOfTrials:
        return {}
    placed = {group for group, decision in decisions.items() if is_placed(decision)}
    return decisions if placed >= keep else {}


def _is_forbidden(decision: Decision) -> bool:
    return not is_placed(decision) and decision.finding.code in _FORBIDS


def _with_machines(
    inputs: Inputs, market: _Market, bought: Mapping[tuple[str, str], int], *, there: bool
) -> Inputs | None:
    """The inputs in which machines may be added, or are `there`. None where a cluster cannot be written about."""
    snapshot = market.first.snapshot
    changed: Inputs | None = inputs
    raised: Counter[tuple[str, str]] = Counter()
    for (name, key), count in bought.items():
        type_ = market.offers(name)[key]
        own = market.first.books[name].nodes.types.get(key)
        raised.update({(name, limit): amount * count for limit, amount in (own.draws if own is not None else ())})
        if there and changed is not None:
            node = {
                "name": f"{type_.name}-bought-{sum(map(ord, key))}", "count": count, "labels": dict(type_.labels),
                "taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in type_.taints],
                "allocatable": type_.allocatable.rendered(), "used": type_.overhead.rendered(),
            }  # fmt: skip
            changed = with_nodes(changed, name, [node])
    for (name, key), more in raised.items():
        limit = market.first.books[name].nodes.catalogue.limits[key]
        place = snapshot.source.own.places.get(f"Cluster/{name}")
        if limit.kind is LimitKind.EXHAUSTED or changed is None:
            continue
        cluster = market.first.view.clusters[name]
        changed = with_limit(changed, place.file, cluster, limit, limit.most + more) if place is not None else None
    return changed
