"""
What it costs to refuse hostile files, and to read the largest that are accepted: CPU milliseconds and peak memory.

    python -m benchmarks.hostile                              # a repo of 10,000 files at the end, five runs
    python -m benchmarks.hostile --files 100 --runs 1         # the short form that CI runs

Each run is a process of its own that has imported everything before it begins; its memory is what the peak rises by.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import generate
from gitplacer.documents import MAX_BYTES
from gitplacer.source.files import NoMemo, read_documents
from gitplacer.source.reading import read_source
from gitplacer.tree import Tree

FLEET = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {}\n"


def bomb() -> str:
    """Nine lists of nine aliases of the one before: 9^9 values."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))]
    return "\n".join(lines) + "\n"


def stairs() -> str:
    """Each anchor nests 62 lists around the one before."""
    return "".join(f"k{n}: &a{n} {'[' * 62}{f'*a{n - 1} ' if n else ''}{']' * 62}\n" for n in range(40))


def manifests() -> str:
    """Almost as many objects, values and bytes as one file may have: Ray manifests, and a ConfigMap with all that is left."""
    chance = random.Random(1)
    text = "".join("---\n" + generate.workload(("RayJob", "RayService")[n % 2], f"app-{n}", chance) for n in range(450))
    text += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: rest}\ndata:\n"
    line = "  key-{:06}: some words\n"
    return text + "".join(line.format(n) for n in range((MAX_BYTES - len(text)) // len(line.format(0))))


FILES: dict[str, Callable[[], str]] = {
    "a bomb of aliases": bomb,
    "50 KB of nested brackets": lambda: "[" * 50_000,
    "depth through aliases": stairs,
    "4 MiB of `[1,1,1`": lambda: "a: [" + "1," * (MAX_BYTES // 2 - 3) + "1]",
    "the largest file that is accepted": manifests,
}


def one(name: str, files: int) -> None:
    """Print the bytes of a case, CPU milliseconds, MiB, and the problems that are told of it."""
    chance, kinds = random.Random(1), ("RayJob", "RayService")
    if name in FILES:
        tree = Tree.of({"a.yaml": FILES[name]().encode()})
    else:
        texts = {f"workloads/a/app-{n}.yaml": generate.workload(kinds[n % 2], f"app-{n}", chance) for n in range(files)}
        tree = Tree.of({path: text.encode() for path, text in {"fleet.yaml": FLEET, **texts}.items()})
    before, start = peak(), time.process_time()
    problems = (read_documents(tree, tree, NoMemo()) if name in FILES else read_source(tree, NoMemo())).problems
    spent, after = time.process_time() - start, peak()
    codes = sorted({problem.code for problem in problems if problem.severity.name == "ERROR"})
    print(sum(entry.size for entry in tree.entries.values()), spent * 1000, (after - before) / 1024, *codes)


def peak() -> int:
    """KiB that this process has had at most."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        one(chosen.one, chosen.files)
        return
    print(f"one core; medians of {chosen.runs} runs\n\n| read | bytes | ms | MiB | refused |\n|---|---|---|---|---|")
    for name in (*FILES, f"a repo of {chosen.files:,} files"):
        runs = []
        for _ in range(chosen.runs):
            command = [sys.executable, "-m", "benchmarks.hostile", "--one", name, "--files", str(chosen.files)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs.append(done.stdout.split())
        size, codes = int(runs[0][0]), ", ".join(runs[0][3:]) or "no"
        spent, taken = (statistics.median(float(run[column]) for run in runs) for column in (1, 2))
        print(f"| {name} | {size:,} | {spent:,.1f} | {taken:,.1f} | {codes} |")


if __name__ == "__main__":
    main()
