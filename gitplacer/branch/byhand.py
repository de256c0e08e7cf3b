"""
What others did on the deployment branch since our last commit there: what is foreign, and what is consent.

Most of it is foreign: it holds the groups whose files it touches. Two things are not, because they only say yes or no to a
relocation of ours: reverting one, and merging a proposed one. A message proves neither. A revert counts if every file that
the relocation touched is as it was before it, byte for byte, or as we have changed it since; a merge counts for the files
that are byte for byte those of the proposal. What is only in part so is foreign, and what is neither told nor ours as well.

Answers are carried on in the trailers of our next commits until the record shows that they were heard, so that they are
not forgotten under commits about other things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.branch.lastpass import LastPass, brought_by, last_pass
from gitplacer.commits import FOREIGN, PROPOSED
from gitplacer.documents import parse
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.kinds.clusterstate import CLUSTER_STATES
from gitplacer.kinds.record import BETWEEN, RECORDS
from gitplacer.kinds.removals import GUARDS
from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.source.standby import STANDBY_FOLDER
from gitplacer.trailers import foreign_in, heard_in, instant
from gitplacer.tree import Tree, differing_paths, oid_of
from gitplacer.units import METADATA, UNITS, epoch_in

_HISTORY = 1000
"""Commits of ours and others that are looked through for those that a revert names."""
_LANDED = 200
"""Commits of others that are read for what they say; behind more of them a revert is foreign like anything else."""
_REVERTS = re.compile(r"\bThis reverts commit ([0-9a-f]{7,40})\b")
_APPROVAL = re.compile(r"[a-z0-9][-a-z0-9.]{0,270}")
"""The identity of an Approval in a record of ours, which fits into a trailer."""


class ByHand(Struct, frozen=True):
    """
    `foreign` are paths of ours that somebody else changed, with the blob id that we had written ('' for none); undoing such a
    change ends it. `reverted` and `merged` are by group.
    """

    foreign: Mapping[str, str] = field(default_factory=dict)
    reverted: Mapping[str, RevertedMove] = field(default_factory=dict)
    merged: Mapping[str, MergedMove] = field(default_factory=dict)


def by_hand(deployment: Deployment, root: str) -> ByHand:
    """What others did on the branch since our last pass. What is not ours may change as it likes."""
    last = last_pass(deployment)
    return _Reading(deployment, OurPaths(root), last).all() if last is not None else ByHand()


class OurPaths(Struct, frozen=True):
    """Which paths of the deployment repo are ours, and whose."""

    root: str

    def is_ours(self, path: str) -> bool:
        return path.startswith((f"{self.root}/", f"{RECORDS}/", f"{BETWEEN}/", f"{CLUSTER_STATES}/", f"{GUARDS}/"))

    def unit(self, path: str) -> tuple[str, str, str] | None:
        """The cluster, the unit and the file of a path below the root."""
        if not path.startswith(f"{self.root}/"):
            return None
        cluster, _, rest = path[len(self.root) + 1 :].partition("/")
        unit, _, file = rest.partition("/")
        return (cluster, unit, file) if unit in UNITS and file else None

    def is_counted(self, path: str) -> bool:
        """Whether it is a sentinel or a namespace, which several groups change."""
        unit = self.unit(path)
        return unit is not None and (unit[2] == SENTINEL or (unit[1] == PLATFORM and unit[2].startswith("namespaces/")))

    def belongs(self, path: str, group: str) -> bool:
        """Whether a relocation of a group may touch a path."""
        unit, namespace = self.unit(path), group.partition("/")[0]
        if path in (METADATA, f"{RECORDS}/{group}.yaml") or path.startswith(f"{BETWEEN}/{group}/"):
            return True
        sleeps = unit is not None and unit[1] == PLATFORM and unit[2].startswith(f"{STANDBY_FOLDER}/")
        if sleeps or path.startswith(f"{CLUSTER_STATES}/"):
            return True  # a cluster that was woken for it
        below = (f"{group}/", f"{namespace}/_shared/")
        return self.is_counted(path) or (unit is not None and unit[1] == WORKLOADS and unit[2].startswith(below))

    def elsewhere(self, path: str, others: Iterable[str]) -> list[str]:
        """Of other paths those that are the same file on another cluster, or between clusters."""
        file = self._file(path)
        return [other for other in others if file and other != path and self._file(other) == file]

    def _file(self, path: str) -> str:
        unit = self.unit(path)
        if unit is not None:
            return unit[2] if unit[1] == WORKLOADS else ""
        return path[len(BETWEEN) + 1 :] if path.startswith(f"{BETWEEN}/") else ""


class _Reading:
    """What is to be read from what came after our last pass."""

    def __init__(self, deployment: Deployment, paths: OurPaths, last: LastPass) -> None:
        self._repository = deployment.repository
        self._proposals = deployment.proposals
        self._paths = paths
        self._last = last
        self._before = last.wrote
        self._since = last.since
        self._now = deployment.tree
        self._trees: dict[str, Tree] = {}

    def all(self) -> ByHand:
        foreign = self._changed()
        carried = self._carried()
        reverted = {group: move for group, move in carried.reverted.items() if self._is_unchanged(group)}
        merged = {group: move for group, move in carried.merged.items() if self._is_unchanged(group)}
        merged |= self._landed_later()
        for group, move, paths in self._merges() if foreign else ():
            if move.at != move.proposed_at:  # else the record is true as it stands
                merged[group] = move
            foreign = {path: oid for path, oid in foreign.items() if path not in paths}
        for group, found, paths in self._reverts(carried.reverted) if foreign else ():
            if found is not None:
                reverted[group] = found
            foreign = {path: oid for path, oid in foreign.items() if path not in paths}
        return ByHand(foreign, dict(sorted(reverted.items())), dict(sorted(merged.items())))

    @cached_property
    def _log(self) -> list[Commit]:
        """The history from our last pass back, newest first. Read only if somebody says something of it."""
        return list(self._repository.log(self._last.landed.id, _HISTORY))

    # what has changed

    def _changed(self) -> dict[str, str]:
        """Paths of ours that are not as we wrote them, with what we wrote."""
        wrote: dict[str, str] = {}
        for key, value in self._last.trailers:
            if key == FOREIGN:
                path, oid = foreign_in(value)
                wrote[path] = oid
        if self._since:
            for path in differing_paths(self._before, self._now):
                wrote.setdefault(path, oid_of(self._before, path))
        return {p: oid for p, oid in wrote.items() if self._paths.is_ours(p) and oid_of(self._now, p) != oid}

    def _tree(self, commit: str) -> Tree:
        if commit not in self._trees:
            self._trees[commit] = self._repository.tree(commit)
        return self._trees[commit]

    def _carried(self) -> ByHand:
        """What earlier passes were told and no record shows yet."""
        reverted: dict[str, RevertedMove] = {}
        merged: dict[str, MergedMove] = {}
        for key, value in self._last.trailers:
            group, told = heard_in(key, value)
            if told is None or not self._still(group, told.commit):
                continue
            if isinstance(told, MergedMove):
                merged[group] = told
            else:
                reverted[group] = replace(told, epochs=())  # these were counted on when it was heard
        return ByHand({}, reverted, merged)

    def _still(self, group: str, commit: str) -> bool:
        """Whether a group's record was still as a commit left it when we last looked."""
        record = f"{RECORDS}/{group}.yaml"
        try:
            return oid_of(self._tree(self._repository.resolve(commit)), record) == oid_of(self._before, record)
        except NoSuchRevision:
            return False

    def _is_unchanged(self, group: str) -> bool:
        record = f"{RECORDS}/{group}.yaml"
        return oid_of(self._before, record) == oid_of(self._now, record)

    @cached_property
    def _landed(self) -> list[tuple[Commit, Commit]]:
        """The commits of others, oldest first, each with the commit of the branch that brought it."""
        found: list[tuple[Commit, Commit]] = []
        for brought in self._since:
            if len(brought.parents) > 1:
                found += [
                    (self._repository.commit(oid), brought) for oid in brought_by(self._repository, brought, _LANDED)
                ]
            found.append((brought, brought))
            if len(found) > _LANDED:
                return []
        return found

    # merged proposals

    def _landed_later(self) -> dict[str, MergedMove]:
        """The groups whose records are as a pass wrote them that was proposed as a whole and merged by somebody."""
        last = self._last
        now = dict(last.trailers).get("Gitplacer-Now", "")
        move = MergedMove(commit=last.landed.id, at=instant(last.landed.date), proposed_at=instant(now))
        records = [p for p in last.proposed if p.startswith(f"{RECORDS}/") and p.endswith(".yaml") and p in self._now]
        groups = [path[len(RECORDS) + 1 : -len(".yaml")] for path in records]
        return {group: move for group in groups if self._is_unchanged(group)}

    def _merges(self) -> Iterator[tuple[str, MergedMove, set[str]]]:
        """Each group whose proposal was merged, and the paths that are those of the proposal."""
        known = {commit.id: commit for commit, _ in self._landed}
        for oid in self._proposals.values():
            known.setdefault(oid, self._repository.commit(oid))
        for proposal in known.values():
            group = proposal.trailer(PROPOSED)
            if group is None or len(proposal.parents) != 1:
                continue
            proposed, base = self._tree(proposal.id), self._tree(proposal.parents[0])
            touched = differing_paths(base, proposed)
            record = f"{RECORDS}/{group}.yaml"
            was, is_now = oid_of(self._before, record), oid_of(self._now, record)
            if record not in touched or is_now == was or is_now != oid_of(proposed, record):
                continue
            if not all(self._paths.belongs(path, group) for path in touched):
                continue
            same = {p for p in touched if oid_of(self._now, p) == oid_of(proposed, p) or self._paths.is_counted(p)}
            brought = next(c for c in self._since if oid_of(self._tree(c.id), record) == is_now)
            proposed_at = instant(proposal.trailer("Gitplacer-Now") or "")
            yield group, MergedMove(commit=brought.id, at=instant(brought.date), proposed_at=proposed_at), same

    # reverted relocations

    def _reverts(self, carried: Mapping[str, RevertedMove]) -> Iterator[tuple[str, RevertedMove | None, set[str]]]:
        """
        Each group of which relocations were reverted, with the paths that this explains; None where a revert was reverted
        that no record shows yet.
        """
        ours = {commit.id: index for index, commit in enumerate(self._log)}
        undone: dict[str, dict[int, Commit]] = {}
        brought: dict[str, Commit] = {}
        for commit, landing in self._landed:
            for oid in reverted_by(self._repository, commit):
                group = self._moved_by(self._log[ours[oid]], carried) if oid in ours else None
                if group is not None:
                    undone.setdefault(group, {})[ours[oid]] = self._log[ours[oid]]
                    brought[group] = landing
        for group, commits in sorted(undone.items()):
            found = self._undone(group, [commits[index] for index in sorted(commits)])
            if found is None:
                continue
            left, epochs, paths = found
            again = group in carried and not any(map(_moves, commits.values()))
            at = instant(brought[group].date)
            used = self._forgotten(group, carried.get(group))
            move = RevertedMove(commit=brought[group].id, at=at, left=left, epochs=epochs, approvals=used)
            yield group, None if again else move, paths

    def _moved_by(self, commit: Commit, carried: Mapping[str, RevertedMove]) -> str | None:
        """The group that a commit of our history moved: by itself, as a merged proposal, or as a revert of one of these."""
        if _moves(commit):
            return commit.trailer("Gitplacer-Group")
        said = set(reverted_by(self._repository, commit)) if carried else set()
        named = {other.trailer("Gitplacer-Group") for other in self._log if other.id in said and _moves(other)}
        reverted = next((g for g, move in carried.items() if move.commit == commit.id or named == {g}), None)
        if reverted is not None or len(commit.parents) < 2:
            return reverted
        proposals = [self._repository.commit(oid) for oid in brought_by(self._repository, commit, _LANDED)]
        groups = {proposal.trailer(PROPOSED) for proposal in proposals}
        return groups.pop() if len(groups) == 1 else None

    def _undone(
        self, group: str, commits: Sequence[Commit]
    ) -> tuple[tuple[str, ...], tuple[tuple[str, str, int], ...], set[str]] | None:
        """
        The clusters a group was taken back from, the epochs that were turned back, and the paths that are as before some
        commits, the newest first; None if not all of them are.
        """
        expected: dict[str, str] = {}
        touched: set[str] = set()
        for commit in commits:
            before = self._tree(commit.parents[0])
            for path in differing_paths(before, self._tree(commit.id)):
                if self._paths.is_ours(path):
                    touched.add(path)
                    expected[path] = oid_of(before, path)
        record = f"{RECORDS}/{group}.yaml"
        oldest = self._tree(commits[-1].parents[0])
        if record not in touched or not self._is_restored(record, oldest):
            return None
        for path, oid in expected.items():
            if path == record or self._paths.is_counted(path):
                continue
            # What we have changed since may come back as we have changed it.
            since = {oid_of(self._before, other) for other in self._paths.elsewhere(path, touched)} - {""}
            if oid_of(self._now, path) not in ({oid, *since} if oid else {oid}):
                return None
        if not self._has_files(self._now, group) <= self._recorded(group):
            return None  # something of it is where nobody will look for it
        left = self._has_files(self._before, group) - self._has_files(self._now, group)
        return tuple(sorted(left)), tuple(self._turned_back(touched)), touched

    def _has_files(self, tree: Tree, group: str) -> set[str]:
        """The clusters whose directories hold files of a group."""
        units = [unit for unit in map(self._paths.unit, tree) if unit is not None]
        return {cluster for cluster, name, file in units if name == WORKLOADS and file.startswith(f"{group}/")}

    def _recorded(self, group: str) -> set[str]:
        """The clusters that its record names now."""
        entries = _fields(self._now, f"{RECORDS}/{group}.yaml").get("clusters")
        return {str(entry.get("name")) for entry in entries or () if isinstance(entry, dict)}

    def _is_restored(self, record: str, oldest: Tree) -> bool:
        """
        Whether a record is as it was before, or a mixture of what it was then and what we have made of it since, with the group
        where it was then: that is what a merge makes of two versions of ours.
        """
        if oid_of(self._now, record) == oid_of(oldest, record):
            return True
        then, since, now = (_fields(tree, record) for tree in (oldest, self._before, self._now))
        if not then or not since or not now:
            return False
        if any(now.get(key) != then.get(key) for key in ("clusters", "move")):
            return False
        return all(now.get(key) in (then.get(key), since.get(key)) for key in {*then, *since, *now})

    def _forgotten(self, group: str, earlier: RevertedMove | None) -> tuple[str, ...]:
        """The Approvals that were carried out for a group and that its record does not know of any more."""
        then, now = (_carried_out(tree, group) for tree in (self._before, self._now))
        used = dict.fromkeys((*(earlier.approvals if earlier is not None else ()), *then))
        return tuple(item for item in used if item not in now)

    def _turned_back(self, touched: Iterable[str]) -> Iterator[tuple[str, str, int]]:
        """The epochs before the revert of the units that it changed."""
        for path in sorted(touched):
            unit = self._paths.unit(path)
            if unit is not None and unit[2] == SENTINEL and path in self._before:
                yield unit[0], unit[1], epoch_in(self._before.read(path))


def reverted_by(repository: Repository, commit: Commit) -> Iterator[str]:
    """The commits that a commit says it reverts."""
    for short in _REVERTS.findall(f"{commit.subject}\n\n{commit.body}")[:_LANDED]:
        try:
            yield repository.resolve(short)
        except NoSuchRevision:
            continue


def _moves(commit: Commit) -> bool:
    """Whether it is a relocation of ours, or a step of one."""
    return commit.trailer("Gitplacer-Version") is not None and commit.trailer("Gitplacer-From") is not None


def _carried_out(tree: Tree, group: str) -> list[str]:
    """The Approvals that a group's record says were carried out."""
    found = _fields(tree, f"{RECORDS}/{group}.yaml").get("approvals")
    listed = found if isinstance(found, list) else []
    return [item for item in listed if isinstance(item, str) and _APPROVAL.fullmatch(item)]


def _fields(tree: Tree, path: str) -> Mapping[str, Any]:
    """What a record says, as it is written; empty for one that cannot be read."""
    if path not in tree or not tree.entries[path].is_text:
        return {}
    documents = parse(tree.read(path)).documents
    value = documents[0].value if len(documents) == 1 else {}
    return value if isinstance(value, Mapping) else {}
