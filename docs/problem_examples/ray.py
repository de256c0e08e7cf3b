"""Examples of Ray objects that KubeRay would refuse or misread."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import JOB, RAYCLUSTER, WORKER, workload

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "NameTooLong": (workload(JOB.replace("name: train", f"name: {'nightly-' * 6}train"), "train"),),
    "NoHosts": (workload(RAYCLUSTER + WORKER.format("gpu", 1, 1, 1) + "    numOfHosts: 0\n"),),
}
