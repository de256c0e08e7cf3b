"""
Findings as clauses: why a cluster takes a group or does not, why a group stays or leaves.

What needs no numbers is a table of words by code; what has numbers or names behind it has a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gitplacer.explain.words import amount_text, amounts_text, with_place
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.decision import (
    Finding,
    NewNodes,
    QueueAsks,
    Reason,
    ScaleUpLimit,
    Score,
    Spending,
    Tally,
    UpdateAsks,
)
from gitplacer.model.labels import NAME_KEY
from gitplacer.plaintext import counted, few

_SAID: Mapping[Reason, tuple[str, str]] = {
    # reason: (without a subject, with one)
    Reason.FITS: ("fits", "fits"),
    Reason.ROOM: ("has room for all its pods; not tried in every order",) * 2,
    Reason.PLATFORM: ("platform objects go where their policy says", "platform objects go where their policy says"),
    Reason.KUEUE_ADMITS: (
        "Kueue starts it, and no room is promised",
        "Kueue starts it on one of {}, where it has quota; no room is promised",
    ),
    Reason.NOMINATED: ("Kueue may start it there",) * 2,
    Reason.ADOPTED: ("ran there before gitplacer came",) * 2,
    Reason.KEPT: ("is there already", "is on {} already"),
    Reason.DIVIDED: ("its replicas are divided anew",) * 2,
    Reason.UPDATED: ("its files change", "its files change"),
    Reason.OUTGROWN: (
        "it stays, but not all its pods find room there",
        "it stays, but not all its pods find room there: {}",
    ),
    Reason.UPGRADE_FITS: ("old and new pods fit together where it runs",) * 2,
    Reason.UPGRADE_BY_SCALE_UP: ("old and new pods fit together with machines that can be added",) * 2,
    Reason.UPGRADE_TIGHT: ("old and new pods fit together, but not in every order",) * 2,
    Reason.UPGRADE_NOT_JUDGED: ("no current snapshot tells whether old and new pods fit together",) * 2,
    Reason.UPGRADE_DOES_NOT_FIT: ("old and new pods do not fit together where it runs",) * 2,
    Reason.UPDATE_HELD: ("there is no room for its update where it runs, and its policy holds it back",) * 2,
    Reason.CLUSTER_AWAKE: ("its cluster is awake", "{} is awake"),
    Reason.FINISHED: ("its jobs have run to their end", "its jobs have run to their end ({})"),
    Reason.SOURCE_REMOVED: ("it is no longer in the source", "its objects belong to {} now"),
    Reason.COPY_NOT_WANTED: ("fewer copies are wanted", "the copy on {} is not wanted any more"),
    Reason.CLUSTER_DRAINING: ("is draining", "{} is draining"),
    Reason.PREFERRED_AVAILABLE: (
        "a cluster that its policy likes better has room",
        "a cluster that its policy likes better than {} has room",
    ),
    Reason.MOVE_APPROVED: ("an Approval sends it", "Approval {} sends it"),
    Reason.PREEMPTED_BY: ("it makes room for a group of higher priority", "it makes room for {}, of higher priority"),
    Reason.MANAGEMENT_CLUSTER: ("is a management cluster and takes no workloads",) * 2,
    Reason.NOT_THE_TENANTS: ("its tenant may not use it", "its tenant may not use it: {}"),
    Reason.NOT_IN_ORDER: ("the policy's order does not name it",) * 2,
    Reason.NO_SHARE: ("the policy gives it no share", "all replicas are on {}"),
    Reason.LEFT_TO_KUEUE: (
        "it is not left to Kueue any more",
        "it is left to Kueue on {}",
    ),
    Reason.NOT_NOMINATED: ("it is not nominated", "it is not nominated: {}"),
    Reason.NO_NOMINEE: ("there is no cluster on which Kueue could start it",) * 2,
    Reason.NO_DOMAIN: (
        "it lacks a label over whose values copies are spread",
        "it has no label {}, over whose values copies are spread",
    ),
    Reason.COPIES_SPREAD: (
        "has room, and too few clusters in other domains have",
        "has room, and was passed over to spread the copies; copies by {}",
    ),
    Reason.OTHER_CLUSTER_WISHED: ("an annotation asks for another cluster", "an annotation asks for {}"),
    Reason.UNTOLERATED_CLUSTER_TAINT: ("its taint is not tolerated", "the policy does not tolerate its taint {}"),
    Reason.CLUSTER_CORDONED: ("is cordoned and takes nothing new",) * 2,
    Reason.API_NOT_SERVED: ("does not serve an API that it needs", "does not serve {}"),
    Reason.FEATURE_NOT_SERVED: ("cannot do what it asks for", "{}"),
    Reason.QUEUE_MISSING: ("Kueue there has not the queue that it names", "Kueue there has no {}"),
    Reason.QUEUE_STOPPED: ("its queue there lets nothing in now", "{} lets nothing in now"),
    Reason.QUEUE_QUOTA: ("its queue there has too little quota left",) * 2,
    Reason.LEFTOVER_THERE: ("was lost, and is not seen to be rid of what ran there then",) * 2,
    Reason.LEFT_BEFORE: ("the group left it within the last day",) * 2,
    Reason.NO_SNAPSHOT: ("has no capacity snapshot",) * 2,
    Reason.BROKEN_SNAPSHOT: ("its capacity snapshot cannot be used",) * 2,
    Reason.DOUBTED_SNAPSHOT: (
        "its newest capacity snapshot is not believed",
        "its newest capacity snapshot is not believed; the last believed one is of {}",
    ),
    Reason.NODES_NOT_KNOWN: ("its nodes are not known, and totals promise no gang its room",) * 2,
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
    Reason.RUNTIME_CLASS_CONFLICT: ("its RuntimeClass contradicts its pods",) * 2,
    Reason.MISSING_PRIORITY_CLASS: ("its PriorityClass is not there",) * 2,
    Reason.PRIORITY_CLASS_CONFLICT: ("its PriorityClass contradicts its pods",) * 2,
    Reason.LIMIT_RANGE: ("a LimitRange refuses its pods", "{}"),
    Reason.QUOTA_EXCEEDED: ("a ResourceQuota refuses its pods", "{}"),
    Reason.NODE_NOMINATED: ("fits only where room is held for another pod",) * 2,
    Reason.HOST_PORT_TAKEN: ("a host port is taken",) * 2,
    Reason.TOPOLOGY_SPREAD: ("its topology spread constraints keep it out", "its topology spread over {} keeps it out"),
    Reason.POD_AFFINITY: ("pod affinity or anti-affinity keeps it out",) * 2,
    Reason.INSUFFICIENT_CAPACITY: ("there is not enough room now",) * 2,
    Reason.NODE_GROUP_EXHAUSTED: ("the machines that it needs cannot be had now",) * 2,
    Reason.EXCEEDS_CLUSTER: ("it is more than the cluster holds when empty",) * 2,
    Reason.SEARCH_BOUND: (
        "the search for a placement ran out of steps",
        "the search for a placement ran out of steps: {}",
    ),
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
    Reason.TENANT_QUOTA: ("it asks for more than its tenant's quota has left", "{}"),
    Reason.RESERVED_FOR: (
        "the room that it needs is kept for a group that is first",
        "the room that it needs is kept for {}, which is first",
    ),
    Reason.CLUSTER_WAKING: (
        "its cluster is being woken, and its files are written when it is there",
        "{} is being woken, and its files are written when it is there",
    ),
    Reason.COPIES_WAIT: ("further copies wait for room",) * 2,
    Reason.SPREAD_WAITS: (
        "further copies wait for room where they may go without breaking the spread",
        "further copies wait for room where they may go without breaking the spread; copies by {}",
    ),
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
    Reason.JOINS_FINISHED: (
        "its jobs have run to their end, and something joined it since then",
        "its jobs have run to their end, and {} would never run with them; it needs a group of its own",
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
    Reason.KUEUE_ADMITS,
    Reason.COPY_NOT_WANTED,
    Reason.NO_SHARE,
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

FROM_POLICY = (
    Reason.CLUSTER_NOT_SELECTED,
    Reason.NOT_IN_ORDER,
    Reason.NO_SHARE,
    Reason.NO_DOMAIN,
    Reason.COPIES_SPREAD,
    Reason.UNTOLERATED_CLUSTER_TAINT,
    Reason.BUDGET_EXCEEDED,
)

FROM_TENANT = (Reason.NOT_THE_TENANTS, Reason.TENANT_QUOTA)

FROM_CLUSTER = (Reason.MANAGEMENT_CLUSTER, Reason.CLUSTER_CORDONED, Reason.CLUSTER_DRAINING, Reason.CLUSTER_LOST)


def finding_text(finding: Finding, cluster: Cluster | None = None) -> str:
    """
    A finding as a clause without a full stop. With the cluster it is about, it also says what was found there.

    Not yet safe to print: subjects are as the manifests have them.
    """
    said = _finding_text(finding, cluster)
    return said if finding.score is None else f"{said}; {_score_text(finding.score)}"


def _score_text(score: Score) -> str:
    """`scores 130: 3 × carbon 40, 1 × latency 10`."""
    return f"scores {score.total}: {', '.join(f'{one.weight} × {one.title} {one.value}' for one in score.terms)}"


def _finding_text(finding: Finding, cluster: Cluster | None) -> str:
    code, subject = finding.code, finding.subject
    if code is Reason.FITS_BY_SCALE_UP:
        return _scale_up(finding.new_nodes)
    if code is Reason.TIGHT_FIT:
        return _tight(finding)
    if code is Reason.PODS_MAY_WAIT:
        return "; ".join(["is placed whatever the room, and pods may wait", *_shortage(finding), *limits_text(finding)])
    if finding.update is not None:
        return _edit(finding, finding.update)
    if finding.spending is not None:
        return _beyond_budget(finding.spending)
    if finding.queue is not None:
        beyond = _beyond_queue(finding.queue)
        return _SAID[code][1].format(beyond) if code is Reason.OUTGROWN else beyond
    if code is Reason.NOT_ELIGIBLE:
        return _not_eligible(finding, cluster)
    if code is Reason.CLUSTER_NOT_SELECTED:
        return _not_selected(finding.subject, cluster)
    if code is Reason.NOT_THE_TENANTS:
        subject = subject.replace(NAME_KEY, "name", 1)  # as people write it: clusters: {names: […]}
    if code in _STAYS:
        return stays_text(finding, "it")
    if code is Reason.NO_MESH_FITS and finding.wanted:
        return f"{_SAID[code][0]}: together they take {finding.placed} of {finding.wanted} {finding.role}"
    if code is Reason.SHARES_WAIT:
        waiting = finding.wanted - finding.placed
        return f"{waiting} of {finding.wanted} replicas wait for room{f': {subject}' if subject else ''}"
    if code in _TOLD:
        return _TOLD[code](finding)
    if finding.wanted or finding.nodes:
        return "; ".join([*_shortage(finding), *_FURTHER.get(code, ()), *limits_text(finding)])
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
            other = "other pods" if update.refused or finding.queue is not None else "larger pods"
            asks = "makes its objects take more" if update.objects else f"asks for {f'{pods} more' if pods else other}"
            said = f"this edit {asks} on {update.cluster}"
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
    short = [update.refused] if update.refused else [*_shortage(finding), *limits_text(finding)]
    short += [_beyond_queue(finding.queue, more=True)] if finding.queue is not None else []
    short = short or ["there is in some orders only, or at the cost of others"]
    too_little = f"{said}; there is no room for {'both' if both else 'that'}: {'; '.join(short)}"
    if finding.code is Reason.UPDATE_HELD:
        return f"{too_little}; its policy holds the edit back until there is"
    left = _LEFT_TO_WAIT.get(update.stays, f"it stays for now, and {_UNTIL_THERE_IS}") if update.stays else ""
    if update.objects and update.stays == Reason.NEVER_RELOCATED:
        left = f"nothing moves for that, so {_UNTIL_THERE_IS}"
    stopped = "Kueue may stop all of it until then" if finding.queue is not None else ""
    return "; ".join(part for part in (too_little, left, stopped) if part)


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


def is_of_staying(finding: Finding) -> bool:
    """Whether a finding is why a group stays though it should leave."""
    return finding.code in _STAYS


def stays_text(finding: Finding, who: str) -> str:
    code, _, until = finding.subject.partition(" ")
    trigger = _TRIGGERS.get(code, "it should leave its cluster")
    return _STAYS[finding.code].format(trigger=trigger, who=who, until=f" until {until}" if until else "")


def _lost(finding: Finding) -> str:
    """The planner's subject is the cluster, or `<cluster> silent since <time>`, without the cluster where that is the one asked."""
    name, _, since = finding.subject.partition("silent since ")
    name = name.rstrip()
    if since and not name:
        return f"is silent since {since}, and counts as lost"
    if since:
        return f"nothing was heard of {name} since {since}, and what it has may run there still"
    return f"{name} is lost, or gone from the fleet" if name else "is lost"


