"""Examples of apps that are to span clusters, and lack something for it."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import CLUSTER, POLICY, SELECT

SPANNING = {
    "policies/general.yaml": POLICY.format("general", f"{SELECT}  placement: {{span: IfNeeded}}\n"),
    "clusters/on-prem.yaml": CLUSTER.format("on-prem", "  mesh: us\n"),
    "clusters/cloud.yaml": CLUSTER.format("cloud", "  mesh: us\n"),
}
INTRO = "With `span: IfNeeded`, and two clusters of one mesh:"

_POD = "{spec: {containers: [{name: ray, image: rayproject/ray:2.52.0}]}}"
_HEAD = f"headGroupSpec: {{rayStartParams: {{}}, template: {_POD}}}"
_GROUP = f"groupName: gpu, replicas: 4, rayStartParams: {{}}, template: {_POD}"
_GLOBAL = 'headServiceAnnotations: {service.cilium.io/global: "true"}'
_OWN = 'headService: {metadata: {annotations: {service.cilium.io/global: "true"}}}'


def _app(kind: str, lines: str) -> Example:
    text = f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: llm}}\nspec:\n{lines}"
    return Example((("workloads/hello/llm.yaml", text),), INTRO, SPANNING)


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "HeadComesLate": (
        _app(
            "RayService",
            f"  rayClusterConfig:\n    {_HEAD.replace('{', '{' + _OWN + ', ', 1)}\n    workerGroupSpecs: [{{{_GROUP}}}]\n",
        ),
    ),
    "HeadHeadless": (_app("RayCluster", f"  {_GLOBAL}\n  {_HEAD}\n  workerGroupSpecs: [{{{_GROUP}}}]\n"),),
    "HeadNameUnknown": (
        _app(
            "RayJob",
            f"  entrypoint: python train.py\n  rayClusterSpec:\n    {_HEAD}\n    workerGroupSpecs: [{{{_GROUP}}}]\n",
        ),
    ),
    "HeadNotGlobal": (_app("RayCluster", f"  {_HEAD}\n  workerGroupSpecs: [{{{_GROUP}}}]\n"),),
    "SpanWithoutMesh": (
        Example(
            (("policies/general.yaml", SPANNING["policies/general.yaml"]),),
            "In a fleet whose clusters name no mesh:",
        ),
    ),
    "WorkersStayHome": (
        _app(
            "RayCluster",
            f"  {_GLOBAL}\n  {_HEAD.replace('{', '{serviceType: NodePort, ', 1)}\n"
            f"  workerGroupSpecs: [{{{_GROUP.replace('gpu', 'slices').replace('replicas', 'numOfHosts: 2, replicas')}}}]\n",
        ),
    ),
}
