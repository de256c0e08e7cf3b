"""Workers that an app may have later and that could never run where it is, as problems of the objects that they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gitplacer import workloads
from gitplacer.documents import Path
from gitplacer.explain.findings import limits_text, tally_text
from gitplacer.explain.view import PlanView
from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.model.decision import Decision, Finding
from gitplacer.placement.stranded import Stranded
from gitplacer.plaintext import few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.snapshot import Snapshot
from gitplacer.source.allowances import not_allowed
from gitplacer.source.manifests import SourceObject

_HINT = "let its policy select clusters with such nodes, or list machines that can be added in the Cluster's nodeTypes"
_FOR_RAY = "; maxReplicas: 0 says that there will be none"


def never_to_run(stranded: Iterable[Stranded], snapshot: Snapshot) -> Iterator[Problem]:
    """A warning for each role, which names all clusters, at the line with its count; none where the object allows it."""
    roles: dict[tuple[str, int, str], list[Stranded]] = defaultdict(list)
    for one in stranded:
        roles[one.group, id(one.member), one.role].append(one)
    for (_, _, role), some in roles.items():
        member = some[0].member
        reasons: dict[str, list[str]] = {}
        for one in some:
            reasons.setdefault(_why(one.finding), []).append(one.cluster)
        message = f"{member.identity} may have {_number(some[0])} later, and "
        message += "; ".join(f"none could ever run on {few(names)}: {why}" for why, names in reasons.items())
        problem = member.document.problem(
            "NoNodeToGrow", printable(message, LONGEST_SENTENCE), _HINT + (_FOR_RAY if member.identity.api_group == "ray.io" else ""),
            path=_path(member, role, snapshot), severity=Severity.WARNING,
        )  # fmt: skip
        yield from not_allowed([problem], member.annotations)


def problems_of(decision: Decision, view: PlanView) -> tuple[Problem, ...]:
    """What is wrong with a group, and what is to be said of the workers that it may have later, where it is after the pass."""
    group = view.group(decision)
    told = never_to_run((one for one in view.plan.stranded if one.group == decision.group), view.snapshot)
    return (*(group.problems if group is not None else ()), *told)


def _number(one: Stranded) -> str:
    """`up to 8 pods of worker/gpu`, and of how many hosts where several belong together."""
    sets = f"pods of {one.role}" if one.hosts == 1 else f"replicas of {one.role}, of {one.hosts} hosts each,"
    return f"any number of {sets}" if one.most is None else f"up to {one.most // one.hosts} {sets}"


def _why(finding: Finding) -> str:
    parts = [f"{finding.placed} of {finding.wanted} hosts of a replica find a node"] if finding.wanted > 1 else []
    parts += [tally_text(tally, finding.nodes) for tally in finding.tally] or ["it has no nodes"]
    return "; ".join([*parts, *limits_text(finding)])


def _path(member: SourceObject, role: str, snapshot: Snapshot) -> Path:
    """Where an object says how many pods of a role there are."""
    scales = workloads.scales(member.document.value, snapshot.source.declarations.kinds)
    return next((scale.path for scale in scales if scale.role == role and scale.path), ("metadata", "name"))
