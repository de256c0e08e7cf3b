"""
Decisions as words: the only place where reasons become sentences.

Everything said here was counted elsewhere. A sentence is made from a decision's finding and from nothing that differs
between two runs on the same inputs, so it can stand in a commit. What manifests contribute (taints, selectors, paths)
is data to us: whoever prints it makes it `printable` first, as `sentence` does.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model import quantity
from gitplacer.model.counts import AS_WRITTEN, Part
from gitplacer.model.decision import (
    Action,
    Candidate,
    Decision,
    Finding,
    NewNodes,
    Phase,
    Reason,
    ScaleUpLimit,
    Spending,
    Tally,
    UpdateAsks,
    Verdict,
)
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, unlabelled
from gitplacer.placement.pack import merged
from gitplacer.placement.plan import Plan
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.plaintext import LONGEST_PATH, few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.relocation.evidence import is_stale
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import consent_to

ALL_CANDIDATES = 50
"""Up to so many clusters, every one is listed for a group."""
NEAREST_CANDIDATES = 10
"""Beyond that, the chosen ones and so many of the others."""

LONGEST_SENTENCE = 1000
"""Characters; what is longer is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """
    A plan with everything that is told about it. `source_commit` is None for a work tree as it lies, and
    `deployment_commit` where nothing is placed yet; `changed_files` has for each cluster the paths that would change; `sleepers`
    are the clusters that may sleep.
    """

    snapshot: Snapshot
    plan: Plan
    source_commit: str | None
    capacity_tree: str | None
    deployment_commit: str | None
    version: str
    changed_files: Mapping[str, tuple[str, ...]]
    sleepers: tuple[ClusterOutcome, ...] = ()

    @property
    def clusters(self) -> Mapping[str, Cluster]:
        return self.snapshot.source.own.clusters

    def decision(self, group_id: str) -> Decision:
        """Raises NoSuchGroup."""
        found = next((d for d in self.plan.decisions if d.group == group_id), None)
        if found is None:
            raise NoSuchGroup(group_id, [d.group for d in self.plan.decisions])
        return found

    def group(self, decision: Decision) -> Group | None:
        """The group as the source has it; None where only a record of it is left."""
        return self.snapshot.groups.get(decision.group)

    def record(self, decision: Decision) -> PlacementRecord | None:
        """The record that stands in the deployment repo, also under the id that the group had before."""
        group = self.group(decision)
        return self.snapshot.predecessor(group) if group else self.snapshot.records.get(decision.group)

    def policy(self, decision: Decision) -> PlacementPolicy | None:
        """The policy that governs a group, if it can be read."""
        return next((p for p in self.snapshot.source.own.policies if p.name == decision.policy), None)

    def gang(self, decision: Decision, cluster: Cluster | None = None) -> Gang:
        """
        The pods of one copy, on a cluster or as they are written, equal ones counted together; those deployed, where the
        source does not count.
        """
        group = self.group(decision)
        record = self.record(decision) if group is None or decision.action is Action.HOLD else None
        if record is not None and record.clusters:
            policy = group.policy if group else None
            return merged(unlabelled(self.snapshot.deployed.gang(record, policy, cluster.name if cluster else None)))
        if group is not None and decision.roles:
            return self._spanning_gang(group, decision, cluster)
        counts = decision.counts_on(cluster.name) if cluster is not None else AS_WRITTEN
        if group is not None and cluster is not None and (counts or self.snapshot.variants.any_on(cluster)):
            return merged(unlabelled(self.snapshot.variants.gang(group, cluster, counts)))
        return merged(unlabelled(group.gang if group else ()))

    def _spanning_gang(self, group: Group, decision: Decision, cluster: Cluster | None) -> Gang:
        """The pods of a group that spans clusters: those on one of them, or all."""
        home = self.clusters.get(decision.home or "")
        clusters = [self.clusters[name] for name in decision.roles if name in self.clusters]
        found: list[PodSet] = []
        for each in clusters if cluster is None else [cluster]:
            counts = decision.counts_on(each.name)
            if decision.role_on(each.name) == "Remote":
                found += () if home is None else self.snapshot.spans.gang(group, home, each, counts)
            else:
                found += self.snapshot.variants.gang(group, each, counts)
        return merged(unlabelled(tuple(found)))

    def overridden(self, decision: Decision, part: Part) -> dict[str, int]:
        """The clusters on which an override gives a count of a group another number than its share, with that number."""
        group = self.group(decision)
        member = next((m for m in group.members if m.identity == part.object), None) if group is not None else None
        found = {}
        for name, counts in decision.counts.items() if member is not None else ():
            share, cluster = counts.get(part).replicas, self.clusters.get(name)
            if cluster is not None and share is not None and member is not None:
                there = self.snapshot.variants.replicas(member, cluster, counts).get(part.role, share)
                if there != share:
                    found[name] = there
        return found

    def main_cluster(self, decision: Decision) -> Cluster | None:
        """
        The cluster whose pods are told of a group: the first that will have it, or has it; none for a group that spans clusters,
        of which all are told.
        """
        if decision.roles:
            return None
        names = (*decision.after, *decision.before)
        return next((self.clusters[name] for name in names if name in self.clusters), None)

    def members(self, decision: Decision) -> list[tuple[str, str, str, str, str]]:
        """(apiVersion, kind, namespace, name, path in the source) of a group's objects, those it shares last."""
        group, record = self.group(decision), self.record(decision)
        if group is not None:
            return [(m.api_version, *m.identity[1:], m.path) for m in (*group.members, *group.shared)]
        return [(m.api_version, m.kind, m.namespace, m.name, m.source) for m in record.members] if record else []


class NoSuchGroup(LookupError):
    """There is no group of this id in the plan; `hint` names those whose ids are nearest."""

    def __init__(self, group_id: str, known: Sequence[str]) -> None:
        self.hint = _nearest_groups(group_id, known)
        super().__init__(f'there is no group "{printable(group_id)}"')