def _pending(finding: Finding) -> str:
    if not finding.wanted:
        return "pods of it have been waiting for a node for too long"
    pods = f"{finding.wanted} pod{'s' if finding.wanted != 1 else ''}"
    return f"{pods} of it ({finding.role}) have been waiting for a node on {finding.subject} for too long"


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
    """The planner's subject is `<order>; <scoring>`, or `coarse`; a record keeps the code alone."""
    order, _, scoring = finding.subject.partition("; ")
    if finding.subject == "coarse":
        return "all its pods can be placed by what a hub says is free, which knows no taints, labels and pods of nodes"
    if not order:
        return "all its pods can be placed, but not in every order"
    who = finding.role if finding.role.partition(" ")[0] == "pod" else f"pod of {finding.role}"
    return f"all its pods can be placed, but not in every order: {order}, with {scoring} scoring, a {who} finds no node"


def _scale_up(new_nodes: Sequence[NewNodes]) -> str:
    if not new_nodes:
        return "fits on nodes that are being added for other groups"
    if not any(n.count for n in new_nodes):
        return "fits with machines that can be added"  # which and how many is not for this reader
    added = few([f"{n.count} × {n.type}{' (spot)' if n.spot else ''}" for n in new_nodes], most=10)
    prices = [n.count * n.price_per_hour for n in new_nodes if n.price_per_hour is not None]
    price = f" ({sum(prices):.2f} an hour)" if len(prices) == len(new_nodes) else ""
    return f"fits with {added} added{price}"


