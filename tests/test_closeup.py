"""An explanation to the bottom: node by node, policy by policy, and as a document."""

from __future__ import annotations

import json
from collections import Counter

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.accounts import Accounts
from gitplacer.explain import governance
from gitplacer.explain.governance import Lost
from gitplacer.formats.explanation import explanation_json
from gitplacer.formats.explanationschema import explanation_schema
from gitplacer.formats.group import explain_group
from gitplacer.hydrate import Hydration
from gitplacer.kinds.selectors import LabelSelector, ObjectSelector
from gitplacer.model.decision import Reason
from gitplacer.placement.closeup import Closeup, closeup
from gitplacer.policies.selection import selects, unmet
from gitplacer.remedies import remedy
from tests import test_spanning as spanning
from tests.stories import ANYWHERE, Story, cluster, policy, rayjob, rayservice, snapshot
from tests.test_remedies import inputs_of, planned

GPU = "nvidia.com/gpu"


def close(done: Hydration, group_id: str, name: str, *, scale_up: bool = False) -> Closeup | None:
    books = Accounts(done.view).after
    gang = done.snapshot.variants.gang(done.snapshot.groups[group_id], done.view.clusters[name])
    return closeup(books, gang, name, scale_up=scale_up)


def counted(found: Closeup) -> Counter[tuple[Reason, str]]:
    counts: Counter[tuple[Reason, str]] = Counter()
    for one in found.refusals:
        counts[one.reason, one.subject] += one.count
    return counts


MIXED = snapshot(
    "a", "n1 16 64Gi 2", "n2 16 64Gi 2 | , taints: [{key: lab}]", "n3 1 64Gi 2", "n4 1 64Gi 2", "n5 16 64Gi", "n6 16 64Gi 1 | , ready: false",
)  # fmt: skip


def test_each_node_says_why_not_and_what_it_lacks() -> None:
    done = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app", workers=4), capacity=MIXED).plan()
    found = close(done, "ml/app", "a")
    assert found is not None
    assert (found.role, found.placed, found.wanted) == ("worker/gpu", 2, 4)
    said = {(one.nodes, str(one.reason), one.subject, tuple(one.lacks.rendered().items())) for one in found.refusals}
    assert said == {
        (("n3", "n4"), "InsufficientCapacity", "cpu", (("cpu", "1"),)),
        (("n1", "n5"), "InsufficientCapacity", GPU, ((GPU, "1"),)),
        (("n2",), "UntoleratedTaint", "lab:NoSchedule", ()),
        (("n6",), "NodeNotReady", "not ready", ()),
    }


def test_nothing_is_refused_where_it_fits_or_nobody_knows() -> None:
    story = Story.of(cluster("a"), cluster("b"), policy("p", "select: {}\nclusters: {names: [b]}"), rayservice("ml", "app"),
                     capacity=snapshot("a", "n1 64 64Gi 4"))  # fmt: skip
    assert close(story.plan(), "ml/app", "a") is None
    assert close(story.plan(), "ml/app", "b") is None


NODES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 2), st.sampled_from(["", ", taints: [{key: lab}]", ", ready: false", ", count: 2"])),
    min_size=1, max_size=4,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(nodes=NODES, workers=st.integers(1, 6), scales=st.booleans())
def test_the_nodes_that_refuse_add_up_to_the_planners_count(
    nodes: list[tuple[int, int, str]], workers: int, scales: bool
) -> None:
    auto = {
        "autoscaler": '{type: Luna, nodeTypes: [{name: t, max: 1, allocatable: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "1"}}]}'
    }
    shown = [f"n{i} {cpu} 64Gi {gpus} | {more}" for i, (cpu, gpus, more) in enumerate(nodes)]
    story = Story.of(
        cluster("a", **(auto if scales else {})),
        ANYWHERE,
        rayservice("ml", "app", workers=workers),
        capacity=snapshot("a", *shown),
    )
    done = story.plan()
    decision = next(iter(done.view.plan.decisions))
    found = close(done, "ml/app", "a", scale_up=True)
    if decision.after:
        return
    (candidate,) = decision.candidates
    if candidate.finding.code is Reason.TIGHT_FIT:
        assert found is None
        return
    assert found is not None
    assert counted(found) == Counter({(t.reason, t.subject): t.nodes for t in found.tally})
    assert found.tally == candidate.finding.tally, "this group alone is placed, so the plan says the same"
    assert sum(one.count for one in found.refusals) == candidate.finding.nodes
    assert all(len(one.nodes) == one.count for one in found.refusals)
    for one in found.refusals:
        assert bool(one.lacks) is (one.reason is Reason.INSUFFICIENT_CAPACITY)