def _nearest_groups(group_id: str, known: Sequence[str]) -> str:
    name = group_id.rpartition("/")[2].casefold()
    same_name = [other for other in known if name and other.rpartition("/")[2].casefold() == name]
    near = same_name or difflib.get_close_matches(group_id, known, n=3, cutoff=0.5)
    near = near or [other for other in known if name and name in other.casefold()]
    if near:
        return f"did you mean {few([printable(other) for other in near])}?"
    return "`gitplacer status` lists all groups" if known else "this fleet has no groups"


# findings

_SAID: Mapping[Reason, tuple[str, str]] = {
    # reason: (without a subject, with one)
    Reason.FITS: ("fits", "fits"),
    Reason.ROOM: ("has room for all its pods; not tried in every order",) * 2,
    Reason.PLATFORM: ("platform objects go where their policy says", "platform objects go where their policy says"),
    Reason.KEPT: ("is there already", "is on {} already"),
    Reason.DIVIDED: ("its replicas are divided anew",) * 2,
    Reason.UPDATED: ("its files change", "its files change"),
    Reason.OUTGROWN: ("it stays, but not all its pods find room there",) * 2,
    Reason.UPGRADE_FITS: ("old and new pods fit together where it runs",) * 2,
    Reason.UPGRADE_BY_SCALE_UP: ("old and new pods fit together with machines that can be added",) * 2,
    Reason.UPGRADE_TIGHT: ("old and new pods fit together, but not in every order",) * 2,
    Reason.UPGRADE_NOT_JUDGED: ("no current snapshot tells whether old and new pods fit together",) * 2,
    Reason.UPGRADE_DOES_NOT_FIT: ("old and new pods do not fit together where it runs",) * 2,
    Reason.UPDATE_HELD: ("there is no room for its update where it runs, and its policy holds it back",) * 2,
    Reason.CLUSTER_AWAKE: ("its cluster is awake", "{} is awake"),
    Reason.FINISHED: ("its jobs have run to their end", "its jobs have run to their end ({})"),
    Reason.SOURCE_REMOVED: ("it is no longer in the source", "it is no longer in the source"),
    Reason.COPY_NOT_WANTED: ("fewer copies are wanted", "the copy on {} is not wanted any more"),
    Reason.CLUSTER_DRAINING: ("is draining", "{} is draining"),
    Reason.PREFERRED_AVAILABLE: (
        "a cluster that its policy likes better has room",
        "a cluster that its policy likes better than {} has room",
    ),
    Reason.MOVE_APPROVED: ("an Approval sends it", "Approval {} sends it"),
    Reason.PREEMPTED_BY: ("it makes room for a group of higher priority", "it makes room for {}, of higher priority"),
    Reason.MANAGEMENT_CLUSTER: ("is a management cluster and takes no workloads",) * 2,
    Reason.NOT_IN_ORDER: ("the policy's order does not name it",) * 2,
    Reason.NO_SHARE: ("the policy gives it no share",) * 2,
    Reason.OTHER_CLUSTER_WISHED: ("an annotation asks for another cluster", "an annotation asks for {}"),
    Reason.UNTOLERATED_CLUSTER_TAINT: ("its taint is not tolerated", "the policy does not tolerate its taint {}"),
    Reason.CLUSTER_CORDONED: ("is cordoned and takes nothing new",) * 2,
    Reason.API_NOT_SERVED: ("does not serve an API that it needs", "does not serve {}"),
    Reason.FEATURE_NOT_SERVED: ("cannot do what it asks for", "{}"),
    Reason.LEFTOVER_THERE: ("was lost, and is not seen to be rid of what ran there then",) * 2,
    Reason.LEFT_BEFORE: ("the group left it within the last day",) * 2,
    Reason.NO_SNAPSHOT: ("has no capacity snapshot",) * 2,
    Reason.BROKEN_SNAPSHOT: ("its capacity snapshot cannot be used",) * 2,
    Reason.STALE_SNAPSHOT: ("its capacity snapshot is too old", "its capacity snapshot of {} is too old"),
    Reason.UNKNOWN_CLUSTER: ("is not in the fleet", "there is no cluster {}"),
    Reason.CANNOT_WAKE: ("it sleeps, and is not woken", "it sleeps, and is not woken: {}"),
    Reason.NODE_NOT_READY: ("no node is ready", "no node takes it: {}"),
    Reason.NODE_UNSCHEDULABLE: ("every node is cordoned", "no node takes it: {}"),
    Reason.NODE_NAME_MISMATCH: ("the node it names is not there", "no node takes it: {}"),
    Reason.NODE_SELECTOR_MISMATCH: ("no node has the labels it selects", "no node has {}"),
    Reason.NODE_AFFINITY_MISMATCH: ("no node meets its affinity", "no node meets {}"),
    Reason.UNTOLERATED_TAINT: ("every node has a taint that it does not tolerate", "it does not tolerate {}"),
    Reason.NODE_UNREADABLE: ("no node can be read", "no node takes it: {}"),
    Reason.MISSING_TOPOLOGY_KEY: ("no node has the label that a rule about other pods goes by",) * 2,
    Reason.VOLUME_NODE_MISMATCH: (
        "its volumes cannot be reached from any node",
        "no node meets {}, where a volume of it is",
    ),
    Reason.MISSING_CLAIM: ("a volume claim that it names is not there",) * 2,
    Reason.VOLUME_NOT_BOUND: ("a volume claim of it has no volume",) * 2,
    Reason.VOLUME_IN_USE: ("another pod has its volume",) * 2,
    Reason.VOLUME_NOT_MADE_YET: ("nobody knows from where a volume of it will be reached",) * 2,
    Reason.MISSING_RUNTIME_CLASS: ("its RuntimeClass is not there",) * 2,
    Reason.MISSING_PRIORITY_CLASS: ("its PriorityClass is not there",) * 2,
    Reason.LIMIT_RANGE: ("a LimitRange refuses its pods",) * 2,
    Reason.QUOTA_EXCEEDED: ("a ResourceQuota refuses its pods",) * 2,
    Reason.NODE_NOMINATED: ("fits only where room is held for another pod",) * 2,
    Reason.HOST_PORT_TAKEN: ("a host port is taken",) * 2,
    Reason.TOPOLOGY_SPREAD: ("its topology spread constraints keep it out", "its topology spread over {} keeps it out"),
    Reason.POD_AFFINITY: ("pod affinity or anti-affinity keeps it out",) * 2,
    Reason.INSUFFICIENT_CAPACITY: ("there is not enough room now",) * 2,
    Reason.NODE_GROUP_EXHAUSTED: ("the machines that it needs cannot be had now",) * 2,
    Reason.EXCEEDS_CLUSTER: ("it is more than the cluster holds when empty",) * 2,
    Reason.SEARCH_BOUND: ("the search for a placement ran out of steps",) * 2,
    Reason.INVALID_POD: ("a pod of it cannot be read", "a pod of it cannot be read: {}"),
    Reason.NO_ELIGIBLE_CLUSTER: ("no cluster may take it now",) * 2,
    Reason.SPANS: ("no cluster takes it alone, and several of one mesh do together",) * 2,
    Reason.NO_MESH_FITS: ("neither a cluster nor those of a mesh together have room for it",) * 2,
    Reason.CANNOT_SPAN: (
        "no cluster that may take it has room for it, and it cannot span several",
        "no cluster that may take it has room for it, and it cannot span several: {}",
    ),
    Reason.NO_CLUSTER_FITS: ("no cluster that may take it has room for it",) * 2,
    Reason.BUDGET_EXCEEDED: ("the machines that it needs are beyond its policy's budget",) * 2,
    Reason.RESERVED_FOR: ("its room is kept for a group that is first", "its room is kept for {}, which is first"),
    Reason.CLUSTER_WAKING: (
        "its cluster is being woken, and its files are written when it is there",
        "{} is being woken, and its files are written when it is there",
    ),
    Reason.COPIES_WAIT: ("further copies wait for room",) * 2,
    Reason.WAITS_FOR_PREEMPTED: (
        "room is made for it, and those who leave are not seen to be gone",
        "{} made room for it, and no snapshot shows that room free yet",
    ),
    Reason.ROOM_RESERVED: (
        "no cluster has room for it; it has waited long, and what gets free is kept for it",
        "no cluster has room for it; it has waited long, and what gets free on {} is kept for it",
    ),
    Reason.REMOVAL_NEEDS_APPROVAL: ("its removal needs an approval", "removing it from {} needs an approval"),
    Reason.FOREIGN_CHANGE: (
        "somebody else changed its files in the deployment repo",
        "somebody else changed {} in the deployment repo",
    ),
    Reason.REVERT_REFUSED: (
        "somebody reverted its move, and it may run twice",
        "somebody reverted its move to {}, where it may have started and may run beside this",
    ),
    Reason.NO_POLICY: ("no policy governs it",) * 2,
    Reason.BROKEN_POLICY: (
        "the policy that governs it, or might, cannot be read",
        "policy {}, or another that might govern it, cannot be read",
    ),
    Reason.UNREADABLE_SOURCE: (
        "a file that it came from cannot be read as a whole",
        "{} cannot be read as a whole, or holds what is refused",
    ),
    Reason.UNDECLARED_KIND: (
        "no WorkloadKind declares its kind any more",
        "no WorkloadKind says any more what pods {} becomes",
    ),
    Reason.BROKEN_RECORD: ("its record in the deployment repo cannot be read",) * 2,
    Reason.HAS_PROBLEMS: ("it has problems", "it has problems: {}"),
    Reason.HELD_TOGETHER: (
        "it exchanges members with a group that is held",
        "it exchanges members with {}, which is held",
    ),
}
"""What needs no numbers. Subjects are names, taints, paths or codes, several joined by commas."""

