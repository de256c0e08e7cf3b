"""
A cluster of any size, whose objects are made when they are asked for; and what it costs to take a snapshot of it, in a process of its own.

    python -m tests.bigcluster 5000 100000
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests import livecluster
from tests.apistandin import ApiServer, Json, serving

_CHILD = """
import json, resource, sys, time
from gitplacer.cli import main
begun = time.process_time()
code = main(["snapshot", "--kubeconfig", sys.argv[1], "-o", sys.argv[2]])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"code": code, "seconds": time.process_time() - begun, "kib": peak}))
"""


class Made(Sequence[Json]):
    """Objects that are made when they are asked for."""

    def __init__(self, length: int, make: Callable[[int], Json]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._make(number) for number in range(*index.indices(self._length))]
        return self._make(index)


def cluster(nodes: int, pods: int) -> ApiServer:
    """A cluster where gitplacer has put nothing; each pod is as large on the wire as pods are (6 KiB)."""

    def pod(number: int) -> Json:
        made = livecluster.pod(
            f"app-{number // 20}-{number:06d}-x7k2p", f"team-{number % 300}", on=f"node-{number % nodes:05d}",
            cpu=f"{100 + number % 40 * 50}m", labels={"app": f"app-{number // 20}", "pod-template-hash": f"{number // 20:x}"},
        )  # fmt: skip
        made["metadata"]["managedFields"] = [
            {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:x" * 1500: {}}}
        ]
        return made

    return ApiServer(
        {
            ("", "nodes"): Made(nodes, lambda n: livecluster.node(f"node-{n:05d}", zone=f"z{n % 3}")),
            ("", "pods"): Made(pods, pod),
            ("", "namespaces"): Made(300, lambda n: livecluster.namespace(f"team-{n}")),
        }
    )


def measured(nodes: int, pods: int, folder: Path) -> dict[str, Any]:
    """The exit code, CPU seconds and peak memory (KiB) of `gitplacer snapshot`, and the bytes that it wrote."""
    config, written = folder / "kubeconfig", folder / "big.yaml"
    with serving(cluster(nodes, pods)) as served:
        config.write_text(served.kubeconfig())
        config.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, str(config), str(written)], capture_output=True, text=True, check=False
        )
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"code": done.returncode, "said": done.stderr}
    return {**found, "bytes": written.stat().st_size if written.exists() else 0, "err": done.stderr}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(measured(int(sys.argv[1]), int(sys.argv[2]), Path(place)))
