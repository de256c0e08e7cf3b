"""
What is told of the controller: numbers, lines, notices, events. Real passes on a story's clock; what is sent goes to a server on this machine.
"""

from __future__ import annotations

import http.server
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes_validate
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.hmac import HMAC
from kubernetes import client
from prometheus_client.parser import text_string_to_metric_families

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Fault, Outcome, Turn
from gitplacer.controller.wakes import SystemClock
from gitplacer.git.asking import Request, Sort, about, heard_by, request
from gitplacer.problems import Location, Problem, Severity
from gitplacer.redactor import hide
from gitplacer.settings import UsageError
from gitplacer.telemetry import events, logs, metrics, notices, notifications
from gitplacer.telemetry.courier import FIRST_WAIT, LONGEST_WAIT, MOST_WAITING, TRIES, Courier, Undelivered
from gitplacer.telemetry.notifications import Notifications, address
from tests.clocks import StoryClock
from tests.fleetrepos import Fleet, made
from tests.gitservers import https_server
from tests.stories import cluster, rayjob, rayservice
from tests.watchedcontrollers import Watched

SECRET = "a secret of the receiver's"
AT = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)


def turn(number: int = 1, outcome: Outcome = Outcome.UNCHANGED, **more: Any) -> Turn:
    given = {
        "woken": ("time",),
        "started": AT,
        "seconds": 0.25,
        "next_at": AT + timedelta(minutes=1),
        "source": "5" * 40,
        **more,
    }
    return Turn(number=number, outcome=outcome, **given)


def told(number: int, outcome: Outcome, fault: Fault, message: str = "why", **more: Any) -> Turn:
    return turn(number, outcome, fault=fault, message=message, hint="do this", **more)


# metrics


def sampled(found: metrics.Metrics) -> dict[str, float]:
    """Each number by its name and labels, as Prometheus' own parser reads them."""
    return {
        f"{sample.name}{{{','.join(f'{k}={v}' for k, v in sorted(sample.labels.items()))}}}"
        if sample.labels
        else sample.name: sample.value
        for family in text_string_to_metric_families(found.exposed().decode())
        for sample in family.samples
    }


def test_the_table_and_what_is_exposed_are_one(tmp_path: Path) -> None:
    clock = StoryClock()
    found = metrics.Metrics(clock.wall)
    families = {family.name: family for family in text_string_to_metric_families(found.exposed().decode())}
    assert {f"{metrics.PREFIX}{metric.name}" for metric in metrics.TABLE} == set(families)
    for metric in metrics.TABLE:
        family = families[f"{metrics.PREFIX}{metric.name}"]
        assert (family.type, family.documentation) == (metric.kind, metric.help)
    assert sampled(found)["gitplacer_reconcile_total{result=Published}"] == 0


def test_a_story_in_numbers(tmp_path: Path) -> None:
    watched = Watched(made(tmp_path))
    found = metrics.Metrics(watched.clock.wall)
    watched.new(found)
    numbers: dict[int, dict[str, float]] = {}
    watched.at(20, lambda: numbers.update({20: sampled(found)}))
    watched.at(30, lambda: watched.fleet.commit(cluster("a", state="Draining") | rayjob("prod", "train")))
    watched.at(90, lambda: numbers.update({90: sampled(found)}))
    watched.at(95, lambda: watched.fleet.commit(cluster("b", state="Draining"), remove=("clusters/a.yaml",)))
    watched.at(98, lambda: (watched.fleet.source / "capacity" / "a.yaml").unlink(missing_ok=True))
    with heard_by(found.asked):
        watched.until(230)
    numbers[160] = sampled(found)
    first, second, last = numbers[20], numbers[90], numbers[160]
    assert first["gitplacer_reconcile_total{result=Published}"] == 1
    assert first["gitplacer_workloads{state=Placed}"] == 1
    assert first["gitplacer_git_push_total{result=ok}"] == 1
    assert first["gitplacer_git_request_total{repo=deployment,request_type=push}"] == 1
    assert first["gitplacer_last_success_timestamp_seconds"] == watched.clock.wall().timestamp() - 230
    assert first["gitplacer_snapshot_age_seconds{cluster=a}"] == 20
    assert second["gitplacer_moves_total{phase=Whole,result=done}"] == 1
    assert second["gitplacer_workloads{state=Placed}"] == 2
    assert (
        second["gitplacer_cluster_headroom{cluster=b,resource=cpu}"]
        < first["gitplacer_cluster_headroom{cluster=b,resource=cpu}"]
    )
    assert "gitplacer_snapshot_age_seconds{cluster=a}" in second
    assert not any("cluster=a" in name for name in last)  # a cluster that is gone leaves nothing behind
    held = [value for name, value in last.items() if name.startswith("gitplacer_held{")]
    assert sum(held) == last["gitplacer_workloads{state=Held}"] > 0
    assert last["gitplacer_looks_total"] >= 1


