"""Pods that an app may have later, or on some nodes, and that could never run where it is, as problems of the objects that they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gitplacer import workloads
from gitplacer.documents import Document, Path
from gitplacer.explain.apart import called_from_afar
from gitplacer.explain.findings import limits_text, tally_text
from gitplacer.explain.parted import parted_claims
from gitplacer.explain.uncounted import not_looked_at
from gitplacer.explain.view import PlanView
from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.model.decision import Decision, Finding
from gitplacer.model.workload import Identity
from gitplacer.placement.stranded import Stranded
from gitplacer.plaintext import few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.snapshot import Snapshot
from gitplacer.source.allowances import not_allowed
from gitplacer.workloads.facts import Role

_HINT = "let its policy select clusters with such nodes, or list machines that can be added in the Cluster's nodeTypes"
_HINT_THERE = "let it run where there are such nodes; of machines that an autoscaler could add nothing is known here"
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
        said = "; ".join(f"none could ever run on {few(names)}: {why}" for why, names in reasons.items())
        problem = _problem(
            member.document, f"{member.identity} {_pods(role, some[0].hosts, some[0].most, some[0].per_node)}, and {said}", _HINT,
            _path(member.document, role, snapshot.source.declarations.kinds),
        )  # fmt: skip
        yield from not_allowed([problem], member.annotations)


def never_to_run_there(
    document: Document, role: Role, found: Finding, declared: workloads.Declared = workloads.NONE_DECLARED
) -> list[Problem]:
    """The same of a role of an object by itself, on the only cluster that is asked about."""
    metadata = document.cursor().mapping("metadata")
    name = metadata.text("name") or metadata.text("generateName")
    group, _, _ = str(document.value.get("apiVersion")).rpartition("/")
    identity = Identity(group, str(document.value.get("kind")), metadata.text("namespace"), name)
    pods = _pods(role.name, role.slice_size, role.maximum, role.per_node)
    message = f"{identity} {pods}, and none could ever run on the nodes that are there: {_why(found)}"
    problem = _problem(document, message, _HINT_THERE, _path(document, role.name, declared))
    return not_allowed([problem], metadata.labels("annotations"))


def problems_of(decision: Decision, view: PlanView) -> tuple[Problem, ...]:
    """What is wrong with a group, and what is to be said of the workers that it may have later, where it is after the pass."""
    group = view.group(decision)
    told = never_to_run((one for one in view.plan.stranded if one.group == decision.group), view.snapshot)
    more = not_looked_at(one for one in view.plan.uncounted if one.group == decision.group)
    afar = called_from_afar(one for one in view.plan.apart if one.group == decision.group)
    without = parted_claims(one for one in view.plan.parted if decision.group in (one.one[0], one.other[0]))
    return (*(group.problems if group is not None else ()), *told, *more, *afar, *without)


def _problem(document: Document, message: str, hint: str, path: Path) -> Problem:
    of_ray = str(document.value.get("apiVersion")).startswith("ray.io/")
    return document.problem(
        "NoNodeToGrow", printable(message, LONGEST_SENTENCE), hint + (_FOR_RAY if of_ray else ""), path=path, severity=Severity.WARNING,
    )  # fmt: skip


def _pods(role: str, hosts: int, most: int | None, per_node: bool) -> str:
    return "has a pod on each node that admits it" if per_node else f"may have {_number(role, hosts, most)} later"


def _number(role: str, hosts: int, most: int | None) -> str:
    """`up to 8 pods of worker/gpu`, and of how many hosts where several belong together."""
    number = None if most is None else most // hosts
    if hosts == 1:
        sets = f"{'pod' if number == 1 else 'pods'} of {role}"
    else:
        sets = f"replica of {role}, of {hosts} hosts," if number == 1 else f"replicas of {role}, of {hosts} hosts each,"
    return f"any number of {sets}" if number is None else f"up to {number} {sets}"


def _why(finding: Finding) -> str:
    parts = [f"{finding.placed} of {finding.wanted} hosts of a replica find a node"] if finding.wanted > 1 else []
    parts += [tally_text(tally, finding.nodes) for tally in finding.tally] or ["it has no nodes"]
    return "; ".join([*parts, *limits_text(finding)])


def _path(document: Document, role: str, declared: workloads.Declared) -> Path:
    """Where an object says how many pods of a role there are."""
    scales = workloads.scales(document.value, declared)
    return next((scale.path for scale in scales if scale.role == role and scale.path), ("metadata", "name"))