def limits_text(finding: Finding) -> list[str]:
    """What kept an autoscaler from adding what is short."""
    return [_LIMITS[limit.kind](limit) for limit in finding.limits]


def _exhausted(limit: ScaleUpLimit) -> str:
    return f"no more {limit.subject} now: {limit.code}{f' until {limit.until}' if limit.until else ''}"


def _removals(finding: Finding) -> str:
    within = f" within {finding.subject}" if finding.subject else ""
    going = (
        f"{counted(finding.wanted, 'group')} {'is' if finding.wanted == 1 else 'are'} gone from the source"
        if finding.wanted
        else "too many groups are gone from the source"
    )
    return f"{going}{within}, and the Fleet's guards let {finding.placed or 'none'} go without an Approval"


def _too_few_domains(finding: Finding) -> str:
    """The planner's subject is the label with how many clusters of each domain have room: `region: eu 0, us 2`."""
    key, _, counts = finding.subject.partition(": ")
    if finding.placed >= finding.wanted:
        there = f"; clusters with room by {finding.subject}" if counts else ""
        return f"no clusters that have room keep all that its policy says of the spread of copies{there}"
    return f"its copies need {finding.wanted} domains of {key}, and {finding.placed} can take one; clusters with room: {counts}"


_TOLD: Mapping[Reason, Callable[[Finding], str]] = {
    Reason.CLUSTER_LOST: _lost,
    Reason.PENDING_PODS: _pending,
    Reason.MOVING: _moving,
    Reason.TOO_MANY_REMOVALS: _removals,
    Reason.TOO_FEW_DOMAINS: _too_few_domains,
}
"""What is told of relocations with the numbers and names behind it."""

