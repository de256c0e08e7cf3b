"""
What a pass comes to in numbers, for metrics.

Numbers are of groups, clusters and reasons; no group has a number of its own, because groups come and go by the thousand and a store of
metrics keeps every name it ever saw. Clusters and resources have names, and are cut off at a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from gitplacer.accounts import Accounts
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Action, Decision, Phase, Reason
from gitplacer.problems import Severity

MOST_CLUSTERS = 200
MOST_RESOURCES = 12
_FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
STATES = ("Placed", "Moving", "Waiting", "Held", "Finished")
"""What a group can be after a pass."""
PHASES = ("Whole", *(str(phase) for phase in Phase))
"""What one commit does of a relocation: all of it, or one step."""
_RESULTS: Mapping[Phase | None, str] = {
    None: "done", Phase.ADD: "begun", Phase.LEAVE: "begun", Phase.REMOVE: "done", Phase.ARRIVE: "done", Phase.ABORT: "aborted",
}  # fmt: skip
RESULTS = tuple(dict.fromkeys(_RESULTS.values()))
_GUARDS = frozenset(
    {Reason.GUARD_REACHED, Reason.TOO_MANY_REMOVALS, Reason.REMOVAL_NEEDS_APPROVAL, Reason.FOREIGN_CHANGE}
)


class Step(Struct, frozen=True):
    """One commit of a relocation that has landed. `seconds` is how long the whole took, None while it goes on and for one of one commit."""

    phase: str
    result: str
    seconds: float | None


class Figures(Struct, frozen=True, kw_only=True):
    """
    A pass in numbers. `workloads` counts groups by state; `waiting` and `held` by reason. `observed` is when each cluster was seen
    last. `guards` are the groups that a guard holds, each with which, and `refused` the inputs that are not believed or cannot be used: code and place.
    """

    workloads: Mapping[str, int]
    waiting: Mapping[str, int]
    held: Mapping[str, int]
    observed: Mapping[str, datetime]
    guards: frozenset[tuple[str, str]]
    refused: frozenset[tuple[str, str]]


def figures(hydration: Hydration) -> Figures:
    """The numbers of a pass, but for the headroom, which takes about as long as planning."""
    decisions = hydration.view.plan.decisions
    clusters = _clusters(hydration)
    reported = hydration.snapshot.reported
    states = Counter(filter(None, map(_state, decisions)))
    return Figures(
        workloads={state: states[state] for state in STATES},
        waiting=Counter(str(d.finding.code) for d in decisions if d.action is Action.WAIT),
        held=Counter(str(d.finding.code) for d in decisions if d.action is Action.HOLD),
        observed={name: reported[name].observed_at for name in clusters if name in reported},
        guards=frozenset((str(d.finding.code), d.group) for d in decisions if d.finding.code in _GUARDS),
        refused=frozenset(
            (problem.code, str(problem.location))
            for problem in hydration.problems
            if problem.severity is Severity.ERROR
        ),
    )


def _clusters(hydration: Hydration) -> list[str]:
    """Those that have numbers of their own."""
    return sorted(hydration.view.clusters)[:MOST_CLUSTERS]


def _state(decision: Decision) -> str | None:
    """None for a group that is gone."""
    match decision.action:
        case Action.HOLD:
            return "Held"
        case Action.WAIT | Action.PREEMPT:
            return "Waiting"
    if decision.move is not None:
        return "Moving"
    if decision.finished is not None or decision.finding.code is Reason.FINISHED:
        return "Finished"
    return "Placed" if decision.after else None


def headroom(hydration: Hydration) -> dict[tuple[str, str], float]:
    """What is free on each cluster after a pass, by cluster and resource, in cores, bytes or pieces."""
    return dict(_headroom(hydration))


def _headroom(hydration: Hydration) -> Iterator[tuple[tuple[str, str], float]]:
    accounts = Accounts(hydration.view)
    for name in _clusters(hydration):
        account = accounts[name]
        if account.snapshot is None:
            continue
        first = [resource for resource in _FIRST_RESOURCES if resource in account.offered]
        rest = [resource for resource in account.offered if resource not in first]
        for resource in (*first, *rest)[:MOST_RESOURCES]:
            free = account.free_after.get(resource, 0)
            yield (name, resource), free / 1000 if resource == "cpu" else float(free)


def steps_of(hydration: Hydration) -> list[Step]:
    """The steps of relocations that a pass has published."""
    found = []
    for step in hydration.steps:
        decision = step.relocation
        if decision is None:
            continue
        began = decision.moving.since if decision.moving is not None else None
        ends = _RESULTS[decision.phase] != "begun"
        seconds = (hydration.snapshot.now - began).total_seconds() if began is not None and ends else None
        found.append(Step(str(decision.phase or "Whole"), _RESULTS[decision.phase], seconds))
    return found
