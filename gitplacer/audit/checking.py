"""
A pass proved: every commit of it is, byte for byte, what its inputs come to.

A commit is proved if it stands where it says (the step that it names on top of the base that it names), says word for word what
the pass would have said, and holds the files that the pass would have left after that step. One pass is computed once, however
many commits it made.

A pass may also be a pull request that somebody merged. It then stands behind their merge, or is rebased, later than it was made and
perhaps on commits of others that came in between. It is proved if the branch got from it what it comes to and nothing else, and
if no other pass came between its base and its landing: an old one that is brought again is no pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gitplacer.audit.recompute import Recomputation, Recomputed
from gitplacer.branch.byhand import reverted_by
from gitplacer.branch.lastpass import brought_by, let_in
from gitplacer.commits import PREFIX, PROPOSED
from gitplacer.explain import rfc3339
from gitplacer.git.objects import MissingObject
from gitplacer.git.ourbranches import is_of_a_pass
from gitplacer.git.reading import Commit, NoSuchRevision
from gitplacer.hydrate import Step
from gitplacer.kinds.record import RECORDS
from gitplacer.linediff import unified
from gitplacer.model.audit import COMPUTED, MISSING, Answer, Checked, Discrepancy, Mismatch
from gitplacer.source.files import Memo
from gitplacer.trailers import Malformed, ProvenanceClaim, instant, is_ours, read_claim
from gitplacer.tree import Changes, Tree, differing_paths, oid_of
from gitplacer.treeids import tree_id

_EXCERPT = 12
"""Lines of a diff that are shown."""
_COMPARED = 5000
"""Lines of a file that are compared to find them."""
_BETWEEN = 1000
"""Commits of others that may have come between the base of a pass and its landing."""
_BROUGHT = 20
"""Commits of a merge that are looked at for a proposal."""


def passes(commits: Sequence[Commit]) -> Iterator[list[Commit]]:
    """Commits of a branch, the oldest first, with those together that say they are of one pass."""
    together: list[Commit] = []
    last: ProvenanceClaim | Malformed | None = None
    for commit in commits:
        claim = read_claim(commit.trailers) if is_of_a_pass(commit) else None
        goes_on = (
            isinstance(claim, ProvenanceClaim)
            and isinstance(last, ProvenanceClaim)
            and claim.inputs == last.inputs
            and (claim.step, claim.steps) == (last.step + 1, last.steps)
        )
        if together and not goes_on:
            yield together
            together = []
        together.append(commit)
        last = claim
    if together:
        yield together


class Checking:
    """Commits held against a recomputation. What cannot be computed with this version is put down to another, if one is named."""

    def __init__(self, recomputation: Recomputation, version: str) -> None:
        self._recomputation = recomputation
        self.repository = recomputation.deployment
        """The deployment repo."""
        self._version = version

    def check(self, commits: Sequence[Commit], memo: Memo) -> list[Checked]:
        """The commits of one pass, or one that is of none; in their order."""
        if not is_ours(commits[0].trailers):
            return [self._foreign(commit, memo) for commit in commits]
        if commits[0].trailer(PROPOSED) is not None:
            return [self._proposal(commit, memo) for commit in commits]
        found = []
        made: Recomputed | Discrepancy | None = None
        before: Commit | None = None
        for commit in commits:
            merged = self._merged(
                commit, memo
            )  # a host may put the description of the pull request, with trailers, there
            if merged is not None:
                found.append(merged)
                continue
            claim = read_claim(commit.trailers)
            wrong: Discrepancy | None
            if isinstance(claim, Malformed):
                wrong = Discrepancy(mismatch=Mismatch.TRAILER, where=claim.key, found=claim.value or "")
            else:
                wrong = self._misplaced(commit, claim, before)
                before = commit if wrong is None else None
                landed = wrong is not None and self._is_rebased(commit, claim)
                if wrong is None or landed:
                    made = made or self._recomputation.of(claim, commit, memo)
                    wrong = made if isinstance(made, Discrepancy) else self._differs(commit, claim, made, landed)
                    if wrong is not None and not isinstance(made, Discrepancy):
                        wrong = replace(wrong, hint=self._recomputation.path_hint(made))
                if landed and wrong is None:
                    checked = self._judged(commit, claim, None)
                    found.append(replace(checked, landed=commit.committer_name))
                    continue
            found.append(self._judged(commit, claim, wrong))
        return found

    def _judged(self, commit: Commit, claim: ProvenanceClaim | Malformed, wrong: Discrepancy | None) -> Checked:
        checked = _told(commit, Answer.VERIFIED)
        if isinstance(claim, ProvenanceClaim):
            inputs, step = claim.inputs, f"{claim.step}/{claim.steps}"
            checked = replace(
                checked,
                version=inputs.version,
                step=step,
                source=inputs.source,
                capacity=inputs.capacity,
                base=inputs.base,
            )
        if wrong is None:
            answer = Answer.VERIFIED
        elif wrong.mismatch in MISSING:
            answer = Answer.INPUT_MISSING
        elif wrong.mismatch in COMPUTED and checked.version != self._version:
            answer = Answer.OTHER_VERSION
        else:
            answer = Answer.DIFFERS
        return replace(checked, answer=answer, discrepancy=wrong)

    # a step of a pass

    def _misplaced(self, commit: Commit, claim: ProvenanceClaim, before: Commit | None) -> Discrepancy | None:
        """Whether a commit is not where and when it says. `before` is the step before it, if that is where it says."""
        if len(commit.parents) > 1:
            return Discrepancy(mismatch=Mismatch.PARENT, expected="one parent", found=f"{len(commit.parents)} parents")
        if instant(commit.date) != claim.inputs.now:
            return Discrepancy(
                mismatch=Mismatch.DATE, where="Gitplacer-Now", expected=rfc3339(claim.inputs.now),
                found=rfc3339(instant(commit.date)),
            )  # fmt: skip
        if before is not None and commit.parents == (before.id,):
            return None
        return self._elsewhere(commit, claim)

    def _elsewhere(self, commit: Commit, claim: ProvenanceClaim) -> Discrepancy | None:
        """Whether as many commits behind a commit as it says there are steps is something else than its base."""
        behind = commit.parents[0] if commit.parents else ""
        for _ in range(claim.step - 1):
            try:
                parents = self.repository.commit(behind).parents if behind else ()
            except NoSuchRevision:
                return self._recomputation.base_gone(behind)
            if not parents:
                behind = "a history of fewer commits"
                break
            behind = parents[0]
        if behind == claim.inputs.base:
            return None
        expected = claim.inputs.base or "none"
        return Discrepancy(mismatch=Mismatch.PARENT, where="Gitplacer-Base", expected=expected, found=behind or "none")

    def _differs(self, commit: Commit, claim: ProvenanceClaim, made: Recomputed, landed: bool) -> Discrepancy | None:
        steps = made.hydration.steps
        if len(steps) != claim.steps:
            return Discrepancy(mismatch=Mismatch.STEPS, expected=str(len(steps)), found=str(claim.steps))
        if landed:
            step = steps[claim.step - 1]
            return self._other_message(commit, step) or self._brings(commit, step.changes)
        otherwise = self._other_message(commit, steps[claim.step - 1])
        if otherwise is not None or commit.tree == made.ids.after(claim.step):
            return otherwise
        return self._other_file(commit, made.base.apply(_together(step.changes for step in steps[: claim.step])))

    def _other_message(self, commit: Commit, step: Step) -> Discrepancy | None:
        wanted, found = _as_written(step.message), self.repository.message(commit.id)
        if wanted == found:
            return None
        return Discrepancy(mismatch=Mismatch.MESSAGE, excerpt=_excerpt(wanted, found))

    def _other_file(self, commit: Commit, tree: Tree) -> Discrepancy | None:
        if commit.tree == tree_id(tree):
            return None
        found = self.repository.tree(commit.id)
        paths = _unlike(tree, found)
        if not paths:
            return None
        right, there = ("" if one is None else one for one in (_mode(tree, paths[0]), _mode(found, paths[0])))
        excerpt = _excerpt(_bytes(tree, paths[0]), _bytes(found, paths[0]))
        return Discrepancy(mismatch=Mismatch.FILE, where=paths[0], expected=right, found=there, excerpt=excerpt)

    # a pass that somebody let in

    def _is_rebased(self, commit: Commit, claim: ProvenanceClaim) -> bool:
        """
        Whether it may be a step of a pass that somebody else rebased: later than it was made, on its base or on what others have put on
        that since.
        """
        if commit.committer_name == commit.author_name or instant(commit.date) < claim.inputs.now:
            return False
        try:
            below = commit
            for step in range(claim.step, 0, -1):
                said = read_claim(below.trailers)
                if not isinstance(said, ProvenanceClaim) or (said.inputs, said.step) != (claim.inputs, step):
                    return False
                if len(below.parents) != 1:
                    return False
                below = self.repository.commit(below.parents[0])
            return self._is_next(below, claim.inputs.base)
        except NoSuchRevision:
            return False

    def _is_next(self, commit: Commit, base: str) -> bool:
        """Whether only others came to the branch from a base to a commit on it."""
        for older in self.repository.first_parent_log(commit.id, _BETWEEN):
            if older.id == base:
                return True
            if is_ours(older.trailers) or let_in(self.repository, older):
                return False
        return False

    def _merged(self, merge: Commit, memo: Memo) -> Checked | None:
        """A merge that brings one pass, whole, and nothing else; None for any other."""
        row = let_in(self.repository, merge)
        claim = read_claim(row[-1].trailers) if row else None
        if not isinstance(claim, ProvenanceClaim) or len(list(passes(row))) != 1 or len(row) != claim.steps:
            return None
        if not self._is_next(self.repository.commit(merge.parents[0]), claim.inputs.base):
            return None
        if any(checked.answer is not Answer.VERIFIED for checked in self.check(row, memo)):
            return None
        if self._brings(merge, self._between(claim.inputs.base, row[-1].id)) is not None:
            return None
        return replace(self._judged(merge, claim, None), step="", landed=merge.author_name)

    def _between(self, old: str, new: str) -> Changes:
        """What a commit has otherwise than another."""
        before, after = self.repository.tree(old), self.repository.tree(new)
        paths = differing_paths(before, after)
        written = after.read_all(path for path in paths if path in after)
        return Changes(written, frozenset(path for path in paths if path not in after))

    # commits of others

    def _proposal(self, commit: Commit, memo: Memo) -> Checked:
        """A proposal that stands on the branch itself: it was merged by moving the branch to it, rebased or squashed."""
        claim = read_claim(commit.trailers)
        if isinstance(claim, Malformed):
            wrong = Discrepancy(mismatch=Mismatch.TRAILER, where=claim.key, found=claim.value or "")
            return self._judged(commit, claim, wrong)
        found = self._offered(commit, claim, memo)
        checked = self._judged(
            commit, claim, found if isinstance(found, Discrepancy) else self._brings(commit, found.changes)
        )
        return replace(checked, consent=claim.proposed or "") if checked.discrepancy is None else checked

    def _offered(self, commit: Commit, claim: ProvenanceClaim, memo: Memo) -> Step | Discrepancy:
        """The proposal that a claim is about, as it should be."""
        made = self._recomputation.of(claim, commit, memo)
        if isinstance(made, Discrepancy):
            return made
        step = next(
            (s for s in made.hydration.proposals if s.relocation is not None and s.relocation.group == claim.proposed),
            None,
        )
        if step is None:
            return Discrepancy(mismatch=Mismatch.NOT_PROPOSED, where=claim.proposed or "")
        wanted = _as_written(step.message).rpartition(b"\n\n")[2]
        found = self.repository.message(commit.id).rpartition(b"\n\n")[2]
        if wanted != found:
            return Discrepancy(mismatch=Mismatch.MESSAGE, excerpt=_excerpt(wanted, found))
        return step

    def _brings(self, commit: Commit, changes: Changes) -> Discrepancy | None:
        """Where a commit is not what its proposal makes of whatever it was merged into: no less, and no more."""
        before = self.repository.tree(commit.parents[0]) if commit.parents else Tree()
        return self._other_file(commit, before.apply(changes))

    def _foreign(self, commit: Commit, memo: Memo) -> Checked:
        """One that says nothing of a pass. A merge that brings a proposal and nothing else is as good as its proposal."""
        checked = _told(commit, Answer.FOREIGN)
        merged = self._merged(commit, memo)
        if merged is not None:
            return merged
        for oid in self._brought(commit):
            proposal = self.repository.commit(oid)
            claim = read_claim(proposal.trailers) if proposal.trailer(PROPOSED) is not None else None
            if not isinstance(claim, ProvenanceClaim):
                continue
            step = self._offered(proposal, claim, memo)
            is_it = not isinstance(step, Discrepancy) and self._brings(commit, step.changes) is None
            answer = Answer.VERIFIED if is_it else Answer.FOREIGN
            return replace(checked, answer=answer, consent=claim.proposed or "")
        named = next(iter(reverted_by(self.repository, commit)), "")
        return replace(checked, reverts=named, squashed=not named and self._looks_squashed(commit))

    def _looks_squashed(self, commit: Commit) -> bool:
        """Whether a commit says somewhere what a pass says last, or writes records, as nobody does by hand."""
        if len(commit.parents) != 1:
            return False
        if f"{PREFIX}Version: " in commit.body:
            return True
        try:
            paths = differing_paths(self.repository.tree(commit.parents[0]), self.repository.tree(commit.id))
        except (MissingObject, NoSuchRevision):
            return False
        return any(path.startswith(f"{RECORDS}/") for path in paths)

    def _brought(self, merge: Commit) -> list[str]:
        if len(merge.parents) < 2:
            return []
        try:
            return brought_by(self.repository, merge, _BROUGHT)
        except MissingObject:
            return []


def _told(commit: Commit, answer: Answer) -> Checked:
    return Checked(
        commit=commit.id, subject=commit.subject, author=commit.author_name, date=rfc3339(instant(commit.date)),
        answer=answer,
    )  # fmt: skip


def _together(some: Iterable[Changes]) -> Changes:
    """Changes one after another as one."""
    written: dict[str, bytes] = {}
    removed: set[str] = set()
    for changes in some:
        for path in changes.removed:
            written.pop(path, None)
        removed |= changes.removed
        written.update(changes.written)
    return Changes(written, frozenset(removed))


def _as_written(message: str) -> bytes:
    """A message as it is in a commit that was published."""
    return message.rstrip("\n").replace("\0", "").encode("utf-8", "replace") + b"\n"


def _unlike(one: Tree, other: Tree) -> list[str]:
    return [
        p for p in differing_paths(one, other) if (_mode(one, p), oid_of(one, p)) != (_mode(other, p), oid_of(other, p))
    ]


def _mode(tree: Tree, path: str) -> str:
    entry = tree.entries.get(path)
    return entry.mode if entry else ""


def _bytes(tree: Tree, path: str) -> bytes:
    entry = tree.entries.get(path)
    return tree.read(path) if entry is not None and entry.is_text else b""


def _excerpt(wanted: bytes, found: bytes) -> tuple[str, ...]:
    """The first lines of a diff from what is right to what is there."""
    old, new = (data.decode("utf-8", "replace").splitlines()[:_COMPARED] for data in (wanted, found))
    lines = list(unified(old, new, context=1))
    return tuple(lines[:_EXCERPT]) + (("…",) if len(lines) > _EXCERPT else ())
