"""
How long a command takes, and how much memory: `python -m benchmarks.stopwatch COMMAND…` prints it as JSON.

It stands between the benchmark and the command because of the memory. Linux counts to a process what the one had that started it, until
the new program is in place; so whoever starts what is measured has to be small. Nothing but the standard library is imported here.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time


def main(command: list[str]) -> None:
    """Run a command, and print what it took. What it prints itself is lost, but for the end of stderr if it fails."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        _, said = child.communicate()
    spent = time.perf_counter() - start
    if child.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{said.decode(errors='replace')[-2000:]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"seconds": spent, "cpu": used.ru_utime + used.ru_stime, "mib": used.ru_maxrss / 1024}))


if __name__ == "__main__":
    main(sys.argv[1:])
