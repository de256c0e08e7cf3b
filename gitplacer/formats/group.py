"""
`gitplacer explain GROUP`: everything there is to say about one group.

Where it is or goes and why, which policy says so and why not another, its members and pods, every cluster's verdict with the count
of nodes that refused, or with each of these nodes, and for a group that waits what would have to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gitplacer.explain import (
    LONGEST_SENTENCE,
    ROOM,
    PlanView,
    amounts_text,
    cluster_count,
    computed_from,
    condition_text,
    found_how,
    governance,
    lost_text,
    nothing_found,
    place,
    problem_lines,
    problems_of,
    release_text,
    rfc3339,
    sentence,
    shares,
    tally_text,
    verdict_text,
    way_text,
    with_place,
)
from gitplacer.explain.governance import Nearly
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Action, Decision, Tally
from gitplacer.model.remedy import Remedy
from gitplacer.model.workload import Gang, PodSet, total_requests
from gitplacer.placement.closeup import Closeup
from gitplacer.plaintext import LONGEST_PATH, aligned, few, printable
from gitplacer.policies.selection import POLICY_ANNOTATION


def explain_group(
    view: PlanView,
    group_id: str,
    *,
    closeups: Mapping[str, Closeup] = MappingProxyType({}),
    remedy: Remedy | None = None,
) -> str:
    """
    All there is to say about one group: where it is or goes and why, its policy, members and pods, and every cluster's
    verdict; node by node for clusters that have a closeup. `remedy` is what would place it. Raises NoSuchGroup.
    """
    decision = view.decision(group_id)
    count = cluster_count(decision) if decision.action is Action.WAIT else ""
    lines = [f"{group_id} {sentence(decision, view)}", *([f"  {count}"] if count else [])]
    facts = [*_where(decision, view), *_governed(decision, view)]
    lines += ["", *aligned(facts, "")]
    members = _member_rows(decision, view)
    if members:
        lines += ["", "Members", *aligned(members)]
    cluster = view.main_cluster(decision)
    gang = view.gang(decision, cluster)
    if gang:
        lines += ["", _pods_title(decision, view, cluster), *aligned(_pod_rows(gang))]
    if decision.candidates:
        lines += ["", "Clusters", *_verdict_lines(decision, view, closeups)]
    if remedy is not None:
        lines += ["", *_remedy_lines(remedy)]
    elif release := release_text(decision, view):
        lines += ["", "What would let it go on", f"  {release}"]
    problems = problems_of(decision, view)
    if problems:
        lines += ["", "Problems", *(f"  {line}" for p in problems for line in problem_lines(p))]
    lines += ["", *computed_from(view)]
    return "\n".join(printable(line, 5000) for line in lines) + "\n"


def _pods_title(decision: Decision, view: PlanView, cluster: Cluster | None) -> str:
    """What is counted: as many as the policy wants room for, on the cluster if it adds to them."""
    policy, said = view.policy(decision), []
    if policy is not None and policy.spec.placement.reserve != "Desired":
        said.append(f"as many as the {policy.spec.placement.reserve.lower()} that the policy reserves")
    if policy is not None and policy.spec.update.reserve_peak:
        said.append("with those of an update")
    counts = decision.counts_on(cluster.name) if cluster is not None else None
    if cluster is not None and (counts or view.snapshot.variants.any_on(cluster)):
        said.append(f"as they are on {cluster.name}")
    return f"Pods, {', '.join(said)}" if said else "Pods"


_STANDS = {"Placed": "Is on", "Adding": "Comes to", "Removing": "Leaves", "Waking": "Waits for"}
_HAS = {"Copy": "", "Home": " (home)", "Remote": " (further workers)"}
"""What a cluster has of a group that spans several."""


def _where(decision: Decision, view: PlanView) -> list[tuple[str, str]]:
    record = view.record(decision)
    entries = record.clusters if record else ()
    rows = [(_STANDS[entry.state], f"{entry.name}{_HAS[entry.role]} since {rfc3339(entry.since)}") for entry in entries]
    if record and entries:
        last = f", moved {rfc3339(record.moved_at)}" if record.moved_at else ""
        rows.append(("Because of", printable(record.reason) + last))
    for moved in (record.moves or ()) if record else ():
        back = ", and was taken back" if moved.aborted else ""
        where = f"from {few(moved.source)} to {few(moved.to)}" if moved.to else f"away from {few(moved.source)}"
        rows.append(("Moved", printable(f"{rfc3339(moved.at)} {where}: {moved.reason}{back}", LONGEST_SENTENCE)))
    if record and record.finished:
        rows.append(("Has ended", f"{record.finished.phase}, seen {rfc3339(record.finished.at)}"))
    if record and record.hold_until and view.snapshot.now < record.hold_until:
        rows.append(("Stays until", rfc3339(record.hold_until)))
    if decision.dispatch is not None and decision.dispatch.nominated:
        rows.append(("Nominated", few(decision.dispatch.nominated, most=20)))
    new = sorted(set(decision.after) - {entry.name for entry in entries})
    rows += [("Goes to", f"{name}{_HAS[decision.role_on(name)]}") for name in new]
    rows += [("Divided", printable(text, LONGEST_SENTENCE)) for text in shares(decision, view)]
    if decision.claim:
        since = f" since {rfc3339(record.claim.since)}" if record and record.claim else ""
        rows.append(("Room is kept", f"on {decision.claim.cluster}{since}"))
    if decision.waiting_since:
        rows.append(("Waits since", rfc3339(decision.waiting_since)))
    rows += [("Blocked by", printable(name)) for name in decision.blocked_by]
    return rows


def _governed(decision: Decision, view: PlanView) -> list[tuple[str, str]]:
    """The policy that governs, and those that match as well; where none governs, those that nearly match."""
    found = governance(decision, view)
    if found.policy is None:
        where = place(view, "PlacementPolicy", decision.policy)
        named = with_place(printable(decision.policy), where)
        rows = [("Policy", f"none; it was placed under {named}" if found.was else named or "none")]
        return rows + [("Nearly matches", _nearly_text(nearly, view)) for nearly in found.nearly]
    chosen = f", chosen by {POLICY_ANNOTATION}" if found.is_chosen else ""
    rows = [("Policy", _policy_text(found.policy, view) + chosen)]
    return rows + [
        ("Also matches", f"{_policy_text(other, view)}: {lost_text(other, lost, found.policy)}")
        for other, lost in found.others
    ]


def _policy_text(policy: PlacementPolicy, view: PlanView) -> str:
    where = place(view, "PlacementPolicy", policy.name)
    return f"{with_place(policy.name, where)}, precedence {policy.spec.precedence}"


def _nearly_text(nearly: Nearly, view: PlanView) -> str:
    where = with_place(nearly.policy.name, place(view, "PlacementPolicy", nearly.policy.name))
    return printable(f"{where}: {few([condition_text(c) for c in nearly.conditions], most=6)}", LONGEST_SENTENCE)


def _member_rows(decision: Decision, view: PlanView) -> list[tuple[str, ...]]:
    group = view.group(decision)
    own = len(group.members) if group else None
    rows: list[tuple[str, ...]] = []
    for index, (api_version, kind, namespace, name, path) in enumerate(view.members(decision)):
        shared = " (shared)" if own is not None and index >= own else ""
        identity = f"{namespace}/{name}" if namespace else name
        rows.append((printable(f"{api_version} {kind}"), printable(identity), printable(path, LONGEST_PATH) + shared))
    return rows


def _pod_rows(gang: Gang) -> list[tuple[str, str]]:
    def row(pods: PodSet) -> tuple[str, str]:
        each = " each" if pods.count > 1 or pods.per_node else ""
        where = " on each node" if pods.per_node else ""
        amounts = amounts_text(pods.shape.requests) or "no requests"
        return f"{pods.count} × {printable(pods.role)}{where}", f"{amounts}{each}"

    known = tuple(pods for pods in gang if not pods.per_node)
    total = (f"{sum(pods.count for pods in known)} in all", amounts_text(total_requests(known)) or "no requests")
    if len(known) < len(gang):
        total = (f"{total[0]}, without those", total[1])
    return [
        *(row(pods) for pods in gang),
        *([total] if len(known) > 1 or any(pods.count > 1 for pods in known) else []),
    ]


def _verdict_lines(decision: Decision, view: PlanView, closeups: Mapping[str, Closeup]) -> list[str]:
    """Every cluster's verdict, and for those whose nodes refused, why each node did."""
    rows = [
        (c.cluster, str(c.verdict), str(c.finding.code), printable(verdict_text(c, decision, view), LONGEST_SENTENCE))
        for c in decision.candidates
    ]
    lines = []
    for candidate, line in zip(decision.candidates, aligned(rows), strict=True):
        lines.append(line)
        if candidate.cluster in closeups:
            lines += _node_lines(closeups[candidate.cluster])
        elif len(candidate.finding.tally) > 1 or candidate.finding.code in ROOM:
            lines += [f"      {printable(tally_text(t, candidate.finding.nodes))}" for t in candidate.finding.tally]
    return lines


