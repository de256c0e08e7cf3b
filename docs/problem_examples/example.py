"""
An input that has a problem, and what is printed about it.

Each is put into the small fleet that `gitplacer init` makes, over its files of the same name, and a whole pass is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from gitplacer.explain import problem_lines
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.model.signers import Uncounted
from gitplacer.packaged import STARTER, packaged
from gitplacer.policies.idle import idle_policies
from gitplacer.problems import Problem, Rejected
from gitplacer.scenarios import OnTrees, read_script, tell
from gitplacer.source.files import Memo, NoMemo, ReadFile, read_file, unreadable
from gitplacer.source.fleetspec import fleet_spec
from gitplacer.tree import Entry, Tree

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Example:
    """
    `shown` are the files a page shows, `beside` others that are needed, `first` a pass before with other files (None:
    no such file), `deployment` what somebody else wrote into the deployment repo. `trusted` is the Fleet of the revision that is
    trusted, and `uncounted` a commit of the source that does not count. `deadly` are the files that end the process which parses them.
    """

    shown: tuple[tuple[str, str], ...]
    intro: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, str] | None = None
    deployment: Mapping[str, str] = field(default_factory=dict)
    tree: tuple[tuple[str, Entry], ...] = ()
    trusted: str | None = None
    uncounted: Uncounted | None = None
    deadly: tuple[str, ...] = ()


class _Mortal(NoMemo):
    """Parses as if some files ended whoever parses them."""

    def __init__(self, deadly: frozenset[bytes]) -> None:
        self._deadly = deadly

    def parse(self, data: bytes, max_bytes: int) -> ReadFile:
        return unreadable("parsing it ended with SIGSEGV") if data in self._deadly else read_file(data, max_bytes)


def printed(example: Example, code: str) -> str:
    """What `gitplacer validate`, `plan`, `reconcile` and `test` print about an example's problems of one code."""
    found = sorted({p for p in problems(example) if p.code == code})
    if not found:
        raise AssertionError(f"the example of {code} does not have that problem")
    return "".join(f"{line}\n" for problem in found for line in problem_lines(problem))


def problems(example: Example) -> Iterator[Problem]:
    """Every problem of the pass on an example, and of telling the scenarios that it shows."""
    yield from _told(example)
    deployment = Tree()
    if example.first is not None:
        deployment = _pass({**_starter(), **example.first}, (), Tree()).tree
    if example.deployment:
        written = {path: text.encode() for path, text in example.deployment.items()}
        deployment = Tree.of({**{path: deployment.read(path) for path in deployment}, **written})
    try:
        files = {**_starter(), **example.beside, **dict(example.shown)}
        deadly = frozenset(files[path].encode() for path in example.deadly)
        done = _pass(files, example.tree, deployment, example.trusted, _Mortal(deadly), example.uncounted)
        yield from done.problems
        yield from idle_policies(done.snapshot.source, NoMemo())
    except Rejected as error:
        yield from error.problems


def _told(example: Example) -> Iterator[Problem]:
    for path, text in example.shown:
        if "\nkind: Scenario\n" in text:
            try:
                for step in tell(read_script(path, text.encode()), OnTrees("0.1.0")):
                    yield from step.differences
            except Rejected as error:
                yield from error.problems


@cache
def _starter() -> dict[str, str]:
    folders = ("clusters/", "policies/", "capacity/", "workloads/")
    files = {path: data.decode() for path, data in packaged(STARTER).items() if path.startswith(folders)}
    return {**files, "fleet.yaml": packaged(STARTER)["fleet.yaml"].decode().replace("@ENGINE@", "argocd")}


def _pass(
    files: Mapping[str, str],
    more: tuple[tuple[str, Entry], ...],
    deployment: Tree,
    fleet: str | None = None,
    memo: Memo | None = None,
    uncounted: Uncounted | None = None,
) -> Hydration:
    data = {path: text.encode("utf-8", "surrogateescape") for path, text in files.items()}
    source = Tree.of(data)
    if more:
        source = Tree({**source.entries, **dict(more)}, source.blobs)
    inputs = Inputs(
        source=source, commit=None, capacity=source.under("capacity"), capacity_id=None, deployment=deployment,
        deployment_commit=None, foreign={}, now=NOW, version="0.1.0",
        trusted=fleet_spec(Tree.of({"fleet.yaml": fleet.encode()}), NoMemo()) if fleet is not None else None,
        uncounted=uncounted,
    )  # fmt: skip
    return hydrate(inputs, memo=memo, with_candidates=False)
