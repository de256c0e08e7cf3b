"""A Ray object as rules look at it: where its Ray cluster spec is, and how a rule tells what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from gitplacer.documents import Cursor
from gitplacer.problemcodes import CODES

RAY_KINDS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": (),
    "RayJob": ("rayClusterSpec",),
    "RayService": ("rayClusterConfig",),
    "RayCronJob": ("jobTemplate", "rayClusterSpec"),
}
"""Each kind with the keys that lead from its spec to its Ray cluster spec."""


class RayManifest(Struct, frozen=True):
    """
    One Ray object. `spec` is its own spec and `cluster` the Ray cluster spec in it, empty where there is none (a RayJob
    with clusterSelector); `job` is the RayJob spec of a RayJob or RayCronJob. `v1`: fields that only v1 has count.
    """

    root: Cursor
    kind: str
    v1: bool
    spec: Cursor
    cluster: Cursor
    job: Cursor | None
    head: Cursor
    groups: tuple[Cursor, ...]
    autoscaling: bool

    @staticmethod
    def of(root: Cursor) -> RayManifest:
        """The object at the root of a document whose kind is in RAY_KINDS."""
        kind, spec = root.text("kind"), root.mapping("spec")
        cluster = spec
        for key in RAY_KINDS[kind]:
            cluster = cluster.mapping(key)
        job = spec if kind == "RayJob" else spec.mapping("jobTemplate") if kind == "RayCronJob" else None
        return RayManifest(
            root=root,
            kind=kind,
            v1=root.text("apiVersion") == "ray.io/v1",
            spec=spec,
            cluster=cluster,
            job=job,
            head=cluster.mapping("headGroupSpec"),
            groups=tuple(cluster.items("workerGroupSpecs")),
            autoscaling=cluster.boolean("enableInTreeAutoscaling"),
        )


Rule = Callable[[RayManifest], None]
"""Looks at a manifest and tells what is wrong with it, through its cursors."""


def tell(cursor: Cursor, code: str, message: str, hint: str = "", *, key: str | None = None) -> None:
    """Report a problem of a code here, or at a key, as severe as the table of codes says."""
    cursor.report(code, message, hint, key=key, severity=CODES[code].severity)
