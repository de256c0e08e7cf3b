"""
Reasons not to publish what was computed, because the world is not as it was left.

A pass believes what it reads. But a branch that was rewound, by somebody's force push or by a server that was restored from a backup, looks like
any other: the pass would undo what came after it, in good faith. So before a push four things are asked, of git itself where git knows:

- Is the clock behind? No pass may be earlier than the one before it, which says when it was in its trailers.
- Was the deployment branch lost? A branch that was there and is not is never made again from nothing.
- Was it rewound? The tip that this controller saw last must be behind the one that is there now. It is kept in the cache for the next
  process. A pass that somebody else has made on top since then settles it: whoever made it has seen what is there.
- Was the source rewound? The commit that the last pass was made from must be behind the one that is read now.

They are asked before every push, by the controller and by a pass that somebody, or a timer, runs once. Nothing of this stops a pass that has
nothing to publish; then it is told as a note. Running it again is no consent: whoever means it names the commit that is given up.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gitplacer.branch.lastpass import last_trailers
from gitplacer.commits import PREFIX
from gitplacer.git.cache import UntrustedFolder, private_folder
from gitplacer.git.mirror import refs_of
from gitplacer.git.ourbranches import INPUTS, NEXT, PROPOSALS, SQUASHED
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Repository
from gitplacer.passes.opening import Work, was_used_by
from gitplacer.plaintext import few, rfc3339
from gitplacer.settings import Settings
from gitplacer.trailers import instant, value_of
from gitplacer.wholefile import replace_file

if TYPE_CHECKING:
    from gitplacer.hydrate import Hydration

SKEW = timedelta(minutes=2)
"""How far behind the last pass a clock may be: clocks of two machines differ."""

_SHOWN = 12
_ID = re.compile(r"[0-9a-f]{40}")


class Doubt(GitError):
    """
    A pass that would better not be published before somebody has looked. `lost` is the commit that publishing it gives up, '' where it is
    not about one.
    """

    def __init__(self, message: str, *, hint: str, lost: str = "") -> None:
        self.lost = lost
        super().__init__(message, hint=hint)


class ClockBehind(Doubt):
    """The clock is earlier than the last pass. `last` is when that was."""

    kind = "ClockBehind"

    def __init__(self, now: datetime, last: datetime) -> None:
        self.last = last
        super().__init__(
            f"the clock says {rfc3339(now)}, and the last pass was made at {rfc3339(last)}",
            hint="set this machine's clock; if that pass was the one with a wrong clock, run `gitplacer reconcile --now TIME` once",
        )


class DeploymentLost(Doubt):
    """The deployment branch was there and is not."""

    kind = "DeploymentLost"


class DeploymentRewound(Doubt):
    """The deployment branch has lost commits that it had."""

    kind = "DeploymentRewound"


class SourceRewound(Doubt):
    """The source has lost commits that passes were made from."""

    kind = "SourceRewound"


class Seen(Struct, frozen=True):
    """The tip of the deployment branch that was seen last, and when the pass was made that it ends with ('' for none)."""

    tip: str
    made: str


def doubts(work: Work, seen: Seen | None) -> Iterator[Doubt]:
    """What speaks against publishing a pass, the worst first. `seen` is what was seen here last, None for nothing."""
    deployment, commit = work.deployment, work.inputs.commit
    assert commit is not None
    where = f"branch {deployment.branch} of {deployment.address.redacted}"
    if deployment.tip is None:
        source = work.source.repository
        kept = deployment.inputs_tip if source is not None and was_used_by(deployment, source) else None
        if seen is not None or kept is not None:
            lost = seen.tip if seen is not None else str(kept)
            tip = seen.tip[:_SHOWN] if seen is not None else "its last commit"
            others = _other_branches(deployment) if seen is None else []
            elsewhere = (
                f"if passes go to {few(others)}, correct spec.deployment.branch of the Fleet; else " if others else ""
            )
            yield DeploymentLost(
                f"there is no {where}, and passes were published to this repo"
                if others
                else f"{where} is gone, and passes were there",
                hint=f"{elsewhere}push {tip} to it again; or, to place everything anew, {_given_up(lost)}",
                lost=lost,
            )
        return
    trailers = last_trailers(deployment)
    made = value_of(trailers, f"{PREFIX}Now") or ""
    if made and work.inputs.now < instant(made):
        yield ClockBehind(work.inputs.now, instant(made))
    if seen is not None and not _is_behind(deployment.repository, seen.tip, deployment.tip):
        settled = instant(made) > instant(seen.made) or _same_tree(deployment.repository, seen.tip, deployment.tip)
        if not settled:
            yield DeploymentRewound(
                f"{where} is at {deployment.tip[:_SHOWN]}, and {seen.tip[:_SHOWN]}, which was there, is not behind it",
                hint=f"push {seen.tip[:_SHOWN]} to it again; or, if it was meant, {_given_up(seen.tip)}",
                lost=seen.tip,
            )
    was = value_of(trailers, f"{PREFIX}Source") or ""
    source = work.source.repository
    if source is not None and _ID.fullmatch(was) and not _is_behind(source, was, commit.id):
        yield SourceRewound(
            f"{source.address.redacted} is at {commit.id[:_SHOWN]}, and {was[:_SHOWN]}, of which the last pass was made, is not "
            "behind it",
            hint=f"push the commits that are missing again; or, if it was meant, record it (git merge -s ours {was[:_SHOWN]}), "
            f"or {_given_up(was)}",
            lost=was,
        )


def _other_branches(deployment: Deployment) -> list[str]:
    """The branches that somebody may have meant who misspelt the name of the deployment branch."""
    heads = (ref.removeprefix("refs/heads/") for ref in refs_of(deployment.address) if ref.startswith("refs/heads/"))
    return sorted(name for name in heads if name != INPUTS and not name.startswith((PROPOSALS, NEXT, SQUASHED)))


def _given_up(commit: str) -> str:
    return f"run `gitplacer reconcile --give-up {commit[:_SHOWN]}` once"


def _is_behind(repository: Repository, old: str, new: str) -> bool:
    """Whether a commit is in the history of another. Where the history was cut off, nobody knows, and nothing is doubted."""
    lacking = 0 if old == new else repository.count_lacking(old, new)
    return lacking == 0 or (lacking is None and repository.is_shallow)


def _same_tree(repository: Repository, old: str, new: str) -> bool:
    """Whether two commits have the same files: then only the history was written anew."""
    try:
        return repository.tree_id(old) == repository.tree_id(new)
    except GitError:
        return False


def seen_at(deployment: Deployment) -> Seen | None:
    """What is to be remembered of a deployment branch."""
    if deployment.tip is None:
        return None
    return Seen(deployment.tip, value_of(last_trailers(deployment), f"{PREFIX}Now") or "")


class Memory:
    """
    What was seen last of one deployment branch, in a file of the cache, so that the next process knows it. It is never needed: without
    it a branch that was rewound while nobody looked is believed.
    """

    def __init__(self, cache_dir: Path, deployment: Deployment) -> None:
        key = hashlib.sha256(f"{deployment.address.normalised}\0{deployment.branch}".encode()).hexdigest()[:16]
        self._path: Path | None = None
        with contextlib.suppress(UntrustedFolder):
            self._path = private_folder(cache_dir, "seen") / f"{key}.json"

    def read(self) -> Seen | None:
        try:
            said = json.loads(self._path.read_text("utf-8")) if self._path is not None else None
            found = Seen(str(said["tip"]), str(said["made"])) if isinstance(said, dict) else None
        except (OSError, ValueError, KeyError):
            return None
        return found if found is not None and _ID.fullmatch(found.tip) else None

    def write(self, seen: Seen) -> None:
        """Keep it, if it can be kept."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                replace_file(self._path, json.dumps({"tip": seen.tip, "made": seen.made}).encode())


