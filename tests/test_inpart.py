"""
A plan in part says what the plan of the whole says.

The law is held over random fleets at rest and random edits: wherever a part tells, its decisions, files, problems and the comment on a pull
request are those of the whole. A table has what a part does not tell, and it is counted that nobody beside it is looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gitplacer.comparison import Baseline
from gitplacer.explain import PlanView
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart import Footing, InPart, footing_of, planned_in_part, step_of
from gitplacer.inpart import settled as settled_in_part
from gitplacer.inpart.part import _folders
from gitplacer.kinds.record import RECORDS
from gitplacer.model.decision import Action, Reason
from gitplacer.model.signers import Flaw, Uncounted
from gitplacer.model.verdicts import NONE, OF_WAITING, OUTGROWN
from gitplacer.passes.baselines import BasePlan
from gitplacer.passes.looking import Against, Looked, base_of, hydrated_against, looked_at
from gitplacer.passes.reconcile import reconcile_unless_quiet
from gitplacer.placement import plan as plan_module
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.reopened import Around
from gitplacer.review import Base
from gitplacer.source.edited import Change
from gitplacer.source.files import InMemory, Memo, ReadFile
from gitplacer.source.shares import Share
from gitplacer.tree import differing_paths
from gitplacer.treeids import tree_id
from tests import planviews
from tests.fleetrepos import made, silently
from tests.stories import ANYWHERE, FLEET, Story, cluster, decisions, deployment, policy, rayjob, rayservice, snapshot
from tests.test_order import aged
from tests.test_relocation import applied_by

COMMIT = "b" * 40

PLATFORM = {
    "platform/classes.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
}


def tenant(name: str, spec: str) -> dict[str, str]:
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {{name: {name}}}\n"
        f'spec: {{paths: ["workloads/{name}/**"], namespaces: [{name}], {spec}}}\n'
    )
    return {f"tenants/{name}.yaml": text}


class AtRest:
    """A fleet in which nothing happens, as its base would be remembered, and what becomes of an edit of it."""

    def __init__(self, story: Story, made: Hydration, base: Baseline, footing: Footing | None) -> None:
        self.story, self.made, self.base, self.footing = story, made, base, footing
        self.before = story.inputs()

    @staticmethod
    def of(story: Story) -> AtRest:
        inputs = story.inputs()
        made = hydrate(inputs, memo=story.memory, with_candidates=OUTGROWN)
        assert not made.steps
        return AtRest(story, made, Baseline.of(made.view), footing_of(inputs, made.view))

    def edited(self, edits: dict[str, str]) -> tuple[InPart | None, Hydration]:
        """What a part tells of an edit, and the whole."""
        inputs = replace(self.story, source={**self.story.source, **edits}).inputs()
        memo, ledgers = self.story.memory, LedgerCache()
        whole = hydrate(inputs, memo=memo, with_candidates=OF_WAITING)
        if self.footing is None:
            return None, whole
        change = Change.between(self.before.source, inputs.source)
        return planned_in_part(inputs, change, self.base, self.footing, memo=memo, ledgers=ledgers), whole


def settled(story: Story) -> AtRest | None:
    """A fleet after as many passes as it takes; None if it takes many."""
    for _ in range(6):
        if not story.run(with_candidates=NONE).steps:
            return AtRest.of(story)
    return None


def comment(view: PlanView, base: Baseline, *, redact: bool = False) -> str:
    return planviews.as_people_read_it(view, Base(name="main", commit=COMMIT, plan=base), redact=redact)


def holds(rest: AtRest, part: InPart, whole: Hydration) -> bool:
    """The law. Whether also why groups wait is told in the same words: a part tells why they did before."""
    ours = part.hydration
    assert {d.group: (d.action, d.before, d.files_after) for d in ours.view.plan.decisions} == {
        d.group: (d.action, d.before, d.files_after) for d in whole.view.plan.decisions
    }
    told, otherwise = (
        {d.group: structs.replace(d, candidates=()) for d in made.view.plan.decisions} for made in (ours, whole)
    )
    differ = {group for group, decision in told.items() if decision != otherwise[group]}
    assert not any(told[group].after or otherwise[group].after for group in differ)
    theirs = {f"{RECORDS}/{group}.yaml" for group in differ}
    assert set(differing_paths(ours.tree, whole.tree)) <= theirs
    assert ours.problems == whole.problems
    for redact in (False, True) if not differ else ():
        assert comment(ours.view, part.base, redact=redact) == comment(whole.view, rest.base, redact=redact)
    return not differ


def carried_out(rest: AtRest, edits: dict[str, str], *, in_words: bool) -> AtRest | None:
    """
    The law of what is published: it is what a whole pass would publish, and the rest that is known behind it is what one finds there. None where
    nothing is published.
    """
    inputs, ledgers = replace(rest.story, source={**rest.story.source, **edits}).inputs(), LedgerCache()
    change, memo = Change.between(rest.before.source, inputs.source), rest.story.memory
    assert rest.footing is not None
    part = planned_in_part(
        inputs, change, rest.base, rest.footing, memo=memo, ledgers=ledgers, with_candidates=False, shown=False
    )
    assert part is not None
    step = step_of(part, rest.base)
    if step is None:
        return None
    (theirs,) = hydrate(inputs, memo=memo, with_candidates=False).steps
    assert (step.changes, step.message) == (theirs.changes, theirs.message) or not in_words
    story = replace(
        rest.story, source={**rest.story.source, **edits}, deployment=part.hydration.tree, passes=rest.story.passes + 1
    )
    before = story.inputs()
    tip = str(before.deployment_commit)
    then = settled_in_part(part, tip, rest.base, rest.footing, now=before.now, memo=memo, ledgers=LedgerCache())
    made = hydrate(before, memo=memo, with_candidates=OUTGROWN)
    assert then is not None and not made.steps
    found = Baseline.of(made.view)
    waiting = {d.group for d in then.base.decisions if not d.after}
    for ours, whole_one in zip(then.base.decisions, found.decisions, strict=True):
        assert ours == whole_one or (ours.group in waiting and ours.action is whole_one.action)
    bare = structs.replace(then.base, decisions=found.decisions, tree=found.tree)
    assert bare == found
    footing = footing_of(before, made.view)
    assert footing is not None and footing.waiting.keys() == then.footing.waiting.keys()
    assert then.footing == structs.replace(footing, waiting=then.footing.waiting)
    return AtRest(story, made, structs.replace(then.base, tree=found.tree), then.footing)


# the law

RULES = [
    "select: {}",
    "select: {}\nupdate: {ifNotFit: Hold}",
    "select: {}\nupdate: {ifNotFit: Proceed}",
    "select: {}\nplacement: {admission: Immediate}",
    "select: {}\nplacement: {copies: 2}",
    "select: {}\nplacement: {accept: TightFit}",
    "select: {}\nrelocation: {when: {NotEligible: Never}}",
    "select: {}\nplacement: {copies: All}",
    "select: {}\npreempts: LowerPriority\npriority: 5",
]


def drawn(lot: Random) -> Story:
    story = Story.of(policy("p0", lot.choice(RULES)), PLATFORM if lot.random() < 0.4 else {})
    if lot.random() < 0.4:
        story.source |= policy("p1", lot.choice(RULES[1:]).replace("{}", "{namespaces: [ns-1]}", 1) + "\nprecedence: 7")
    for number in range(lot.randint(1, 5)):
        name = f"c{number}"
        story.source |= cluster(name)
        nodes = [f"n{i} {lot.choice([8, 16, 40])} 64Gi {lot.choice([0, 1, 2, 4])}" for i in range(lot.randint(1, 3))]
        story.capacity |= snapshot(name, *nodes)
    if lot.random() < 0.5:
        quota = f'quota: {{nvidia.com/gpu: "{lot.randint(1, 8)}"}}' if lot.random() < 0.7 else "priority: {max: 100}"
        story.source |= tenant("ns-0", quota) | tenant(
            "ns-1", f'clusterQuota: {{nvidia.com/gpu: "{lot.randint(1, 6)}"}}'
        )
        story.source |= tenant("ns-2", "pods: Privileged")
    for number in range(lot.randint(1, 9)):
        make = lot.choice([rayjob, rayservice])
        story.source |= make(
            f"ns-{lot.randrange(3)}", f"app-{number}", cpu=lot.choice(["1", "3", "7"]), workers=lot.randint(0, 3)
        )
    return story


def running(rest: AtRest, lot: Random) -> Story:
    """The same fleet when its clusters tell of what they run: some of the groups that are there, with some of their pods, on any nodes."""
    story = replace(rest.story, capacity=dict(rest.story.capacity))
    for path, text in rest.story.capacity.items():
        told = yaml.safe_load(text)
        name, nodes = told["metadata"]["name"], len(told["nodes"])
        there = [d.group for d in rest.base.decisions if name in d.after and lot.random() < 0.7]
        told |= {
            "groups": [seen(group, nodes, lot) for group in there],
            "observedAt": f"{story.now:%Y-%m-%dT%H:%M:%SZ}",
        }
        if lot.random() < 0.9:
            told["applied"] = {"workloads": applied_by(story, name)}
        story.capacity[path] = yaml.safe_dump(told)
    return story


def seen(group: str, nodes: int, lot: Random) -> dict[str, object]:
    roles = [role for role in ("head", "worker/gpu", "submitter") for _ in range(lot.randint(0, 2))]
    since = {"pendingSince": "2026-01-02T03:00:00Z"}
    pods = [{"role": role, **({"node": f"n{lot.randrange(nodes)}"} if lot.random() < 0.8 else since)} for role in roles]
    phase = lot.choice(["Running", "Running", "Pending", "Succeeded"])
    return {"name": group, "phase": phase, "ready": lot.random() < 0.7, "pods": pods}


def one_more(text: str, lot: Random) -> str:
    more = lot.randint(1, 3)
    return re.sub(r"([rR]eplicas): (\d+)", lambda found: f"{found[1]}: {int(found[2]) + more}", text)


EDITS: list[Callable[[str, Random], str]] = [
    one_more,
    lambda text, lot: text.replace("image: ray", f"image: ray:{lot.randint(2, 9)}"),
    lambda text, lot: text.replace("python train.py", "python train.py --fast"),
    lambda text, lot: re.sub(r"replicas: (\d+)", lambda found: f"replicas: {max(0, int(found[1]) - 1)}", text),
    lambda text, lot: text.replace('cpu: "3"', 'cpu: "4"'),
    lambda text, lot: f"{text}# looked at\n",
    lambda text, lot: text.replace("image: ray", "image: [ray"),
    lambda text, lot: re.sub(r"replicas: \d+", "replicas: -1", text),
]


def fleets_at_rest(seeds: int) -> Iterator[tuple[int, Random, AtRest]]:
    """Those that come to rest, with what chance has in store for them; of odd seeds such whose snapshots show what runs."""
    for seed in range(seeds):
        lot = Random(seed)
        rest = settled(drawn(lot))
        if rest is not None and seed % 2:
            rest = settled(running(rest, lot))
        if rest is not None:
            yield seed, lot, rest


def test_of_a_change_that_is_not_read_a_small_part_tells_what_the_whole_does() -> None:
    counts: Counter[str] = Counter()
    for _, _, rest in fleets_at_rest(30):
        for edits in ({}, {".github/workflows/check.yml": "on: push\n"}, {"workloads/web/README.md": "ours\n"}):
            part, whole = rest.edited(edits)
            counts["at rest"] += 1
            if part is not None:
                holds(rest, part, whole)
                assert len(part.part.clusters) == 1 and not part.part.groups
                counts["in part"] += 1
                counts["waiting beside"] += any(not d.after for d in whole.view.plan.decisions)
    assert counts["in part"] >= 40, counts
    assert counts["waiting beside"] >= 15, counts


def test_a_part_tells_what_the_whole_does() -> None:
    counts: Counter[str] = Counter()
    for seed, lot, rest in fleets_at_rest(64):
        counts["running"] += seed % 2
        counts["at rest"] += 1
        paths = [path for path in rest.story.source if path.startswith("workloads/")]
        for _ in range(3):
            edit = lot.choice(EDITS[:2] * 3 + EDITS)
            some = lot.sample(paths, min(len(paths), lot.randint(1, 2)))
            edits = {path: edit(rest.story.source[path], lot) for path in some}
            part, whole = rest.edited(edits)
            if part is None:
                counts["whole"] += 1
                continue
            in_words = holds(rest, part, whole)
            counts["in the same words"] += in_words
            counts["beside others"] += any(part.part.bystanders.values())
            counts["in part"] += 1
            told = {d.finding.code for d in whole.view.plan.decisions}
            counts.update(f"told {code}" for code in told)
            counts["waiting beside"] += any(not d.after for d in whole.view.plan.decisions)
            then = carried_out(rest, edits, in_words=in_words)
            counts["published"] += then is not None
            counts["published beside"] += then is not None and any(d.action is Action.WAIT for d in then.base.decisions)
            rest = then or rest
    assert counts["in part"] >= 60, counts
    assert counts["published"] >= 50, counts
    assert counts["running"] >= 25, counts
    assert counts["waiting beside"] >= 20, counts
    assert counts["published beside"] >= 15, counts
    assert counts["beside others"] >= 25, counts


def bounded(story: Story, lot: Random) -> Story:
    """The same fleet with quotas of namespaces, in clusters and in the source, and LimitRanges there."""
    kinds = ["pods: 4", "pods: 9", "requests.cpu: 8", "requests.cpu: 30", "requests.nvidia.com/gpu: 2"]
    for path in story.capacity:
        quotas = ", ".join(
            f"{{namespace: ns-{space}, name: q{lot.randrange(2)}, hard: {{{lot.choice(kinds)}}}}}"
            for space in range(3)
            if lot.random() < 0.6
        )
        story.capacity[path] += f"resourceQuotas: [{quotas}]\n"
    for kind, name, spec in (
        ("ResourceQuota", "q0", f"hard: {{{lot.choice(kinds)}}}"),
        ("LimitRange", "l", f"limits: [{{type: Container, max: {{cpu: {lot.choice([2, 4, 8])}}}}}]"),
    ):
        if lot.random() < 0.4:
            head = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: ns-{lot.randrange(3)}}}\n"
            story.source[f"platform/rules/{name}.yaml"] = f"{head}spec: {{{spec}}}\n"
    return story


def test_a_part_tells_what_the_whole_does_where_namespaces_are_bounded() -> None:
    counts: Counter[str] = Counter()
    for seed in range(40):
        lot = Random(seed)
        rest = settled(bounded(drawn(lot), lot))
        if rest is not None and seed % 2:
            rest = settled(running(rest, lot))
        paths = [path for path in rest.story.source if path.startswith("workloads/")] if rest is not None else []
        for path in lot.sample(paths, min(len(paths), 2)):
            assert rest is not None
            part, whole = rest.edited({path: lot.choice(EDITS[:2])(rest.story.source[path], lot)})
            counts["in part" if part is not None else "whole"] += 1
            if part is not None:
                holds(rest, part, whole)
                counts["beside others"] += any(part.part.bystanders.values())
                told = {c.finding.code for d in whole.view.plan.decisions for c in d.candidates}
                counts.update(told & {Reason.QUOTA_EXCEEDED, Reason.LIMIT_RANGE})
    assert counts["in part"] >= 20 and counts["beside others"] >= 8, counts
    assert counts[Reason.QUOTA_EXCEEDED] >= 5 and counts[Reason.LIMIT_RANGE], counts


def test_where_nothing_happens_clusters_are_before_an_edit_as_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ledgers are opened once then, and hold what they would if they were opened for each."""
    counts: Counter[str] = Counter()
    for seed, lot, rest in fleets_at_rest(24):
        path = lot.choice([path for path in rest.story.source if path.startswith("workloads/")])
        _, whole = rest.edited({path: lot.choice(EDITS)(rest.story.source[path], lot)})
        around = partial(Around, whole.view.snapshot, whole.view.plan.decisions, whole.view.edits)
        found = around()
        counts["nothing happens" if found._nothing_happens else "something happens"] += 1
        with monkeypatch.context() as patched:
            patched.setattr(Around, "_nothing_happens", False)
            opened = around()
            for name in opened.before.names:
                one, other = found.before[name], opened.before[name]
                assert np.array_equal(one.free_on_nodes(), other.free_on_nodes()), (seed, name)
                assert (one.promised_to, one.coming.counts) == (other.promised_to, other.coming.counts)
    assert counts["nothing happens"] >= 15, counts
    assert counts["something happens"] >= 1, counts


