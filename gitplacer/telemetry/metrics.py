"""
Metrics of the controller, for Prometheus.

`TABLE` says which there are; the code, the docs, the alerts and the dashboard are all held against it. Counters and durations grow with each
turn. What describes the fleet is taken whole from the last pass, so that a cluster that is gone leaves no number behind.

The names follow those of Argo CD and controller-runtime where these have one. Labels have few values: no group, no address, no
branch is one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct

from gitplacer import __version__
from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Fault, Outcome, Turn
from gitplacer.git.asking import Request, Sort
from gitplacer.hydrate import Hydration
from gitplacer.settings import UsageError
from gitplacer.telemetry.figures import PHASES, RESULTS, STATES, Figures, figures, headroom, steps_of

PREFIX = "gitplacer_"
HEADROOM_EVERY = timedelta(minutes=1)
NEEDS = "pip install 'gitplacer[watch]'"
_SECONDS = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_LONG = (60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0)
REPOS = ("source", "capacity", "deployment")
PUSHES = ("ok", "race", "denied", "error")
HOOKS = ("followed", "ignored", "seen", "refused")
"""What became of a webhook: it woke the controller, was about something else, came before, or was not believed."""
_DENIED = frozenset({Fault.PUSH_REFUSED, Fault.ACCESS_DENIED})
_DOUBTS = frozenset({Fault.CLOCK_BEHIND, Fault.SOURCE_REWOUND, Fault.DEPLOYMENT_REWOUND, Fault.DEPLOYMENT_LOST})


class Metric(Struct, frozen=True):
    """
    One metric: its name without the prefix, what it is for people, its labels, each with the values that it can have (a sentence where they
    are not listed), and the bounds of a histogram. `of_last_pass` is for what describes the fleet.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: Mapping[str, tuple[str, ...] | str]
    buckets: tuple[float, ...] = ()
    of_last_pass: bool = False


TABLE = (
    Metric("reconcile", "counter", "Passes, by how they ended. Looks that found nothing moved are not counted.",
           {"result": tuple(Outcome)}),
    Metric("reconcile_duration_seconds", "histogram", "How long a pass took, by how it ended.",
           {"result": tuple(Outcome)}, _SECONDS),
    Metric("looks", "counter", "Looks at the branches that found nothing moved.", {}),
    Metric("faults", "counter", "Turns that went wrong, by what went wrong.", {"fault": tuple(Fault)}),
    Metric("last_success_timestamp_seconds", "gauge", "When the last turn ended in which nothing went wrong.", {}),
    Metric("git_request", "counter", "Runs of git that talked to a server.",
           {"repo": REPOS, "request_type": tuple(Sort)}),
    Metric("git_request_duration_seconds", "histogram", "How long they took.",
           {"repo": REPOS, "request_type": tuple(Sort)}, _SECONDS),
    Metric("git_fetch_fail", "counter", "Those that only read, and failed.", {"repo": REPOS}),
    Metric("git_push", "counter", "Passes that pushed, by what the server said.", {"result": PUSHES}),
    Metric("moves", "counter", "Commits of relocations that landed, by what they do of one, and what becomes of it.",
           {"phase": PHASES, "result": RESULTS}),
    Metric("move_duration_seconds", "histogram", "How long relocations of several commits took, when they have ended.",
           {"result": ("done", "aborted")}, _LONG),
    Metric("refused_input", "counter", "Inputs that were not believed or could not be used, each counted when it appears.",
           {"reason": "the problem's code"}),
    Metric("tree_guard_trips", "counter", "Groups that a guard began to hold, and passes that were held because a branch or the clock went back.",
           {"guard": "the reason or the fault"}),
    Metric("webhook", "counter", "Webhooks, by what became of them.", {"provider": "one that has a secret", "result": HOOKS}),
    Metric("webhook_processing_duration_seconds", "histogram", "How long a webhook took, from its headers to its answer.",
           {"provider": "one that has a secret"}, _SECONDS),
    Metric("notices_dropped", "counter", "Notices that nobody took: the place was down for long, or refused them.",
           {"to": ("notify", "events")}),
    Metric("workloads", "gauge", "Groups after the last pass, by state.", {"state": STATES}, of_last_pass=True),
    Metric("unschedulable", "gauge", "Groups that wait for a place, by reason.", {"reason": "the reason's code"}, of_last_pass=True),
    Metric("held", "gauge", "Groups that stay as they are until somebody acts or a time has come, by reason.",
           {"reason": "the reason's code"}, of_last_pass=True),
    Metric("snapshot_age_seconds", "gauge", "How old the capacity is that is known of a cluster.",
           {"cluster": "its name"}, of_last_pass=True),
    Metric("cluster_headroom", "gauge", "What is free on a cluster after the last pass, in cores, bytes or pieces.",
           {"cluster": "its name", "resource": "its name"}, of_last_pass=True),
    Metric("build_info", "gauge", "Always 1; its label is the version.", {"version": "gitplacer's"}, of_last_pass=True),
)  # fmt: skip


