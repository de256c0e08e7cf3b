"""Examples of charts that clusters cannot get, or do not get any more."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example

_FLEET = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Fleet
metadata: {{name: fleet}}
spec:
  engine: flux
  platform:
    charts: {}
"""
_CHART = (
    "{{name: kuberay-operator, repo: 'https://ray-project.github.io/kuberay-helm/', chart: kuberay-operator, "
    "version: {}, namespace: kuberay-system{}}}"
)


def fleet(*charts: str) -> str:
    listed = "".join(f"\n    - {chart}" for chart in charts)
    return _FLEET.format(listed or "[]")


_ALL = _CHART.format("1.5.0", "")
_FILE = "clusters/my-cluster/platform/charts/kuberay-operator.yaml"

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "ChartTwice": (
        Example(
            (("fleet.yaml", fleet(_ALL, _CHART.format("1.5.1", ", clusters: {names: [my-cluster]}"))),),
            "The second entry was to be tried on one cluster, and the first one still selects all:",
        ),
    ),
    "ChartNowhere": (Example((("fleet.yaml", fleet(_CHART.format("1.5.0", ", clusters: {names: [my-clutser]}"))),)),),
    "ChartLeftOver": (
        Example((("fleet.yaml", fleet()),), "The chart was taken out of the Fleet:", first={"fleet.yaml": fleet(_ALL)}),
    ),
    "ChartNotOurs": (
        Example(
            (("fleet.yaml", fleet(_ALL)),),
            f"Somebody wrote `{_FILE}` into the deployment repo:",
            first={"fleet.yaml": fleet()},
            deployment={_FILE: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: default}\n"},
        ),
    ),
}
