"""
The options of `reconcile --watch` that say who is told what, and what they come to.

Each thing is off unless it is asked for, and what is asked for and cannot be had is an error before the first pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from gitplacer.cli.completing import files
from gitplacer.cli.options import OneOf

if TYPE_CHECKING:
    from gitplacer.controller.observing import Observer
    from gitplacer.controller.wakes import Clock
    from gitplacer.listeners.serving import Bounds, Place
    from gitplacer.settings import Settings
    from gitplacer.telemetry.logs import Logs
    from gitplacer.telemetry.metrics import Metrics

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--log-format", type=OneOf(["text", "json"]), help="With --watch: lines for people, or for programs.  [default: text]"),
    click.option("--log-level", type=OneOf(["debug", "info", "warning", "error"]), help="With --watch: the least that a line must matter.  [default: info]"),
    click.option("--hooks-listen", metavar="HOST:PORT", help="With --watch: take webhooks there, at /hooks/PROVIDER."),
    click.option("--hooks-secret-file", "hooks_secret_files", metavar="PROVIDER=FILE", multiple=True, help="The secret of webhooks from github, gitlab, gitea, forgejo, bitbucket, flux or generic. Again for another."),
    click.option("--metrics-listen", metavar="HOST:PORT", help="With --watch: /healthz, /readyz and /metrics there."),
    click.option("--report-listen", metavar="HOST:PORT", help="With --watch: show the fleet as a page there."),
    click.option("--report-host", "report_hosts", metavar="NAME", multiple=True, help="A name by which others may reach the report. Again for another."),
    click.option("--report-redact", is_flag=True, help="Leave nodes, amounts, prices and sentences out of it."),
    click.option("--notify-url-file", metavar="FILE", shell_complete=files, help="With --watch: post what changes to the address in this file."),
    click.option("--notify-secret-file", metavar="FILE", shell_complete=files, help="The secret that what is posted is signed with."),
    click.option("--events", "with_events", is_flag=True, help="With --watch, in a cluster: tell what changes as Events of this Pod."),
)  # fmt: skip


class Listening(Struct, frozen=True, kw_only=True):
    """What the options say."""

    log_format: str | None = None
    log_level: str | None = None
    hooks_listen: str | None = None
    hooks_secret_files: tuple[str, ...] = ()
    metrics_listen: str | None = None
    report_listen: str | None = None
    report_hosts: tuple[str, ...] = ()
    report_redact: bool = False
    notify_url_file: str | None = None
    notify_secret_file: str | None = None
    with_events: bool = False

    def first_given(self) -> str | None:
        """An option that was given, as it is written; None where none was."""
        names = {"hooks_secret_files": "hooks-secret-file", "report_hosts": "report-host", "with_events": "events"}
        found = next((name for name in self.__struct_fields__ if getattr(self, name)), None)
        return f"--{names.get(found, found.replace('_', '-'))}" if found else None


def listening(command: Command) -> Command:
    """The options. The command gets them as one `listening`."""

    @functools.wraps(command)
    def with_listening(**given: Any) -> Any:
        said = {name: given.pop(name) for name in Listening.__struct_fields__}
        return command(listening=Listening(**said), **given)

    return functools.reduce(lambda f, option: option(f), reversed(_OPTIONS), with_listening)  # type: ignore[return-value]


def logs_of(chosen: Listening, clock: Clock) -> Logs:
    """The log, on stderr."""
    from gitplacer.telemetry.logs import Level, Logs

    level = Level[(chosen.log_level or "info").upper()]
    form: Any = chosen.log_format or "text"
    return Logs(lambda line: click.echo(line, err=True), clock.wall, form=form, level=level)


@contextmanager
def opened(
    chosen: Listening, settings: Settings, logs: Logs, clock: Clock, hint: Callable[[str, str | None], None]
) -> Iterator[list[Observer]]:
    """
    Everything that was asked for, until the context ends: listeners that listen, and observers to be told of turns. `hint` wakes the controller.
    Raises UsageError or GitError.
    """
    with ExitStack() as stack:
        observers: list[Observer] = []
        metrics = _metrics(chosen, clock, observers, stack)
        dropped = metrics.dropped if metrics is not None else lambda to: None
        begin = _Starting(stack, logs)
        if chosen.hooks_listen is not None or chosen.hooks_secret_files:
            begin.hooks(chosen, settings, hint, metrics, observers)
        if chosen.metrics_listen is not None:
            from gitplacer.listeners import probes
            from gitplacer.telemetry.health import Health

            assert metrics is not None
            health = Health(clock)
            observers.append(health)
            begin.listener(
                "metrics",
                _place("--metrics-listen", chosen.metrics_listen),
                probes.application(health, metrics),
                probes.BOUNDS,
            )
        if chosen.report_listen is not None or chosen.report_hosts or chosen.report_redact:
            begin.report(chosen, settings, observers)
        if chosen.notify_url_file is not None or chosen.notify_secret_file is not None:
            observers.append(_notifications(chosen, settings, logs, clock, lambda: dropped("notify")))
        if chosen.with_events:
            from gitplacer.telemetry import events

            about, api = events.regarding(), events.in_cluster_api()
            observers.append(
                events.Events(api, about, clock=clock, complain=logs.complain, dropped=lambda: dropped("events"))
            )
        begin.all()
        yield observers


def _metrics(chosen: Listening, clock: Clock, observers: list[Observer], stack: ExitStack) -> Metrics | None:
    """Those that the metrics listener shows; without one nobody counts."""
    if chosen.metrics_listen is None:
        return None
    from gitplacer.git.asking import heard_by
    from gitplacer.listeners.serving import require
    from gitplacer.telemetry.metrics import Metrics

    require()
    metrics = Metrics(clock.wall)
    observers.append(metrics)
    stack.enter_context(heard_by(metrics.asked))
    return metrics


class _Starting:
    """Binds all sockets before the first listener begins, so that either all listen or none."""

    def __init__(self, stack: ExitStack, logs: Logs) -> None:
        self._stack, self._logs = stack, logs
        self._bound: list[tuple[str, Any, Any, Bounds]] = []

    def hooks(
        self, chosen: Listening, settings: Settings, hint: Callable[[str, str | None], None], metrics: Metrics | None,
        observers: list[Observer],
    ) -> None:  # fmt: skip
        from gitplacer.listeners import hooks
        from gitplacer.listeners.serving import require
        from gitplacer.settings import UsageError

        if chosen.hooks_listen is None:
            raise UsageError("--hooks-secret-file is for --hooks-listen", "give that as well, or leave it out")
        if not chosen.hooks_secret_files:
            hint_of = "give --hooks-secret-file PROVIDER=FILE; `openssl rand -hex 32` makes a secret"
            raise UsageError("--hooks-listen needs a secret, or anybody could wake the controller", hint_of)
        require()
        secrets = hooks.secrets(chosen.hooks_secret_files, self._logs.complain)
        interests = hooks.Interests(settings)
        observers.append(interests)
        counted = metrics.hooked if metrics is not None else lambda provider, result, seconds: None
        app = hooks.application(secrets, interests, hooks.Told(hint, counted, self._logs.complain))
        self.listener("hooks", _place("--hooks-listen", chosen.hooks_listen), app, hooks.BOUNDS)

    def report(self, chosen: Listening, settings: Settings, observers: list[Observer]) -> None:
        from gitplacer.listeners import pages
        from gitplacer.listeners.serving import require
        from gitplacer.settings import UsageError

        if chosen.report_listen is None:
            option = "--report-host" if chosen.report_hosts else "--report-redact"
            raise UsageError(f"{option} is for --report-listen", "give that as well, or leave it out")
        require()
        where = _place("--report-listen", chosen.report_listen)
        names = pages.hosts(where, chosen.report_hosts)
        found = pages.Pages(settings, redact=chosen.report_redact, complain=self._logs.complain)
        observers.append(found)
        self.listener("report", where, pages.application(found, names), pages.BOUNDS)

    def listener(self, name: str, where: Place, app: Any, bounds: Bounds) -> None:
        from gitplacer.listeners.serving import bound

        listening = bound(where)
        self._stack.callback(listening.close)
        self._bound.append((name, listening, app, bounds))

    def all(self) -> None:
        """Begin, and say where."""
        from gitplacer.listeners.serving import Listener

        for name, listening, app, bounds in self._bound:
            listener = Listener(name, app, listening, bounds=bounds, complain=self._logs.complain)
            self._stack.callback(listener.stop)
            host = listening.getsockname()[0]
            self._logs.say(f"{name} on {f'[{host}]' if ':' in host else host}:{listener.port}")


def _place(option: str, text: str) -> Place:
    from gitplacer.listeners.serving import place

    return place(option, text)


def _notifications(
    chosen: Listening, settings: Settings, logs: Logs, clock: Clock, dropped: Callable[[], None]
) -> Observer:
    from gitplacer.listeners.hooks import SecretFile
    from gitplacer.settings import UsageError
    from gitplacer.telemetry.notifications import Notifications, address

    if chosen.notify_url_file is None or chosen.notify_secret_file is None:
        raise UsageError("--notify-url-file and --notify-secret-file belong together", "give both, or none")
    url = address(Path(chosen.notify_url_file))
    secret = SecretFile("--notify-secret-file", Path(chosen.notify_secret_file), logs.complain)
    return Notifications(
        url, secret, source=settings.source.redacted, clock=clock, complain=logs.complain, dropped=dropped
    )
