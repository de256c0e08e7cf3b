"""Snapshots from the cluster to the deployment repo: pushed, believed or not, and what is computed of it proved again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gitplacer.controller.looking import look
from gitplacer.git.publishing import Deployment
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.passes.opening import Opened
from gitplacer.passes.reconcile import capacity_commit
from gitplacer.settings import settings
from gitplacer.tree import SUBMODULE, Changes, Entry, Tree, blob_id
from tests.capacitybranches import ssh_key
from tests.commands import Ran, git, make_bare, make_repo, run, starter, write

SNAPSHOT = """\
apiVersion: gitplacer.dev/v1alpha1
kind: CapacitySnapshot
metadata: {{name: my-cluster}}
observedAt: "2026-01-02T{time}:00Z"
nodes:
- {{name: n1, count: {count}, allocatable: {{cpu: "4", memory: 16Gi, pods: "58"}}}}
"""


@dataclass
class Fleet:
    """A fleet repo whose snapshots are in branches of it, a deployment repo, and who works with them."""

    capfd: pytest.CaptureFixture[str]
    source: Path
    deployment: Path

    def push(self, time: str, count: int, *more: str | Path, to: Path | None = None) -> Ran:
        file = self.source.parent / "seen.yaml"
        file.write_text(SNAPSHOT.format(time=time, count=count))
        now = f"2026-01-02T{time}:10Z"
        return run(self.capfd, "snapshot", "--from", file, "--push", to or self.source, "--now", now, *more)

    def reconcile(self, time: str, *more: str | Path) -> Ran:
        now = f"2026-01-02T{time}:20Z"
        return run(self.capfd, "reconcile", "--deployment", self.deployment, "--now", now, *more, self.source)

    def verify(self) -> Ran:
        return run(self.capfd, "verify", "--all", "--deployment", self.deployment, self.source)

    def placed(self) -> list[str]:
        listed = git(self.deployment, "ls-tree", "-r", "--name-only", "main").splitlines()
        return [path for path in listed if path.startswith("clusters/my-cluster/workloads/hello/")]


def fleet_text(writers: str = "") -> str:
    return (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec:\n"
        f'  capacity:\n    branch: "capacity/{{cluster}}"\n{writers}'
    )


@pytest.fixture
def fleet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Fleet:
    files = {**starter(), "fleet.yaml": fleet_text().encode()}
    return Fleet(capfd, make_repo(tmp_path / "fleet", files), make_bare(tmp_path / "deployment.git"))


def test_what_a_cluster_pushes_is_what_is_planned_by_and_can_be_computed_again(fleet: Fleet) -> None:
    waits = fleet.reconcile("03:00")
    assert (waits.code, fleet.placed()) == (0, []), waits.err
    assert fleet.push("03:05", 3).out.startswith("Changed    ")
    assert fleet.push("03:06", 3).out.startswith("Unchanged  ")
    assert fleet.reconcile("03:07").code == 0
    assert fleet.placed() == ["clusters/my-cluster/workloads/hello/hello/raycluster.yaml"]
    proved = fleet.verify()
    assert proved.code == 0, proved.out + proved.err


def test_a_jump_places_nothing_until_it_is_confirmed_and_can_be_computed_again(fleet: Fleet) -> None:
    fleet.push("03:00", 20)
    write(fleet.source, {"workloads/hello/raycluster.yaml": b"# none yet\n"})
    git(fleet.source, "commit", "-qam", "None yet")
    fleet.push("03:05", 99)
    write(fleet.source, {"workloads/hello/raycluster.yaml": starter()["workloads/hello/raycluster.yaml"]})
    git(fleet.source, "commit", "-qam", "One")
    jumped = fleet.reconcile("03:06")
    assert (
        "capacity/my-cluster.yaml:5:1: my-cluster has 99 nodes, and had 20 nodes at 2026-01-02T03:00:00Z" in jumped.err
    )
    assert fleet.placed() == []
    assert git(fleet.deployment, "ls-tree", "-r", "--name-only", "gitplacer-inputs").splitlines() == [
        "earlier/my-cluster.yaml",
        "my-cluster.yaml",
    ]
    fleet.push("03:16", 99)
    assert "99 nodes" not in fleet.reconcile("03:17").err
    assert fleet.placed() == ["clusters/my-cluster/workloads/hello/hello/raycluster.yaml"]
    proved = fleet.verify()
    assert proved.code == 0, proved.out + proved.err


def test_only_a_key_that_speaks_for_the_cluster_is_believed(fleet: Fleet, tmp_path: Path) -> None:
    _, public = ssh_key(tmp_path, "mine")
    ssh_key(tmp_path, "theirs")
    write(fleet.source, {"fleet.yaml": fleet_text(f"    writers: {{my-cluster: [{public}]}}\n").encode()})
    git(fleet.source, "commit", "-qam", "List the writers")
    fleet.push("03:00", 3, "--sign-key", tmp_path / "theirs")
    refused = fleet.reconcile("03:01")
    assert "is signed by no key that may speak for my-cluster" in refused.err
    assert "hint: sign with a key that the Fleet lists under spec.capacity.writers" in refused.err
    assert fleet.placed() == []
    fleet.push("03:02", 4, "--sign-key", tmp_path / "mine")
    assert "SnapshotNotSigned" not in fleet.reconcile("03:03").err
    assert fleet.placed() == ["clusters/my-cluster/workloads/hello/hello/raycluster.yaml"]
    proved = fleet.verify()
    assert proved.code == 0, proved.out + proved.err


@pytest.mark.parametrize("branch", ["capacity/{cluster}", "seen"])
def test_a_flag_says_where_capacity_is_and_the_fleet_in_which_branch_and_whom_it_believes(
    fleet: Fleet, tmp_path: Path, branch: str
) -> None:
    _, public = ssh_key(tmp_path, "mine")
    text = fleet_text(f"    writers: {{my-cluster: [{public}]}}\n").replace("capacity/{cluster}", branch)
    write(fleet.source, {"fleet.yaml": text})
    git(fleet.source, "commit", "-qam", "List the writers")
    elsewhere = make_repo(tmp_path / "elsewhere", {"capacity/my-cluster.yaml": "not: a snapshot\n"})
    chosen = settings(str(fleet.source), capacity=str(elsewhere))
    spec = FleetSpec.model_validate({"capacity": {"branch": branch}})
    fleet.push("03:00", 3, "--push-branch", branch, to=elsewhere)
    refused = fleet.reconcile("03:01", "--capacity", elsewhere)
    assert "is signed by nobody, so not for my-cluster" in refused.err
    assert fleet.placed() == []
    seen = look(chosen, spec)["capacity"]
    fleet.push("03:02", 4, "--push-branch", branch, "--sign-key", tmp_path / "mine", to=elsewhere)
    assert look(chosen, spec)["capacity"] != seen
    assert fleet.reconcile("03:03", "--capacity", elsewhere).code == 0
    assert fleet.placed() == ["clusters/my-cluster/workloads/hello/hello/raycluster.yaml"]
    proved = fleet.verify()
    assert proved.code == 0, proved.out + proved.err


def test_a_folder_that_a_flag_names_is_read_as_it_lies(fleet: Fleet, tmp_path: Path) -> None:
    elsewhere = make_repo(tmp_path / "elsewhere", {"README.md": "Capacity\n"})
    write(elsewhere, {"today/my-cluster.yaml": SNAPSHOT.format(time="03:00", count=3)})
    assert fleet.reconcile("03:01", "--capacity", elsewhere / "today").code == 0
    assert fleet.placed() == ["clusters/my-cluster/workloads/hello/hello/raycluster.yaml"]


def test_a_controller_sees_that_one_of_many_branches_has_moved(fleet: Fleet) -> None:
    spec = FleetSpec.model_validate({"capacity": {"branch": "capacity/{cluster}"}})
    chosen = settings(str(fleet.source))
    seen = [look(chosen, spec)["capacity"]]
    fleet.push("03:00", 3)
    seen += [look(chosen, spec)["capacity"]] * 2
    fleet.push("03:01", 4)
    seen.append(look(chosen, spec)["capacity"])
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--every", "30s"], "--every is for --push"),
        (["--push", "x", "--every", "10m"], "--every is longer than --heartbeat"),
        (["--push", "x", "--every", "half"], "--every half is not a time to wait"),
        (["--push", "x", "--every", "0s"], "--every 0s is not a time to wait"),
        (["--push", "x", "--heartbeat", "0s"], "--heartbeat 0s is not a time to wait"),
        (["--push", "x", "--heartbeat", "9" * 400 + "h"], "9h is not a time to wait"),
        (["--push", "x", "--keep", "10m"], "--keep is less than an hour"),
        (["--push", ".", "--push-path", "../x"], "--push-path ../x leaves the repository"),
        (["--push", "x", "-o", "y"], "--push commits the snapshot, and -o writes it"),
        (["--push", "x", "--every", "1s", "--now", "2026-01-02T03:00:00Z"], "--every goes on, and --now is one time"),
        (["--context", "x"], "--from takes a file, and no cluster"),
        (["--hub", "ocm"], "leave out --from, --cluster and --deployment"),
        (
            ["--from-dump", "x"],
            "--from-dump is for --hub: say which hub it is of\n  hint: of a dump of a cluster no snapshot is made",
        ),
        (["--cluster", "other"], "is the snapshot of my-cluster, not of other"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_bare(tmp_path / "x")
    (tmp_path / "seen.yaml").write_text(SNAPSHOT.format(time="03:00", count=1))
    done = run(capfd, "snapshot", "--from", "seen.yaml", *options)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "seen.yaml:2:7: a ConfigMap is no CapacitySnapshot"),
        (
            "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: x}\nspec: {}\n",
            "seen.yaml:2:7: a Cluster is no CapacitySnapshot",
        ),
        ("", "seen.yaml:1:1: holds no document, and must hold exactly one: a CapacitySnapshot"),
        (
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n"
            "- {apiVersion: v1, kind: Node, metadata: {name: b}}\n",
            "seen.yaml:1:1: holds 2 documents, and must hold exactly one: a CapacitySnapshot",
        ),
    ],
)
def test_a_file_that_is_no_snapshot_is_named_with_what_it_is_and_what_is_wanted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.yaml").write_text(text)
    done = run(capfd, "snapshot", "--from", "seen.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"{said}\n  hint: `gitplacer snapshot -o FILE` writes one\n"


def test_a_writer_in_a_pod_stops_when_it_is_told_to(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "seen.yaml"
    file.write_text(SNAPSHOT.format(time="03:00", count=2))
    command = ["snapshot", "--from", str(file), "--push", str(fleet.source), "--every", "1h", "--heartbeat", "2h"]
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; from gitplacer.cli import main; sys.exit(main())", *command],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stderr=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stderr is not None
        assert writer.stderr.readline().startswith("Changed    ")
        writer.send_signal(signal.SIGTERM)
        assert writer.stderr.read() == "stopped\n"
    assert writer.returncode == 0


def test_of_the_capacity_only_what_is_not_kept_yet_is_read(tmp_path: Path) -> None:
    before = {"a.yaml": b"1", "b.yaml": b"1", "gone.yaml": b"3"}
    after = {"a.yaml": b"2", "b.yaml": b"1", "moved.yaml": b"3"}
    read: list[str] = []

    class Blobs(dict[str, bytes]):
        def read(self, oids: Iterable[str]) -> Mapping[str, bytes]:
            read.extend(wanted := list(oids))
            return {oid: self[oid] for oid in wanted}

    entries = {**Tree.of(after).entries, "module": Entry(SUBMODULE, "5" * 40, 0)}
    capacity = Tree(entries, Blobs({blob_id(data): data for data in after.values()}))
    made = capacity_commit(
        cast(Opened, SimpleNamespace(capacity=capacity, commit=None)),
        cast(Deployment, SimpleNamespace(inputs=Tree.of(before))),
        settings(str(tmp_path), now="2026-01-02T00:00:00Z"),
    )
    assert made is not None and made.changes == Changes({"a.yaml": b"2"})
    assert made.same == {path: blob_id(after[path]) for path in ("b.yaml", "moved.yaml")}
    assert read == [blob_id(b"2")]
