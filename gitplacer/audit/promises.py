"""
`status --promises`: of the groups that were told they fit, how many were ready in time, and why the others were not.

What was promised stands in the records of past commits, what became of it in the snapshots that passes were computed from, which the
branch `gitplacer-inputs` keeps. A snapshot counts for a group as it does for a relocation: only if it was taken after the
cluster applied the commit. Where no snapshot tells, nobody is blamed and nothing is praised: it is not known.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.audit.moves import consists_of, placed_on
from gitplacer.audit.repos import need_whole, read_past
from gitplacer.git.ourbranches import is_of_a_pass
from gitplacer.git.reading import Repository
from gitplacer.kept import read_records
from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.record import RECORDS, PlacementRecord
from gitplacer.model.decision import Reason
from gitplacer.model.promises import Kept, Promise, Why
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Progress, opened_source
from gitplacer.relocation.evidence import SYNC_GRACE, reaches
from gitplacer.settings import Settings
from gitplacer.source.files import MAX_SNAPSHOT, READ_ENDINGS, Memo, read_documents
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.trailers import instant
from gitplacer.tree import FILE, Entry, Tree

PROMISED = (Reason.FITS, Reason.TIGHT_FIT, Reason.FITS_BY_SCALE_UP)
"""What is said of a group that is told there is room for it."""

_CHANGE = re.compile(r":[0-7]{6} ([0-7]{6}) [0-9a-f]{40} ([0-9a-f]{40}) ([A-Z])[0-9]*\t(.*)")


class Change(Struct, frozen=True):
    """A commit's change of one file: its new blob, '' where it is gone."""

    path: str
    oid: str


class Given(Struct, frozen=True, kw_only=True):
    """A promise as it was given. `epoch` is that of the commit in its unit; `names` are ids that the group had before; `ended` is when it
    left, with the code of why."""

    group: str
    cluster: str
    policy: str
    code: str
    at: datetime
    epoch: int
    unit: str
    commit: str
    names: tuple[str, ...] = ()
    ended: datetime | None = None
    ended_code: str = ""


def promises_of(settings: Settings, within: timedelta, since: datetime | None, progress: Progress) -> list[Promise]:
    """Every promise that was given, the oldest first, with what became of it. Raises UsageError or GitError."""
    memo = ParseCache(settings.cache_dir)
    past = read_past(settings, memo, progress)
    if past.tip is None:
        return []
    progress("reading what was promised")
    with past.deployment.opened() as repository:
        need_whole(repository, "--promises")
        given = list(_given(repository, past.tip, memo))
        progress("reading what was seen")
        seen = _seen(repository, past.inputs, memo)
    with opened_source(settings, memo, work_tree=True) as source:
        for snapshot in _snapshots(source.capacity, memo):
            if snapshot.observed_at <= settings.now + SYNC_GRACE:
                seen[snapshot.name][snapshot.observed_at] = snapshot
    memo.save()
    chosen = [g for g in given if g.code in PROMISED and (since is None or g.at >= since)]
    by_cluster = {name: [some[at] for at in sorted(some)] for name, some in seen.items()}
    return [judged(g, by_cluster.get(g.cluster, ()), within, settings.now) for g in chosen]


