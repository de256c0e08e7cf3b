"""
One pass in the real world: open the repos, hydrate, publish.

The function in the middle is pure; this is the shell around it. A push that lost a race is not repeated: everything is
read again and computed again on the new tip, because what was right on the old one may be wrong on it. So a pass is one
function that ends in one of four ways, and whoever wants another calls it again, in the same process as often as they like.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.git.asking import about
from gitplacer.git.newcommits import NewCommit
from gitplacer.git.notes import Note
from gitplacer.git.ourbranches import proposal_branch
from gitplacer.git.program import GitError
from gitplacer.git.pushing import LostRace
from gitplacer.madefrom import hydrator_note
from gitplacer.model.horizon import Horizon
from gitplacer.parsecache import ParseCache
from gitplacer.passes.basekeys import place_of
from gitplacer.passes.opening import CAPACITY_USED, Opened, Progress, Work, at_work
from gitplacer.passes.quiet import Quiet, key_of, quiet, recall, remember
from gitplacer.passes.touching import Touch, can_be_at_rest, remember_rest, rest_of, touched
from gitplacer.runners.manyfiles import parsed_together, written_together
from gitplacer.settings import Settings
from gitplacer.tree import Changes

if TYPE_CHECKING:
    from gitplacer.git.publishing import Deployment
    from gitplacer.hydrate import Hydration
    from gitplacer.placement.ledgercache import LedgerCache

ATTEMPTS = 5
"""How often a lost race is run again before we give up and leave it to the next pass."""


class Landing(enum.StrEnum):
    """How a pass ended."""

    PUBLISHED = "Published"
    PROPOSED = "Proposed"  # nothing but the branches of moves that wait for consent
    UNCHANGED = "Unchanged"
    OVERTAKEN = "Overtaken"  # somebody else pushed first, and nothing has landed


class Outcome(Struct, frozen=True):
    """
    What a pass came to, in which deployment repo (its address, to be shown) and on which branch: `tip` is the new commit, None where
    none was published. `proposed` are the branches of moves that wait for consent, and `refused` says why the server did not take
    them, if it did not. `unnoted` says why promoters find no note on the tip, if they should and do not. `tips` are those of the
    source and the capacity that it read. `attempts` counts the passes that it took. `unsettled` is whether a pass behind it may find the fleet at
    rest, which is remembered then.
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
    unsettled: bool = False


class BeforePush(Protocol):
    """Asked before anything is published, on every attempt; raises where it is against it. What it is shown can still be read."""

    def __call__(self, hydration: Hydration, work: Work) -> None: ...


class Spared(Struct, frozen=True):
    """A pass that was not computed, because it is known that it changes nothing, and what it would have said."""

    quiet: Quiet
    deployment: str
    branch: str
    tip: str
    attempts: int = 1
    unnoted: str = ""


class Rewritten(Struct, frozen=True):
    """
    A pass that planned nothing or a part of the fleet, because it had nothing to do but to write some manifests again as they are in the commit `source`:
    `subject` is that of its own commit, the new `tip`, and `quiet` what it says beside. `tips` are as those of an Outcome.
    """

    landing: Landing
    quiet: Quiet
    deployment: str
    branch: str
    source: str
    subject: str
    tip: str = ""
    tips: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 1
    unnoted: str = ""


class BeforeQuickPush(Protocol):
    """The same of a pass that plans nothing or a part. It is asked as well where such a pass publishes nothing; then what it finds is told."""

    def __call__(self, work: Work, *, publishes: bool) -> None: ...


def asks_nothing(work: Work, *, publishes: bool) -> None:
    """Lets every pass go on."""


def reconcile(settings: Settings, *, progress: Progress, before_push: BeforePush | None = None) -> Outcome:
    """
    Passes until one is not overtaken: plan, render, commit, push. Raises Rejected, GitError or UsageError, and what `before_push` raises;
    then nothing has landed.
    """
    memo = ParseCache(settings.cache_dir, parse_many=parsed_together, write_many=written_together)
    return _not_overtaken(lambda: one_pass(settings, memo, progress=progress, before_push=before_push), progress)


def reconcile_unless_quiet(
    settings: Settings,
    *,
    progress: Progress,
    before_push: BeforePush | None = None,
    before_quick_push: BeforeQuickPush = asks_nothing,
) -> Outcome | Spared | Rewritten:
    """
    The same, but a pass of which the cache knows that it changes nothing is spared, and one that only writes manifests again plans nothing, or the part of
    the fleet that they concern; then `before_quick_push` is asked instead of `before_push`. Nor is everybody planned where apps are new or
    edited, or clusters have other states, and others stay.
    """
    memo = ParseCache(settings.cache_dir, parse_many=parsed_together, write_many=written_together)

    def attempt() -> Outcome | Spared | Rewritten:
        with at_work(settings, memo, progress) as work:
            key = key_of(work.inputs, settings.folder) if not work.deployment.proposals else None
            known = recall(memo, key, settings.now) if key is not None else None
            if known is not None:
                return _spared(work, known, settings, before_quick_push)
            done = _unplanned(work, settings, memo, progress, before_push, before_quick_push)
            return done if done is not None else _computed(work, settings, memo, progress, before_push, None)

    return _not_overtaken(attempt, progress)


