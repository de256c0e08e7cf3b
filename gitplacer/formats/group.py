"""
`gitplacer explain GROUP`: everything there is to say about one group.

Where it is or goes and why, which policy says so, its members and pods, and every cluster's verdict with the count of
nodes that refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.explain import (
    LONGEST_SENTENCE,
    ROOM,
    PlanView,
    amounts_text,
    cluster_count,
    computed_from,
    place,
    problem_lines,
    rfc3339,
    sentence,
    shares,
    tally_text,
    verdict_text,
    with_place,
)
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Action, Decision
from gitplacer.model.workload import Gang, PodSet, total_requests
from gitplacer.plaintext import LONGEST_PATH, aligned, printable
from gitplacer.policies.selection import POLICY_ANNOTATION, selects


def explain_group(view: PlanView, group_id: str) -> str:
    """
    All there is to say about one group: where it is or goes and why, its policy, members and pods, and every cluster's
    verdict. Raises NoSuchGroup.
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
        lines += ["", "Clusters", *_verdict_lines(decision, view)]
    group = view.group(decision)
    if group and group.problems:
        lines += ["", "Problems", *(f"  {line}" for p in group.problems for line in problem_lines(p))]
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


_STANDS = {"Placed": "Is on", "Adding": "Comes to", "Removing": "Leaves"}


def _where(decision: Decision, view: PlanView) -> list[tuple[str, str]]:
    record = view.record(decision)
    entries = record.clusters if record else ()
    rows = [(_STANDS[entry.state], f"{entry.name} since {rfc3339(entry.since)}") for entry in entries]
    if record and entries:
        moved = f", moved {rfc3339(record.moved_at)}" if record.moved_at else ""
        rows.append(("Because of", printable(record.reason) + moved))
    if record and record.finished:
        rows.append(("Has ended", f"{record.finished.phase}, seen {rfc3339(record.finished.at)}"))
    if record and record.hold_until and view.snapshot.now < record.hold_until:
        rows.append(("Stays until", rfc3339(record.hold_until)))
    rows += [("Goes to", name) for name in sorted(set(decision.after) - {entry.name for entry in entries})]
    rows += [("Divided", printable(text, LONGEST_SENTENCE)) for text in shares(decision, view)]
    if decision.claim:
        since = f" since {rfc3339(record.claim.since)}" if record and record.claim else ""
        rows.append(("Room is kept", f"on {decision.claim.cluster}{since}"))
    if decision.waiting_since:
        rows.append(("Waits since", rfc3339(decision.waiting_since)))
    rows += [("Blocked by", printable(name)) for name in decision.blocked_by]
    return rows


def _governed(decision: Decision, view: PlanView) -> list[tuple[str, str]]:
    """The policy that governs, and those that match as well."""
    policy = view.policy(decision)
    if policy is None:
        where = place(view, "PlacementPolicy", decision.policy)
        return [("Policy", with_place(printable(decision.policy), where) or "none")]
    group = view.group(decision)
    chosen = group is not None and any(m.annotations.get(POLICY_ANNOTATION) == policy.name for m in group.members)
    rows = [("Policy", _policy_text(policy, view) + (f", chosen by {POLICY_ANNOTATION}" if chosen else ""))]
    return rows + [("Also matches", _policy_text(other, view)) for other in _also_matching(group, policy, view)]


def _policy_text(policy: PlacementPolicy, view: PlanView) -> str:
    where = place(view, "PlacementPolicy", policy.name)
    return f"{with_place(policy.name, where)}, precedence {policy.spec.precedence}"


def _also_matching(group: Group | None, policy: PlacementPolicy, view: PlanView) -> list[PlacementPolicy]:
    """Policies that select what decides for the group as well, the highest precedence first."""
    source = view.snapshot.source
    written = {o.identity.name: o.labels for o in source.objects if o.is_namespace}

    def labels(name: str) -> Mapping[str, str]:
        return {**written.get(name, {}), "kubernetes.io/metadata.name": name}

    deciding = (group.sized or group.members) if group else ()
    found = [p for p in source.own.policies if p.name != policy.name
             and any(selects(p.spec.select, member, labels) for member in deciding)]  # fmt: skip
    return sorted(found, key=lambda p: (-p.spec.precedence, p.name))


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
        each = " each" if pods.count > 1 else ""
        return f"{pods.count} × {printable(pods.role)}", f"{amounts_text(pods.shape.requests) or 'no requests'}{each}"

    total = (f"{sum(pods.count for pods in gang)} in all", amounts_text(total_requests(gang)) or "no requests")
    return [*(row(pods) for pods in gang), *([total] if len(gang) > 1 or gang[0].count > 1 else [])]


def _verdict_lines(decision: Decision, view: PlanView) -> list[str]:
    """Every cluster's verdict, and for those whose nodes refused, why each node did."""
    rows = [
        (c.cluster, str(c.verdict), str(c.finding.code), printable(verdict_text(c, decision, view), LONGEST_SENTENCE))
        for c in decision.candidates
    ]
    lines = []
    for candidate, line in zip(decision.candidates, aligned(rows), strict=True):
        lines.append(line)
        if len(candidate.finding.tally) > 1 or candidate.finding.code in ROOM:
            lines += [f"      {printable(tally_text(t, candidate.finding.nodes))}" for t in candidate.finding.tally]
    return lines
