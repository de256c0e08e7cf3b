"""
Volumes in `gitplacer fit`: on which nodes a pod with claims may be, and when it never starts.

Rules are those of kube-scheduler 1.34 (VolumeBinding, VolumeZone, VolumeRestrictions, NodeVolumeLimits), a row for each. The
laws hold whatever the cluster; an independent count judges volumes that wait on nodes.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dumps import (
    ZONE,
    Json,
    a_pod,
    a_set,
    capacity,
    claim,
    csi_driver,
    csi_node,
    judged,
    machine,
    pod_spec,
    said,
    storage_class,
    term,
    thing,
    volume,
    where,
)

A, B, C = machine("a"), machine("b", "b"), machine("c", "c")
BARE = machine("bare", "")
BETA = "failure-domain.beta.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
OLDER = "volume.beta.kubernetes.io/storage-class"
LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")
HOST = "kubernetes.io/hostname"


# -- one pod ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "objects"),
    [
        ("a", [claim("x", bound="v"), volume("v", term(ZONE, "a"))]),
        ("a b", [claim("x", bound="v"), volume("v", term(ZONE, "a"), term(ZONE, "b"))]),
        ("b", [claim("x", bound="v"), volume("v", term(HOST, "b"))]),
        ("a b c", [claim("x", bound="v"), volume("v")]),
        ("", [claim("x", bound="v"), volume("v", term(ZONE, "elsewhere"))]),
        ("a", [claim("x", bound="v"), volume("v", labels={ZONE: "a"})]),
        ("a b", [claim("x", bound="v"), volume("v", labels={ZONE: "a__b"})]),
        ("b", [claim("x", bound="v"), volume("v", labels={BETA: "b"})]),  # a newer node has the newer label only
        ("b", [claim("x", bound="v"), volume("v", term(ZONE, "a", "b"), labels={ZONE: "b"})]),  # both count
        ("a b c", [claim("x"), storage_class()]),
        ("b c", [claim("x"), storage_class(zones=["b", "c"])]),
        ("c", [claim("x", annotations={SELECTED: "c"}), storage_class()]),
        ("c", [claim("x", annotations={SELECTED: "c"}), storage_class(zones=["a", "c"])]),
        ("", [claim("x", annotations={SELECTED: "c"}), storage_class(zones=["a"])]),  # narrowed since
        ("", [claim("x", annotations={SELECTED: "c"}, cls="local"), LOCAL, volume("v", term(HOST, "c"), cls="local")]),
        ("b", [claim("x", cls=None), storage_class("other"), storage_class("mine", zones=["b"], default=True)]),
        ("a", [claim("x", annotations={OLDER: "old"}), storage_class("old", zones=["a"]), storage_class()]),
        ("b", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="local")]),
        ("", [claim("x", cls="local", storage="11Gi"), LOCAL, volume("v", term(HOST, "b"), cls="local")]),
        ("", [claim("x", cls="local", volumeMode="Block"), LOCAL, volume("v", term(HOST, "b"), cls="local")]),
        ("", [claim("x", cls="local", mode="ReadWriteMany"), LOCAL, volume("v", term(HOST, "b"), cls="local")]),
        ("", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="local", status="Released")]),
        ("", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="local", deleted=True)]),
        ("", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="local", claimRef={"namespace": "ray", "name": "y"})]),
        ("b", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="local", claimRef={"namespace": "ray", "name": "x"})]),
        ("b", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="", annotations={OLDER: "local"})]),
        ("", [claim("x", cls="local"), LOCAL, volume("v", term(HOST, "b"), cls="local", annotations={OLDER: "std"})]),
        ("b", [claim("x", cls="local", selector={"matchLabels": {"fast": "y"}}), LOCAL, volume("v", term(HOST, "b"), cls="local", labels={"fast": "y"}), volume("w", term(HOST, "a"), cls="local")]),
        ("a b", [claim("x"), storage_class(zones=["a"]), volume("v", term(ZONE, "b"))]),  # made in a, or the one in b
        ("a b c", [claim("x", cls="local"), LOCAL, volume("v", cls="local", labels={ZONE: "b"})]),  # until it is given
    ],
)  # fmt: skip
def test_a_pod_goes_where_its_volume_is_or_can_be(nodes: str, objects: list[Json]) -> None:
    assert where([a_pod("p", "x")], A, B, C, *objects) == set(nodes.split())


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ("a", [csi_driver(), capacity("x", "10Gi", "a"), capacity("y", "9Gi", "b")]),  # of 10Gi, as the claim asks
        ("a b c", [csi_driver(), capacity("x", "10Gi")]),
        ("b c", [csi_driver(), capacity("x", "1Gi", "a"), capacity("y", "1Ti", "b"), capacity("z", "1Ti", "c")]),
        ("", [csi_driver(), capacity("x", "10Gi", "elsewhere")]),
        ("", [csi_driver(), capacity("x", "10Gi", cls="other")]),
        ("", [csi_driver(), capacity("x", None)]),  # it does not say how much
        ("", [csi_driver()]),
        ("", [csi_driver(), capacity("x", "1Ti", maximumVolumeSize="5Gi")]),
        ("a b c", [csi_driver(), capacity("x", None, maximumVolumeSize="10Gi")]),
        ("a b c", [csi_driver(capacity=False), capacity("x", "1Gi")]),  # the driver does not want it asked
        ("a b c", [csi_driver("other.csi"), capacity("x", "1Gi")]),
        ("a b c", [capacity("x", "1Gi")]),  # nobody knows, and it is told
    ],
)
def test_a_volume_is_made_where_its_driver_has_enough_left(nodes: str, told: list[Json]) -> None:
    cluster = [A, B, C, storage_class(), *told]
    assert where([claim("x"), a_pod("p", "x")], *cluster) == set(nodes.split())
    unknown = any("no CSIDriver is listed" in each for each in judged([claim("x"), a_pod("p", "x")], cluster).left_out)
    assert unknown is (told[0]["kind"] == "CSIStorageCapacity")


def test_what_a_driver_has_left_narrows_what_else_is_said() -> None:
    told = [csi_driver(), capacity("x", "10Gi", "a"), capacity("y", "10Gi", "c")]
    assert where([claim("x"), a_pod("p", "x")], A, B, C, storage_class(zones=["b", "c"]), *told) == {"c"}
    chosen = claim("x", annotations={SELECTED: "b"})
    assert where([a_pod("p", "x")], A, B, C, storage_class(), chosen, *told) == set()
    waits = volume("v", term(ZONE, "b"))
    assert said([claim("x"), a_pod("p", "x")], A, B, C, storage_class(), waits, *told) == "TightFit VolumeNotMadeYet"
    too_little = [csi_driver(), capacity("x", "1Gi")]
    assert said([claim("x"), a_pod("p", "x")], A, storage_class(), *too_little) == "No VolumeNotBound"
    bound = [claim("x", bound="v"), volume("v")]
    assert said([a_pod("p", "x")], A, storage_class(), *bound, *too_little) == "Fits"


@pytest.mark.parametrize(
    ("left", "answer"), [("20Gi", "Fits"), ("19Gi", "TightFit VolumeNotMadeYet"), ("9Gi", "No VolumeNotBound")]
)
def test_claims_that_may_be_too_much_together_are_not_promised(left: str, answer: str) -> None:
    """kube-scheduler places both, and the second volume may not come about."""
    made = [claim("x"), claim("y"), a_pod("p", "x"), a_pod("q", "y")]
    assert said(made, A, storage_class(), csi_driver(), capacity("c", left)) == answer


def test_nodes_without_zone_labels_take_volumes_with_zone_labels() -> None:
    objects = [claim("x", bound="v"), volume("v", labels={ZONE: "a"})]
    assert where([a_pod("p", "x")], A, B, BARE, *objects) == {"a", "bare"}


@pytest.mark.parametrize(
    ("answer", "objects"),
    [
        ("No MissingClaim", [storage_class()]),
        ("No VolumeNotBound", [claim("x"), storage_class(delayed=False)]),
        ("No VolumeNotBound", [claim("x", cls=""), storage_class()]),
        ("No VolumeNotBound", [claim("x", cls="gone"), storage_class()]),
        ("No VolumeNotBound", [claim("x", volumeName="v"), storage_class(), volume("v")]),  # named, and not bound yet
        ("No VolumeNotBound", [claim("x", bound="v"), volume("other")]),
        ("No VolumeNotBound", [claim("x", bound="v", deleted=True), volume("v")]),
        ("No VolumeNotBound", [{**claim("x", bound="v"), "status": {"phase": "Lost"}}, volume("v")]),
        ("No VolumeInUse", [claim("x", bound="v", mode="ReadWriteOncePod"), volume("v"), a_pod("old", "x", nodeName="a")]),
        ("Fits", [claim("x", bound="v", mode="ReadWriteOncePod"), volume("v"), a_pod("old", "x", nodeName="a", status={"phase": "Succeeded"})]),
        ("Fits", [claim("x", bound="v", mode="ReadWriteOncePod"), volume("v"), a_pod("old", "x")]),  # waits itself
        ("No VolumeNodeMismatch", [claim("x", bound="v"), volume("v", term(ZONE, "elsewhere"))]),
    ],
)  # fmt: skip
def test_a_pod_whose_claim_cannot_be_had_stays_pending(answer: str, objects: list[Json]) -> None:
    assert said([a_pod("p", "x")], A, B, *objects) == answer


def test_a_dump_without_storage_keeps_nothing_off_and_says_so() -> None:
    found = judged([a_pod("p", "x")], [A])
    assert found.answer.fit == "Fits"
    assert found.left_out == ("where the volume of claim ray/x can be reached",)


@pytest.mark.parametrize(
    ("answer", "made", "objects"),
    [
        ("Fits", claim("x"), [storage_class()]),
        ("Fits", claim("x", cls=None), [storage_class(default=True)]),
        ("No VolumeNotBound", claim("x", cls=None), [storage_class()]),  # no class is the default, and no volume is there
        ("No VolumeNotBound", claim("x", cls="gone"), [storage_class()]),
        ("No VolumeNotBound", claim("x", volumeName="v"), [storage_class(), volume("other")]),
        ("Fits", claim("x", volumeName="v"), [storage_class(), volume("v", term(ZONE, "a"))]),
        ("No VolumeNotBound", claim("x", volumeName="v"), [storage_class(), volume("v", claimRef={"namespace": "n", "name": "x"})]),
        ("TightFit VolumeNotMadeYet", claim("x"), [storage_class(delayed=False)]),  # made in any zone, perhaps a full one
        ("Fits", claim("x"), [storage_class(delayed=False, zones=["a"]), csi_node("a"), csi_node("b")]),
        ("TightFit VolumeNotMadeYet", claim("x"), [storage_class(delayed=False), csi_node("a"), csi_node("b")]),
        ("Fits", claim("x"), [storage_class(delayed=False), csi_node("a", keys=[])]),  # a driver without topology
        ("Fits", claim("x", mode="ReadWriteMany"), [storage_class(delayed=False)]),
    ],
)  # fmt: skip
def test_a_claim_that_is_given_with_the_pods_counts_as_there(answer: str, made: Json, objects: list[Json]) -> None:
    assert said([made, a_pod("p", "x")], A, B, *objects) == answer


def test_a_claim_that_is_there_wins_over_the_one_that_is_given() -> None:
    there = [claim("x", bound="v"), volume("v", term(ZONE, "b")), storage_class()]
    assert where([claim("x"), a_pod("p", "x")], A, B, *there) == {"b"}


# -- several pods -----------------------------------------------------------------------------------------------------


def test_two_pods_never_share_a_claim_for_one_pod() -> None:
    objects = [claim("x", bound="v", mode="ReadWriteOncePod"), volume("v")]
    assert said([a_pod("p", "x"), a_pod("q", "x")], A, B, *objects) == "No VolumeInUse"


def test_pods_that_share_a_claim_for_one_node_are_placed_apart_and_it_is_noted() -> None:
    objects = [A, B, claim("x", bound="v"), volume("v")]
    found = judged([a_pod("p", "x", cpu="5"), a_pod("q", "x", cpu="5")], objects)
    assert found.answer.fit == "Fits"  # kube-scheduler does not look at it
    assert len(set(found.answer.placement.values())) == 2
    assert "ReadWriteOnce" in found.notes[0]


@pytest.mark.parametrize(
    ("answer", "objects"),
    [
        ("TightFit VolumeNotMadeYet", [storage_class()]),  # nobody knows how far its volumes reach
        (
            "No InsufficientCapacity",
            [storage_class(), csi_node("a"), csi_node("b")],
        ),  # a zone, and each has room for one
        ("Fits", [storage_class(), csi_node("a", keys=[]), csi_node("b", keys=[])]),
    ],
)
def test_pods_that_share_a_claim_go_where_the_first_one_has_its_volume_made(answer: str, objects: list[Json]) -> None:
    found = said([claim("x"), a_pod("p", "x", cpu="5"), a_pod("q", "x", cpu="5")], A, B, *objects)
    assert found.partition(" ")[0] == answer.partition(" ")[0], found


def _near(app: str) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(
    ("answer", "first", "second"),
    [
        ("No", {"claims": "x", "zone": "a"}, {"claims": "x y", "zone": "b"}),  # x is in one zone, whoever else has y
        ("No", {"claims": "x y", "zone": "a"}, {"claims": "y z", "zone": "b"}),
        ("Fits", {"claims": "x", "zone": "a"}, {"claims": "x y", "zone": "a"}),
        ("Fits", {"claims": "x", "zone": "a"}, {"claims": "y", "zone": "b"}),
    ],
)
def test_each_claim_that_is_shared_keeps_its_own_pods_together(
    answer: str, first: dict[str, str], second: dict[str, str]
) -> None:
    sets = [
        a_set(name, 2, pod_spec(*each["claims"].split(), nodeSelector={ZONE: each["zone"]}))
        for name, each in (("p", first), ("q", second))
    ]
    objects = [storage_class(), csi_node("a"), csi_node("b"), claim("x"), claim("y"), claim("z")]
    assert said(sets, A, B, *objects).partition(" ")[0] == answer


@pytest.mark.parametrize("claims", [(), ("x",), ("x", "y")])
@pytest.mark.parametrize(("zone", "answer"), [("a", "Fits"), ("b", "No")])
def test_a_shared_claim_takes_nothing_from_the_affinity_of_its_pods(
    claims: tuple[str, ...], zone: str, answer: str
) -> None:
    spec = pod_spec(*claims, affinity=_near("cache"), nodeSelector={ZONE: zone})
    cache = a_pod("cache", labels={"app": "cache"}, nodeName="a", status={"phase": "Running"})
    objects = [storage_class(), csi_node("a"), csi_node("b"), claim("x"), claim("y")]
    assert said([a_set("p", 2, spec)], A, B, *objects, cache).partition(" ")[0] == answer


def test_pods_that_share_an_unbound_claim_fit_in_one_zone() -> None:
    objects = [storage_class(), csi_node("a"), csi_node("a2"), csi_node("b"), machine("a2")]
    found = judged([claim("x"), a_pod("p", "x", cpu="5"), a_pod("q", "x", cpu="5")], [A, B, *objects])
    assert found.answer.fit == "TightFit"  # the first may go to b, where there is no room for the second
    assert set(found.answer.placement.values()) == {"a", "a2"}


@pytest.mark.parametrize(
    ("answer", "given", "waiting"),
    [
        ("No VolumeNotBound", [claim("x", cls="local"), claim("y", cls="local")], [volume("v", cls="local")]),
        ("Fits", [claim("x", cls="local"), claim("y", cls="local")], [volume(v, cls="local") for v in "vw"]),
        ("TightFit VolumeNotMadeYet", [claim("x", cls="local"), claim("y", cls="local")],
         [volume("v", term(HOST, "a"), cls="local"), volume("w", term(HOST, "b"), cls="local")]),
        ("Fits", [claim("x"), claim("y", cls="local")], [volume("v"), volume("w", cls="local")]),
        ("TightFit VolumeNotMadeYet", [claim("x"), claim("y")], [volume("v")]),  # the other is made somewhere
        ("TightFit VolumeNotMadeYet", [claim("x"), claim("y")], [volume("v"), volume("w")]),
        ("No VolumeNotBound", [claim("x", cls="now"), claim("y", cls="now")], [volume("v", cls="now")]),
    ],
)  # fmt: skip
def test_claims_that_several_pods_share_need_a_volume_each(answer: str, given: list[Json], waiting: list[Json]) -> None:
    pods = [a_pod(f"{name}{i}", name) for name in "xy" for i in (1, 2)]
    classes = [LOCAL, storage_class(), storage_class("now", delayed=False, provisioner="kubernetes.io/no-provisioner")]
    assert said([*given, *pods], A, B, *classes, *waiting) == answer


def test_of_pods_that_share_a_claim_one_goes_to_the_node_that_was_chosen_and_others_near_it() -> None:
    chosen = claim("x", annotations={SELECTED: "a"})
    pods = [a_pod(name, "x", cpu="6") for name in "pq"]
    assert said(pods, A, machine("a2"), storage_class(), chosen) == "TightFit VolumeNotMadeYet"
    assert said(pods[:1], A, machine("a2"), storage_class(), chosen) == "Fits"


def test_pods_that_share_a_claim_go_also_where_no_volume_waits_and_one_is_made() -> None:
    pods = [claim("x"), a_pod("p", "x"), a_pod("q", "x")]
    full = a_pod("full", cpu="8", nodeName="b")
    assert said(pods, A, B, storage_class(), volume("v", term(HOST, "b")), full) == "TightFit VolumeNotMadeYet"


@pytest.mark.parametrize(("replicas", "answer"), [(3, "Fits"), (4, "No VolumeNotBound")])
def test_volumes_that_wait_on_nodes_are_taken_once_each(replicas: int, answer: str) -> None:
    waiting = [volume(f"v{i}", term(HOST, name), cls="local") for i, name in enumerate(["a", "a", "b"])]
    template = {"metadata": {"name": "data"}, "spec": claim("x", cls="local")["spec"]}
    manifest = a_set(
        "db", replicas, {"containers": [{"name": "x", "image": "x"}]}, "StatefulSet", volumeClaimTemplates=[template]
    )
    assert said([manifest], A, B, C, LOCAL, *waiting) == answer


def test_large_claims_take_what_small_ones_could_have_too() -> None:
    waiting = [volume("s", term(HOST, "a"), cls="local"), volume("l", term(HOST, "a"), cls="local", storage="20Gi")]
    small, large = claim("x", cls="local"), claim("y", cls="local", storage="20Gi")
    third = claim("z", cls="local", storage="20Gi")
    pods = [a_pod("p", "x"), a_pod("q", "y")]
    assert said([small, large, *pods], A, B, LOCAL, *waiting) == "Fits"
    assert said([small, third, large, *pods[1:], a_pod("r", "z")], A, B, LOCAL, *waiting) == "No VolumeNotBound"


def test_volumes_of_several_nodes_are_promised_only_where_there_are_enough() -> None:
    def answer(*zones: str) -> str:
        waiting = [volume(f"v{i}", term(ZONE, zone), cls="local") for i, zone in enumerate(zones)]
        claims = [claim(name, cls="local") for name in "xy"]
        return said([*claims, a_pod("p", "x"), a_pod("q", "y")], A, machine("a2"), B, LOCAL, *waiting)

    assert answer("a", "a") == "Fits"
    assert answer("a", "b").startswith("TightFit")
    assert answer("a") == "No VolumeNotBound"


def local(name: str, *, node: str = "a", modes: str = "ReadWriteOnce", **more: Any) -> Json:
    return volume(name, term(HOST, node), cls="local", accessModes=modes.split(), **more)


FAST = {"labels": {"fast": "y"}}
WANTS_FAST = {"selector": {"matchLabels": {"fast": "y"}}}
BOTH_MODES = "ReadWriteOnce ReadWriteMany"


@pytest.mark.parametrize(
    ("answer", "waiting", "second"),
    [
        ("Fits", [local("v"), local("f", storage="20Gi", **FAST)], WANTS_FAST),  # the first takes the smaller one
        ("TightFit VolumeNotMadeYet", [local("v"), local("f", **FAST)], WANTS_FAST),  # or this one, of the same size
        ("TightFit VolumeNotMadeYet", [local("v", storage="20Gi"), local("f", **FAST)], WANTS_FAST),  # always this one
        ("Fits", [local("v"), local("f", **FAST), local("g", **FAST)], WANTS_FAST),  # one is left
        ("TightFit VolumeNotMadeYet", [local("v", storage="20Gi"), local("m", modes=BOTH_MODES)], {"mode": "ReadWriteMany"}),
        ("Fits", [local("v"), local("m", storage="20Gi", modes=BOTH_MODES)], {"mode": "ReadWriteMany"}),
        ("No ExceedsCluster", [local("f", **FAST), local("w", node="gone")], WANTS_FAST),
    ],
)  # fmt: skip
def test_a_claim_may_be_given_what_only_another_could_have_used(answer: str, waiting: list[Json], second: Json) -> None:
    """kube-scheduler gives each claim the smallest volume that suits it on the node."""
    claims = [claim("x", cls="local"), claim("y", cls="local", **second)]
    assert said([*claims, a_pod("p", "x"), a_pod("q", "y")], A, LOCAL, *waiting).startswith(answer)
    in_one = said([*claims, a_pod("p", "x", "y")], A, LOCAL, *waiting)
    assert in_one.partition(" ")[0] == answer.partition(" ")[0], in_one


def test_claims_that_could_have_a_volume_in_common_need_one_each_all_the_same() -> None:
    waiting = [local("f", **FAST), local("both", labels={"fast": "y", "big": "y"}), local("b", labels={"big": "y"})]
    claims = [claim(f"f{i}", cls="local", **WANTS_FAST) for i in range(2)]
    claims += [claim(f"b{i}", cls="local", selector={"matchLabels": {"big": "y"}}) for i in range(2)]
    pods = [a_pod(f"p{i}", made["metadata"]["name"]) for i, made in enumerate(claims)]
    assert said([*claims, *pods], A, LOCAL, *waiting) == "No VolumeNotBound"
    assert said([*claims[:3], *pods[:3]], A, LOCAL, *waiting) == "TightFit VolumeNotMadeYet"


@pytest.mark.parametrize(
    ("answer", "made", "kept"),
    [
        ("Fits", {}, {}),
        ("No VolumeNotBound", {}, {"uid": "of-one-that-is-gone"}),  # Released: its data is another's
        ("No VolumeNotBound", {"storage": "11Gi"}, {}),
        ("No VolumeNotBound", {"mode": "ReadWriteMany"}, {}),
        ("No VolumeNotBound", {"volumeName": "v"}, {"uid": "of-one-that-is-gone"}),
        ("Fits", {"volumeName": "v"}, {}),
        ("No VolumeNotBound", {"volumeName": "v", "storage": "11Gi"}, None),
        ("No VolumeNotBound", {"volumeName": "v", "cls": "other"}, None),
        ("Fits", {"volumeName": "v"}, None),
    ],
)
def test_a_volume_that_is_kept_for_a_claim_is_had_by_no_other(answer: str, made: Json, kept: Json | None) -> None:
    owner = {} if kept is None else {"claimRef": {"namespace": "ray", "name": "x", **kept}}
    x = claim("x", **{"cls": "local", **made})
    assert said([x, a_pod("p", "x")], A, LOCAL, volume("v", term(HOST, "a"), cls="local", **owner)) == answer


def test_a_set_comes_back_to_the_volumes_that_it_had() -> None:
    template = {"metadata": {"name": "data"}, "spec": claim("x")["spec"]}
    manifest = a_set(
        "db", 2, {"containers": [{"name": "x", "image": "x"}]}, "StatefulSet", volumeClaimTemplates=[template]
    )
    objects = [claim("data-db-0", bound="v"), volume("v", term(ZONE, "b")), storage_class(zones=["c"])]
    assert judged([manifest], [A, B, C, *objects]).answer.placement == {"db-pod-0": "b", "db-pod-1": "c"}


def test_a_set_that_counts_from_another_number_has_volumes_of_that_number() -> None:
    template = {"metadata": {"name": "data"}, "spec": claim("x")["spec"]}
    pod = {"containers": [{"name": "x", "image": "x"}]}
    manifest = a_set("db", 2, pod, "StatefulSet", volumeClaimTemplates=[template], ordinals={"start": 5})
    objects = [claim("data-db-5", bound="v"), claim("data-db-1", bound="none"), volume("v", term(ZONE, "b"))]
    found = judged([manifest], [A, B, C, *objects, storage_class(zones=["c"])])
    assert found.answer.placement == {"db-pod-0": "b", "db-pod-1": "c"}


def test_an_ephemeral_volume_is_made_where_its_class_can() -> None:
    template = {"volumeClaimTemplate": {"spec": claim("x")["spec"]}}
    pod = a_pod("p")
    pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": template}]
    assert where([pod], A, B, C, storage_class(zones=["b"])) == {"b"}


@pytest.mark.parametrize(
    ("limit", "running", "answer"), [(2, 0, "Fits"), (2, 1, "No"), (1, 0, "No"), (None, 3, "Fits")]
)
def test_a_driver_attaches_only_so_many_volumes_to_a_node(limit: int | None, running: int, answer: str) -> None:
    there = [claim(f"r{i}", bound=f"rv{i}") for i in range(running)]
    there += [volume(f"rv{i}", csi={"driver": "disk.csi"}) for i in range(running)]
    pods = [a_pod(f"run{i}", f"r{i}", nodeName="a") for i in range(running)]
    made = [claim("x"), claim("y"), a_pod("p", "x"), a_pod("q", "y")]
    assert said(made, A, storage_class(), csi_node("a", limit), *there, *pods).partition(" ")[0] == answer


def attachment(volume: str, node: str = "a", driver: str = "disk.csi") -> Json:
    spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return thing("VolumeAttachment", f"csi-{volume}-{node}", spec=spec)


@pytest.mark.parametrize(
    ("answer", "attached"),
    [
        ("Fits", []),
        ("Fits", [attachment("rv")]),  # that of the pod that runs
        ("No", [attachment("rv"), attachment("left")]),  # its pod is gone, and it is not detached yet
        ("Fits", [attachment("left", "b")]),
        ("Fits", [attachment("left", driver="other.csi")]),
    ],
)
def test_a_volume_that_is_attached_still_counts_without_its_pod(answer: str, attached: list[Json]) -> None:
    there = [claim("r", bound="rv"), volume("rv", csi={"driver": "disk.csi"}), a_pod("run", "r", nodeName="a")]
    there.append(volume("left", csi={"driver": "disk.csi"}))
    cluster = [A, storage_class(), csi_node("a", 2), *there, *attached]
    assert said([claim("x"), a_pod("p", "x")], *cluster).partition(" ")[0] == answer


def test_a_volume_that_is_not_listed_counts_for_the_driver_of_its_class() -> None:
    """As kube-scheduler counts one that it does not find; a dump may have CSINodes and claims, and no volumes."""
    running = [claim("r", bound="rv"), a_pod("run", "r", nodeName="a")]
    made = [claim("x"), a_pod("p", "x")]
    for limit, answer in ((1, "No"), (2, "Fits")):
        found = judged(made, [A, storage_class(), csi_node("a", limit), *running])
        assert (found.answer.fit, found.left_out) == (answer, ())


@pytest.mark.parametrize(
    ("listed", "unknown"),
    [
        ([], True),  # neither the claim of the pod that runs nor its volume
        ([claim("r", bound="rv", cls=None)], True),  # the claim, and nobody knows its class
        ([claim("r", bound="rv", cls=None), volume("rv", csi={"driver": "disk.csi"})], False),
        ([claim("r", bound="rv", cls=None), volume("other")], False),  # its volume is gone, and no driver has it
        ([claim("other", bound="rv")], False),  # its claim is gone
    ],
)
def test_what_is_attached_already_is_not_looked_at_where_claims_and_volumes_are_not_listed(
    listed: list[Json], unknown: bool
) -> None:
    cluster = [A, storage_class(), csi_node("a", 2), a_pod("run", "r", nodeName="a"), *listed]
    found = judged([claim("x"), a_pod("p", "x")], cluster)
    assert found.answer.fit == "Fits"
    assert any("attached to nodes already" in each for each in found.left_out) is unknown
    assert judged([a_pod("p")], cluster).left_out == ()


@pytest.mark.parametrize("there", [[claim("x")], [claim("x", bound="v"), volume("v", csi={"driver": "disk.csi"})]])
def test_a_volume_that_a_pod_mounts_twice_is_attached_once(there: list[Json]) -> None:
    assert said([*there, a_pod("p", "x", "x")], A, storage_class(), csi_node("a", 1)) == "Fits"


@pytest.mark.parametrize(("limit", "answer"), [(1, "No"), (2, "Fits")])
def test_a_volume_counts_for_its_driver_whether_it_is_made_or_waits(limit: int, answer: str) -> None:
    waiting = volume("v", term(HOST, "a"), csi={"driver": "disk.csi"})
    made = [claim("x"), claim("y"), a_pod("p", "x"), a_pod("q", "y")]
    assert said(made, A, storage_class(), csi_node("a", limit), waiting).partition(" ")[0] == answer
    chosen = [claim(name, annotations={SELECTED: "a"}) for name in "xy"]
    assert said(made[2:], A, B, storage_class(), csi_node("a", limit), *chosen).partition(" ")[0] == answer


@pytest.mark.parametrize(("limit", "answer"), [(0, "TightFit VolumeNotMadeYet"), (None, "Fits")])
def test_a_volume_that_waits_counts_for_its_own_driver_once_it_is_given(limit: int | None, answer: str) -> None:
    """Until then kube-scheduler counts it for the class, which makes none."""
    waiting = volume("v", term(HOST, "a"), cls="local", csi={"driver": "disk.csi"})
    assert said([claim("x", cls="local"), a_pod("p", "x")], A, LOCAL, csi_node("a", limit), waiting) == answer


@pytest.mark.parametrize(
    ("source", "provisioner", "driver"),
    [
        ({"awsElasticBlockStore": {"volumeID": "aws://a/vol-1"}}, "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ({"gcePersistentDisk": {"pdName": "d"}}, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ({"csi": {"driver": "disk.csi"}}, "disk.csi", "disk.csi"),
    ],
)
@pytest.mark.parametrize(("limit", "answer"), [(1, "No"), (2, "Fits")])
def test_disks_of_the_time_before_drivers_count_for_the_driver_that_serves_them_now(
    source: Json, provisioner: str, driver: str, limit: int, answer: str
) -> None:
    there = [claim("r", bound="rv"), volume("rv", **source), a_pod("run", "r", nodeName="a")]
    cluster = [A, storage_class(provisioner=provisioner), csi_node("a", limit, driver=driver), *there]
    assert said([claim("x"), a_pod("p", "x")], *cluster).partition(" ")[0] == answer
    assert said([a_pod("p", "x")], *cluster, claim("x", bound="v"), volume("v", **source)).partition(" ")[0] == answer


@pytest.mark.parametrize(("limit", "answer"), [(1, "TightFit"), (None, "Fits")])
def test_a_shared_volume_of_a_limited_driver_is_not_promised(limit: int | None, answer: str) -> None:
    """On each node it is attached once for all pods, which nobody here counts."""
    there = [
        claim("r", bound="rv"),
        volume("rv", csi={"driver": "disk.csi"}),
        claim("x", bound="xv", mode="ReadWriteMany"),
    ]
    there += [volume("xv", csi={"driver": "disk.csi"}), a_pod("run", "r", nodeName="a")]
    made = [a_pod("p", "x"), a_pod("q", "x")]
    assert said(made, A, storage_class(), csi_node("a", limit), *there).partition(" ")[0] == answer
    new = [claim("n", mode="ReadWriteMany"), a_pod("p", "n"), a_pod("q", "n")]
    assert said(new, A, storage_class(), csi_node("a", limit)).partition(" ")[0] == answer


def test_pods_with_a_shared_volume_of_a_limited_driver_are_not_said_to_have_places() -> None:
    """The small one may take the room of the large one; but whether the volume can be attached beside its own is not known either."""
    there = [claim("x", bound="xv", mode="ReadWriteMany"), volume("xv", csi={"driver": "disk.csi"}), csi_node("a", 1)]
    made = [claim("y"), a_pod("p", "x", "y", cpu="2"), a_pod("q", "x", cpu="7")]
    found = judged(made, [A, machine("a2", cpu="4"), storage_class(), *there]).answer
    assert (found.fit, found.why.code) == ("TightFit", "VolumeNotMadeYet")
    assert "can be placed" not in found.why.message


def test_the_head_of_a_ray_cluster_has_the_volume_of_its_gcs() -> None:
    head = {"rayStartParams": {}, "template": {"spec": pod_spec()}}
    spec = {"headGroupSpec": head, "gcsFaultToleranceOptions": {"backend": "rocksdb", "storage": {"claimName": "x"}}}
    ray = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r", "namespace": "ray"}, "spec": spec}
    assert where([ray], A, B, claim("x", bound="v"), volume("v", term(ZONE, "b")), storage_class()) == {"b"}


# -- laws -------------------------------------------------------------------------------------------------------------

ZONES = ("a", "b", "c")
RANKS = {"No": 0, "TightFit": 1, "Fits": 2}


@st.composite
def gangs(draw: st.DrawFn) -> tuple[list[Json], list[list[str] | None]]:
    """Nodes in zones, and for each pod of a gang the zones of its volume; None has no volume."""
    nodes = [
        machine(f"n{i}", draw(st.sampled_from(ZONES)), str(draw(st.integers(1, 4))))
        for i in range(draw(st.integers(1, 4)))
    ]
    zones = st.none() | st.lists(st.sampled_from(ZONES), min_size=1, unique=True)
    return nodes, draw(st.lists(zones, min_size=1, max_size=4))


def of_zones(nodes: list[Json], wanted: list[list[str] | None], cpu: int = 1) -> str:
    objects = [storage_class()]
    pods = []
    for i, zones in enumerate(wanted):
        pods.append(a_pod(f"p{i}", *([] if zones is None else [f"x{i}"]), cpu=str(cpu)))
        if zones is not None:
            objects += [claim(f"x{i}", bound=f"v{i}"), volume(f"v{i}", term(ZONE, *zones))]
    return judged(pods, [*nodes, *objects]).answer.fit.value


@given(case=gangs(), more=st.sampled_from(ZONES), at=st.integers(0, 3))
def test_a_volume_in_a_zone_never_makes_more_of_a_gang_fit(
    case: tuple[list[Json], list[list[str] | None]], more: str, at: int
) -> None:
    nodes, wanted = case
    at %= len(wanted)
    bound = [[more] if i == at and (zones is None or more in zones) else zones for i, zones in enumerate(wanted)]
    before, after = of_zones(nodes, wanted), of_zones(nodes, bound)
    assert (after != "No") <= (before != "No")


@given(case=gangs(), cpu=st.integers(1, 3))
def test_a_gang_with_volumes_fits_exactly_where_some_assignment_respects_their_zones(
    case: tuple[list[Json], list[list[str] | None]], cpu: int
) -> None:
    nodes, wanted = case
    found = of_zones(nodes, wanted, cpu)
    assert (found != "No") == _assignable(nodes, wanted, cpu)


def _assignable(nodes: list[Json], wanted: list[list[str] | None], cpu: int) -> bool:
    """By trying every node for every pod."""
    places = [
        node["metadata"]["labels"][ZONE]
        for node in nodes
        for _ in range(int(node["status"]["allocatable"]["cpu"]) // cpu)
    ][:12]
    if len(places) < len(wanted):
        return False
    return any(
        all(zones is None or place in zones for zones, place in zip(wanted, chosen, strict=True))
        for chosen in set(permutations(places, len(wanted)))
    )


@given(
    waiting=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([10, 20])), max_size=4),
    sizes=st.lists(st.sampled_from([10, 20]), min_size=1, max_size=3),
)
def test_waiting_volumes_are_enough_exactly_where_each_claim_can_have_its_own(
    waiting: list[tuple[str, int]], sizes: list[int]
) -> None:
    objects = [
        volume(f"v{i}", term(HOST, node), cls="local", storage=f"{size}Gi") for i, (node, size) in enumerate(waiting)
    ]
    made = [claim(f"x{i}", cls="local", storage=f"{size}Gi") for i, size in enumerate(sizes)]
    pods = [a_pod(f"p{i}", f"x{i}") for i in range(len(sizes))]
    found = judged([*made, *pods], [A, B, LOCAL, volume("other", cls="other"), *objects]).answer.fit.value
    matched = any(
        all(size <= have for size, (_, have) in zip(sizes, chosen, strict=True))
        for chosen in permutations(waiting, len(sizes))
    )
    assert (found != "No") == matched
