"""Problems of the charts that clusters get through their engine."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "ChartTwice": Code(
        "Two entries give one chart to one cluster",
        "A release has one version. Of the entries whose `clusters` select a cluster, the first one counts.",
        "Let their `clusters` select different clusters: so one version is tried on some of them before the others get it.",
    ),
    "ChartNowhere": Code(
        "No cluster gets a chart",
        "Its `clusters` select none that takes workloads. A label may be misspelt, or the clusters are gone.",
        "Correct its `clusters`, or take it out of the Fleet.",
        severity=Severity.WARNING,
    ),
    "ChartLeftOver": Code(
        "A chart stays on a cluster though no entry gives it to it any more",
        "With its HelmRelease an operator would go, and what it looks after could not be deleted any more: finalizers would wait "
        "for it. So it stays until somebody removes it.",
        "Remove the file by hand when nothing on the cluster needs the operator any more.",
        severity=Severity.WARNING,
    ),
    "ChartNotOurs": Code(
        "Somebody else wrote a chart's file in the deployment repo",
        "What somebody did by hand is not written over. A file of ours begins with a line that says so.",
        "Take the change back, or put it into the Fleet and remove the file: it is made anew.",
        severity=Severity.WARNING,
    ),
}
