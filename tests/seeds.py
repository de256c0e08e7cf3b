"""The command behind tests that let random fleets live: any range of seeds, with the stories of those that break a law."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Lived:
    """The life of one seed: what was counted in it, which laws it broke, and what was told, its story."""

    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def live_all(what: str, noun: str, live: Callable[[int], Lived], args: Sequence[str] | None) -> int:
    """Live the seeds that the command line names; 1 where a law was broken."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--seeds", default="0:200", metavar="FROM:TO")
    parser.add_argument("--story", action="store_true", help="print the story of each seed that breaks a law")
    options = parser.parse_args(args)
    start, end = map(int, options.seeds.split(":"))
    counts, wrong = Counter[str](), 0
    for seed in range(start, end):
        life = live(seed)
        counts += life.counts
        wrong += bool(life.wrong)
        for line in (*(life.told if life.wrong and options.story else ()), *life.wrong):
            print(line, flush=True)
    for name, count in sorted(counts.items()):
        print(f"{count:7} {name}")
    print(f"{end - start} {noun}, {wrong} wrong")
    return 1 if wrong else 0