NAMES = st.sampled_from(["a", "a-b", "a.b", "a0", "b", "é"])


@given(
    inside=st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join)),
    beside=st.sets(st.sampled_from(["clusters-old/a", "clusters.yaml", "clusters0/a", "bin/x", "é"])),
)
def test_the_folders_of_a_cluster_are_found_among_sorted_paths(inside: set[str], beside: set[str]) -> None:
    files = {path for path in inside if not any(other.startswith(f"{path}/") for other in inside)}  # as in a tree
    paths = sorted({*(f"clusters/{path}" for path in files), *beside})
    found: dict[str, list[str]] = {}
    for name, where in _folders(paths, "clusters"):
        found.setdefault(name, []).extend(paths[where])
    assert found == {
        name: [f"clusters/{path}" for path in sorted(files) if path.partition("/")[0] == name]
        for name in {path.partition("/")[0] for path in files}
    }


# what is told in part, and what is not

SHOP, TRAIN = "workloads/web/shop.yaml", "workloads/jobs/train.yaml"


def fleet(*more: dict[str, str], rules: str = "select: {}", nodes: str = "n1 16 64Gi 4") -> Story:
    """Two clusters, each with an app of its own policy, and one that waits."""
    story = Story.of(
        policy("web", f"{rules}\nclusters: {{names: [a]}}"),
        policy("jobs", "select: {namespaces: [jobs]}\nprecedence: 5\nclusters: {names: [b]}"),
        cluster("a"), cluster("b"), rayservice("web", "shop"), rayservice("web", "other"), rayjob("jobs", "train"), rayjob("jobs", "huge", workers=30),
        capacity=snapshot("a", nodes) | snapshot("b", "n1 16 64Gi 4"),
    )  # fmt: skip
    for some in more:
        story.source |= some
    return story


