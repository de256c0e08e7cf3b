"""
Flux: a GitRepository and, for each cluster, two Kustomizations, `workloads` after `platform`.

Each cluster's own Flux reads its own file; or the Flux of a hub reads all of them and reaches the clusters by kubeconfigs.
`dependsOn` holds workloads back until the platform objects of the same revision are there and healthy. The Ray autoscaler writes into
RayClusters, and Flux would take it back each time: its ignore rules know no wildcard for lists, so they name the first worker groups
of those that an annotation marks.

What runs outlives its Kustomization (deletionPolicy: Orphan), as with Argo CD per cluster. One Kustomization for each workload is
refused: Flux makes none from directories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gitplacer.charts import charts_on
from gitplacer.engines.manifests import Manifest, file_of
from gitplacer.engines.rayhealth import CEL
from gitplacer.engines.wanted import CannotBootstrap, Wanted
from gitplacer.kinds.fleet import Cluster, FleetSpec, synced
from gitplacer.rules.autoscaling import AUTOSCALED
from gitplacer.source.manifests import PLATFORM, WORKLOADS

MARK = "{cluster}"

_GROUPS = 16
"""Worker groups of one RayCluster that the ignore rule reaches."""
_DURATION = re.compile(r"(?=.*[1-9])([0-9]+(\.[0-9]+)?(s|m|h))+")
_SECRET_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def bootstrap(spec: FleetSpec, clusters: Sequence[Cluster], repo_url: str, wanted: Wanted) -> dict[str, bytes]:
    """
    One file for each cluster, named after it; on a hub one more for the source that they share. Raises CannotBootstrap.
    """
    _refuse(spec, clusters, wanted)
    names = synced(spec, clusters, wanted.managers)
    source = _source(spec, _with_scheme(repo_url), wanted)
    if wanted.kubeconfig_secret is not None:
        files = {name: file_of(_kustomizations(spec, name, wanted)) for name in names}
        return {"source.yaml": file_of([source]), **{f"{name}.yaml": data for name, data in files.items()}}
    return {
        f"{name}.yaml": file_of([_introduced(source, name), *_kustomizations(spec, name, wanted)]) for name in names
    }


def _refuse(spec: FleetSpec, clusters: Sequence[Cluster], wanted: Wanted) -> None:
    if wanted.per == "workload":
        raise CannotBootstrap(
            "Flux makes no Kustomizations from directories, so --per workload would be a list that is out of date with the next "
            "placement",
            "leave out --per: one Kustomization for each cluster applies them all; or use Argo CD",
        )
    if _DURATION.fullmatch(wanted.timeout) is None:
        raise CannotBootstrap(f"--timeout {wanted.timeout} is no time to wait", "write it like 15m or 1h30m")
    for option, name in (
        ("--git-secret", wanted.git_secret),
        ("--decryption-secret", wanted.decryption_secret),
        ("--kubeconfig-secret", wanted.kubeconfig_secret and wanted.kubeconfig_secret.replace(MARK, "x")),
    ):
        if name is not None and _SECRET_NAME.fullmatch(name) is None:
            raise CannotBootstrap(f"{option} {name} is no name of a Secret", "use lower case letters, digits, - and .")
    hub = wanted.kubeconfig_secret
    if hub is None:
        return
    if MARK not in hub and len(synced(spec, clusters, wanted.managers)) > 1:
        raise CannotBootstrap(
            f"--kubeconfig-secret {hub} is the same for every cluster",
            f"let {MARK} stand for the cluster's name: {MARK}-kubeconfig",
        )
    with_charts = sorted(cluster.name for cluster in clusters if charts_on(spec, cluster))
    if with_charts:
        raise CannotBootstrap(
            "spec.platform.charts become HelmReleases in each cluster's own directory, and a cluster that a hub's Flux reaches "
            f"has no helm-controller: {', '.join(with_charts)}",
            "run Flux in each cluster, or leave out the charts and install them from the hub",
        )


def _with_scheme(url: str) -> str:
    """The address as Flux takes it: with a scheme, where git is content with user@host:path."""
    found = re.fullmatch(r"([^@/:]+@[^:/]+):(?!//)/?(.*)", url)
    return f"ssh://{found[1]}/{found[2]}" if found else url


_SOURCE = """
The deployment repo.{}{}
"""
_NO_SECRET = """
A private repo needs a Secret here: make one (`flux create secret git`), and run bootstrap again with --git-secret."""


def _source(spec: FleetSpec, repo_url: str, wanted: Wanted) -> Manifest:
    secret = wanted.git_secret
    value = _object(
        "source.toolkit.fluxcd.io/v1",
        "GitRepository",
        "gitplacer",
        wanted,
        {
            "interval": "1m",
            "url": repo_url,
            "ref": {"branch": spec.deployment.branch},
            **({"secretRef": {"name": secret}} if secret else {}),
        },
    )
    hub = " All clusters are synced from it by this hub." if wanted.kubeconfig_secret is not None else ""
    return Manifest(_SOURCE.format(hub, "" if secret else _NO_SECRET), value)


def _introduced(source: Manifest, cluster: str) -> Manifest:
    return Manifest(
        f"For the Flux of cluster {cluster}: put this file where that Flux reads, or kubectl apply it there.\n"
        f"{source.comment.strip()}",
        source.value,
    )


_PLATFORM = """
CRDs, operators and namespaces of {}. They stay when this Kustomization goes (deletionPolicy: Orphan).
"""
_WORKLOADS = """
The Ray apps of {}, once its platform is there and healthy. A group that moved away is pruned.
`timeout` is how long an app may take to start: machines come, images of several GB are pulled. Until it has started or the time is
up Flux looks at no later commit, unless kustomize-controller runs with --feature-gates=CancelHealthCheckOnNewRevision=true.
The Ray autoscaler writes the fields that `ignore` names. Annotate a RayCluster with enableInTreeAutoscaling
{}: "true", and Flux leaves them to it. Needs Flux 2.9; remove it for an older one.
"""


def _kustomizations(spec: FleetSpec, cluster: str, wanted: Wanted) -> list[Manifest]:
    hub = wanted.kubeconfig_secret
    prefix = "gitplacer" if hub is None else f"gitplacer-{cluster}"
    common: dict[str, object] = {
        "interval": "10m",
        "retryInterval": "1m",
        "sourceRef": {"kind": "GitRepository", "name": "gitplacer"},
        "prune": True,
        "wait": True,
        "deletionPolicy": "Orphan",
    }
    if hub is not None:
        common["kubeConfig"] = {"secretRef": {"name": hub.replace(MARK, cluster)}}
    if wanted.decryption_secret is not None:
        common["decryption"] = {"provider": "sops", "secretRef": {"name": wanted.decryption_secret}}
    root = f"./{spec.deployment.root}/{cluster}"
    platform = {"path": f"{root}/{PLATFORM}", "timeout": "15m", **common}
    fields = ("replicas", "scaleStrategy")
    workloads = {
        "path": f"{root}/{WORKLOADS}",
        "timeout": wanted.timeout,
        "dependsOn": [{"name": f"{prefix}-{PLATFORM}"}],
        **common,
        "ignore": [
            {
                "target": {"group": "ray.io", "kind": "RayCluster", "annotationSelector": f"{AUTOSCALED}=true"},
                "paths": [f"/spec/workerGroupSpecs/{index}/{field}" for index in range(_GROUPS) for field in fields],
            }
        ],
        "healthCheckExprs": [dict(check) for check in CEL],
    }
    made = []
    for unit, comment, value in (
        (PLATFORM, _PLATFORM.format(cluster), platform),
        (WORKLOADS, _WORKLOADS.format(cluster, AUTOSCALED), workloads),
    ):
        name = f"{prefix}-{unit}"
        made.append(Manifest(comment, _object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, wanted, value)))
    return made


def _object(api: str, kind: str, name: str, wanted: Wanted, spec: Mapping[str, object]) -> dict[str, object]:
    metadata = {"name": name, "namespace": wanted.namespace or "flux-system"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