_STAYS: Mapping[Reason, str] = {
    Reason.NOWHERE_TO_GO: "{trigger}, and no other takes it",
    Reason.MAY_HAVE_STARTED: "{trigger}, but {who} may have started there, and a start elsewhere could run it twice",
    Reason.NEVER_RELOCATED: "{trigger}, but its policy or an annotation says that it never moves",
    Reason.AWAITS_APPROVAL: "{trigger}, and its policy lets it move only with an Approval",
    Reason.COOLING_DOWN: "{trigger}, but it has moved lately and stays{until}",
    Reason.BACKING_OFF: "{trigger}, but its last relocation was taken back, and it stays{until}",
    Reason.GUARD_REACHED: "{trigger}, but as many groups have moved lately as the Fleet's guards allow",
    Reason.FROZEN: "{trigger}, but by the Fleet's guards nothing begins to move{until}",
    Reason.NOT_READY_ELSEWHERE: "{trigger}, and it goes when another copy is ready and may take over",
}
"""Why a group stays though it should leave. The finding's subject is the trigger and, for some, until when."""

_TRIGGERS: Mapping[str, str] = {
    Reason.NOT_ELIGIBLE: "its cluster is not one it is allowed on",
    Reason.CLUSTER_DRAINING: "its cluster is draining",
    Reason.CLUSTER_LOST: "its cluster is lost, or gone from the fleet",
    Reason.UPGRADE_DOES_NOT_FIT: "its update does not fit",
    Reason.OUTGROWN: "it has outgrown its cluster",
    Reason.PENDING_PODS: "pods of it have been waiting for a node for too long",
    Reason.PREFERRED_AVAILABLE: "a cluster that its policy likes better has room",
    Reason.MOVE_APPROVED: "an Approval sends it elsewhere",
}

