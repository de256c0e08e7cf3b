"""
Writing the deployment repository: commits made from objects, and one push that either lands whole or not at all.

A pass is computed from a tip and may only land on that tip. The push names the tip it expects, and the server
compares and swaps; whoever comes second gets LostRace, reads again and recomputes. Nothing is rebased and nothing is
forced. No work tree is involved: `git fast-import` writes the commits into an empty scratch repository that borrows
the other objects, so a crash leaves nothing behind but a temporary folder. Same steps on the same tip, same ids.

Beside its branch a pass keeps proposals: branches of ours, each with one commit on top of the tip, for somebody to merge.
They go out in the same push. A server that will not have them does not keep the pass from landing.

A whole pass can be proposed as well, instead of landing: its commits are then a branch of ours on top of the tip, which stands for as
long as it is what a pass would do, and is replaced when it is not. Nobody else's commits are ever replaced.
"""

from __future__ import annotations

import datetime
import hashlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from gitplacer.git.address import Address
from gitplacer.git.asking import Sort, request
from gitplacer.git.login import Right
from gitplacer.git.mirror import Mirror, Unreachable, refs_of, unreachable
from gitplacer.git.notes import Note, push_note
from gitplacer.git.program import NO_REPOSITORY, CommandFailed, Git, GitError, Talk, cause, one_line
from gitplacer.git.reading import Commit, Repository, check_branch, parse_commit
from gitplacer.git.resigning import same_but_signatures, sign_all
from gitplacer.git.scratch import scratch_folder
from gitplacer.git.signing import SigningKey
from gitplacer.tree import FILE, Changes, Tree, blob_id, differing_paths

INPUTS = "gitplacer-inputs"
"""The branch that keeps the capacity trees passes were computed from."""

PROPOSALS = "gitplacer/proposed/"
"""Branches with proposed commits begin with this; the id of a group follows."""

NEXT = "gitplacer/next/"
"""The branch with the commits of a pass that is proposed as a whole begins with this; the deployment branch follows."""

__all__ = [
    "INPUTS",
    "NEXT",
    "PROPOSALS",
    "Deployment",
    "Identity",
    "LostRace",
    "NewCommit",
    "PushRefused",
    "Unreachable",
]


SQUASHED = "gitplacer/squashed/"
"""The branch that keeps the commits of a proposed pass which somebody squashed begins with this; the deployment branch follows."""

_STEPS = 10_000
"""Commits that one pass may have."""


class LostRace(GitError):
    """The branch is no longer what the pass was computed from. Open it again and recompute."""

    kind = "LostRace"