def test_no_label_is_of_a_group_or_an_address(tmp_path: Path) -> None:
    watched = Watched(made(tmp_path))
    found = metrics.Metrics(watched.clock.wall)
    watched.new(found)
    watched.fleet.commit(rayservice("prod", "secret-project") | {"workloads/bad.yaml": "kind: ["})
    watched.until(400)
    found.asked(Request("source", Sort.LIST, 0.1, True))
    listed = {metric.name: metric.labels for metric in metrics.TABLE}
    for family in text_string_to_metric_families(found.exposed().decode()):
        labels = listed[family.name.removeprefix(metrics.PREFIX)]
        for sample in family.samples:
            given = {name: value for name, value in sample.labels.items() if name != "le"}
            assert given.keys() == labels.keys()
            for name, value in given.items():
                known = labels[name]
                assert isinstance(known, str) or value in known, (family.name, name, value)
                assert "secret-project" not in value and (name == "resource" or "/" not in value), (
                    family.name,
                    name,
                    value,
                )
    assert sampled(found)["gitplacer_refused_input_total{reason=InvalidYAML}"] == 1  # once, however often it is seen


def test_a_push_is_counted_by_what_the_server_said() -> None:
    found = metrics.Metrics(lambda: AT)
    ends = [
        (turn(1, Outcome.PUBLISHED), "ok"),
        (told(2, Outcome.RETRY, Fault.LOST_RACE), "race"),
        (told(3, Outcome.STALLED, Fault.PUSH_REFUSED), "denied"),
        (told(4, Outcome.RETRY, Fault.UNREACHABLE), "error"),
    ]
    for ended, _ in ends:
        found.began(ended.number, ("time",), AT)
        found.asked(Request("deployment", Sort.PUSH, 1.0, ended.fault is not None))
        found.ended(ended)
    found.began(5, ("time",), AT)
    found.ended(turn(5))
    numbers = sampled(found)
    assert [numbers[f"gitplacer_git_push_total{{result={result}}}"] for _, result in ends] == [1, 1, 1, 1]
    assert numbers["gitplacer_faults_total{fault=LostRace}"] == 1
    assert (
        "gitplacer_git_fetch_fail_total{repo=deployment}" in numbers
        and not numbers["gitplacer_git_fetch_fail_total{repo=deployment}"]
    )


def test_a_branch_that_went_back_trips_the_guard_once() -> None:
    found = metrics.Metrics(lambda: AT)
    for number, fault in enumerate(
        [Fault.DEPLOYMENT_REWOUND, Fault.DEPLOYMENT_REWOUND, Fault.UNREACHABLE, Fault.DEPLOYMENT_REWOUND]
    ):
        found.ended(told(number, Outcome.STALLED, fault))
    assert sampled(found)["gitplacer_tree_guard_trips_total{guard=DeploymentRewound}"] == 2


