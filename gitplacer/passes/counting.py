"""
Which commits of the source count, where the Fleet lists who may sign them.

The commit that the last pass was made from has counted. What came since is gone through along first parents, as the branch itself moved:
each step brings a commit, and with a merge all that was merged, and counts if every one of them is signed by a key that was listed
before the step. So a merge hides nothing, keys that a commit adds count from the next step on, and the first step that does not count
ends it: what comes later was made on top of it. Where no pass was made yet, its history cannot be asked for, and the tip alone is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.git.believing import signed_by
from gitplacer.git.program import GitError
from gitplacer.git.reading import NoSuchFolder, Repository
from gitplacer.git.signing import AllowedKeys, flaw
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.signers import Uncounted
from gitplacer.problems import Location
from gitplacer.source.files import Memo
from gitplacer.source.fleetspec import readable_fleet
from gitplacer.source.signers import uncounted_problem

Keys = Sequence[str] | None
"""The public keys that may sign; None where every commit counts."""


class NoSignedCommit(GitError):
    """A source of which no commit is known to count."""

    kind = "NoSignedCommit"


class Judged(Struct, frozen=True):
    """The newest commit that counts, '' where there is none, and the first that does not, None where all do."""

    counts: str
    uncounted: Uncounted | None = None


class Step(Struct, frozen=True):
    """The branch moved to `commit`, which brought these commits, itself the last of them."""

    commit: str
    brought: tuple[str, ...]


def steps(parents: Mapping[str, Sequence[str]], tip: str, start: str) -> list[Step]:
    """
    How a branch came from `start` to `tip`, oldest first: `parents` are those of each commit that is behind `tip` and not behind `start`,
    every commit before its parents. Only steps to commits that `start` is behind, but for a branch which has lost it.
    """
    if tip not in parents:
        return []
    older_first = list(reversed(list(parents)))
    on_top = {start}
    for commit in older_first:
        if on_top.intersection(parents[commit]):
            on_top.add(commit)
    chain, at = [], tip
    while at in parents:
        if at in on_top or tip not in on_top:
            chain.append(at)
        at = parents[at][0] if parents[at] else ""
    age = {commit: n for n, commit in enumerate(older_first)}
    found, behind = [], set[str]()
    for commit in reversed(chain):
        brought, asked = set[str](), [commit]
        while asked:
            each = asked.pop()
            if each in parents and each not in behind and each not in brought:
                brought.add(each)
                asked.extend(parents[each])
        behind |= brought
        found.append(Step(commit, tuple(sorted(brought, key=age.__getitem__))))
    return found


class Counting:
    """
    Judges commits of a source. `last_source` tells, by the Fleet that says where the deployment repo is, of which commit the last pass
    was made, '' where there is none.
    """

    def __init__(self, memo: Memo, folder: str, last_source: Callable[[FleetSpec], str]) -> None:
        self._memo, self._folder, self._last_source = memo, folder, last_source

    def judged(self, repository: Repository, commit: str, spec: FleetSpec, base: str | None = None) -> Judged:
        """
        How far the history up to a commit, by its id, counts. `base` has counted where no pass was made yet. Raises NoSignedCommit where
        the start is not to be had.
        """
        start = self._last_source(spec) or base
        if start is None:
            return self._gone_through(repository, "", self._keys(repository, commit, None), [Step(commit, (commit,))])
        if repository.objects.look_up(f"{start}^{{commit}}") is None:
            if spec.source.signers is None:
                return Judged(commit)
            raise _without_start(repository, start)
        taken = steps(_parents(repository, commit, start), commit, start)
        return (
            self._gone_through(repository, start, self._keys(repository, start, None), taken)
            if taken
            else Judged(commit)
        )

    def _gone_through(self, repository: Repository, start: str, keys: Keys, taken: Sequence[Step]) -> Judged:
        counts = start
        for step in taken:
            if counts != start:
                keys = self._keys(repository, counts, keys)
            wrong = self._first_unsigned(repository, keys, step) if keys is not None else None
            if wrong is not None:
                return Judged(counts, replace(wrong, counts=counts))
            counts = step.commit
        return Judged(counts)

    def _first_unsigned(self, repository: Repository, keys: Sequence[str], step: Step) -> Uncounted | None:
        signed = signed_by(repository.objects, self._memo, keys, step.brought)
        wrong = next((oid for oid, is_good in zip(step.brought, signed, strict=True) if not is_good), None)
        if wrong is None:
            return None
        commit = repository.commit(wrong)
        return Uncounted(
            commit=wrong,
            author=f"{commit.author_name} <{commit.author_email}>",
            flaw=flaw(repository.raw(wrong), AllowedKeys({"listed": keys})),
            brought_by=step.commit if step.commit != wrong else "",
        )

    def _keys(self, repository: Repository, commit: str, before: Keys) -> Keys:
        """The keys that a commit lists; those before it where its Fleet cannot be read, so that nobody is rid of them by breaking it."""
        try:
            tree = repository.tree_id(commit, self._folder)
        except NoSuchFolder:
            return before
        digest = hashlib.sha256(f"signers-1\0{tree}".encode()).hexdigest()
        known = self._memo.recall_text(digest)
        if known is None:
            spec = readable_fleet(repository.tree(commit, self._folder), self._memo)
            known = json.dumps({"listed": spec.source.signers} if spec is not None else {}).encode()
            self._memo.remember_text(digest, known)
        said = json.loads(known)
        return said["listed"] if said else before


def _parents(repository: Repository, tip: str, start: str) -> dict[str, Sequence[str]]:
    """The parents of each commit that is behind `tip` and not behind `start`, every commit before its parents."""
    listing = repository.git.run(
        "rev-list", "--topo-order", "--parents", "--end-of-options", tip, f"^{start}", "--"
    ).decode()
    rows = (line.split() for line in listing.splitlines())
    return {commit: parents for commit, *parents in rows}


def nothing_counts(judged: Judged) -> NoSignedCommit:
    """Why no pass can be made, where nothing counts."""
    assert judged.uncounted is not None
    problem = uncounted_problem(judged.uncounted, Location(""))
    return NoSignedCommit(problem.message, hint=problem.hint)


def _without_start(repository: Repository, start: str) -> NoSignedCommit:
    where = repository.address.redacted
    hint = "push that commit again, to any branch or tag; or see who has rewritten the branch"
    if repository.is_shallow:
        hint = "this clone is shallow: git fetch --unshallow brings its whole history"
    return NoSignedCommit(
        f"the last pass was made from {start[:12]}, which {where} does not have, so nobody knows whose commits count since then",
        hint=hint,
    )
