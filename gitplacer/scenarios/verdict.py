"""What a pass came to, held against what a step expects of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from gitplacer.documents import Path
from gitplacer.hydrate import Hydration
from gitplacer.kinds.scenario import Expected, ExpectedCommit, ExpectedDecision
from gitplacer.model.decision import Reason
from gitplacer.pathglob import matches
from gitplacer.problems import Problem, Severity, nearest
from gitplacer.scenarios.scene import changes_of
from gitplacer.scenarios.script import Script
from gitplacer.tree import Tree

_IN_EVERY_COMMIT = (
    "hydrator.metadata",
    "placements/**",
    "fleet/**",
    "guards/**",
    "**/gitplacer.yaml",
    "**/platform/namespaces/*.yaml",
)
"""Changes that need not be expected one by one."""


class Difference(Problem, frozen=True, order=True):
    """What did not come out as expected. `details` are lines that say more, indented by two for each level."""

    details: tuple[str, ...] = ()


class Commit(Struct, frozen=True):
    """A commit that came out: its message, and its changes as `changes_of` writes them."""

    message: str
    changes: tuple[str, ...]

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]


def commits_of(done: Hydration, before: Tree) -> tuple[Commit, ...]:
    """The commits of a pass, the first on top of a tree."""
    found = []
    for step in done.steps:
        found.append(Commit(step.message, tuple(changes_of(before, step.changes))))
        before = before.apply(step.changes)
    return tuple(found)


def differences(
    script: Script,
    index: int,
    done: Hydration | None,
    commits: Sequence[Commit],
    problems: Iterable[Problem],
    told_as: str = "",
) -> Iterator[Difference]:
    """How a pass differs from what a step expects. `done` is None for a pass that was refused; `told_as` says which pass it was."""
    expected: Expected = script.spec.steps[index].expect
    path: Path = ("spec", "steps", index, "expect")
    judge = _Judge(script, told_as or f"step {index + 1}")
    if expected.commits is not None:
        yield from judge.commits(expected.commits, commits, (*path, "commits"))
    for group, wanted in expected.decisions.items():
        yield from judge.decision(group, wanted, done, (*path, "decisions", group))
    yield from judge.problems(expected, list(problems), path)


class _Judge(Struct, frozen=True):
    script: Script
    step: str

    def _differs(self, path: Path, message: str, hint: str = "") -> Difference:
        place = self.script.document.locate(path, key=True)
        return Difference(place, "ScenarioDiffers", f"{self.step}: {message}", hint)

    def commits(self, wanted: Sequence[ExpectedCommit], found: Sequence[Commit], path: Path) -> Iterator[Difference]:
        for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
            if one.subject != other.subject:
                message = f'commit {number + 1} is "{other.subject}", not "{one.subject}"'
                yield self._differs((*path, number, "subject"), message)
            if one.files is not None:
                yield from self._changes(one.files, other.changes, (*path, number, "files"))
        for number, missing in enumerate(wanted[len(found) :], len(found)):
            yield self._differs((*path, number), f'there is no commit "{missing.subject}"')
        for more in found[len(wanted) :]:
            yield self._differs(path, f'there is one more commit, "{more.subject}"')

    def _changes(self, wanted: Sequence[str], found: Sequence[str], path: Path) -> Iterator[Difference]:
        for number, pattern in enumerate(wanted):
            if not any(_is_like(pattern, change) for change in found):
                yield self._differs((*path, number), f"no change is {pattern}", nearest(pattern, found))
        for change in found:
            places = change[2:].split(" => ")
            usual = all(any(matches(pattern, place) for pattern in _IN_EVERY_COMMIT) for place in places)
            if not usual and not any(_is_like(pattern, change) for pattern in wanted):
                yield self._differs(path, f"there is one more change, {change}")

    def decision(
        self, group: str, wanted: ExpectedDecision, done: Hydration | None, path: Path
    ) -> Iterator[Difference]:
        decisions = {d.group: d for d in done.view.plan.decisions} if done is not None else {}
        found = decisions.get(group)
        if found is None:
            yield self._differs(path, f"nothing is decided about {group}", nearest(group, decisions))
            return
        if wanted.action is not None and wanted.action != found.action:
            yield self._differs((*path, "action"), f"{group}: the action is {found.action}, not {wanted.action}")
        if wanted.to is not None and set(wanted.to) != set(found.files_after):
            there, hoped = (", ".join(sorted(names)) or "nowhere" for names in (found.files_after, wanted.to))
            yield self._differs((*path, "to"), f"{group} is then on {there}, not on {hoped}")
        if wanted.reason is not None and wanted.reason != found.finding.code:
            hint = "" if wanted.reason in Reason.__members__.values() else nearest(wanted.reason, list(Reason))
            message = f"{group}: the reason is {found.finding.code}, not {wanted.reason}"
            yield self._differs((*path, "reason"), message, hint)

    def problems(self, expected: Expected, found: list[Problem], path: Path) -> Iterator[Difference]:
        if expected.problems is None:
            known = {(p.location.file, p.code, p.message) for p in self.script.known}
            for problem in found:
                is_known = (problem.location.file, problem.code, problem.message) in known
                if problem.severity is Severity.ERROR and not is_known:
                    yield self._differs(
                        path, f"a problem is reported, {problem.code} at {problem.location}", problem.message
                    )
            return
        left = list(found)
        for number, wanted in enumerate(expected.problems):
            there = [p for p in left if p.code == wanted.code and _is_at(p, wanted.at)]
            if there:
                left.remove(there[0])
            else:
                where = f" at {wanted.at}" if wanted.at else ""
                hint = nearest(wanted.code, {p.code for p in found})
                yield self._differs((*path, "problems", number), f"no problem {wanted.code}{where} is reported", hint)
        for problem in left:
            message = f"one more problem is reported, {problem.code} at {problem.location}"
            yield self._differs((*path, "problems"), message, problem.message)


def _is_at(problem: Problem, place: str | None) -> bool:
    return (
        place is None or str(problem.location) == place or f"{problem.location.file}:{problem.location.line}" == place
    )


def _is_like(pattern: str, change: str) -> bool:
    if pattern[0] != change[0]:
        return False
    wanted, found = pattern[2:].split(" => "), change[2:].split(" => ")
    return len(wanted) == len(found) and all(matches(*pair) for pair in zip(wanted, found, strict=True))