def test_nodes_that_only_a_rule_about_other_pods_closes_are_counted() -> None:
    text = rayservice("ml", "app", workers=3, gpus=0)
    rule = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {ray.io/group: gpu}}}]}}, "
    text = {
        path: said.replace("containers: [{name: worker", f"{rule}containers: [{{name: worker")
        for path, said in text.items()
    }
    text = {
        path: said.replace(
            "      template: {spec: {affinity",
            "      template: {metadata: {labels: {ray.io/group: gpu}}, spec: {affinity",
        )
        for path, said in text.items()
    }
    hosts = [f"n{i} 16 64Gi | , labels: {{kubernetes.io/hostname: n{i}}}" for i in range(2)]
    done = Story.of(cluster("a"), ANYWHERE, text, capacity=snapshot("a", *hosts)).plan()
    found = close(done, "ml/app", "a")
    assert found is not None
    assert counted(found) == Counter({(t.reason, t.subject): t.nodes for t in found.tally})
    assert any(one.reason is Reason.POD_AFFINITY and one.count == 2 and not one.nodes for one in found.refusals)


# policies


LABS = rayjob("lab-1", "train")


def test_it_is_said_why_other_policies_that_match_do_not_govern() -> None:
    story = Story.of(
        cluster("a"), policy("all", "select: {}"), policy("labs", 'select: {namespaces: ["lab-*"]}\nprecedence: 10'),
        policy("high", "select: {}\nprecedence: 20"), LABS,
    )  # fmt: skip
    done = story.plan()
    found = governance(done.view.decision("lab-1/train"), done.view)
    assert found.policy is not None and found.policy.name == "high" and not found.is_chosen
    assert [(other.name, lost) for other, lost in found.others] == [("labs", Lost.PRECEDENCE), ("all", Lost.PRECEDENCE)]
    assert "labs (policies/labs.yaml:1), precedence 10: high has precedence 20, this one 10" in explain_group(
        done.view, "lab-1/train"
    )


def test_an_annotation_is_said_to_have_chosen() -> None:
    files = {
        p: t.replace("  name: train", "  name: train\n  annotations: {gitplacer.dev/policy: all}")
        for p, t in LABS.items()
    }
    done = Story.of(
        cluster("a"), policy("all", "select: {}"), policy("high", "select: {}\nprecedence: 20"), files
    ).plan()
    found = governance(done.view.decision("lab-1/train"), done.view)
    assert found.is_chosen and [(other.name, lost) for other, lost in found.others] == [("high", Lost.ANNOTATION)]
    assert "gitplacer.dev/policy names all" in explain_group(done.view, "lab-1/train")


def test_a_group_without_a_policy_names_those_that_nearly_match() -> None:
    story = Story.of(
        cluster("a"), LABS,
        policy("far", "select: {namespaces: [prod], kinds: [RayService]}"),
        policy("near", "select: {namespaces: [lab-2], labelSelector: {}}"),
        policy("labels", "select: {labelSelector: {matchLabels: {team: x}}, names: [other]}"),
    )  # fmt: skip
    done = story.plan()
    found = governance(done.view.decision("lab-1/train"), done.view)
    assert found.policy is None
    assert [(n.policy.name, len(n.conditions)) for n in found.nearly] == [("near", 1), ("far", 2), ("labels", 2)]
    text = explain_group(done.view, "lab-1/train")
    assert "near (policies/near.yaml:1): namespaces asks for lab-2; it has lab-1" in text
    assert "labelSelector asks for team=x; it has no such label" in text


def test_a_group_that_no_policy_governs_any_more_is_not_shown_under_the_one_it_had() -> None:
    story = Story.of(cluster("a"), LABS, policy("labs", "select: {namespaces: [lab-1]}"))
    story.run()
    story.source |= policy("labs", "select: {namespaces: [lab-one]}")
    done = story.plan()
    found = governance(done.view.decision("lab-1/train"), done.view)
    assert (found.policy, found.was, [n.policy.name for n in found.nearly]) == (None, "labs", ["labs"])
    text = explain_group(done.view, "lab-1/train")
    assert "none; it was placed under labs (policies/labs.yaml:1)" in text
    assert "labs (policies/labs.yaml:1): namespaces asks for lab-one; it has lab-1" in text


