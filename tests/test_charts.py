"""Charts of the Fleet, told to each cluster's own Flux by a file of its platform unit."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from gitplacer.charts import chart_problems, charts_on, release
from gitplacer.kinds.chart import Chart
from gitplacer.problems import Location, Rejected
from gitplacer.tree import Changes
from tests.enginerules import broken
from tests.judges import judge, judge_change
from tests.stories import Story, cluster
from tests.test_engines import KUBERAY, fleet, member

FLEET = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\nspec:\n  engine: {}\n  platform:\n    charts: {}\n"
FILE = "clusters/{}/platform/charts/kuberay-operator.yaml"


def told(*charts: dict[str, Any], engine: str = "flux") -> dict[str, str]:
    return {"fleet.yaml": FLEET.format(engine, json.dumps(charts))}


def contents(story: Story) -> dict[str, bytes]:
    return dict(story.deployment.read_all(story.deployment))


def test_each_cluster_gets_the_version_that_selects_it() -> None:
    charts = [
        {**KUBERAY, "clusters": {"matchLabels": {"ray": "new"}}},
        {**KUBERAY, "version": "1.4.2", "clusters": {"names": ["b"]}},
        {**KUBERAY, "name": "other"},
    ]
    spec = fleet(charts=charts)
    found = {m.name: [(c.name, c.version) for c in charts_on(spec, m)] for m in (member("a", ray="new"), member("b"))}
    assert found == {
        "a": [("kuberay-operator", "1.5.0"), ("other", "1.5.0")],
        "b": [("kuberay-operator", "1.4.2"), ("other", "1.5.0")],
    }
    assert charts_on(spec, member("hub", role="Management", ray="new")) == ()


def test_what_no_cluster_or_one_cluster_twice_gets_is_told() -> None:
    spec = fleet(charts=[KUBERAY, {**KUBERAY, "clusters": {"names": ["b"]}}, {**KUBERAY, "clusters": {"names": ["z"]}}])
    found = chart_problems(spec, [member("b"), member("a")], Location("fleet.yaml"))
    assert [(p.code, p.severity.value) for p in found] == [("ChartNowhere", "warning"), ("ChartTwice", "error")]
    assert "give kuberay-operator to b;" in found[1].message


@pytest.mark.parametrize("repo", ["https://charts.example.com/ray", "oci://ghcr.io/example/charts"])
def test_the_release_keeps_the_rules_of_flux(repo: str) -> None:
    chart = Chart.model_validate({**KUBERAY, "repo": repo})
    repository, made = yaml.safe_load_all(release(chart))
    assert [*broken(repository), *broken(made)] == []
    assert repository["spec"].get("type") == ("oci" if repo.startswith("oci") else None)
    assert made["spec"]["values"] == KUBERAY["values"]
    assert (made["spec"]["install"]["crds"], made["spec"]["upgrade"]["crds"]) == ("CreateReplace", "CreateReplace")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", ">=1.0.0"), ("version", "1.5"), ("version", "latest"), ("repo", "http://x"), ("name", "n" * 54),
        ("repo", "https://me:pw@charts.example.com"), ("chart", "../x"), ("namespace", "A"), ("name", "-x"),
    ],
)  # fmt: skip
def test_a_chart_that_could_change_by_itself_or_carry_a_password_is_refused(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=field):
        Chart.model_validate({**KUBERAY, field: value})


def test_flux_gets_a_file_in_the_platform_unit_which_follows_the_fleet() -> None:
    story = Story.of(told(KUBERAY), cluster("a"), cluster("b"), cluster("hub", role="Management"))
    done = story.run()
    assert done.problems == ()
    first = contents(story)
    assert sorted(path for path in first if "/charts/" in path) == [FILE.format("a"), FILE.format("b")]
    assert "clusters/a/platform/namespaces/kuberay-system.yaml" in first
    assert judge(first) == []
    assert not story.run().steps

    story.source |= told({**KUBERAY, "version": "1.5.1"})
    story.run()
    second = contents(story)
    assert judge_change(first, second) == []
    assert b"1.5.1" in second[FILE.format("a")]
    changed = {path for path in second if first.get(path) != second[path] and path.startswith("clusters/")}
    assert changed == {file for c in "ab" for file in (FILE.format(c), f"clusters/{c}/platform/gitplacer.yaml")}


def test_a_chart_that_nobody_wants_any_more_stays_and_says_so() -> None:
    story = Story.of(told(KUBERAY), cluster("a"))
    story.run()
    for now_told in (told(), told(KUBERAY, engine="argocd")):
        story.source |= now_told
        done = story.run()
        assert FILE.format("a") in story.deployment
        left = [p for p in done.problems if p.code == "ChartLeftOver"]
        assert [p.location.file for p in left] == [FILE.format("a")]


def test_argocd_gets_no_file_since_its_applications_are_not_in_the_cluster() -> None:
    story = Story.of(told(KUBERAY, engine="argocd"), cluster("a"))
    assert story.run().problems == ()
    assert not [path for path in story.deployment if "/charts/" in path]


def test_what_somebody_did_to_a_charts_file_stays_and_is_told() -> None:
    story = Story.of(told(KUBERAY), cluster("a"))
    story.run()
    story.foreign = {FILE.format("a"): story.deployment.entries[FILE.format("a")].oid}
    story.source |= told({**KUBERAY, "version": "1.5.1"})
    done = story.run()
    assert [p.code for p in done.problems] == ["ChartNotOurs"]
    assert b"1.5.0" in story.deployment.read(FILE.format("a"))


def test_a_file_that_was_there_before_is_somebody_elses() -> None:
    story = Story.of(told(), cluster("a"))
    story.run()
    theirs = {FILE.format("a"): b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\n"}
    story.deployment = story.deployment.apply(Changes(theirs))
    assert story.run().problems == ()
    story.source |= told(KUBERAY)
    assert [p.code for p in story.run().problems] == ["ChartNotOurs"]
    assert contents(story)[FILE.format("a")] == theirs[FILE.format("a")]


def test_a_platform_file_of_the_same_place_gets_another_name() -> None:
    own = {
        "platform/charts/kuberay-operator.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\n"
    }
    everywhere = {
        "policies/p.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\n"
        'spec: {select: {paths: ["platform/**"]}, placement: {copies: All}}\n'
    }
    story = Story.of(told(KUBERAY), own, everywhere, cluster("a"))
    done = story.run()
    assert [p.code for p in done.problems] == []
    files = [path for path in story.deployment if "/charts/" in path]
    assert len(files) == 2 and FILE.format("a") in files
    assert judge(contents(story)) == []


def test_null_takes_a_default_of_the_chart_away() -> None:
    story = Story.of(told({**KUBERAY, "values": {"image": {"tag": None}}}), cluster("a"))
    assert not story.run().problems
    assert b"tag: null\n" in contents(story)[FILE.format("a")]
    for broken_chart in ({**KUBERAY, "values": None}, {**KUBERAY, "clusters": {"matchLabels": {"a": None}}}):
        with pytest.raises(Rejected):
            Story.of(told(broken_chart), cluster("a")).run()