_LISTS = (
    Reason.COPY_NOT_WANTED,
    Reason.REMOVAL_NEEDS_APPROVAL,
    Reason.FOREIGN_CHANGE,
    Reason.REVERT_REFUSED,
    Reason.UNREADABLE_SOURCE,
    Reason.HAS_PROBLEMS,
    Reason.HELD_TOGETHER,
    Reason.CLUSTER_WAKING,
    Reason.CLUSTER_AWAKE,
    Reason.PREEMPTED_BY,
    Reason.RESERVED_FOR,
    Reason.WAITS_FOR_PREEMPTED,
)
"""Reasons whose subject is a list."""
_ABOUT_OTHERS = (Reason.HOST_PORT_TAKEN, Reason.TOPOLOGY_SPREAD, Reason.POD_AFFINITY)
_FURTHER: Mapping[Reason, tuple[str, ...]] = {
    Reason.EXCEEDS_CLUSTER: ("more than the cluster holds when empty",),
    Reason.SEARCH_BOUND: ("the search for a better placement ran out of steps",),
}
ROOM = (
    Reason.INSUFFICIENT_CAPACITY,
    Reason.NODE_GROUP_EXHAUSTED,
    Reason.EXCEEDS_CLUSTER,
    Reason.PODS_MAY_WAIT,
)
_FROM_POLICY = (
    Reason.CLUSTER_NOT_SELECTED,
    Reason.NOT_IN_ORDER,
    Reason.NO_SHARE,
    Reason.UNTOLERATED_CLUSTER_TAINT,
    Reason.BUDGET_EXCEEDED,
)
_FROM_CLUSTER = (Reason.MANAGEMENT_CLUSTER, Reason.CLUSTER_CORDONED, Reason.CLUSTER_DRAINING, Reason.CLUSTER_LOST)


def finding_text(finding: Finding, cluster: Cluster | None = None) -> str:
    """
    A finding as a clause without a full stop. With the cluster it is about, it also says what was found there.

    Not yet safe to print: subjects are as the manifests have them.
    """
    code, subject = finding.code, finding.subject
    if code is Reason.FITS_BY_SCALE_UP:
        return _scale_up(finding.new_nodes)
    if code is Reason.TIGHT_FIT:
        return _tight(finding)
    if code is Reason.PODS_MAY_WAIT:
        return "; ".join(["is placed whatever the room, and pods may wait", *_shortage(finding), *_limits(finding)])
    if finding.update is not None:
        return _edit(finding, finding.update)
    if finding.spending is not None:
        return _beyond_budget(finding.spending)
    if code is Reason.NOT_ELIGIBLE:
        return _not_eligible(finding, cluster)
    if code is Reason.CLUSTER_NOT_SELECTED:
        return _not_selected(finding.subject, cluster)
    if code in _STAYS:
        return _stays(finding, "it")
    if code is Reason.NO_MESH_FITS and finding.wanted:
        return f"{_SAID[code][0]}: together they take {finding.placed} of {finding.wanted} {finding.role}"
    if code is Reason.SHARES_WAIT:
        waiting = finding.wanted - finding.placed
        return f"{waiting} of {finding.wanted} replicas wait for room{f': {subject}' if subject else ''}"
    if code in _TOLD:
        return _TOLD[code](finding)
    if finding.wanted or finding.nodes:
        return "; ".join([*_shortage(finding), *_FURTHER.get(code, ()), *_limits(finding)])
    without, with_subject = _SAID[code]
    return with_subject.format(few(subject.split(", ")) if code in _LISTS else subject) if subject else without


def _edit(finding: Finding, update: UpdateAsks) -> str:
    """What an edit makes happen on a cluster, whether there is room for it, and what comes of that."""
    pods = _counted_pods(update.pods)
    both = update.how in ("NewCluster", "InSteps")
    match update.how:
        case "NewCluster":
            said = f"this edit makes KubeRay start a second Ray cluster ({pods}) beside the running one on {update.cluster}"
        case "InSteps":
            said = f"this edit makes KubeRay bring up a second Ray cluster in steps on {update.cluster}, with at most {pods} more"
        case "Rolling":
            said = f"this edit replaces its pods on {update.cluster} one after another, with {pods} more until that is done"
        case _:
            said = f"this edit asks for {f'{pods} more' if pods else 'larger pods'} on {update.cluster}"
    said = with_place(said, update.where)
    match finding.code:
        case Reason.UPGRADE_FITS:
            return f"{said}; {'both fit' if both else 'there is room'}"
        case Reason.UPGRADE_BY_SCALE_UP:
            return f"{said}; {'the second one' if both else 'that'} {_scale_up(finding.new_nodes)}"
        case Reason.UPGRADE_TIGHT:
            return f"{said}; {'both fit' if both else 'there is room'}, but not in every order"
        case Reason.UPGRADE_NOT_JUDGED:
            return f"{said}; no current snapshot tells whether there is room"
    short = [*_shortage(finding), *_limits(finding)] or ["there is in some orders only, or at the cost of others"]
    too_little = f"{said}; there is no room for {'both' if both else 'that'}: {'; '.join(short)}"
    if finding.code is Reason.UPDATE_HELD:
        return f"{too_little}; its policy holds the edit back until there is"
    left = _LEFT_TO_WAIT.get(update.stays, f"it stays for now, and {_UNTIL_THERE_IS}") if update.stays else ""
    return "; ".join(part for part in (too_little, left) if part)


