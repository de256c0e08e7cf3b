"""
The deployment tree in which everything is where it was, and the proof of it.

The records say Placed because it is so: the objects run there. Nothing is said about room, for which nobody has looked. What would not
come out as it stands in the folders, or would not simply be kept by the next pass, is a fault, and tells which object is to blame.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from gitplacer.adoption.copies import Copy, Thing
from gitplacer.adoption.differences import canonical
from gitplacer.adoption.fleetfiles import FleetFiles
from gitplacer.adoption.remarks import Remark
from gitplacer.documents import Edit
from gitplacer.grouping import Group
from gitplacer.hydrate import hydrate
from gitplacer.inputs import Inputs
from gitplacer.layout.layout import Layout
from gitplacer.model.decision import Action, Decision, Finding, Reason
from gitplacer.model.workload import Identity
from gitplacer.problems import Location, Problem, Severity
from gitplacer.render import namespace_file
from gitplacer.rules import OF_STRANGERS
from gitplacer.snapshot import Snapshot, read_snapshot
from gitplacer.source.files import Memo, SourceDocument, read_documents
from gitplacer.source.manifests import PLATFORM, SENTINEL, identity_of
from gitplacer.tree import Tree
from gitplacer.units import UNITS


class Fault(Struct, frozen=True):
    """An object that does not stay as it is, and why; `clusters` are those whose copies are to blame, () for all of it."""

    identity: Identity
    remark: Remark | None
    clusters: tuple[str, ...] = ()


class Proof(Struct, frozen=True):
    """`tree` is the deployment tree. Without faults it has every object of the folders as it stands there, and the next pass keeps all."""

    tree: Tree
    faults: tuple[Fault, ...]
    noted: tuple[Remark, ...] = ()
    groups: int = 0


def proved(fleet: FleetFiles, now: datetime, version: str, memo: Memo) -> Proof:
    """Where a fleet repo leads if everything is where its policies say. The first kind of fault that there is is told."""
    snapshot = read_snapshot(
        source=fleet.tree, capacity=Tree(), deployment=Tree(), foreign_paths=frozenset(), now=now, memo=memo
    )
    faults = [*_of_problems(fleet, snapshot.problems)]
    faults += [fault for group in snapshot.groups.values() for fault in _of_group(fleet, group)]
    if faults:
        return Proof(Tree(), tuple(faults))
    layout = Layout(snapshot, fleet.tree, memo)
    decisions = layout.feasible([_adopted(group) for group in snapshot.groups.values()])
    stopped = [d for d in decisions if d.action is Action.HOLD]
    if stopped:
        faults = [*_of_problems(fleet, layout.problems)]
        return Proof(Tree(), tuple(faults or _of_decisions(fleet, snapshot, stopped)))
    for decision in decisions:
        layout.apply(decision)
    layout.ensure_units()
    layout.take_changes(None)
    tree = layout.tree()
    deployed = _read(fleet, snapshot, tree, memo)
    faults = [*_differing(fleet, deployed)]
    if faults:
        return Proof(tree, tuple(faults))
    faults = [*_not_kept(fleet, tree, now, version, memo)]
    return Proof(tree, tuple(faults), tuple(sorted(_reworded(fleet, deployed))), len(decisions))


def _adopted(group: Group) -> Decision:
    assert group.policy is not None  # a group without one has a problem, and that is a fault
    names = group.policy.spec.clusters.names or ()
    finding = Finding(code=Reason.ADOPTED)
    return Decision(
        group=group.id, policy=group.policy.name, action=Action.PLACE, before=(), after=tuple(sorted(names)),
        finding=finding, reasons=dict.fromkeys(names, finding),
    )  # fmt: skip


# faults, and whose they are


def _of_problems(fleet: FleetFiles, problems: Iterable[Problem]) -> Iterator[Fault]:
    """The objects that problems are about. A warning stops nothing."""
    for problem in sorted(set(problems)):
        if problem.severity is not Severity.ERROR:
            continue
        path = problem.location.file
        overridden = [override for override in fleet.overrides if override.file == path]
        if overridden:
            yield from _of_override(fleet, problem)
        elif path in fleet.manifests:
            thing = _at(fleet, problem.location)
            expected = problem.code == "NotAllowed" and thing.identity not in fleet.platform
            yield Fault(thing.identity, None if expected else _as_it_was(fleet, thing, problem))
        else:
            raise AssertionError(f"{problem.location}: {problem.message}")  # we wrote it, and no object is in it


def _of_override(fleet: FleetFiles, problem: Problem) -> Iterator[Fault]:
    """The copies that an override was to make, where it cannot."""
    there = [override for override in fleet.overrides if override.file == problem.location.file]
    lines = [document.locate().line for document in fleet.documents(problem.location.file)]
    override = there[max(bisect_right(lines, problem.location.line) - 1, 0)]
    copy = override.thing.copies[override.clusters[0]]
    if problem.code in OF_STRANGERS and override.thing.identity not in fleet.platform:
        yield Fault(override.thing.identity, Remark(copy.location, problem.message, problem.hint))
    else:
        yield Fault(override.thing.identity, _inexpressible(copy), override.clusters)


def _inexpressible(copy: Copy) -> Remark:
    what = f"{copy.value['kind']} {copy.value['metadata']['name']}"
    hint = "make the copies alike there, and adopt again; until then this one is left where it is"
    return Remark(copy.location, f"{what} differs from the other clusters' in a way that no override can make", hint)


def _at(fleet: FleetFiles, location: Location) -> Thing:
    """The object of a file that stands at a line."""
    things = fleet.manifests[location.file].things
    if len(things) == 1:
        return things[0]
    places = [document.locate() for document in fleet.documents(location.file)]
    starts = [(place.line, place.column) for place in places]
    return things[max(bisect_right(starts, (location.line, location.column)) - 1, 0)]


def _as_it_was(fleet: FleetFiles, thing: Thing, problem: Problem) -> Remark:
    """A problem, told where the object stands in the old repo."""
    manifest = fleet.manifests[problem.location.file]
    where = thing.model.location
    if manifest.origin is not None:
        where = Location(manifest.origin, problem.location.line, problem.location.column)
    return Remark(where, problem.message, problem.hint)


def _of_group(fleet: FleetFiles, group: Group) -> Iterator[Fault]:
    """All of a group that has problems, where no problem is about one of its objects alone."""
    if group.policy is None or any(problem.severity is Severity.ERROR for problem in group.problems):
        told = [problem for problem in group.problems if problem.severity is Severity.ERROR]
        about = {fault.identity for fault in _of_problems(fleet, told)}
        for member in group.members:
            if not about or member.identity in about:
                yield Fault(member.identity, None)


def _of_decisions(fleet: FleetFiles, snapshot: Snapshot, decisions: Iterable[Decision]) -> Iterator[Fault]:
    for decision in decisions:
        group = snapshot.groups.get(decision.group)
        for member in group.members if group is not None else ():
            thing = fleet.things[member.identity]
            message = f"{member.identity} would not simply stay where it is: {decision.finding.code}"
            yield Fault(member.identity, Remark(thing.model.location, message))


def _not_kept(fleet: FleetFiles, tree: Tree, now: datetime, version: str, memo: Memo) -> Iterator[Fault]:
    """What the next pass would not keep as it is."""
    inputs = Inputs(source=fleet.tree, commit=None, capacity=Tree(), deployment=tree, now=now, version=version)
    hydration = hydrate(inputs, memo=memo, with_candidates=False)
    yield from _of_problems(fleet, hydration.problems)
    loose = [decision for decision in hydration.view.plan.decisions if decision.action is not Action.KEEP]
    yield from _of_decisions(fleet, hydration.snapshot, loose)
    if hydration.steps and not loose:
        raise AssertionError(f"a second pass would {hydration.steps[-1].subject}")


# what was rendered, and what was there


_Deployed = Mapping[str, Mapping[Identity, SourceDocument]]
"""By cluster, what is deployed there."""


def _read(fleet: FleetFiles, snapshot: Snapshot, tree: Tree, memo: Memo) -> _Deployed:
    """What is deployed, without what gitplacer makes itself: sentinels, and namespaces that no manifest describes."""
    root = snapshot.source.own.fleet.spec.deployment.root
    found: dict[str, dict[Identity, SourceDocument]] = {}
    for cluster in snapshot.source.own.clusters:
        here: dict[Identity, SourceDocument] = {}
        paths = [path for unit in UNITS for path in tree if path.startswith(f"{root}/{cluster}/{unit}/")]
        own = {f"{root}/{cluster}/{unit}/{SENTINEL}" for unit in UNITS}
        for path, items in read_documents(tree, [path for path in paths if path not in own], memo).documents.items():
            for item in items:
                identity = identity_of(item.document.value)
                assert identity is not None, path
                made = path == f"{root}/{cluster}/{PLATFORM}/{namespace_file(identity.name)}"
                if not made or (identity in fleet.things and cluster in fleet.things[identity].copies):
                    here[identity] = item
        found[cluster] = here
    return found


def _differing(fleet: FleetFiles, deployed: _Deployed) -> Iterator[Fault]:
    """Objects that are not on each cluster what they were there, or are where they were not."""
    for manifest in fleet.manifests.values():
        for thing in manifest.things:
            wrong = []
            for cluster, here in deployed.items():
                copy, item = thing.copies.get(cluster), here.get(thing.identity)
                if (copy is None) != (item is None):
                    yield Fault(thing.identity, None)
                    break
                if copy is not None and item is not None and canonical(item.document.value) != copy.text:
                    wrong.append(cluster)
            if wrong:
                yield Fault(thing.identity, _inexpressible(thing.copies[wrong[0]]), tuple(wrong))


def _reworded(fleet: FleetFiles, deployed: _Deployed) -> Iterator[Remark]:
    """Copies that mean the same and are written otherwise from now on, told once for each file, at its first line that differs."""
    told = set()
    for manifest in fleet.manifests.values():
        for thing in manifest.things:
            for cluster, copy in sorted(thing.copies.items()):
                file = copy.document.file
                if copy is thing.model or file in told or copy.blob == thing.model.blob:
                    continue
                before, after = _own_text(copy), deployed[cluster][thing.identity].document.source()
                line = _first_difference(before, after)
                if line is not None:
                    told.add(file)
                    where = Location(file, copy.location.line + line)
                    model = thing.model.document.file
                    yield Remark(
                        where,
                        f"comments, order or spelling differ from {model}, whose text is kept; the values are kept as they are",
                    )


def _own_text(copy: Copy) -> bytes:
    if copy.is_filled:
        return copy.document.edited([Edit(("metadata", "namespace"), "add", copy.value["metadata"]["namespace"])])
    return copy.document.source()


def _first_difference(before: bytes, after: bytes) -> int | None:
    """The number of the first line, from 0, in which two texts differ; None where they do not."""
    one, other = before.strip().splitlines(), after.strip().splitlines()
    if one == other:
        return None
    both = zip(one, other, strict=False)
    return next((index for index, (mine, theirs) in enumerate(both) if mine != theirs), min(len(one), len(other)) - 1)