class PushRefused(GitError):
    """A hook, a protected branch or a missing permission is against it; trying again will not help."""

    kind = "PushRefused"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes a commit."""

    name: str
    email: str

    @staticmethod
    def parse(text: str) -> Identity:
        """The identity that `Name <mail>` spells. Raises ValueError."""
        found = _PERSON.fullmatch(text.strip())
        if found is None or found["name"] != _plain(found["name"]):
            raise ValueError(f"{one_line(text, 100)!r} is not written like Name <name@example.com>")
        return Identity(found["name"], found["email"])

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    """
    A commit to make: what it changes, and what it says. `when` must know its time zone; git gets it in UTC. `modes` are git's modes of
    written files that are not plain ones.
    """

    changes: Changes
    message: str
    author: Identity
    when: datetime.datetime
    modes: Mapping[str, str] = field(default_factory=dict)


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
        return proposals.keys() == self.proposals.keys() and all(
            self._stands(branch, commit) for branch, commit in proposals.items()
        )

    def _stands(self, branch: str, commit: NewCommit) -> bool:
        """
        Whether a commit is proposed already: on the tip, with what it says of itself and the paths it touches, and signed if we sign.
        """
        if branch not in self.proposals or self.tip is None:
            return False
        found = self.repository.commit(self.proposals[branch])
        if not self.lets_stand(found.is_signed) or found.parents != (self.tip,):
            return False
        if undated(f"{found.subject}\n\n{found.body}") != undated(commit.message):
            return False
        made = set(differing_paths(self.tree, self.repository.tree(found.id)))
        return made == {*commit.changes.written, *commit.changes.removed}

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
                self._push(scratch, self._updates(new, new_inputs))
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
                line for commit in kept for line in _again("refs/heads/new", commit, self.repository.message(commit.id))
            ]
            gone = step.changes.removed & set(self.tree.entries)
            new = self._imported(scratch, [*stream, *_commit("refs/heads/new", step, None, gone)])["new"]
            with Repository(self.address, scratch, {}) as made:
                self._check_tree(made.tree(new), [step])
            new = self._signed(scratch, {"new": new})["new"]
            self._push(scratch, self._updates(new, None))
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
            self._push(scratch, {**updates, **self._kept(squashed)})
        return made["new"]

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
                self._push(self._scratch(folder), {**updates, **self._kept(squashed)})

    def _kept(self, squashed: str | None) -> dict[str, tuple[str | None, str | None]]:
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
    ) -> dict[str, tuple[str | None, str | None]]:
        """For each branch of a proposal that changes, what it is and what it becomes."""
        if proposals is None:
            return {}
        updates: dict[str, tuple[str | None, str | None]] = {}
        for number, (branch, commit) in enumerate(sorted(proposals.items())):
            if moved or not self._stands(branch, commit):
                updates[f"refs/heads/{branch}"] = self.proposals.get(branch), made[f"proposal-{number}"]
        gone = self.proposals.keys() - proposals.keys()
        return updates | {f"refs/heads/{branch}": (self.proposals[branch], None) for branch in sorted(gone)}

    def _push_with_proposals(
        self,
        scratch: Git,
        new: str | None,
        new_inputs: str | None,
        updates: Mapping[str, tuple[str | None, str | None]],
    ) -> None:
        """
        All in one push. Where the server does not take that, the pass lands without its proposals, and these are tried by
        themselves: they are an offer, and no part of what is deployed.
        """
        main = self._updates(new, new_inputs) if new is not None else {}
        try:
            self._send(scratch, {**main, **updates}, atomic=True)
        except CommandFailed:
            if new is not None:
                self._push(scratch, self._updates(new, new_inputs))
            try:
                self._send(scratch, updates, atomic=False)
            except CommandFailed as failure:
                self.refused = _reason(failure)

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
        stream: list[bytes] = []
        removes = any(commit.changes.removed for commit in (*steps, *proposals.values()))
        paths = set(self.tree.entries) if removes else set[str]()
        for number, step in enumerate(steps):
            parent = self.tip if number == 0 else None
            # Deleting a path deletes a whole folder where it names one, so only files that are there are deleted.
            gone = step.changes.removed & paths
            stream += _commit("refs/heads/new", step, parent, gone)
            paths -= gone
            paths |= step.changes.written.keys()
        if inputs:
            stream += _commit("refs/heads/inputs", inputs, self.inputs_tip, None)
        for number, (_, proposal) in enumerate(sorted(proposals.items())):
            parent = "refs/heads/new" if steps else self.tip
            stream += _commit(f"refs/heads/proposal-{number}", proposal, parent, proposal.changes.removed & paths)
        return self._imported(scratch, stream, alike=self.tip is not None)

    def _imported(self, scratch: Git, stream: Sequence[bytes], *, alike: bool = True) -> dict[str, str]:
        """
        The branches that a stream for fast-import makes. `alike`: what it makes may be like what is there, so that saying only in what they
        differ is worth looking for it. In a first commit, which may be of a whole fleet, that takes half of the time.
        """
        # unpackLimit=0: leave the pack as it is; it goes to the server in a moment, and then away.
        command = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done"]
        if not alike:
            command += ["--depth=0"]
        scratch.run(*command, input=(*stream, b"done\n"))
        listing = scratch.run("for-each-ref", "--format=%(refname) %(objectname)").decode()
        made = dict(line.split(" ") for line in listing.splitlines())
        return {name.removeprefix("refs/heads/"): oid for name, oid in made.items()}

    def _check_made(self, made: Repository, new: str, steps: Sequence[NewCommit]) -> None:
        """
        What goes out is exactly what was planned. Git tells what has changed: where that is each planned path and no other, no tree has to
        be listed.
        """
        changes = _together(steps)
        planned = {path: blob_id(data) for path, data in changes.written.items()}
        if self.tip is not None and not changes.removed:
            found = made.changes(self.tip, new)
            if {p: e.oid for p, (_, e) in found.items() if e is not None and e.mode == FILE} == planned and len(
                found
            ) == len(planned):
                return
        self._check_tree(made.tree(new), steps)

    def _check_tree(self, made: Tree, steps: Sequence[NewCommit]) -> None:
        """What goes out is exactly what was planned; a foreign file that is in the way of a folder stops it."""
        planned = self.tree.apply(_together(steps))
        if planned != made:
            path = differing_paths(planned, made)[0]
            raise GitError(
                f"{self.address.redacted} has {path} in the way: a file and a folder cannot have one name",
                "PathClash",
                "move it away in the deployment repository",
            )

    def _push(self, scratch: Git, updates: Mapping[str, tuple[str | None, str | None]]) -> None:
        """`updates` begins with the branch that the push is about."""
        try:
            self._send(scratch, updates, atomic=len(updates) > 1)
        except CommandFailed as failure:
            self._explain(failure, updates)

    def _updates(self, new: str, new_inputs: str | None) -> dict[str, tuple[str | None, str | None]]:
        """For each ref of the pass itself, what it is and what it becomes."""
        return {f"refs/heads/{self.branch}": (self.expected, new), **self._inputs_update(new_inputs)}

    def _inputs_update(self, new: str | None) -> dict[str, tuple[str | None, str | None]]:
        return {f"refs/heads/{INPUTS}": (self.inputs_tip, new)} if new else {}

    def _send(self, scratch: Git, updates: Mapping[str, tuple[str | None, str | None]], *, atomic: bool) -> None:
        """
        Push. The lease is used as a compare-and-swap only: on the branch each commit is a child of the tip that the lease names,
        so a push that succeeds is always a fast-forward, and one that would not be fails. An empty lease says "not there".
        Only a proposal, which is a branch of ours, is replaced or deleted.
        """
        arguments = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]
        arguments += ["--atomic"] if atomic else []
        arguments += [f"--force-with-lease={ref}:{old or ''}" for ref, (old, _) in updates.items()]
        # A server that keeps refs as files takes them one by one, also in an atomic push; if it goes down in between, what a pass was
        # computed from should be there rather than the pass. New refs are taken in our order, others in that of their names.
        order = sorted(updates, key=lambda ref: ref != f"refs/heads/{INPUTS}")
        specs = [f"{updates[ref][1] or ''}:{ref}" for ref in order]
        git = self.address.git(scratch.git_dir, Right.WRITE)
        with request(Sort.PUSH):
            git.run("push", *arguments, "--", self.address.url, *specs, talk=Talk.TRANSFER)

    def _explain(self, failure: CommandFailed, updates: Mapping[str, tuple[str | None, str | None]]) -> None:
        """Raise what a failed push means; return if it has landed after all and only its answer was lost."""
        now = refs_of(self.address, *updates)
        first, (_, new) = next(iter(updates.items()))
        if now.get(first) == new:
            return
        where = f"branch {first.removeprefix('refs/heads/')} of {self.address.redacted}"
        # What a hook prints when it declines is for people: it may speak of races and anything else.
        said = failure.stdout if _DECLINED.search(failure.stdout) else f"{failure.stdout}\n{failure.stderr}"
        moved = any(now.get(ref) != old for ref, (old, _) in updates.items())
        left = _left_lock(said) if self.address.is_local and not moved else None
        if left is not None:
            hint = f"if no git is at work there, delete {left}"
            raise PushRefused(f"{where} is locked by a git that was ended: {left} is there", hint=hint) from None
        # The winner may hold the lock without being visible yet: such an answer is a lost race, too.
        if moved or (_RACE.search(said) and not _NO_RACE.search(said)):
            hint = "somebody else pushed: read it again and recompute"
            raise LostRace(f"{where} has moved in the meantime", hint=hint) from None
        reason = _reason(failure)
        if "does not support --atomic" in said:
            raise PushRefused(f"the server of {self.address.redacted} cannot push two branches atomically") from None
        if "branch is currently checked out" in said:
            hint = "push to a bare repository, or check out another branch there"
            raise PushRefused(f"{where} is checked out in its work tree", hint=hint) from None
        if re.search(r"^!\t", failure.stdout, re.MULTILINE):
            hint = "its hooks or branch protection decide this: let this user push there, or choose another branch"
            raise PushRefused(f"{where} refused the push: {reason}", hint=hint) from None
        if _FORBIDDEN.search(said):
            hint = "let this user push there, or push as its owner"
            raise PushRefused(f"{where}: no permission to push: {reason}", hint=hint) from None
        raise unreachable(self.address, failure) from None


def _together(steps: Sequence[NewCommit]) -> Changes:
    """What steps change, one after another."""
    written: dict[str, bytes] = {}
    for step in steps:
        written = {path: data for path, data in written.items() if path not in step.changes.removed}
        written.update(step.changes.written)
    return Changes(written, frozenset().union(*(step.changes.removed for step in steps)))


def is_of_a_pass(commit: Commit) -> bool:
    """Whether a pass made it, by its trailers. The proposal of one group is no pass."""
    return commit.trailer("Gitplacer-Version") is not None and commit.trailer("Gitplacer-Proposed") is None


def undated(message: str) -> str:
    """A message's subject and trailers, without those that differ with every pass; what is told between may differ as well."""
    subject, *lines = message.strip().split("\n")
    trailers = message.strip().rpartition("\n\n")[2].split("\n") if lines else []
    return "\n".join([subject, *(line for line in trailers if not line.startswith(_DATED))])