def at_rest(story: Story) -> AtRest:
    found = settled(story)
    assert found is not None
    return found


def told(rest: AtRest, path: str, old: str, new: str) -> bool:
    """Whether a part tells of an edit, which it then does as the whole would."""
    text = rest.story.source[path]
    assert old in text
    part, whole = rest.edited({path: text.replace(old, new)})
    if part is not None:
        assert holds(rest, part, whole)
    return part is not None


def test_an_app_elsewhere_that_is_held_is_shown_with_where_it_stands() -> None:
    story = fleet()
    story.run()
    story.source[TRAIN] = story.source[TRAIN].replace("replicas: 2", "replicas: x")
    rest = at_rest(story)
    assert [d.group for d in rest.base.decisions if d.action is Action.HOLD] == ["jobs/train"]
    assert told(rest, SHOP, "image: ray", "image: ray:2")


def test_an_app_that_is_held_for_what_no_longer_says_whom_it_is_for_stays_so_beside_an_edit() -> None:
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: front}\n"
        "spec: {selector: {ray.io/node-type: head}, ports: [{port: 80}]}\n"
    )
    story = Story.of(
        cluster("a"), ANYWHERE, rayservice("red", "well"), rayservice("blue", "shop"),
        {"workloads/red/front.yaml": service}, capacity=snapshot("a", "n1 64 256Gi 8"),
    )  # fmt: skip
    story.run()
    story.source["workloads/red/front.yaml"] = service.replace("node-type: head", "node-type: 1")
    rest = settled(story)
    assert rest is not None and rest.footing is not None
    shop = "workloads/blue/shop.yaml"
    part, whole = rest.edited({shop: story.source[shop].replace("image: ray", "image: ray:2")})
    assert part is not None and holds(rest, part, whole)
    assert decisions(whole)["red/well"].finding.code == "UnreadableSource"


