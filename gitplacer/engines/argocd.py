"""
Argo CD: ApplicationSets, the projects that bound what they may do, and health checks for Ray.

The clusters are listed, not discovered, so that no directory that comes or goes in a repo makes or deletes the Application of a
cluster. Argo CD knows no order between Applications: `workloads` is retried until `platform` has brought the CRDs. Ray's kinds count
as healthy the moment they are applied unless argocd-cm says how to tell.

Per cluster, what runs outlives its Application: whoever loses an ApplicationSet loses nothing. Per workload it must not: the
Application goes because the group has moved, and a copy that stayed would run twice. So the two are never mixed: no object belongs
to Applications of both kinds, and none of the one kind has the name of one of the other, or the change from one to the other would
prune what runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gitplacer.charts import charts_on
from gitplacer.engines.manifests import Manifest, file_of
from gitplacer.engines.rayhealth import LUA
from gitplacer.engines.wanted import CannotBootstrap, Wanted
from gitplacer.kinds.fields import LABEL_KEY
from gitplacer.kinds.fleet import Cluster, FleetSpec, synced
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.yamltext import to_block_yaml

ANNOTATION = "gitplacer.dev/argocd-cluster"
"""On a Cluster: the name or the https address under which Argo CD knows it, if not its own name."""

FINALIZER = "resources-finalizer.argocd.argoproj.io"

Targets = Mapping[str, Mapping[str, str]]
"""Each cluster, and how Argo CD knows it: by `name` or by `server`."""

_API = "argoproj.io/v1alpha1"
_GITOPS = ("Application", "ApplicationSet", "AppProject")
_RBAC = ("Role", "RoleBinding")
_AUTOSCALED = ".spec | select(.enableInTreeAutoscaling == true) | .workerGroupSpecs[]?.{}"


def bootstrap(spec: FleetSpec, clusters: Sequence[Cluster], repo_url: str, wanted: Wanted) -> dict[str, bytes]:
    """Projects, ApplicationSets, and a part of argocd-cm."""
    known = {cluster.name: cluster for cluster in clusters}
    targets = {name: _destination(known[name]) for name in synced(spec, clusters, wanted.managers)}
    namespace = wanted.namespace or "argocd"
    if wanted.cluster_label is not None and re.match(LABEL_KEY, wanted.cluster_label) is None:
        raise CannotBootstrap(
            f"--cluster-label {wanted.cluster_label} is no key of a label", "write it like gitplacer.dev/cluster"
        )
    if wanted.per == "workload" and wanted.cluster_label is not None:
        raise CannotBootstrap(
            "with --per workload the clusters are listed: a cluster Secret that goes for a moment, or loses its label, "
            "would take the cluster's Applications with it, and these take what runs",
            "leave out --cluster-label, and run this again for each new cluster",
        )
    if wanted.per == "workload":
        sets = [
            *_beside_workloads(spec, targets, repo_url, namespace),
            _by_workload(spec, targets, repo_url, namespace),
        ]
    else:
        sets = [_by_cluster(spec, targets, repo_url, namespace, wanted.cluster_label)]
    charts = [element for name in targets for element in _chart_elements(spec, known[name], _all_keys(targets)[name])]
    if charts:
        sets.append(_charts(charts, _templated(targets), namespace))
    repos = sorted({str(element["repo"]) for element in charts})
    anywhere = wanted.cluster_label is not None
    health = {f"resource.customizations.health.ray.io_{kind}": text for kind, text in LUA.items()}
    return {
        "projects.yaml": file_of(_projects(targets, repo_url, repos, namespace, anywhere=anywhere)),
        "applicationsets.yaml": file_of(sets),
        "argocd-cm.yaml": file_of([_config(namespace, health)]),
    }


def _destination(cluster: Cluster) -> dict[str, str]:
    """How Argo CD knows a cluster: by its name or by its address."""
    known_as = cluster.metadata.annotations.get(ANNOTATION, cluster.name).strip()
    if "://" in known_as:
        if not known_as.startswith("https://"):
            raise CannotBootstrap(
                f"Cluster {cluster.name}: {ANNOTATION} {known_as} is no https address",
                "give the cluster's name in Argo CD, or the https address of its API",
            )
        return {"server": known_as}
    if not known_as:
        raise CannotBootstrap(f"Cluster {cluster.name}: {ANNOTATION} is empty", "give a name, or leave it out")
    return {"name": known_as}


_PROJECTS = """
What gitplacer's Applications may do. `gitplacer-platform` may make cluster-scoped objects: CRDs, namespaces, roles.
`gitplacer-workloads` may not, nor objects of Argo CD, nor roles, nor anything in Argo CD's own namespace or in kube-system.
"""


def _projects(
    targets: Targets, repo_url: str, charts: Sequence[str], namespace: str, *, anywhere: bool
) -> list[Manifest]:
    everywhere = [{"name": "*"}] if anywhere else list(targets.values())
    platform = {
        "description": "What every cluster needs: CRDs, operators, namespaces",
        "sourceRepos": [repo_url, *charts],
        "destinations": [{**target, "namespace": "*"} for target in everywhere],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    }
    workloads = {
        "description": "Ray apps, and what belongs to them",
        "sourceRepos": [repo_url],
        "destinations": [
            {**target, "namespace": where} for target in everywhere for where in ("*", f"!{namespace}", "!kube-system")
        ],
        "clusterResourceWhitelist": [],
        "namespaceResourceBlacklist": [
            *({"group": "argoproj.io", "kind": kind} for kind in _GITOPS),
            *({"group": "rbac.authorization.k8s.io", "kind": kind} for kind in _RBAC),
        ],
    }
    return [
        Manifest(_PROJECTS, _object("AppProject", "gitplacer-platform", namespace, platform)),
        Manifest("", _object("AppProject", "gitplacer-workloads", namespace, workloads)),
    ]


_BY_CLUSTER = """
Two Applications for each cluster, from the directories that gitplacer writes: <cluster>-platform and <cluster>-workloads.
What runs outlives its Application (preserveResourcesOnDeletion): losing one, or this file, deletes nothing.
A group that moved away is pruned; the Ray autoscaler's two fields of a RayCluster are left to it (ignoreDifferences).
What cannot be applied is tried again with the newest commit (retry.refresh). That needs Argo CD 3.2: remove it for an older one, which
tries the same commit until somebody ends it (argocd app terminate-op).
"""
_PLATFORM_ALONE = """
One Application for each cluster, <cluster>-platform. What it applied outlives it (preserveResourcesOnDeletion).
What cannot be applied is tried again with the newest commit (retry.refresh). That needs Argo CD 3.2: remove it for an older one, which
tries the same commit until somebody ends it (argocd app terminate-op).
"""
_EPOCHS = """
One more for each cluster, <cluster>-epoch: of `workloads` it reads the top folder alone, without those below. There is one ConfigMap,
which tells how far a cluster is.
"""
_LISTED = "The clusters are listed: run `gitplacer bootstrap argocd` again when the fleet gets or loses one."
_LABELLED = "Every cluster whose Secret in Argo CD has the label {} is synced, from the directory that the label names."


def _by_cluster(spec: FleetSpec, targets: Targets, repo_url: str, namespace: str, label: str | None) -> Manifest:
    units: list[dict[str, object]] = [{"unit": PLATFORM}, {"unit": WORKLOADS}]
    if label is None:
        generator = _listed(targets, units)
        cluster, destination = "{{.cluster}}", _templated(targets)
    else:
        selector = {"matchExpressions": [{"key": label, "operator": "Exists"}]}
        both: list[object] = [{"clusters": {"selector": selector}}, {"list": {"elements": units}}]
        generator = {"matrix": {"generators": both}}
        cluster, destination = f'{{{{index .metadata.labels "{label}"}}}}', {"name": "{{.name}}"}
    template = _unit(spec, repo_url, cluster, destination, "{{.unit}}")
    comment = f"{_BY_CLUSTER}{_LABELLED.format(label) if label else _LISTED}"
    return Manifest(comment, _application_set("gitplacer", namespace, generator, template, preserve=True))


def _beside_workloads(spec: FleetSpec, targets: Targets, repo_url: str, namespace: str) -> list[Manifest]:
    """What is in no group's directory. None of them is called as one that covers all workloads: that one goes, and nothing with it."""
    generator, destination = _listed(targets), _templated(targets)
    platform = _unit(spec, repo_url, "{{.cluster}}", destination, PLATFORM)
    epochs = _unit(spec, repo_url, "{{.cluster}}", destination, WORKLOADS, called="epoch", recurse=False)
    return [
        Manifest(
            _PLATFORM_ALONE + _LISTED, _application_set("gitplacer", namespace, generator, platform, preserve=True)
        ),
        Manifest(_EPOCHS, _application_set("gitplacer-epochs", namespace, generator, epochs, preserve=True)),
    ]


