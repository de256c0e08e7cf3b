"""
How fast gitplacer is here.

    python -m benchmarks                                 # every row on 1,000 gangs, 100 clusters, 10,000 nodes
    python -m benchmarks --size large --rows cold,same --runs 3 --json now.json
    python -m benchmarks --size large --compare then.json
    python -m benchmarks --growth                        # cold, from 1,000 to 100,000 gangs: an hour, and 6 GiB
    python -m benchmarks plot now.json -o plot.svg       # time and memory against size
    python -m benchmarks count                           # operations at once, twice and four times a size
    python -m benchmarks compare-rules                   # what other rules would have promised

Each row is the median of its runs with the least and the most, as whole processes, beside a floor measured in the same run: what somebody has to
do in any case. Machines differ; ratios hold. Tables are printed as Markdown.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

from benchmarks import generate, results
from benchmarks.fleets import SIZES, Size, files
from benchmarks.passes import Fleet
from benchmarks.rows import ROWS, measured

GROWTH = ("medium", "large", "huge")
OTHERS = {"plot": "plot", "count": "counting", "compare-rules": "promises"}
"""Commands that are modules of their own; what they need is not loaded without need."""


def main(arguments: list[str]) -> None:
    if arguments[:1] and arguments[0] in OTHERS:
        importlib.import_module(f"benchmarks.{OTHERS[arguments[0]]}").main(arguments[1:])
        return
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", action="append", choices=SIZES, help="; ".join(f"{k}: {v}" for k, v in SIZES.items()))
    for name in ("gangs", "clusters", "nodes"):
        parser.add_argument(f"--{name}", type=_positive, help="a size of your own; give all three")
    parser.add_argument("--rows", type=_rows, default=list(ROWS), metavar="A,B", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--runs", type=_positive, default=5)
    parser.add_argument("--seed", type=int, default=1, help="another one makes another fleet")
    parser.add_argument("--growth", action="store_true", help=f"cold alone, at {', '.join(GROWTH)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show also what it was in that file")
    chosen = parser.parse_args(arguments)
    own = [chosen.gangs, chosen.clusters, chosen.nodes]
    if any(own) and (not all(own) or chosen.size or chosen.growth):
        parser.error("a size of your own takes --gangs, --clusters and --nodes, and no --size")
    if all(own) and chosen.nodes < 2 * chosen.clusters:
        parser.error(f"{chosen.clusters} clusters need at least {2 * chosen.clusters} nodes")
    if all(own):
        sizes = [Size(*own)]
    else:
        sizes = [SIZES[name] for name in (GROWTH if chosen.growth else chosen.size or ["medium"])]
    rows = ["cold"] if chosen.growth else chosen.rows
    try:
        old = results.read(chosen.compare) if chosen.compare else []
        if old and not any(point.size in sizes for point in old):
            raise results.NoResult(f"{chosen.compare} has another size: {'; '.join(str(p.size) for p in old)}")
    except results.NoResult as error:
        parser.error(str(error))
    print(f"{results.told(results.machine())}\n", flush=True)
    points = []
    for size in sizes:
        points.append(_measured(size, rows, chosen.runs, chosen.seed))
        print(f"{size}; medians of {chosen.runs} runs\n", *results.table(points[-1]), "", sep="\n", flush=True)
        if chosen.json:  # after each size: the next one may take an hour
            chosen.json.write_text(results.written(points, chosen.seed))
    if len(points) > 1:
        print(*results.growth(points), "", sep="\n")
    if old:
        print(*results.compared(old, points), f"\nthen {results.measured_on(chosen.compare)}", sep="\n")


def _measured(size: Size, rows: list[str], runs: int, seed: int) -> results.Point:
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        fleet = Fleet(Path(name), *generate.repos(Path(name), files(size, seed=seed)))
        samples = []
        for row, sample in measured(fleet, size, rows, runs):
            samples.append((row, sample))
            _tell(f"{row}: {sample.spent.seconds:.2f} s, {sample.spent.cpu:.2f} of a processor")
        return results.Point.of(size, samples)


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _rows(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no row {', '.join(unknown)}; rows are {', '.join(ROWS)}")
    return [name for name in ROWS if name in names]


if __name__ == "__main__":
    main(sys.argv[1:])
