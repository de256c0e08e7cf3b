"""The life of a divided group: files in, commits out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gitplacer.explain import standing
from gitplacer.formats.group import explain_group
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import plan_json
from gitplacer.formats.status import status_text
from gitplacer.formats.text import plan_text
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Action
from tests.stories import Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

DIVIDE = policy("div", "select: {}\nplacement: {type: Divide}")
WEB = "workloads/shop/web.yaml"
MORE = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: %d
  maxReplicas: %d
"""


def weighted(**weights: int) -> dict[str, str]:
    inside = ", ".join(f"{name}: {weight}" for name, weight in weights.items())
    return policy("div", f"select: {{}}\nplacement: {{type: Divide, weights: {{{inside}}}}}")


def by_room(way: str) -> dict[str, str]:
    return policy("div", f"select: {{}}\nplacement: {{type: Divide, divideBy: {way}}}")


def web(replicas: int | None = 10, more: str = "", cpu: str = "1") -> dict[str, str]:
    """A Deployment whose pods have one cpu each."""
    written = "" if replicas is None else f"  replicas: {replicas}  # one for each till\n"
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n"
        f"{written}  selector: {{matchLabels: {{app: web}}}}\n"
        "  template: {metadata: {labels: {app: web}}, spec: {containers: "
        f'[{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}\n'
    )
    return {WEB: text + more}


def raycluster(
    replicas: int, low: int, high: int, autoscaling: bool = False, second: str = "", cpu: str = "1"
) -> dict[str, str]:
    text = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: ray, namespace: ml}}
