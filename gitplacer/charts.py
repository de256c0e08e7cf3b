"""
Charts of the Fleet: which cluster gets which, and what tells Flux so.

With Flux a chart is a file of the cluster's platform unit, a HelmRepository and a HelmRelease, so its version is a line in Git like
everything else there. An Application of Argo CD lives beside Argo CD and not in the cluster it is about, so with Argo CD a chart is
part of what `gitplacer bootstrap` prints. Helm never upgrades CRDs by itself: both are told to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gitplacer.kinds.chart import Chart
from gitplacer.kinds.fleet import Cluster, FleetSpec
from gitplacer.plaintext import counted
from gitplacer.problems import Location, Problem, Severity
from gitplacer.yamltext import to_block_yaml

FOLDER = "charts"
"""Below a cluster's platform unit."""

MARK = b"# Made by gitplacer from spec.platform.charts of the Fleet.\n"
"""The first line of each file of ours: one that begins otherwise is somebody else's."""

INTERVAL = "30m"
TIMEOUT = "10m"
"""How long an operator may take to start: its image is small, its CRDs are not."""


def charts_on(spec: FleetSpec, cluster: Cluster) -> tuple[Chart, ...]:
    """The charts that a cluster gets, by name. Of two of one name the first counts; `chart_problems` tells of it."""
    if cluster.spec.role != "Workload":
        return ()
    found: dict[str, Chart] = {}
    for chart in spec.platform.charts:
        if chart.clusters.unmet(cluster.labels()) is None:
            found.setdefault(chart.name, chart)
    return tuple(chart for _, chart in sorted(found.items()))


def chart_problems(spec: FleetSpec, clusters: Iterable[Cluster], place: Location) -> list[Problem]:
    """Charts that two entries give to one cluster, and charts that no cluster gets."""
    problems = []
    taken: dict[tuple[str, str], int] = {}
    twice: dict[str, list[str]] = defaultdict(list)
    workers = sorted((c for c in clusters if c.spec.role == "Workload"), key=lambda c: c.name)
    for number, chart in enumerate(spec.platform.charts):
        chosen = [c.name for c in workers if chart.clusters.unmet(c.labels()) is None]
        if not chosen:
            message = f"no cluster gets the chart {chart.name}: {counted(len(workers), 'cluster')} for workloads, none is selected"
            hint = "correct its `clusters`, or take it out"
            problems.append(Problem(place, "ChartNowhere", message, hint, severity=Severity.WARNING))
        for name in chosen:
            if taken.setdefault((chart.name, name), number) != number:
                twice[chart.name].append(name)
    for chart_name, names in sorted(twice.items()):
        message = f"two entries of spec.platform.charts give {chart_name} to {', '.join(names)}; the first one counts"
        problems.append(Problem(place, "ChartTwice", message, "let their `clusters` select different clusters"))
    return problems


def chart_file(chart: Chart) -> str:
    """Where a chart is, below the platform unit."""
    return f"{FOLDER}/{chart.name}.yaml"


def release(chart: Chart) -> bytes:
    """What tells a cluster's own Flux to install a chart."""
    repository = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "HelmRepository",
        "metadata": {"name": chart.name, "namespace": chart.namespace},
        "spec": {**({"type": "oci"} if chart.repo.startswith("oci:") else {}), "interval": INTERVAL, "url": chart.repo},
    }
    source: Mapping[str, object] = {"kind": "HelmRepository", "name": chart.name}
    wanted = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": chart.name, "namespace": chart.namespace},
        "spec": {
            "interval": INTERVAL,
            "timeout": TIMEOUT,
            "releaseName": chart.name,
            "chart": {"spec": {"chart": chart.chart, "version": chart.version, "sourceRef": source}},
            "install": {"crds": "CreateReplace", "remediation": {"retries": 3}},
            "upgrade": {"crds": "CreateReplace", "remediation": {"retries": 3}},
            **({"values": chart.values} if chart.values else {}),
        },
    }
    return MARK + to_block_yaml(repository) + b"---\n" + to_block_yaml(wanted)