def judged(given: Given, snapshots: Iterable[CapacitySnapshot], within: timedelta, now: datetime) -> Promise:
    """What became of a promise, by the snapshots of its cluster, the oldest first."""
    due = given.at + within
    made = Promise(
        group=given.group, cluster=given.cluster, policy=given.policy, code=given.code, at=given.at, commit=given.commit,
        kept=Kept.NOT_KNOWN,
    )  # fmt: skip
    missed: tuple[Why, str] | None = None
    for snapshot in snapshots:
        if snapshot.observed_at <= given.at or (given.ended is not None and snapshot.observed_at > given.ended):
            continue
        why = _why_not(given, snapshot)
        if why is None:
            if snapshot.observed_at <= due:
                return replace(made, kept=Kept.READY, ready_at=snapshot.observed_at)
            if missed is not None and missed[0] is not Why.SUSPENDED:
                return replace(made, kept=Kept.LATE, why=missed[0], detail=missed[1], ready_at=snapshot.observed_at)
            return replace(made, why=Why.NOT_OBSERVED if missed is None else missed[0], ready_at=snapshot.observed_at)
        if snapshot.observed_at >= due and missed is None and why[0] is not Why.NOT_OBSERVED:
            missed = why
    if missed is not None:
        kept = Kept.NOT_KNOWN if missed[0] is Why.SUSPENDED else Kept.NOT_READY
        return replace(made, kept=kept, why=missed[0], detail=missed[1])
    if given.ended is not None:
        is_told = given.ended_code == Reason.PENDING_PODS
        kept, reason = (Kept.NOT_READY, Why.PENDING_PODS) if is_told else (Kept.NOT_KNOWN, Why.LEFT)
        return replace(made, kept=kept, why=reason, detail=given.ended_code)
    return replace(made, why=Why.NOT_YET if now < due else Why.NOT_OBSERVED)


def _why_not(given: Given, snapshot: CapacitySnapshot) -> tuple[Why, str] | None:
    """Why a snapshot does not show a group ready, with a detail; None if it does."""
    if not reaches(snapshot, given.epoch, given.at, given.unit):
        return (Why.NOT_APPLIED if snapshot.applied is not None else Why.NOT_OBSERVED), ""
    names = (given.group, *given.names)
    there = next((found for name in names if (found := snapshot.running(name)) is not None), None)
    if there is None:
        return Why.NOT_SHOWN, ""
    if there.ready or there.phase == "Succeeded":
        return None
    if there.phase == "Failed":
        return Why.FAILED, ""
    if there.phase == "Suspended":
        return Why.SUSPENDED, ""
    waiting = [pod for pod in there.pods if pod.node is None]
    return (Why.PENDING_PODS, _of_pods(there)) if waiting else (Why.UNREADY, "")


def _of_pods(there: RunningGroup) -> str:
    """`2 × worker/gpu: Unschedulable`, of the pods that have no node."""
    counts = Counter((pod.role, pod.reason or "") for pod in there.pods if pod.node is None)
    return ", ".join(f"{n} × {role}{': ' + why if why else ''}" for (role, why), n in sorted(counts.items()))


# what was promised


def _given(repository: Repository, tip: str, memo: Memo) -> Iterator[Given]:
    """Every promise of the history, the oldest first, as it ended."""
    standing: dict[str, dict[tuple[str, int], Given]] = {}
    known: dict[str, PlacementRecord] = {}
    done: list[Given] = []
    for oid, changes in _changes(repository, tip, f"{RECORDS}/"):
        commit = repository.commit(oid)
        at = instant(commit.trailer("Gitplacer-Now") or commit.date) if is_of_a_pass(commit) else instant(commit.date)
        # What was proposed and merged later has promised nothing before.
        landed = instant(commit.date) if instant(commit.date) > at or not is_of_a_pass(commit) else None
        records = _records(repository, changes, memo)
        gone = {group: known.pop(group) for group, record in records.items() if record is None and group in known}
        for group, record in records.items():
            if record is None:
                continue
            entries = _entries(group, record, oid)
            if group not in known:
                for former in (name for name, old in gone.items() if consists_of(old) & consists_of(record)):
                    entries = _taken_over(entries, standing.get(former, {}))
            before = standing.get(group, {})
            if landed is not None:
                entries = {k: replace(g, at=max(g.at, landed)) if g.commit == oid else g for k, g in entries.items()}
            done += [_ended(given, at, record.reason) for key, given in before.items() if key not in entries]
            standing[group] = {key: before.get(key, given) for key, given in entries.items()}
            known[group] = record
        for group in gone:
            done += [_ended(given, at, "Removed") for given in standing.pop(group, {}).values()]
    done += [given for some in standing.values() for given in some.values()]
    yield from sorted(done, key=lambda g: (g.at, g.group, g.cluster))


def _ended(given: Given, at: datetime, code: str) -> Given:
    return replace(given, ended=at, ended_code=code)