spec:
  enableInTreeAutoscaling: {str(autoscaling).lower()}
  headGroupSpec:
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: head, image: ray, resources: {{requests: {{cpu: "1"}}}}}}]}}}}
  workerGroupSpecs:
  - groupName: cpu
    replicas: {replicas}
    minReplicas: {low}
    maxReplicas: {high}
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: worker, image: ray, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}
{second}"""
    return {"workloads/ml/ray.yaml": text}


def rooms(**cpus: int) -> dict[str, str]:
    """Clusters by name, and how many pods of one cpu each holds."""
    found: dict[str, str] = {}
    for name, cpu in cpus.items():
        found |= snapshot(name, f"n1 {cpu} 64Gi")
    return found


def clusters(names: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found |= cluster(name)
    return found


def replicas(story: Story, file: str = "shop/web/web.yaml", field: str = "replicas") -> dict[str, int]:
    """Cluster to the number in a file of its directory; those without the file are left out."""
    found = {}
    for path in story.deployment:
        match = re.fullmatch(rf"clusters/([^/]*)/workloads/{file}", path)
        if match:
            text = story.deployment.read(path).decode()
            number = re.search(rf"^ *{field}: (\d+)", text, re.MULTILINE)
            found[match[1]] = int(number[1]) if number else -1
    return found


def is_at_rest(story: Story) -> bool:
    return not story.plan().steps


def told(done: Hydration) -> str:
    return plan_text(done.view, Options())


def test_ten_replicas_are_shared_alike_and_everything_else_is_everywhere() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10, MORE), capacity=rooms(a=16, b=16))
    done = story.run()
    assert outcome(done) == {"shop/web": "Place a,b Fits"}
    assert replicas(story) == {"a": 5, "b": 5}
    for name in "ab":
        text = story.deployment.read(f"clusters/{name}/workloads/shop/web/web.yaml").decode()
        assert text == story.source[WEB].replace("replicas: 10 ", "replicas: 5 ")  # not another byte
    assert is_at_rest(story)


def test_five_at_seventy_and_thirty_are_four_and_one() -> None:
    story = Story.of(clusters("ab"), weighted(a=70, b=30), web(5), capacity=rooms(a=16, b=16))
    story.run()
    assert replicas(story) == {"a": 4, "b": 1}
    assert sum(replicas(story).values()) == 5


def test_a_cluster_with_nothing_due_has_no_file_and_its_verdict_says_why() -> None:
    story = Story.of(clusters("abc"), weighted(a=1, b=0), web(1), capacity=rooms(a=16, b=16, c=16))
    done = story.run()
    assert replicas(story) == {"a": 1}
    verdicts = {c.cluster: str(c.finding.code) for c in decisions(done)["shop/web"].candidates}
    assert verdicts == {"a": "Fits", "b": "NoShare", "c": "NoShare"}
    story.source |= DIVIDE
    story.run()
    assert replicas(story) == {"a": 1}  # one over three: whoever has it keeps it


def test_new_weights_move_the_difference_and_nothing_is_relocated() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=16, b=16))
    story.run()
    story.source |= weighted(a=70, b=30)
    done = story.run()
    assert replicas(story) == {"a": 7, "b": 3}
    assert outcome(done) == {"shop/web": "Update a,b Divided"}
    assert "Deployment shop/web: 7 on a and 3 on b" in done.steps[-1].message
    assert [step.relocation for step in done.steps] == [None]
    assert is_at_rest(story)


def test_no_replica_is_given_up_before_another_cluster_has_room_for_it() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=6, b=16))
    story.run()
    story.source |= weighted(a=70, b=30)
    done = story.run()
    assert replicas(story) == {"a": 6, "b": 4}  # three are due to b, and the fourth has nowhere to go yet
    assert "1 of 10 replicas wait for room: 1 on a" in told(done)
    assert is_at_rest(story)
    story.capacity |= rooms(a=8)
    story.run()
    assert replicas(story) == {"a": 7, "b": 3}


def test_a_share_comes_whole_or_waits_and_the_others_run() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=4, b=16))
    done = story.run()
    assert outcome(done) == {"shop/web": "Place b SharesWait"}
    assert replicas(story) == {"b": 5}
    assert "5 of 10 replicas wait for room: 5 on a" in told(done)
    (waiting,) = [c for c in decisions(done)["shop/web"].candidates if c.cluster == "a"]
    assert (waiting.finding.placed, waiting.finding.wanted) == (4, 5)
    assert is_at_rest(story)
    story.capacity |= rooms(a=5)
    story.run()
    assert replicas(story) == {"a": 5, "b": 5}


def verdicts(done: Hydration) -> dict[str, str]:
    """Of each cluster what `gitplacer explain` says of it, without what it is."""
    lines = (line.split(maxsplit=3) for line in explain_group(done.view, "shop/web").splitlines())
    return {words[0]: words[3] for words in lines if len(words) == 4 and words[1] in ("Chosen", "Feasible", "Rejected")}


THERE = "is there already"
TOO_FEW = f"{THERE}; one replica more: 4 of 5 pod fit; short 1 cpu"
NO_MORE = f"{TOO_FEW}; more than the cluster holds when empty"
ANY_ROOM = policy("divide", "select: {namespaces: [shop]}\nplacement: {type: Divide, divideBy: Room}")


@pytest.mark.parametrize(
    ("way", "change", "said"),
    [
        (DIVIDE, {}, {"a": NO_MORE, "b": THERE}),
        (ANY_ROOM, {}, {"a": NO_MORE, "b": NO_MORE.replace("4 of 5", "5 of 6")}),
        (DIVIDE, snapshot("a", "n1 9 64Gi|, used: {cpu: 5}"), {"a": TOO_FEW, "b": THERE}),
        (DIVIDE, cluster("a", state="Cordoned"), {"a": THERE, "b": NO_MORE.replace("4 of 5", "5 of 6")}),
        (DIVIDE, rooms(a=8), {"a": THERE, "b": THERE}),
    ],
)  # fmt: skip
def test_what_one_replica_more_would_lack_is_told_where_some_are(
    way: dict[str, str], change: dict[str, str], said: dict[str, str]
) -> None:
    """It was said of such a cluster that the app is there already, and nothing of why there is not more of it."""
    story = Story.of(clusters("ab"), way, web(8), capacity=rooms(a=4, b=5))
    story.run()
    assert replicas(story) == {"a": 4, "b": 4}
    story.source |= web(10)
    for path, text in change.items():
        (story.source if path in story.source else story.capacity)[path] = text
    grown = verdicts(story.run())
    assert {name: text.replace("fits", THERE) for name, text in grown.items()} == said
    assert is_at_rest(story)
    assert verdicts(story.run()) == said


def test_who_waits_in_part_is_told_wherever_it_is_told_who_waits() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=4, b=16))
    story.run()
    done = story.run()
    assert is_at_rest(story)
    assert "= shop/web  b  5 of 10 replicas wait for room: 5 on a" in told(done)
    assert told(done).splitlines()[-2:] == [
        "Needs a look: shop/web waits",
        "0 placed, 0 relocated, 0 updated, 0 removed, 0 held, 0 waiting, 1 kept; 1 of them waits in part",
    ]
    concerns = json.loads(plan_json(done.view, Options()))["review"]["concerns"]
    assert concerns == [{"concern": "Waits", "count": 1, "names": ["shop/web"]}]
    assert "Waits in part\n  shop/web  since 2026-" in status_text(done.view)
    assert standing(done.view.plan) == "1 waiting in part (shop/web)"


def test_where_nobody_has_room_for_a_share_the_group_waits() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=4, b=4))
    assert outcome(story.run()) == {"shop/web": "Wait  NoClusterFits"}
    assert replicas(story) == {}
    assert is_at_rest(story)


def test_placed_whatever_the_room_everybody_gets_his_share() -> None:
    at_once = policy("div", "select: {}\nplacement: {type: Divide, admission: Immediate}")
    story = Story.of(clusters("ab"), at_once, web(10), capacity=rooms(a=2, b=16))
    story.run()
    assert replicas(story) == {"a": 5, "b": 5}
    story.source |= web(20)
    story.run()
    assert replicas(story) == {"a": 10, "b": 10}


@pytest.mark.parametrize(
    ("room", "steps"),
    [
        (16, [{"b": 5, "c": 5}]),
        (4, [{"a": 2, "b": 4, "c": 4}]),  # two have nowhere to go
    ],
)
def test_what_a_draining_cluster_has_goes_to_the_others_as_far_as_there_is_room(
    room: int, steps: list[dict[str, int]]
) -> None:
    story = Story.of(clusters("abc"), weighted(a=4, b=3, c=3), web(10), capacity=rooms(a=16, b=room, c=room))
    story.run()
    assert replicas(story) == {"a": 4, "b": 3, "c": 3}
    story.source |= cluster("a", state="Draining")
    for step in steps:
        story.run()
        assert replicas(story) == step
    assert is_at_rest(story)
    story.capacity |= rooms(b=16, c=16)
    story.run()
    assert replicas(story) == {"b": 5, "c": 5}
    assert not [path for path in story.files() if path.startswith("clusters/a/")]


def test_a_draining_cluster_is_left_for_one_that_had_nothing_bit_by_bit() -> None:
    story = Story.of(clusters("a"), DIVIDE, web(10), capacity=rooms(a=16))
    story.run()
    story.source |= cluster("a", state="Draining") | cluster("b")
    story.capacity |= rooms(b=6)
    done = story.run()
    assert replicas(story) == {"a": 4, "b": 6}
    assert outcome(done) == {"shop/web": "Place a,b SharesWait"}
    story.capacity |= rooms(b=10)
    done = story.run()
    assert replicas(story) == {"b": 10}
    assert outcome(done) == {"shop/web": "Remove b ClusterDraining"}


def test_with_nowhere_to_go_all_stays_on_the_draining_cluster_and_says_so() -> None:
    story = Story.of(clusters("a"), DIVIDE, web(10), capacity=rooms(a=16))
    story.run()
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {"shop/web": "Hold a NowhereToGo"}
    assert replicas(story) == {"a": 10}
    assert is_at_rest(story)


def test_a_policy_that_never_drains_keeps_what_is_there_and_divides_the_rest() -> None:
    never = policy(
        "div", "select: {}\nplacement: {type: Divide}\nrelocation: {when: {ClusterDraining: Never}}"
    )  # fmt: skip
    story = Story.of(clusters("abc"), never, web(9), capacity=rooms(a=16, b=16, c=16))
    story.run()
    story.source |= cluster("a", state="Draining") | web(13)
    story.run()
    assert replicas(story) == {"a": 3, "b": 5, "c": 5}
    assert is_at_rest(story)


def test_a_cordoned_cluster_keeps_what_it_has_and_gets_no_more() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(4), capacity=rooms(a=16, b=16))
    story.run()
    story.source |= cluster("a", state="Cordoned") | web(10)
    story.run()
    assert replicas(story) == {"a": 2, "b": 8}
    assert is_at_rest(story)


def test_another_number_in_the_source_is_divided_anew() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=16, b=16))
    for number, shares in ((5, {"a": 3, "b": 2}), (6, {"a": 3, "b": 3}), (1, {"a": 1}), (4, {"a": 2, "b": 2})):
        story.source |= web(number)
        story.run()
        assert replicas(story) == shares
        assert is_at_rest(story)


def test_with_no_replicas_at_all_a_group_is_somewhere() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(0), capacity=rooms(a=16, b=16))
    story.run()
    assert replicas(story) == {"a": 0}
    assert is_at_rest(story)


def test_copies_say_how_many_clusters_share() -> None:
    two = policy("div", "select: {}\nplacement: {type: Divide, copies: 2, weights: {a: 1, b: 3, c: 2}}")
    story = Story.of(clusters("abc"), two, web(10), capacity=rooms(a=16, b=16, c=16))
    story.run()
    assert replicas(story) == {"b": 6, "c": 4}
    assert is_at_rest(story)


def test_an_override_has_the_last_word_and_the_plan_says_so() -> None:
    override = {
        "policies/o.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n"
        "  select: {kinds: [Deployment]}\n  clusters: {names: [b]}\n  overrides: [{path: /spec/replicas, value: 2}]\n"
    }
    story = Story.of(clusters("ab"), DIVIDE, web(10), override, capacity=rooms(a=16, b=3))
    done = story.run()
    assert replicas(story) == {"a": 5, "b": 2}
    assert "Deployment shop/web: 5 on a and 2 on b by an override, not 5" in told(done)
    assigned = json.loads(plan_json(done.view, Options()))["groups"][0]["assignments"]
    assert [(a["cluster"], a["pods"]) for a in assigned] == [
        ("a", [{"role": "pod", "count": 5}]),
        ("b", [{"role": "pod", "count": 2}]),
    ]


def test_the_plan_the_explanation_and_the_json_count_what_each_cluster_has() -> None:
    story = Story.of(clusters("ab"), weighted(a=70, b=30), web(10), capacity=rooms(a=16, b=16))
    done = story.run()
    assigned = json.loads(plan_json(done.view, Options()))["groups"][0]["assignments"]
    assert [a["pods"] for a in assigned] == [[{"role": "pod", "count": 7}], [{"role": "pod", "count": 3}]]
    assert "Deployment shop/web: 7 on a and 3 on b" in told(done)
    assert "7 on a and 3 on b" in explain_group(story.plan().view, "shop/web")


def test_a_ray_cluster_has_a_head_on_each_cluster_and_its_workers_divided() -> None:
    story = Story.of(clusters("ab"), DIVIDE, raycluster(5, 2, 8), capacity=rooms(a=16, b=16))
    done = story.run()
    file = "ml/ray/ray.yaml"
    assert replicas(story, file) == {"a": 3, "b": 2}
    assigned = json.loads(plan_json(done.view, Options()))["groups"][0]["assignments"]
    assert [a["pods"] for a in assigned] == [
        [{"role": "head", "count": 1}, {"role": "worker/cpu", "count": 3}],
        [{"role": "head", "count": 1}, {"role": "worker/cpu", "count": 2}],
    ]
    assert replicas(story, file, "minReplicas") == {"a": 2, "b": 2}  # nothing scales it; only what must be is edited
    assert is_at_rest(story)


def test_what_the_ray_autoscaler_may_do_is_divided_too() -> None:
    story = Story.of(clusters("ab"), DIVIDE, raycluster(5, 2, 9, autoscaling=True), capacity=rooms(a=16, b=16))
    story.run()
    file = "ml/ray/ray.yaml"
    assert replicas(story, file) == {"a": 3, "b": 2}
    assert replicas(story, file, "minReplicas") == {"a": 1, "b": 1}
    assert replicas(story, file, "maxReplicas") == {"a": 5, "b": 4}
    story.source |= raycluster(
        0, 0, 9, autoscaling=True
    )  # all from nothing: there is a head wherever there may be workers
    story.run()
    assert replicas(story, file) == {"a": 0, "b": 0}
    assert replicas(story, file, "maxReplicas") == {"a": 5, "b": 4}
    assert is_at_rest(story)


def test_every_worker_group_is_divided_by_itself() -> None:
    second = """\
  - groupName: slices
    numOfHosts: 2
    replicas: 3
    rayStartParams: {}
    template: {spec: {containers: [{name: worker, image: ray, resources: {requests: {cpu: "1"}}}]}}