def _unit(
    spec: FleetSpec,
    repo_url: str,
    cluster: str,
    destination: Mapping[str, str],
    unit: str,
    *,
    called: str = "",
    recurse: bool = True,
) -> dict[str, Any]:
    """The Application of one unit of a cluster."""
    return _template(
        name=f"{cluster}-{called or unit}",
        labels={"gitplacer.dev/cluster": cluster, "gitplacer.dev/unit": unit},
        project=f"gitplacer-{unit}",
        source=_directory(spec, repo_url, f"{spec.deployment.root}/{cluster}/{unit}", recurse=recurse),
        destination=destination,
    )


_BY_WORKLOAD = """
One Application for each group on each cluster, made from its directory: <cluster>-<namespace>-<group>-<digest>.
A group that moves loses its directory on the cluster it leaves, so its Application there goes, and by its finalizer what it applied.
Nothing here preserves anything: deleting this ApplicationSet deletes every workload. See "Back again" in docs/engines.md first.
"""


def _by_workload(spec: FleetSpec, targets: Targets, repo_url: str, namespace: str) -> Manifest:
    root = spec.deployment.root
    directories = {
        "repoURL": repo_url,
        "revision": spec.deployment.branch,
        "requeueAfterSeconds": 60,
        "directories": [{"path": f"{root}/{{{{.cluster}}}}/{WORKLOADS}/*/*"}],
    }
    generator = {"matrix": {"generators": [_listed(targets), {"git": directories}]}}
    at = root.count("/") + 3  # clusters / a / workloads / <namespace> / <group>
    group_namespace = f"{{{{index .path.segments {at}}}}}"
    readable = f'printf "%s-%s-%s" .cluster (index .path.segments {at}) .path.basenameNormalized | trunc 54'
    template = _template(
        name=f'{{{{{readable} | trimAll "-."}}}}-{{{{.path.path | sha256sum | trunc 8}}}}',
        labels={"gitplacer.dev/cluster": "{{.cluster}}", "gitplacer.dev/namespace": group_namespace},
        annotations={"gitplacer.dev/group": f"{group_namespace}/{{{{.path.basename}}}}"},
        project="gitplacer-workloads",
        source=_directory(spec, repo_url, "{{.path.path}}"),
        destination=_templated(targets),
    )
    template["metadata"]["finalizers"] = [FINALIZER]
    return Manifest(
        _BY_WORKLOAD + _LISTED,
        _application_set("gitplacer-workloads", namespace, generator, template, preserve=False),
    )