def proposal_branch(group_id: str) -> str:
    """The branch of a group's proposal. What git does not allow in a name is replaced, and told apart by a digest."""
    name = f"{PROPOSALS}{group_id}"
    try:
        return check_branch(name)
    except GitError:
        digest = hashlib.sha256(group_id.encode()).hexdigest()[:8]
        return f"{PROPOSALS}{re.sub(r'[^A-Za-z0-9_/-]', '-', group_id)}-{digest}"


_PERSON = re.compile(r"(?P<name>[^<>]*[^<>\s]) <(?P<email>[^<>\s@]+@[^<>\s@]+)>")
_DATED = ("Gitplacer-Now:", "Gitplacer-Capacity:", "Gitplacer-Base:")

_RACE = re.compile(
    r"cannot lock ref|failed to update ref|incorrect old value|stale info|fetch first|non-fast-forward"
    r"|atomic transaction failed"
)
_DECLINED = re.compile(r"^!\t.*hook declined\)$", re.MULTILINE)
_NO_RACE = re.compile(r"exists; cannot create|Permission denied|Read-only file system|No space left")
_FORBIDDEN = re.compile(
    r"error: 40[13]|denied|not allowed|forbidden|read-only|unable to create|not permitted|dubious ownership", re.I
)


def _reason(failure: CommandFailed) -> str:
    """Why a server said no, with what its hooks printed."""
    given = re.findall(r"^!\t[^\t]*\t\[[^]]*\] \((.*)\)$", failure.stdout, re.MULTILINE)
    causes = [text for text in dict.fromkeys(given) if text != "atomic push failed"]
    remote = re.findall(r"^remote: (.*)$", failure.stderr, re.MULTILINE)
    lines = [one_line(text) for text in (*causes, *remote)]
    return "; ".join(text for text in lines if text) or cause(failure.stderr)


