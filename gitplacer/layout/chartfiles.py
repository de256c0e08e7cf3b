"""
Charts of the Fleet as files: with Flux, each cluster's own installs what its platform unit says.

One that nobody wants any more stays: with its HelmRelease an operator would go, and finalizers of what it made would wait for it for ever.
Somebody else's file of that name stays as well. Both are told.
"""

from __future__ import annotations

from collections import defaultdict

from gitplacer.charts import FOLDER, MARK, chart_file, charts_on, release
from gitplacer.layout.beginnings import ensure_namespace
from gitplacer.layout.draft import Draft
from gitplacer.layout.marked import MarkedFiles
from gitplacer.problems import Location, Problem, Severity
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM


def ensure_charts(snapshot: Snapshot, draft: Draft, marked: MarkedFiles) -> None:
    """Write the charts that each cluster gets, and tell of those that it gets no more."""
    spec = snapshot.source.own.fleet.spec
    there, inside = defaultdict(list), f"/{PLATFORM}/{FOLDER}/"
    for path in marked.within(FOLDER):
        there[path.rpartition(inside)[0] + inside].append(path)
    for cluster in snapshot.source.own.clusters.values():
        folder = draft.units.path(cluster.name, PLATFORM, f"{FOLDER}/")
        charts = charts_on(spec, cluster) if spec.engine == "flux" else ()
        wanted = {draft.units.path(cluster.name, PLATFORM, chart_file(chart)): chart for chart in charts}
        for path, chart in wanted.items():
            if draft.tells_of_clash([path]):
                continue
            if marked.is_taken(path, MARK):
                draft.problems.append(_not_ours(path, chart.name))
                continue
            ensure_namespace(snapshot, draft, cluster.name, chart.namespace)
            draft.write(path, release(chart))
        for path in there[folder]:
            if path not in wanted and marked.is_ours(path, MARK):
                draft.problems.append(_left_over(path, path[len(folder) :].removesuffix(".yaml")))


def _not_ours(path: str, chart: str) -> Problem:
    message = f"somebody else wrote it, so {chart} is not installed or changed there"
    hint = "take the change back; or remove the file, and it is made from spec.platform.charts"
    return Problem(Location(path), "ChartNotOurs", message, hint, severity=Severity.WARNING)


def _left_over(path: str, chart: str) -> Problem:
    message = f"no entry of spec.platform.charts gives {chart} to this cluster any more, and it stays"
    hint = "remove the file by hand when nothing on the cluster needs it any more"
    return Problem(Location(path), "ChartLeftOver", message, hint, severity=Severity.WARNING)