@given(
    kinds=st.none() | st.just(("Ray*",)) | st.just(("Job",)), names=st.none() | st.just(("train",)) | st.just(("x*", "y")),
    namespaces=st.none() | st.just(("lab-1",)) | st.just(("prod",)), paths=st.none() | st.just(("workloads/**",)) | st.just(("other/*",)),
    label=st.none() | st.sampled_from(["a", "b"]), namespace_label=st.none() | st.sampled_from(["lab-1", "b"]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_conditions_fail_exactly_where_a_selection_does_not_hold(
    kinds: tuple[str, ...] | None, names: tuple[str, ...] | None, namespaces: tuple[str, ...] | None,
    paths: tuple[str, ...] | None, label: str | None, namespace_label: str | None,
) -> None:  # fmt: skip
    source = _LABELLED.snapshot.source
    (item,) = (o for o in source.objects if o.identity.name == "train")
    select = ObjectSelector(
        kinds=kinds, names=names, namespaces=namespaces, paths=paths,
        label_selector=LabelSelector(match_labels={"team": label} if label else {}),
        namespace_selector=LabelSelector(match_labels={"kubernetes.io/metadata.name": namespace_label} if namespace_label else {}),
    )  # fmt: skip
    assert (not unmet(select, item, source.namespace_labels)) is selects(select, item, source.namespace_labels)


_LABELLED = Story.of(
    cluster("a"), {p: t.replace("  name: train", "  name: train\n  labels: {team: a}") for p, t in LABS.items()}
).plan()


# the record's story


def test_what_each_cluster_has_of_an_app_that_spans_is_told() -> None:
    story = Story.of(*spanning.MESHED, policy("p", spanning.ON_PREM_FIRST), spanning.app(), capacity=spanning.TWO)
    first = story.plan()
    (group,) = (d.group for d in first.view.plan.decisions)
    assert "Goes to  cloud (further workers)" in explain_group(first.view, group)
    story.run()
    text = explain_group(story.plan().view, group)
    assert "Is on       on-prem (home) since" in text and "cloud (further workers) since" in text


# the document


def document(story: Story, group: str, *, trials: int = 50) -> dict[str, object]:
    inputs, done = planned(story)
    closeups = {
        c.cluster: found for c in done.view.decision(group).candidates if (found := close(done, group, c.cluster))
    }
    found = remedy(inputs, done, group, most_trials=trials, every_kind=True)
    value = json.loads(explanation_json(done.view, group, closeups=closeups, remedy=found))
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("waits", [True, False])
def test_an_explanation_keeps_its_schema(waits: bool) -> None:
    story = Story.of(cluster("a"), cluster("b", state="Cordoned"), ANYWHERE, policy("low", "select: {}\nprecedence: -1"),
                     rayservice("ml", "app", workers=4 if waits else 1), capacity={**MIXED, **snapshot("b", "n1 64 256Gi 8")})  # fmt: skip
    if not waits:
        story.run()
    jsonschema.Draft202012Validator.check_schema(explanation_schema())
    value = document(story, "ml/app")
    jsonschema.Draft202012Validator(explanation_schema()).validate(value)
    assert (value["remedy"] is not None) is waits
    assert (value["record"] is None) is waits
    assert not jsonschema.Draft202012Validator(explanation_schema()).is_valid({**value, "governance": None})


def test_an_explanation_of_a_group_without_a_policy_keeps_its_schema() -> None:
    story = Story.of(cluster("a"), policy("prod", "select: {namespaces: [prod]}"), LABS)
    value = document(story, "lab-1/train")
    jsonschema.Draft202012Validator(explanation_schema()).validate(value)
    assert value["governance"]["nearlyMatches"][0]["policy"] == "prod"  # type: ignore[index]


def test_what_manifests_say_cannot_move_the_cursor() -> None:
    red = "\x1b[31m"
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app", workers=4), capacity=MIXED)
    inputs, done = planned(story)
    found = remedy(inputs, done, "ml/app")
    closed = close(done, "ml/app", "a")
    assert closed is not None and found is not None
    hostile = replace(closed, role=red, refusals=tuple(replace(r, subject=red, nodes=(red,)) for r in closed.refusals))
    ways = tuple(
        replace(w, amendments=tuple(replace(a, subject=red, item=red) for a in w.amendments)) for w in found.ways
    )
    text = explain_group(done.view, "ml/app", closeups={"a": hostile}, remedy=replace(found, ways=ways))
    assert "\x1b" not in text and "\\x1b[31m" in text


def test_the_inputs_of_a_remedy_are_not_changed() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ml", "app", workers=4), capacity=MIXED)
    inputs, done = planned(story)
    remedy(inputs, done, "ml/app")
    assert inputs == inputs_of(story)
