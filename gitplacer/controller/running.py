"""
The loop: wait, look, make a pass, tell, and again.

A pass is the same `reconcile` that the command line runs once; the controller adds what a year needs. It keeps in memory what was parsed, and
the ledgers, so that a pass which finds one file changed parses one file, and opens the ledgers of the clusters that have changed. It
looks before it reads. Behind a whole pass that has published something it makes one more, which finds the fleet at rest: that is what
passes need which plan a part alone. It gives whatever goes wrong a name and waits accordingly (`turns`), and nothing but being told to stop ends it. A
lost race is a turn that is made again, from the start.

Told to stop, it drops what it is doing at once, because nothing that is not pushed is of any worth to others. A push alone is never
interrupted: from the moment the last question is asked until its answer is there, stopping waits.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.controller.doubts import SKEW, ClockBehind, Memory, Seen, ask
from gitplacer.controller.electing import Alone, Elected
from gitplacer.controller.faults import Found, found
from gitplacer.controller.looking import DEPLOYMENT, Tips, forget_mirrors, look
from gitplacer.controller.observing import Observer, Observers
from gitplacer.controller.schedule import NEVER, Due, Pace, after_look, after_pass
from gitplacer.controller.turns import RULES, Backoff, Fault, Outcome, Turn, backed_off
from gitplacer.controller.wakes import Clock, SystemClock, Wake, Wakes
from gitplacer.explain import rfc3339
from gitplacer.git.program import GitError
from gitplacer.git.pushing import LostRace
from gitplacer.hydrate import Hydration
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.decision import Action
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Work
from gitplacer.passes.reconcile import Landing, Rewritten, next_pass
from gitplacer.passes.reconcile import Outcome as PassOutcome
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.problems import Severity
from gitplacer.settings import Settings
from gitplacer.source.files import Parser, read_file

FULL_COLLECTION = 16
"""After so many passes garbage is looked for among all objects, which takes some tenths of a second; else among new ones."""
_YOUNG, _OLD = 1, 2
"""Generations of the garbage collector."""
_MAY_BE_BEHIND = frozenset({Fault.DEPLOYMENT_REWOUND, Fault.DEPLOYMENT_LOST})
"""What it looks like where a server does not know a push yet on each of its machines."""


class Stopped(BaseException):
    """The controller was told to stop; what was being done has been dropped."""


def _quiet(message: str) -> None:
    return None


class _Ended(Struct, frozen=True):
    """What a turn came to, before it is known when the next one is."""

    outcome: Outcome
    found: Found | None = None
    source: str | None = None
    tip: str | None = None
    hydration: Hydration | None = None
    rewritten: Rewritten | None = None
    is_look: bool = False
    notes: tuple[str, ...] = ()
    unsettled: bool = False


class _Reach(Struct):
    """How far a pass has come, for the turn that fails: the commits that it read."""

    source: str | None = None
    tip: str | None = None
    notes: list[str] = field(default_factory=list)


class Controller:
    """
    Passes on one fleet, one at a time. `settings.now` does not matter: each pass has its own. `draw` gives numbers from 0 to 1;
    `parser` reads files that are not known yet.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        draw: Callable[[], float],
        clock: Clock | None = None,
        pace: Pace | None = None,
        observers: Iterable[Observer] = (),
        elected: Elected | None = None,
        complain: Callable[[str], None] = _quiet,
        progress: Callable[[str], None] = _quiet,
        parser: Parser = read_file,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._pace = pace or Pace()
        self._draw = draw
        self._observers = Observers(observers, complain)
        self._elected = elected or Alone()
        self._led: bool | None = None
        self._progress = progress
        self.wakes = Wakes(self._clock, self._pace)
        self._parser = parser
        self._memo = ParseCache(settings.cache_dir, parser)
        self._ledgers = LedgerCache()
        self._number = 0
        self._backoff = Backoff()
        self._due = Due()
        self._memory: Memory | None = None
        self._tips: Tips | None = None
        self._standing = _Ended(Outcome.UNCHANGED, is_look=True)
        self._spec: FleetSpec | None = None
        self._is_busy = False
        self._is_pushing = False
        self._reach = _Reach()

    def run(self) -> None:
        """Turn after turn, until somebody calls `stop` or `interrupt`."""
        generations = itertools.cycle((*[_YOUNG] * (FULL_COLLECTION - 1), _OLD))
        self._elected.start(self.wakes.ring)
        try:
            while (wake := self.wakes.wait(self._when)) is not None:
                if not self.turn(wake).is_look:
                    # Between passes, so that none of them waits for it, and one that follows at once waits little: of what a
                    # pass leaves, reference counts free nearly all. The rest is young, and what has grown old can wait.
                    gc.collect(next(generations))
                self._observers.waiting(self._wall_at(self.wakes.next_turn(self._due)))
        except Stopped:
            pass
        finally:
            self._elected.stop()
            self._observers.stopped()

    def _when(self) -> Due:
        """What is due for this replica. Whoever begins to work looks at what others have done in the meantime."""
        leads = self._elected.leads()
        if leads is not self._led:
            if not isinstance(self._elected, Alone):
                self._observers.elected(leads)
            if leads:
                self._due = Due()
            self._led = leads
        return self._due if leads else NEVER

    def stop(self) -> None:
        """End after the turn that is being made, or before its push. From any thread."""
        self.wakes.stop()

    def interrupt(self) -> None:
        """The same at once, from a signal handler in the thread that runs: raises Stopped in it, unless it is pushing."""
        self.wakes.stop()
        if self._is_busy and not self._is_pushing:
            raise Stopped

    def turn(self, wake: Wake) -> Turn:
        """One turn. Raises Stopped, and nothing else."""
        self._number += 1
        self._reach = _Reach()
        started, began = self._clock.wall(), self._clock.monotonic()
        self._observers.began(self._number, wake.why, started)
        try:
            self._is_busy = True
            ended = self._ended(wake)
        finally:
            self._is_busy = self._is_pushing = False
        turn = self._told(ended, wake, started, began)
        self._observers.ended(turn)
        if turn.hydration is not None:
            self._memo.forget_unused()
            self._ledgers.forget_unused()
        return turn

    def _ended(self, wake: Wake) -> _Ended:
        looked: Tips | None = None
        try:
            if not wake.makes_pass or (wake.refs and self._standing.found is None):
                looked = look(self._settings, self._spec)
                if looked and looked == self._tips:
                    return self._standing
            return self._pass(whole=wake.settles or self._clock.monotonic() >= self._due.pass_at)
        except Exception as error:
            if self.wakes.stopping:
                raise Stopped from error  # a signal that ends us may have ended a git of ours as well
            fault = found(error)
            if wake.settles and fault.fault in _MAY_BE_BEHIND:
                return self._standing  # a look tells soon: whatever is gone for good has moved
            self._tips = looked
            if fault.fault is Fault.DAMAGED_CACHE:
                self._heal()
            return _Ended(
                RULES[fault.fault].outcome, fault, self._reach.source, self._reach.tip, notes=tuple(self._reach.notes)
            )

    def _heal(self) -> None:
        """A cache may be thrown away at any time; the next pass makes it again."""
        self._memo = ParseCache(self._settings.cache_dir, self._parser)
        with contextlib.suppress(GitError, OSError):
            forget_mirrors(self._settings, self._spec)

    def _pass(self, *, whole: bool) -> _Ended:
        now = self._clock.wall().astimezone(UTC).replace(microsecond=0)
        try:
            done = self._made_at(now, whole=whole)
        except ClockBehind as behind:
            if behind.last - now > SKEW:
                raise
            now = behind.last  # clocks differ; no pass of the controller is earlier than the one before
            done = self._made_at(now, whole=whole)
        if done.unnoted:
            self._reach.notes.append(
                f"promoters find no note on the tip, which the next pass tries again: {done.unnoted}"
            )
        if done.tip and self._memory is not None:
            self._memory.write(Seen(done.tip, rfc3339(now)))
        if isinstance(done, Rewritten):
            self._tips = {**done.tips, DEPLOYMENT: done.tip}
            return _Ended(
                Outcome.PUBLISHED, None, done.source, done.tip, rewritten=done, notes=tuple(self._reach.notes)
            )
        hydration = done.hydration
        if done.refused:
            self._reach.notes.append(f"the server did not take the branches with proposals: {done.refused}")
        tip = done.tip or hydration.view.deployment_commit
        self._spec = hydration.snapshot.source.own.fleet.spec
        self._tips = {**done.tips, **({DEPLOYMENT: tip} if tip else {})}
        outcome = Outcome.PUBLISHED if done.tip else Outcome.HELD if is_held(hydration) else Outcome.UNCHANGED
        return _Ended(
            outcome, None, hydration.view.source_commit, tip, hydration, notes=tuple(self._reach.notes), unsettled=done.unsettled
        )  # fmt: skip

    def _made_at(self, now: datetime, *, whole: bool) -> PassOutcome | Rewritten:
        done = next_pass(
            replace(self._settings, now=now),
            self._memo,
            progress=self._say,
            before_push=self._before_push,
            before_quick_push=self._undoubted,
            ledgers=self._ledgers,
            whole=whole,
        )
        if done.landing is Landing.OVERTAKEN:
            raise LostRace(f"somebody else pushed to branch {done.branch} of {done.deployment} first")
        return done

    def _say(self, message: str) -> None:
        self._progress(message)
        if self.wakes.stopping and not self._is_pushing:
            raise Stopped

    def _before_push(self, hydration: Hydration, work: Work) -> None:
        self._undoubted(work, publishes=bool(hydration.steps))

    def _undoubted(self, work: Work, *, publishes: bool) -> None:
        """The last question before a push. From here on nothing stops it."""
        commit = work.inputs.commit
        self._reach.source, self._reach.tip = commit.id if commit is not None else None, work.inputs.deployment_commit
        self._memory = Memory(self._settings.cache_dir, work.deployment)
        found = ask(work, self._memory, publishes=publishes)
        self._reach.notes = [f"{doubt.kind}: {doubt}" for doubt in found if not isinstance(doubt, ClockBehind)]
        self._is_pushing = True
        if self.wakes.stopping:
            raise Stopped

    def _told(self, ended: _Ended, wake: Wake, started: datetime, began: float) -> Turn:
        """The turn for observers; and what is due next."""
        now = self._clock.monotonic()
        fault = ended.found.fault if ended.found else None
        stretch = 0.9 + 0.2 * self._draw()
        due, batch_from, unsettled = self._due, began, ended.unsettled
        if wake.settles:  # once only, and no hint waits for another because of it
            due, batch_from, unsettled = due.settled(), due.began, False
        if ended.is_look:
            is_soon = bool(wake.refs) or wake.settles
            self._due = after_look(due, self._pace, began=batch_from, now=now, stretch=stretch, hinted=is_soon)
        elif ended.rewritten is not None:
            self._backoff = Backoff()
            self._due = after_look(due, self._pace, began=batch_from, now=now, stretch=stretch)
        else:
            self._backoff, delay = backed_off(self._backoff, fault, self._draw())
            hurries = fault is None or RULES[fault].hurries
            self._due = after_pass(
                self._pace,
                began=batch_from,
                now=now,
                delay=delay,
                hurries=hurries,
                stretch=stretch,
                unsettled=unsettled,
            )
        if not ended.is_look:
            outcome = Outcome.UNCHANGED if ended.outcome is Outcome.PUBLISHED else ended.outcome
            self._standing = replace(ended, outcome=outcome, hydration=None, rewritten=None, notes=(), is_look=True)
        said, rewritten = ended.found, ended.rewritten
        return Turn(
            number=self._number,
            woken=wake.why,
            outcome=ended.outcome,
            started=started,
            seconds=now - began,
            next_at=self._wall_at(self._due.next_turn(None, self._pace)),
            fault=fault,
            again=self._backoff.times,
            message=said.message if said else "",
            hint=said.hint if said else "",
            problems=said.problems if said else rewritten.quiet.problems if rewritten is not None else (),
            notes=ended.notes,
            source=ended.source,
            tip=ended.tip,
            hydration=ended.hydration,
            is_look=ended.is_look,
            rewrote=rewritten.subject if rewritten is not None else "",
            standing=rewritten.quiet.standing if rewritten is not None else "",
            settles=wake.settles,
        )

    def _wall_at(self, monotonic: float) -> datetime:
        return self._clock.wall() + timedelta(seconds=max(0.0, monotonic - self._clock.monotonic()))


def is_held(hydration: Hydration) -> bool:
    """Whether something of a pass is held, or an input was not believed."""
    return bool(hydration.view.plan.counts()[Action.HOLD]) or any(
        problem.severity is Severity.ERROR for problem in hydration.problems
    )