def full_name(metric: Metric) -> str:
    """The name that queries use; a histogram's has `_bucket`, `_sum` and `_count` after it."""
    return f"{PREFIX}{metric.name}{'_total' if metric.kind == 'counter' else ''}"


class Metrics(Silent):
    """
    Counts, in a registry of its own. `wall` is the time of day in seconds since 1970. Raises UsageError where the library is missing.
    """

    def __init__(self, wall: Callable[[], datetime]) -> None:
        try:
            import prometheus_client
            from prometheus_client import core
        except ModuleNotFoundError as error:
            raise UsageError(f"metrics need the package {error.name}", f"install it: {NEEDS}") from None
        prometheus: Any = prometheus_client
        prometheus.disable_created_metrics()
        self._core: Any = core
        self._exposed = prometheus.generate_latest
        self.content_type = prometheus.CONTENT_TYPE_LATEST
        self.registry = prometheus.CollectorRegistry(auto_describe=False)
        self._wall = wall
        self._lock = threading.Lock()
        self._figures: Figures | None = None
        self._headroom: Mapping[tuple[str, str], float] = {}
        self._headroom_at: datetime | None = None
        self._refused: frozenset[tuple[str, str]] = frozenset()
        self._guards: frozenset[tuple[str, str]] = frozenset()
        self._doubt: Fault | None = None
        self._pushed = False
        kinds: Mapping[str, Any] = {"counter": prometheus.Counter, "gauge": prometheus.Gauge}
        self._grown: dict[str, Any] = {}
        for metric in TABLE:
            if metric.of_last_pass:
                continue
            name, labels = f"{PREFIX}{metric.name}", tuple(metric.labels)
            if metric.kind == "histogram":
                made: Any = prometheus.Histogram(
                    name, metric.help, labels, registry=self.registry, buckets=metric.buckets
                )
            else:
                made = kinds[metric.kind](name, metric.help, labels, registry=self.registry)
            self._grown[metric.name] = made
            self._begin(metric, made)
        self.registry.register(self)  # whatever has `collect` is a collector

    def _begin(self, metric: Metric, made: Any) -> None:
        """Begin at 0 where all values of the labels are known, so that the first one counted is an increase."""
        known = [values for values in metric.labels.values() if not isinstance(values, str)]
        if metric.kind == "counter" and metric.labels and len(known) == len(metric.labels) == 1:
            for value in known[0]:
                made.labels(str(value))

    def exposed(self) -> bytes:
        """All of them, as Prometheus reads them."""
        data: bytes = self._exposed(self.registry)
        return data

    # what is told

    def asked(self, request: Request) -> None:
        """A run of git has ended."""
        self._grown["git_request"].labels(request.repo, request.sort).inc()
        self._grown["git_request_duration_seconds"].labels(request.repo, request.sort).observe(request.seconds)
        if request.sort is Sort.PUSH:
            self._pushed = True
        elif request.failed:
            self._grown["git_fetch_fail"].labels(request.repo).inc()

    def hooked(self, provider: str, result: str, seconds: float) -> None:
        """A webhook was answered. `provider` is one that has a secret."""
        self._grown["webhook"].labels(provider, result).inc()
        self._grown["webhook_processing_duration_seconds"].labels(provider).observe(seconds)

    def dropped(self, to: str) -> None:
        """A notice could not be delivered."""
        self._grown["notices_dropped"].labels(to).inc()

    def began(self, number: int, woken: tuple[str, ...], at: datetime) -> None:
        self._pushed = False

    def ended(self, turn: Turn) -> None:
        if turn.fault is None:
            self._grown["last_success_timestamp_seconds"].set(self._wall().timestamp())
        if turn.is_look:
            self._grown["looks"].inc()
            return
        self._grown["reconcile"].labels(turn.outcome).inc()
        self._grown["reconcile_duration_seconds"].labels(turn.outcome).observe(turn.seconds)
        if turn.fault is not None:
            self._grown["faults"].labels(turn.fault).inc()
        if self._pushed:
            self._grown["git_push"].labels(_pushed(turn)).inc()
        self._count_doubt(turn.fault)
        if turn.hydration is None:
            stops = turn.problems if turn.fault is not None else ()
            self._count_refused(frozenset((problem.code, str(problem.location)) for problem in stops), all_of=False)
            return
        found = figures(turn.hydration)
        free = self._headroom_after(turn.hydration)
        with self._lock:
            self._figures, self._headroom = found, free
        self._count_refused(found.refused, all_of=True)
        for guard, _ in found.guards - self._guards:
            self._grown["tree_guard_trips"].labels(guard).inc()
        self._guards = found.guards
        if turn.outcome is Outcome.PUBLISHED:
            for step in steps_of(turn.hydration):
                self._grown["moves"].labels(step.phase, step.result).inc()
                if step.seconds is not None:
                    self._grown["move_duration_seconds"].labels(step.result).observe(max(0.0, step.seconds))

    def _headroom_after(self, hydration: Hydration) -> Mapping[tuple[str, str], float]:
        """Counted anew at most once a minute, because passes may come every two seconds; meanwhile that of clusters that are still there."""
        now = self._wall()
        if self._headroom_at is not None and timedelta() <= now - self._headroom_at < HEADROOM_EVERY:
            return {key: free for key, free in self._headroom.items() if key[0] in hydration.view.clusters}
        self._headroom_at = now
        return headroom(hydration)

    def _count_doubt(self, fault: Fault | None) -> None:
        doubt = fault if fault in _DOUBTS else None
        if doubt is not None and doubt is not self._doubt:
            self._grown["tree_guard_trips"].labels(doubt).inc()
        self._doubt = doubt

    def _count_refused(self, refused: frozenset[tuple[str, str]], *, all_of: bool) -> None:
        for reason, _ in refused - self._refused:
            self._grown["refused_input"].labels(reason).inc()
        self._refused = refused if all_of else self._refused | refused

    # what the last pass left

    def collect(self) -> Iterator[Any]:
        """What describes the fleet now, for the registry."""
        with self._lock:
            found, free = self._figures, self._headroom
        now = self._wall()
        for metric in TABLE:
            if metric.of_last_pass:
                family = self._core.GaugeMetricFamily(f"{PREFIX}{metric.name}", metric.help, labels=list(metric.labels))
                for labels, value in _values(metric.name, found, free, now):
                    family.add_metric(list(labels), value)
                yield family


def _values(
    name: str, found: Figures | None, free: Mapping[tuple[str, str], float], now: datetime
) -> Iterator[tuple[tuple[str, ...], float]]:
    if name == "build_info":
        yield (__version__,), 1
    if found is None:
        return
    counted = {"workloads": found.workloads, "unschedulable": found.waiting, "held": found.held}
    for key, count in counted.get(name, {}).items():
        yield (key,), count
    if name == "snapshot_age_seconds":
        for cluster, at in found.observed.items():
            yield (cluster,), (now - at).total_seconds()
    if name == "cluster_headroom":
        yield from free.items()


def _pushed(turn: Turn) -> str:
    if turn.fault is None:
        return "ok"
    return "race" if turn.fault is Fault.LOST_RACE else "denied" if turn.fault in _DENIED else "error"


_SERIES = re.compile(r"_(?:bucket|sum|count)$")


def described(series: str) -> Metric | None:
    """The metric that a name in a query is of, None if there is none."""
    by_name = {full_name(metric): metric for metric in TABLE}
    if series in by_name:
        return by_name[series] if by_name[series].kind != "histogram" else None
    metric = by_name.get(_SERIES.sub("", series))
    return metric if metric is not None and metric.kind == "histogram" and _SERIES.search(series) else None