@pytest.mark.unproved("verifying asks the server as well, which would be counted")
def test_requests_to_servers_are_counted_by_repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = made(tmp_path)
    asked: list[Request] = []
    with https_server(tmp_path / "served", tmp_path) as (url, trust):
        monkeypatch.setenv("GIT_SSL_CAINFO", trust["GIT_SSL_CAINFO"])
        watched = Watched(Fleet(fleet.source, f"{url}/deployment.git", fleet.bare))
        watched.at(70, lambda: fleet.bare.rename(fleet.bare.with_name("away.git")))
        with heard_by(asked.append):
            watched.until(130)
    assert {request.repo for request in asked} == {"deployment"}  # the source is a directory, and read in place
    sorts = [(request.sort, request.failed) for request in asked]
    assert sorts[:2] == [(Sort.LIST, False), (Sort.PUSH, False)]
    assert (Sort.LIST, True) in sorts and all(request.seconds >= 0 for request in asked)


def test_a_request_is_about_the_repo_that_was_said_last() -> None:
    asked: list[Request] = []
    with heard_by(asked.append), about("capacity"):
        with request(Sort.FETCH), about("deployment"):
            pass
        with pytest.raises(OSError), about("fleet"), request(Sort.LIST):
            raise OSError
    with request(Sort.PUSH):
        pass  # nobody listens
    assert [(each.repo, each.sort, each.failed) for each in asked] == [
        ("capacity", "fetch", False),
        ("source", "ls-remote", True),
    ]


# logs


def logged(form: logs.Form, level: logs.Level = logs.Level.INFO) -> tuple[logs.Logs, list[str]]:
    lines: list[str] = []
    return logs.Logs(lines.append, lambda: AT, form=form, level=level), lines


def test_a_line_for_each_thing_that_is_worth_one_and_the_revision_on_each() -> None:
    log, lines = logged("text")
    log.say("watching")
    for each in [
        turn(1, Outcome.PUBLISHED, tip="d" * 40), turn(2, is_look=True), turn(3), turn(4),
        told(5, Outcome.RETRY, Fault.UNREACHABLE, "cannot reach it", source=None),
        told(6, Outcome.RETRY, Fault.UNREACHABLE, "cannot reach it", source=None, again=2),
        turn(7, source="6" * 40),
    ]:  # fmt: skip
        log.began(each.number, each.woken, each.started)
        log.ended(each)
        log.waiting(each.next_at)
    log.stopped()
    assert lines == [
        "watching",
        "2026-01-02T03:05:00Z turn 1 555555555555  Published  → dddddddddddd",
        "2026-01-02T03:05:00Z turn 3 555555555555  Unchanged  → nothing yet",
        "2026-01-02T03:05:00Z turn 5 555555555555  Retry      Unreachable: cannot reach it",
        "2026-01-02T03:05:00Z turn 5 555555555555  hint: do this",
        "2026-01-02T03:05:00Z turn 7 666666666666  Unchanged  → nothing yet",
        "stopped",
    ]


def test_a_line_tells_what_was_written_again_and_what_stands() -> None:
    log, lines = logged("json")
    log.ended(turn(3, Outcome.PUBLISHED, tip="d" * 40, rewrote="Update a/b", standing="1 held (x/y)"))
    (said,) = map(json.loads, lines)
    assert (said["message"], said["commits"]) == (f"Published  → {'d' * 12}  Update a/b  1 held (x/y)", 1)


def test_what_is_wrong_with_what_was_written_again_is_told_once() -> None:
    log, lines = logged("text")
    wrong = Problem(Location("a.yaml", 3, 1), "UpgradeMakesNewCluster", "makes a second one", severity=Severity.WARNING)
    for number, problems in enumerate([(wrong,), (wrong,), ()], 3):
        log.ended(turn(number, Outcome.PUBLISHED, tip="d" * 40, rewrote="Update a/b", problems=problems))
    log.ended(turn(9, Outcome.PUBLISHED, tip="d" * 40, rewrote="Update a/b", problems=(wrong,)))
    told_in = [line.split(" turn ")[1].split()[0] for line in lines if "makes a second one" in line]
    assert told_in == ["3", "9"]