def _node_lines(closeup: Closeup) -> list[str]:
    """Each sort of node of a cluster: how many, which, why not, and what they lack."""
    each = f", each {amounts_text(closeup.requests)}" if closeup.requests else ""
    head = f"      {closeup.placed} of {closeup.wanted} {printable(closeup.role)} fit{each}; of the nodes"
    rows = []
    for refusal in closeup.refusals:
        count = f"{refusal.count} node{'s' if refusal.count != 1 else ''}"
        why = tally_text(Tally(refusal.reason, refusal.subject, refusal.count), refusal.count).partition(": ")[2]
        lacks = f": lacks {amounts_text(refusal.lacks)}" if refusal.lacks else ""
        rows.append(
            (count, printable(few(list(refusal.nodes)) or "unnamed"), printable(f"{why}{lacks}", LONGEST_SENTENCE))
        )
    return [head, *aligned(rows, "        ")] if rows else []


def _remedy_lines(remedy: Remedy) -> list[str]:
    """What would place the group, smallest first, and how much that is worth."""
    if not remedy.ways:
        return ["What would place it", f"  {nothing_found(remedy)}"]
    ways = [f"  {'or ' if number else ''}{printable(way_text(way), 2000)}" for number, way in enumerate(remedy.ways)]
    return ["What would place it, smallest change first", *ways, f"  {found_how(remedy)}"]