def next_pass(
    settings: Settings,
    memo: ParseCache,
    *,
    progress: Progress,
    before_push: BeforePush,
    before_quick_push: BeforeQuickPush,
    ledgers: LedgerCache,
    whole: bool,
) -> Outcome | Rewritten:
    """
    One of many passes: as `one_pass`, but one that only writes manifests again plans nothing, or a part, unless it is to be `whole`. What a whole one
    finds at rest is remembered for those that come.
    """
    with at_work(settings, memo, progress) as work:
        found = None if whole else _partly(work, settings, memo, ledgers)
        if found is not None and not isinstance(found, Touch):
            return _to_settle(_carried_out(found, work, settings, memo, progress, before_push), work)
        if found is not None and found.changes:
            return _rewritten(work, found, settings, memo, progress, before_quick_push)
        return _computed(work, settings, memo, progress, before_push, ledgers)


def _computed(
    work: Work,
    settings: Settings,
    memo: ParseCache,
    progress: Progress,
    before_push: BeforePush | None,
    ledgers: LedgerCache | None,
) -> Outcome:
    """A whole pass; what it comes to is remembered, if it has nothing to do. Of one that has published only another can tell whether all is done."""
    horizon = Horizon(settings.now)
    key = key_of(work.inputs, settings.folder) if not work.deployment.proposals else None
    done = _passed(settings, memo, work, progress, before_push, ledgers, horizon)
    found = quiet(done.hydration, horizon) if key is not None and done.landing is Landing.UNCHANGED else None
    if key is not None and found is not None:
        remember(memo, key, found)
        remember_rest(memo, work, settings.folder, done.hydration, horizon)
        _remember_base(memo, work, settings.folder, done.hydration, horizon, ledgers)
        memo.save()
    return _to_settle(done, work)


def _to_settle(done: Outcome, work: Work) -> Outcome:
    """The same pass, with whether one behind it may find the fleet at rest."""
    return replace(done, unsettled=done.landing is Landing.PUBLISHED and not done.proposed and can_be_at_rest(work))


def _remember_base(
    memo: ParseCache, work: Work, folder: str, made: Hydration, horizon: Horizon, ledgers: LedgerCache | None
) -> None:
    """What plans of pull requests will be held against."""
    from gitplacer.passes.baselines import remember_base  # which takes a while to import

    commit, repository = work.inputs.commit, work.source.repository
    if commit is not None and repository is not None:
        tree, place = repository.tree_id(commit.id, folder), place_of(work.deployment, folder)
        remember_base(memo, work.inputs, tree, made, horizon, place, ledgers)


def _unplanned(
    work: Work,
    settings: Settings,
    memo: ParseCache,
    progress: Progress,
    before_push: BeforePush | None,
    before_quick_push: BeforeQuickPush,
) -> Outcome | Spared | Rewritten | None:
    """A pass that plans nothing, or a part; None where the whole fleet has to be planned."""
    planned = _partly(work, settings, memo, None)
    if planned is None:
        return None
    if not isinstance(planned, Touch):
        return _to_settle(_carried_out(planned, work, settings, memo, progress, before_push), work)
    if planned.changes:
        return _rewritten(work, planned, settings, memo, progress, before_quick_push)
    found = _spared(work, planned.quiet, settings, before_quick_push)
    planned.landed(found.tip)
    memo.save()
    return found


def _partly(work: Work, settings: Settings, memo: ParseCache, ledgers: LedgerCache | None) -> Touch | Hydration | None:
    """What a pass comes to that plans nothing, or a part; None where the whole fleet has to be planned."""
    rest = rest_of(memo, work, settings.folder)
    found = touched(memo, work, settings.folder, rest) if rest is not None else None
    if found is not None or rest is None:
        return found
    from gitplacer.passes.partly import planned_partly  # which takes a while to import

    return planned_partly(memo, work, settings.folder, rest, ledgers=ledgers)


def _rewritten(
    work: Work,
    touch: Touch,
    settings: Settings,
    memo: ParseCache,
    progress: Progress,
    before_quick_push: BeforeQuickPush,
) -> Rewritten:
    """Publish what a pass comes to that plans no whole fleet."""
    before_quick_push(work, publishes=True)
    deployment = work.deployment
    ended = partial(
        Rewritten,
        quiet=touch.quiet,
        deployment=deployment.address.redacted,
        branch=deployment.branch,
        source=touch.source,
        subject=touch.message.partition("\n")[0],
        tips=work.source.tips,
    )
    progress("publishing 1 commit(s)")
    commit = NewCommit(changes=touch.changes, message=touch.message, author=settings.author, when=settings.now)
    try:
        tip = _publish(work, [commit], settings, {})
    except LostRace:
        return ended(Landing.OVERTAKEN)
    touch.landed(tip)
    memo.save()
    return ended(Landing.PUBLISHED, tip=tip, unnoted=deployment.unnoted)