def test_json_says_the_same_to_programs() -> None:
    log, lines = logged("json", logs.Level.DEBUG)
    problem = Problem(Location("fleet.yaml", 3, 1), "UnknownField", "what is that?", "this")
    other = Problem(Location("fleet.yaml", 4, 1), "UnknownField", "and that?")
    for each in [turn(1), told(2, Outcome.STALLED, Fault.REJECTED_SOURCE, problems=(problem, other), tip="d" * 40)]:
        log.began(each.number, each.woken, each.started)
        log.ended(each)
    log.complain("something else")
    said = [json.loads(line) for line in lines]
    assert all(each["time"] == "2026-01-02T03:05:00Z" and each["turn"] in (1, 2) for each in said)
    assert all(each["revision"] == "5" * 40 for each in said[1:])
    assert [each["level"] for each in said] == ["debug", "info", "debug", *["error"] * 5, "warning"]
    assert said[3] | {"message": ""} == said[3] | {
        "fault": "RejectedSource",
        "outcome": "Stalled",
        "deployment": "d" * 40,
        "seconds": 0.25,
        "message": "",
    }
    assert said[5]["message"] == "fleet.yaml:3:1: what is that?" and (said[5]["code"], said[5]["line"]) == (
        "UnknownField",
        3,
    )


@pytest.mark.parametrize("form", logs.FORMS)
def test_a_line_is_one_line_and_has_no_secret_whatever_is_said(form: logs.Form) -> None:
    log, lines = logged(form)
    hide("hunter2-hunter2", "a file")
    nasty = "a\nb\r\x1b[31m\u202e\u2028::set-output https://me:pass@host/x hunter2-hunter2 " + "x" * 9000
    log.ended(told(1, Outcome.STALLED, Fault.UNEXPECTED, nasty))
    log.complain(nasty)
    for line in lines:
        assert line.isprintable() and "\n" not in line and len(line) < 5000
        assert "pass@" not in line and "hunter2" not in line


# notices


def test_what_changes_is_told_once_and_that_it_is_over() -> None:
    standing, sorts = notices.Told(), list[list[str]]()
    for each in [
        turn(1), told(2, Outcome.RETRY, Fault.UNREACHABLE), told(3, Outcome.STALLED, Fault.ACCESS_DENIED), told(4, Outcome.STALLED, Fault.ACCESS_DENIED),
        told(5, Outcome.RETRY, Fault.UNREACHABLE), told(6, Outcome.STALLED, Fault.ACCESS_DENIED), told(7, Outcome.STALLED, Fault.PUSH_REFUSED),
        told(8, Outcome.HELD, Fault.SOURCE_REWOUND), turn(9, is_look=True), turn(10), turn(11),
    ]:  # fmt: skip
        found, standing = notices.notices(each, standing)
        sorts.append([f"{notice.sort} {notice.reason}" for notice in found])
    assert sorts == [
        [],
        [],
        ["Stalled AccessDenied"],
        [],
        [],
        [],
        ["Stalled PushRefused"],
        ["Held SourceRewound"],
        [],
        ["Recovered Fine"],
        [],
    ]


def test_a_pass_that_only_writes_manifests_again_ends_what_had_gone_wrong_and_not_what_is_held() -> None:
    again = turn(9, Outcome.PUBLISHED, rewrote="Update a/b", standing="1 held (x/y)")
    for fault in (Fault.ACCESS_DENIED, Fault.SOURCE_REWOUND):
        _, wrong = notices.notices(told(1, Outcome.STALLED, fault), notices.Told())
        assert [notice.sort for notice in notices.notices(again, wrong)[0]] == [notices.Sort.RECOVERED]
    held = notices.Told(Outcome.HELD, "ForeignChange")
    assert notices.notices(again, held) == ((), held)
    assert notices.notices(again, notices.Told()) == ((), notices.Told())