_UNTIL_THERE_IS = "it will not be complete until there is"
_LEFT_TO_WAIT: Mapping[str, str] = {
    Reason.NOWHERE_TO_GO: f"no other cluster has room for the new one alone, so the edit goes on here, and {_UNTIL_THERE_IS}",
    Reason.MAY_HAVE_STARTED: "it stays, because it may have started and a start elsewhere could run it twice",
    Reason.NEVER_RELOCATED: f"its policy or an annotation says that it never moves for that, so {_UNTIL_THERE_IS}",
    Reason.KEPT: f"its policy lets the edit go on here, and {_UNTIL_THERE_IS}",
    Reason.AWAITS_APPROVAL: f"its policy lets it move for that only with an Approval, and {_UNTIL_THERE_IS}",
    Reason.COOLING_DOWN: f"it has moved lately and stays for now, and {_UNTIL_THERE_IS}",
    Reason.BACKING_OFF: f"its last relocation was taken back and it stays for now, and {_UNTIL_THERE_IS}",
    Reason.FROZEN: f"the Fleet is frozen, and {_UNTIL_THERE_IS}",
    Reason.GUARD_REACHED: f"as many groups have moved lately as the Fleet's guards allow, and {_UNTIL_THERE_IS}",
}
"""Why a group stays where its edit has too little room, and what comes of it."""


def _counted_pods(pods: Sequence[tuple[str, int]]) -> str:
    """`head + 2 workers`, `1 pod`."""
    heads = sum(count for role, count in pods if role == "head")
    workers = sum(count for role, count in pods if role.startswith("worker/"))
    others = sum(count for _, count in pods) - heads - workers
    said = [("head" if heads == 1 else f"{heads} heads") if heads else ""]
    said += [f"{n} {word}{'s' if n != 1 else ''}" for n, word in ((workers, "worker"), (others, "pod")) if n]
    return " + ".join(part for part in said if part)


def _stays(finding: Finding, who: str) -> str:
    code, _, until = finding.subject.partition(" ")
    trigger = _TRIGGERS.get(code, "it should leave its cluster")
    return _STAYS[finding.code].format(trigger=trigger, who=who, until=f" until {until}" if until else "")


def _lost(finding: Finding) -> str:
    """The planner's subject is the cluster, or `<cluster> silent since <time>`."""
    name, _, since = finding.subject.partition(" silent since ")
    if since:
        return f"nothing was heard of {name} since {since}, and what it has may run there still"
    return f"{name} is lost, or gone from the fleet" if name else "is lost"


def _pending(finding: Finding) -> str:
    if not finding.wanted:
        return "pods of it have been waiting for a node for too long"
    others = " and others" if finding.placed else ""
    pods = f"{finding.wanted} pod{'s' if finding.wanted != 1 else ''}"
    return f"{pods} of it ({finding.role}{others}) have been waiting for a node on {finding.subject} for too long"


def _moving(finding: Finding) -> str:
    """The planner's subject is `<strategy>; <from>; <to>`, names with commas between."""
    strategy, _, rest = finding.subject.partition("; ")
    gone, come = (
        few([name for name in names.split(",") if name]) for names in (rest.partition("; ")[0], rest.partition("; ")[2])
    )
    if strategy == "Surge":
        return f"it stays on {gone} until it is ready on {come} and may take over"
    if strategy == "RemoveFirst":
        return f"it is between {gone} and {come or 'another cluster'} until it is seen to be gone from {gone}"
    return "a relocation is going on"


def _tight(finding: Finding) -> str:
    """The planner's subject is `<order>; <scoring>`; a record keeps the code alone."""
    order, _, scoring = finding.subject.partition("; ")
    if not order:
        return "all its pods can be placed, but not in every order"
    who = finding.role if finding.role.partition(" ")[0] == "pod" else f"pod of {finding.role}"
    return f"all its pods can be placed, but not in every order: {order}, with {scoring} scoring, a {who} finds no node"


def _scale_up(new_nodes: Sequence[NewNodes]) -> str:
    if not new_nodes:
        return "fits on nodes that are being added for other groups"
    added = few([f"{n.count} × {n.type}{' (spot)' if n.spot else ''}" for n in new_nodes], most=10)
    prices = [n.count * n.price_per_hour for n in new_nodes if n.price_per_hour is not None]
    price = f" ({sum(prices):.2f} an hour)" if len(prices) == len(new_nodes) else ""
    return f"fits with {added} added{price}"


def _limits(finding: Finding) -> list[str]:
    """What kept an autoscaler from adding what is short."""
    return [_LIMITS[limit.kind](limit) for limit in finding.limits]


def _exhausted(limit: ScaleUpLimit) -> str:
    return f"no more {limit.subject} now: {limit.code}{f' until {limit.until}' if limit.until else ''}"


_TOLD: Mapping[Reason, Callable[[Finding], str]] = {
    Reason.CLUSTER_LOST: _lost,
    Reason.PENDING_PODS: _pending,
    Reason.MOVING: _moving,
}
"""What is told of relocations with the numbers and names behind it."""

_LIMITS: Mapping[str, Callable[[ScaleUpLimit], str]] = {
    "Exhausted": _exhausted,
    "Max": lambda limit: f"there may be no more than {limit.most} {limit.subject}",
    "GroupMax": lambda limit: f"node group {limit.subject} may have no more than {limit.most} nodes",
    "NodePool": lambda limit: (
        f"node pool {limit.subject} may have no more than {amount_text(limit.resource, limit.most)} {limit.resource}"
    ),
    "MaxNodes": lambda limit: f"the cluster may have no more than {limit.most} nodes",
}


def _beyond_budget(spending: Spending) -> str:
    used = f"{spending.spent:.2f} of its policy's budget of {spending.budget:.2f} an hour are in use"
    if spending.more is None:
        return f"needs machines whose price is not known, which no budget can pay for; {used}"
    return f"needs machines for {spending.more:.2f} an hour more; {used}"


