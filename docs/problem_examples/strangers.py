"""Examples of what workloads hold that no stranger's may."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import POD, workload

SECRET = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: database\nstringData:\n  password: hunter2\n"


def annotated(key: str, value: str) -> Example:
    """A Pod with an annotation."""
    return workload(POD.format("main", f"  annotations:\n    {key}: {value}\n", ""), "main")


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "ControlAnnotation": (annotated("argocd.argoproj.io/sync-wave", '"-1"'),),
    "OrphaningAnnotation": (annotated("argocd.argoproj.io/sync-options", "Prune=false"),),
    "UnsafeLink": (annotated("link.argocd.argoproj.io/external-link", "javascript:alert(1)"),),
    "PlainSecret": (workload(SECRET, "database"),),
    "SecretInPlain": (workload(POD.format("main", "", "    env: [{name: DB_PASSWORD, value: hunter2}]\n"), "main"),),
    "ServerField": (workload(POD.format("main", "  uid: 3f0c6b5e-7a55-4f0a-8f3c-0a3c1d8f2b11\n", ""), "main"),),
    "PrivilegedPod": (
        workload(
            POD.format("main", "", "  volumes:\n  - name: docker\n    hostPath: {path: /var/run/docker.sock}\n"), "main"
        ),
    ),
    "ForeignServiceAccount": (workload(POD.format("main", "", "  serviceAccountName: cluster-admin\n"), "main"),),
}
