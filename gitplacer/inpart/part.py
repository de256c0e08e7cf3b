"""
The part of a fleet that an edit concerns: the clusters where its groups are, with all groups on them, most of which are bystanders.

A group that waits is on no cluster, and comes to none by an edit that takes nothing away. What a commit says of it is known from the plan before; it is
part of the part only if the plan is shown, which takes its files.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.comparison import Baseline
from gitplacer.explain import is_worth_telling
from gitplacer.grouping import namespace_of
from gitplacer.inpart.edits import Concern
from gitplacer.inpart.footing import Footing
from gitplacer.inputs import Inputs
from gitplacer.kinds.record import RECORDS
from gitplacer.model.bystander import Bystander
from gitplacer.model.decision import Action, Decision, simply_stays
from gitplacer.singles import stem
from gitplacer.tree import Tree

_BEHIND = chr(ord("/") + 1)
"""What comes right behind all that begins with a slash."""


class Part(Struct, frozen=True):
    """
    The inputs of a part of a fleet: what `clusters` have of it. `edited` are the paths of source files, `groups` the groups that these
    are of and that are placed, with `files` of no others, and `resting` the groups that nobody has to decide on. `known` is what became of every
    group of the part, and `waiting` what commits say of the groups that wait and are not in it, by id. `standing` are those on its clusters who
    could stand by as these were, by cluster and id, with what they hold there and where they sit, whether they are in it or not.
    """

    inputs: Inputs
    edited: frozenset[str]
    groups: frozenset[str]
    files: frozenset[str]
    resting: Mapping[str, Decision]
    known: Mapping[str, Decision]
    clusters: frozenset[str]
    waiting: Mapping[str, str]
    standing: Mapping[str, Mapping[str, Bystander]]

    @property
    def bystanders(self) -> dict[str, dict[str, Bystander]]:
        """Those of them who do, since they are not in it."""
        return {
            name: {group: one for group, one in there.items() if group not in self.known}
            for name, there in self.standing.items()
        }


def part_of(
    inputs: Inputs, base: Baseline, footing: Footing, edited: frozenset[str], *, shown: bool, beside: bool
) -> Part | None:
    """
    The clusters of edited groups, or if nothing is one that has few, with all that is on them and, if they are to be `shown`, those who wait, also where
    they have some of their copies; `beside`: but for those who may stand
    by. None where a file is not a group's, a group not one that simply stays, or what is inside cannot be told from what is not by its files.
    """
    known = {decision.group: decision for decision in base.decisions}
    of_edited = {group for group, files in footing.files.items() if not edited.isdisjoint(files)}
    groups = frozenset(group for group in of_edited if known[group].before)
    waiting = of_edited - groups  # who asks for no less finds no more than before
    owned, waited = ({path for group in some for path in footing.files[group]} for some in (groups, waiting))
    if (edited and not groups) or edited - owned - waited or of_edited & footing.platform:
        return None
    if not all(simply_stays(known[g]) for g in groups) or not all(_simply_waits(known[g]) for g in waiting):
        return None
    told = _told(base, footing) if shown else frozenset[str]()
    clusters = frozenset(name for group in groups | told for name in known[group].after) or _least(base, footing)
    if not clusters or not clusters <= footing.clusters.keys() or clusters & footing.contested:
        return None
    there = _on(clusters, base.decisions, footing.platform)
    standing = footing.standing.on(clusters) if beside else {}
    may_stand = {
        group
        for group in there - of_edited - told
        if all(group in standing.get(name, ()) for name in clusters.intersection(known[group].before))
    }
    unplaced = (d for d in base.decisions if not d.before or d.group in footing.platform)
    left_out = set() if shown else {d.group for d in base.decisions if _simply_waits(d)} - waiting
    resting = {d.group: d for d in unplaced if d.group not in there and d.group not in left_out}
    apart = _by_themselves(may_stand, {*there, *resting}, footing)
    inside = {*there, *resting} - apart
    others = {path for group, files in footing.files.items() if group not in inside for path in files}
    others |= {file for name, file in footing.clusters.items() if name not in clusters}
    mine = {path for group in inside for path in footing.files.get(group, ())}
    mine |= {footing.clusters[name] for name in clusters}
    if _are_limited(inside, others, footing):
        return None
    if not mine.isdisjoint(others) or not all(clusters.issuperset(known[group].before) for group in there - apart):
        return None
    return Part(
        inputs=_cut(inputs, base, others, clusters, inside),
        edited=edited,
        groups=groups,
        files=frozenset(edited & owned - waited),
        resting=resting,
        known={group: known[group] for group in inside},
        clusters=clusters,
        waiting={group: said for group, said in footing.waiting.items() if group not in inside},
        standing=standing,
    )


def part_beside(inputs: Inputs, base: Baseline, footing: Footing, concern: Concern) -> Part | None:
    """
    All clusters, with the groups that a change concerns: those on clusters that have another state, those in the namespaces, those that wait, and those that may
    not be bystanders while others come and go. None where a bystander may be concerned by more than the room beside it.
    """
    known = {decision.group: decision for decision in base.decisions}
    everywhere = footing.clusters.keys()
    if not footing.by_room or base.states.keys() != everywhere:
        return None
    if not concern.cluster_files <= {*footing.clusters.values()} or not (concern.clusters or concern.namespaces):
        return None
    if not known.keys() <= footing.files.keys():
        return None
    standing = footing.standing.on(everywhere)
    unmoved = {name: there for name, there in standing.items() if name not in concern.clusters}
    may_stand = {
        group
        for group, decision in known.items()
        if namespace_of(group) not in concern.namespaces and _is_local(decision, unmoved)
    }
    apart = _by_themselves(may_stand, known.keys(), footing)
    inside, others = known.keys() - apart, {path for group in apart for path in footing.files[group]}
    if _are_limited(inside, others, footing):
        return None
    return Part(
        inputs=_cut(inputs, base, others, everywhere, inside),
        edited=concern.files,
        groups=frozenset(inside),
        files=frozenset(path for group in inside for path in footing.files[group]),
        resting={},
        known={group: known[group] for group in inside},
        clusters=frozenset(everywhere),
        waiting={},
        standing=standing,
    )


def _told(base: Baseline, footing: Footing) -> frozenset[str]:
    """The groups on clusters of which a plan shows something, whoever is edited."""
    return frozenset(d.group for d in base.decisions if d.before and is_worth_telling(d)) - footing.platform


def _least(base: Baseline, footing: Footing) -> frozenset[str]:
    """The cluster that has the fewest groups, if any has some: the part that an edit of nothing concerns, since there is no fleet without one."""
    there = Counter(name for d in base.decisions for name in d.before if name in footing.clusters)
    return frozenset(sorted(there.keys() - footing.contested, key=lambda name: (there[name], name))[:1])


def _is_local(decision: Decision, standing: Mapping[str, Mapping[str, Bystander]]) -> bool:
    """Whether a group may stand by on all its clusters, whatever becomes of others."""
    there = [standing.get(name, {}).get(decision.group) for name in decision.before]
    return bool(there) and all(one is not None and one.is_local for one in there)


def _by_themselves(some: Set[str], of: Set[str], footing: Footing) -> Set[str]:
    """Some of groups without those that share a file with one of the others, or with one that does."""
    while True:
        files = {path for group in of - some for path in footing.files.get(group, ())}
        sharing = {group for group in some if not files.isdisjoint(footing.files[group])}
        if not sharing:
            return some
        some = some - sharing


def _are_limited(groups: Set[str], others: Set[str], footing: Footing) -> bool:
    """Whether a LimitRange or ResourceQuota that counts for some of the groups is in a file of others."""
    limited = footing.limited and {namespace_of(group) for group in groups} & footing.limited.keys()
    return any(not footing.limited[namespace].isdisjoint(others) for namespace in limited)


def _on(clusters: frozenset[str], decisions: Iterable[Decision], platform: frozenset[str]) -> set[str]:
    return {d.group for d in decisions if d.group not in platform and not clusters.isdisjoint(d.before)}


def _simply_waits(decision: Decision) -> bool:
    """Whether a group waits, and nowhere is room kept for it."""
    return decision.action is Action.WAIT and decision.claim is None


def _cut(inputs: Inputs, base: Baseline, others: Set[str], clusters: Set[str], groups: Set[str]) -> Inputs:
    """The inputs without some files of the source, and without what is of other clusters and groups elsewhere."""
    away = base.states.keys() - clusters
    source, deployed = inputs.source.entries, inputs.deployment.entries
    paths = sorted(deployed)
    elsewhere = {*paths[_below(paths, RECORDS)]} - {f"{RECORDS}/{group}.yaml" for group in groups}
    for name, files in _folders(paths, base.fleet.deployment.root) if away else ():
        if name in away:
            elsewhere.update(paths[files])
    return replace(
        inputs,
        source=_only(inputs.source, source.keys() - others),
        capacity=_only(inputs.capacity, (path for path in inputs.capacity.entries if stem(path) not in away)),
        deployment=_only(inputs.deployment, deployed.keys() - elsewhere),
    )


def _folders(paths: Sequence[str], root: str) -> Iterator[tuple[str, slice]]:
    """Of sorted paths, where in them those in each folder of another are. There are a thousand folders, and tens of thousands of paths."""
    inside = _below(paths, root)
    at = inside.start
    while at < inside.stop:
        name, is_folder, _ = paths[at][len(root) + 1 :].partition("/")
        behind = _below(paths, f"{root}/{name}").stop if is_folder else at + 1
        yield name, slice(at, behind)
        at = behind


def _below(paths: Sequence[str], folder: str) -> slice:
    """Of sorted paths, where in them those in a folder are."""
    return slice(bisect_left(paths, f"{folder}/"), bisect_left(paths, f"{folder}{_BEHIND}"))


def _only(tree: Tree, paths: Iterable[str]) -> Tree:
    """A tree of some of its files."""
    return Tree({path: tree.entries[path] for path in sorted(paths)}, tree.blobs)
