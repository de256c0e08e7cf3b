"""
The loss of clusters, one after another, in a fraction of the time that a whole plan takes.

Three things make it quick, and none of them changes an answer about a group that has a place. What is read stays read: a lost
cluster differs in one word of its Cluster. The empty ledgers are opened once, with all that was ever found out with them. And who
waits without any claim is left out: those who leave a lost cluster are served before those who wait, so that nobody who
has a place is concerned by them. They wait anyway, and that is what is said of them.

Where a fleet has what breaks these arguments (clusters that sleep or are cloned, groups that may send others away, ...) each loss is
planned in full, which is what the quick way is tested against.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property

from msgspec import Struct, structs

from gitplacer.explain import PlanView, refused_approvals
from gitplacer.grouping import Group
from gitplacer.hydrate import decided
from gitplacer.layout.layout import Layout
from gitplacer.model.decision import Action, Decision
from gitplacer.model.fates import Supposed
from gitplacer.placement.books import Books
from gitplacer.placement.division import divides
from gitplacer.placement.reopened import books_empty
from gitplacer.placement.ties import ties
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import bound_to_plans
from gitplacer.whatif.ground import Ground, brought, fates, out_of_service, suppose, unguarded
from gitplacer.whatif.suppositions import LoseCluster, Together

Loss = tuple[str, ...]
"""The clusters that are lost together, sorted."""


def supposition(loss: Loss) -> LoseCluster | Together:
    """A loss as a supposition."""
    lost = tuple(LoseCluster(name) for name in loss)
    return lost[0] if len(lost) == 1 else Together(lost, name=f"losing clusters {' and '.join(loss)}")


class Losses(Struct, frozen=True, dict=True):
    """Asked for one loss after another; remembers what it found out."""

    ground: Ground

    def __call__(self, loss: Loss) -> Supposed:
        """What a loss comes to, without what is left. Raises Rejected where the fleet could not be planned then."""
        if not self.is_quick:
            return suppose(self.ground, supposition(loss), with_left=False)[0]
        planned = self.view(loss)
        gone = out_of_service(self.ground.snapshot, planned.snapshot)
        view, later = unguarded(self.ground, planned, gone)
        found = tuple(fates(self.ground, view, gone, later))
        waiting = self.ground.wait_anyway(view, found, left_out=self._left_out)
        return Supposed(
            title=supposition(loss).title,
            clusters=gone,
            fates=found,
            waiting=waiting,
            problems=tuple(brought(self.ground.problems, planned.snapshot.problems)),
        )

    def view(self, loss: Loss) -> PlanView:
        """The plan of a loss, without the groups that wait anyway. Its problems are those of the plan alone."""
        snapshot = _with_lost(self._without_waiting, loss)
        layout = self._layout.fork()
        made = decided(snapshot, layout, opened=self._books)
        found = {*layout.problems, *refused_approvals(made.decisions, snapshot)}
        return structs.replace(
            self.ground.due.view,
            snapshot=replace(snapshot, problems=tuple(sorted(found))),
            plan=made,
            edits=layout.edits,
        )

    @cached_property
    def is_quick(self) -> bool:
        """Whether those who wait can be left out."""
        s = self.ground.snapshot
        own = s.source.own
        return (
            own.fleet.spec.clone is None
            and not any(cluster.spec.standby for cluster in own.clusters.values())
            and not any(policy.spec.preempts != "Never" for policy in own.policies)
            and not any(policy.spec.relocation.when.preferred_available != "Never" for policy in own.policies)
            and not any(policy.spec.placement.span != "Never" for policy in own.policies)
            and not bound_to_plans(own.approvals, s.now)
            and not any(decision.claim for decision in self.ground.decisions.values())
        )

    @cached_property
    def _layout(self) -> Layout:
        """Files know nothing of the states of clusters, so what was rendered once is good for all losses."""
        return Layout(self._without_waiting, self.ground.inputs.source, self.ground.memo)

    @cached_property
    def _books(self) -> Books:
        s = self.ground.snapshot
        return books_empty(s, Layout(s, self.ground.inputs.source, self.ground.memo).edits)

    @cached_property
    def _left_out(self) -> frozenset[str]:
        tied = ties(self.ground.snapshot)
        return frozenset(
            group.id
            for group in self.ground.snapshot.groups.values()
            if group.id not in tied and self._only_waits(group, self.ground.decisions.get(group.id))
        )

    @cached_property
    def _without_waiting(self) -> Snapshot:
        s, out = self.ground.snapshot, self._left_out
        return replace(
            s,
            groups={name: group for name, group in s.groups.items() if name not in out},
            records={name: record for name, record in s.records.items() if name not in out},
        )

    def _only_waits(self, group: Group, decision: Decision | None) -> bool:
        """Whether a group has nothing, keeps nothing for itself, no rule about others goes by its pods, and a cluster fewer gives it nothing."""
        if decision is None or decision.action is not Action.WAIT or decision.after or decision.before:
            return False
        if divides(group):
            return False  # what is due to a cluster that is lost is due to others
        record = self.ground.snapshot.predecessor(group)
        if record is not None and (
            record.id != group.id or record.clusters or record.moves or record.claim is not None
        ):
            return False
        return not any(pods.shape.minds_others or pods.shape.looks_at_pods for pods in group.gang)


def _with_lost(snapshot: Snapshot, loss: Collection[str]) -> Snapshot:
    """The same fleet with some clusters declared lost."""
    own = snapshot.source.own
    lost = {
        name: own.clusters[name].model_copy(
            update={"spec": own.clusters[name].spec.model_copy(update={"state": "Lost"})}
        )
        for name in loss
    }
    clusters = dict(sorted({**own.clusters, **lost}.items()))
    return replace(snapshot, source=structs.replace(snapshot.source, own=structs.replace(own, clusters=clusters)))
