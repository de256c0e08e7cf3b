"""
What clusters reported of their capacity, as far as it is believed.

A cluster testifies only about itself, and may be wrong, late or forged. So a snapshot is held against the clock, against what was ever
written for the cluster, against its limits and against the snapshot before it; where the newest is not believed, an earlier one counts on, as
one that is doubted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from gitplacer.belief import (
    DOUBTED,
    EARLIER,
    NODES,
    Gist,
    doubt_of,
    doubted,
    is_from_the_future,
    jump,
    never_written,
)
from gitplacer.documents import Document
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.model import quantity
from gitplacer.plausible import beyond_limits, implausible
from gitplacer.problems import Location, Problem, Rejected, Severity, meant
from gitplacer.singles import single_objects, stem
from gitplacer.source.files import MAX_SNAPSHOT, READ_ENDINGS, Memo, read_documents
from gitplacer.source.oddpaths import ending_in_capitals
from gitplacer.source.reading import Source
from gitplacer.tree import Tree

_WRITTEN_BY = "`gitplacer snapshot -o FILE` writes one"
_MISPLACED = "move it elsewhere, or let `gitplacer snapshot -o FILE` write one"


def read_capacity(
    tree: Tree,
    source: Source,
    epochs: Mapping[tuple[str, str], int],
    now: datetime,
    memo: Memo,
    problems: list[Problem],
) -> tuple[dict[str, CapacitySnapshot], frozenset[str]]:
    """
    What clusters reported, as far as it is believed, and the clusters of which nothing is. Where the newest snapshot of one is not
    believed and an earlier one is there, that one counts on. `epochs` are the greatest that were ever written.
    """
    folder, parts = source.own.fleet.spec.capacity.path + "/", _parts(tree)
    newest, broken = _read_snapshots(tree, parts[""], source, memo, problems)
    earlier = {
        name: found
        for name, (_, found) in _read_snapshots(tree, parts[EARLIER], source, memo, [])[0].items()
        if never_written(found, epochs) is None and beyond_limits(found, source.own.clusters[name].spec.limits) is None
    }
    doubts = {stem(path): tree.read(path) for path in parts[DOUBTED] if tree.entries[path].is_text}
    believed: dict[str, CapacitySnapshot] = {}
    for name in sorted(source.own.clusters.keys() & (newest.keys() | broken | doubts.keys())):
        before, after = earlier.get(name), None
        if name in newest:
            document, after = newest[name]
            flaw = _beyond_belief(document, after, before, source, epochs, now)
            if flaw is not None:
                problems.append(flaw)
                after = None
        if name in doubts:
            problems.append(Problem(Location(f"{folder}{name}.yaml"), *doubt_of(doubts[name])))
        if after is not None and name not in doubts:
            believed[name] = after
        elif after is not None or before is not None:
            believed[name] = doubted(after or before)  # type: ignore[arg-type]
    return believed, frozenset((broken | newest.keys() | doubts.keys()) - believed.keys())


def _parts(tree: Tree) -> dict[str, list[str]]:
    """The files of a capacity tree: the newest snapshots, under "", the earlier ones, and why some of the newest are doubted."""
    parts: dict[str, list[str]] = {part: [] for part in ("", EARLIER, DOUBTED)}
    for path in tree:
        part = path.partition("/")[0]
        parts[part if part in parts and "/" in path else ""].append(path)
    return parts


def _read_snapshots(
    tree: Tree, paths: Sequence[str], source: Source, memo: Memo, problems: list[Problem]
) -> tuple[dict[str, tuple[Document, CapacitySnapshot]], frozenset[str]]:
    """The snapshots in some files, by cluster, and the clusters whose files have one that cannot be used."""
    folder = source.own.fleet.spec.capacity.path + "/"
    wanted = [path for path in paths if path.endswith(READ_ENDINGS)]
    reading = read_documents(tree, wanted, memo, folder=folder, max_bytes=MAX_SNAPSHOT)
    problems.extend(reading.problems)
    passed_over = ((path, ending_in_capitals(path)) for path in paths)
    problems.extend(Problem(Location(folder + path), "OddPath", *said) for path, said in passed_over if said)
    found: dict[str, tuple[Document, CapacitySnapshot]] = {}
    broken = {stem(path) for path in reading.broken}
    for path, item in single_objects(CapacitySnapshot, reading, folder, problems, _MISPLACED):
        if item is None:
            broken.add(stem(path))
            continue
        document, parsed = item
        if parsed.name != stem(path):
            message = f"the snapshot of {parsed.name} is in a file called {stem(path)}"
            hint = "a cluster testifies only about itself: name the file after it"
            problems.append(document.problem("SnapshotName", message, hint, path=("metadata", "name")))
            broken.add(stem(path))  # the other one's own file counts: nobody else can take its word away
        elif parsed.name not in source.own.clusters:
            message = f"there is no Cluster {parsed.name} in the source"
            hint = meant(parsed.name, source.own.clusters)
            problems.append(
                document.problem("UnknownCluster", message, hint, path=("metadata", "name"), severity=Severity.WARNING)
            )
        elif parsed.name in found:
            problems.append(document.problem("DuplicateName", f"{parsed.name} has two snapshots", "remove one"))
            broken.add(parsed.name)
        else:
            found[parsed.name] = document, parsed
            flaws = list(implausible(parsed, document))
            problems.extend(flaws)
            if any(problem.severity is Severity.ERROR for problem in flaws):
                broken.add(parsed.name)
    return {name: item for name, item in sorted(found.items()) if name not in broken}, frozenset(broken)


def single_snapshot(tree: Tree, path: str, memo: Memo) -> tuple[CapacitySnapshot, tuple[Problem, ...]]:
    """
    The snapshot in one file, whatever that is called, and what is to be told of it. Raises Rejected where it cannot be used, with
    everything that is wrong with it.
    """
    reading = read_documents(tree, [path], memo, max_bytes=MAX_SNAPSHOT)
    problems = [*reading.problems]
    for _, item in single_objects(CapacitySnapshot, reading, "", problems, _WRITTEN_BY):
        if item is not None:
            document, parsed = item
            problems.extend(implausible(parsed, document))
            if not any(problem.severity is Severity.ERROR for problem in problems):
                return parsed, tuple(problems)
    raise Rejected(set(problems))


def _beyond_belief(
    document: Document,
    found: CapacitySnapshot,
    before: CapacitySnapshot | None,
    source: Source,
    epochs: Mapping[tuple[str, str], int],
    now: datetime,
) -> Problem | None:
    """Why a snapshot is not believed, held against the clock, what was ever written, its Cluster, and the one before it."""
    if is_from_the_future(found.observed_at, now):
        message = f"was taken at {found.observed_at:%Y-%m-%dT%H:%M:%SZ}, and it is {now:%Y-%m-%dT%H:%M:%SZ}"
        return document.problem(
            "SnapshotFromFuture", message, "set the clock of whoever writes it", path=("observedAt",)
        )
    lie = never_written(found, epochs)
    if lie is not None:
        unit, said, written = lie
        message = f"says that epoch {said} of {unit} is applied, and none beyond {written} was ever written"
        hint = "if the deployment branch was turned back, wait until the cluster has synced it; else find out who writes the snapshot"
        return document.problem("EpochNeverWritten", message, hint, path=("applied", unit))
    jumps, cluster = source.own.fleet.spec.capacity.jumps, source.own.clusters[found.name]
    beyond = beyond_limits(found, cluster.spec.limits)
    if beyond is not None:
        path, more = beyond
        hint = "if it is true, raise the Cluster's limits; if not, find out who writes the snapshot"
        return document.problem("SnapshotBeyondLimits", f"says that {more}", hint, path=path, key=True)
    leap = jump(Gist.of(before), Gist.of(found), jumps, cluster) if before is not None else None
    if before is None or leap is None:
        return None
    was, has = (
        f"{n} nodes" if leap.what == NODES else quantity.render(leap.what, n) for n in (leap.before, leap.after)
    )
    whose = f"node {leap.node}" if leap.node else found.name
    what = "" if leap.what == NODES else f" {leap.what}"
    message = f"{whose} has {has}{what}, and had {was} at {before.observed_at:%Y-%m-%dT%H:%M:%SZ}"
    hint = "it is believed when later snapshots say the same; if it is wrong, look at whoever writes it"
    return document.problem("SnapshotJump", message, hint, path=("nodes",), key=True)