@dataclass
class Heard(Silent):
    """All notices of a story."""

    found: list[notices.Notice] = field(default_factory=list)
    standing: notices.Told = field(default_factory=notices.Told)

    def ended(self, turn: Turn) -> None:
        now, self.standing = notices.notices(turn, self.standing)
        self.found += now


def test_moves_and_holds_of_real_passes_are_told(tmp_path: Path) -> None:
    watched, heard = Watched(made(tmp_path)), Heard()
    watched.new(heard)
    watched.at(30, lambda: watched.fleet.commit(cluster("a", state="Draining")))
    watched.at(90, lambda: watched.fleet.commit(cluster("b", state="Draining")))
    watched.at(150, lambda: watched.fleet.commit(cluster("a")))
    watched.until(220)
    moved, held, *rest = heard.found
    assert (moved.sort, moved.reason, moved.group, moved.gone, moved.come) == (
        "Moved",
        "ClusterDraining",
        "prod/api",
        ("a",),
        ("b",),
    )
    assert (held.sort, held.text) == ("Held", "held: prod/api") and held.is_warning
    assert all(notice.sort in ("Recovered", "Moved", "Held") for notice in rest)


# sent elsewhere


def sender(replies: list[str | Undelivered]) -> tuple[Callable[[str], None], list[str]]:
    sent: list[str] = []

    def send(thing: str) -> None:
        sent.append(thing)
        reply = replies.pop(0) if replies else "ok"
        if isinstance(reply, Undelivered):
            raise reply

    return send, sent


def courier(send: Callable[[str], None], clock: StoryClock) -> tuple[Courier[str], list[str], list[int]]:
    complaints, dropped = list[str](), list[int]()
    return (
        Courier("test", send, clock, complain=complaints.append, dropped=lambda: dropped.append(1)),
        complaints,
        dropped,
    )


def test_what_is_not_taken_is_sent_again_less_and_less_often_and_then_given_up() -> None:
    clock, times = StoryClock(), list[float]()

    def send(thing: str) -> None:
        times.append(clock.seconds)
        raise Undelivered("it answers 503", again=True)

    found, complaints, dropped = courier(send, clock)
    found.post("a")
    clock.at(5000, found.stop)
    found.run()
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert waits == [min(LONGEST_WAIT, FIRST_WAIT * 4**n) for n in range(TRIES - 1)]
    assert (complaints, len(dropped)) == (["test: it answers 503"], 1)


def test_who_refuses_is_not_asked_again_and_who_wants_time_gets_it() -> None:
    clock = StoryClock()
    send, sent = sender(
        [Undelivered("it answers 400", again=False), Undelivered("it answers 429", again=True, after=77)]
    )
    found, complaints, _ = courier(send, clock)
    found.post("a")
    found.post("b")
    clock.at(76, lambda: sent.append("—"))
    clock.at(200, found.stop)
    found.run()
    assert sent == ["a", "b", "—", "b"] and complaints == ["test: it answers 400"]


def test_so_many_wait_and_the_oldest_are_dropped() -> None:
    clock = StoryClock()
    send, sent = sender([])
    found, complaints, dropped = courier(send, clock)
    for number in range(MOST_WAITING + 5):
        found.post(f"{number:03}")
    found.stop()
    found.run()
    assert (sent[0], len(sent), len(dropped), len(complaints)) == ("005", MOST_WAITING, 5, 1)


@dataclass
class Receiver:
    """Takes what is posted or patched, with the answers that it was given."""

    url: str = ""
    got: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    came: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def wait(self, count: int) -> None:
        for _ in range(count):
            assert self.came.acquire(timeout=60)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.got.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(found.answers.pop(0) if found.answers else 201)
            answer = b"{}"
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            if found.later:
                self.send_header("Retry-After", found.later.pop(0))
            self.end_headers()
            self.wfile.write(answer)
            found.came.release()

        do_PATCH = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            return None

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield found
        server.shutdown()
        thread.join()