def ask(
    work: Work, memory: Memory, *, publishes: bool, is_settled: Callable[[Doubt], bool] = lambda doubt: False
) -> list[Doubt]:
    """
    Raise the worst doubt about a pass that would be published. Returns those about one that would not, which are to be told. Where nothing is
    doubted, what is there is remembered. `is_settled` says of which somebody has said that it was meant.
    """
    seen, tip = memory.read(), seen_at(work.deployment)
    found = [doubt for doubt in doubts(work, seen) if not is_settled(doubt)]
    if found and publishes:
        raise found[0]
    if not found and tip is not None and tip != seen:
        memory.write(tip)
    return found


class Undoubted:
    """
    What is asked before the push of one pass (`before_push`): it goes on if nothing is doubted but what somebody has named. `given_up` are
    commits, or how they begin, and `at_a_time` tells that the time of the pass was given, so that no clock can be behind. Then `landed`
    remembers what was published.
    """

    def __init__(
        self, settings: Settings, given_up: Collection[str], tell: Callable[[Doubt], None], *, at_a_time: bool
    ) -> None:
        self._settings = settings
        self._given_up = tuple(given_up)
        self._tell = tell
        self._at_a_time = at_a_time
        self._memory: Memory | None = None

    def __call__(self, hydration: Hydration, work: Work) -> None:
        """Raises Doubt."""
        self._ask(work, publishes=bool(hydration.steps))

    def of_unplanned(self, work: Work, *, publishes: bool) -> None:
        """The same of a pass that was not computed whole. Raises Doubt."""
        self._ask(work, publishes=publishes)

    def _ask(self, work: Work, *, publishes: bool) -> None:
        self._memory = Memory(self._settings.cache_dir, work.deployment)
        for doubt in ask(work, self._memory, publishes=publishes, is_settled=self._is_settled):
            self._tell(doubt)

    def _is_settled(self, doubt: Doubt) -> bool:
        if isinstance(doubt, ClockBehind):
            return self._at_a_time or doubt.last - self._settings.now <= SKEW
        return any(doubt.lost.startswith(commit) for commit in self._given_up)

    def landed(self, tip: str) -> None:
        """Remember the commit that the pass has published."""
        if self._memory is not None:
            self._memory.write(Seen(tip, rfc3339(self._settings.now)))