_CHARTS = """
The charts of spec.platform.charts, one Application for each cluster that gets one. They stay in the cluster when their Application
goes. CRDs are part of what is synced, so they are upgraded with the chart, which Helm by itself would not do.
"""


def _chart_elements(spec: FleetSpec, cluster: Cluster, target: Mapping[str, str]) -> list[dict[str, object]]:
    return [
        {
            "cluster": cluster.name,
            **target,
            "release": chart.name,
            "repo": chart.repo.removeprefix("oci://"),
            "chart": chart.chart,
            "version": chart.version,
            "namespace": chart.namespace,
            "values": to_block_yaml(chart.values).decode() if chart.values else "",
        }
        for chart in charts_on(spec, cluster)
    ]


def _charts(elements: Sequence[Mapping[str, object]], destination: Mapping[str, str], namespace: str) -> Manifest:
    template = _template(
        name="{{.cluster}}-chart-{{.release}}",
        labels={"gitplacer.dev/cluster": "{{.cluster}}", "gitplacer.dev/unit": PLATFORM},
        project="gitplacer-platform",
        source={
            "repoURL": "{{.repo}}",
            "chart": "{{.chart}}",
            "targetRevision": "{{.version}}",
            "helm": {"releaseName": "{{.release}}", "values": "{{.values}}"},
        },
        destination={**destination, "namespace": "{{.namespace}}"},
        options=("CreateNamespace=true",),
        by_path=False,
    )
    generator = {"list": {"elements": list(elements)}}
    return Manifest(_CHARTS, _application_set("gitplacer-charts", namespace, generator, template, preserve=True))


