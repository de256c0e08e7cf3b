"""
Writing the deployment repository: commits made from objects, and one push that either lands whole or not at all.

A pass is computed from a tip and may only land on that tip: the push (`pushing`) names the tip it expects, and whoever comes second
gets LostRace, reads again and recomputes. Nothing is rebased and nothing is forced. The commits (`newcommits`) are made in an empty
scratch repository that borrows the other objects, so a crash leaves nothing behind but a temporary folder. Same steps on the same tip,
same ids.

Beside its branch a pass keeps proposals: branches of ours, each with one commit on top of the tip, for somebody to merge.
They go out in the same push. A server that will not have them does not keep the pass from landing.

A whole pass can be proposed as well, instead of landing: its commits are then a branch of ours on top of the tip, which stands for as
long as it is what a pass would do, and is replaced when it is not. Nobody else's commits are ever replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from gitplacer.git.address import Address
from gitplacer.git.mirror import Mirror, refs_of
from gitplacer.git.newcommits import NewCommit, added, blobs, imported, repeated, together
from gitplacer.git.notes import Note, push_note
from gitplacer.git.objects import MissingObject
from gitplacer.git.ourbranches import INPUTS, NEXT, PROPOSALS, SQUASHED, is_of_a_pass, undated
from gitplacer.git.program import NO_REPOSITORY, CommandFailed, Git, GitError, TimedOut
from gitplacer.git.pushing import Change, Updates, push, reason_of, send
from gitplacer.git.reading import Commit, Repository, check_branch, parse_commit
from gitplacer.git.resigning import same_but_signatures, sign_all
from gitplacer.git.scratch import scratch_folder
from gitplacer.git.signing import SigningKey
from gitplacer.tree import FILE, Tree, blob_id, differing_paths

_MANY = 2_000
"""Texts of steps from which on they are kept by two processes."""
_AT_ONCE = 1_000
"""Branches with proposals that go out in one push: each is named up to twice in its arguments, for which the system has limited room."""
_STEPS = 10_000
"""Commits that one pass may have."""


class Deployment:
    """
    A branch of the deployment repository as it is now. `tip` is its commit, None when there is no such branch yet;
    `tree` its files; `proposals` are the commits that are proposed, by branch, and `proposed_pass` is the tip of the branch with a pass
    that is proposed as a whole, and `squashed_pass` that of one that was squashed. Read more of it through `repository`.
    """

    def __init__(
        self,
        repository: Repository,
        branch: str,
        tip: str | None,
        inputs_tip: str | None,
        proposals: Mapping[str, str] = MappingProxyType({}),
        proposed_pass: str | None = None,
        squashed_pass: str | None = None,
        signing_key: SigningKey | None = None,
    ) -> None:
        self.repository = repository
        self.address = repository.address
        self.branch = branch
        self.tip = tip
        self.inputs_tip = inputs_tip
        self.proposals = proposals
        self.proposed_pass = proposed_pass
        self.squashed_pass = squashed_pass
        self.signing_key = signing_key
        """What every commit is signed with that is made here; None for no signatures."""
        self.refused = ""
        """Why the server did not take the proposals, if it did not."""
        self.unnoted = ""
        """Why there is no note on the tip that was to be there, if there is none."""
        self.expected = tip
        """What the branch has to be for a push to land: the tip, or None where it is begun from another branch's tip."""
        self.tree = repository.tree_when_asked(tip) if tip else Tree()

    @classmethod
    def open(
        cls,
        address: Address,
        branch: str,
        cache_dir: Path,
        *,
        begun_from: str | None = None,
        signing_key: SigningKey | None = None,
    ) -> Deployment:
        """
        The branch as it is now; where there is none yet, it begins with the tip of `begun_from`. Raises GitError (Unreachable,
        NotARepository, NoSuchRevision for an odd name).
        """
        if check_branch(branch) == INPUTS:
            raise GitError(f"{INPUTS} is kept for capacity trees", "BadAddress", "choose another deployment branch")
        names = {
            f"refs/heads/{name}"
            for name in (branch, begun_from or branch, INPUTS, f"{NEXT}{branch}", f"{SQUASHED}{branch}")
        }
        if address.is_local:
            repository = Repository.open(address, cache_dir)
            refs = refs_of(address, *sorted(names), below=f"refs/heads/{PROPOSALS}")
        else:
            mirror = Mirror(address, cache_dir)
            repository = Repository.mirrored(
                address, mirror, refs_of(address, *sorted(names), below=f"refs/heads/{PROPOSALS}")
            )
            refs = dict(repository.refs)
        heads = {name.removeprefix("refs/heads/"): oid for name, oid in refs.items()}
        proposals = {name: oid for name, oid in sorted(heads.items()) if name.startswith(PROPOSALS)}
        found = cls(
            repository,
            branch,
            heads.get(branch) or heads.get(begun_from or branch),
            heads.get(INPUTS),
            proposals,
            heads.get(f"{NEXT}{branch}"),
            heads.get(f"{SQUASHED}{branch}"),
            signing_key,
        )
        found.expected = heads.get(branch)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.repository.close()

    def is_proposed(self, proposals: Mapping[str, NewCommit]) -> bool:
        """Whether these commits and no others are proposed on the tip, by branch. When they were made does not matter."""
        return proposals.keys() == self.proposals.keys() and self._standing(proposals) == proposals.keys()

    def _standing(self, proposals: Mapping[str, NewCommit]) -> set[str]:
        """
        The branches of those that are proposed already: on the tip, with what they say of themselves and the paths they touch, and signed if we
        sign. Git is asked for all of them at once.
        """
        if self.tip is None:
            return set()
        oids = {branch: self.proposals[branch] for branch in proposals if branch in self.proposals}
        found = self.repository.commits_of(oids.values())
        said = {
            branch: found.get(oid) or self.repository.commit(oid)  # fetches what is damaged anew
            for branch, oid in oids.items()
        }
        alike = {branch: commit for branch, commit in said.items() if self._says(commit, proposals[branch])}
        changed = self._changed_by(alike.values())
        touched = {branch: {*proposals[branch].changes.written, *proposals[branch].changes.removed} for branch in alike}
        return {branch for branch, commit in alike.items() if changed[commit.id] == touched[branch]}

    def _says(self, found: Commit, commit: NewCommit) -> bool:
        """Whether a commit is on the tip, signed if we sign, and says of itself what one that is proposed would."""
        if not self.lets_stand(found.is_signed) or found.parents != (self.tip,):
            return False
        return undated(f"{found.subject}\n\n{found.body}") == undated(commit.message)

    def _changed_by(self, commits: Iterable[Commit]) -> dict[str, set[str]]:
        """
        The paths at which commits differ from the tip, by their ids: what they change is asked for, and not what their whole trees hold.
        """
        assert self.tip is not None
        oids = [commit.id for commit in commits]
        try:
            return self.repository.changed_by(oids, self.tip)
        except MissingObject:  # what is damaged is fetched anew
            return {oid: set(differing_paths(self.tree, self.repository.tree(oid))) for oid in oids}

    def publish(
        self,
        steps: Sequence[NewCommit],
        *,
        inputs: NewCommit | None = None,
        proposals: Mapping[str, NewCommit] | None = None,
        note: Note | None = None,
    ) -> str:
        """
        Make the steps one commit each, on top of the tip, push them together, and return the new tip. `inputs` becomes
        a commit of the branch `gitplacer-inputs`, in the same push, whose whole tree is what it writes; nothing is
        added there when that tree is on top already. `proposals` are all commits that are proposed from now on, by
        branch, each on top of the new tip; None leaves them as they are. `note` is put on the new tip once it has landed; `unnoted`
        says why, where that fails.

        Raises LostRace, PushRefused, Unreachable, or GitError (PathClash) when writing a path would displace a file
        that the changes do not name. In each case nothing has landed.
        """
        if not steps and (proposals is None or self.tip is None):
            raise ValueError("nothing to publish: a pass without changes makes no commit")
        with scratch_folder() as folder:
            scratch = self._scratch(folder)
            made = self._signed(scratch, self._made(scratch, steps, inputs, proposals or {}))
            new, new_inputs = made.get("new"), made.get("inputs")
            updates = self._proposal_updates(made, proposals, moved=new is not None)
            if updates:
                self._push_with_proposals(scratch, new, new_inputs, updates)
            elif new is not None:
                push(self.address, scratch, self._updates(new, new_inputs))
            if note is not None and (tip := new or self.expected):
                self.unnoted = push_note(scratch, self.address, tip, note, self.signing_key)
        return new or self.tip or ""

    def restart(self, kept: Sequence[Commit], step: NewCommit) -> str:
        """
        Make the branch anew: of its commits those that are kept, the first of them upon nothing, then the step. For branches that are
        their writer's own and none of a pass. Returns the new tip; raises as `publish` does.
        """
        with scratch_folder() as folder:
            scratch = self._scratch(folder)
            stream = [
                line
                for commit in kept
                for line in repeated("refs/heads/new", commit, self.repository.message(commit.id))
            ]
            gone = step.changes.removed & set(self.tree.entries)
            new = imported(scratch, [*stream, *added("refs/heads/new", step, None, gone)])["new"]
            with Repository(self.address, scratch, {}) as made:
                self._check_tree(made.tree(new), [step])
            new = self._signed(scratch, {"new": new})["new"]
            push(self.address, scratch, self._updates(new, None))
        return new

    def annotate(self, note: Note) -> None:
        """Put a note on the tip where a pass changes nothing."""
        if self.expected is not None:
            with scratch_folder() as folder:
                self.unnoted = push_note(self._scratch(folder), self.address, self.expected, note)

    def propose_pass(
        self, steps: Sequence[NewCommit], *, inputs: NewCommit | None = None, squashed: str | None = None
    ) -> str:
        """
        Make the steps as `publish` does, but on the branch of the proposed pass, in place of what was there, and return its
        tip. The deployment branch stays as it is. `squashed` is the tip of a pass that somebody has squashed, which is kept on
        another branch, because only by it the squash can be known. Raises as `publish` does, and GitError (ForeignCommit) where somebody else
        has committed to that branch.
        """
        self._refuse_foreign_commits()
        with scratch_folder() as folder:
            scratch = self._scratch(folder)
            made = self._made(scratch, steps, inputs, {})
            if self._is_proposed_pass(scratch, made["new"]):
                return self.proposed_pass or ""
            made = self._signed(scratch, made)
            ref = f"refs/heads/{self.next_branch}"
            updates = {ref: (self.proposed_pass, made["new"]), **self._inputs_update(made.get("inputs"))}
            push(self.address, scratch, {**updates, **self._kept(squashed)})
        return made["new"]

    @property
    def inputs(self) -> Tree:
        """The capacity that was used last, as the branch of capacity trees has it; nothing where there is none."""
        return self.repository.tree(self.inputs_tip) if self.inputs_tip is not None else Tree()

    def keeps_inputs(self, capacity: str | None) -> bool:
        """Whether the branch of capacity trees has this tree, by its id, on top already."""
        return self.inputs_tip is not None and self.repository.tree_id(self.inputs_tip) == capacity

    def lets_stand(self, has_signature: bool) -> bool:
        """Whether a proposed commit can stay, as far as its signature goes: where we sign, one without is made anew."""
        return has_signature or self.signing_key is None

    def _is_proposed_pass(self, scratch: Git, new: str) -> bool:
        """Whether commits that are not signed yet are what is proposed already."""
        if self.proposed_pass is None:
            return False
        with Repository(self.address, scratch, {}) as made:
            return same_but_signatures(made.objects, new, self.proposed_pass, self.lets_stand)

    def _signed(self, scratch: Git, made: Mapping[str, str]) -> dict[str, str]:
        if self.signing_key is None or not made:
            return dict(made)
        known = [tip for tip in (self.tip, self.inputs_tip) if tip is not None]
        with Repository(self.address, scratch, {}) as plain:
            return sign_all(scratch, plain.objects, made, known, self.signing_key)

    def withdraw_pass(self, *, squashed: str | None = None) -> None:
        """Delete the branch of the proposed pass. Raises as `propose_pass` does."""
        self._refuse_foreign_commits()
        if self.proposed_pass is not None:
            with scratch_folder() as folder:
                updates = {f"refs/heads/{self.next_branch}": (self.proposed_pass, None)}
                push(self.address, self._scratch(folder), {**updates, **self._kept(squashed)})

    def _kept(self, squashed: str | None) -> dict[str, Change]:
        if squashed == self.squashed_pass:
            return {}
        return {f"refs/heads/{SQUASHED}{self.branch}": (self.squashed_pass, squashed)}

    @property
    def next_branch(self) -> str:
        """The branch of the proposed pass."""
        return f"{NEXT}{self.branch}"

    def pass_proposed(self) -> list[Commit]:
        """The commits of the proposed pass, oldest first, if they are on the tip and nothing else is between; else none."""
        found: list[Commit] = []
        log = self.repository.first_parent_log(self.proposed_pass, _STEPS) if self.proposed_pass else ()
        for commit in log:
            if commit.id == self.tip:
                return found[::-1]
            if len(commit.parents) != 1 or not is_of_a_pass(commit):
                return []
            found.append(commit)
        return []

    def _refuse_foreign_commits(self) -> None:
        """A merge of the deployment branch into ours is no work of anybody: hosts offer it as a button."""
        if self.proposed_pass is None:
            return
        without = [f"^{self.tip}"] if self.tip else []
        listing = self.repository.git.run(
            "rev-list", "--no-merges", "--end-of-options", self.proposed_pass, *without, "--"
        ).decode()
        for found in self.repository.objects.look_up_all(listing.split()):
            commit = parse_commit(found) if found is not None else None
            if commit is not None and not is_of_a_pass(commit):
                raise GitError(
                    f"branch {self.next_branch} of {self.address.redacted} has a commit that is not ours: "
                    f"{commit.id[:12]} {commit.subject}",
                    "ForeignCommit",
                    "move it to another branch and delete this one; what is proposed here is computed anew",
                )

    def _made(
        self, scratch: Git, steps: Sequence[NewCommit], inputs: NewCommit | None, proposals: Mapping[str, NewCommit]
    ) -> dict[str, str]:
        """What `_import` makes, checked; without `inputs` where that tree is on top of its branch already."""
        refs = self._import(scratch, steps, inputs if steps else None, proposals)
        with Repository(self.address, scratch, {}) as made:
            if "new" in refs:
                self._check_made(made, refs["new"], steps)
            if self.inputs_tip and "inputs" in refs and made.tree_id(refs["inputs"]) == made.tree_id(self.inputs_tip):
                del refs["inputs"]
        return refs

    def _proposal_updates(
        self, made: Mapping[str, str], proposals: Mapping[str, NewCommit] | None, *, moved: bool
    ) -> dict[str, Change]:
        """For each branch of a proposal that changes, what it is and what it becomes."""
        if proposals is None:
            return {}
        updates: dict[str, Change] = {}
        standing = set[str]() if moved else self._standing(proposals)
        for number, branch in enumerate(sorted(proposals)):
            if branch not in standing:
                updates[f"refs/heads/{branch}"] = self.proposals.get(branch), made[f"proposal-{number}"]
        gone = self.proposals.keys() - proposals.keys()
        return updates | {f"refs/heads/{branch}": (self.proposals[branch], None) for branch in sorted(gone)}

    def _push_with_proposals(
        self,
        scratch: Git,
        new: str | None,
        new_inputs: str | None,
        updates: Updates,
    ) -> None:
        """
        All in one push, or what is too many for one behind it. Where the server does not take that, the pass lands without its proposals, and
        these are tried by themselves: they are an offer, and no part of what is deployed.
        """
        main = self._updates(new, new_inputs) if new is not None else {}
        names = list(updates)
        left = [{name: updates[name] for name in names[at : at + _AT_ONCE]} for at in range(0, len(names), _AT_ONCE)]
        try:
            send(self.address, scratch, {**main, **left[0]}, atomic=True)
            del left[0]
        except CommandFailed:
            if new is not None:
                push(self.address, scratch, main)
        for some in left:
            try:
                send(self.address, scratch, some, atomic=False)
            except TimedOut as failure:
                self.refused = reason_of(failure)
                return  # and not as long once more for each of the others
            except CommandFailed as failure:
                self.refused = reason_of(failure)

    def _scratch(self, folder: Path) -> Git:
        Git(NO_REPOSITORY).run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--", str(folder))
        objects = self.repository.git.run("rev-parse", "--path-format=absolute", "--git-path", "objects")
        (folder / "objects" / "info").mkdir(exist_ok=True)
        (folder / "objects" / "info" / "alternates").write_bytes(objects)
        return Git(folder)

    def _import(
        self,
        scratch: Git,
        steps: Sequence[NewCommit],
        inputs: NewCommit | None,
        proposals: Mapping[str, NewCommit],
    ) -> dict[str, str]:
        """Make the commits; what was made, as `new`, `inputs` and `proposal-<n>` in order of the branches."""
        stream = added("refs/heads/inputs", inputs, self.inputs_tip, None) if inputs else []
        texts = list(dict.fromkeys(text for step in steps for text in step.changes.written.values()))
        if len(texts) >= _MANY:  # which is most of the work, and two do it in half of the time
            imported(scratch, blobs(texts[::2]), blobs(texts[1::2]), stream, alike=self.tip is not None)
            steps, stream = [step.by_ids() for step in steps], []
        removes = any(commit.changes.removed for commit in (*steps, *proposals.values()))
        paths = set(self.tree.entries) if removes else set[str]()
        for number, step in enumerate(steps):
            parent = self.tip if number == 0 else None
            # Deleting a path deletes a whole folder where it names one, so only files that are there are deleted.
            gone = step.changes.removed & paths
            stream += added("refs/heads/new", step, parent, gone)
            paths -= gone
            paths |= step.changes.written.keys() | step.same.keys()
        for number, (_, proposal) in enumerate(sorted(proposals.items())):
            parent = "refs/heads/new" if steps else self.tip
            stream += added(f"refs/heads/proposal-{number}", proposal, parent, proposal.changes.removed & paths)
        return imported(scratch, stream, alike=self.tip is not None)

    def _check_made(self, made: Repository, new: str, steps: Sequence[NewCommit]) -> None:
        """
        What goes out is exactly what was planned. Git tells what has changed: where that is each planned path and no other, no tree has to
        be listed.
        """
        changes = together(steps)
        planned: dict[str, str | None] = {path: blob_id(data) for path, data in changes.written.items()}
        if self.tip is not None:
            gone = changes.removed - changes.written.keys()
            planned |= dict.fromkeys(gone & self.tree.entries.keys() if gone else ())
            found = made.changes(self.tip, new)
            as_files = (entry is None or entry.mode == FILE for _, entry in found.values())
            if all(as_files) and {p: e and e.oid for p, (_, e) in found.items()} == planned:
                return
        self._check_tree(made.tree(new), steps)

    def _check_tree(self, made: Tree, steps: Sequence[NewCommit]) -> None:
        """What goes out is exactly what was planned; a foreign file that is in the way of a folder stops it."""
        planned = self.tree.apply(together(steps))
        if planned != made:
            path = differing_paths(planned, made)[0]
            raise GitError(
                f"{self.address.redacted} has {path} in the way: a file and a folder cannot have one name",
                "PathClash",
                "move it away in the deployment repository",
            )

    def _updates(self, new: str, new_inputs: str | None) -> dict[str, Change]:
        """For each ref of the pass itself, what it is and what it becomes."""
        return {f"refs/heads/{self.branch}": (self.expected, new), **self._inputs_update(new_inputs)}

    def _inputs_update(self, new: str | None) -> dict[str, Change]:
        return {f"refs/heads/{INPUTS}": (self.inputs_tip, new)} if new else {}