def _taken_over(
    entries: dict[tuple[str, int], Given], former: dict[tuple[str, int], Given]
) -> dict[tuple[str, int], Given]:
    """
    The entries of a group that was called otherwise: on a cluster where it was, what was promised then goes on. It is taken from
    those of its former id.
    """
    found = {}
    for key, given in entries.items():
        old = next((k for k in former if k[0] == key[0]), None)
        if old is not None:
            was = former.pop(old)
            given = replace(was, group=given.group, policy=given.policy, names=(*was.names, was.group))
        found[key] = given
    return found


def _entries(group: str, record: PlacementRecord, commit: str) -> dict[tuple[str, int], Given]:
    """The clusters that have a group, by name and epoch. One that is not awake yet has promised nothing yet."""
    if record.is_platform:
        return {}
    return {
        (entry.name, entry.epoch): Given(
            group=group, cluster=entry.name, policy=record.policy, code=entry.reason or Reason.FITS, at=entry.since,
            epoch=entry.epoch, unit=PLATFORM if record.is_platform else WORKLOADS, commit=commit,
        )
        for entry in placed_on(record)
        if entry.state != "Waking"
    }  # fmt: skip


def _records(repository: Repository, changes: Sequence[Change], memo: Memo) -> dict[str, PlacementRecord | None]:
    """The records that a commit changed; None for one that it removed. One that cannot be read says nothing."""
    found: dict[str, PlacementRecord | None] = {}
    entries = {}
    for change in changes:
        if not change.path.endswith(".yaml"):
            continue
        if change.oid:
            entries[change.path] = Entry(FILE, change.oid)
        else:
            found[change.path[len(RECORDS) + 1 : -len(".yaml")]] = None
    return found | dict(read_records(Tree(entries, repository.objects), memo, [])[0])


# what was seen


def _seen(repository: Repository, inputs: str | None, memo: Memo) -> defaultdict[str, dict[datetime, CapacitySnapshot]]:
    """All snapshots that passes were computed from, by cluster and time."""
    found: defaultdict[str, dict[datetime, CapacitySnapshot]] = defaultdict(dict)
    for oid, changes in _changes(repository, inputs, "") if inputs is not None else ():
        at = instant(repository.commit(oid).date)
        tree = Tree({c.path: Entry(FILE, c.oid) for c in changes if c.oid}, repository.objects)
        for snapshot in _snapshots(tree, memo):
            if snapshot.observed_at <= at + SYNC_GRACE:
                found[snapshot.name].setdefault(snapshot.observed_at, snapshot)
    return found


def _snapshots(tree: Tree, memo: Memo) -> Iterator[CapacitySnapshot]:
    """The snapshots in a tree that can be read and are called like their files: a cluster testifies only about itself."""
    paths = [path for path, entry in tree.entries.items() if path.endswith(READ_ENDINGS) and entry.is_text]
    reading = read_documents(tree, paths, memo, max_bytes=MAX_SNAPSHOT)
    for path, items in reading.documents.items():
        stem = path.rpartition("/")[2].rpartition(".")[0]
        for item in items:
            parsed = parse_own(item.document) if is_own(item.document) else None
            if isinstance(parsed, CapacitySnapshot) and parsed.name == stem:
                yield parsed


def _changes(repository: Repository, tip: str, folder: str) -> Iterator[tuple[str, list[Change]]]:
    """The commits of a branch that changed something below a folder, the oldest first, each with what it changed."""
    listing = repository.git.run(
        "log", "--first-parent", "--diff-merges=first-parent", "--reverse", "--no-renames", "--raw", "--no-abbrev",
        "--no-color", "--format=commit %H", "--end-of-options", tip, "--", *([folder] if folder else []),
    )  # fmt: skip
    commit = ""
    changes: list[Change] = []
    for line in listing.decode("utf-8", "replace").split("\n"):
        if line.startswith("commit "):
            if commit:
                yield commit, changes
            commit, changes = line[len("commit ") :], []
        elif (found := _CHANGE.fullmatch(line)) is not None and not found[4].startswith('"'):
            oid = found[2] if found[3] != "D" and found[1] in ("100644", "100755") else ""
            changes.append(Change(found[4], oid))
    if commit:
        yield commit, changes