def _all_keys(targets: Targets) -> dict[str, dict[str, str]]:
    """What each element says of its cluster: with a missing key a template is an error, so all say the same."""
    keys = sorted({key for target in targets.values() for key in target})
    return {name: {key: target.get(key, "") for key in keys} for name, target in targets.items()}


def _templated(targets: Targets) -> dict[str, str]:
    keys = sorted({key for target in targets.values() for key in target}) or ["name"]
    return {key: f"{{{{.{key}}}}}" for key in keys}


def _listed(targets: Targets, more: Sequence[Mapping[str, object]] = ({},)) -> dict[str, Any]:
    every = _all_keys(targets)
    return {"list": {"elements": [{"cluster": name, **every[name], **each} for name in targets for each in more]}}


def _directory(spec: FleetSpec, repo_url: str, path: str, *, recurse: bool = True) -> dict[str, object]:
    directory = {"recurse": recurse}
    return {"repoURL": repo_url, "targetRevision": spec.deployment.branch, "path": path, "directory": directory}


def _template(
    *,
    name: str,
    labels: Mapping[str, str],
    project: str,
    source: Mapping[str, object],
    destination: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
    by_path: bool = True,
) -> dict[str, Any]:
    """
    An Application. A commit that touches other directories leaves its cache alone (manifest-generate-paths). KubeRay's CRDs are too
    large for the annotation of client-side apply. It is retried for ever, until `platform` has brought what `workloads` needs; each time
    with the newest commit (refresh), or what can never be applied would keep out the commit that takes it away.
    """
    paths = {"argocd.argoproj.io/manifest-generate-paths": "."} if by_path else {}
    notes = {**paths, **(annotations or {})}
    return {
        "metadata": {"name": name, "labels": dict(labels), **({"annotations": notes} if notes else {})},
        "spec": {
            "project": project,
            "source": source,
            "destination": destination,
            "ignoreDifferences": [
                {
                    "group": "ray.io",
                    "kind": "RayCluster",
                    "jqPathExpressions": [_AUTOSCALED.format(field) for field in ("replicas", "scaleStrategy")],
                }
            ],
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": [
                    "ServerSideApply=true",
                    "SkipDryRunOnMissingResource=true",
                    "RespectIgnoreDifferences=true",
                    *options,
                ],
                "retry": {
                    "limit": -1,
                    "refresh": True,
                    "backoff": {"duration": "10s", "factor": 2, "maxDuration": "3m"},
                },
            },
        },
    }


def _application_set(
    name: str, namespace: str, generator: Mapping[str, object], template: Mapping[str, object], *, preserve: bool
) -> dict[str, object]:
    spec = {
        "goTemplate": True,
        "goTemplateOptions": ["missingkey=error"],
        "generators": [generator],
        "syncPolicy": {"preserveResourcesOnDeletion": preserve},
        "template": template,
    }
    return _object("ApplicationSet", name, namespace, spec)


def _object(kind: str, name: str, namespace: str, spec: Mapping[str, object]) -> dict[str, object]:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


_CONFIG = """
How Argo CD can tell whether Ray runs. Without this, a Ray object counts as healthy once it is applied.
These are keys to add to argocd-cm, not the whole of it: apply it with --server-side, or you lose the others.
"""


def _config(namespace: str, health: Mapping[str, str]) -> Manifest:
    value = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "argocd"}},
    }
    return Manifest(_CONFIG, value, health)