def test_notices_are_posted_as_signed_cloud_events(receiver: Receiver) -> None:
    complaints: list[str] = []
    observer = Notifications(
        f"{receiver.url}/in",
        lambda: SECRET,
        source="https://git.example/acme/fleet",
        clock=SystemClock(),
        complain=complaints.append,
        dropped=lambda: None,
    )
    observer.ended(told(7, Outcome.STALLED, Fault.ACCESS_DENIED, "cannot reach https://me:pass@host/x", tip="d" * 40))
    observer.ended(turn(8))
    receiver.wait(2)
    observer.stopped()
    (method, path, headers, body), (_, _, _, second) = receiver.got
    signer = HMAC(SECRET.encode(), hashes.SHA256())
    signer.update(body)
    assert (method, path, headers["content-type"]) == ("POST", "/in", "application/cloudevents+json")
    assert headers["x-signature"] == f"sha256={signer.finalize().hex()}"
    event = json.loads(body)
    assert {name: event[name] for name in ("specversion", "type", "source", "subject", "time", "datacontenttype")} == {
        "specversion": "1.0", "type": "dev.gitplacer.stalled", "source": "https://git.example/acme/fleet", "subject": "AccessDenied",
        "time": "2026-01-02T03:05:00Z", "datacontenttype": "application/json",
    }  # fmt: skip
    assert event["data"]["message"] == "cannot reach https://***@host/x"
    assert event["id"] != json.loads(second)["id"] and json.loads(second)["type"] == "dev.gitplacer.recovered"
    assert not complaints


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    complaints: list[str] = []
    receiver.answers = [307]
    observer = Notifications(
        receiver.url, lambda: SECRET, source="x", clock=SystemClock(), complain=complaints.append, dropped=lambda: None
    )
    observer.ended(told(1, Outcome.STALLED, Fault.ACCESS_DENIED))
    receiver.wait(1)
    observer.stopped()
    assert complaints == ["notify: it answers 307"] and len(receiver.got) == 1


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("77", 77),
        ("Fri, 02 Jan 2026 03:07:05 GMT", 120),
        ("Fri, 02 Jan 2026 03:00:00 GMT", 0),
        ("soon", 0),
    ],
)
def test_who_says_when_to_come_back_is_obeyed(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, said: str, seconds: float
) -> None:
    sends: list[Callable[[bytes], None]] = []

    class Kept(Courier[bytes]):
        def __init__(self, name: str, send: Callable[[bytes], None], *args: Any, **options: Any) -> None:
            sends.append(send)
            super().__init__(name, send, *args, **options)

    monkeypatch.setattr(notifications, "Courier", Kept)
    observer = Notifications(
        receiver.url, lambda: SECRET, source="x", clock=SystemClock(), complain=print, dropped=lambda: None
    )
    receiver.answers, receiver.later = [429], [said]
    now = datetime(2026, 1, 2, 3, 5, 5, tzinfo=UTC).timestamp()
    with monkeypatch.context() as patch, pytest.raises(Undelivered) as found:
        patch.setattr("urllib3.util.retry.time", SimpleNamespace(time=lambda: now))
        sends[0](b"{}")
    observer.stopped()
    assert (found.value.again, found.value.after) == (True, seconds)


@pytest.mark.parametrize(
    ("text", "said"),
    [("http://example.com/x", "encrypted"), ("ftp://example.com", "encrypted"), ("https://", "posted to"), ("https://me:pass@example.com/", "posted to"), ("https://exa mple.com/", "posted to"), ("https://[::1", "posted to"), ("https://me:pa/ss@x", "posted to"), ("https://x:99999/", "posted to")],
)  # fmt: skip
def test_an_address_that_cannot_be_posted_to_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "url"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(UsageError, match=said) as found:
        address(file)
    assert "pa" not in str(found.value).removeprefix(str(file))


