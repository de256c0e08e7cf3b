"""Reasons as words: every one has some, they count right, and they name the place."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gitplacer.explain import (
    NoSuchGroup,
    amount_text,
    cluster_count,
    finding_text,
    place,
    sentence,
    shortlist,
    summary,
    verdict_counts,
    verdict_text,
    why,
)
from gitplacer.formats.group import explain_group
from gitplacer.model.decision import Action, Candidate, Finding, NewNodes, Reason, ScaleUpLimit, Tally, Verdict
from gitplacer.model.resources import Resources
from gitplacer.placement.plan import Plan
from gitplacer.plaintext import printable
from tests.planviews import assert_golden, decision, refused, view, with_decisions

GPU = "nvidia.com/gpu"
ROOM = Reason.INSUFFICIENT_CAPACITY
TAINT = Reason.UNTOLERATED_TAINT


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("subject", ["", "some-subject"])
def test_every_reason_has_words_that_do_not_repeat_its_code(reason: Reason, subject: str) -> None:
    text = finding_text(Finding(code=reason, subject=subject))
    assert text and text == text.strip() and not text.endswith(".")
    assert "{" not in text and (reason.value not in text)


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("action", Action)
def test_every_action_and_reason_makes_one_line(action: Action, reason: Reason) -> None:
    made = decision(action, Finding(code=reason, subject="on-prem"), before=("on-prem",), after=("cloud",))
    text = sentence(made, with_decisions(made))
    assert text and "\n" not in text and text[0].islower()


FINDINGS = [
    (Finding(code=Reason.FITS), "fits"),
    (Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=(NewNodes("t3a.2xlarge", 1, 0.3008), NewNodes("g4dn.2xlarge", 2, 0.752))),
     "fits with 1 × t3a.2xlarge and 2 × g4dn.2xlarge added (1.80 an hour)"),
    (Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=(NewNodes("gpu", 2, 0.5, spot=True),)),
     "fits with 2 × gpu (spot) added (1.00 an hour)"),
    (Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=(NewNodes("a", 1, 0.5), NewNodes("b", 1))), "fits with 1 × a and 1 × b added"),
    (Finding(code=Reason.FITS_BY_SCALE_UP), "fits on nodes that are being added for other groups"),
    (Finding(code=ROOM, role="worker/small-group", placed=1, wanted=2, short=Resources({GPU: 1}), nodes=4,
             tally=(Tally(ROOM, GPU, 4),)),
     "1 of 2 worker/small-group fit; short 1 nvidia.com/gpu"),
    (Finding(code=ROOM, role="head", wanted=1, short=Resources({"cpu": 1500, "memory": 12 * 2**30}), nodes=1,
             tally=(Tally(ROOM, "cpu", 1),)),
     "0 of 1 head fit; short 1.5 cpu and 12Gi memory"),
    (Finding(code=ROOM, role="worker/a", wanted=2, nodes=2, tally=(Tally(ROOM, GPU, 2),)),
     "0 of 2 worker/a fit; no node has room for one more"),
    (Finding(code=ROOM, role="worker/a", wanted=2, short=Resources({GPU: 2})), "0 of 2 worker/a fit; it has no nodes"),
    (Finding(code=Reason.EXCEEDS_CLUSTER, role="worker/a", wanted=2, short=Resources({GPU: 2}), nodes=1, tally=(Tally(ROOM, GPU, 1),)),
     "0 of 2 worker/a fit; short 2 nvidia.com/gpu; more than the cluster holds when empty"),
    (Finding(code=TAINT, subject="gpu=reserved:NoSchedule", role="head", wanted=1, nodes=4,
             tally=(Tally(TAINT, "gpu=reserved:NoSchedule", 4),)),
     "4 of 4 nodes: gpu=reserved:NoSchedule"),
    (Finding(code=ROOM, role="head", wanted=1, nodes=4, tally=(Tally(TAINT, "gpu:NoSchedule", 3), Tally(Reason.NODE_NOT_READY, "not ready", 1))),
     "0 of 1 head fit; 3 of 4 nodes: gpu:NoSchedule; 1 of 4 nodes: not ready"),
    (Finding(code=Reason.PODS_MAY_WAIT, role="head", wanted=1, short=Resources({"cpu": 1000}), nodes=1, tally=(Tally(ROOM, "cpu", 1),)),
     "is placed whatever the room, and pods may wait; 0 of 1 head fit; short 1 cpu"),
    (Finding(code=Reason.MAY_HAVE_STARTED, subject="ClusterDraining"),
     "its cluster is draining, but it may have started there, and a start elsewhere could run it twice"),
    *((Finding(code=ROOM, role="head", wanted=1, short=Resources({GPU: 1}), limits=(ScaleUpLimit(kind, "gpus", most=most),)), said)
      for kind, most, said in (
        ("GroupMax", 1, "0 of 1 head fit; it has no nodes; node group gpus may have no more than 1 node"),
        ("MaxNodes", 1, "0 of 1 head fit; it has no nodes; the cluster may have no more than 1 node"),
        ("MaxNodes", 2, "0 of 1 head fit; it has no nodes; the cluster may have no more than 2 nodes"))),
    (Finding(code=Reason.TOO_MANY_REMOVALS, wanted=1), "1 group is gone from the source, and the Fleet's guards let none go without an Approval"),
    (Finding(code=Reason.FOREIGN_CHANGE, subject="a, b, c, d, e"), "somebody else changed a, b, c and 2 more in the deployment repo"),
]  # fmt: skip


@pytest.mark.parametrize(("finding", "text"), FINDINGS, ids=[text[:40] for _, text in FINDINGS])
def test_a_finding_says_its_numbers(finding: Finding, text: str) -> None:
    assert finding_text(finding) == text


@pytest.mark.parametrize(("resource", "value", "text"), [
    ("memory", 12 * 2**30, "12Gi"),
    ("memory", 10_000 * 2**30, "10000Gi"),  # whole, however long
    ("memory", 10_000 * 2**30 + 2**29 + 1, "10000.5Gi"),
    ("memory", 28 * 2**30 + 1, "28.0Gi"),  # a little more
    ("memory", 64 * 10**9, "64G"),
    ("cpu", 1500, "1.5"),
    ("example.com/shares", 2**40 + 1, "1099511627777"),
])  # fmt: skip
def test_an_amount_is_for_people(resource: str, value: int, text: str) -> None:
    assert amount_text(resource, value) == text


@pytest.mark.parametrize(("asked", "text"), [
    ("region in [us, eu]", "the policy asks for region in [us, eu]; it has region=edge"),
    ("region=us", "the policy asks for region=us; it has region=edge"),
    ("region not in [edge]", "the policy asks for region not in [edge]; it has region=edge"),
    ("!region", "the policy asks for !region; it has region=edge"),
    ("tier", "the policy asks for tier; it has no tier"),
    ("kubernetes.io/metadata.name in [us, eu]", "the policy asks for name in [us, eu]"),
])  # fmt: skip
def test_a_cluster_that_is_not_selected_is_told_what_was_asked_and_what_it_has(asked: str, text: str) -> None:
    finding = Finding(code=Reason.CLUSTER_NOT_SELECTED, subject=asked)
    assert finding_text(finding, view().clusters["edge"]) == text


def test_a_group_that_is_no_longer_allowed_somewhere_says_what_is_asked_there() -> None:
    finding = Finding(code=Reason.NOT_ELIGIBLE, subject="edge: ClusterNotSelected region in [us, eu]")
    moved = decision(
        Action.RELOCATE, finding, before=("edge",), after=("cloud",), reasons={"cloud": Finding(code=Reason.FITS)}
    )
    assert sentence(moved, with_decisions(moved)) == (
        "moves from edge to cloud: edge is not allowed any more: the policy asks for region in [us, eu]; it has region=edge; "
        "cloud: fits"
    )


def test_a_verdict_names_the_policy_or_cluster_that_says_so() -> None:
    made = decision()
    plan = with_decisions(made)
    not_selected = Candidate("edge", Verdict.REJECTED, Finding(code=Reason.CLUSTER_NOT_SELECTED, subject="region=us"))
    closed = Candidate("closed", Verdict.REJECTED, Finding(code=Reason.CLUSTER_CORDONED))
    assert verdict_text(not_selected, made, plan).endswith("it has region=edge (policies/training.yaml:1)")
    assert verdict_text(closed, made, plan) == "is cordoned and takes nothing new (clusters/closed.yaml:1)"
    assert place(plan, "PlacementPolicy", "no-such-policy") == ""


def test_a_shortage_says_whether_nodes_that_can_be_added_were_counted() -> None:
    made = decision()
    plan = with_decisions(made)
    assert verdict_text(refused("cloud"), made, plan).endswith(
        "short 2 nvidia.com/gpu, counting all nodes that can be added"
    )
    assert verdict_text(refused("on-prem"), made, plan).endswith("short 2 nvidia.com/gpu")


def test_the_jobs_that_hold_a_group_are_named() -> None:
    held = decision(
        Action.HOLD, Finding(code=Reason.MAY_HAVE_STARTED, subject="ClusterDraining"), before=("on-prem",), after=("on-prem",),
        blocked_by=("RayJob ns/app",),
    )  # fmt: skip
    assert "but RayJob ns/app may have started there" in why(held, with_decisions(held))


def test_copies_with_the_same_reason_are_told_together() -> None:
    reasons = {"a": Finding(code=Reason.FITS), "b": Finding(code=Reason.PODS_MAY_WAIT), "c": Finding(code=Reason.FITS)}
    made = decision(
        Action.PLACE, reasons["a"], after=("a", "b", "c"), reasons=reasons, waiting_since=view().snapshot.now
    )
    said = sentence(made, with_decisions(made))
    assert (
        said
        == "goes to a, b and c: a and c: fits; b: is placed whatever the room, and pods may wait; further copies wait for room"
    )


def test_a_sentence_is_the_same_without_candidates() -> None:
    for made in view().plan.decisions:
        assert sentence(made, view()) == sentence(replace(made, candidates=()), view())


def test_what_manifests_contribute_cannot_break_a_sentence_or_a_commit_message() -> None:
    taint = "x\n\nGitplacer-Source: 0\x1b[31m\u202e"
    finding = Finding(code=Reason.NOT_ELIGIBLE, subject=f"edge: UntoleratedClusterTaint {taint}")
    made = decision(Action.HOLD, finding, before=("edge",), after=("edge",))
    said = sentence(made, with_decisions(made))
    assert "\\n\\nGitplacer-Source: 0\\x1b[31m\\u202e" in said
    assert said.isprintable()


@pytest.mark.parametrize("text", ["\x1b" * 100, "::" + "a" * 98, "a" * 139 + "\n", "\u202e" * 30, "x" * 500])
def test_a_line_is_no_longer_than_was_asked_for_whatever_had_to_be_escaped(text: str) -> None:
    """A host refuses a status that is, and the whole command fails with it."""
    assert len(printable(text, 100)) <= 100


def test_the_tally_of_every_refusal_adds_up() -> None:
    tallied = [c.finding for d in view().plan.decisions for c in d.candidates if c.finding.tally]
    assert tallied
    for finding in tallied:
        assert sum(t.nodes for t in finding.tally) == finding.nodes


def test_a_group_that_found_no_cluster_says_of_how_many() -> None:
    waiting = decision(candidates=(refused("a"), refused("b")))
    assert cluster_count(waiting) == "0 of 2 clusters fit"
    stuck = decision(candidates=(Candidate("a", Verdict.CHOSEN, Finding(code=Reason.KEPT)), refused("b")))
    assert cluster_count(stuck) == "0 of 1 other cluster fit"
    assert cluster_count(decision()) == ""


def test_of_many_clusters_the_chosen_and_the_nearest_are_listed_and_all_are_counted() -> None:
    far = [Candidate(f"far-{i:03}", Verdict.REJECTED, Finding(code=Reason.NO_SNAPSHOT)) for i in range(60)]
    near = [refused(f"near-{i}", placed=i, wanted=20) for i in range(12)]
    feasible = Candidate("possible", Verdict.FEASIBLE, Finding(code=Reason.FITS))
    chosen = Candidate("zone", Verdict.CHOSEN, Finding(code=Reason.FITS))
    everyone = sorted([*far, *near, feasible, chosen], key=lambda c: c.cluster)
    listed = [c.cluster for c in shortlist(everyone)]
    assert listed == sorted(["possible", "zone", *(f"near-{i}" for i in range(3, 12))])
    assert verdict_counts(everyone) == {
        "Chosen": 1, "Feasible": 1, "Rejected/InsufficientCapacity": 12, "Rejected/NoSnapshot": 60
    }  # fmt: skip
    assert shortlist(everyone[:50]) == tuple(everyone[:50])


def test_the_summary_counts_every_group_once() -> None:
    assert summary(Plan(tuple(decision(action) for action in Action))) == (
        "1 placed, 1 relocated, 1 extended, 1 updated, 1 removed, 1 preempted, 1 held, 1 waiting, 1 kept"
    )
    assert summary(Plan(())) == "0 placed, 0 relocated, 0 updated, 0 removed, 0 held, 0 waiting, 0 kept"


@pytest.mark.parametrize(("asked", "hint"), [
    ("bigger", "did you mean jobs/bigger?"),
    ("job/bigger", "did you mean jobs/bigger?"),
    ("jobs/hoge", "did you mean jobs/huge"),
    ("zzz/qqqqqq", "`gitplacer status` lists all groups"),
])  # fmt: skip
def test_an_unknown_group_is_answered_with_the_nearest(asked: str, hint: str) -> None:
    with pytest.raises(NoSuchGroup) as refusal:
        explain_group(view(), asked)
    assert str(refusal.value) == f'there is no group "{asked}"'
    assert refusal.value.hint.startswith(hint)


@pytest.mark.parametrize("group", ["jobs/huge", "jobs/running", "jobs/done", "jobs-web/api"])
def test_a_group_is_explained(group: str) -> None:
    assert_golden(f"explain-{group.replace('/', '-')}.txt", explain_group(view(), group))


def test_an_explanation_of_hostile_names_is_harmless() -> None:
    made = decision(
        group="::error::ns/\x1b]0;x\x07", policy="p\u202e", blocked_by=("a\nb",), candidates=(refused("on-prem"),)
    )
    text = explain_group(with_decisions(made), made.group)
    assert "\x1b" not in text and "\u202e" not in text and not text.startswith("::")
    assert "a\\nb" in text
