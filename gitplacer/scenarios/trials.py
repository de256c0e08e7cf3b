"""Scenarios run to their ends, whatever happens on the way: what cannot be carried out is an outcome like any other."""

from __future__ import annotations

from collections.abc import Iterable

from gitplacer.model.trial import Failure, Trial, TriedStep
from gitplacer.problems import Rejected
from gitplacer.scenarios.claims import compiled
from gitplacer.scenarios.script import Script
from gitplacer.scenarios.telling import OnTrees, Told, tell
from gitplacer.source.files import Memo
from gitplacer.tree import Tree


def mistaken(script: Script) -> Trial | None:
    """The outcome of a scenario whose expressions cannot be compiled, None where all can. Raises LibraryMissing."""
    try:
        compiled(script)
    except Rejected as error:
        return _trial(script, (), error)
    return None


def tried(script: Script, version: str, memo: Memo, deployment: Tree | None = None) -> Trial:
    """
    The outcome of a scenario. `deployment` is what one that lies in a source and brings none begins with. Raises LibraryMissing.
    """
    links = {path: entry for path, entry in script.source.entries.items() if not entry.is_text}
    beneath = Tree(links, script.source.blobs) if script.is_about_its_source else Tree()
    stage = OnTrees(version, memo, beneath, with_candidates=True)
    if deployment is not None and script.is_about_its_source:
        stage.begin(deployment)
    steps: list[TriedStep] = []
    try:
        steps.extend(map(_step, tell(script, stage, memo)))
    except Rejected as error:
        return _trial(script, steps, error)
    return _trial(script, steps)


def _step(told: Told) -> TriedStep:
    failures = tuple(Failure(found, found.details) for found in told.differences)
    return TriedStep(told.step.title, len(told.cases) or 1, failures)


def _trial(script: Script, steps: Iterable[TriedStep], error: Rejected | None = None) -> Trial:
    broken = error.problems if error is not None else ()
    return Trial(script.scenario.name, script.spec.title, script.document.locate(), tuple(steps), broken)
