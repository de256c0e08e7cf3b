"""Examples of objects that go wrong when Git is what keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import FLUX, JOB, UNDER_FLUX, workload
from docs.problem_examples.rayjobs import QUEUE, SHUTDOWN, job

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "DeletesItself": (
        job(
            "  deletionStrategy:\n    deletionRules:\n"
            "    - {policy: DeleteSelf, condition: {jobStatus: SUCCEEDED, ttlSeconds: 3600}}\n"
            "    - {policy: DeleteCluster, condition: {jobStatus: FAILED}}\n"
        ),
    ),
    "KueueOwnsSuspend": (
        workload(
            JOB.replace("name: train\n", QUEUE).replace(
                "  rayClusterSpec:\n", f"{SHUTDOWN}  suspend: true\n  rayClusterSpec:\n"
            ),
            "train",
        ),
    ),
    "FluxVariable": (
        replace(
            workload(JOB.replace("python train.py", "python train.py --out ${OUT}"), "train"),
            intro=UNDER_FLUX,
            beside=FLUX,
        ),
    ),
}
