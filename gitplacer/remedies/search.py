"""
Which of the changes that could be enough are, and which is the smallest.

Kinds are looked at in their order, and in each kind that change first which seems to need least. More of a change that is enough
is not always enough: with one node more another group that waits may be the first to have it. So small amounts are tried one by
one; large ones, and budgets, are found by doubling and halving. Changes that do not seem enough are tried too, if there are trials
enough for all of them: with one of them others may go elsewhere and leave their room. Where no single change is enough, the few that open a cluster to
the group are made, and another is looked for beside them.

What is proved to be in vain is not tried. If no cluster that is open to the group ever takes it, because some pod of it is kept off every node by labels, taints or
size, then no room is enough, only another cluster.

A change is enough if a plan with it places the group and takes nobody else's place: what was placed without it still is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.accounts import Accounts
from gitplacer.hydrate import Hydration, Inputs, decisions_on, hydrate
from gitplacer.model.decision import Decision, Finding, Reason
from gitplacer.model.remedy import Amendment, Remedy, RemedyKind, Way
from gitplacer.model.verdicts import Verdicts
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.problems import Rejected
from gitplacer.remedies.case import Case, is_placed
from gitplacer.remedies.families import FAMILIES, Family, families, raised_together
from gitplacer.source.files import Aside, Memo, NoMemo

Planned = TypeVar("Planned")

ONE_BY_ONE = 8
"""Amounts up to this are all tried."""
_WORK = 20_000
_FEWEST, _MOST = 20, 400
_LARGE, _FEWEST_THERE = 1_000_000, 4
"""Where groups times clusters are more, a plan takes many seconds, and somebody waits for all of them."""

_OPENING = (
    RemedyKind.UNCORDON,
    RemedyKind.TOLERATE_TAINT,
    RemedyKind.ALLOW_CLUSTER,
    RemedyKind.ACCEPT_TIGHT_FIT,
    RemedyKind.COUNT_ON_SCALE_UP,
)
"""What may be the first of two changes: nothing of it has to be counted."""


def usual_trials(hydration: Hydration) -> int:
    """How many plans may be made for one group where nobody says otherwise: the larger the fleet, the fewer."""
    size = hydration.view.size
    return max(_FEWEST if size <= _LARGE else _FEWEST_THERE, min(_MOST, _WORK // size))


class OutOfTrials(Exception):
    """As many plans were made as were allowed. `way` is what had been found to be enough by then, though less of it may be."""

    way: Way | None = None


class Trials:
    """
    Plans of inputs that somebody changed. What is parsed for them is not kept for others; `ledgers` are for all who make trials on the
    same fleet, most of which leave most clusters as they were. `keep` are groups that must not lose their place.
    """

    def __init__(
        self,
        group: str,
        memo: Memo,
        most: int,
        keep: frozenset[str] = frozenset(),
        ledgers: LedgerCache | None = None,
    ) -> None:
        self._group = group
        self._ledgers = ledgers or LedgerCache()
        self._keep = keep
        self._memo = Aside(memo)
        self._most = most
        self.made = 0

    @property
    def left(self) -> int:
        """How many more plans may be made."""
        return self._most - self.made

    def __call__(self, inputs: Inputs) -> Hydration | None:
        """A pass, in which every cluster's verdict on the group is kept; None for inputs that stop the run. Raises OutOfTrials."""
        verdicts = Verdicts(groups=frozenset({self._group}))
        return self._planned(partial(hydrate, inputs, with_candidates=verdicts))

    def decision(self, inputs: Inputs) -> Decision | None:
        """What becomes of the group; None where others lose their place for it. Raises OutOfTrials."""
        decisions = self.decisions(inputs)
        if any(other in decisions and not is_placed(decisions[other]) for other in self._keep):
            return None
        return decisions.get(self._group)  # an edit of a policy may give the group another id

    def decisions(self, inputs: Inputs) -> Mapping[str, Decision]:
        """What becomes of each group; nothing for inputs that stop the run. Raises OutOfTrials."""
        made = self._planned(partial(decisions_on, inputs))
        return {decision.group: decision for decision in made or ()}

    def _planned(self, plan: Callable[..., Planned]) -> Planned | None:
        if self.made >= self._most:
            raise OutOfTrials
        self.made += 1
        try:
            return plan(memo=self._memo, ledgers=self._ledgers)
        except Rejected:
            return None


