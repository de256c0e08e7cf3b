"""
The plan of an edit, made of the clusters that it touches and put into what is known of the whole.

Edited groups have to stay where they are, whether their edit finds room or not; no other group may be concerned; and the plan must leave the other
groups on these clusters as they were found when the whole was planned. Else there is no plan in part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial

from msgspec import Struct, structs

from gitplacer.checks.references import without_clusters
from gitplacer.comparison import Baseline
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart.edits import edits_of
from gitplacer.inpart.footing import Footing
from gitplacer.inpart.part import Part, part_of
from gitplacer.inputs import Inputs
from gitplacer.kinds.record import BETWEEN, RECORDS
from gitplacer.model.decision import Action, Decision
from gitplacer.model.verdicts import OUTGROWN, Verdicts
from gitplacer.model.workload import total_requests
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.plan import Plan
from gitplacer.problems import Problem, Rejected, Severity
from gitplacer.relocation.silence import silent_clusters
from gitplacer.render import namespace_file
from gitplacer.source.edited import Change
from gitplacer.source.files import Memo
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.tree import differing_paths
from gitplacer.units import METADATA


class InPart(Struct, frozen=True):
    """
    The plan of a change, made of a `part` of the fleet, with what it is to be held against: the base, as far as the clusters go that are touched. Its
    steps are those of the part. `asked` is what edited groups ask for more than is deployed of them, by the names of tenants who have a quota.
    """

    hydration: Hydration
    base: Baseline
    part: Part
    asked: Mapping[str, Mapping[str, int]]


def planned_in_part(
    inputs: Inputs,
    change: Change,
    base: Baseline,
    footing: Footing,
    *,
    memo: Memo,
    ledgers: LedgerCache,
    with_candidates: Verdicts | bool = OUTGROWN,
    shown: bool = True,
) -> InPart | None:
    """
    The plan of a source with a `change` that it did not have when `base` was planned from otherwise equal inputs and found nothing to do; None
    where a part of the fleet does not tell. `with_candidates` is as for `hydrate`; `shown`: whether the plan is, so that its view has to know who waits.
    """
    edited = edits_of(change, inputs.source, footing.unread, memo) if inputs.uncounted is None else None
    if edited is None:
        return None
    cut = partial(part_of, inputs, base, footing, edited, shown=shown)
    planned = partial(_planned, memo=memo, ledgers=ledgers, with_candidates=with_candidates)
    told = _told(cut, planned, base, outgrown=bool(with_candidates))
    if told is None:
        return None
    part, made = told
    if silent_clusters(made.snapshot).keys() != footing.silent & part.clusters:
        return None
    asked = _asked_more(made, part)
    if not _is_within_quotas(asked, footing):
        return None
    hydration = _whole(inputs, made, part, base, footing)
    states = {name: state for name, state in base.states.items() if name in made.view.clusters}
    return InPart(hydration, structs.replace(base, states=states), part, asked)


def _planned(part: Part, *, memo: Memo, ledgers: LedgerCache, with_candidates: Verdicts | bool) -> Hydration:
    with ledgers.seated(part.standing):
        return hydrate(
            part.inputs, memo=memo, ledgers=ledgers, with_candidates=with_candidates, resting=part.resting, waiting=part.waiting,
            bystanders=part.bystanders,
        )  # fmt: skip


def _told(
    cut: Callable[..., Part | None], planned: Callable[[Part], Hydration], base: Baseline, *, outgrown: bool
) -> tuple[Part, Hydration] | None:
    """
    A part, which `cut` makes, and its plan: without its bystanders, or with them where something may become of one, such as that it is told to
    have `outgrown` its cluster. None where the plan of a part does not tell what the whole would.
    """
    for beside in (True, False):
        part = cut(beside=beside)
        if part is None:
            return None
        try:
            made = planned(part)
        except Rejected:
            return None  # which is to be told of the whole
        if _is_quiet(made, part, base) and not (outgrown and outgrown_beside(made)):
            return part, made
        if made.view.plan.sought or not any(part.bystanders.values()):
            return None
    return None


# whether it tells


def _is_quiet(made: Hydration, part: Part, base: Baseline) -> bool:
    """
    Whether every group stays where it is and has looked nowhere else, nothing is written but the files of edited groups, and nothing is wrong but in these,
    or was before.
    """
    found = {decision.group: decision for decision in made.view.plan.decisions}
    if found.keys() != part.known.keys() or made.view.plan.sought or made.proposals or made.view.sleepers:
        return False
    if not all(_stays(found[group], known) for group, known in part.known.items() if group not in part.resting):
        return False
    wrong = {p for p in made.problems if p.severity is Severity.ERROR and p.location.file not in part.files}
    if not wrong.issubset(base.problems) or _of_others(made.problems, part) != _of_others(base.problems, part):
        return False
    root = made.snapshot.source.own.fleet.spec.deployment.root
    return all(is_written_by(path, root, part) for path in differing_paths(part.inputs.deployment, made.tree))


_MISSING = "MissingReference"
_OF_OTHERS = frozenset({_MISSING, "NamesakesCollide", "TooManyFaults"})
"""What is told of an object for what others are, or are not: of those that are not in the part as well."""
_OF_CLUSTERS = frozenset(
    {"ClaimForOneNode", "ClaimForOnePod", "DispatchTenant", "ServedNowhere", "UnboundedMaximum", "UnknownSealingKey"}
)
"""What is told of an object for what all the clusters are that its policy allows."""


def _of_others(problems: Iterable[Problem], part: Part) -> Counter[tuple[str, str, str]]:
    """How often such a problem is told of each edited file, and what of it; these refer to what they did and are named as they were."""
    asked = _OF_OTHERS | _OF_CLUSTERS
    return Counter(_said(p) for p in problems if p.code in asked and p.location.file in part.edited)


def _said(problem: Problem) -> tuple[str, str, str]:
    """What is told of others in which file, in words that no line is in, and no cluster of those that only lack something."""
    said = problem.message if problem.code in _OF_CLUSTERS else ""
    return problem.location.file, problem.code, without_clusters(problem.message) if problem.code == _MISSING else said


def _stays(decision: Decision, before: Decision) -> bool:
    """Whether a group whose files may change is where it was, and nothing else is expected of it."""
    quiet = decision.action in (Action.KEEP, Action.UPDATE, Action.HOLD)
    return quiet and all(getattr(decision, name) == getattr(before, name) for name in _LASTING)


_LASTING = (
    "before", "after", "policy", "claim", "roles", "counts", "moving", "move", "phase", "frozen", "proposed", "dispatch", "finished",
)  # fmt: skip


def is_written_by(path: str, root: str, part: Part, *, namespaces: Collection[str] | None = None) -> bool:
    """
    Whether a file of the deployment repo is one that the update of groups may write or, where they come to clusters and `namespaces` are theirs, that: then
    these may be made there, and what comes may be kept for a while where it is on no cluster.
    """
    if path.startswith(f"{root}/"):
        cluster, unit, *rest = path[len(root) + 1 :].split("/")
        written = rest == [SENTINEL] or (unit == WORKLOADS and "/".join(rest[:2]) in part.groups)
        made = unit == PLATFORM and any("/".join(rest) == namespace_file(name) for name in namespaces or ())
        return (written or made) and cluster in part.clusters
    top, _, below = path.partition("/")
    if top == BETWEEN and namespaces is not None:
        return "/".join(below.split("/")[:2]) in part.groups
    return path == METADATA or (top == RECORDS and below.removesuffix(".yaml") in part.groups)


def _is_within_quotas(asked: Mapping[str, Counter[str]], footing: Footing) -> bool:
    """Whether what groups ask for more is what their tenants' quotas leave, with all that is on other clusters."""
    return all(
        more[resource] <= max(0, left)
        for name, more in asked.items()
        for resource, left in footing.left.get(name, {}).items()
    )