def _not_eligible(finding: Finding, cluster: Cluster | None) -> str:
    """The planner's subject is `<cluster>: <code> <subject of that>`."""
    name, _, rest = finding.subject.partition(": ")
    code, _, subject = rest.partition(" ")
    if code not in list(Reason):
        return f"{name} is not allowed any more" if name else "its cluster is not allowed any more"
    because = finding_text(Finding(code=Reason(code), subject=subject), cluster)
    return f"{name} is not allowed any more: {because}"


def _not_selected(requirement: str, cluster: Cluster | None) -> str:
    """A requirement reads `key=value`, `key in [a, b]`, `key not in [a]`, `key` or `!key`."""
    if not requirement:
        return "the policy does not select it"
    if requirement.startswith("kubernetes.io/metadata.name"):
        return f"the policy asks for name{requirement.removeprefix('kubernetes.io/metadata.name')}"
    asked = f"the policy asks for {requirement}"
    if cluster is None:
        return asked
    key = requirement.lstrip("!").split("=")[0].split(" ")[0]
    value = cluster.labels().get(key)
    return f"{asked}; it has {f'no {key}' if value is None else f'{key}={value}'}"


def _shortage(finding: Finding) -> list[str]:
    """How many pods of a role fit, and of what there is too little; where only filters refuse, which."""
    said = [f"{finding.placed} of {finding.wanted} {finding.role} fit"] if finding.wanted else []
    lacks_room = any(t.reason is Reason.INSUFFICIENT_CAPACITY for t in finding.tally)
    ruled = any(t.reason in _ABOUT_OTHERS for t in finding.tally)  # more room alone would not help
    if finding.tally and (ruled or not lacks_room):
        refusals = [tally_text(t, finding.nodes) for t in finding.tally]
        return refusals if finding.code is finding.tally[0].reason and len(refusals) == 1 else [*said, *refusals]
    if finding.wanted and not finding.nodes:
        return [*said, "it has no nodes"]
    if finding.short:
        return [*said, f"short {amounts_text(finding.short)}"]
    return [*said, "no node has room for one more"] if finding.wanted else said


def tally_text(tally: Tally, nodes: int) -> str:
    """How many nodes refuse a pod for one reason: `3 of 4 nodes: gpu=reserved:NoSchedule`."""
    if tally.reason is Reason.INSUFFICIENT_CAPACITY:
        about = f"not enough {tally.subject}" if tally.subject else "taken by those that fit"
    else:
        about = tally.subject or _SAID[tally.reason][0]
    return f"{tally.nodes} of {nodes} node{'s' if nodes != 1 else ''}: {about}"


def amount_text(resource: str, value: int) -> str:
    """A quantity for people: cores with decimals, long numbers of bytes in Gi with one decimal, rounded down."""
    if resource == "cpu":
        return f"{value // 1000}.{value % 1000:03d}".rstrip("0").rstrip(".")
    exact = quantity.render(resource, value)
    if len(exact) <= 6 or value < 2**30:
        return exact
    tenths = value * 10 // 2**30
    return f"{tenths // 10}.{tenths % 10}Gi"


def amounts_text(resources: Resources) -> str:
    """`1 nvidia.com/gpu, 4 cpu and 12Gi memory`: devices first."""
    names = sorted(resources, key=lambda name: ("/" not in name, name))
    return few([f"{amount_text(name, resources[name])} {name}" for name in names], most=10)


# decisions


def why(decision: Decision, view: PlanView) -> str:
    """The reason of a decision as a clause, not yet safe to print."""
    finding = decision.finding
    parts = []
    if finding not in decision.reasons.values():
        about = view.clusters.get(finding.subject.partition(":")[0]) if finding.code is Reason.NOT_ELIGIBLE else None
        named = finding.code is Reason.MAY_HAVE_STARTED and decision.blocked_by
        parts.append(_stays(finding, few(decision.blocked_by)) if named else finding_text(finding, about))
    parts += _taken(decision)
    if decision.after and decision.waiting_since and decision.action is not Action.HOLD:
        told = (Reason.COPIES_WAIT, Reason.SHARES_WAIT, Reason.CLUSTER_WAKING)
        parts += ["further copies wait for room"] if finding.code not in told else []
    parts += shares(decision, view) if finding.code is not Reason.KEPT else []
    return "; ".join(parts)


def shares(decision: Decision, view: PlanView) -> list[str]:
    """
    How many replicas of what each cluster has of a group that is divided, for each count that is: `Deployment shop/web: 4 on a,
    1 on b`; and where an override has the last word.
    """
    replicas: dict[Part, dict[str, int]] = {}
    for name, counts in sorted(decision.counts.items()):
        for part, count in counts:
            if count.replicas is not None:
                replicas.setdefault(part, {})[name] = count.replicas
    said = []
    for part, numbers in sorted(replicas.items()):
        overridden = view.overridden(decision, part)
        each = [
            f"{number} on {name}"
            if name not in overridden
            else f"{overridden[name]} on {name} by an override, not {number}"
            for name, number in numbers.items()
        ]
        role = "" if part.role == "pod" else f" {part.role.partition('/')[2]}"
        said.append(f"{part.object}{role}: {few(each, most=10)}")
    return said


def _taken(decision: Decision) -> list[str]:
    """Why each new cluster was taken, clusters with the same reason together."""
    by_text: dict[str, list[str]] = {}
    for name, finding in sorted(decision.reasons.items()):
        by_text.setdefault(finding_text(finding), []).append(name)
    if len(by_text) == 1 and decision.action is Action.PLACE:
        return list(by_text)
    return [f"{few(names)}: {text}" for text, names in by_text.items()]


