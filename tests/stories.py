"""
Small fleets to tell stories with: text in, passes out.

A Story holds the source, the capacity and the deployment tree; each `run` is a pass whose output becomes the next
one's input, as in life.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.model.decision import Decision
from gitplacer.model.verdicts import Verdicts
from gitplacer.source.files import InMemory
from gitplacer.tree import Tree
from gitplacer.units import UNITS, Units
from tests.provenance import again

START = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
FLEET = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {}\n"


def cluster(name: str, **spec: str) -> dict[str, str]:
    """A Cluster file; keywords are spec fields as YAML text. `labels` goes to metadata."""
    labels = spec.pop("labels", "{}")
    body = "".join(f"  {key}: {value}\n" for key, value in spec.items()) or "  {}\n"
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\n"
        f"metadata: {{name: {name}, labels: {labels}}}\nspec:\n{body}"
    )
    return {f"clusters/{name}.yaml": text}


def policy(name: str, spec: str) -> dict[str, str]:
    """A PlacementPolicy file."""
    body = textwrap.indent(textwrap.dedent(spec).strip("\n"), "  ")
    text = f"apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {{name: {name}}}\nspec:\n{body}\n"
    return {f"policies/{name}.yaml": text}


def snapshot(name: str, *nodes: str, at: datetime = START, more: str = "") -> dict[str, str]:
    """A CapacitySnapshot file. A node is `name cpu memory gpus`, such as `n1 8 32Gi 1`, with more fields after `|`."""
    lines = []
    for node in nodes:
        shape, _, fields = node.partition("|")
        name_, cpu, memory, *gpus = shape.split()
        devices = f', nvidia.com/gpu: "{gpus[0]}"' if gpus else ""
        lines.append(f'- {{name: {name_}, allocatable: {{cpu: "{cpu}", memory: {memory}{devices}}}{fields}}}\n')
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {{name: {name}}}\n"
        f'observedAt: "{at:%Y-%m-%dT%H:%M:%SZ}"\nnodes:\n{"".join(lines) or "[]"}{textwrap.dedent(more)}'
    )
    return {f"{name}.yaml": text.replace("nodes:\n[]", "nodes: []\n")}


def rayservice(
    namespace: str, name: str, *, cpu: str = "2", workers: int = 1, gpus: int = 1, labels: str = "{}"
) -> dict[str, str]:
    """A RayService: a head, and workers with a GPU each."""
    limits = f'limits: {{nvidia.com/gpu: "{gpus}"}}, ' if gpus else ""
    text = f"""\
# Served by the team of {namespace}.
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: {name}, labels: {labels}}}
spec:
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {{}}
      template: {{spec: {{containers: [{{name: head, image: ray, resources: {{requests: {{cpu: "{cpu}", memory: 2Gi}}}}}}]}}}}
    workerGroupSpecs:
    - groupName: gpu
      replicas: {workers}
      minReplicas: 0
      maxReplicas: 10
      rayStartParams: {{}}
      template: {{spec: {{containers: [{{name: worker, image: ray, resources: {{{limits}requests: {{cpu: "{cpu}", memory: 4Gi}}}}}}]}}}}
"""
    return {f"workloads/{namespace}/{name}.yaml": text}


def rayjob(namespace: str, name: str, *, cpu: str = "2", workers: int = 2) -> dict[str, str]:
    """A RayJob with GPU workers; its submitter asks 500m and 200Mi."""
    text = f"""\
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: {name}
spec:
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {{}}
      template: {{spec: {{containers: [{{name: head, image: ray, resources: {{requests: {{cpu: "{cpu}", memory: 2Gi}}}}}}]}}}}
    workerGroupSpecs:
    - groupName: gpu
      replicas: {workers}
      minReplicas: {workers}
      maxReplicas: {workers}
      rayStartParams: {{}}
      template: {{spec: {{containers: [{{name: worker, image: ray, resources: {{limits: {{nvidia.com/gpu: "1"}}, requests: {{cpu: "{cpu}", memory: 2Gi}}}}}}]}}}}
