"""
Questions put to a Ray cluster that is started for them, of several workers, and to one process: `python -m tests.rayrun FOLDER`.

A question kills the worker that is at it, once. What came of everything is printed as JSON; FOLDER remembers
who was killed, who took the fleet out of the object store, and what was asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from gitplacer.hydrate import Inputs
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.runners import Told
from gitplacer.runners.onray import answers, connected, on_ray
from gitplacer.snapshot import Snapshot
from gitplacer.source.files import InMemory
from gitplacer.whatif import DrainCluster, LoseCluster, RaiseReplicas, Supposition, Together
from gitplacer.whatif.asking import Asking, Question
from gitplacer.whatif.ground import Ground
from tests.test_simulate import three

WORKERS = 3


@dataclass(frozen=True)
class Deadly:
    """A supposition over which a worker is killed, unless the folder says that one was; in the process `but` it is harmless."""

    of: Supposition
    folder: Path
    but: int

    @property
    def title(self) -> str:
        return self.of.title

    def applied(self, inputs: Inputs, base: Snapshot) -> Inputs:
        mark = self.folder / "killed"
        if os.getpid() != self.but and not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return self.of.applied(inputs, base)


@dataclass(frozen=True)
class Counted:
    """Who is asked; it leaves a mark for each process that takes it out of the object store."""

    asking: Asking
    folder: Path

    def __call__(self, question: Question) -> Any:
        (self.folder / f"asked by {os.getpid()}").touch()
        return self.asking(question)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with (self.folder / "taken").open("a") as taken:
            taken.write(f"{os.getpid()}\n")


@dataclass(frozen=True)
class Marking:
    """Answers numbers, and marks that they were asked for; what is refused is raised."""

    folder: Path

    def __call__(self, number: int) -> int:
        if number < 0:
            raise Rejected([Problem(Location("clusters/a.yaml", 3, 4), "InvalidValue", "is wrong", "mend it")])
        (self.folder / str(number)).touch()
        return number


def main(folder: Path) -> None:
    mine, told = os.getpid(), list[int]()

    @contextlib.contextmanager
    def telling() -> Iterator[Told]:
        yield told.append

    @contextlib.contextmanager
    def interrupted() -> Iterator[Told]:
        def tell(done: int) -> None:
            raise KeyboardInterrupt

        yield tell

    asking = Asking(Ground.of(three().inputs(), InMemory()))
    more = Together((RaiseReplicas(group="web/shop", times=3), LoseCluster("b")), name="more, and no b")
    questions: list[Question] = [*((name,) for name in "abc"), *combinations("abc", 2), DrainCluster("a"), more]
    questions += [Deadly(DrainCluster("b"), folder, mine), *questions, *questions]
    here = [asking(question) for question in questions]
    there = on_ray(Counted(asking.to_send(), folder), questions, "local", telling, WORKERS)
    taken = (folder / "taken").read_text().split()
    found: dict[str, Any] = {
        "same": there == here,
        "answers": len(there),
        "told": [told == sorted(set(told)), told[-1]],
        "killed": (folder / "killed").read_text() in taken,
        "several": len(list(folder.glob("asked by *"))) > 1,
        "once": len(taken) == len(set(taken)),
    }
    with connected("local", WORKERS) as ray:
        try:
            answers(ray, Marking(folder), [1, -1], telling)
        except Rejected as error:
            found["raised"] = [str(problem.location) for problem in error.problems]
        asked = range(1000, 20_000)
        try:
            answers(ray, Marking(folder), asked, interrupted)
        except KeyboardInterrupt:
            found["interrupted"] = not all((folder / str(number)).exists() for number in asked)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
