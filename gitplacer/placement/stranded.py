"""Pods that may come later to groups where these are, and of which none could ever run there: what a reviewer has to be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.model.decision import Action, Decision, Finding, Reason
from gitplacer.placement.idle import Idle
from gitplacer.placement.onepass import Pass
from gitplacer.source.manifests import SourceObject


class Stranded(Struct, frozen=True, kw_only=True):
    """
    Pods of a role of an object of a group, on a `cluster` where it is, that could never run there, with why. They come `hosts` at a time, and there may
    be `most` of them, None for any number; or there is one on each node that admits it (`per_node`).
    """

    group: str
    member: SourceObject
    role: str
    cluster: str
    hosts: int
    most: int | None
    finding: Finding
    per_node: bool = False


def stranded(shared: Pass, decisions: Iterable[Decision]) -> Iterator[Stranded]:
    """Those of all groups after some decisions, as they are written: not of groups that are held as they are deployed, nor of those that span clusters."""
    for decision in decisions:
        group = shared.groups.get(decision.group)
        if (
            group is not None
            and decision.after
            and shared.outlook.later(group) is not None
            and _runs_as_written(decision)
        ):
            names = [name for name in decision.after if name in shared.clusters and not leaves(decision, name)]
            found = [one for name in names for one in _on(shared, group, decision, name)]
            yield from (one for one in found if not one.per_node or _is_nowhere(one, found, names))


def _is_nowhere(one: Stranded, found: Sequence[Stranded], names: Sequence[str]) -> bool:
    """Whether pods that there are for each node run on none of all clusters. Of several copies it is usual that some have no such node."""
    return sum(each.member is one.member and each.role == one.role for each in found) == len(names)


def _runs_as_written(decision: Decision) -> bool:
    if decision.roles or decision.dispatch is not None or decision.finished or decision.finding.code is Reason.FINISHED:
        return False
    return decision.action is not Action.HOLD or decision.updated_in_place


def leaves(decision: Decision, name: str) -> bool:
    """Whether a group is on its way from a cluster."""
    return name in decision.frozen or (decision.move is not None and name in decision.move.sources)


def _on(shared: Pass, group: Group, decision: Decision, name: str) -> Iterator[Stranded]:
    for member in group.members:
        facts = shared.snapshot.variants.facts_there(member, shared.clusters[name], decision.counts_on(name))
        for role in facts.roles:
            if role.idles(group.reserves[0]):
                found = shared.outlook.in_vain(name, Idle(role.shape, role.slice_size), shared.opened)
                if found is not None:
                    yield Stranded(
                        group=group.id, member=member, role=role.name, cluster=name, hosts=role.slice_size,
                        most=role.maximum, finding=found, per_node=role.per_node,
                    )  # fmt: skip