_LOCKED = re.compile(r"Unable to create '([^'\n]+\.lock)': File exists")
_LEFT_AFTER = 60
"""Seconds. Git holds a lock on a ref for moments."""


def _left_lock(said: str) -> Path | None:
    """The lock in a local repository that was in the way of a push, if it was left there and nobody is about to take it away."""
    named = _LOCKED.search(said)
    path = Path(named[1]) if named else None
    try:
        return path if path is not None and time.time() - path.stat().st_mtime > _LEFT_AFTER else None
    except OSError:
        return None


def _commit(ref: str, commit: NewCommit, parent: str | None, gone: Iterable[str] | None) -> list[bytes]:
    """The lines that make fast-import add a commit to a ref. `gone` None replaces the whole tree."""
    if commit.when.tzinfo is None:
        raise ValueError("a commit's time must know its time zone")
    who = f"{_plain(commit.author.name)} <{_plain(commit.author.email)}> {int(commit.when.timestamp())} +0000\n"
    message = commit.message.rstrip("\n").replace("\0", "").encode("utf-8", "replace") + b"\n"
    lines = [f"commit {ref}\nauthor {who}committer {who}".encode(), b"data %d\n" % len(message), message]
    lines.append(f"from {parent}\n".encode() if parent else b"")
    lines += [b"deleteall\n"] if gone is None else [b"D %s\n" % _quoted(path) for path in sorted(gone)]
    for path in sorted(commit.changes.written):
        data = commit.changes.written[path]
        mode = commit.modes.get(path, FILE).encode()
        lines += [b"M %s inline %s\ndata %d\n" % (mode, _quoted(path), len(data)), data, b"\n"]
    return lines


def _again(ref: str, commit: Commit, message: bytes) -> list[bytes]:
    """The lines that make fast-import repeat a commit on a ref: the same files and words, by the same person at the same time."""
    when = int(datetime.datetime.fromisoformat(commit.date).timestamp())
    who = f"{_plain(commit.author_name)} <{_plain(commit.author_email)}> {when} +0000\n"
    lines = [f"commit {ref}\nauthor {who}committer {who}".encode(), b"data %d\n" % len(message), message, b"\n"]
    return [*lines, f'M 040000 {commit.tree} ""\n'.encode()]


def _plain(text: str) -> str:
    """A name without what would end it in a commit."""
    return one_line(re.sub(r"[<>]", "", text)) or "unknown"


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()
