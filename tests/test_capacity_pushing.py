"""Writing branches of snapshots: what is news, when a heartbeat is due, who else writes there, and how much history stays."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.capacity import pushing
from gitplacer.capacity.access import ClusterError
from gitplacer.capacity.material import TOLD_ONLY, changed
from gitplacer.capacity.pushing import Pushed, Result, Target, push
from gitplacer.capacity.reading import branches_at, opened_branches, read_branches
from gitplacer.controller.sending import send_for_ever
from gitplacer.git.address import Address
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.pushing import LostRace, PushRefused
from gitplacer.git.reading import Repository
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import CapacitySettings
from gitplacer.reported import single_snapshot
from gitplacer.settings import UsageError
from gitplacer.source.files import NoMemo
from gitplacer.tree import Tree
from tests.capacitybranches import WRITER, nodes, sent, ssh_key
from tests.gitservers import git, https_server
from tests.stories import ANYWHERE, START, Story, cluster, rayservice
from tests.stories import snapshot as story_snapshot


def parsed(files: dict[str, str]) -> tuple[CapacitySnapshot, bytes]:
    """A snapshot and its file."""
    ((path, text),) = files.items()
    found, _ = single_snapshot(Tree.of({path: text.encode()}), path, NoMemo())
    return found, text.encode()


FULL = """\
applied: {platform: 1, workloads: 2}
groups:
- {name: x/y, phase: Running, ready: true, observedGeneration: 3, pods: [{role: head, node: n1}, {role: w, pendingSince: "2026-01-02T03:00:00Z", reason: Insufficient cpu}]}
nodeGroups:
- {name: g, max: 3, count: 1, exhausted: {code: QuotaExceeded, since: "2026-01-02T03:00:00Z", until: "2026-01-02T04:00:00Z"}}
serves: [ray.io/v1]
kuberay: {version: 1.4.0}
"""
NODE = "n1 8 32Gi 1|, labels: {a: b}, used: {cpu: 1}"


def full(more: str = FULL, node: str = NODE, minutes: float = 0) -> CapacitySnapshot:
    return parsed(story_snapshot("a", node, at=START + timedelta(minutes=minutes), more=more))[0]


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ("", "", ()),
        # what is decided by
        ("used: {cpu: 1}", "used: {cpu: 1100m}", ("nodes",)),
        ("labels: {a: b}", "labels: {a: c}", ("nodes",)),
        ("n1 8", "n1 9", ("nodes",)),
        ("n1 8", "n2 8", ("nodes",)),
        ("used: {cpu: 1}", "used: {cpu: 1}, ready: false", ("nodes",)),
        ("workloads: 2", "workloads: 3", ("applied",)),
        ("phase: Running", "phase: Failed", ("groups",)),
        ("ready: true", "ready: false", ("groups",)),
        ("03:00:00Z\", reason", "03:01:00Z\", reason", ("groups",)),
        ("node: n1", "node: n2", ("groups",)),
        ("count: 1", "count: 2", ("nodeGroups",)),
        ("until: \"2026-01-02T04", "until: \"2026-01-02T05", ("nodeGroups",)),
        ("serves: [ray.io/v1]", "serves: [ray.io/v1, kueue.x-k8s.io/v1]", ("serves",)),
        ("1.4.0", "1.5.0", ("kuberay",)),
        ("serves: [ray.io/v1]\n", "", ("serves",)),
        # what is the same, said otherwise
        ("used: {cpu: 1}", "used: {cpu: 1000m}", ()),
        ("labels: {a: b}, ", "labels: {a: b}, ready: true, ", ()),
        # what is only told
        ("observedGeneration: 3", "observedGeneration: 4", ()),
        ("Insufficient cpu", "UntoleratedTaint", ()),
        ("since: \"2026-01-02T03:00:00Z\", until", "since: \"2026-01-02T03:30:00Z\", until", ()),
    ],
)  # fmt: skip
def test_news_is_what_a_placement_goes_by(old: str, new: str, fields: tuple[str, ...]) -> None:
    assert old in NODE + FULL
    after = full(FULL.replace(old, new) if old else FULL, NODE.replace(old, new) if old else NODE, minutes=3)
    assert changed(full(), after) == fields


def test_all_that_is_only_told_has_a_row_above() -> None:
    assert set(TOLD_ONLY) == {
        "observedAt",
        "groups[].observedGeneration",
        "groups[].pods[].reason",
        "nodeGroups[].exhausted.since",
    }


REASONS = st.sampled_from(["", ", reason: Insufficient cpu", ", reason: UntoleratedTaint"])


@given(
    used=st.tuples(st.integers(0, 8), st.integers(0, 8)),
    reasons=st.tuples(REASONS, REASONS),
    generations=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    minutes=st.integers(0, 4),
)
def test_what_is_no_news_leads_to_the_same_plan(
    used: tuple[int, int], reasons: tuple[str, str], generations: tuple[int, int], minutes: int
) -> None:
    """The law behind the table: where nothing is said to have changed, the pass comes to the same files."""
    files = []
    for each in (0, 1):
        pods = f'[{{role: worker/gpu, pendingSince: "2026-01-02T03:00:00Z"{reasons[each]}}}]'
        more = f"groups:\n- {{name: x/one, phase: Pending, observedGeneration: {generations[each]}, pods: {pods}}}\n"
        node = f"n1 12 64Gi 2|, used: {{cpu: {used[each]}}}"
        files.append(story_snapshot("a", node, at=START + timedelta(minutes=minutes * each), more=more))
    before, after = (parsed(each)[0] for each in files)
    if changed(before, after):
        return
    trees = []
    for each in files:
        story = Story.of(cluster("a"), ANYWHERE, rayservice("x", "one"), rayservice("x", "two"), capacity=each)
        story.now = START + timedelta(minutes=5)
        trees.append(story.plan().tree)
    assert trees[0] == trees[1]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git("init", "-q", "--bare", "-b", "main", "fleet.git", cwd=tmp_path)
    return tmp_path / "fleet.git"


def target(repo: Path, **changes: Any) -> Target:
    return replace(
        Target(
            address=Address.parse(str(repo), base_dir=Path("/")),
            branch="capacity/{cluster}",
            folder="capacity",
            author=WRITER,
            signing_key=None,
            heartbeat=timedelta(minutes=5),
        ),
        **changes,
    )


def pushed(repo: Path, name: str, count: int, minutes: float, **changes: Any) -> Pushed:
    snapshot, data = parsed(nodes(name, count, minutes))
    return push(target(repo, **changes), snapshot, data, START + timedelta(minutes=minutes), repo.parent / "cache")


def log(repo: Path, branch: str, what: str = "%s") -> list[str]:
    return git("log", "--first-parent", f"--format={what}", branch, cwd=repo).splitlines()


def test_news_goes_out_at_once_and_else_only_a_heartbeat(repo: Path) -> None:
    rows = [(3, 0, "Changed"), (3, 1, "Unchanged"), (4, 2, "Changed"), (4, 6, "Unchanged"), (4, 7, "Unchanged"),
            (4, 8, "Heartbeat"), (4, 12, "Unchanged"), (5, 12.5, "Changed")]  # fmt: skip
    assert [pushed(repo, "gke", count, minute).result for count, minute, _ in rows] == [row[2] for row in rows]
    assert log(repo, "capacity/gke") == [
        "Capacity of gke: nodes changed",
        "Capacity of gke: nothing changed",
        "Capacity of gke: nodes changed",
        "Capacity of gke: everything changed",
    ]
    assert git("ls-tree", "-r", "--name-only", "capacity/gke", cwd=repo) == "capacity/gke.yaml"


def test_a_heartbeat_goes_out_before_it_is_too_late(repo: Path) -> None:
    often = {"every": timedelta(seconds=90)}
    found = [pushed(repo, "gke", 3, minute, **often).result for minute in (0, 1.5, 3, 4.5, 6)]
    assert found == ["Changed", "Unchanged", "Unchanged", "Heartbeat", "Unchanged"]


def test_an_old_look_never_goes_over_a_later_one(repo: Path) -> None:
    tip = pushed(repo, "gke", 3, 10).tip
    found = pushed(repo, "gke", 9, 7)
    assert (found.result, found.tip, found.at) == (Result.OLDER, tip, START + timedelta(minutes=10))


def test_what_a_wrong_clock_sent_does_not_keep_the_right_one_out(repo: Path) -> None:
    sent(repo, "capacity/gke", {f"capacity/{path}": text for path, text in nodes("gke", 3, 9999).items()}, minutes=0)
    assert pushed(repo, "gke", 3, 1).result is Result.CHANGED
    with pytest.raises(GitError, match=r"the snapshot of gke was taken at .*, and it is 2026-01-02T03:05:00Z"):
        snapshot, data = parsed(nodes("gke", 3, 6))
        push(target(repo), snapshot, data, START, repo.parent / "cache")


@pytest.mark.parametrize(
    ("there", "written"),
    [
        ({}, ["capacity/gke.yaml"]),
        ({"README.md": "x"}, ["README.md", "capacity/gke.yaml"]),
        ({"eks.yaml": "x"}, ["eks.yaml", "gke.yaml"]),
        ({"capacity/eks.yaml": "x", "other.yaml": "x"}, ["capacity/eks.yaml", "capacity/gke.yaml", "other.yaml"]),
        ({"capacity/gke.json": "{}"}, ["capacity/gke.yaml"]),
        ({"capacity/gke.yaml": "nonsense: ["}, ["capacity/gke.yaml"]),
    ],
)
def test_it_is_written_where_it_is_looked_for_and_nothing_else_is_touched(
    repo: Path, there: dict[str, str], written: list[str]
) -> None:
    if there:
        sent(repo, "capacity", there, minutes=-1)
    assert pushed(repo, "gke", 3, 0, branch="capacity").result is Result.CHANGED
    assert git("ls-tree", "-r", "--name-only", "capacity", cwd=repo).splitlines() == written
    assert pushed(repo, "gke", 3, 1, branch="capacity").result is Result.UNCHANGED


def racing(
    monkeypatch: pytest.MonkeyPatch, repo: Path, times: int, other: Callable[[int], tuple[str, dict[str, str]]]
) -> None:
    """Somebody else is faster, so many times."""
    publish, left = Deployment.publish, [times]

    def slow(self: Deployment, *args: Any, **options: Any) -> str:
        if left[0]:
            left[0] -= 1
            branch, files = other(left[0])
            with monkeypatch.context() as patched:
                patched.setattr(Deployment, "publish", publish)
                sent(repo, branch, files, minutes=1)
        return publish(self, *args, **options)

    monkeypatch.setattr(Deployment, "publish", slow)


def test_writers_of_one_branch_wait_for_each_other_and_lose_nothing(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(left: int) -> tuple[str, dict[str, str]]:
        return "capacity", {f"capacity/{path}": text for path, text in nodes(f"c{left}", 2, 0).items()}

    racing(monkeypatch, repo, 4, other)
    assert pushed(repo, "gke", 3, 2, branch="capacity").result is Result.CHANGED
    files = git("ls-tree", "-r", "--name-only", "capacity", cwd=repo).splitlines()
    assert files == [*(f"capacity/c{n}.yaml" for n in range(4)), "capacity/gke.yaml"]


def test_of_two_writers_of_one_cluster_the_later_look_stays(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    racing(
        monkeypatch, repo, 1, lambda _: ("capacity/gke", {f"capacity/{p}": t for p, t in nodes("gke", 7, 3).items()})
    )
    assert pushed(repo, "gke", 3, 2).result is Result.OLDER
    assert "count: 7" in git("show", "capacity/gke:capacity/gke.yaml", cwd=repo)


def test_a_race_that_is_always_lost_ends(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "ATTEMPTS", 3)
    racing(monkeypatch, repo, 99, lambda left: ("capacity", {f"capacity/x{left}.md": "x"}))
    with pytest.raises(LostRace, match=r"lost the race for branch capacity of .* 3 times"):
        pushed(repo, "gke", 3, 2, branch="capacity")


HOUR = timedelta(hours=1)


def test_history_is_cut_off_in_ones_own_branch_and_reads_the_same(repo: Path) -> None:
    """Eight hours of it, of which one is kept: never less, and never more than twice that and a commit."""
    for minute in range(0, 480, 40):
        before = log(repo, "capacity/gke", "%ct %T %s") if minute else []
        pushed(repo, "gke", minute + 1, minute, keep=HOUR)
        after = log(repo, "capacity/gke", "%ct %T %s")
        assert len(after) <= 4
        assert after[1:] == before[: len(after) - 1], "what stays is as it was"
        ages = [START.timestamp() + minute * 60 - int(line.split()[0]) for line in after]
        assert minute < 40 or max(ages) >= 40 * 60
    assert git("fsck", "--strict", "--no-dangling", cwd=repo) == ""


def test_on_a_branch_of_all_nothing_is_cut_off(repo: Path) -> None:
    for minute in range(0, 360, 60):
        pushed(repo, "gke", minute + 1, minute, keep=HOUR, branch="capacity")
    assert len(log(repo, "capacity")) == 6


def test_after_a_long_silence_one_commit_is_kept_to_hold_the_next_against(repo: Path) -> None:
    pushed(repo, "gke", 3, 0, keep=HOUR)
    pushed(repo, "gke", 4, 6000, keep=HOUR)
    assert len(log(repo, "capacity/gke")) == 2


def test_where_the_server_lets_nobody_cut_off_history_it_grows(repo: Path) -> None:
    git("config", "receive.denyNonFastForwards", "true", cwd=repo)
    for minute in range(0, 240, 60):
        assert pushed(repo, "gke", minute + 1, minute, keep=HOUR).result is Result.CHANGED
    assert len(log(repo, "capacity/gke")) == 4


def test_history_that_is_cut_off_is_bounded(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "MOST_KEPT", 3)
    pushed(repo, "gke", 1, -600, keep=HOUR)
    for minute in range(8):
        pushed(repo, "gke", minute + 2, minute, keep=HOUR)
        assert len(log(repo, "capacity/gke")) <= 10
    assert re.fullmatch(r"[0-9a-f]{40}", git("rev-parse", "capacity/gke", cwd=repo))


class Clock:
    """Time that passes only where it is waited, and ends after so many waits."""

    def __init__(self, rounds: int) -> None:
        self.now, self.waits, self._rounds = START, [], rounds  # type: ignore[var-annotated]

    def __call__(self) -> datetime:
        return self.now

    def wait(self, pause: timedelta) -> bool:
        self.now += pause
        self.waits.append(pause.total_seconds())
        return len(self.waits) >= self._rounds


def test_a_writer_goes_on_for_ever_and_has_patience_with_a_host_that_is_away(repo: Path) -> None:
    clock, told, failed = Clock(rounds=26), [], []

    def look(now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
        away = 6 * 60 <= (now - START).total_seconds() < 20 * 60
        if away:
            raise GitError("nobody answers", "Unreachable")
        return [parsed(nodes("gke", 3, (now - START).total_seconds() / 60))]

    send_for_ever(
        look, target(repo, every=timedelta(minutes=1)), repo.parent / "cache", clock=clock, wait=clock.wait,
        draw=lambda: 0, told=lambda done: told.append(done.result.value), failed=lambda error, pause: failed.append(str(error)),
    )  # fmt: skip
    assert clock.waits == [60] * 6 + [5, 10, 20, 40, 80, 160, 300, 300] + [60] * 12
    assert told == ["Changed", *["Unchanged"] * 4, "Heartbeat", "Heartbeat", *["Unchanged"] * 4, "Heartbeat", *["Unchanged"] * 4, "Heartbeat", "Unchanged"]  # fmt: skip
    assert failed == ["nobody answers"] * 8


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (ClusterError("the API server cannot be read"), 2.5),
        (ClusterError("/api/v1/nodes answers 503", status=503), 2.5),
        (ClusterError("/api/v1/nodes answers 403", status=403), 15),
        (ClusterError("/api/v1/nodes answers 429", status=429), 30),
        (GitError("not yours", "AccessDenied"), 15),
        (OSError(28, "No space left on device"), 15),
        (ZeroDivisionError("nobody foresaw it"), 5),
    ],
)
def test_how_long_a_writer_waits_depends_on_what_is_wrong(repo: Path, error: Exception, waits: float) -> None:
    clock = Clock(rounds=1)

    def look(now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
        raise error

    send_for_ever(
        look, target(repo), repo.parent / "cache", clock=clock, wait=clock.wait,
        draw=lambda: 1, told=print, failed=lambda error, pause: None,
    )  # fmt: skip
    assert clock.waits == [waits]


@pytest.mark.parametrize(("looks", "waits"), [("x", None), ("/x/", [60, 30, 60])])
def test_a_writer_that_cannot_work_as_it_was_started_ends_and_one_that_has_worked_goes_on(
    repo: Path, looks: str, waits: list[float] | None
) -> None:
    clock, outcomes = Clock(rounds=len(looks)), iter(looks)

    def look(now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
        if next(outcomes) == "x":
            raise GitError("there is no repository", "NotARepository")
        return []

    with pytest.raises(GitError, match="no repository") if waits is None else contextlib.nullcontext():
        send_for_ever(
            look, target(repo, every=timedelta(minutes=1)), repo.parent / "cache", clock=clock, wait=clock.wait,
            draw=lambda: 0, told=print, failed=lambda error, pause: None,
        )  # fmt: skip
    assert clock.waits == (waits or [])


def test_a_hub_that_knows_no_cluster_any_more_ends_no_writer(repo: Path) -> None:
    clock, outcomes = Clock(rounds=3), iter("/x/")

    def look(now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
        if next(outcomes) == "x":
            raise UsageError("the hub has no Cluster of cluster.karmada.io")
        return []

    send_for_ever(
        look, target(repo, every=timedelta(minutes=1)), repo.parent / "cache", clock=clock, wait=clock.wait,
        draw=lambda: 0, told=print, failed=lambda error, pause: None,
    )  # fmt: skip
    assert clock.waits == [60, 30, 60]


def test_what_one_branch_refuses_keeps_no_other_cluster_from_being_told(repo: Path) -> None:
    hook = repo / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncase $1 in */eks) echo not you >&2; exit 1;; esac\n")
    hook.chmod(0o755)
    clock, told, failed = Clock(rounds=1), [], []

    def look(now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
        return [parsed(nodes(name, 3, 0)) for name in ("aks", "eks", "gke")]

    send_for_ever(
        look, target(repo), repo.parent / "cache", clock=clock, wait=clock.wait, draw=lambda: 1,
        told=lambda done: told.append(done.branch), failed=lambda error, pause: failed.append(str(error)),
    )  # fmt: skip
    assert told == ["capacity/aks", "capacity/gke"]
    assert len(failed) == 1 and "not you" in failed[0]


def test_a_host_that_is_away_is_asked_once_for_all_clusters(repo: Path) -> None:
    clock, failed = Clock(rounds=1), []
    away = target(repo, address=Address.parse("https://127.0.0.1:1/x.git", base_dir=repo))
    send_for_ever(
        lambda now: [parsed(nodes(name, 3, 0)) for name in ("aks", "eks")], away, repo.parent / "cache", clock=clock,
        wait=clock.wait, draw=lambda: 1, told=print, failed=lambda error, pause: failed.append(str(error)),
    )  # fmt: skip
    assert len(failed) == 1


def test_a_refused_push_lands_nothing(repo: Path) -> None:
    hook = repo / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not you >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(PushRefused, match="not you"):
        pushed(repo, "gke", 3, 0)
    assert git("for-each-ref", cwd=repo) == ""


def test_what_a_writer_signs_is_believed_also_when_history_was_cut_off(repo: Path, tmp_path: Path) -> None:
    key, public = ssh_key(tmp_path, "gke")
    for minute in range(0, 240, 60):
        pushed(repo, "gke", minute // 60 + 3, minute, signing_key=key, keep=HOUR)
    settings = CapacitySettings.model_validate({"branch": "capacity/{cluster}", "writers": {"gke": [public]}})
    (branch,) = branches_at(target(repo).address, "capacity/{cluster}")
    assert len(log(repo, branch.name)) == 2
    with Repository.open(target(repo).address, repo.parent / "cache") as repository:
        found = read_branches(repository, [branch], settings, NoMemo(), START + timedelta(hours=4))
        assert list(found) == ["gke.yaml"]
        assert b"count: 6" in found.read("gke.yaml")


@pytest.mark.server
def test_branches_on_a_server_are_written_cut_off_and_read(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("config", "http.receivepack", "true", cwd=repo)
    with https_server(tmp_path, tmp_path) as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        there = target(repo, address=Address.parse(f"{url}/fleet.git", base_dir=tmp_path), keep=HOUR)
        settings = CapacitySettings.model_validate({"branch": "capacity/{cluster}"})
        for minute in (0, 60, 180):
            for name in ("gke", "eks"):
                snapshot, data = parsed(nodes(name, minute // 60 + 1, minute))
                now = START + timedelta(minutes=minute)
                assert push(there, snapshot, data, now, tmp_path / "writer").result is Result.CHANGED
            listed = branches_at(there.address, "capacity/{cluster}")
            repository, branches = opened_branches(there.address, listed, tmp_path / "reader")
            with repository:
                found = read_branches(repository, branches, settings, NoMemo(), START + timedelta(minutes=minute))
                assert [path for path in found if f"count: {minute // 60 + 1}".encode() in found.read(path)] == [
                    "eks.yaml",
                    "gke.yaml",
                ]
    assert len(log(repo, "capacity/gke")) == 2
