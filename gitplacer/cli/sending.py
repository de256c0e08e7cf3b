"""`--push` and what goes with it: snapshots onto a branch, once or for ever."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitplacer.cli.completing import folders
from gitplacer.cli.options import credentials, period, signed

if TYPE_CHECKING:
    from gitplacer.capacity.pushing import Pushed, Target
    from gitplacer.controller.sending import Look
    from gitplacer.kinds.capacity import CapacitySnapshot
    from gitplacer.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])

SHORTEST_KEPT = timedelta(hours=1)
"""What is to be kept at least: a jump is held against what was before it."""


_OPTIONS = (
    click.option("--now", metavar="TIME", help="Look and push as of this time, such as 2026-01-02T03:04:05Z."),
    click.option(
        "--push", metavar="REPO", shell_complete=folders, help="Push it to a branch of this repo: a path or an address."
    ),
    click.option(
        "--push-branch",
        metavar="BRANCH",
        default="capacity/{cluster}",
        show_default=True,
        help="The branch; {cluster} stands for the cluster's name.",
    ),
    click.option(
        "--push-path",
        metavar="DIR",
        shell_complete=folders,
        default="capacity",
        show_default=True,
        help="The directory in it, as in the Fleet's spec.capacity.path.",
    ),
    click.option(
        "--every", metavar="TIME", callback=period(), help="Go on, and look again every so often, such as 30s."
    ),
    click.option(
        "--heartbeat",
        metavar="TIME",
        callback=period(),
        default="5m",
        show_default=True,
        help="Push at the latest after this time though nothing has changed; less than the Cluster's maxAge.",
    ),
    click.option(
        "--keep",
        metavar="TIME",
        callback=period(),
        default="168h",
        show_default=True,
        help="Keep so much history in a branch of one cluster alone, and up to twice as much.",
    ),
)


_SETTINGS = ("now", "author", "sign_key", "credentials")


def sending(command: Command) -> Command:
    """The options of a command that pushes snapshots."""
    return functools.reduce(lambda found, option: option(found), reversed(_OPTIONS), signed()(credentials()(command)))


def refuse_without_push(options: dict[str, Any]) -> None:
    """Raise where somebody wants to go on and said nothing of where to."""
    if options["every"] is not None:
        raise click.UsageError("--every is for --push: give that as well, or leave it out")


def send(look: Look, options: dict[str, Any]) -> int:
    """Push what `look` sees, once or until we are told to stop. Raises GitError, Rejected, ClusterError or UsageError."""
    from gitplacer.capacity.pushing import Result
    from gitplacer.cli.failures import report
    from gitplacer.controller.sending import send as send_all
    from gitplacer.settings import settings

    chosen = settings(".", deployment=options["push"], **{name: options[name] for name in _SETTINGS})
    target = _target(options, chosen)
    if options["every"] is not None:
        if options["now"] is not None:
            raise click.UsageError("--every goes on, and --now is one time: give one of them")
        return _send_for_ever(look, target, chosen.cache_dir)
    code = 0

    def told(done: Pushed) -> None:
        nonlocal code
        click.echo(said(done, target))
        if done.result is Result.OLDER:
            code = 1

    failures = send_all(target, look(chosen.now), chosen.cache_dir, clock=lambda: chosen.now, told=told)
    for error in failures[:-1]:
        report(error)
    if failures:
        raise failures[-1]
    return code


def _target(options: dict[str, Any], chosen: Settings) -> Target:
    from gitplacer.capacity.pushing import Target
    from gitplacer.settings import UsageError, folder_below

    every, heartbeat, keep = options["every"] or timedelta(), options["heartbeat"], options["keep"]
    if every > heartbeat:
        raise UsageError("--every is longer than --heartbeat", "look more often, or let heartbeats be further apart")
    if keep < SHORTEST_KEPT:
        raise UsageError("--keep is less than an hour", "a jump is held against what was before it: keep 1h or more")
    assert chosen.deployment is not None
    return Target(
        address=chosen.deployment,
        branch=options["push_branch"],
        folder=folder_below("--push-path", options["push_path"]),
        author=chosen.author,
        signing_key=chosen.signing_key,
        heartbeat=heartbeat,
        every=every,
        keep=keep,
    )


def _send_for_ever(look: Look, target: Target, cache_dir: Path) -> int:
    import random
    import threading
    from datetime import UTC, datetime

    from gitplacer.capacity.pushing import Result
    from gitplacer.cli.failures import lines
    from gitplacer.cli.progress import note
    from gitplacer.cli.signals import ended_by_signals
    from gitplacer.controller.sending import send_for_ever

    stopped = threading.Event()

    def told(done: Pushed) -> None:
        if done.result is not Result.UNCHANGED:
            note(said(done, target))

    def failed(error: Exception, pause: timedelta) -> None:
        for line in lines(error):
            note(line)
        note(f"trying again in {pause.total_seconds():.0f} s")

    with ended_by_signals(stopped.set, lambda: None):
        send_for_ever(
            look, target, cache_dir,
            clock=lambda: datetime.now(UTC).replace(microsecond=0),
            wait=lambda pause: stopped.wait(pause.total_seconds()),
            draw=random.random, told=told, failed=failed,
        )  # fmt: skip
    note("stopped")
    return 0


def written(file: str, cluster: str | None) -> tuple[CapacitySnapshot, bytes]:
    """A snapshot from a file, which must be of the cluster that was named. Raises Rejected."""
    from gitplacer.cli.files import read_file
    from gitplacer.problems import Location, Problem, Rejected
    from gitplacer.reported import single_snapshot
    from gitplacer.source.files import NoMemo
    from gitplacer.tree import Tree

    data = read_file(file)
    found, _ = single_snapshot(Tree.of({file: data}), file, NoMemo())
    if cluster not in (None, found.name):
        message = f"is the snapshot of {found.name}, not of {cluster}"
        raise Rejected([Problem(Location(file), "SnapshotName", message, "a cluster testifies only about itself")])
    return found, data


def said(done: Pushed, target: Target) -> str:
    """A push in one line."""
    from gitplacer.capacity.pushing import Result
    from gitplacer.explain import rfc3339

    where = f"branch {done.branch} of {target.address.redacted}"
    at = rfc3339(done.at)
    match done.result:
        case Result.CHANGED:
            return f"Changed    {done.tip[:12]} in {where}: {', '.join(done.fields)}"
        case Result.HEARTBEAT:
            return f"Heartbeat  {done.tip[:12]} in {where}: nothing changed until {at}"
        case Result.OLDER:
            return f"Older      {where} has a snapshot of {at} already, which is later"
    return f"Unchanged  {where} has what there is, as of {at}"
