"""
The plan of an edit, made of the clusters that it touches and put into what is known of the whole.

Edited groups have to stay where they are, whether their edit finds room or not; nobody else may be concerned; and what is planned must
leave everybody else on these clusters as he was found when the whole was planned. Else there is no plan in part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from gitplacer.comparison import Baseline
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart.footing import Footing
from gitplacer.inputs import Inputs
from gitplacer.kinds.record import RECORDS
from gitplacer.model.decision import Action, Decision, as_kept
from gitplacer.model.verdicts import OUTGROWN
from gitplacer.model.workload import total_requests
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.plan import Plan
from gitplacer.problems import Problem, Rejected, Severity
from gitplacer.singles import stem
from gitplacer.source.files import Memo, ReadFile, is_read, read_documents
from gitplacer.source.manifests import SENTINEL, WORKLOADS
from gitplacer.source.shares import MOST
from gitplacer.tree import Tree, differing_paths
from gitplacer.units import METADATA
from gitplacer.workloads.facts import ObjectFacts, Role

MOST_FILES = 100
"""Behind a change of more, the whole is planned."""


@dataclass(frozen=True, slots=True)
class InPart:
    """The plan of a change, with what it is to be held against: the base, as far as the clusters go that are touched."""

    hydration: Hydration
    base: Baseline


def planned_in_part(
    inputs: Inputs,
    before: Tree,
    base: Baseline,
    footing: Footing,
    *,
    memo: Memo,
    ledgers: LedgerCache,
) -> InPart | None:
    """
    The plan of a source, which was `before` when `base` was planned from otherwise equal inputs and found nothing to do; None where
    a part of the fleet does not tell.
    """
    if inputs.uncounted is not None or sum(entry.size for entry in inputs.source.entries.values()) > MOST.size:
        return None
    edited = _edited(inputs.source, before, memo)
    part = _part(inputs, base, footing, edited) if edited else None
    if part is None:
        return None
    try:
        made = hydrate(part.inputs, memo=memo, ledgers=ledgers, with_candidates=OUTGROWN, resting=part.resting)
    except Rejected:
        return None  # which is to be told of the whole
    if not (_is_quiet(made, part) and _is_within_quotas(made, part, footing)):
        return None
    return _whole(inputs, made, part, base, footing)


# which part


@dataclass(frozen=True, slots=True)
class _Part:
    """
    The inputs of a part of a fleet: what `clusters` have of it. `edited` are the paths of source files, `groups` the groups that these
    are of and that are placed, with `files` of no others, and `resting` the groups that nobody has to decide on. `known` is what became of every
    group of the part.
    """

    inputs: Inputs
    edited: frozenset[str]
    groups: frozenset[str]
    files: frozenset[str]
    resting: Mapping[str, Decision]
    known: Mapping[str, Decision]
    clusters: frozenset[str]


def _edited(source: Tree, before: Tree, memo: Memo) -> frozenset[str]:
    """The files that differ, if each is one that is read and takes nothing away; else none."""
    paths = differing_paths(before, source)
    if not 0 < len(paths) <= MOST_FILES:
        return frozenset()
    for path in paths:
        old, new = before.entries.get(path), source.entries.get(path)
        if old is None or new is None or old.mode != new.mode or not old.is_text or not is_read(path):
            return frozenset()
    for tree in (before, source):
        read_documents(tree, paths, memo)  # and remember them
    was = memo.recall(before.entries[path].oid for path in paths)
    now = memo.recall(source.entries[path].oid for path in paths)
    for path in paths:
        old_file, new_file = was.get(before.entries[path].oid), now.get(source.entries[path].oid)
        if old_file is None or new_file is None or not takes_nothing_away(old_file, new_file):
            return frozenset()
    return frozenset(paths)


def takes_nothing_away(was: ReadFile, now: ReadFile) -> bool:
    """
    Whether a manifest holds the same objects as before, which refer to the same others, are selected by the same, and become pods of the same
    shapes, no fewer of each.
    """
    if was.parsed.faults or now.parsed.faults or len(was.facts) != len(now.facts):
        return False
    names = ("apiVersion", "kind", "metadata")
    for old, new in zip_longest(was.parsed.documents, now.parsed.documents):
        if old is None or new is None or old.prefix != new.prefix:
            return False
        if any(repr(old.value.get(name)) != repr(new.value.get(name)) for name in names):
            return False
    return all(map(_asks_no_less, was.facts, now.facts))


def _asks_no_less(was: ObjectFacts, now: ObjectFacts) -> bool:
    same = replace(was, roles=()) == replace(now, roles=()) and len(was.roles) == len(now.roles)
    return same and all(map(_is_no_smaller, was.roles, now.roles))


def _is_no_smaller(was: Role, now: Role) -> bool:
    numbers = {"count": was.count, "minimum": was.minimum, "maximum": was.maximum, "surge": was.surge}
    fewer = now.count < was.count or now.minimum < was.minimum or now.surge < was.surge
    lower = now.maximum is not None and (was.maximum is None or now.maximum < was.maximum)
    return not fewer and not lower and replace(now, **numbers) == was  # type: ignore[arg-type]


def _part(inputs: Inputs, base: Baseline, footing: Footing, edited: frozenset[str]) -> _Part | None:
    """
    The clusters of edited groups with all that is on them; None where a file is not a group's, a group not one that simply stays, or what is
    inside cannot be told from what is not by its files.
    """
    known = {decision.group: decision for decision in base.decisions}
    of_edited = {group for group, files in footing.files.items() if not edited.isdisjoint(files)}
    groups = frozenset(group for group in of_edited if known[group].before)
    waiting = of_edited - groups  # who asks for no less finds no more than before
    owned, waited = ({path for group in some for path in footing.files[group]} for some in (groups, waiting))
    if not groups or edited - owned - waited or of_edited & footing.platform:
        return None
    if not all(_simply_stays(known[g]) for g in groups) or not all(known[g].action is Action.WAIT for g in waiting):
        return None
    clusters = frozenset(name for group in groups for name in known[group].after)
    if not clusters <= footing.clusters.keys():
        return None
    there = _on(clusters, base.decisions, footing.platform)
    unplaced = (d for d in base.decisions if not d.before or d.group in footing.platform)
    resting = {d.group: d for d in unplaced if d.group not in there}
    inside = {*there, *resting}
    others = {path for group, files in footing.files.items() if group not in inside for path in files}
    others |= {file for name, file in footing.clusters.items() if name not in clusters}
    mine = {path for group in inside for path in footing.files.get(group, ())}
    mine |= {footing.clusters[name] for name in clusters}
    if not mine.isdisjoint(others) or not all(clusters.issuperset(known[group].before) for group in there):
        return None
    return _Part(
        inputs=_cut(inputs, base, others, clusters, inside),
        edited=edited,
        groups=groups,
        files=frozenset(edited & owned - waited),
        resting=resting,
        known={group: known[group] for group in inside},
        clusters=clusters,
    )


def _on(clusters: frozenset[str], decisions: Iterable[Decision], platform: frozenset[str]) -> set[str]:
    return {d.group for d in decisions if d.group not in platform and not clusters.isdisjoint(d.before)}


def _simply_stays(decision: Decision) -> bool:
    """Whether a group is on its clusters, all of it on each, and nothing is expected of it."""
    stays = as_kept(decision)
    return bool(decision.before) and replace(decision, finding=stays.finding, ended={}) == stays


def _cut(inputs: Inputs, base: Baseline, others: set[str], clusters: frozenset[str], groups: set[str]) -> Inputs:
    """The inputs without some files of the source, and without what is of other clusters and groups elsewhere."""
    away = base.states.keys() - clusters
    root = base.fleet.deployment.root + "/"

    def is_kept(path: str) -> bool:
        if path.startswith(root):
            return path[len(root) :].partition("/")[0] not in away
        folder, _, rest = path.partition("/")
        return folder != RECORDS or rest.removesuffix(".yaml") in groups

    return replace(
        inputs,
        source=_only(inputs.source, lambda path: path not in others),
        capacity=_only(inputs.capacity, lambda path: stem(path) not in away),
        deployment=_only(inputs.deployment, is_kept),
    )


def _only(tree: Tree, kept: Callable[[str], bool]) -> Tree:
    return Tree({path: entry for path, entry in tree.entries.items() if kept(path)}, tree.blobs)


# whether it tells


def _is_quiet(made: Hydration, part: _Part) -> bool:
    """Whether everybody stays where he is and has looked nowhere else, and nothing is written but the files of edited groups."""
    found = {decision.group: decision for decision in made.view.plan.decisions}
    if found.keys() != part.known.keys() or made.view.plan.sought or made.proposals or made.view.sleepers:
        return False
    if not all(_stays(found[group], known) for group, known in part.known.items() if group not in part.resting):
        return False
    if any(p.severity is Severity.ERROR and p.location.file not in part.files for p in made.problems):
        return False
    root = made.snapshot.source.own.fleet.spec.deployment.root
    return all(_is_ours(path, root, part) for path in differing_paths(part.inputs.deployment, made.tree))


def _stays(decision: Decision, before: Decision) -> bool:
    """Whether a group whose files may change is where it was, and nothing else is expected of it."""
    quiet = decision.action in (Action.KEEP, Action.UPDATE, Action.HOLD)
    return quiet and all(getattr(decision, name) == getattr(before, name) for name in _LASTING)


_LASTING = (
    "before", "after", "policy", "claim", "roles", "counts", "moving", "move", "phase", "frozen", "proposed", "dispatch", "finished",
)  # fmt: skip


def _is_ours(path: str, root: str, part: _Part) -> bool:
    """Whether a file of the deployment repo is one that the update of edited groups may write."""
    if path.startswith(f"{root}/"):
        cluster, unit, *rest = path[len(root) + 1 :].split("/")
        written = rest == [SENTINEL] or (unit == WORKLOADS and "/".join(rest[:2]) in part.groups)
        return written and cluster in part.clusters
    return path == METADATA or path in {f"{RECORDS}/{group}.yaml" for group in part.groups}


def _is_within_quotas(made: Hydration, part: _Part, footing: Footing) -> bool:
    """Whether what groups ask for more is what their tenants' quotas leave, with all that is on other clusters."""
    return all(
        asked[resource] <= max(0, left)
        for name, asked in _asked_more(made, part).items()
        for resource, left in footing.left.get(name, {}).items()
    )


