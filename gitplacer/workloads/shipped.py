"""
The declarations that come with gitplacer, read when an object of their kind is met.

They are files like those that users write (`gitplacer/data/workloadkinds`), and are checked by the tests as those of users are
at each pass. Which kinds there are stands here, so that objects of other kinds cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from gitplacer.documents import parse
from gitplacer.workloads import declared
from gitplacer.workloads.declaration import declaration
from gitplacer.workloads.facts import Kind

FILES: Mapping[tuple[str, str], str] = {
    ("apps.nvidia.com", "NIMService"): "nimservice",
    ("argoproj.io", "Rollout"): "rollout",
    ("jobset.x-k8s.io", "JobSet"): "jobset",
    ("kubeflow.org", "PyTorchJob"): "pytorchjob",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "leaderworkerset",
    ("milvus.io", "Milvus"): "milvus",
    ("serving.kserve.io", "InferenceService"): "inferenceservice",
}
"""(API group, kind) to the name of its file, without `.yaml`."""


def kind(key: tuple[str, str]) -> Kind | None:
    """The kind of an API group and a name, if its declaration comes with gitplacer."""
    return _read(FILES[key]) if key in FILES else None


def text(name: str) -> bytes:
    """The file of a declaration, as users may start their own from."""
    return (files("gitplacer") / "data" / "workloadkinds" / f"{name}.yaml").read_bytes()


@cache
def _read(name: str) -> Kind:
    [document] = parse(text(name)).documents
    return declared.kind(declaration(document.value["spec"]))
