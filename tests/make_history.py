"""
A small fleet's past, told by the present version and kept as text, so that later versions can be held against it.

    python -m tests.make_history          write tests/data/histories/<version>/

It is two streams of `git fast-export`: the source and the deployment repo. Run it before a release, after the version was set,
and commit what it writes. Until then the history of the version that is being made follows the code: it is rewritten with the
golden files. One that was released is never written again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitplacer import __version__
from tests.fleetrepos import Fleet, made
from tests.gitservers import git
from tests.stories import cluster, policy, rayjob, rayservice, snapshot

KEPT = Path(__file__).parent / "data" / "histories"
STREAMS = ("source", "deployment")


def tell(folder: Path) -> Fleet:
    """Placement, scale-up, an update, a drain, a revert, a proposal that is merged, a change by hand, a removal."""
    fleet = made(folder)
    machines = "{type: ClusterAutoscaler, nodeTypes: [{name: big, allocatable: {cpu: 32, memory: 128Gi, nvidia.com/gpu: '8'}, max: 2}]}"
    grown = cluster("c", autoscaler=machines, labels="{tier: spare}")
    empty = {f"capacity/{path}": text for path, text in snapshot("c").items()}
    jobs = policy(
        "jobs",
        "select: {kinds: [RayJob]}\nprecedence: 1\nplacement: {type: Ordered, order: [{names: [a]}, {names: [c]}]}",
    )
    fleet.commit(grown | empty | jobs | rayjob("jobs", "train", workers=2) | rayjob("jobs", "sweep", workers=6), "jobs")
    fleet.reconcile(5)
    fleet.commit(rayservice("prod", "api", workers=2), "scale the api")
    fleet.reconcile(10)
    fleet.commit(cluster("a", state="Draining"), "drain a")
    fleet.reconcile(15)
    clone = folder / "clone"
    git("clone", "-q", str(fleet.bare), str(clone), cwd=folder)
    by_hand(clone, 16, "revert", "--no-edit", "HEAD")
    fleet.reconcile(20)
    consent = "select: {}\nrelocation: {when: {ClusterDraining: Manual}, cooldown: 0s}"
    fleet.commit(cluster("a") | cluster("b", state="Draining") | policy("anywhere", consent), "drain b, with consent")
    fleet.commit(rayservice("prod", "other"), "another service")
    fleet.reconcile(25)
    fleet.commit(cluster("a", state="Draining") | cluster("b"), "drain a, with consent")
    fleet.reconcile(55)
    git("fetch", "-q", "origin", cwd=clone)
    git("reset", "-q", "--hard", "origin/main", cwd=clone)
    proposed = git("for-each-ref", "--format=%(refname)", "refs/remotes/origin/gitplacer/", cwd=clone).split()
    for name in proposed[:1]:
        by_hand(clone, 56, "merge", "-q", "--no-ff", "-m", "Move it", name)
    fleet.reconcile(57)
    git("pull", "-q", "--ff-only", "origin", "main", cwd=clone)
    touched = next(path for path in sorted(clone.glob("clusters/*/workloads/prod/api/api.yaml")))
    touched.write_text(touched.read_text() + "# by hand\n")
    git("add", "--all", cwd=clone)
    by_hand(clone, 58, "commit", "-q", "-m", "Change it by hand")
    fleet.commit({}, "remove a job", remove=("workloads/jobs/sweep.yaml",))
    fleet.reconcile(59)
    return fleet


def by_hand(clone: Path, minute: int, *args: str) -> None:
    """What somebody does in the deployment repo, at a time."""
    git(*args, cwd=clone, at=f"2026-01-02T03:{minute:02}:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)


def exported(folder: Path) -> dict[str, str]:
    """The two repos of the story as text, told in an empty directory."""
    fleet = tell(folder)
    return {name: git("fast-export", "--all", "--show-original-ids", cwd=at) + "\n" for name, at in
            zip(STREAMS, (fleet.source, fleet.bare), strict=True)}  # fmt: skip


def imported(version: Path, folder: Path) -> Fleet:
    """The repos of a kept history, as they were, with the same ids."""
    places = []
    for name in STREAMS:
        place = folder / f"{name}.git"
        git("init", "-q", "--bare", "-b", "main", str(place), cwd=folder)
        git("fast-import", "--quiet", cwd=place, input=(version / f"{name}.txt").read_bytes())
        places.append(place)
    return Fleet(places[0], str(places[1]), places[1])


def write(streams: dict[str, str]) -> None:
    folder = KEPT / __version__
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in streams.items():
        (folder / f"{name}.txt").write_text(text)


@contextmanager
def _own_cache() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GITPLACER_CACHE"] = f"{folder}/cache"
        yield Path(folder)


if __name__ == "__main__":
    with _own_cache() as scratch:
        write(exported(scratch))
    print(f"wrote {KEPT / __version__}", file=sys.stderr)