def test_with_an_app_elsewhere_of_which_a_copy_waits_the_whole_is_shown() -> None:
    twice = policy("both", "select: {namespaces: [both]}\nprecedence: 9\nplacement: {copies: 2}")
    story = fleet(twice, rayservice("both", "app", workers=5), nodes="n1 16 64Gi 8")
    rest = at_rest(story)
    assert [d.group for d in rest.base.decisions if d.waits_in_part] == ["both/app"]
    assert not told(rest, TRAIN, "image: ray", "image: ray:2")


IN_PART = {
    "another image": ("image: ray", "image: ray:2"),
    "one worker more": ("replicas: 1", "replicas: 2"),
    "more of them at most": ("maxReplicas: 10", "maxReplicas: 11"),
    "no sort of edit": ("rayStartParams: {}", "rayStartParams: { }"),
}
WHOLE = {
    "one worker fewer": ("replicas: 1", "replicas: 0"),
    "fewer of them at most": ("maxReplicas: 10", "maxReplicas: 9"),
    "pods of another shape": ("memory: 4Gi", "memory: 3Gi"),
    "another label": ("labels: {}", "labels: {tier: gold}"),
    "another name": ("name: shop", "name: store"),
    "a file that cannot be read": ("spec:", "spec: ["),
}


@pytest.mark.parametrize("edit", IN_PART.values(), ids=IN_PART)
def test_an_edit_that_takes_nothing_away_is_told_in_part(edit: tuple[str, str]) -> None:
    assert told(at_rest(fleet()), SHOP, *edit)


@pytest.mark.parametrize("edit", WHOLE.values(), ids=WHOLE)
def test_what_may_concern_others_is_not(edit: tuple[str, str]) -> None:
    assert not told(at_rest(fleet()), SHOP, *edit)


