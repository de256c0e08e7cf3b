"""Nodes as columns: what comes back out of a cache is what was put in, field by field."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitplacer.kinds.capacity import CapacitySnapshot, Node
from gitplacer.kinds.nodecolumns import NodeColumns, NodeTable

AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.sampled_from(["0", "1", "2500m"]))
POD = {"namespace": "a", "labels": {"app": "b"}, "hostPorts": [{"port": 80}]}


@st.composite
def fields(draw: st.DrawFn) -> dict[str, Any]:
    """One node as it is written. Few values, so that many nodes have something alike; and any field may be absent."""
    some = {
        "labels": draw(st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["", "1", "2"]))),
        "taints": draw(st.lists(st.sampled_from([{"key": "k"}, {"key": "k", "effect": "NoExecute"}]), max_size=2)),
        "unschedulable": draw(st.booleans()),
        "ready": draw(st.booleans()),
        "used": draw(AMOUNTS),
        **draw(st.sampled_from([{}, {"count": 1}, {"count": 2}, {"pods": []}, {"pods": [POD]}])),
    }
    given_ = draw(st.sets(st.sampled_from(sorted(some))))
    return {"name": draw(st.sampled_from("abc")), "allocatable": draw(AMOUNTS), **{k: some[k] for k in given_}}


def whole(node: Node) -> tuple[Any, ...]:
    """All that is kept of a node, with the order of its labels."""
    return node, node.model_fields_set, list(node.__dict__), list(node.labels), node.model_extra


@given(st.lists(fields(), max_size=8))
def test_nodes_come_back_as_pickle_alone_would_bring_them(written: list[dict[str, Any]]) -> None:
    nodes = tuple(Node.model_validate(one, by_alias=True, by_name=False) for one in written)
    plain = pickle.loads(pickle.dumps(nodes))
    packed = NodeTable(pickle.loads(pickle.dumps(NodeColumns.of(nodes))), Node)
    assert [whole(node) for node in packed] == [whole(node) for node in plain] == [whole(node) for node in nodes]
    assert (packed, len(packed), packed[:2], packed[-1:]) == (nodes, len(nodes), nodes[:2], nodes[-1:])
    assert NodeColumns.of(packed) == NodeColumns.of(nodes)


def test_a_snapshot_comes_back_with_its_nodes_and_all_else() -> None:
    snapshot = CapacitySnapshot.model_validate(
        {
            "apiVersion": "gitplacer.dev/v1alpha1",
            "kind": "CapacitySnapshot",
            "metadata": {"name": "a"},
            "observedAt": "2026-01-02T03:04:05Z",
            "nodes": [{"name": f"n{i}", "allocatable": {"cpu": "4"}, "used": {"cpu": f"{i}"}} for i in range(3)],
            "groups": [{"name": "a/b", "phase": "Running"}],
        }
    )
    again = pickle.loads(pickle.dumps(snapshot))
    assert again == snapshot
    assert again.model_fields_set == snapshot.model_fields_set


def test_what_nodes_have_alike_is_kept_once() -> None:
    def size(count: int) -> int:
        one = {"allocatable": {"cpu": "4"}, "taints": [{"key": "k"}], "labels": {"zone": "a"}}
        nodes = [Node.model_validate({"name": f"{i:05}", **one}) for i in range(count)]
        return len(pickle.dumps(NodeColumns.of(nodes)))

    assert (size(2000) - size(1000)) / 1000 < 25  # its name, its row in each column, its labels


def test_a_snapshot_of_which_a_group_was_asked_is_the_same_and_a_copy_shows_its_own() -> None:
    written = {
        "apiVersion": "gitplacer.dev/v1alpha1", "kind": "CapacitySnapshot", "metadata": {"name": "a"}, "observedAt": "2026-01-02T03:04:05Z",
        "nodes": [], "groups": [{"name": f"prod/{name}", "phase": "Running", "ready": True, "pods": []} for name in ("api", "web")],
    }  # fmt: skip
    asked, other = (CapacitySnapshot.model_validate(written) for _ in range(2))
    assert asked.running("prod/web") == other.groups[1]
    assert asked.running("prod/none") is None
    assert asked == other
    assert pickle.dumps(asked) == pickle.dumps(other)
    fewer = asked.model_copy(update={"groups": other.groups[:1]})
    assert fewer.running("prod/web") is None
    assert pickle.loads(pickle.dumps(asked)).running("prod/api") == other.groups[0]