def _asked_more(made: Hydration, part: _Part) -> dict[str, Counter[str]]:
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


def _whole(inputs: Inputs, made: Hydration, part: _Part, base: Baseline, footing: Footing) -> InPart:
    """The plan of the fleet in which a part is as it was planned, and all else as it was known."""
    new = {decision.group: decision for decision in made.view.plan.decisions}
    decisions = tuple(new.get(decision.group, decision) for decision in base.decisions)
    problems = _problems(made, part, base)
    tree = inputs.deployment
    for step in made.steps:
        tree = tree.apply(step.changes)
    view = replace(
        made.view,
        snapshot=replace(made.view.snapshot, problems=problems, deployment=inputs.deployment),
        plan=Plan(decisions, made.view.plan.sought),
        tree=tree,
        snapshots=footing.snapshots,
    )
    states = {name: state for name, state in base.states.items() if name in made.view.clusters}
    return InPart(replace(made, view=view, problems=problems, tree=tree), replace(base, states=states))


def _problems(made: Hydration, part: _Part, base: Baseline) -> tuple[Problem, ...]:
    """What is wrong with the whole: with edited files what is told of them now."""
    old = (problem for problem in base.problems if problem.location.file not in part.edited)
    new = (problem for problem in made.problems if problem.location.file in part.edited)
    return tuple(sorted({*old, *new}))