_LIMITS: Mapping[str, Callable[[ScaleUpLimit], str]] = {
    "Exhausted": _exhausted,
    "Max": lambda limit: f"there may be no more than {limit.most} {limit.subject}",
    "GroupMax": lambda limit: f"node group {limit.subject} may have no more than {counted(limit.most, 'node')}",
    "NodePool": lambda limit: (
        f"node pool {limit.subject} may have no more than {amount_text(limit.resource, limit.most)} {limit.resource}"
    ),
    "MaxNodes": lambda limit: f"the cluster may have no more than {counted(limit.most, 'node')}",
}


def _beyond_budget(spending: Spending) -> str:
    payer = f"tenant {spending.tenant}" if spending.tenant else "its policy"
    used = f"{spending.spent:.2f} of {payer}'s budget of {spending.budget:.2f} an hour are in use"
    if spending.more is None:
        return f"needs machines whose price is not known, which no budget can pay for; {used}"
    return f"needs machines for {spending.more:.2f} an hour more; {used}"


def _beyond_queue(queue: QueueAsks, *, more: bool = False) -> str:
    asks, resource = f"{amount_text(queue.resource, queue.asks)}{' more' if more else ''}", queue.resource
    if queue.left is None:
        return f"asks for {asks} {resource}, for which {queue.kind} {queue.name} has no quota"
    left = f"{queue.kind} {queue.name} has {amount_text(resource, queue.left)} left"
    promised = f", {amount_text(resource, queue.promised)} of it promised to others" if queue.promised else ""
    return f"asks for {asks} {resource}, and {left}{promised}"


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
    if requirement.startswith(NAME_KEY):
        return f"the policy asks for name{requirement.removeprefix(NAME_KEY)}"
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
    if finding.wanted and not finding.nodes and not finding.placed:
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