def remedy(
    inputs: Inputs,
    hydration: Hydration,
    group: str,
    memo: Memo | None = None,
    most_trials: int | None = None,
    *,
    every_kind: bool = False,
    accounts: Accounts | None = None,
    ledgers: LedgerCache | None = None,
) -> Remedy | None:
    """
    The smallest change that places a group which waits in a plan of these inputs; None for a group that does not wait for room.

    It costs a plan for each trial, of which there are `usual_trials` at most unless somebody says otherwise, and once more as much
    to open the ledgers, if nobody has opened `accounts` of this plan.
    The first change that is found ends the search, unless the smallest of `every_kind` is wanted; then a remedy is `complete` if
    trials lasted. Raises NoSuchGroup.
    """
    case = Case.of(inputs, hydration, group, accounts)
    if case is None:
        return None
    keep = frozenset(d.group for d in hydration.view.plan.decisions if is_placed(d) and d.group != group)
    most = usual_trials(hydration) if most_trials is None else most_trials
    trials = Trials(group, memo or NoMemo(), most, keep, ledgers)
    found = _Search(case, trials, every_kind).run()
    return Remedy(group=group, ways=found.ways, trials=trials.made, complete=found.complete)


class _Found(Struct, frozen=True):
    ways: tuple[Way, ...]
    complete: bool


class _Search:
    """One search. `ways` has the smallest change of each kind that was found to be enough."""

    def __init__(self, case: Case, trials: Trials, every_kind: bool) -> None:
        self._case = case
        self._trials = trials
        self._every_kind = every_kind
        self._best: dict[tuple[RemedyKind, ...], Way] = {}
        self._alone: dict[tuple[RemedyKind, ...], Way] = {}

    def run(self) -> _Found:
        changes = {kind: sorted(families(self._case, kind), key=lambda f: f.rank) for kind in FAMILIES}
        unlikely = [family for known in changes.values() for family in known if family.likely is None]
        try:
            for kind, known in changes.items():
                self._look(kind, [family for family in known if family.likely is not None])
                if self._best and not self._every_kind:
                    return self._answer(not any(_untried(changes, kind)))
            complete = sum(map(_cost, unlikely)) <= self._trials.left
            for family in unlikely if complete else ():  # a few of many would tell nothing
                self._look(family.kind, [family])
            if self._best.keys() <= {(RemedyKind.FEWER_PODS,)}:
                self._pairs()
        except OutOfTrials:
            complete = False
        return self._answer(complete)

    def _answer(self, complete: bool) -> _Found:
        return _Found(tuple(sorted(self._best.values(), key=lambda way: way.cost)), complete)

    def _look(self, kind: RemedyKind, families: Iterable[Family]) -> None:
        """The smallest change of a kind, if one is enough. Raises OutOfTrials."""
        for family in families:
            best = self._best.get((kind,))
            most = family.most
            if best is not None:
                amount = best.amendments[0].amount
                most = min(most, amount if family.order(amount) < best.cost[1][0][1:] else amount - 1)
            if most >= 1:
                try:
                    self._keep((kind,), least(family, self._case.inputs, self._trials, most))
                except OutOfTrials as out:
                    self._keep((kind,), out.way)
                    raise

    def _keep(self, kinds: tuple[RemedyKind, ...], way: Way | None) -> None:
        if way is not None and (kinds not in self._best or way.cost < self._best[kinds].cost):
            self._best[kinds] = way

    def _pairs(self) -> None:
        """Two changes that are enough together. Raises OutOfTrials."""
        self._alone, self._best = self._best, {}
        try:
            self._beside_opening()
            self._two_limits()
        finally:
            pairs = sorted(self._best.items(), key=lambda entry: entry[1].cost)[:1]
            self._best = {**self._alone, **dict(pairs)}

    def _two_limits(self) -> None:
        for one, other in raised_together(self._case) if not self._case.needs_other_clusters else ():
            if one.likely is not None and other.likely is not None:
                self._keep((one.kind, other.kind), self._both(one, other))

    def _both(self, one: Family, other: Family) -> Way | None:
        """The least of two changes that are enough together: first of the one beside what is likely of the other, then of that."""
        beside = other.make(self._case.inputs, other.likely or 1)
        first = least(one, beside[1], self._trials, one.most) if beside is not None else None
        made = one.make(self._case.inputs, first.amendments[0].amount) if first is not None else None
        second = least(other, made[1], self._trials, other.most) if made is not None else None
        if made is None or second is None:
            return None
        return replace(second, amendments=tuple(sorted((made[0], *second.amendments), key=lambda a: a.cost)))

    def _beside_opening(self) -> None:
        """Two changes, the first of which opens a cluster to the group."""
        for first, amended, case in list(self._opened()):
            changed = _changed(self._case, case)
            beside = [f for kind in FAMILIES if (kind,) not in self._alone for f in families(case, kind)]
            for family in sorted(beside, key=lambda f: (f.rank[0], list(FAMILIES).index(f.kind), f.rank)):
                if family.kind is first.kind and family.subject == first.subject and family.item == first.item:
                    continue
                concerned = not family.cluster or family.cluster in changed
                if family.likely is None or not concerned:
                    continue
                way = least(family, amended, self._trials, family.most)
                if way is not None:
                    kinds = tuple(sorted((first.kind, family.kind)))
                    self._keep(kinds, replace(way, amendments=tuple(sorted((first, *way.amendments), key=lambda a: a.cost))))  # fmt: skip

    def _opened(self) -> Iterator[tuple[Amendment, Inputs, Case]]:
        """The inputs with each of the changes that may be the first of two. Raises OutOfTrials."""
        for kind in _OPENING:
            for family in families(self._case, kind):
                made = family.make(self._case.inputs, 1)
                done = self._trials(made[1]) if made is not None else None
                case = Case.of(made[1], done, self._case.group.id) if made is not None and done is not None else None
                if made is not None and case is not None:
                    yield made[0], made[1], case