def movement(decision: Decision) -> str:
    """What happens, to be read after the group's name: `moves from a to b`."""
    gone, come = sorted(set(decision.before) - set(decision.after)), sorted(set(decision.after) - set(decision.before))
    kept = sorted(set(decision.before) & set(decision.after))
    if decision.phase is not None:
        return _step(decision)
    match decision.action:
        case Action.PLACE:
            return f"goes to {few(come)}{f' and leaves {few(gone)}' if gone else ''}"
        case Action.RELOCATE:
            return f"moves from {few(gone)} to {few(come)}"
        case Action.EXTEND if not come:
            return f"grows on {few(kept)}"
        case Action.EXTEND:
            return f"extends from {few(kept)} to {few(come)}"
        case Action.REMOVE if gone:
            return f"leaves {few(gone)}"
        case Action.REMOVE:
            return "is forgotten"
        case Action.PREEMPT:
            return f"leaves {few(gone)} and waits"
        case Action.UPDATE:
            return f"changes on {few(kept)}"
        case Action.HOLD:
            return f"is held on {few(kept)}" if kept else "is held and not placed"
        case Action.KEEP if kept:
            return f"stays on {few(kept)}"
    return "is not placed"


def _step(decision: Decision) -> str:
    """What a pass does of a relocation that takes several."""
    move = decision.move or decision.moving
    sources = move.sources if move is not None else tuple(sorted(set(decision.before) - set(decision.after)))
    targets = tuple(sorted(set(decision.after) - set(sources))) if move is None else move.targets
    gone, come = few(sources), few(targets)
    match decision.phase:
        case Phase.ADD:
            return f"comes to {come} before it leaves {gone}"
        case Phase.REMOVE:
            return f"leaves {gone}, now that it runs on {come}"
        case Phase.ABORT:
            return f"leaves {come}, where it did not become ready, and stays on {gone}"
        case Phase.LEAVE:
            return f"leaves {gone} before it comes to {come}"
    return f"comes to {few(sorted(set(decision.files_after) - set(decision.files_before)))}, now that it is gone from {gone}"


def sentence(decision: Decision, view: PlanView) -> str:
    """
    What happens to a group and why, on one safe line to be read after the group's name; it starts in lower case and
    has no full stop. The same with and without candidates.
    """
    said = movement(decision)
    because = "" if decision.action is Action.KEEP and decision.finding.code is Reason.KEPT else why(decision, view)
    return printable(f"{said}: {because}" if because else said, LONGEST_SENTENCE)


def refused_approvals(decisions: Iterable[Decision], snapshot: Snapshot) -> Iterator[Problem]:
    """The Approvals that send a group to a cluster which does not take it, with why not."""
    for decision in decisions:
        for name, finding in decision.refused.items():
            text = finding_text(finding, snapshot.source.own.clusters.get(name))
            record = snapshot.records.get(decision.group)
            used = record.approvals or () if record is not None else ()
            asked = (
                consent_to(snapshot.source.own.approvals, decision.group, action, snapshot.now, carried_out=used)
                for action in ("Move", "Return")
            )
            sends = [item for item in asked if item is not None and item.approval.spec.to in (None, name)]
            for item in [i for i in sends if i.approval.spec.to or i.approval.spec.action == "Return"][:1]:
                message = f"{decision.group} cannot go to {name}: {text}"
                hint = "it stays where it is; name another cluster, or take the Approval back"
                path = ("spec", "to") if item.approval.spec.to else ("spec", "groups")
                yield item.document.problem("ApprovalImpossible", printable(message, LONGEST_SENTENCE), hint, path=path)


def verdict_text(candidate: Candidate, decision: Decision, view: PlanView) -> str:
    """Why a cluster is what it is in a decision, with the place of the policy or cluster that says so."""
    finding, cluster = candidate.finding, view.clusters.get(candidate.cluster)
    text = finding_text(finding, cluster)
    if finding.code in _FROM_POLICY:
        return with_place(text, place(view, "PlacementPolicy", decision.policy))
    if finding.code in _FROM_CLUSTER:
        return with_place(text, place(view, "Cluster", candidate.cluster))
    policy = view.policy(decision)
    if finding.code in ROOM and finding.wanted and policy and cluster and cluster.spec.autoscaler:
        if policy.spec.placement.scale_up == "Never":
            return f"{text}; its policy counts on no added nodes"
        text = finding_text(replace(finding, limits=()), cluster)
        return "; ".join([f"{text}, counting all nodes that can be added", *_limits(finding)])
    return text


def with_place(text: str, where: str) -> str:
    return f"{text} ({where})" if where else text


def place(view: PlanView, kind: str, name: str) -> str:
    """Where an object of ours stands in the source, `file:line`; '' if it does not."""
    location = view.snapshot.source.own.places.get(f"{kind}/{name}")
    return f"{location.file}:{location.line}" if location else ""


def cluster_count(decision: Decision) -> str:
    """`0 of 3 clusters fit`, for a group that found no cluster; '' without candidates."""
    others = [c for c in decision.candidates if c.verdict is not Verdict.CHOSEN]
    if not others:
        return ""
    feasible = sum(c.verdict is Verdict.FEASIBLE for c in others)
    other = "other " if len(others) < len(decision.candidates) else ""
    return f"{feasible} of {len(others)} {other}cluster{'s' if len(others) != 1 else ''} fit"


def shortlist(
    candidates: Sequence[Candidate], most: int = ALL_CANDIDATES, nearest: int = NEAREST_CANDIDATES
) -> tuple[Candidate, ...]:
    """All candidates up to `most`; beyond, the chosen and the `nearest` others. Sorted by cluster."""
    if len(candidates) <= most:
        return tuple(candidates)
    chosen = [c for c in candidates if c.verdict is Verdict.CHOSEN]
    others = sorted((c for c in candidates if c.verdict is not Verdict.CHOSEN), key=_distance)
    return tuple(sorted([*chosen, *others[:nearest]], key=lambda c: c.cluster))


_SEVERITY = {reason: rank for rank, reason in enumerate(Reason)}