"""
    return {f"workloads/{namespace}/{name}.yaml": text}


def ending(namespace: str, name: str, workers: int) -> dict[str, str]:
    """A RayJob whose room is free when it has ended."""
    ((path, text),) = rayjob(namespace, name, workers=workers).items()
    return {path: text.replace("spec:\n", "spec:\n  shutdownAfterJobFinishes: true\n", 1)}


def deployment(
    namespace: str,
    name: str,
    resources: str,
    *,
    replicas: int = 1,
    spec: str = "",
    kind: str = "Deployment",
    more: str = "",
) -> dict[str, str]:
    """A Deployment of equal pods, or another object of that form; `spec` is a line more of the pod's spec, and `more` of its own."""
    own, pods = f"  {more}\n" if more else "", f"      {spec}\n" if spec else ""
    text = f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
{own}  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
{pods}      containers: [{{name: c, image: i, resources: {{{resources}}}}}]
"""
    return {f"workloads/{namespace}/{name}.yaml": text}


ANYWHERE = policy("anywhere", "select: {}")
PRIVILEGED = {
    "tenants/everybody.yaml": (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: everybody}\n"
        'spec: {paths: ["workloads/**"], namespaces: ["*"], pods: Privileged}\n'
    )
}
"""One Tenant of all workloads, whose pods may have ports of their nodes and the like."""


@dataclass
class Story:
    """A fleet over time."""

    source: dict[str, str] = field(default_factory=dict)
    capacity: dict[str, str] = field(default_factory=dict)
    deployment: Tree = field(default_factory=Tree)
    now: datetime = START
    passes: int = 0
    foreign: Mapping[str, str] = field(default_factory=dict)
    memory: InMemory = field(default_factory=InMemory, repr=False, compare=False)

    @staticmethod
    def of(*files: Mapping[str, str], capacity: Mapping[str, str] | None = None) -> Story:
        story = Story({"fleet.yaml": FLEET})
        for some in files:
            story.source.update(some)
        story.capacity.update(capacity or {})
        return story

    def inputs(self) -> Inputs:
        """All that the next pass depends on."""
        return Inputs(
            source=Tree.of({path: text.encode() for path, text in self.source.items()}),
            commit=SourceCommit(
                id=f"{self.passes:040x}", author="A <a@b>", date="2026-01-02T03:04:05+00:00", subject="s"
            ),
            capacity=Tree.of({path: self._as_told(path, text).encode() for path, text in self.capacity.items()}),
            deployment=self.deployment,
            deployment_commit=f"{self.passes:040x}",
            foreign=self.foreign,
            now=self.now,
            version="test",
        )

    def _as_told(self, path: str, text: str) -> str:
        """A snapshot with the epochs of what its cluster should run now, where it says `applied: EVERYTHING`."""
        epochs = Units(self.deployment, "clusters").epochs if "applied: EVERYTHING" in text else {}
        applied = {unit: epochs.get((path.removesuffix(".yaml"), unit), 0) for unit in UNITS}
        return text.replace("applied: EVERYTHING", f"applied: {json.dumps(applied)}")

    def plan(self, *, with_candidates: Verdicts | bool = True) -> Hydration:
        """A pass that is not published."""
        return hydrate(self.inputs(), memo=self.memory, with_candidates=with_candidates)

    def run(self, *, with_candidates: Verdicts | bool = True) -> Hydration:
        """
        A pass; what it made is what the next one starts from. It comes out the same from what its commits say. Without candidates it is
        made as a controller makes it, in far less time.
        """
        inputs = self.inputs()
        done = hydrate(inputs, memo=self.memory, with_candidates=with_candidates)
        again(inputs, done, with_candidates=with_candidates)
        self.deployment = done.tree
        self.passes += 1
        self.now += timedelta(minutes=1)
        return done

    def look_again(self) -> None:
        """The clusters say the same once more, now: what takes two snapshots has its second."""
        for name, text in self.capacity.items():
            self.capacity[name] = re.sub('observedAt: "[^"]*"', f'observedAt: "{self.now:%Y-%m-%dT%H:%M:%SZ}"', text)

    def files(self, folder: str = "clusters") -> list[str]:
        """Paths of the deployment tree below a folder, sentinels and namespaces left out."""
        return [
            path
            for path in self.deployment
            if path.startswith(folder) and not path.endswith("/gitplacer.yaml") and "/platform/namespaces/" not in path
        ]


def decisions(done: Hydration) -> dict[str, Decision]:
    return {decision.group: decision for decision in done.view.plan.decisions}


def outcome(done: Hydration) -> dict[str, str]:
    """Group to `Action clusters ReasonCode`; the clusters are those that have its files after the pass."""
    return {d.group: f"{d.action} {','.join(d.files_after)} {d.finding.code}" for d in done.view.plan.decisions}


def subjects(done: Hydration) -> list[str]:
    """The first lines of the commits of a pass."""
    return [step.message.splitlines()[0] for step in done.steps]
