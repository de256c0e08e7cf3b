"""
A cluster of any size, whose objects are made when they are asked for; and what it costs to take a snapshot of it, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests import livecluster
from tests.apistandin import ApiServer, Json, serving

ROOT = Path(__file__).parent.parent
_SNAPSHOT = 'from gitplacer.cli import main; code = main(["snapshot", "--kubeconfig", sys.argv[1], "-o", sys.argv[2]])'
_FLOOR = """
from gitplacer.capacity.kubeconfig import access_to, kubeconfig
access, code = access_to(kubeconfig(sys.argv[1], {}), "static-cluster"), 0
for path in ("/api/v1/nodes", "/api/v1/pods"):
    for page in access.pages(path):
        pass
"""
_CHILD = """
import json, resource, sys, time
{work}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({{"code": code, "seconds": used.ru_utime + used.ru_stime, "kib": used.ru_maxrss}}))
"""
_STARTER = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, *sys.argv[1:]], check=False).returncode)"
"""Linux counts to a process what the one had that started it, and who runs thousands of tests is larger than what is measured."""


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


def cluster(nodes: int, pods: int, *, hard: bool = False) -> ApiServer:
    """
    A cluster where gitplacer has put nothing; each pod is as large on the wire as pods are (6 KiB). `hard`: each node has labels of its
    hardware and two pods with host ports, so that it is like no other.
    """

    def node(number: int) -> Json:
        more = {f"feature.node.kubernetes.io/cpu-{k}": "true" for k in range(30)} if hard else {}
        return livecluster.node(f"node-{number:05d}", zone=f"z{number % 3}", **more)

    def pod(number: int) -> Json:
        made = livecluster.pod(
            f"app-{number // 20}-{number:06d}-x7k2p", f"team-{number % 300}", on=f"node-{number % nodes:05d}",
            cpu=f"{100 + number % 40 * 50}m", labels={"app": f"app-{number // 20}", "pod-template-hash": f"{number // 20:x}"},
        )  # fmt: skip
        made["metadata"]["managedFields"] = [
            {"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:x" * 1500: {}}}
        ]
        if hard and number < 2 * nodes:
            port = 9100 + number // nodes
            made["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
        return made

    return ApiServer(
        {
            ("", "nodes"): Made(nodes, node),
            ("", "pods"): Made(pods, pod),
            ("", "namespaces"): Made(300, lambda number: livecluster.namespace(f"team-{number}")),
        }
    )


def measured(nodes: int, pods: int, folder: Path, *, hard: bool = False, floor: bool = False) -> dict[str, Any]:
    """
    The exit code, CPU seconds and peak memory (KiB) of `gitplacer snapshot` in a process of its own, what it wrote (`bytes`) and what it
    said. `floor`: of a process that only reads the same pages.
    """
    config, written = folder / "kubeconfig", folder / "big.yaml"
    child = _CHILD.format(work=_FLOOR if floor else _SNAPSHOT)
    with serving(cluster(nodes, pods, hard=hard)) as served:
        config.write_text(served.kubeconfig())
        config.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-c", _STARTER, "-c", child, str(config), str(written)],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    found: dict[str, Any] = (
        json.loads(done.stdout) if done.stdout else {"code": done.returncode, "kib": 0, "seconds": 0}
    )
    return {**found, "bytes": written.stat().st_size if written.exists() else 0, "err": done.stderr}
