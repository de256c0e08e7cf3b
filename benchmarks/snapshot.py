"""
What it costs to take the snapshot of a large cluster: CPU seconds and peak memory of a process of its own.

    python -m benchmarks.snapshot                                   # 5,000 nodes, 100,000 pods
    python -m benchmarks.snapshot --nodes 50 --pods 500             # the short form that CI runs

The API server is a stand-in on this machine, which makes objects as it is asked for them. In the hard case each node has two pods with
host ports and labels of its hardware, as nodes have: then every node is an entry of its own. The floor is a process that reads the same
pages of pods and nodes and decodes them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests import bigcluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    options = parser.parse_args()
    print(f"{options.nodes:,} nodes, {options.pods:,} pods\n")
    print("| work | CPU seconds | MiB | KiB written |\n|---|---|---|---|")
    for work, hard, floor in (
        ("read and decode the pages", False, True),
        ("snapshot, nodes alike", False, False),
        ("snapshot, no node like another", True, False),
    ):
        with tempfile.TemporaryDirectory() as folder:
            found = bigcluster.measured(options.nodes, options.pods, Path(folder), hard=hard, floor=floor)
        if found["code"]:
            sys.exit(found["err"])
        print(f"| {work} | {found['seconds']:.1f} | {found['kib'] / 1024:.0f} | {found['bytes'] / 1024:.0f} |")


if __name__ == "__main__":
    main()
