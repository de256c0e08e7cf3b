"""
A week of the controller in minutes: pushes, drains, lost clusters, races and bad days of the Git host, and whether anything grows.

    python -m benchmarks.soak                    # 10,000 pushes, one a minute of simulated time: a week
    python -m benchmarks.soak --pushes 500
    python -m benchmarks.soak --pushes 6 --apps 3          # the short form that CI runs

The controller runs its own loop in this process, on real repos that a server on this machine hands out; only its clock is simulated, so
nobody sleeps. Each push is drawn from a seed: apps come, are edited and go; clusters are drained, cordoned, lost, silent, and come back; somebody
else pushes first; the host refuses, cuts connections, loses its answer; caches are deleted; repos are packed anew.

In between it is measured what the process holds and what lies on the disk. A straight line is laid through the later half of each: the run fails
where memory, open files, threads, children or temporary files rise, or where a push adds more to the repos than its own files come to. Tips are
verified on the way as `gitplacer verify` does it. At the end everything is well again, and two passes must find rest.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path

from gitplacer.controller.observing import Silent
from gitplacer.controller.running import Controller
from gitplacer.controller.schedule import Pace
from gitplacer.controller.turns import Turn
from gitplacer.settings import settings
from tests.clocks import StoryClock
from tests.faultyhost import Ask, Bad, Host, faulty_host
from tests.gitservers import git
from tests.stories import FLEET, cluster, policy, rayjob, rayservice, snapshot

STEP = 60.48
"""Seconds between two pushes: a week has 10,000."""
CLUSTERS = tuple(f"c{number}" for number in range(5))
_NODES = tuple(f"n{number} 32 128Gi 8" for number in range(3))
_BAD = (
    (Ask.LIST, Bad.BUSY), (Ask.REFS, Bad.CUT), (Ask.FETCH, Bad.CUT), (Ask.FETCH, Bad.TOO_OFTEN), (Ask.OFFER, Bad.BUSY), (Ask.PUSH, Bad.BROKEN),
    (Ask.PUSH, Bad.DEAF), (Ask.PUSH, Bad.MUTE),
)  # fmt: skip


_A_PUSH = {"cache": 80.0, "deployment": 8.0}
"""KiB that a push may add: the cache has its objects as they come and what was read from them, the repo has them packed."""


@dataclass(frozen=True, slots=True)
class Sample:
    """
    What the process holds (MiB of memory, counts; `objects` are thousands of Python's own) and what lies on the disk (KiB; the deployment
    repo once it is packed), after so many pushes.
    """

    pushes: int
    memory: float
    objects: float
    files: int
    threads: int
    children: int
    temporary: int
    cache: float
    deployment: float


@dataclass
class Life:
    """The fleet and what happens to it."""

    folder: Path
    host: Host
    lot: random.Random
    most_apps: int = 40
    clock: StoryClock = field(default_factory=StoryClock)
    apps: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    happened: Counter[str] = field(default_factory=Counter)
    races: int = 0
    pushes: int = 0

    def __post_init__(self) -> None:
        self.source, self.bare = self.folder / "source", self.folder / "deployment.git"
        git("init", "-q", "-b", "main", str(self.source), cwd=self.folder)
        git("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=self.folder)
        git("config", "http.receivepack", "true", cwd=self.bare)
        self.write({"fleet.yaml": FLEET.replace("{}", '{lostAfter: "1h"}')} | policy("anywhere", "select: {}"))
        for name in CLUSTERS:
            self.state(name, "Active")
            self.tell(name)
        for number in range(self.most_apps):
            self.apps[f"first-{number}"] = self.lot.choice(("job", "service"))
            self._edit(f"first-{number}")
        self.commit("The fleet")

    def write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            (self.source / path).parent.mkdir(parents=True, exist_ok=True)
            (self.source / path).write_text(text)

    def commit(self, message: str) -> None:
        at = f"{self.clock.wall():%Y-%m-%dT%H:%M:%S}Z"
        git("add", "--all", cwd=self.source)
        git("commit", "-q", "--allow-empty", "-m", message, cwd=self.source, at=at)

    def state(self, name: str, state: str) -> None:
        self.states[name] = state
        self.write(cluster(name, state=state))

    def tell(self, name: str) -> None:
        told = snapshot(name, *_NODES, at=self.clock.wall())
        self.write({f"capacity/{path}": text for path, text in told.items()})

    def push(self) -> None:
        """One push, and what else happens at the time."""
        self.host.bad = {}
        self.pushes += 1
        what = self.lot.choices(_KINDS, [weight for _, weight in _WEIGHTS])[0]
        self.happened[what.__name__.strip("_")] += 1
        what(self)
        teller = CLUSTERS[self.pushes % len(CLUSTERS)]
        if teller not in self.silent:
            self.tell(teller)
        self.commit(f"Push {self.pushes}")

    def _new(self) -> None:
        if len(self.apps) >= self.most_apps:
            self._gone()
        name = f"app-{self.pushes}"
        self.apps[name] = self.lot.choice(("job", "service"))
        self._edit(name)

    def _edit(self, name: str = "") -> None:
        name = name or (self.lot.choice(sorted(self.apps)) if self.apps else "")
        cpu, workers = str(self.lot.randint(1, 4)), self.lot.randint(1, 3)
        if name:
            make = rayjob if self.apps[name] == "job" else rayservice
            self.write(make("team", name, cpu=cpu, workers=workers))

    def _gone(self) -> None:
        if self.apps:
            name = self.lot.choice(sorted(self.apps))
            del self.apps[name]
            (self.source / "workloads" / "team" / f"{name}.yaml").unlink()

    def _drained(self) -> None:
        name = self.lot.choice(CLUSTERS)
        self.state(name, "Active" if self.states[name] != "Active" else self.lot.choice(("Draining", "Cordoned")))

    def _lost(self) -> None:
        name = self.lot.choice(CLUSTERS)
        self.state(name, "Active" if self.states[name] == "Lost" else "Lost")

    def _silent(self) -> None:
        self.silent ^= {self.lot.choice(CLUSTERS)}

    def _raced(self) -> None:
        self.races += self.lot.randint(1, 3)
        self._new()

    def _badly_hosted(self) -> None:
        self.host.bad = dict([self.lot.choice(_BAD)])
        self._new()

    def _packed(self) -> None:
        for repo in (self.source, self.bare):
            git("gc", "--quiet", cwd=repo)

    def _forgotten(self) -> None:
        shutil.rmtree(os.environ["GITPLACER_CACHE"], ignore_errors=True)

    def overtake(self, said: str) -> None:
        """Somebody else pushes while we are about to. Told what a pass is doing."""
        if said.startswith("publishing") and self.races:
            self.races -= 1
            made = git("commit-tree", "main^{tree}", "-p", "main", "-m", "By hand", cwd=self.bare)
            git("update-ref", "refs/heads/main", made, cwd=self.bare)

    def heal(self) -> None:
        """All is well again."""
        self.host.bad, self.races = {}, 0
        self.silent.clear()
        for name in CLUSTERS:
            self.state(name, "Active")
            self.tell(name)
        self.commit("All is well")


_WEIGHTS: tuple[tuple[Callable[[Life], None], int], ...] = (
    (Life._new, 30), (Life._edit, 25), (Life._gone, 12), (Life._drained, 10), (Life._lost, 4), (Life._silent, 4), (Life._raced, 6),
    (Life._badly_hosted, 6), (Life._packed, 2), (Life._forgotten, 1),
)  # fmt: skip
_KINDS = tuple(kind for kind, _ in _WEIGHTS)


@dataclass
class Soak(Silent):
    """A controller that lives such a life, and what is measured of it."""

    life: Life
    pushes: int
    every: int
    samples: list[Sample] = field(default_factory=list)
    ended_as: Counter[str] = field(default_factory=Counter)
    last: Turn | None = None
    verified: int = 0

    def __post_init__(self) -> None:
        url = self.life.host.url
        chosen = settings(f"{url}/source/.git", deployment=f"{url}/deployment.git")
        self.controller = Controller(
            chosen,
            draw=self.life.lot.random,
            clock=self.life.clock,
            pace=Pace(),
            observers=[self],
            progress=self.life.overtake,
        )

    def ended(self, turn: Turn) -> None:
        self.last = turn
        self.ended_as[f"{turn.outcome}{f' {turn.fault}' if turn.fault else ''}"] += not turn.is_look

    def run(self) -> None:
        """The whole life, and rest at its end."""
        self.life.clock.at(STEP, self._push)
        self.controller.run()
        last = self.last
        assert last is not None and last.outcome in ("Unchanged", "Held") and last.fault is None, last
        self._verify()

    def _push(self) -> None:
        life = self.life
        if life.pushes == self.pushes:
            life.heal()
            self.controller.wakes.hint("webhook")
            life.clock.at(life.clock.seconds + 3600, self.controller.stop)
            return
        life.push()
        if life.lot.random() < 0.8:  # a webhook may be lost; then a look finds what was pushed
            self.controller.wakes.hint("webhook")
        if life.pushes % self.every == 0:
            self.samples.append(self._sampled())
            self._verify()
        life.clock.at(life.clock.seconds + STEP, self._push)

    def _sampled(self) -> Sample:
        gc.collect()
        git("gc", "--quiet", cwd=self.life.bare)
        own = Path("/proc/self")
        return Sample(
            pushes=self.life.pushes,
            memory=int((own / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20,
            objects=len(gc.get_objects()) / 1000,
            files=len(list((own / "fd").iterdir())),
            threads=len(list((own / "task").iterdir())),
            children=sum(len(path.read_text().split()) for path in own.glob("task/*/children")),
            temporary=len(list(Path(tempfile.gettempdir()).iterdir())),
            cache=_kib(Path(os.environ["GITPLACER_CACHE"])),
            deployment=_kib(self.life.bare),
        )

    def _verify(self) -> None:
        command = [
            sys.executable,
            "-m",
            "gitplacer",
            "verify",
            "--deployment",
            str(self.life.bare),
            str(self.life.source),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.verified += 1


def _kib(folder: Path) -> float:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # a repo is packed anew behind our back
            total += path.lstat().st_size
    return total / 1024


def slope(samples: list[Sample], what: str) -> float:
    """How much it rises with each push, by the straight line that fits best."""
    if len(samples) < 2:
        return 0.0
    return statistics.linear_regression(
        [each.pushes for each in samples], [getattr(each, what) for each in samples]
    ).slope


def growths(samples: list[Sample]) -> list[str]:
    """What grows that should not. The first half is left for caches to fill and repos to find their size."""
    early, late = samples[: len(samples) // 2], samples[len(samples) // 2 :]
    span = late[-1].pushes - late[0].pushes
    found = []
    for what in ("memory", "objects"):
        risen, least = slope(late, what) * span, getattr(late[0], what)
        if risen > 0.05 * least:
            found.append(f"{what}: {least:.0f} in the middle, and {risen:.1f} more in {span} pushes")
    for what in ("files", "threads", "children", "temporary"):
        most, now = (max(getattr(each, what) for each in part) for part in (early, late[-2:]))
        if now > most + 2:
            found.append(f"{what}: {most} at first, {now} at the end")
    for what, most in _A_PUSH.items():
        if slope(late, what) > most:
            found.append(f"{what}: {slope(late, what):.1f} KiB with each push")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="A simulated week of the controller.")
    parser.add_argument("--pushes", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=20, help="how often it is measured and verified")
    parser.add_argument("--apps", type=int, default=40, help="how many apps there are at most, and at the start")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, faulty_host(Path(folder)) as host:
        for name in ("cache", "tmp"):
            (Path(folder) / name).mkdir()
        os.environ["GITPLACER_CACHE"], tempfile.tempdir = f"{folder}/cache", f"{folder}/tmp"
        os.environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
        soak = Soak(
            Life(Path(folder), host, random.Random(chosen.seed), chosen.apps),
            chosen.pushes,
            max(1, chosen.pushes // chosen.samples),
        )
        gc.disable()  # as the command line does
        soak.run()
        commits = git("rev-list", "--count", "main", cwd=soak.life.bare)
        days = timedelta(seconds=soak.life.clock.seconds) / timedelta(days=1)
    names = [each.name for each in fields(Sample)]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for sample in soak.samples:
        print(f"| {' | '.join(f'{getattr(sample, name):.0f}' for name in names)} |")
    print(
        f"\n{chosen.pushes} pushes in {days:.1f} simulated days, {time.perf_counter() - start:.0f} s: {commits} commits, {soak.verified} tips verified"
    )
    print("what happened: " + ", ".join(f"{name} {count}" for name, count in soak.life.happened.most_common()))
    print("passes: " + ", ".join(f"{name} {count}" for name, count in soak.ended_as.most_common() if count))
    grown = growths(soak.samples)
    print("\n".join(grown) or "nothing grows")
    return 1 if grown else 0


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_GLOBAL", os.devnull)
    sys.exit(main())
