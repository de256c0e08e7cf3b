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
    What a pass came to. `deployment` is the address of its deployment repo, to be shown, and `tip` the new commit of
    its `branch`, None where nothing was published. `proposed` are the branches of moves that wait for consent, and
    `refused` says why the server did not take them, if it did not. `unnoted` says why the tip lacks the note that
    promoters look for, if it should have one. `tips` are those of the source and the capacity that it read. `attempts`
    counts the passes that it took. `unsettled`: one more pass may find the fleet at rest, which is remembered then.
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
    """
    Called before anything is published, on every attempt; raises what is to stop it. The repos in `work` are still
    open.
    """

    def __call__(self, hydration: Hydration, work: Work) -> None: ...


class Spared(Struct, frozen=True):
    """A pass that was not computed, because the cache knows that it changes nothing, with what it would have said."""

    quiet: Quiet
    deployment: str
    branch: str
    tip: str
    attempts: int = 1
    unnoted: str = ""


class Rewritten(Struct, frozen=True):
    """
    A pass that planned nothing or a part of the fleet: it wrote some manifests again, as they are in the commit
    `source`. `subject` is that of its own commit, the new `tip`, and `quiet` what else it says. `tips` are as those of
    an Outcome.
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
    """
    Asked instead of BeforePush of a pass that is spared or only writes manifests again; raises what is to stop one that
    `publishes`, and tells the same of one that does not.
    """

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
    `reconcile` with less work where the cache tells that less will do. A pass that changes nothing is spared. One that
    only writes manifests again, or in which apps are new or edited or clusters have other states and nobody else is
    concerned, plans nothing or that part of the fleet. Of a pass that is spared or only writes manifests,
    `before_quick_push` is asked instead of `before_push`.
    """
    memo = ParseCache(settings.cache_dir, parse_many=parsed_together, write_many=written_together)

    def attempt() -> Outcome | Spared | Rewritten:
        with at_work(settings, memo, progress) as work:
            return _Attempt(work, settings, memo, progress, before_push, before_quick_push).unless_quiet()

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
    One of a controller's many passes: `one_pass`, but where the fleet was at rest before it plans only what has
    changed, unless it is to be `whole`. What a whole pass finds at rest is remembered for those that come.
    """
    with at_work(settings, memo, progress) as work:
        return _Attempt(work, settings, memo, progress, before_push, before_quick_push, ledgers).in_turn(whole=whole)


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
        return _Attempt(work, settings, memo, progress, before_push).planned_whole()


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


class _Attempt(Struct, frozen=True):
    """
    One attempt at a pass, on repos that are open while it lasts. `ledgers` are those that a controller keeps from pass to pass; without them the
    cache on disk is asked for some.
    """

    work: Work
    settings: Settings
    memo: ParseCache
    progress: Progress
    before_push: BeforePush | None
    before_quick_push: BeforeQuickPush = asks_nothing
    ledgers: LedgerCache | None = None

    def unless_quiet(self) -> Outcome | Spared | Rewritten:
        """
        Do the least that will do: nothing, if the cache knows that nothing would change; else plan a part of the fleet,
        or all of it.
        """
        key = self._quiet_key()
        known = recall(self.memo, key, self.settings.now) if key is not None else None
        if known is not None:
            return self._spared(known)
        found = self._planned_in_part()
        if found is None:
            return self._planned_and_remembered()
        if not isinstance(found, Touch):
            return self._to_settle(self._carried_out(found))
        if found.changes:
            return self._rewritten(found)
        spared = self._spared(found.quiet)
        found.landed(spared.tip)
        self.memo.save()
        return spared

    def in_turn(self, *, whole: bool) -> Outcome | Rewritten:
        """
        A controller's pass: it plans a part of the fleet where that will do, unless it is to be `whole`; it is never
        spared.
        """
        found = None if whole else self._planned_in_part()
        if found is not None and not isinstance(found, Touch):
            return self._to_settle(self._carried_out(found))
        if found is not None and found.changes:
            return self._rewritten(found)
        return self._planned_and_remembered()

    def planned_whole(self, horizon: Horizon | None = None) -> Outcome:
        """All of the fleet planned, and carried out. `horizon` notes how long what comes of it stands."""
        from gitplacer.hydrate import hydrate  # which takes a while; a pass that is spared does without
        from gitplacer.passes.seats import ledgers_beside

        inputs = self.work.inputs
        hydration = hydrate(
            replace(inputs, now=horizon.now) if horizon is not None else inputs,
            memo=self.memo,
            ledgers=self.ledgers or ledgers_beside(self.memo, self._place()),
            with_candidates=False,
        )
        return self._carried_out(hydration)

    def _planned_and_remembered(self) -> Outcome:
        """
        A whole pass that is remembered if it has nothing to do. Of a pass that has published, only another can tell
        whether all is done.
        """
        horizon, key = Horizon(self.settings.now), self._quiet_key()
        done = self.planned_whole(horizon)
        found = quiet(done.hydration, horizon) if key is not None and done.landing is Landing.UNCHANGED else None
        if key is not None and found is not None:
            remember(self.memo, key, found)
            remember_rest(self.memo, self.work, self.settings.folder, done.hydration, horizon)
            self._remember_base(done.hydration, horizon)
            self.memo.save()
        return self._to_settle(done)

    def _planned_in_part(self) -> Touch | Hydration | None:
        """What a pass comes to that plans nothing, or a part; None where the whole fleet has to be planned."""
        rest = rest_of(self.memo, self.work, self.settings.folder)
        found = touched(self.memo, self.work, self.settings.folder, rest) if rest is not None else None
        if found is not None or rest is None:
            return found
        from gitplacer.passes.partly import planned_partly  # which takes a while to import

        return planned_partly(self.memo, self.work, self.settings.folder, rest, ledgers=self.ledgers)

    def _quiet_key(self) -> str | None:
        """The key of this pass in the cache; None where it is not kept there: its inputs have no ids, or proposals stand."""
        return key_of(self.work.inputs, self.settings.folder) if not self.work.deployment.proposals else None

    def _place(self) -> str:
        return place_of(self.work.deployment, self.settings.folder)

    def _remember_base(self, made: Hydration, horizon: Horizon) -> None:
        """What plans of pull requests will be held against."""
        from gitplacer.passes.baselines import remember_base  # which takes a while to import

        inputs, repository = self.work.inputs, self.work.source.repository
        if inputs.commit is not None and repository is not None:
            tree = repository.tree_id(inputs.commit.id, self.settings.folder)
            remember_base(self.memo, inputs, tree, made, horizon, self._place(), self.ledgers)

    def _to_settle(self, done: Outcome) -> Outcome:
        """A pass with whether one behind it may find the fleet at rest."""
        published = done.landing is Landing.PUBLISHED and not done.proposed
        return replace(done, unsettled=published and can_be_at_rest(self.work))

    def _spared(self, known: Quiet) -> Spared:
        """A pass that changes nothing, as is known of it. Promoters get their note on the tip all the same."""
        self.before_quick_push(self.work, publishes=False)
        deployment = self.work.deployment
        self._annotate()
        assert deployment.tip is not None
        return Spared(known, deployment.address.redacted, deployment.branch, deployment.tip, unnoted=deployment.unnoted)

    def _rewritten(self, touch: Touch) -> Rewritten:
        """Publish what a pass comes to that plans no whole fleet."""
        self.before_quick_push(self.work, publishes=True)
        deployment, settings = self.work.deployment, self.settings
        ended = partial(
            Rewritten,
            quiet=touch.quiet,
            deployment=deployment.address.redacted,
            branch=deployment.branch,
            source=touch.source,
            subject=touch.message.partition("\n")[0],
            tips=self.work.source.tips,
        )
        self.progress("publishing 1 commit(s)")
        commit = NewCommit(changes=touch.changes, message=touch.message, author=settings.author, when=settings.now)
        try:
            tip = _publish(self.work, [commit], settings, {})
        except LostRace:
            return ended(Landing.OVERTAKEN)
        touch.landed(tip)
        self.memo.save()
        return ended(Landing.PUBLISHED, tip=tip, unnoted=deployment.unnoted)

    def _carried_out(self, hydration: Hydration) -> Outcome:
        """A pass that has come to something: published, if it is anything and `before_push` is not against it."""
        deployment, settings = self.work.deployment, self.settings
        self.memo.save()
        if self.before_push is not None:
            self.before_push(hydration, self.work)
        proposals = proposals_of(hydration, settings)
        ended = partial(
            Outcome,
            hydration=hydration,
            deployment=deployment.address.redacted,
            branch=deployment.branch,
            tips=self.work.source.tips,
        )
        proposed = tuple(proposals)
        if not hydration.steps and (deployment.tip is None or deployment.is_proposed(proposals)):
            self._annotate()
            return ended(Landing.UNCHANGED, proposed=proposed, unnoted=deployment.unnoted)
        self.progress(f"publishing {len(hydration.steps)} commit(s)")
        try:
            tip = _publish(self.work, commits_of(hydration, settings), settings, proposals)
        except LostRace:
            return ended(Landing.OVERTAKEN)
        landing, landed = (Landing.PUBLISHED, tip) if hydration.steps else (Landing.PROPOSED, None)
        return ended(landing, tip=landed, proposed=proposed, refused=deployment.refused, unnoted=deployment.unnoted)

    def _annotate(self) -> None:
        """Put the note on the tip that promoters look for, if the Fleet asks for it."""
        if (note := _note(self.work, self.settings)) is not None:
            self.work.deployment.annotate(note)


def proposals_of(hydration: Hydration, settings: Settings) -> dict[str, NewCommit]:
    """The commits with moves that wait for consent, by their branch."""
    return {
        proposal_branch(step.relocation.group): NewCommit(
            changes=step.changes, message=step.message, author=settings.author, when=settings.now
        )
        for step in hydration.proposals
        if step.relocation is not None
    }


def _note(work: Work, settings: Settings) -> Note | None:
    """The note for the tip, if the Fleet asks for one."""
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
    """The steps of a hydration as commits to be made."""
    return [
        NewCommit(changes=step.changes, message=step.message, author=settings.author, when=settings.now)
        for step in hydration.steps
    ]


def capacity_commit(source: Opened, deployment: Deployment, settings: Settings) -> NewCommit | None:
    """
    The commit that keeps the capacity tree that was used, for `verify`; None if there is no capacity. Blobs that are
    kept already are not read again.
    """
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