_Ended = TypeVar("_Ended", Outcome, Outcome | Spared | Rewritten)


def _not_overtaken(attempt: Callable[[], _Ended], progress: Progress) -> _Ended:
    for number in range(1, ATTEMPTS + 1):
        ended = attempt()
        if isinstance(ended, Spared) or ended.landing is not Landing.OVERTAKEN:
            return replace(ended, attempts=number)
        progress("somebody else pushed first; computing again on what they pushed")
    raise GitError(
        f"lost the race for the deployment branch {ATTEMPTS} times", "LostRace", "run it again; nothing was changed"
    )


def _spared(work: Work, known: Quiet, settings: Settings, before_quick_push: BeforeQuickPush) -> Spared:
    before_quick_push(work, publishes=False)
    deployment = work.deployment
    if (note := _note(work, settings)) is not None:
        deployment.annotate(note)
    assert deployment.tip is not None
    return Spared(known, deployment.address.redacted, deployment.branch, deployment.tip, unnoted=deployment.unnoted)


def one_pass(
    settings: Settings,
    memo: ParseCache,
    *,
    progress: Progress,
    before_push: BeforePush | None = None,
) -> Outcome:
    """
    One pass as of `settings.now`. Nothing of it outlives it but what it published, and what `memo` knows of files, which it also
    keeps on disk. Raises Rejected, GitError or UsageError, and what `before_push` raises; then nothing has landed.
    """
    with at_work(settings, memo, progress) as work:
        return _passed(settings, memo, work, progress, before_push, None)


def _passed(
    settings: Settings,
    memo: ParseCache,
    work: Work,
    progress: Progress,
    before_push: BeforePush | None,
    ledgers: LedgerCache | None,
    horizon: Horizon | None = None,
) -> Outcome:
    """A pass on what is open. `horizon` notes how long what comes of it stands."""
    from gitplacer.hydrate import hydrate  # which takes a while; a pass that is spared does without
    from gitplacer.passes.seats import ledgers_beside

    inputs = replace(work.inputs, now=horizon.now) if horizon is not None else work.inputs
    hydration = hydrate(
        inputs,
        memo=memo,
        ledgers=ledgers or ledgers_beside(memo, place_of(work.deployment, settings.folder)),
        with_candidates=False,
    )
    return _carried_out(hydration, work, settings, memo, progress, before_push)


def _carried_out(
    hydration: Hydration,
    work: Work,
    settings: Settings,
    memo: ParseCache,
    progress: Progress,
    before_push: BeforePush | None,
) -> Outcome:
    """A pass that has come to something: published, if it is anything and `before_push` is not against it."""
    deployment = work.deployment
    memo.save()
    if before_push is not None:
        before_push(hydration, work)
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
        tip = _publish(work, commits_of(hydration, settings), settings, proposals)
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


def _publish(work: Work, commits: list[NewCommit], settings: Settings, proposals: Mapping[str, NewCommit]) -> str:
    with about("deployment"):
        known = work.deployment.keeps_inputs(work.inputs.capacity_id)
        inputs = None if known else capacity_commit(work.source, work.deployment, settings)
        return work.deployment.publish(commits, inputs=inputs, proposals=proposals, note=_note(work, settings))


def commits_of(hydration: Hydration, settings: Settings) -> list[NewCommit]:
    """What is done, as commits to be made."""
    return [
        NewCommit(changes=step.changes, message=step.message, author=settings.author, when=settings.now)
        for step in hydration.steps
    ]


def capacity_commit(source: Opened, deployment: Deployment, settings: Settings) -> NewCommit | None:
    """The capacity that was used, to be kept beside what was made of it; None if there is none. What is kept already is not read again."""
    if not len(source.capacity):
        return None
    # As it is, modes and symlinks included: its id stands in the trailers. A submodule or a pipe is nothing that could be kept.
    kept = {path: entry for path, entry in source.capacity.entries.items() if entry.is_blob}
    modes = {path: entry.mode for path, entry in kept.items()}
    there = {entry.oid for entry in deployment.inputs.entries.values() if entry.is_blob}
    same = {path: entry.oid for path, entry in kept.items() if entry.oid in there}
    message = f"{CAPACITY_USED}{source.commit.id[:12] if source.commit else 'a pass'}\n"
    changes = Changes(source.capacity.read_all(kept.keys() - same.keys()))
    return NewCommit(
        changes=changes, message=message, author=settings.author, when=settings.now, same=same, modes=modes
    )