def _cost(family: Family) -> int:
    """How many plans it takes to find that no amount of a change is enough."""
    return min(ONE_BY_ONE, family.most) + (family.most > ONE_BY_ONE)


def _untried(changes: Mapping[RemedyKind, list[Family]], up_to: RemedyKind) -> Iterator[Family]:
    """The families of kinds up to one that do not seem to be enough."""
    for kind, known in changes.items():
        yield from (family for family in known if family.likely is None)
        if kind is up_to:
            return


def _changed(before: Case, after: Case) -> set[str]:
    """The clusters that are looked at otherwise after a change."""
    names = before.candidates.keys() | after.candidates.keys()

    def said(case: Case, name: str) -> Finding | None:
        return case.candidates[name].finding if name in case.candidates else None

    return {name for name in names if said(before, name) != said(after, name)}


def least(family: Family, inputs: Inputs, trials: Trials, most: int) -> Way | None:
    """The least of a change that is enough, up to so much; None if none is. Raises OutOfTrials."""
    made: dict[int, Way | None] = {}

    def works(amount: int) -> bool:
        if amount not in made:
            made[amount] = _tried(family.make(inputs, amount), trials)
        return made[amount] is not None

    try:
        found = _least_of(works, family, most)
    except OutOfTrials as out:
        out.way = next((way for _, way in sorted(made.items()) if way is not None), None)
        raise
    return None if found is None else made[found]


def _least_of(works: Callable[[int], bool], family: Family, most: int) -> int | None:
    """The least amount of a change that is enough: what is likely first, then more than that, and then whether less will do."""
    exact = min(0 if family.kind is RemedyKind.RAISE_BUDGET else ONE_BY_ONE, most)
    likely = family.likely or 1
    for amount in (*range(likely, exact + 1), *range(1, min(likely, exact + 1))):
        if works(amount):
            return next(less for less in range(1, amount + 1) if works(less))
    return _least(works, min(max(family.likely or most, exact + 1), most), exact, most) if most > exact else None


def _tried(made: tuple[Amendment, Inputs] | None, trials: Trials) -> Way | None:
    if made is None:
        return None
    decision = trials.decision(made[1])
    if decision is None or not is_placed(decision):
        return None
    return Way((made[0],), decision.after, _why(decision))


def _why(decision: Decision) -> Finding:
    """Why the group goes where it goes then."""
    return next((decision.reasons[name] for name in decision.after if name in decision.reasons), Finding(code=Reason.FITS))  # fmt: skip


def _least(works: Callable[[int], bool], start: int, below: int, most: int) -> int | None:
    """
    The least number above one that does not work and up to `most`, where larger ones work too; asked from `start` on, further and
    further away.
    """
    low, high, step = below, start, 1
    while not works(high):
        if high == most:
            return None
        low, high, step = high, min(most, high + step), step * 2
    step = 1
    while high - low > 1:
        lower = max(low + 1, high - step)
        if not works(lower):
            low = lower
            break
        high, step = lower, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high