"""
    story = Story.of(clusters("ab"), DIVIDE, raycluster(4, 0, 9, second=second), capacity=rooms(a=16, b=16))
    done = story.run()
    counted = {
        a["cluster"]: {pods["role"]: pods["count"] for pods in a["pods"]}
        for a in json.loads(plan_json(done.view, Options()))["groups"][0]["assignments"]
    }
    assert counted == {
        "a": {"head": 1, "worker/cpu": 2, "worker/slices": 4},  # two slices of two hosts
        "b": {"head": 1, "worker/cpu": 2, "worker/slices": 2},
    }


def test_a_ray_service_goes_whole_to_each_cluster() -> None:
    story = Story.of(
        clusters("abc"),
        weighted(a=3, b=1),
        rayservice("prod", "api", workers=2, gpus=0),
        capacity=rooms(a=16, b=16, c=16),
    )
    story.run()
    source = story.source["workloads/prod/api.yaml"].replace("labels: {}}", "labels: {}, namespace: prod}")
    for name in "ab":
        assert story.deployment.read(f"clusters/{name}/workloads/prod/api/api.yaml").decode() == source
    assert not [path for path in story.files() if path.startswith("clusters/c/")]
    assert is_at_rest(story)
    story.source |= cluster("b", state="Draining")
    assert outcome(story.run()) == {"prod/api": "Remove a ClusterDraining"}


@pytest.mark.parametrize("written", [6, None])
def test_the_bounds_of_an_autoscaler_are_divided_and_none_is_lost(written: int | None) -> None:
    story = Story.of(clusters("ab"), weighted(a=2, b=1), web(written, SCALER % (3, 9)), capacity=rooms(a=16, b=16))
    story.run()
    assert replicas(story) == ({"a": 4, "b": 2} if written else {"a": -1, "b": -1})
    assert replicas(story, field="minReplicas") == {"a": 2, "b": 1}
    assert replicas(story, field="maxReplicas") == {"a": 6, "b": 3}
    assert is_at_rest(story)


def test_an_autoscaler_needs_one_pod_on_every_cluster_that_has_it() -> None:
    story = Story.of(clusters("abc"), DIVIDE, web(None, SCALER % (1, 3)), capacity=rooms(a=16, b=16, c=16))
    story.run()
    assert replicas(story, field="minReplicas") == {"a": 1, "b": 1, "c": 1}
    assert replicas(story, field="maxReplicas") == {"a": 1, "b": 1, "c": 1}


def test_a_policy_may_begin_to_divide_and_stop_again() -> None:
    story = Story.of(clusters("ab"), policy("div", "select: {}"), web(10), capacity=rooms(a=16, b=16))
    story.run()
    assert replicas(story) == {"a": 10}
    story.source |= DIVIDE
    story.run()
    assert replicas(story) == {"a": 5, "b": 5}
    story.source |= policy("div", "select: {}")
    story.run()
    assert replicas(story) == {"a": 10}
    assert is_at_rest(story)


def test_what_there_can_be_but_one_of_is_not_divided_and_the_problem_says_where() -> None:
    story = Story.of(clusters("ab"), DIVIDE, rayjob("ml", "train"), capacity=rooms(a=16, b=16))
    done = story.run()
    assert outcome(done) == {"ml/train": "Hold  HasProblems"}
    (problem,) = [p for p in done.problems if p.severity == "error"]
    assert (problem.code, str(problem.location)) == ("DividedSingleton", "workloads/ml/train.yaml:4:9")


def test_two_divided_groups_are_promised_no_more_than_there_is() -> None:
    second = {"workloads/shop/zeb.yaml": web(10)[WEB].replace("web", "zeb")}
    story = Story.of(clusters("ab"), DIVIDE, web(10), second, capacity=rooms(a=16, b=8))
    done = story.run()
    assert replicas(story) == {"a": 5, "b": 5}
    assert replicas(story, "shop/zeb/zeb.yaml") == {"a": 5}
    assert outcome(done)["shop/zeb"] == "Place a SharesWait"


BAD = {
    "weights: {a: 1}": "weights is for type Divide",
    "type: Divide\n  weights: {a: 0}": "some cluster needs a weight above 0",
    "type: Divide\n  weights: {a: -1}": "must be at least 0",
    "type: Divide\n  weights: {a: 70%}": "must be a whole number",
    "type: Divide\n  weights: {A_: 1}": "lower-case",
}


@pytest.mark.parametrize("written", BAD)
def test_weights_that_make_no_sense_are_refused_with_their_place(written: str) -> None:
    story = Story.of(
        clusters("a"), policy("div", f"select: {{}}\nplacement:\n  {written}"), web(2), capacity=rooms(a=4)
    )
    done = story.run()
    said = [p for p in done.problems if p.location.file == "policies/div.yaml"]
    assert said and all(p.location.line >= 6 for p in said), said
    assert any(BAD[written] in p.message for p in said), [p.message for p in said]
    assert outcome(done) == {"shop/web": "Hold  BrokenPolicy"}


STATES = ("Active", "Active", "Active", "Cordoned", "Draining")
steps = st.fixed_dictionaries(
    {
        "total": st.integers(1, 12),
        "policy": st.dictionaries(st.sampled_from("abc"), st.integers(1, 9), min_size=1).map(lambda w: weighted(**w))
        | st.sampled_from(["Room", "FewestClusters"]).map(by_room),
        "rooms": st.fixed_dictionaries({name: st.integers(1, 12) for name in "abc"}),
        "states": st.fixed_dictionaries({name: st.sampled_from(STATES) for name in "abc"}),
    }
)


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(history=st.lists(steps, min_size=1, max_size=4))
def test_whatever_happens_no_replica_is_lost_that_ran_and_none_is_sold_twice(history: list[Mapping[str, dict]]) -> None:  # type: ignore[type-arg]
    story = Story.of(clusters("abc"))
    before: dict[str, int] = {}
    for step in history:
        story.source |= step["policy"] | web(step["total"])  # type: ignore[arg-type]
        for name, state in step["states"].items():
            story.source |= cluster(name, state=state)
        story.capacity = rooms(**step["rooms"])
        done = story.run()
        after = replicas(story)
        assert sum(after.values()) <= max(step["total"], 0) or sum(after.values()) <= sum(before.values())
        assert sum(after.values()) >= min(sum(before.values()), step["total"])  # type: ignore[call-overload]
        for name, number in after.items():
            assert number <= max(step["rooms"][name], before.get(name, 0))
            if step["states"][name] != "Active":
                assert number <= before.get(name, 0)
        assert not any(d.action is Action.RELOCATE for d in done.view.plan.decisions)
        assert is_at_rest(story)
        before = after


PAGE = Path(__file__).parent.parent / "docs/divide.md"


def test_the_page_about_dividing_tells_what_happens() -> None:
    text = PAGE.read_text("utf-8")
    files = dict(re.findall(r"^`([^`\n]*)`:\n\n```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    first, short, second = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    story = Story.of(cluster("east"), cluster("west"), files, capacity=rooms(east=6, west=16))
    assert first in told(story.run())
    assert replicas(story, "shop/web/web.yaml") == {"east": 4, "west": 1}
    story.source["policies/shop.yaml"] = files["policies/shop.yaml"].replace("east: 70, west: 30", "east: 1, west: 1")
    story.source["workloads/shop/web.yaml"] = files["workloads/shop/web.yaml"].replace("replicas: 5", "replicas: 10")
    story.run()
    story.source["policies/shop.yaml"] = files["policies/shop.yaml"]
    assert second in told(story.run())
    (fields,) = re.findall(r"^```yaml\n(  placement: .*?)^```", text, re.MULTILINE | re.DOTALL)
    source = files | policy("shop", f"select: {{namespaces: [shop]}}\n{fields.strip()}")
    source["workloads/shop/web.yaml"] = source["workloads/shop/web.yaml"].replace("replicas: 5", "replicas: 10")
    story = Story.of(cluster("east"), cluster("west"), source, capacity=rooms(east=4, west=3))
    assert short in told(story.run())


def test_what_is_new_in_a_divided_group_needs_room_before_it_is_there() -> None:
    joined = policy("div", "select: {}\ngroupBy: {directory: true}\nplacement: {type: Divide}")
    story = Story.of(clusters("ab"), joined, web(10), capacity=rooms(a=7, b=16))
    story.run()
    api = web(6)[WEB].replace("web", "api")
    story.source |= {"workloads/shop/api.yaml": api}
    done = story.run()
    assert replicas(story, "shop/shop/web.yaml") == {"a": 5, "b": 5}
    assert replicas(story, "shop/shop/api.yaml") == {"a": 2, "b": 3}
    assert "1 of 16 replicas wait for room: 1 on a" in told(done)
    assert "Deployment shop/api: 2 on a and 3 on b; Deployment shop/web: 5 on a and 5 on b" in told(done)
    assert is_at_rest(story)


def test_a_share_that_made_room_for_another_group_waits_and_the_rest_runs_on() -> None:
    first = policy(
        "first",
        "select: {namespaces: [prod]}\nprecedence: 1\npriority: 10\npreempts: LowerPriority\nclusters: {names: [a]}",
    )
    mild = policy("div", "select: {}\npreemptible: true\nplacement: {type: Divide}")
    story = Story.of(clusters("ab"), first, mild, web(10), capacity=rooms(a=6, b=16))
    story.run()
    story.source["workloads/prod/big.yaml"] = web(4)[WEB].replace("web", "big").replace("shop", "prod")
    done = story.run()
    assert outcome(done)["shop/web"].startswith("Preempt b PreemptedBy")
    assert replicas(story) == {"b": 5}
    for _ in range(3):
        story.capacity |= snapshot("a", "n1 6 64Gi", at=story.now, more="applied: EVERYTHING\n")
        story.run()
    assert replicas(story, "prod/big/big.yaml") == {"a": 4}
    assert replicas(story) == {"b": 5}
    assert is_at_rest(story)


def test_pods_that_a_snapshot_shows_are_not_counted_twice_when_a_share_grows() -> None:
    pods = "".join("  - {role: pod, node: n1, requests: {cpu: '1'}}\n" for _ in range(5))
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=7, b=16))
    story.run()
    seen = f"applied: EVERYTHING\ngroups:\n- name: shop/web\n  phase: Running\n  pods:\n{pods}"
    story.capacity |= snapshot("a", "n1 7 64Gi", at=story.now, more=seen)
    story.source |= weighted(a=70, b=30)
    story.run()
    assert replicas(story) == {"a": 7, "b": 3}


def test_a_share_may_count_on_machines_that_are_added_within_the_budget() -> None:
    scaled = cluster(
        "a",
        autoscaler="{type: Karpenter, nodeTypes: [{name: four, allocatable: {cpu: '4', memory: 16Gi}, max: 9, pricePerHour: 1}]}",
    )
    policy_text = "select: {}\nbudgetPerHour: 2\nplacement: {type: Divide, weights: {a: 1}}"
    story = Story.of(scaled, policy("div", policy_text), web(4), capacity=snapshot("a"))
    story.run()
    assert replicas(story) == {"a": 4}
    story.source |= web(12)
    done = story.run()
    assert replicas(story) == {"a": 8}  # two machines, and no third
    assert "4 of 12 replicas wait for room: 4 on a" in told(done)
    assert is_at_rest(story)


def test_a_cluster_that_has_been_silent_for_too_long_gives_its_share_to_the_others() -> None:
    fleet = "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {lostAfter: 1h}\n"
    story = Story.of({"fleet.yaml": fleet}, clusters("ab"), DIVIDE, web(10), capacity=rooms(a=16, b=16))
    story.run()
    story.now += timedelta(hours=2)
    story.capacity |= snapshot("b", "n1 16 64Gi", at=story.now)
    done = story.run()
    assert replicas(story) == {"b": 10}
    assert outcome(done) == {"shop/web": "Remove b ClusterLost"}


def test_a_group_that_is_held_keeps_the_share_it_has() -> None:
    story = Story.of(clusters("ab"), DIVIDE, web(10), capacity=rooms(a=16, b=16))
    story.run()
    story.source |= weighted(a=70, b=30)
    story.source[WEB] = story.source[WEB].replace('cpu: "1"', "cpu: one")
    done = story.run()
    assert outcome(done) == {"shop/web": "Hold a,b HasProblems"}
    assert replicas(story) == {"a": 5, "b": 5}
    assigned = json.loads(plan_json(done.view, Options()))["groups"][0]["assignments"]
    assert [a["pods"] for a in assigned] == [[{"role": "pod", "count": 5}], [{"role": "pod", "count": 5}]]
    story.source |= web(10)
    story.run()
    assert replicas(story) == {"a": 7, "b": 3}
