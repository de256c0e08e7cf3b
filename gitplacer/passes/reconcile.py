"""
One pass in the real world: open the repos, hydrate, publish.

The function in the middle is pure; this is the shell around it. A push that lost a race is not repeated: everything is
read again and computed again on the new tip, because what was right on the old one may be wrong on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment, Identity, LostRace, NewCommit, proposal_branch
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Opened, Progress, inputs_of, opened_source, written_to
from gitplacer.settings import Settings
from gitplacer.tree import SUBMODULE, Changes

AUTHOR = Identity("gitplacer", "gitplacer@users.noreply.gitplacer.dev")
ATTEMPTS = 5
"""How often a lost race is run again before we give up and leave it to the next pass."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What a pass came to: `tip` is the new commit, None where nothing changed. `proposed` are the branches of moves that wait for
    consent, and `refused` says why the server did not take them, if it did not.
    """

    hydration: Hydration
    tip: str | None
    attempts: int
    proposed: tuple[str, ...] = ()
    refused: str = ""


class Consent(Protocol):
    """Asked before anything is published, on every attempt; raises where it is against it."""

    def __call__(self, hydration: Hydration, inputs: Inputs, deployment: Deployment) -> None: ...


def reconcile(
    settings: Settings, *, progress: Progress, author: Identity = AUTHOR, consent: Consent | None = None
) -> Outcome:
    """
    One pass: plan, render, commit, push. Raises Rejected, GitError or UsageError, and what `consent` raises; then nothing has
    landed.
    """
    memo = ParseCache(settings.cache_dir)
    for attempt in range(1, ATTEMPTS + 1):
        progress("reading the source")
        with opened_source(settings, memo, work_tree=False) as source:
            address = written_to(settings, source.spec)
            progress(f"reading the deployment repo {address.redacted}")
            with Deployment.open(address, source.spec.deployment.branch, settings.cache_dir) as deployment:
                progress("planning")
                inputs = inputs_of(settings, source, deployment)
                hydration = hydrate(inputs, memo=memo, with_candidates=False)
                memo.save()
                if consent is not None:
                    consent(hydration, inputs, deployment)
                proposals = proposals_of(hydration, settings, author)
                if not hydration.steps and (deployment.tip is None or deployment.is_proposed(proposals)):
                    return Outcome(hydration, None, attempt, tuple(proposals))
                progress(f"publishing {len(hydration.steps)} commit(s)")
                try:
                    tip = _publish(deployment, hydration, source, settings, author, proposals)
                    return Outcome(
                        hydration, tip if hydration.steps else None, attempt, tuple(proposals), deployment.refused
                    )
                except LostRace:
                    progress("somebody else pushed first; computing again on what they pushed")
    raise GitError(
        f"lost the race for the deployment branch {ATTEMPTS} times", "LostRace", "run it again; nothing was changed"
    )


def proposals_of(hydration: Hydration, settings: Settings, author: Identity) -> dict[str, NewCommit]:
    """What is proposed, by branch."""
    return {
        proposal_branch(step.relocation.group): NewCommit(
            changes=step.changes, message=step.message, author=author, when=settings.now
        )
        for step in hydration.proposals
        if step.relocation is not None
    }


def _publish(
    deployment: Deployment,
    hydration: Hydration,
    source: Opened,
    settings: Settings,
    author: Identity,
    proposals: Mapping[str, NewCommit],
) -> str:
    commits = commits_of(hydration, settings, author)
    return deployment.publish(commits, inputs=capacity_commit(source, settings, author), proposals=proposals)


def commits_of(hydration: Hydration, settings: Settings, author: Identity) -> list[NewCommit]:
    """What is done, as commits to be made."""
    return [
        NewCommit(changes=step.changes, message=step.message, author=author, when=settings.now)
        for step in hydration.steps
    ]


def capacity_commit(source: Opened, settings: Settings, author: Identity) -> NewCommit | None:
    """The capacity that was used, to be kept beside what was made of it; None if there is none."""
    if not len(source.capacity):
        return None
    # As it is, modes and symlinks included: its id stands in the trailers. A submodule is nothing that could be kept.
    kept = {path: entry for path, entry in source.capacity.entries.items() if entry.mode != SUBMODULE}
    modes = {path: entry.mode for path, entry in kept.items()}
    message = f"Capacity used by {source.commit.id[:12] if source.commit else 'a pass'}\n"
    changes = Changes(source.capacity.read_all(kept))
    return NewCommit(changes=changes, message=message, author=author, when=settings.now, modes=modes)
