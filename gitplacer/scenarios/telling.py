"""
A scenario, told step by step on a stage.

The stage holds the two repos and runs the passes. Here is one of trees: each pass is `hydrate` on what the step before left, and the
story is as pure as that is. After each pass it is asked what one more would do: nothing, or it was not at rest; but of a fleet that
a scenario only lies in, that is not asked.

What is supposed in a step is planned beside the story: once for all that is lost or drained together, or once for each cluster that
is lost in turn, and the next step begins where this one did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct, field

from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.kinds.scenario import ByHand, ScenarioStep
from gitplacer.problems import Problem, Rejected
from gitplacer.scenarios.claims import Expressions, broken_claims, compiled
from gitplacer.scenarios.scene import Files, changed_files, first_deployment, first_files, first_time
from gitplacer.scenarios.script import Script
from gitplacer.scenarios.sightings import observed_files
from gitplacer.scenarios.supposing import Case, cases
from gitplacer.scenarios.verdict import Commit, Difference, commits_of, differences
from gitplacer.snapshot import snapshot_of
from gitplacer.source.files import Memo, NoMemo
from gitplacer.source.fleetspec import fleet_spec
from gitplacer.tree import Tree
from gitplacer.treeids import tree_id
from gitplacer.whatif import Supposition, Together, Unsupposable

_WHO = "You <you@example.com>"


class Unstageable(Exception):
    """What a stage cannot do; the message says why."""


class Stage(Protocol):
    """Where a scenario is told."""

    @property
    def deployment(self) -> Tree:
        """The deployment repo as it is now."""
        ...

    def begin(self, deployment: Tree) -> None:
        """The deployment repo holds this, as a pass left it. Raises Unstageable."""
        ...

    def push(self, files: Files, subject: str, now: datetime) -> None:
        """The source is these files from now on."""
        ...

    def write(self, files: Files, subject: str, now: datetime) -> None:
        """Somebody makes these the files of the deployment repo."""
        ...

    def revert(self, subject: str, now: datetime) -> None:
        """Somebody reverts a commit of the deployment repo. Raises Unstageable."""
        ...

    def run(self, now: datetime) -> Hydration:
        """A pass. Raises Rejected."""
        ...

    def supposing(self, parts: tuple[Supposition, ...], now: datetime) -> Hydration:
        """The pass that would be run on suppositions. Raises Rejected or Unstageable."""
        ...

    def restless(self, now: datetime) -> list[str]:
        """The subjects of the commits that one more pass would make; an empty list too where that is not looked into."""
        ...


class Told(Struct, frozen=True, kw_only=True):
    """
    One step as it went: the source before and after it, the pass (None where it was refused), its commits and what it reported, and
    how that differs from what the scenario expects. Of a step that supposes something there are only `cases`, the differences of all.
    """

    index: int
    step: ScenarioStep
    now: datetime
    files_before: Files
    files: Files
    done: Hydration | None
    commits: tuple[Commit, ...]
    problems: tuple[Problem, ...]
    deployment: Tree
    differences: tuple[Difference, ...]
    cases: tuple[Case, ...] = ()


def tell(script: Script, stage: Stage, memo: Memo | None = None) -> Iterator[Told]:
    """Step by step. Raises Rejected where a step cannot be carried out. `memo` only saves work."""
    memo = memo or NoMemo()
    expressions = compiled(script)
    files = first_files(script)
    now = first_time(script, files)
    if script.spec.given.deployment is not None:
        stage.begin(first_deployment(script))
    for index, step in enumerate(script.spec.steps):
        now += timedelta(seconds=step.wait if index else 0)
        before, files = files, _changed(script, files, index, stage, now)
        if files != before or not index:
            message = step.push.message if step.push is not None else ""
            stage.push(files, message or step.title, now)
        if step.deployment is not None:
            _by_hand(script, step, step.deployment, ("spec", "steps", index, "deployment"), stage, now)
        if step.suppose is not None:
            yield _supposed(script, expressions, index, stage, now, before, files, memo)
        else:
            yield _told(script, expressions, index, stage, now, before, files)


def _changed(script: Script, files: dict[str, bytes], index: int, stage: Stage, now: datetime) -> dict[str, bytes]:
    step, path = script.spec.steps[index], ("spec", "steps", index)
    if step.push is not None:
        files = changed_files(script, files, step.push, (*path, "push"))
    if step.observe:
        spec = fleet_spec(Tree.of(files), NoMemo())
        for number, seen in enumerate(step.observe):
            files = observed_files(
                script, files, seen, (*path, "observe", number), folder=spec.capacity.path,
                root=spec.deployment.root, deployment=stage.deployment, now=now,
            )  # fmt: skip
    return files


def _by_hand(
    script: Script, step: ScenarioStep, change: ByHand, path: tuple[str | int, ...], stage: Stage, now: datetime
) -> None:
    if change.revert is not None:
        try:
            stage.revert(change.revert, now)
        except Unstageable as error:
            raise script.fault((*path, "revert"), str(error)) from None
    tree = stage.deployment
    files = tree.read_all(tree)
    changed = changed_files(script, files, change, path)
    if changed != files:
        stage.write(changed, change.message or step.title, now)


def _supposed(
    script: Script, expressions: Expressions, index: int, stage: Stage, now: datetime, files_before: Files, files: Files,
    memo: Memo,
) -> Told:  # fmt: skip
    found: list[Difference] = []
    told_cases = cases(script, index, Tree.of(files), memo)
    for case in told_cases:
        done: Hydration | None = None
        commits: tuple[Commit, ...] = ()
        try:
            done = stage.supposing(case.parts, now)
            problems = done.problems
            commits = commits_of(done, stage.deployment)
        except Rejected as error:
            problems = error.problems
        except Unstageable as error:
            raise script.fault(("spec", "steps", index, "suppose"), str(error)) from None
        told_as = f"step {index + 1}, {case.title}"
        found += differences(script, index, done, commits, problems, told_as)
        found += broken_claims(
            script, index, expressions, done, lost=case.lost, drained=case.drained, told_as=told_as
        )  # fmt: skip
    return Told(
        index=index, step=script.spec.steps[index], now=now, files_before=files_before, files=files, done=None,
        commits=(), problems=(), deployment=stage.deployment, differences=tuple(found), cases=told_cases,
    )  # fmt: skip


def _told(
    script: Script, expressions: Expressions, index: int, stage: Stage, now: datetime, files_before: Files, files: Files
) -> Told:
    before = stage.deployment
    done: Hydration | None = None
    commits: tuple[Commit, ...] = ()
    try:
        done = stage.run(now)
        problems = done.problems
        commits = commits_of(done, before)
    except Rejected as error:
        problems = error.problems
    found = list(differences(script, index, done, commits, problems))
    found += broken_claims(script, index, expressions, done, told_as=f"step {index + 1}")
    more = stage.restless(now) if done is not None and not script.is_about_its_source else []
    if more:
        message = f'step {index + 1}: one more pass would go on, with "{more[0]}"'
        place = script.document.locate(("spec", "steps", index), key=True)
        found.append(Difference(place, "ScenarioDiffers", message))
    return Told(
        index=index, step=script.spec.steps[index], now=now, files_before=files_before, files=files, done=done,
        commits=commits, problems=problems, deployment=stage.deployment, differences=tuple(found),
    )  # fmt: skip


class OnTrees(Struct):
    """
    A stage of trees in memory. What others wrote into the deployment repo is foreign until they undo it. `beneath` are paths of the
    source that are no files, such as symbolic links, and stay what they are; `with_candidates` keeps every cluster's verdict.
    """

    version: str
    memo: Memo = field(default_factory=NoMemo)
    beneath: Tree = field(default_factory=Tree)
    with_candidates: bool = False
    _source: Tree = field(default_factory=Tree)
    _subject: str = ""
    _pushed: datetime | None = None
    _deployment: Tree = field(default_factory=Tree)
    _written: Tree = field(default_factory=Tree)
    _passes: int = 0

    @property
    def deployment(self) -> Tree:
        return self._deployment

    def begin(self, deployment: Tree) -> None:
        self._deployment = self._written = deployment

    def push(self, files: Files, subject: str, now: datetime) -> None:
        tree = Tree.of(files)
        if len(self.beneath):
            tree = Tree(dict(sorted({**self.beneath.entries, **tree.entries}.items())), tree.blobs)
        self._source, self._subject, self._pushed = tree, subject, now

    def write(self, files: Files, subject: str, now: datetime) -> None:
        self._deployment = Tree.of(files)

    def revert(self, subject: str, now: datetime) -> None:
        raise Unstageable("a revert can be told from other changes only in a real repository")

    def run(self, now: datetime) -> Hydration:
        done = self._hydrated(now)
        self._passes += 1
        foreign = self._foreign()
        self._deployment = done.tree
        entries = {path: entry for path, entry in done.tree.entries.items() if path not in foreign}
        entries |= {path: self._written.entries[path] for path in foreign if path in self._written}
        self._written = Tree(dict(sorted(entries.items())), done.tree.blobs)
        return done

    def supposing(self, parts: tuple[Supposition, ...], now: datetime) -> Hydration:
        inputs = self._inputs(now)
        try:
            supposed = Together(parts).applied(inputs, snapshot_of(inputs, self.memo), self.memo)
        except Unsupposable as error:
            raise Unstageable(f"{error}; {error.hint}" if error.hint else str(error)) from None
        return hydrate(supposed, memo=self.memo, with_candidates=self.with_candidates)

    def restless(self, now: datetime) -> list[str]:
        return [step.subject for step in self._hydrated(now).steps]

    def _hydrated(self, now: datetime) -> Hydration:
        return hydrate(self._inputs(now), memo=self.memo, with_candidates=self.with_candidates)

    def _inputs(self, now: datetime) -> Inputs:
        capacity = self._source.under(fleet_spec(self._source, self.memo).capacity.path)
        when = self._pushed or now
        commit = SourceCommit(
            id=tree_id(self._source), author=_WHO, date=f"{when:%Y-%m-%dT%H:%M:%S+00:00}", subject=self._subject
        )
        return Inputs(
            source=self._source, commit=commit, capacity=capacity, capacity_id=tree_id(capacity),
            deployment=self._deployment, deployment_commit=f"{self._passes:040x}", foreign=self._foreign(), now=now,
            version=self.version,
        )  # fmt: skip

    def _foreign(self) -> Mapping[str, str]:
        """Paths that are not as we wrote them, with what we wrote."""
        if self._deployment is self._written:
            return {}
        ours, there = self._written.entries, self._deployment.entries
        paths = sorted(ours.keys() | there.keys())
        differ = [path for path in paths if _oid(ours, path) != _oid(there, path)]
        root = fleet_spec(self._source, self.memo).deployment.root
        return {path: _oid(ours, path) for path in differ if path.startswith((f"{root}/", "placements/"))}


def _oid(entries: Mapping[str, object], path: str) -> str:
    return getattr(entries.get(path), "oid", "")
