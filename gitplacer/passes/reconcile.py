"""
One pass in the real world: open the repos, hydrate, publish.

The function in the middle is pure; this is the shell around it. A push that lost a race is not repeated: everything is
read again and computed again on the new tip, because what was right on the old one may be wrong on it. So a pass is one
function that ends in one of four ways, and whoever wants another calls it again, in the same process as often as they like.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from gitplacer.git.asking import about
from gitplacer.git.notes import Note
from gitplacer.git.program import GitError
from gitplacer.git.publishing import LostRace, NewCommit, proposal_branch
from gitplacer.hydrate import Hydration, hydrate, hydrator_note
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Opened, Progress, Work, at_work
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.runners.crew import parsed_together
from gitplacer.settings import Settings
from gitplacer.tree import SUBMODULE, Changes

ATTEMPTS = 5
"""How often a lost race is run again before we give up and leave it to the next pass."""


CAPACITY_USED = "Capacity used by "
"""What the subject of a commit of capacity begins with; the commit of the source follows, cut to twelve characters."""


class Landing(enum.StrEnum):
    """How a pass ended."""

    PUBLISHED = "Published"
    PROPOSED = "Proposed"  # nothing but the branches of moves that wait for consent
    UNCHANGED = "Unchanged"
    OVERTAKEN = "Overtaken"  # somebody else pushed first, and nothing has landed


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What a pass came to, in which deployment repo (its address, to be shown) and on which branch: `tip` is the new commit, None where
    none was published. `proposed` are the branches of moves that wait for consent, and `refused` says why the server did not take
    them, if it did not. `unnoted` says why promoters find no note on the tip, if they should and do not. `tips` are those of the
    source and the capacity that it read. `attempts` counts the passes that it took.
    """

    landing: Landing
    hydration: Hydration
    deployment: str
    branch: str
    tip: str | None = None
    proposed: tuple[str, ...] = ()
    refused: str = ""
    tips: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 1
    unnoted: str = ""


class Consent(Protocol):
    """Asked before anything is published, on every attempt; raises where it is against it. What it is shown can still be read."""

    def __call__(self, hydration: Hydration, work: Work) -> None: ...


def reconcile(settings: Settings, *, progress: Progress, consent: Consent | None = None) -> Outcome:
    """
    Passes until one is not overtaken: plan, render, commit, push. Raises Rejected, GitError or UsageError, and what `consent` raises;
    then nothing has landed.
    """
    memo = ParseCache(settings.cache_dir, crew=parsed_together)
    for attempt in range(1, ATTEMPTS + 1):
        outcome = one_pass(settings, memo, progress=progress, consent=consent)
        if outcome.landing is not Landing.OVERTAKEN:
            return replace(outcome, attempts=attempt)
        progress("somebody else pushed first; computing again on what they pushed")
    raise GitError(
        f"lost the race for the deployment branch {ATTEMPTS} times", "LostRace", "run it again; nothing was changed"
    )


def one_pass(
    settings: Settings,
    memo: ParseCache,
    *,
    progress: Progress,
    consent: Consent | None = None,
    ledgers: LedgerCache | None = None,
) -> Outcome:
    """
    One pass as of `settings.now`. Nothing of it outlives it but what it published, what `memo` knows of files, which it also
    keeps on disk, and `ledgers`. Raises Rejected, GitError or UsageError, and what `consent` raises; then nothing has landed.
    """
    with at_work(settings, memo, progress) as work:
        deployment = work.deployment
        hydration = hydrate(work.inputs, memo=memo, ledgers=ledgers, with_candidates=False)
        memo.save()
        if consent is not None:
            consent(hydration, work)
        proposals = proposals_of(hydration, settings)
        ended = partial(
            Outcome,
            hydration=hydration,
            deployment=deployment.address.redacted,
            branch=deployment.branch,
            tips=work.source.tips,
        )
        proposed = tuple(proposals)
        if not hydration.steps and (deployment.tip is None or deployment.is_proposed(proposals)):
            if (note := _note(work, settings)) is not None:
                deployment.annotate(note)
            return ended(Landing.UNCHANGED, proposed=proposed, unnoted=deployment.unnoted)
        progress(f"publishing {len(hydration.steps)} commit(s)")
        try:
            tip = _publish(work, hydration, settings, proposals)
        except LostRace:
            return ended(Landing.OVERTAKEN)
        landing, landed = (Landing.PUBLISHED, tip) if hydration.steps else (Landing.PROPOSED, None)
        return ended(landing, tip=landed, proposed=proposed, refused=deployment.refused, unnoted=deployment.unnoted)


def proposals_of(hydration: Hydration, settings: Settings) -> dict[str, NewCommit]:
    """What is proposed, by branch."""
    return {
        proposal_branch(step.relocation.group): NewCommit(
            changes=step.changes, message=step.message, author=settings.author, when=settings.now
        )
        for step in hydration.proposals
        if step.relocation is not None
    }


def _note(work: Work, settings: Settings) -> Note | None:
    """What is noted on the tip, if the Fleet asks for it."""
    commit = work.source.commit
    if commit is None or not work.source.spec.deployment.hydrator.notes:
        return None
    return Note(text=hydrator_note(commit), author=str(settings.author), when=settings.now)


def _publish(work: Work, hydration: Hydration, settings: Settings, proposals: Mapping[str, NewCommit]) -> str:
    commits = commits_of(hydration, settings)
    inputs = capacity_commit(work.source, settings)
    with about("deployment"):
        return work.deployment.publish(commits, inputs=inputs, proposals=proposals, note=_note(work, settings))


def commits_of(hydration: Hydration, settings: Settings) -> list[NewCommit]:
    """What is done, as commits to be made."""
    return [
        NewCommit(changes=step.changes, message=step.message, author=settings.author, when=settings.now)
        for step in hydration.steps
    ]


def capacity_commit(source: Opened, settings: Settings) -> NewCommit | None:
    """The capacity that was used, to be kept beside what was made of it; None if there is none."""
    if not len(source.capacity):
        return None
    # As it is, modes and symlinks included: its id stands in the trailers. A submodule is nothing that could be kept.
    kept = {path: entry for path, entry in source.capacity.entries.items() if entry.mode != SUBMODULE}
    modes = {path: entry.mode for path, entry in kept.items()}
    message = f"{CAPACITY_USED}{source.commit.id[:12] if source.commit else 'a pass'}\n"
    changes = Changes(source.capacity.read_all(kept))
    return NewCommit(changes=changes, message=message, author=settings.author, when=settings.now, modes=modes)