# events


def api_of(receiver: Receiver) -> Any:
    chosen = client.Configuration()
    chosen.host, chosen.retries = receiver.url, False
    return client.EventsV1Api(client.ApiClient(chosen))


def test_events_are_ones_that_kubernetes_takes_and_count_up_when_they_come_again(receiver: Receiver) -> None:
    complaints: list[str] = []
    pod = events.Regarding("gitplacer", "gitplacer-5d9", "0b5e")
    observer = events.Events(
        api_of(receiver), pod, clock=SystemClock(), complain=complaints.append, dropped=lambda: None
    )
    receiver.answers = [201, 201, 200, 404, 201]
    for each in [
        told(1, Outcome.STALLED, Fault.ACCESS_DENIED, "é" * 3000),
        turn(2),
        told(3, Outcome.STALLED, Fault.ACCESS_DENIED, "é" * 3000),
        turn(4),
    ]:
        observer.ended(each)
    receiver.wait(5)
    observer.stopped()
    asked = [(method, path, json.loads(body)) for method, path, _, body in receiver.got]
    base = "/apis/events.k8s.io/v1/namespaces/gitplacer/events"
    first, second, again, gone, anew = asked
    assert [method for method, _, _ in asked] == ["POST", "POST", "PATCH", "PATCH", "POST"]
    assert (first[1], again[1]) == (base, f"{base}/{first[2]['metadata']['name']}")
    for body in (first[2], second[2], anew[2]):
        kubernetes_validate.validate(body, "1.33", strict=True)
        assert len(body["note"].encode()) <= 1024 and body["regarding"]["uid"] == "0b5e"
        assert re.fullmatch(r"2026-\S+T\S+:\d\d\.\d{6}(?:Z|\+00:00)", body["eventTime"])
    assert (first[2]["type"], first[2]["reason"], second[2]["type"]) == ("Warning", "AccessDenied", "Normal")
    assert again[2]["series"]["count"] == 2
    assert gone[1] == f"{base}/{second[2]['metadata']['name']}" and anew[2]["reason"] == second[2]["reason"]
    assert not complaints


def test_an_api_server_that_refuses_harms_nothing(receiver: Receiver) -> None:
    complaints, dropped = list[str](), list[int]()
    observer = events.Events(
        api_of(receiver),
        events.Regarding("x", "y"),
        clock=SystemClock(),
        complain=complaints.append,
        dropped=lambda: dropped.append(1),
    )
    receiver.answers = [403]
    observer.ended(told(1, Outcome.STALLED, Fault.ACCESS_DENIED))
    receiver.wait(1)
    observer.stopped()
    assert complaints == ["events: the API server answers 403"] and dropped == [1]


def test_which_pod_this_is_comes_from_the_downward_api() -> None:
    said = {"POD_NAME": "gitplacer-0", "POD_NAMESPACE": "gitplacer", "POD_UID": "u"}
    assert events.regarding(said) == events.Regarding("gitplacer", "gitplacer-0", "u")
    with pytest.raises(UsageError, match="which Pod"):
        events.regarding({**said, "POD_NAME": "Not/A/Name"})


# what the docs quote


def test_the_lines_that_the_docs_quote_are_what_is_written() -> None:
    page = (Path(__file__).parent.parent / "docs" / "observability.md").read_text("utf-8")
    log, lines = logged("text")
    for each in (
        turn(1, Outcome.PUBLISHED, tip="d" * 40),
        told(5, Outcome.RETRY, Fault.UNREACHABLE, "cannot reach it", source=None),
    ):
        log.ended(each)
    assert "```text\n" + "\n".join(lines) + "\n```" in page
    log, lines = logged("json")
    log.ended(turn(1, Outcome.PUBLISHED, tip="d" * 40))
    assert f"```json\n{lines[0]}\n```" in page