NAMED = "image: ray, envFrom: [{configMapRef: {name: settings}}]"


def test_an_app_that_names_another_object_is_not() -> None:
    assert not told(at_rest(fleet()), SHOP, "image: ray", NAMED)


SEALED = """---
apiVersion: bitnami.com/v1alpha1
kind: SealedSecret
metadata: {name: token}
spec: {encryptedData: {a: b}}
"""
SECRET = "volumes: [{name: v, secret: {secretName: token}}]"


@pytest.mark.parametrize(
    ("app", "code", "in_part"),
    [
        (rayservice("web", "shop")[SHOP].replace("image: ray", NAMED), "MissingReference", True),
        (deployment("web", "shop", "requests: {cpu: 1}", spec=SECRET)[SHOP] + SEALED, "UnknownSealingKey", False),
    ],
    ids=["lacked by both", "keys that differ"],
)
def test_what_is_told_of_all_clusters_is_told_whichever_an_app_is_on(app: str, code: str, in_part: bool) -> None:
    story = Story.of(
        ANYWHERE, cluster("a", profile="{sealingKey: one}"), cluster("b", profile="{sealingKey: two}"), {SHOP: app},
        capacity=snapshot("a", "n1 64 64Gi 4") | snapshot("b", "n1 1 64Gi 4"),
    )  # fmt: skip
    rest = at_rest(story)
    assert [d.before for d in rest.base.decisions] == [("a",)]
    assert {p.code for p in rest.base.problems if p.location.file == SHOP} == {code}
    assert told(rest, SHOP, "containers:", "containers:  ") is in_part


def test_nor_one_of_which_nothing_is_placed() -> None:
    assert not told(at_rest(fleet()), "workloads/jobs/huge.yaml", "image: ray", "image: ray:2")


def test_where_room_is_kept_for_who_waits_it_is_planned_whole() -> None:
    """On the other cluster an edit is told in part, unless it is of who waits."""
    story = aged()
    story.source |= policy("own", "select: {namespaces: [own]}\nprecedence: 9\nclusters: {names: [b]}")
    story.source |= policy("batch", "select: {namespaces: [jobs]}\nprecedence: 9\nclusters: {names: [a]}")
    story.source |= cluster("b") | rayservice("own", "shop")
    story.capacity |= snapshot("b", "n1 16 64Gi 4", at=story.now)
    rest = at_rest(story)
    assert {d.group: d.claim.cluster for d in rest.base.decisions if d.claim is not None} == {"jobs/big": "a"}
    shop, (here, waits) = "workloads/own/shop.yaml", (f"workloads/jobs/{name}.yaml" for name in ("job-0", "big"))
    assert told(rest, shop, "image: ray", "image: ray:2")
    assert not told(rest, here, "image: ray", "image: ray:2")
    both = {path: rest.story.source[path].replace("image: ray", "image: ray:2") for path in (shop, waits)}
    assert carried_out(rest, {shop: both[shop]}, in_words=True) is not None
    assert rest.edited(both)[0] is None


@pytest.mark.parametrize(
    ("group", "in_part"), [("web/shop", True), ("jobs/huge", False), ("jobs/train", False), ("web/gone", False)]
)
def test_where_pods_are_seen_that_are_not_to_be_there_it_is_planned_whole(group: str, in_part: bool) -> None:
    """Of who waits, is elsewhere or is gone: whoever does not know him takes his pods for somebody's that stay."""
    story = fleet()
    assert settled(story)
    shown = f"{{name: {group}, phase: Running, ready: true, pods: [{{role: worker/gpu, node: n1}}]}}"
    more = f"applied: {{workloads: {applied_by(story, 'a')}}}\ngroups: [{shown}]\n"
    story.capacity |= snapshot("a", "n1 16 64Gi 4", at=story.now, more=more)
    rest = at_rest(story)
    assert told(rest, SHOP, "replicas: 1", "replicas: 2") is in_part
    assert told(rest, TRAIN, "image: ray", "image: ray:2"), "on another cluster"


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_shared_with_who_waits_is_published_by_a_whole_pass(shared: bool) -> None:
    """It would be the app's own if nobody else were there. Who is shown the plan sees those who wait, so that tells."""
    waits = "workloads/web/vast.yaml"
    story = fleet(rayservice("web", "vast", workers=30))
    for path in (SHOP, waits) if shared else (SHOP,):
        story.source[path] = story.source[path].replace("image: ray", NAMED)
    story.source["workloads/web/settings.yaml"] = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: web}\n"
    )
    rest = at_rest(story)
    assert {d.group for d in rest.base.decisions if not d.after} == {"jobs/huge", "web/vast"}
    assert told(rest, SHOP, "image: ray", "image: ray:2")
    inputs = replace(
        story, source={**story.source, SHOP: story.source[SHOP].replace("image: ray", "image: ray:2")}
    ).inputs()
    change, plan = Change.between(rest.before.source, inputs.source), partial(planned_in_part, memo=story.memory)
    assert rest.footing is not None
    part = plan(inputs, change, rest.base, rest.footing, ledgers=LedgerCache(), with_candidates=False, shown=False)
    assert (part is None) == shared


def test_whoever_waits_and_asks_for_no_less_waits_on() -> None:
    rest, huge = at_rest(fleet()), "workloads/jobs/huge.yaml"
    source = rest.story.source
    more = {
        SHOP: source[SHOP].replace("image: ray", "image: ray:2"),
        huge: source[huge].replace("eplicas: 30", "eplicas: 31"),
    }
    part, whole = rest.edited(more)
    assert part is not None and holds(rest, part, whole)
    assert rest.edited({**more, huge: source[huge].replace("eplicas: 30", "eplicas: 29")})[0] is None
    wrong = source[huge].replace("spec:\n", "spec:\n  suspend: maybe\n", 1)
    part, whole = rest.edited({**more, huge: wrong})
    assert part is None and decisions(whole)["jobs/huge"].action is Action.HOLD


