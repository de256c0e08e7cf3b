"""
Two plans held against each other: what happens because of a change, apart from what would happen anyway.

Both are made from the same capacity, the same deployment repo and the same time; only the source differs, or one supposition.
A group that the second plan treats otherwise than the first is there because of the change, also one that the change does not
mention: it may lose its room to another.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from gitplacer.explain import PlanView
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.decision import Action, Decision
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.problems import Problem
from gitplacer.relocation.evidence import is_stale
from gitplacer.source.manifests import WORKLOADS
from gitplacer.tree import Tree, differing_paths


class Because(enum.StrEnum):
    """Why a plan does something with a group."""

    CHANGE = "Change"
    ANYWAY = "Anyway"


class Difference(Struct, frozen=True):
    """One group in two plans: what becomes of it without the change and with it, None where there is no such group."""

    group: str
    without: Decision | None
    with_it: Decision | None


class Comparison(Struct, frozen=True):
    """Groups whose fate a change decides, by id, sorted."""

    differences: Mapping[str, Difference]

    def because(self, group: str) -> Because:
        """Why something happens to a group, if something does."""
        return Because.CHANGE if group in self.differences else Because.ANYWAY


class Baseline(Struct, frozen=True, kw_only=True):
    """
    What another plan is held against: of each group what becomes of it, the deployment `tree` after the pass, the clusters that may
    sleep, what is wrong with the inputs, and of the clusters their `states` and those whose snapshots are `stale`.
    """

    decisions: tuple[Decision, ...]
    tree: Tree
    sleepers: tuple[ClusterOutcome, ...]
    problems: tuple[Problem, ...]
    fleet: FleetSpec
    states: Mapping[str, str]
    stale: frozenset[str]

    @staticmethod
    def of(view: PlanView) -> Baseline:
        """That of a plan."""
        return Baseline(
            decisions=view.plan.decisions,
            tree=view.tree,
            sleepers=view.sleepers,
            problems=view.snapshot.problems,
            fleet=view.snapshot.source.own.fleet.spec,
            states={name: cluster.spec.state for name, cluster in view.clusters.items()},
            stale=stale_clusters(view),
        )


def stale_clusters(view: PlanView) -> frozenset[str]:
    """The clusters whose snapshots are too old to rely on."""
    found, now = view.snapshot.capacity, view.snapshot.now
    return frozenset(name for name, snapshot in found.items() if is_stale(view.clusters[name], snapshot, now))


def compare(without: Baseline, with_it: PlanView) -> Comparison:
    """The plan of the source as it was, and that of the source as somebody wants it."""
    touched = set(_touched(differing_paths(without.tree, with_it.tree)))
    old, new = ({d.group: d for d in decisions} for decisions in (without.decisions, with_it.plan.decisions))
    found = {}
    for group in sorted(old.keys() | new.keys()):
        one, other = old.get(group), new.get(group)
        if group in touched or _fate(one) != _fate(other):
            found[group] = Difference(group, one, other)
    return Comparison(found)


def _fate(decision: Decision | None) -> object:
    """What becomes of a group, apart from the words for it and from what else was considered."""
    if decision is None:
        return None
    keeps = decision.action is Action.KEEP
    return (
        decision.action, decision.after, decision.files_after, decision.phase, decision.finding.code,
        None if keeps else decision.policy, dict(decision.counts), dict(decision.roles), decision.proposed, decision.claim,
    )  # fmt: skip


def _touched(paths: Iterable[str]) -> Iterator[str]:
    """The groups of whose manifests some differ between two deployment trees."""
    for path in paths:
        _, found, rest = path.partition(f"/{WORKLOADS}/")
        parts = rest.split("/")
        if found and len(parts) > 2:
            yield "/".join(parts[:2])