def _asked_more(made: Hydration, part: Part) -> dict[str, Counter[str]]:
    """What edited groups ask for more than is deployed of them, on all clusters together, by the names of tenants who have a quota."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    snapshot = made.snapshot
    for group_id in part.groups:
        group, record = snapshot.groups[group_id], snapshot.records[group_id]
        if group.tenant is None or not group.tenant.spec.quota:
            continue
        for name in part.known[group_id].after:
            now = total_requests(snapshot.variants.gang(group, made.view.clusters[name]))
            was = total_requests(snapshot.deployed.gang(record, group.policy, name))
            more = Counter({resource: amount - was.get(resource, 0) for resource, amount in now.items()})
            if +more:
                found[group.tenant.name] += more
    return found


# the whole


def _whole(inputs: Inputs, made: Hydration, part: Part, base: Baseline, footing: Footing) -> Hydration:
    """The plan of the fleet in which a part is as it was planned, and all else as it was known."""
    problems = problems_with(made, part, base)
    tree = inputs.deployment
    for step in made.steps:
        tree = tree.apply(step.changes)
    view = structs.replace(
        made.view,
        snapshot=replace(made.view.snapshot, problems=problems, deployment=inputs.deployment),
        plan=Plan(decisions_with(made, base), made.view.plan.sought),
        tree=tree,
        snapshots=footing.snapshots,
    )
    return structs.replace(made, view=view, problems=problems, tree=tree)


def outgrown_beside(made: Hydration) -> frozenset[str]:
    """Bystanders that find no room for all their pods any more."""
    return (made.view.plan.outgrown or frozenset()) - {decision.group for decision in made.view.plan.decisions}


def decisions_with(made: Hydration, base: Baseline) -> tuple[Decision, ...]:
    """All decisions: those of the part as it was planned, and those of the base for the rest."""
    new = {decision.group: decision for decision in made.view.plan.decisions}
    return tuple(new.get(decision.group, decision) for decision in base.decisions)


def problems_with(made: Hydration, part: Part, base: Baseline) -> tuple[Problem, ...]:
    """What is wrong with the whole: with edited files what is told of them now. What is missing is so on other clusters as before."""
    old = (problem for problem in base.problems if problem.location.file not in part.edited)
    new = (problem for problem in made.problems if problem.location.file in part.edited)
    lack = {_said(p): p.message for p in base.problems if p.code == _MISSING and p.location.file in part.edited}
    return tuple(sorted({*old, *(structs.replace(p, message=lack.get(_said(p), p.message)) for p in new)}))