def test_a_part_does_not_expect_that_those_look_for_a_place_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading machine code for them, which takes as long as the rest of it."""
    rest, expected = at_rest(fleet()), list[int]()
    monkeypatch.setattr(plan_module, "expect", expected.append)
    assert told(rest, SHOP, "image: ray", "image: ray:2")
    assert sorted(expected) == [0, 1], "the part, and the whole that it is held against, where one group waits"


@pytest.mark.parametrize(("rule", "in_part"), [("Relocate", False), ("Hold", True), ("Proceed", True)])
def test_nor_one_that_looks_for_another_cluster(rule: str, in_part: bool) -> None:
    """An update of the service needs room beside it, which only the other cluster has."""
    story = Story.of(
        policy("web", f"select: {{}}\nupdate: {{ifNotFit: {rule}}}"), cluster("a"), cluster("b"), rayservice("web", "shop", workers=3),
        capacity=snapshot("a", "n1 16 64Gi 4") | snapshot("b", "n1 16 64Gi 4"),
    )  # fmt: skip
    assert told(at_rest(story), SHOP, "image: ray", "image: ray:2") is in_part


def test_nor_other_files_and_many_files() -> None:
    rest = at_rest(fleet())
    for path, text in {
        "fleet.yaml": rest.story.source["fleet.yaml"] + "# edited\n",
        "policies/web.yaml": rest.story.source["policies/web.yaml"] + "# edited\n",
        "workloads/web/new.yaml": rayservice("web", "new")["workloads/web/new.yaml"],
    }.items():
        assert rest.edited({path: text})[0] is None, path
    gone = replace(rest.story, source={path: text for path, text in rest.story.source.items() if path != SHOP})
    assert rest.footing is not None
    inputs = gone.inputs()
    change = Change.between(rest.before.source, inputs.source)
    ledgers = LedgerCache()
    assert planned_in_part(inputs, change, rest.base, rest.footing, memo=rest.story.memory, ledgers=ledgers) is None


def test_a_quota_counts_what_is_on_other_clusters() -> None:
    """Of five GPUs the tenant has two on one cluster and one on the other; of three more two would be too many."""
    quota = tenant("everybody", 'quota: {nvidia.com/gpu: "5"}')
    path = "tenants/everybody.yaml"
    quota[path] = quota[path].replace("workloads/everybody/**", "workloads/**").replace("[everybody]", '["*"]')
    rest = at_rest(fleet(quota))
    assert told(rest, SHOP, "replicas: 1", "replicas: 2")
    assert not told(rest, SHOP, "replicas: 1", "replicas: 4")


@pytest.mark.parametrize(
    ("namespace", "image", "most"), [("web", False, False), ("elsewhere", True, False), ("jobs", False, False)]
)
def test_a_limit_range_concerns_all_of_its_namespace(namespace: str, image: bool, most: bool) -> None:
    """It is on another cluster, and may come where the edited app is; who waits may be in its namespace as well."""
    folder = f"workloads/{namespace}/limits"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: ray}]}\n"
    limit = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\nspec: {limits: [{type: Container, min: {cpu: 1m}, default: {memory: 8Gi}}]}\n"
    rule = policy(
        "limits",
        f"select: {{paths: ['{folder}/**']}}\nprecedence: 9\ngroupBy: {{directory: true}}\n"
        "placement: {type: Ordered, order: [{names: [b]}, {names: [a]}]}",
    )
    rest = at_rest(fleet(rule, {f"{folder}/p.yaml": pod, f"{folder}/l.yaml": limit}))
    assert told(rest, SHOP, "image: ray", "image: ray:2") is image
    assert told(rest, f"{folder}/l.yaml", "cpu: 1m", "cpu: 2m") is most


AGREED = {
    "approvals/ok.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
    f"spec: {{groups: [web/shop], action: Return, expires: 2026-01-03T00:00:00Z, plan: 'sha256:{'0' * 64}'}}\n"
}


FOOTLESS = {
    "consent to one plan": AGREED,
    "machines that cost": policy("spare", "select: {namespaces: [none]}\nbudgetPerHour: 5"),
    "groups that go where it is better": policy(
        "spare",
        "select: {namespaces: [none]}\nplacement: {type: Ordered, order: [{names: [a]}]}\n"
        "relocation: {when: {PreferredAvailable: Automatic}}",
    ),
    "groups that span clusters": policy("spare", "select: {namespaces: [none]}\nplacement: {span: IfNeeded}"),
    "groups that are divided": {
        **policy("spare", "select: {namespaces: [split]}\nprecedence: 9\nplacement: {type: Divide}"),
        **rayservice("split", "app", gpus=0),
    },
    "tenants who pay": {
        "tenants/all.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: all}\n"
        'spec: {paths: ["workloads/**"], namespaces: ["*"], budgetPerHour: 5}\n'
    },
}


@pytest.mark.parametrize("rule", FOOTLESS.values(), ids=FOOTLESS)
def test_a_fleet_in_which_one_may_concern_all_has_no_footing(rule: dict[str, str]) -> None:
    assert at_rest(fleet()).footing is not None
    assert at_rest(fleet(rule)).footing is None


def test_whether_silence_means_that_a_cluster_is_lost_is_asked_of_all_clusters() -> None:
    """It does while most are heard of: of two, where one is beside both of which nobody could tell."""
    story = fleet(cluster("c"), {"fleet.yaml": FLEET.replace("spec: {}", "spec: {lostAfter: 10m}")})
    assert settled(story)
    story.now += timedelta(minutes=30)
    story.capacity = {"a.yaml": story.capacity["a.yaml"], **snapshot("c", "n1 1 1Gi", at=story.now)}
    rest = at_rest(story)
    assert {d.group for d in rest.base.decisions if d.finding.code is Reason.NOWHERE_TO_GO} == {"web/other", "web/shop"}
    assert not told(rest, TRAIN, "image: ray", "image: ray:2")


def test_nor_has_one_in_which_an_epoch_more_makes_a_snapshot_believed() -> None:
    story = fleet()
    story.capacity |= snapshot("b", "n1 16 64Gi 4", more="applied: {workloads: 9}")
    assert at_rest(story).footing is None


class Counting(InMemory):
    """Notes which blobs are asked for."""

    def __init__(self, before: Memo) -> None:
        super().__init__(before)
        self.asked: set[str] = set()

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        wanted = list(oids)
        self.asked.update(wanted)
        return super().recall(wanted)


def test_nobody_elsewhere_is_looked_at() -> None:
    """
    Neither what is on the other cluster nor its snapshot is read, nor who is on this one and stands by; who waits is, because he is told of.
    """
    story = fleet(PLATFORM)
    rest = at_rest(story)
    assert rest.footing is not None
    memo = Counting(story.memory)
    edited = replace(story, source={**story.source, SHOP: story.source[SHOP].replace("image: ray", "image: ray:2")})
    inputs = edited.inputs()
    change = Change.between(rest.before.source, inputs.source)
    part = planned_in_part(inputs, change, rest.base, rest.footing, memo=memo, ledgers=LedgerCache())
    assert part is not None
    trees = {"source": inputs.source, "capacity": inputs.capacity, "deployment": inputs.deployment}
    read = {
        f"{name}/{path}"
        for name, tree in trees.items()
        for path, entry in tree.entries.items()
        if entry.oid in memo.asked
    }
    assert {f"source/{SHOP}", "source/workloads/jobs/huge.yaml", "source/platform/classes.yaml", "capacity/a.yaml"} <= read  # fmt: skip
    assert not read & {
        f"source/{TRAIN}",
        "source/workloads/web/other.yaml",
        "deployment/placements/web/other.yaml",
        "source/clusters/b.yaml",
        "capacity/b.yaml",
        "deployment/placements/jobs/train.yaml",
    }


def test_whoever_knows_a_base_plans_its_change_in_part() -> None:
    story = fleet()
    rest = at_rest(story)
    memo, tree = story.memory, tree_id(rest.before.source)
    first = BasePlan(rest.before, tree, lambda: rest.before.source, memo, LedgerCache())
    assert first.plan() == rest.base
    changed = replace(story, source={**story.source, SHOP: story.source[SHOP].replace("image: ray", "image: ray:2")})
    inputs = changed.inputs()
    known = BasePlan(inputs, tree, lambda: rest.before.source, memo, LedgerCache())
    looked = Looked(cast(Any, None), inputs, cast(Any, memo))
    made, base = hydrated_against(looked, Against(Base(name="main", commit=COMMIT, plan=None), known))
    assert made.view.snapshots is not None and base.plan is not None
    assert base.plan.states.keys() == {"a"}
    whole = hydrate(inputs, memo=memo, with_candidates=OF_WAITING)
    assert comment(made.view, base.plan) == comment(whole.view, rest.base)


def together(*paths: str) -> Callable[[Story], None]:
    """Puts files of a source into one."""

    def move(story: Story) -> None:
        story.source[paths[0]] = "---\n".join(story.source.pop(path) for path in paths)

    return move


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: web}\ndata: {a: b}\n"


def with_settings(story: Story) -> None:
    """Two apps use one ConfigMap; one of them is on the other cluster."""
    for path in (SHOP, "workloads/web/other.yaml"):
        story.source[path] = story.source[path].replace(
            "image: ray", "image: ray, envFrom: [{configMapRef: {name: settings}}]"
        )
    story.source["workloads/web/settings.yaml"] = CONFIG
    story.source |= policy("other", "select: {names: [other]}\nprecedence: 8\nclusters: {names: [b]}")


def with_copies(story: Story) -> None:
    """Another app has a copy on each cluster."""
    story.source |= policy("copies", "select: {namespaces: [both]}\nprecedence: 9\nplacement: {copies: 2}")
    story.source |= rayservice("both", "copied", gpus=0)


def with_decisions(story: Story) -> None:
    """Clusters are told which groups are where."""
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", "spec: {decisions: {into: a}}")


SHAPES: dict[str, Callable[[Story], None]] = {
    "clusters in one file": together("clusters/a.yaml", "clusters/b.yaml"),
    "a cluster beside a policy": together("clusters/b.yaml", "policies/jobs.yaml"),
    "its own cluster beside a policy": together("clusters/a.yaml", "policies/web.yaml"),
    "two apps in one file": together(SHOP, "workloads/web/other.yaml"),
    "apps that share an object": with_settings,
    "an app on several clusters": with_copies,
    "clusters that are told": with_decisions,
}


@pytest.mark.parametrize("shaped", SHAPES.values(), ids=SHAPES)
def test_it_holds_however_a_source_is_laid_out(shaped: Callable[[Story], None]) -> None:
    story = fleet(PLATFORM)
    shaped(story)
    rest = at_rest(story)
    for old, new in IN_PART.values():
        told(rest, SHOP, old, new)


def test_an_edit_beside_one_of_what_governs_others_is_not() -> None:
    rest = at_rest(fleet())
    rules = rest.story.source["policies/jobs.yaml"]
    edits = {SHOP: rest.story.source[SHOP].replace("image: ray", "image: ray:2"), "policies/jobs.yaml": rules.replace("[b]", "[a]")}  # fmt: skip
    assert rest.edited(edits)[0] is None


def test_what_is_wrong_with_an_edited_file_is_told_where_it_stands_now() -> None:
    story = fleet()
    story.source[SHOP] = story.source[SHOP].replace("spec:\n", "spec:\n  rayClusterConfigs: {}\n", 1)
    rest = at_rest(story)
    assert [p.location.line for p in rest.made.problems if p.location.file == SHOP] == [6]
    part, whole = rest.edited({SHOP: "# first\n" + story.source[SHOP].replace("image: ray", "image: ray:2")})
    assert part is not None and holds(rest, part, whole)
    lines = {p.location.line for p in part.hydration.problems if p.location.file == SHOP}
    assert 7 in lines and 6 not in lines


def test_what_is_told_of_a_file_for_what_others_are_is_told_still() -> None:
    """Two Ray objects of one name want one Service: of that each is told, also where the other is not read."""
    names = {"on the same cluster": "a", "on another": "b"}
    for where, name in names.items():
        story = fleet(nodes="n1 32 128Gi 8")
        rules = "select: {labelSelector: {matchLabels: {team: x}}}\nprecedence: 9\ngroupBy: {label: team}"
        story.source |= policy("joined", f"{rules}\nclusters: {{names: [{name}]}}")
        story.source |= rayservice("web", "alpha", cpu="1", workers=0, gpus=0, labels="{team: x}")
        (job,) = rayjob("web", "shop", cpu="1", workers=0).values()
        story.source["workloads/web/second.yaml"] = job.replace("name: shop", "name: shop\n  labels: {team: x}", 1)
        rest = at_rest(story)
        assert {d.group: d.after for d in rest.base.decisions}["web/x"] == (name,), where
        assert {p.location.file for p in rest.base.problems if p.code == "NamesakesCollide"} >= {SHOP}
        part, whole = rest.edited({SHOP: story.source[SHOP].replace("image: ray", "image: ray:2")})
        assert (part is not None) is (name == "a"), where
        if part is not None:
            assert holds(rest, part, whole) and not any(part.part.bystanders.values())


def test_a_source_that_is_as_large_as_may_be_is_not_told_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = at_rest(fleet())
    monkeypatch.setattr("gitplacer.source.edited.MOST", Share(files=1, objects=1, size=100))
    assert not told(rest, SHOP, "image: ray", "image: ray:2")


def test_nor_a_change_of_which_some_commits_do_not_count() -> None:
    rest = at_rest(fleet())
    edited = replace(rest.story, source={**rest.story.source, SHOP: rest.story.source[SHOP] + "# edited\n"}).inputs()
    assert rest.footing is not None
    change = Change.between(rest.before.source, edited.source)
    given = partial(planned_in_part, change=change, base=rest.base, footing=rest.footing, memo=rest.story.memory, ledgers=LedgerCache())  # fmt: skip
    assert given(edited) is not None
    uncounted = Uncounted(commit="b" * 40, author="A <a@b>", flaw=Flaw.UNSIGNED)
    assert given(structs.replace(edited, uncounted=uncounted)) is None


def test_a_fleet_in_which_somebody_has_a_hand_has_no_footing() -> None:
    rest = at_rest(fleet())
    view, snapshot = rest.made.view, rest.made.snapshot
    assert footing_of(structs.replace(rest.before, foreign={"clusters/a/x": ""}), view) is None
    states, own = {"a": cast(Any, object())}, snapshot.source.own
    fleet_spec = own.fleet.spec.model_copy(update={"clone": cast(Any, object())})
    cloning = structs.replace(own, fleet=own.fleet.model_copy(update={"spec": fleet_spec}))
    record = snapshot.records["web/shop"]
    moving = record.model_copy(update={"move": cast(Any, object())})
    for other in (
        replace(snapshot, states=states),
        replace(snapshot, source=structs.replace(snapshot.source, own=cloning)),
        replace(snapshot, broken_records=frozenset({"web/lost"})),
        replace(snapshot, records={**snapshot.records, "web/shop": moving}),
        replace(snapshot, capacity={"a": snapshot.capacity["a"].model_copy(update={"queues": (cast(Any, object()),)})}),
    ):
        assert footing_of(rest.before, structs.replace(view, snapshot=other)) is None


def test_a_pass_at_rest_remembers_the_base_of_pull_requests(tmp_path: Path) -> None:
    """Where somebody waits: then it knows who finds room where he is."""
    repos = made(tmp_path)
    repos.commit(rayservice("prod", "huge", workers=99))
    for minute in (5, 6):
        reconcile_unless_quiet(repos.settings(minute), progress=silently)
    (app,) = (path for path in repos.source.glob("workloads/**/*.yaml") if "huge" not in path.name)
    app.write_text(app.read_text() + "# looked at\n")
    chosen = repos.settings(7)
    with looked_at(chosen, work_tree=True, progress=silently) as looked, base_of(chosen, looked, "main") as against:
        assert against.is_known
        found = against.in_part()
        assert found is not None
        assert [d.action for d in found[0].view.plan.decisions] == [Action.UPDATE, Action.WAIT]