def _distance(candidate: Candidate) -> tuple[int, float, int, str]:
    """How far a cluster was from taking the group: feasible, then those whose nodes were asked, by pods missing."""
    finding = candidate.finding
    if candidate.verdict is Verdict.FEASIBLE:
        return 0, 0.0, _SEVERITY[finding.code], candidate.cluster
    if finding.wanted:
        missing = (finding.wanted - finding.placed) / finding.wanted
        return 1, missing, _SEVERITY[finding.code], candidate.cluster
    return 2, 0.0, _SEVERITY[finding.code], candidate.cluster


def verdict_counts(candidates: Iterable[Candidate]) -> dict[str, int]:
    """How many clusters got which verdict, sorted: `Chosen`, `Feasible`, `Rejected/<code>`."""
    counted = Counter(
        f"{c.verdict}/{c.finding.code}" if c.verdict is Verdict.REJECTED else str(c.verdict) for c in candidates
    )
    return dict(sorted(counted.items()))


# the plan as a whole

_COUNTED = (
    (Action.PLACE, "placed"),
    (Action.RELOCATE, "relocated"),
    (Action.EXTEND, "extended"),
    (Action.UPDATE, "updated"),
    (Action.REMOVE, "removed"),
    (Action.PREEMPT, "preempted"),
    (Action.HOLD, "held"),
    (Action.WAIT, "waiting"),
    (Action.KEEP, "kept"),
)
_RARE = (Action.EXTEND, Action.PREEMPT)


def summary(plan: Plan, *, zeros: bool = True) -> str:
    """`2 placed, 1 relocated, 0 updated, 0 removed, 0 held, 1 waiting, 5 kept`."""
    counts = plan.counts()
    said = [f"{counts[a]} {word}" for a, word in _COUNTED if counts[a] or (zeros and a not in _RARE)]
    return ", ".join(said) or "no groups"


def is_worth_telling(decision: Decision) -> bool:
    """Whether something becomes of a group, or goes on with it, that a plan should show."""
    return decision.action is not Action.KEEP or decision.finding.code is Reason.MOVING


def changes_nothing(view: PlanView) -> bool:
    """Whether all groups stay as they are, no cluster wakes or goes to sleep, and no file changes."""
    if any(cluster_change(outcome) for outcome in view.sleepers):
        return False
    return all(d.action is Action.KEEP for d in view.plan.decisions) and not any(view.changed_files.values())


def cluster_change(outcome: ClusterOutcome) -> str:
    """What happens to a cluster that may sleep, to be read after its name; '' where it stays as it is."""
    state = outcome.after
    if outcome.wakes:
        groups = few([printable(group) for group in outcome.groups])
        made = f"is made after {state.clone_of}" if outcome.before is None and state.clone_of else "wakes"
        return f"{made} for {groups}" if groups else f"{made}: nobody has seen it yet"
    if outcome.sleeps:
        idle = outcome.before.idle_since if outcome.before is not None else None
        if state.retry_at is not None:
            return f"did not come, and is left alone until {rfc3339(state.retry_at)}"
        return f"goes to sleep: idle since {rfc3339(idle)}" if idle is not None else "goes to sleep: it is idle"
    return "counts as awake" if outcome.came else ""


def file_count(view: PlanView) -> str:
    """`7 files change (dynamic-cluster 5, static-cluster 2)`, or '' where none does."""
    counts = {cluster: len(paths) for cluster, paths in sorted(view.changed_files.items()) if paths}
    total = sum(counts.values())
    said = few([f"{printable(cluster)} {count}" for cluster, count in counts.items()], most=10)
    return f"{total} file{'s change' if total != 1 else ' changes'} ({said})" if counts else ""


def computed_from(view: PlanView) -> list[str]:
    """What a plan was computed from, on one line and, where there are clusters, another about their snapshots."""
    source = f"source {view.source_commit[:10]}" if view.source_commit else "the work tree as it lies"
    deployment = f"deployment {view.deployment_commit[:10]}" if view.deployment_commit else "nothing placed yet"
    lines = [f"Computed from {source}; {deployment}; at {rfc3339(view.snapshot.now)} by gitplacer {view.version}"]
    clusters = [c for c in view.clusters.values() if c.spec.role == "Workload"]
    return [*lines, _snapshots(view, clusters)] if clusters else lines


def _snapshots(view: PlanView, clusters: Iterable[Cluster]) -> str:
    fresh, stale, missing, broken, asleep = [], [], [], [], []
    for cluster in clusters:
        snapshot = view.snapshot.capacity.get(cluster.name)
        if not view.snapshot.is_awake(cluster.name):
            asleep.append(cluster.name)
        elif cluster.name in view.snapshot.broken_capacity:
            broken.append(cluster.name)
        elif snapshot is None:
            missing.append(cluster.name)
        elif is_stale(cluster, snapshot, view.snapshot.now):
            stale.append(f"{cluster.name} ({rfc3339(snapshot.observed_at)})")
        else:
            fresh.append(snapshot.observed_at)
    said = []
    if fresh:
        times = sorted({rfc3339(min(fresh)), rfc3339(max(fresh))})
        said.append(f"{len(fresh)} current, taken {' to '.join(times)}")
    said += [f"{word}: {few(names, most=10)}" for word, names in
             (("stale", stale), ("missing", missing), ("unusable", broken), ("asleep or waking", asleep)) if names]  # fmt: skip
    return f"Capacity snapshots: {'; '.join(said)}"


def rfc3339(time: datetime) -> str:
    """A time in UTC, to the second."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def problem_lines(problem: Problem) -> list[str]:
    """`file:line:col: message`, and the hint below it."""
    where = printable(str(problem.location), LONGEST_PATH)
    warning = "warning: " if problem.severity is Severity.WARNING else ""
    hint = [f"  hint: {printable(problem.hint, LONGEST_SENTENCE)}"] if problem.hint else []
    return [f"{where}: {warning}{printable(problem.message, LONGEST_SENTENCE)}", *hint]
