"""
`history GROUP`: where a group has been, from the deployment branch alone.

Git finds the commits that touched the group's record or files; the records before and after each say what happened, its message
says why, and its author who, where it was not a pass. A group whose id has changed is followed by what it consists of, as
stickiness is. Nothing that a commit says of itself is proved here: `verify` does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from gitplacer.audit.repos import Past, need_whole, read_past
from gitplacer.branch.byhand import reverted_by
from gitplacer.branch.lastpass import brought_by, let_in
from gitplacer.commits import PROPOSED
from gitplacer.explain import NoSuchGroup, rfc3339
from gitplacer.git.ourbranches import is_of_a_pass
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.kept import read_records
from gitplacer.kinds.record import BETWEEN, RECORDS, PlacementRecord, RecordCluster
from gitplacer.model.byhand import RevertedMove
from gitplacer.model.happening import Event, Happening
from gitplacer.model.workload import Identity
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Progress
from gitplacer.settings import Settings, UsageError
from gitplacer.source.files import Memo
from gitplacer.source.manifests import WORKLOADS
from gitplacer.trailers import heard_in, instant
from gitplacer.tree import FILE, Entry, Tree

_NAMES = 100
"""Ids that one group may have had before it is no longer followed."""
_BROUGHT = 20


def history_of(settings: Settings, group: str, progress: Progress) -> list[Event]:
    """What has happened to a group, the oldest first. Raises UsageError for one that never was, or GitError."""
    memo = ParseCache(settings.cache_dir)
    past = read_past(settings, memo, progress)
    if past.tip is None:
        raise UsageError(
            f"{past.deployment.address.redacted} has no branch {past.branch} yet, so no group has a history",
            "`gitplacer reconcile` makes the first commit",
        )
    with past.deployment.opened() as deployment, past.source.opened() as source:
        need_whole(deployment, "`gitplacer history`")
        known = _ever(deployment, past.tip)
        if group not in known:
            error = NoSuchGroup(group, known)
            raise UsageError(f'there never was a group "{group}" here', error.hint)
        progress("walking the history")
        events = list(_Walk(past, deployment, source, memo).back_from(group, past.tip))[::-1]
    memo.save()
    return events


def _ever(repository: Repository, tip: str) -> list[str]:
    """The ids of all groups that ever had a record."""
    listing = repository.git.run(
        "log", "--first-parent", "--no-renames", "--diff-filter=A", "--diff-merges=first-parent", "--name-only", "--format=",
        "-z", "--end-of-options", tip, "--", f"{RECORDS}/",
    )  # fmt: skip
    paths = {raw.decode("utf-8", "backslashreplace").strip("\n") for raw in listing.split(b"\0") if raw.strip()}
    return sorted(path[len(RECORDS) + 1 : -len(".yaml")] for path in paths if path.endswith(".yaml"))


class _Walk:
    """Back through the commits that touched a group, and the groups that it was before."""

    def __init__(self, past: Past, deployment: Repository, source: Repository, memo: Memo) -> None:
        self._past = past
        self._deployment = deployment
        self._source = source
        self._memo = memo

    def back_from(self, group: str, tip: str) -> Iterator[Event]:
        seen = {group}
        start: str | None = tip
        while start is not None and len(seen) <= _NAMES:
            former, start_of = None, None
            for commit in self._touching(group, start):
                before = self._record(commit.parents[0], group) if commit.parents else None
                after = self._record(commit.id, group)
                was = self._former(commit, group, after) if before is None and after is not None else None
                if was is not None and was.id not in seen:
                    former, start_of = was.id, commit.parents[0]
                event = self._event(commit, group, before, after, was)
                if event is not None:
                    yield event
                if former is not None:
                    break
            if former is None:
                return
            seen.add(former)
            group, start = former, start_of

    def _touching(self, group: str, tip: str) -> Iterator[Commit]:
        """The commits that touched what is a group's own, newest first."""
        name = _literal(group)
        places = (
            f"{RECORDS}/{name}.yaml",
            f"{_literal(self._past.root)}/*/{WORKLOADS}/{name}/**",
            f"{BETWEEN}/{name}/**",
        )
        paths = [f":(top,glob){place}" for place in places]
        listing = self._deployment.git.run("rev-list", "--first-parent", "--end-of-options", tip, "--", *paths).decode()
        for oid in listing.split():
            yield self._deployment.commit(oid)

    def _record(self, commit: str, group: str) -> PlacementRecord | None:
        """A group's record in a commit; None if there is none that can be read."""
        path = f"{RECORDS}/{group}.yaml"
        found = self._deployment.objects.look_up(f"{commit}:{path}")
        if found is None or found.kind != "blob":
            return None
        tree = Tree({path: Entry(FILE, found.oid, len(found.data))}, self._deployment.objects)
        return read_records(tree, self._memo, [])[0].get(group)

    def _former(self, commit: Commit, group: str, record: PlacementRecord | None) -> PlacementRecord | None:
        """The record, under another id, of what a new record consists of."""
        if record is None or not commit.parents:
            return None
        own = consists_of(record)
        tree = self._deployment.tree(commit.parents[0])
        records, _ = read_records(tree, self._memo, [])
        found = [other for other in records.values() if other.id != group and consists_of(other) & own]
        return min(found, key=lambda r: (self._record(commit.id, r.id) is not None, r.id), default=None)

    # one commit

    def _event(
        self,
        commit: Commit,
        group: str,
        before: PlacementRecord | None,
        after: PlacementRecord | None,
        was: PlacementRecord | None,
    ) -> Event | None:
        previous = before or was
        event = Event(
            at=rfc3339(instant(commit.date)),
            commit=commit.id,
            group=group,
            what=Happening.BY_HAND,
            before=_clusters(previous),
            after=_clusters(after),
            code=after.reason if after is not None else "",
            by=(("person", f"{commit.author_name} <{commit.author_email}>"),),
            said=commit.subject,
        )
        if commit.trailer(PROPOSED) is not None:
            return replace(
                event, what=Happening.MERGED, by=(), said=_first_paragraph(commit)
            )  # who let it in is not said
        merge: Commit | None = None
        if not is_of_a_pass(commit):
            told = self._let_in(commit, group)
            if told is None:
                return self._foreign(commit, event)
            merge, commit = commit, told
        what = self._done(commit, group, previous, after)
        if was is not None and what in (None, Happening.UPDATED, Happening.PLACED) and event.before == event.after:
            what = Happening.RENAMED
        if what is None:
            return None
        also = was.id if was is not None else ""
        if what is Happening.REMOVED and previous is not None:
            also = self._successor(commit, previous)
            what = Happening.RENAMED if also else what
        by = (*self._owed(commit, previous, after), *(event.by if merge is not None else ()))
        done = replace(event, what=what, also=also, said=self._said(commit, group), by=by)
        return self._with_source(commit, replace(done, phase=commit.trailer("Gitplacer-Phase") or ""))

    def _let_in(self, merge: Commit, group: str) -> Commit | None:
        """The commit of a pass behind a merge that tells of a group: what moved it, or else what touched it last."""
        found: Commit | None = None
        for commit in let_in(self._deployment, merge):
            if commit.trailer("Gitplacer-Group") == group:
                return commit
            if self._said(commit, group):
                found = commit
        return found

    def _done(
        self, commit: Commit, group: str, before: PlacementRecord | None, after: PlacementRecord | None
    ) -> Happening | None:
        """What a pass did; None if it only remembered something."""
        if after is None:
            return Happening.REMOVED
        if commit.trailer("Gitplacer-Group") == group:
            return Happening.RELOCATED
        old, new = set(_clusters(before)), set(_clusters(after))
        if old != new:
            if not old:
                return Happening.PLACED
            if not new:
                return Happening.WAITS
            return Happening.EXTENDED if new > old else Happening.LESSENED
        if before is None:
            return Happening.WAITS
        if after.finished is not None and before.finished is None:
            return Happening.FINISHED
        if before.policy != after.policy:
            return Happening.GOVERNED
        if not new:
            return Happening.WAITS if before.reason != after.reason else None
        return Happening.UPDATED if self._touches_files(commit, group) else None

    def _touches_files(self, commit: Commit, group: str) -> bool:
        place = f":(top,glob){_literal(self._past.root)}/*/{WORKLOADS}/{_literal(group)}/**"
        changed = self._deployment.git.run(
            "diff-tree", "-r", "--name-only", "--no-commit-id", "--root", "--end-of-options", commit.id, "--", place
        )
        return bool(changed.strip())

    def _successor(self, commit: Commit, record: PlacementRecord) -> str:
        """The id under which what a group consisted of goes on."""
        records, _ = read_records(self._deployment.tree(commit.id), self._memo, [])
        return min((other.id for other in records.values() if consists_of(other) & consists_of(record)), default="")

    def _foreign(self, commit: Commit, event: Event) -> Event:
        if len(commit.parents) > 1:
            for oid in brought_by(self._deployment, commit, _BROUGHT):
                proposal = self._deployment.commit(oid)
                if proposal.trailer(PROPOSED) == event.group:
                    return replace(event, what=Happening.MERGED, said=f"{commit.subject}: {_first_paragraph(proposal)}")
        for oid in reverted_by(self._deployment, commit):
            return replace(event, what=Happening.REVERTED, also=oid)
        return event

    def _said(self, commit: Commit, group: str) -> str:
        """Why, in the words of the commit."""
        if commit.trailer("Gitplacer-Group") == group:
            return _first_paragraph(commit)
        head = f"- {group}: "
        return next((line[len(head) :] for line in commit.body.split("\n") if line.startswith(head)), "")

    def _owed(
        self, commit: Commit, before: PlacementRecord | None, after: PlacementRecord | None
    ) -> tuple[tuple[str, str], ...]:
        record = after or before
        known = set(before.approvals or ()) if before is not None else set()
        for group, move in (heard_in(key, value) for key, value in commit.trailers):
            if record is not None and group == record.id and isinstance(move, RevertedMove):
                known |= set(move.approvals)
        new = [
            item.rpartition(".")[0] or item for item in (after.approvals or () if after else ()) if item not in known
        ]
        policy = [("policy", record.policy)] if record is not None else []
        return (*policy, *(("approval", name) for name in new))

    def _with_source(self, commit: Commit, event: Event) -> Event:
        oid = commit.trailer("Gitplacer-Source") or ""
        try:
            found = self._source.commit(oid) if oid else None
        except NoSuchRevision:
            found = None
        if found is None:
            return replace(event, source=oid)
        author = f"{found.author_name} <{found.author_email}>"
        return replace(event, source=oid, source_author=author, source_subject=found.subject)


def _clusters(record: PlacementRecord | None) -> tuple[str, ...]:
    """Where a group is, or will be when a cluster wakes."""
    return tuple(sorted(entry.name for entry in placed_on(record))) if record is not None else ()


def placed_on(record: PlacementRecord) -> tuple[RecordCluster, ...]:
    """The clusters that have a group, or will when they wake. What moves by RemoveFirst is between two, and on neither."""
    is_between = record.move is not None and record.move.strategy == "RemoveFirst"
    without = ("Adding", "Removing") if is_between else ("Removing",)
    return tuple(entry for entry in record.clusters if entry.state not in without)


def consists_of(record: PlacementRecord) -> set[Identity]:
    """What a group consists of, without what it shares with others."""
    return {member.identity for member in record.members if not member.is_shared}


def _first_paragraph(commit: Commit) -> str:
    return " ".join(commit.body.partition("\n\n")[0].split()) if "\n\n" in commit.body else ""


def _literal(text: str) -> str:
    """A text as a pattern that matches nothing else."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)
