"""
What an edit asks of the cluster on which its app runs, before anybody merges it.

We are given a member of a group as it is deployed and as it would be, and say which pods run on as they are (`stays`) and which
come beside them (`beside`). An upgraded RayService has two Ray clusters until the second one serves; one that is upgraded in
steps has a share of a second; a Deployment has its surge; whatever else grows has so many pods more. Room is asked for the pods
beside, with those that run where they are: that the new manifest would fit an empty cluster is no answer.

A Deployment of which no pod may be missing keeps as many available as are to be, so that an old one goes for each new one that is available. It comes
through k old ones beside n - k new ones, for every k from n to 1, and has to find room for one new one more each time. The first of these steps is what
is asked for beside those that run. Where new pods are larger there is least room at the last one: a single old pod, whichever it is, beside all new ones
(`pods_last`). A cluster that takes these in every order takes those of the steps between: of k - 1 old pods that are gone, each leaves room
for one new one at most. Where some may be missing, all old ones are gone before the last new ones come.

What KubeRay does with an edit is for `workloads/edits` to say. Nothing here looks at a ledger.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.capacity import RunningGroup
from gitplacer.model.podrules import of_another, untold_in
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Gang, Identity, PodSet, PodShape
from gitplacer.profiles import ClusterProfile
from gitplacer.scheduler.objects import PODS
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads import Declared, brought, kind_of
from gitplacer.workloads.edits import is_incremental, upgrade_kind, upgrade_path
from gitplacer.workloads.facts import ObjectFacts, Reserve, at


class How(enum.StrEnum):
    """What becomes of the pods that run when an edit is merged."""

    NEW_CLUSTER = "NewCluster"  # a full second Ray cluster beside the running one
    IN_STEPS = "InSteps"  # a second Ray cluster that grows as the first one shrinks
    ROLLING = "Rolling"  # some pods more, until all are replaced
    IN_PLACE = (
        "InPlace"  # there are more or other pods, and none twice: one that runs ends before another gets its place
    )
    NOTHING = "Nothing"  # the same pods go on: nothing of them was edited, or nobody applies it


OVERLAPPING = (How.NEW_CLUSTER, How.IN_STEPS, How.ROLLING)
"""The old pods run on for a while after the merge, when the source knows nothing of them any more."""


class Edited(Struct, frozen=True):
    """One object of a group as it is deployed on a cluster, and as it would be deployed there."""

    member: SourceObject
    before: Mapping[str, Any]
    after: Mapping[str, Any]


Edits = Callable[[Group, str], Sequence[Edited]]
"""What would change of a group on a cluster where it is; () for nothing."""


def no_edits(_group: Group, _cluster: str) -> tuple[Edited, ...]:
    return ()


Places = tuple[tuple[PodShape, int], ...]
"""Pods of some shapes, with how many others leave a place that one of them may have."""


class MemberUpdate(Struct, frozen=True):
    """
    What an edit of one object comes to. `waits`: it cannot end before all pods beside have room. `replaces`: pods that run are
    replaced by others of another shape, for which there must be room when they are gone. `anew`: by others, of whatever shape. `where` is
    the edited line. `refused`: why the API server does not take the new pods, in words. `bounded`: there are quotas where they are. `queued`: a
    queue of Kueue is to give it more than before. `places` are those that pods which go first leave to pods beside. `last` are the old pods that
    run yet when the last of new ones comes that are larger, () where all of them have ended before; None where pods are not replaced by larger ones. `objects`: it has no
    pods, and quotas there count more of it than before, such as the storage of a claim.
    """

    identity: Identity
    how: How
    stays: Gang
    beside: Gang
    waits: bool = True
    replaces: bool = False
    where: str = ""
    refused: str = ""
    anew: bool = False
    bounded: bool = False
    queued: bool = False
    places: Places = ()
    last: Gang | None = None
    objects: bool = False

    @property
    def overlaps(self) -> bool:
        """Whether pods run on after the merge that are others than the manifest then says, or take less."""
        return self.how in OVERLAPPING or (self.how is How.IN_PLACE and self.last is not None)

    @property
    def asks(self) -> bool:
        """
        Whether it asks for room, or a queue for more, or pods that the API server may not take come in the place of those that run.
        """
        asks = bool(self.beside) or self.replaces or self.queued or self.objects
        return asks or (self.anew and (bool(self.refused) or self.bounded))


class ObjectThere(Struct, frozen=True):
    """
    What is known of an object on a cluster: its facts as deployed and as it would be, and how many pods count there. `queues` are the
    ClusterQueues of Kueue that it waited in and would wait in there, '' for none that is known.
    """

    old: ObjectFacts
    new: ObjectFacts
    profile: ClusterProfile
    reserve: Reserve
    declared: Declared
    running: RunningGroup | None
    queues: tuple[str, str] = ("", "")


def member_update(edited: Edited, asked: ObjectThere) -> MemberUpdate:
    """What an edit of one object comes to on a cluster."""
    how = kind_of_update(edited, asked)
    if how is How.NOTHING:
        return MemberUpdate(edited.member.identity, how, (), ())
    stays = as_it_runs(asked.old.gang_for(asked.reserve, with_peak=False), asked.running)
    if how is How.IN_PLACE:
        return _in_place(edited, asked, stays)
    beside = pods_beside(how, stays, asked.new, asked.reserve)
    waits = how is not How.ROLLING or any(role.waits for role in asked.new.roles)
    replaces = how is How.ROLLING and _asks_for_more(asked)
    return MemberUpdate(
        edited.member.identity, how, stays, beside, waits, replaces, _where(edited, how, asked), _refused(edited, asked),
        anew=how is How.ROLLING, bounded=_is_bounded(edited, asked), queued=_asks_queue_for_more(asked),
        places=places_left(how, stays, asked.new, asked.reserve), last=pods_last(how, stays, asked.new, asked.reserve),
    )  # fmt: skip


def object_update(edited: Edited, asked: ObjectThere) -> MemberUpdate | None:
    """What an edit of one object without pods comes to on a cluster; None where no quota counts more of it."""
    identity, usual = edited.member.identity, asked.profile.usual_class
    was, now = (brought.itself(identity.api_group, identity.kind, facts, usual) for facts in (asked.old, asked.new))
    more = {name for name, amount in now.items() if amount > was.get(name, 0)}
    quotas = (quota for quota in asked.profile.quotas.get(identity.namespace, ()) if not quota.scopes)
    if all(more.isdisjoint(quota.hard) for quota in quotas):
        return None
    where = _where(edited, How.IN_PLACE, asked)
    return MemberUpdate(identity, How.IN_PLACE, (), (), waits=False, where=where, bounded=True, objects=True)


def _refused(edited: Edited, asked: ObjectThere) -> str:
    return asked.new.refusal(edited.member.identity.namespace)


def _is_bounded(edited: Edited, asked: ObjectThere) -> bool:
    return edited.member.identity.namespace in asked.profile.quotas


def kind_of_update(edited: Edited, asked: ObjectThere) -> How:
    """How an edit is carried out, by the rule of the controller that does it."""
    before, after, profile = edited.before, edited.after, asked.profile
    group, kind = edited.member.identity.api_group, edited.member.identity.kind
    if not edited.member.facts.sized or any(role.per_node for role in asked.new.roles):
        return How.NOTHING
    if (group, kind) == ("ray.io", "RayService"):
        match upgrade_kind(before, after, profile.version or None, profile.operator):
            case "NewCluster":
                return How.IN_STEPS if is_incremental(after) else How.NEW_CLUSTER
            case "Ignored":
                return How.NOTHING
        return How.IN_PLACE
    others = _has_other_templates(edited, asked)
    return How.ROLLING if others and any(role.surge for role in asked.new.roles) else How.IN_PLACE


def _has_other_templates(edited: Edited, asked: ObjectThere) -> bool:
    identity = edited.member.identity
    known = kind_of((identity.api_group, identity.kind), asked.declared)
    templates = known.pod_templates if known else lambda _: ()
    was, now = ([at(value, path) for path in templates(value)] for value in (edited.before, edited.after))
    return was != now


def pods_beside(how: How, stays: Gang, new: ObjectFacts, reserve: Reserve) -> Gang:
    """
    The pods that run beside those that stay, at the worst moment of an update that has both.

    In steps, old and new together are at most the larger of the two and the surge more. That counts on old pods making room for
    new ones, which only pods of the same shape surely do; for others a full second cluster is asked for, and for those that may not
    be near pods of their own Ray cluster too: where the old one leaves a node a new one may be.
    """
    whole = new.gang_for(reserve, with_peak=False)
    if how in (How.NEW_CLUSTER, How.IN_STEPS):
        whole = tuple(replace(pods, labels=of_another(pods.labels)) for pods in whole)
    if how is How.NEW_CLUSTER:
        return whole
    ran = Counter[str]()
    for pods in stays:
        ran[pods.role] += pods.count
    shapes = {(pods.role, pods.shape) for pods in stays}
    surges = {role.name: role.surge for role in new.roles}
    found = []
    for pods in whole:
        there = ran[pods.role]
        count = min(pods.count, surges[pods.role] + max(0, pods.count - there))
        if how is How.IN_STEPS and ((pods.role, pods.shape) not in shapes or _goes_by_cluster(pods)):
            count = pods.count
        if how is How.ROLLING:
            count = surges[pods.role] + max(0, pods.count - there)
        found.append(replace(pods, count=count))
    return tuple(pods for pods in found if pods.count)


def _goes_by_cluster(pods: PodSet) -> bool:
    """Whether pods may be kept off a node by those of their own Ray cluster, or by those of the other, and not by both alike."""
    untold = untold_in(pods.labels)
    return any(key in untold for rule in pods.shape.required_rules for key in rule.keys)


def places_left(how: How, stays: Gang, new: ObjectFacts, reserve: Reserve) -> Places:
    """
    The pods of each role with how many of those that run go before one of them comes, if it asks for no more than these. What is replaced pod by pod has at no
    time more pods than are to be, and the surge: where there are to be fewer, some that run go first, and nobody knows which.
    """
    if how is not How.ROLLING:
        return ()
    found = []
    for pods in new.gang_for(reserve, with_peak=False):
        old = [one for one in stays if one.role == pods.role]
        gone = sum(one.count for one in old) - pods.count
        if gone > 0 and not _goes_by_cluster(pods) and not any(_grows(one.shape, pods.shape) for one in old):
            found.append((pods.shape, gone))
    return tuple(found)


def pods_last(how: How, stays: Gang, new: ObjectFacts, reserve: Reserve) -> Gang | None:
    """
    Of each role of which no pod may be missing one of those that run, if they are replaced one after another by larger ones; () where
    all are gone before the last new one comes, and None where no larger ones come. Other kinds than a Deployment do not say it.
    """
    if how is not How.ROLLING:
        return None
    found, larger = [], False
    waits = {role.name: role.waits for role in new.roles}
    for pods in new.gang_for(reserve, with_peak=False):
        old = [one for one in stays if one.role == pods.role and _grows(one.shape, pods.shape)]
        larger = larger or bool(old)
        if waits[pods.role]:
            found += [replace(one, count=1) for one in old[:1]]
    return tuple(found) if larger else None


def as_it_runs(gang: Gang, running: RunningGroup | None) -> Gang:
    """Pods as a snapshot shows them, but for those that are being deleted, where an autoscaler made more of them than the manifest says."""
    if running is None:
        return gang
    seen = Counter(pod.role for pod in running.pods if not pod.terminating)
    sets = Counter(pods.role for pods in gang)
    return tuple(
        replace(pods, count=max(pods.count, seen[pods.role])) if sets[pods.role] == 1 and pods.role != "pod" else pods
        for pods in gang
    )


def _in_place(edited: Edited, asked: ObjectThere, stays: Gang) -> MemberUpdate:
    """
    The pods that come on top, role by role. A pod of another shape takes the place of one that runs, if its controller
    replaces pods at all; of what no snapshot has shown nothing may run yet, so that all of the new ones may come.
    """
    anew = _replaces(edited) or _is_let_in_anew(edited, asked)
    replaces = anew and _asks_for_more(asked)
    unseen = asked.running is None or not asked.running.pods
    left = Counter[str]()
    kept = []
    for pods in stays:
        if unseen and replaces:
            continue
        kept.append(pods)
        left[pods.role] += pods.count
    beside = []
    for pods in asked.new.gang_for(asked.reserve, with_peak=False):
        more = max(0, pods.count - left[pods.role])
        left[pods.role] = max(0, left[pods.role] - pods.count)
        if more:
            beside.append(replace(pods, count=more))
    return MemberUpdate(
        edited.member.identity, How.IN_PLACE, tuple(kept), tuple(beside), replaces=replaces and not unseen,
        where=_where(edited, How.IN_PLACE, asked), refused=_refused(edited, asked),
        last=() if replaces and _of_itself(edited) else None,
        anew=anew and _has_other_templates(edited, asked), bounded=_is_bounded(edited, asked), queued=_asks_queue_for_more(asked),
    )  # fmt: skip


def _asks_for_more(asked: ObjectThere) -> bool:
    """Whether pods of some role are to be larger than those that they replace."""
    shapes = {role.name: role.shape for role in asked.old.roles}
    return any(_grows(shapes.get(role.name), role.shape) for role in asked.new.roles if role.count)


def _grows(old: PodShape | None, new: PodShape) -> bool:
    """Whether a pod asks for more of anything than the one it replaces, or is to be on other nodes."""
    if old is None or old == new:
        return False
    more = any(amount > old.requests.get(name, 0) for name, amount in new.requests.items())
    return more or replace(old, requests=new.requests, scored_cpu=0, scored_memory=0) != replace(
        new, scored_cpu=0, scored_memory=0
    )


def _replaces(edited: Edited) -> bool:
    """
    Whether pods that run are replaced when their template changes. KubeRay leaves those of a RayCluster alone, unless its
    strategy is to make it anew, and those of a RayJob always.
    """
    identity, spec = edited.member.identity, edited.after.get("spec")
    if identity.api_group != "ray.io":
        return not edited.member.facts.finishes
    strategy = spec.get("upgradeStrategy") if isinstance(spec, dict) else None
    return identity.kind == "RayCluster" and isinstance(strategy, dict) and strategy.get("type") == "Recreate"


def _of_itself(edited: Edited) -> bool:
    """Whether a controller ends pods for the sake of new ones. Some leave them until somebody else ends them, or for good."""
    identity, spec = edited.member.identity, edited.after.get("spec")
    strategy = spec.get("updateStrategy") if isinstance(spec, dict) else None
    on_delete = isinstance(strategy, dict) and strategy.get("type") == "OnDelete"
    return (identity.api_group, identity.kind) != ("apps", "ReplicaSet") and not on_delete


def _is_let_in_anew(edited: Edited, asked: ObjectThere) -> bool:
    """
    Whether Kueue stops it for the edit and lets it in again, so that its pods are made anew. Of a Ray cluster that is sure; KubeRay
    leaves its pods alone otherwise.
    """
    identity = edited.member.identity
    return bool(asked.queues[1]) and (identity.api_group, identity.kind) == ("ray.io", "RayCluster")


def _asks_queue_for_more(asked: ObjectThere) -> bool:
    """Whether it waits in a queue that has to give more of anything than before."""
    before, after = asked.queues
    was, wanted = (_of_queue(facts, asked.reserve) for facts in (asked.old, asked.new))
    return bool(after) and (before != after or any(more > was.get(name, 0) for name, more in wanted.items()))


def _of_queue(facts: ObjectFacts, reserve: Reserve) -> Resources:
    """What Kueue counts of an object."""
    lots = facts.queued_for(reserve, with_peak=False)
    return sum((requests * number + {PODS: number} for number, requests in lots), NOTHING)


def _where(edited: Edited, how: How, asked: ObjectThere) -> str:
    """The line of the source that makes it happen, `file:line`; where an override does, that of the object."""
    document = edited.member.document
    if how in (How.NEW_CLUSTER, How.IN_STEPS):
        path = upgrade_path(edited.before, edited.after, asked.profile.version or None)
    else:
        path = _first_difference(edited.before.get("spec"), edited.after.get("spec"))
        path = ("spec", *path)
    location = document.locate(path)
    return f"{location.file}:{location.line}"


def _first_difference(old: Any, new: Any) -> tuple[str | int, ...]:
    """The path to the first place in `new` that differs from `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in new:
            if old.get(key) != new[key]:
                return (str(key), *_first_difference(old.get(key), new[key]))
    if isinstance(old, list) and isinstance(new, list):
        for index, item in enumerate(new):
            if index >= len(old):
                return (index,)
            if old[index] != item:
                return (index, *_first_difference(old[index], item))
    return ()


def named_roles(gang: Gang) -> tuple[tuple[str, int], ...]:
    """How many pods of each role there are, in order."""
    counts = Counter[str]()
    for pods in gang:
        counts[pods.role] += pods.count
    return tuple((role, count) for role, count in counts.items() if count)
