"""
What an app lacks that its policy lets span clusters: said when it is written, and not only when no single cluster has room.

An app that lacks something is placed all the same where one cluster takes it, so these are warnings. A policy that lets its
groups span clusters of which no two are of one mesh contradicts itself, and holds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem
from gitplacer.source.manifests import WORKLOADS
from gitplacer.spanning import Spans


def check(known: Known, group: Group) -> Iterator[Told]:
    """Whatever keeps a group under `span: IfNeeded` from spanning clusters."""
    policy = group.policy
    if policy is None or group.unit != WORKLOADS or policy.spec.placement.span != "IfNeeded":
        return
    clusters = [known.source.own.clusters[name] for name in known.eligible(group)]
    meshes = Counter(cluster.spec.mesh for cluster in clusters if cluster.spec.mesh is not None)
    if max(meshes.values(), default=0) < 2:
        code = "SpanWithoutMesh"
        message = f"policy {policy.name} may span clusters, and no two clusters that it allows are of one mesh"
        hint = "set spec.mesh in the Clusters that share a Cluster Mesh, or set span: Never"
        where = known.source.own.places[f"PlacementPolicy/{policy.name}"]
        yield group.members[0], Problem(where, code, message, hint, CODES[code].severity)
    spans = Spans(known.source, known.variants, known.profiles)
    app = spans.app(group)
    if app is None:
        for other in spans.apps(group):
            message = f"{other.identity} is in one group with another Ray app, and only one alone may span clusters"
            yield tell(other, "WorkersStayHome", message, "let groupBy tell them apart")
        return
    for lack in spans.lacks(group):
        yield tell(app, lack.code, f"it cannot span clusters: {lack.message}", lack.hint, lack.path)
    if clusters and all(spans.is_late(group, cluster) for cluster in clusters):
        yield tell(
            app,
            "HeadComesLate",
            "it spans clusters only when it runs already: KubeRay makes the Service of its head when all its applications do",
            "bring a global Service that selects the head pod, so that workers elsewhere find it from the start",
        )
