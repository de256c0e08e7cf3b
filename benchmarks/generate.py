"""
A plain fleet of any size, made from a seed: the source repo and an empty deployment repo.

All gangs are of one form, with a GPU group, and differ in size alone; nodes differ in what runs on them already. It is what the benchmarks of
one thing each are measured on. `benchmarks/fleets.py` makes fleets as they are.
The same arguments give the same repos.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

WHEN = "2026-01-02T03:04:05Z"
NOW = "2026-01-02T03:05:00Z"
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "benchmark",
    "GIT_AUTHOR_EMAIL": "benchmark@localhost",
    "GIT_COMMITTER_NAME": "benchmark",
    "GIT_COMMITTER_EMAIL": "benchmark@localhost",
    "GIT_AUTHOR_DATE": WHEN,
    "GIT_COMMITTER_DATE": WHEN,
}


def make(folder: Path, *, gangs: int, clusters: int, nodes: int, seed: int = 1) -> tuple[Path, Path]:
    """The source repo (with a work tree) and the bare deployment repo, below a folder."""
    return repos(folder, fleet_files(gangs=gangs, clusters=clusters, nodes=nodes, seed=seed))


def repos(folder: Path, files: Mapping[str, str]) -> tuple[Path, Path]:
    """A source repo with some files, one commit, and an empty bare deployment repo, below a folder."""
    source, deployment = folder / "source", folder / "deployment.git"
    for path, text in files.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    git(source, "init", "--quiet", "--initial-branch=main", ".")
    commit(source, "A fleet")
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(deployment))
    return source, deployment


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *args], check=True, env=_ENVIRONMENT, capture_output=True, text=True
    ).stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def fleet_files(*, gangs: int, clusters: int, nodes: int, seed: int = 1) -> dict[str, str]:
    """The files of the source repo."""
    chance = random.Random(seed)
    files = {
        "fleet.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {}\n",
        "policies/services.yaml": _policy("services", "RayService", 10),
        "policies/jobs.yaml": _policy("jobs", "RayJob", 0),
    }
    for number in range(clusters):
        name = f"cluster-{number:04}"
        files[f"clusters/{name}.yaml"] = (
            "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\n"
            f"metadata:\n  name: {name}\n  labels: {{tier: t{number % 4}}}\n"
            f"spec:\n  provider: {('aws', 'gce', 'azure')[number % 3]}\n  region: region-{number % 7}\n"
        )
        files[f"capacity/{name}.json"] = snapshot(name, nodes // clusters, chance)
    for number in range(gangs):
        namespace = f"team-{number % max(1, gangs // 20):04}"
        kind = "RayJob" if number % 2 else "RayService"
        files[f"workloads/{namespace}/app-{number:05}.yaml"] = workload(kind, f"app-{number:05}", chance)
    return files


def _policy(name: str, kind: str, priority: int) -> str:
    return (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {{name: {name}}}\n"
        f"spec:\n  select: {{kinds: [{kind}]}}\n  priority: {priority}\n"
    )


def snapshot(name: str, nodes: int, chance: random.Random) -> str:
    """A CapacitySnapshot as JSON: nodes with and without GPUs, some of each used already."""
    listed = []
    for number in range(nodes):
        gpu = number % 4 == 0
        allocatable = {"cpu": "31850m", "memory": "120Gi", "ephemeral-storage": "90Gi", "pods": "110"}
        if gpu:
            allocatable["nvidia.com/gpu"] = "8"
        listed.append(
            {
                "name": f"{name}-node-{number:04}",
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": f"{name}-node-{number:04}",
                    "node.kubernetes.io/instance-type": "g5.48xlarge" if gpu else "m6i.8xlarge",
                    "topology.kubernetes.io/zone": f"{name}-{'abc'[number % 3]}",
                },
                "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}] if gpu else [],
                "allocatable": allocatable,
                "used": {
                    "cpu": f"{chance.randrange(1, 24) * 500}m",
                    "memory": f"{chance.randrange(1, 40)}Gi",
                    "pods": "9",
                },
            }
        )
    return snapshot_file(name, listed)


def snapshot_file(name: str, nodes: Sequence[Mapping[str, object]]) -> str:
    """The CapacitySnapshot of a cluster that runs KubeRay, as JSON."""
    body = {
        "apiVersion": "gitplacer.dev/v1alpha1",
        "kind": "CapacitySnapshot",
        "metadata": {"name": name},
        "observedAt": WHEN,
        "serves": ["ray.io/v1"],
        "nodes": nodes,
    }
    return json.dumps(body, indent=1) + "\n"


def workload(kind: str, name: str, chance: random.Random) -> str:
    """A RayJob or RayService as people write them."""
    key = "rayClusterSpec" if kind == "RayJob" else "rayClusterConfig"
    first = "  entrypoint: python /home/ray/train.py --epochs 10\n  shutdownAfterJobFinishes: true\n"
    cpu, workers, gpus = chance.randrange(1, 9), chance.randrange(1, 5), chance.choice((1, 1, 2, 4))
    return f"""\
# {name}: generated, but laid out as people do it
apiVersion: ray.io/v1
kind: {kind}
metadata:
  name: {name}
  labels:
    app.kubernetes.io/instance: {name}
spec:
{first if kind == "RayJob" else ""}  {key}:
    rayVersion: "2.52.0"
    headGroupSpec:
      rayStartParams:
        dashboard-host: 0.0.0.0
      template:
        spec:
          containers:
          - name: ray-head
            image: rayproject/ray:2.52.0-py311
            ports:
            - {{containerPort: 6379, name: gcs-server}}
            - {{containerPort: 8265, name: dashboard}}
            - {{containerPort: 10001, name: client}}
            resources:
              limits: {{cpu: "{cpu}", memory: {cpu * 2}Gi}}
              requests: {{cpu: "{cpu}", memory: {cpu * 2}Gi}}
    workerGroupSpecs:
    - groupName: gpu-group   # one node type for all of them
      replicas: {workers}
      minReplicas: {workers}
      maxReplicas: {workers}
      rayStartParams: {{}}
      template:
        spec:
          tolerations:
          - {{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}
          containers:
          - name: ray-worker
            image: rayproject/ray:2.52.0-py311-gpu
            env:
            - {{name: OMP_NUM_THREADS, value: "1"}}
            resources:
              limits: {{cpu: "{cpu}", memory: {cpu * 3}Gi, nvidia.com/gpu: {gpus}}}
              requests: {{cpu: "{cpu}", memory: {cpu * 3}Gi, nvidia.com/gpu: {gpus}}}
"""
