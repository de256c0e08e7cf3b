"""What differs from cluster to cluster: the changes that users of Nova write by field path, for a copy and for a share."""

from __future__ import annotations

from unittest import mock

import pytest

from gitplacer.documents import Document, value_at
from tests.stories import Story, policy, snapshot
from tests.test_divide_stories import clusters

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web  # the only one
        image: shop:1
        env:
        - {name: CLUSTER, value: nowhere}
"""
BATCH = WEB.replace("name: web,", "name: batch,").replace("app: web", "app: batch")
BOTH = {"workloads/shop/web.yaml": WEB, "workloads/shop/batch.yaml": BATCH}


def override(where: str, *changes: str) -> dict[str, str]:
    """An OverridePolicy for the Deployment `web`; `where` is its cluster selector."""
    items = "".join(f"  - {{{change}}}\n" for change in changes)
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: there}\nspec:\n"
        "  select: {kinds: [Deployment], names: [web], namespaces: [shop]}\n"
        f"  clusters: {where}\n  overrides:\n{items}"
    )
    return {"policies/there.yaml": text}


CHANGES = {
    # Nova's field path: the same as a change of ours, and the line that comes of it
    "spec.template.spec.containers[0].env[0].value": (
        "path: /spec/template/spec/containers/0/env/0/value, value: b",
        "        - {name: CLUSTER, value: b}",
    ),
    "metadata.labels['topology.istio.io/network']": (
        "path: /metadata/labels/topology.istio.io~1network, op: add, value: network-b",
        "metadata: {name: web, namespace: shop, labels: {app: web, topology.istio.io/network: network-b}}",
    ),
    "spec.paused": ("path: /spec/paused, op: add, value: true", "  paused: true"),
    "spec.replicas": ("path: /spec/replicas, value: 2", "  replicas: 2"),
}


@pytest.mark.parametrize("placement", ["{copies: All}", "{type: Divide}"])
@pytest.mark.parametrize("field", CHANGES)
def test_a_field_path_of_nova_has_its_change_here_on_one_cluster_and_one_object(field: str, placement: str) -> None:
    change, line = CHANGES[field]
    room = snapshot("a", "n1 64 64Gi") | snapshot("b", "n1 64 64Gi")
    story = Story.of(
        clusters("ab"), policy("p", f"select: {{}}\nplacement: {placement}"), BOTH, override("{names: [b]}", change),
        capacity=room,
    )  # fmt: skip
    done = story.run()
    assert not [p for p in done.problems if p.severity == "error"]
    share = "5" if "Divide" in placement else "10"
    written = {
        (name, file): story.deployment.read(f"clusters/{name}/workloads/shop/{file}/{file}.yaml").decode()
        for name in "ab"
        for file in ("web", "batch")
    }
    shared = WEB.replace("replicas: 10", f"replicas: {share}")
    assert written["a", "web"] == shared
    assert written["a", "batch"] == written["b", "batch"] == BATCH.replace("replicas: 10", f"replicas: {share}")
    assert [text for text in written["b", "web"].splitlines() if text not in shared.splitlines()] == [line]


def test_an_override_may_be_for_clusters_by_a_label_of_theirs() -> None:
    story = Story.of(
        {name: text.replace("labels: {}", "labels: {zone: east}") for name, text in clusters("b").items()},
        clusters("a"),
        policy("p", "select: {}\nplacement: {type: Divide}"),
        BOTH,
        override("{matchLabels: {zone: east}}", "path: /spec/replicas, value: 2"),
        capacity=snapshot("a", "n1 64 64Gi") | snapshot("b", "n1 64 64Gi"),
    )
    story.run()
    assert b"replicas: 5\n" in story.deployment.read("clusters/a/workloads/shop/web/web.yaml")
    assert b"replicas: 2\n" in story.deployment.read("clusters/b/workloads/shop/web/web.yaml")


@pytest.mark.parametrize("index", ["9" * 5000, "٣", "-1", "7"])
@pytest.mark.parametrize("operator", ["add", "replace", "remove"])
def test_an_index_that_no_list_has_is_told(index: str, operator: str) -> None:
    change = f"path: /spec/template/spec/containers/{index}/image, op: {operator}"
    story = Story.of(
        clusters("a"),
        policy("p", "select: {}"),
        BOTH,
        override("{names: [a]}", change if operator == "remove" else f"{change}, value: x"),
        capacity=snapshot("a", "n1 64 64Gi"),
    )
    done = story.plan()
    assert any(index[:20] in p.message for p in done.problems), done.problems


@pytest.mark.parametrize(
    ("path", "found"),
    [((), {"a": [{"b": None}]}), (("a", "0", "b"), None), (("a", 0), {"b": None}), (("a", "9" * 5000), "-"), (("a", "٠"), "-"), (("a", -1), "-"), (("b",), "-"), (("a", 0, "b", "c"), "-")],
)  # fmt: skip
def test_what_stands_at_a_path(path: tuple[str | int, ...], found: object) -> None:
    assert value_at({"a": [{"b": None}]}, path, "-") == found


def test_an_edit_that_cannot_be_made_is_tried_once_for_all_clusters() -> None:
    names = "abcdef"
    shared = WEB.replace("labels: {app: web}}", "labels: &labels {app: web}}", 1)
    web = shared.replace("    metadata: {labels: {app: web}}", "    metadata: {labels: *labels}")
    capacity = {path: text for name in names for path, text in snapshot(name, "n1 64 256Gi 4").items()}
    everywhere = policy("all", "select: {}\nplacement: {copies: All}")
    there = override("{}", "path: /metadata/labels/zone, op: add, value: z")
    story = Story.of(clusters(names), everywhere, {"workloads/shop/web.yaml": web}, there, capacity=capacity)
    with mock.patch.object(Document, "edited", autospec=True, side_effect=Document.edited) as edited:
        done = story.run()
    assert [problem.code for problem in done.problems] == ["CannotEdit"]
    assert edited.call_count == 1
