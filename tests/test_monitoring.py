"""Alerts and dashboard: queries that Prometheus' grammar takes, about metrics, labels and values that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml

from gitplacer.telemetry.metrics import PREFIX, TABLE, Metric, described, full_name

FOLDER = Path(__file__).parent.parent / "deploy" / "monitoring"
RULES: dict[str, Any] = yaml.safe_load((FOLDER / "rules.yaml").read_text("utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
PANELS = DASHBOARD["panels"]
OF_SCRAPING = {"job", "instance"}
"""Labels that Prometheus adds to everything."""


def nodes(node: Any) -> Iterator[Any]:
    """An expression and everything in it."""
    yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        inner = getattr(node, name, None)
        if inner is not None and type(inner).__module__ == type(node).__module__:
            yield from nodes(inner)
    args = getattr(node, "args", None)
    for inner in args if isinstance(args, list) else ():
        yield from nodes(inner)


def wrong(query: str) -> list[str]:
    """What is wrong with a query: metrics, labels and values that there are not."""
    found: list[str] = []
    metrics: list[Metric] = []
    tree = promql.parse(query)
    for node in nodes(tree):
        if not isinstance(node, promql.VectorSelector):
            continue
        metric = described(node.name or "")
        if metric is None:
            found.append(f"there is no metric {node.name}")
            continue
        metrics.append(metric)
        for matcher in node.matchers.matchers:
            known = metric.labels.get(matcher.name)
            if matcher.name not in OF_SCRAPING and known is None:
                found.append(f"{node.name} has no label {matcher.name}")
            elif isinstance(known, tuple) and matcher.op in (promql.MatchOp.Equal, promql.MatchOp.Re):
                found += [
                    f"{matcher.name} is never {value}" for value in matcher.value.split("|") if value not in known
                ]
    labels = {name for metric in metrics for name in metric.labels} | OF_SCRAPING
    if any(metric.kind == "histogram" for metric in metrics):
        labels.add("le")
    for node in nodes(tree):
        if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
            found += [f"nothing here has the label {name}" for name in node.modifier.labels if name not in labels]
    return found or ([] if metrics else ["it asks for nothing"])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("gitplacer_nonsense", "there is no metric gitplacer_nonsense"),
        ("gitplacer_reconcile", "there is no metric gitplacer_reconcile"),
        ("rate(gitplacer_reconcile_duration_seconds[5m])", "there is no metric gitplacer_reconcile_duration_seconds"),
        ('sum(gitplacer_moves_total{group="x"})', "gitplacer_moves_total has no label group"),
        ('gitplacer_git_push_total{result=~"ok|fine"}', "result is never fine"),
        ("1 - sum by (cluster) (gitplacer_held)", "nothing here has the label cluster"),
        ("vector(1)", "it asks for nothing"),
    ],
)
def test_the_judge_sees_what_is_wrong(query: str, said: str) -> None:
    assert wrong(query) == [said]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_every_alert_asks_for_what_there_is_and_says_what_it_means(alert: dict[str, Any]) -> None:
    assert wrong(alert["expr"]) == []
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    assert re.fullmatch(r"Gitplacer[A-Za-z]+", alert["alert"]) and re.fullmatch(r"[0-9]+[mh]", alert.get("for", "0m"))
    assert set(alert["annotations"]) == {"summary", "description"}
    left = {
        name
        for node in nodes(promql.parse(alert["expr"]))
        if isinstance(node, promql.AggregateExpr) and node.modifier
        for name in node.modifier.labels
    }
    if not any(isinstance(node, promql.AggregateExpr) for node in nodes(promql.parse(alert["expr"]))):
        left = {name for metric in TABLE if full_name(metric) in alert["expr"] for name in metric.labels}
    told = set(re.findall(r"\$labels\.(\w+)", " ".join(alert["annotations"].values())))
    assert told <= left


def test_both_rule_files_say_the_same() -> None:
    resource = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))
    assert (resource["apiVersion"], resource["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert resource["spec"] == RULES
    assert len({alert["alert"] for alert in ALERTS}) == len(ALERTS)


def filled(query: str) -> str:
    """A panel's query with Grafana's variables filled in."""
    return query.replace("$__rate_interval", "5m").replace("$job", "gitplacer").replace("$cluster", "a")


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_shows_what_there_is(panel: dict[str, Any]) -> None:
    assert panel["description"] and panel["targets"]
    for target in panel["targets"]:
        assert wrong(filled(target["expr"])) == []
        tree = promql.parse(filled(target["expr"]))
        kept = {
            name
            for node in nodes(tree)
            if isinstance(node, promql.AggregateExpr) and node.modifier
            for name in node.modifier.labels
        }
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept - {"le"}


def test_panels_do_not_overlap_and_their_variables_are_there() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken
        taken |= cells
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps([PANELS, DASHBOARD["templating"]])))
    assert used <= variables and {panel["id"] for panel in PANELS} == set(range(1, len(PANELS) + 1))
    for variable in DASHBOARD["templating"]["list"][1:]:
        metric, label = re.fullmatch(
            r"label_values\((gitplacer_\w+)(?:{.*})?, (\w+)\)", variable["definition"]
        ).groups()  # type: ignore[union-attr]
        found = described(metric)
        assert found is not None and label in {*found.labels, *OF_SCRAPING}


def test_every_metric_is_looked_at_by_an_alert_or_a_panel() -> None:
    queries = " ".join(
        [*(alert["expr"] for alert in ALERTS), *(t["expr"] for panel in PANELS for t in panel["targets"])]
    )
    left_out = {"looks", "git_request", "move_duration_seconds", "webhook_processing_duration_seconds"}
    seen = {metric.name for metric in TABLE if re.search(rf"{PREFIX}{metric.name}(?:_total|_bucket)?\b", queries)}
    assert seen == {metric.name for metric in TABLE} - left_out
