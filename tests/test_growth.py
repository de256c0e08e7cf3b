"""
A pass grows as its fleet does: operations are counted at once, twice and four times a size, not seconds.

`python -m benchmarks count` prints the same, and takes other sizes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import counting, fleets
from benchmarks.counting import Finding, counted, counted_at, too_fast
from gitplacer import hydrate, sharing
from gitplacer.grouping import group_objects
from gitplacer.kinds.record import RecordMember
from gitplacer.layout import groupfiles
from gitplacer.model.decision import Decision
from gitplacer.model.workload import Gang
from gitplacer.passes.reconcile import Outcome, Rewritten, reconcile_unless_quiet
from gitplacer.placement.books import Books
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.policies.idle import idle_policies
from gitplacer.source import accounts
from gitplacer.source.files import NoMemo
from gitplacer.source.manifests import SourceObject
from gitplacer.source.reading import read_source
from gitplacer.tree import Tree
from tests.fleetrepos import Fleet, silently
from tests.gitservers import git
from tests.stories import Story, cluster, policy, snapshot


@pytest.mark.slow
@pytest.mark.parametrize("trait", counting.TRAITS)
def test_no_step_of_a_pass_grows_faster_than_the_fleet(trait: str) -> None:
    found = counted_at(counting.START, traits=[trait])
    beside = f", {trait}" if trait else ""
    assert {name: list(map(str, too_fast(counts))) for name, counts in found.items()} == {
        f"cold{beside}": [],
        f"nothing changed{beside}": [],
    }
    for counts in found.values():  # that much of it was looked at
        assert sum(counts[0].values()) > 100_000
        assert {"hydrate.py hydrate", "placement/plan.py plan", "source/reading.py read_source"} <= set(counts[0])


@pytest.mark.slow
def test_a_quadratic_step_is_found_long_before_it_outweighs_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each decision was told apart it is held against all that came before: what a careless loop does."""
    asked, seen = hydrate.told_apart, list[Decision]()

    def careless(decision: Decision, updated: set[str]) -> Decision:
        seen.append(decision)
        for one in seen:
            asked(one, updated)
            asked(decision, updated)
        return asked(decision, updated)

    monkeypatch.setattr(hydrate, "told_apart", careless)
    counts = []
    for copies in (1, 2, 4):
        seen.clear()
        cold = next(counting.passes(fleets.Size(8, 2, 20), copies))[1]
        counts.append(counted(cold))
    whole = [sum(found.values()) for found in counts]
    assert whole[-1] < counting.MOST * whole[-2], "the sum alone does not tell"
    assert [finding.what for finding in too_fast(counts)] == ["hydrate.py told_apart"]


def test_every_turn_of_a_loop_counts() -> None:
    few, again, many = (counted(partial(Tree.of, {f"{n}": b"" for n in range(size)})) for size in (10, 10, 40))
    assert few == again
    assert sum(many.values()) - sum(few.values()) >= 30
    assert all(name.startswith("tree.py ") for name in many)


def test_what_more_than_doubles_is_named_the_largest_first_and_small_things_are_let_be() -> None:
    counts = [
        Counter({
            "linear": 10_000 * size, "square": 100 * size**2, "cube": 10 * size**3, "small": size**2,
            "linear, less a constant": 84 * size - 30,
        })
        for size in (1, 2, 4)
    ]  # fmt: skip
    assert too_fast(counts) == [Finding("square", (100, 400, 1600)), Finding("cube", (10, 80, 640))]
    assert str(too_fast(counts)[0]) == "square: 100 → 400 → 1,600"
    alone = [Counter({"square": 100 * size**2}) for size in (1, 2, 4)]
    assert [finding.what for finding in too_fast(alone)] == ["everything", "square"]


@pytest.mark.parametrize("numbers", [(10, 1000, 2000), (0, 0, 900), (10, 30, 90), (100, 300, 800)])
def test_what_begins_at_a_size_or_bends_is_no_straight_line(numbers: tuple[int, int, int]) -> None:
    counts = [Counter({"all": 20_000 * 2**at, "one": number}) for at, number in enumerate(numbers)]
    assert too_fast(counts) == [Finding("one", numbers)]


_SELECTORS = {
    "every app, by one label": "{matchLabels: {any: all}}",
    "one app, by two labels": "{matchLabels: {any: all, app: app-NUMBER}}",
    "one app, by one of two values": "{matchExpressions: [{key: app, operator: In, values: [app-NUMBER, none]}]}",
    "every app but one": "{matchExpressions: [{key: app, operator: NotIn, values: [app-NUMBER]}]}",
    "every app, for want of a label": "{matchExpressions: [{key: no-NUMBER, operator: DoesNotExist}]}",
    "one that has a label": "{matchExpressions: [{key: app, operator: In, values: [app-NUMBER]}, {key: any, operator: Exists}]}",
    "no app": "{matchLabels: {any: none}}",
    "the whole namespace": "{}",
}
_APP = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: app-NUMBER, labels: {pair: PAIR}}
spec:
  serviceName: SERVICE
  template:
    metadata: {labels: {app: app-NUMBER, any: all}}
    spec: {containers: [{name: m, image: i, resources: {requests: {cpu: 1}}}]}
"""
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: app-NUMBER}
spec:
  template:
    metadata: {labels: {app: app-NUMBER}}
    spec: {restartPolicy: Never, containers: [{name: m, image: i, resources: {requests: {cpu: 1}}}]}
"""
_SHOWN = """\
- name: all/app-NUMBER
  phase: Running
  ready: true
  pods:
  - {role: pod, node: n1, requests: {cpu: 1}}
"""
_RULE = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: rule-NUMBER}
spec: {podSelector: SELECTOR}
"""
_CALLED = """\
apiVersion: v1
kind: Service
metadata: {name: rule-NUMBER}
spec: {selector: SELECTOR, ports: [{port: 80}]}
"""
_PLAIN = "{matchLabels: "
_SELECTING = {
    **{f"watching {name}": _RULE.replace("SELECTOR", selector) for name, selector in _SELECTORS.items()},
    **{
        f"serving {name}": _CALLED.replace("SELECTOR", selector.removeprefix(_PLAIN)[:-1])
        for name, selector in _SELECTORS.items()
        if selector.startswith(_PLAIN)
    },
}
_APPROVAL = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Approval
metadata: {{name: a-{at}}}
spec: {{groups: ['all/app-{at}'], action: {action}, expires: "2026-01-03T00:00:00Z"}}
"""
_TENANT = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Tenant
metadata: {name: tNUMBER}
spec: {paths: ["PATHS"], namespaces: ["NAMESPACES"]}
"""
_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: all}
spec: {selector: {any: all}}
"""
_ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: all}
"""
_GATEWAY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: all}
spec:
  listeners:
"""
_LISTENER = "  - {name: l-NUMBER, tls: {certificateRefs: [{name: secret-NUMBER}]}}\n"
_ROUTE = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route-NUMBER}
spec: {parentRefs: [{name: all}], rules: [{backendRefs: [{name: service-NUMBER}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: service-NUMBER}
spec: {selector: {app: app-NUMBER}}
---
apiVersion: v1
kind: Secret
metadata: {name: secret-NUMBER}
"""


def _one_namespace(number: int, app: str, beside: str = "", *, once: str = "", by: str = "") -> Story:
    """So many apps of one namespace, and as many times what is beside each."""
    texts = {"workloads/all/once.yaml": once}
    for at in range(number):
        for name, text in (("app", app), ("beside", beside)):
            texts[f"workloads/all/{name}-{at}.yaml"] = text.replace("NUMBER", str(at)).replace(
                "PAIR", f"pair-{at // 2}"
            )
    return Story.of(cluster("a"), policy("all", f"select: {{}}\n{by}"), texts, capacity=snapshot("a", "n1 9000 64Gi 0"))


def _grouping_bends(made: Callable[[int], Story]) -> list[str]:
    """What takes more than its part when the groups of twice and four times as many apps are found."""
    sources = [read_source(made(number).inputs().source, NoMemo()) for number in (20, 40, 80)]
    return list(map(str, too_fast([counted(partial(group_objects, source)) for source in sources])))


@pytest.fixture
def less_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small fleets share too much as well."""
    monkeypatch.setattr(sharing, "TOGETHER", 0)
    monkeypatch.setattr(sharing, "EACH", 4)


@pytest.mark.usefixtures("less_is_shared")
@pytest.mark.parametrize("by", ["", "groupBy: {label: pair}\n"], ids=["alone", "in pairs"])
@pytest.mark.parametrize("rule", _SELECTING.values(), ids=_SELECTING)
def test_as_many_selectors_as_apps_do_not_take_the_square_of_them(rule: str, by: str) -> None:
    assert _grouping_bends(lambda number: _one_namespace(number, _APP, rule, by=by)) == []


@pytest.mark.parametrize(
    "select",
    [
        "labelSelector: {matchLabels: {app: app-NUMBER}}", "names: [app-NUMBER]", "paths: [workloads/all/app-NUMBER.yaml]",
        "labelSelector: {matchExpressions: [{key: has-NUMBER, operator: Exists}]}",
        "names: ['*-NUMBER']", "names: ['*p-NUMBER?', '[ab]??-NUMBER']", "kinds: ['*Set'], names: ['?pp-NUMBER']",
        "paths: ['**/app-NUMBER.yaml']", "paths: ['*/all/app-NUMBER.*']", "paths: ['{any}/*/app-NUMBER.y?ml']",
    ],
)  # fmt: skip
def test_as_many_policies_as_apps_do_not_take_the_square_of_them(select: str) -> None:
    def each_by_its_own(number: int) -> Story:
        story = _one_namespace(number, _APP.replace("pair: PAIR", "app: app-NUMBER, has-NUMBER: all"))
        for at in range(number):
            story.source |= policy(f"p-{at}", f"select: {{{select.replace('NUMBER', str(at))}}}\nprecedence: 1")
        return story

    assert _grouping_bends(each_by_its_own) == []


def test_a_policy_that_others_come_before_is_not_held_against_each_object_of_theirs_for_each_of_its_own() -> None:
    def overshadowed(number: int) -> Story:
        story = _one_namespace(number, _APP)
        story.source |= policy("first", "select: {namespaces: [all]}\nprecedence: 2")
        story.source |= policy("then", "select: {kinds: [StatefulSet]}\nprecedence: 1")
        return story

    sources = [read_source(overshadowed(number).inputs().source, NoMemo()) for number in (20, 40, 80)]
    told = [problem.message for problem in idle_policies(sources[-1], NoMemo()) if "then" in problem.message]
    assert told == ["policy then governs nothing: it selects 80 objects, all governed by first"]
    assert list(map(str, too_fast([counted(partial(idle_policies, source, NoMemo())) for source in sources]))) == []


@pytest.mark.parametrize(
    ("paths", "namespaces", "path"),
    [
        ("workloads/tNUMBER/**", "tNUMBER-*", "workloads/tNUMBER/a.yaml"),
        ("workloads/*/tNUMBER/**", "*-tNUMBER", "workloads/prod/tNUMBER/a.yaml"),
        ("**/tNUMBER/*.yaml", "tNUMBER", "workloads/prod/tNUMBER/a.yaml"),
        ("workloads/*/*-tNUMBER.yaml", "a*-tNUMBER", "workloads/prod/a-tNUMBER.yaml"),
    ],
)
def test_as_many_tenants_as_apps_do_not_take_the_square_of_them(paths: str, namespaces: str, path: str) -> None:
    def each_of_its_own(number: int) -> Story:
        story = Story.of(cluster("a"), policy("all", "select: {}"))
        for at in map(str, range(100, 100 + number)):
            tenant = _TENANT.replace("PATHS", paths).replace("NAMESPACES", namespaces)
            story.source[f"tenants/t{at}.yaml"] = tenant.replace("NUMBER", at)
            story.source[path.replace("NUMBER", at)] = _APP.replace("NUMBER", at)
        return story

    read = [partial(read_source, each_of_its_own(number).inputs().source, NoMemo()) for number in (20, 40, 80)]
    assert {len(once().tenancy.disputes) for once in read} == {0}
    assert list(map(str, too_fast([counted(once) for once in read]))) == []


@pytest.mark.parametrize("account", ["missing", "account-NUMBER"], ids=["one for all", "one each"])
def test_accounts_that_are_missing_are_not_held_against_all_that_are_there(
    account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many in a namespace that has the same of them at each size."""
    monkeypatch.setattr(accounts, "meant", lambda name, there: f"{len(list(there))} there")
    app = _APP.replace("{containers", f"{{serviceAccountName: {account}, containers")

    def wrong(number: int) -> Story:
        story = _one_namespace(number, app, once=_ACCOUNT)
        for at in range(number):
            story.source[f"workloads/other-{at}/account.yaml"] = _ACCOUNT.replace("all", f"other-{at}")
        return story

    reads = [partial(read_source, wrong(number).inputs().source, NoMemo()) for number in (20, 40, 80)]
    found = [
        [p for item in once().objects for p in item.problems if p.code == "ForeignServiceAccount"] for once in reads
    ]
    assert [len(problems) for problems in found] == [20, 40, 80]
    assert all(problem.hint.startswith("1 there") for problem in found[-1])
    assert list(map(str, too_fast([counted(once) for once in reads]))) == []


def test_a_row_of_routes_of_which_each_leads_to_the_next_is_followed_once() -> None:
    """Written from the far end to the app, so that whoever goes over all of them again and again gets one further each time."""
    route = "{apiVersion: traefik.io/v1alpha1, kind: TraefikService, metadata: {name: to-AT}, spec: {mirroring: {name: NEXT, kind: KIND}}}"

    def row(number: int) -> Story:
        story = _one_namespace(1, _APP, once=_SERVICE)
        for at in range(100, 100 + number):
            last = at == 99 + number
            to, kind = ("all", "Service") if last else (f"to-{at + 1}", "TraefikService")
            text = route.replace("AT", str(at)).replace("NEXT", to).replace("KIND", kind)
            story.source[f"workloads/all/to-{at}.yaml"] = text
        return story

    sources = [read_source(row(number).inputs().source, NoMemo()) for number in (40, 80, 160)]
    groups = [partial(group_objects, source) for source in sources]
    assert [[len(group.members) for group in once().groups.values()] for once in groups] == [[42], [82], [162]]
    assert list(map(str, too_fast([counted(once) for once in groups]))) == []


@pytest.mark.usefixtures("less_is_shared")
def test_what_apps_need_through_one_object_does_not_take_the_square_of_them() -> None:
    def by_a_gateway(number: int) -> Story:
        listeners = (_LISTENER.replace("NUMBER", str(at)) for at in range(number))
        return _one_namespace(number, _APP, _ROUTE, once=_GATEWAY + "".join(listeners))

    assert _grouping_bends(by_a_gateway) == []
    assert _grouping_bends(lambda number: _one_namespace(number, _APP.replace("SERVICE", "all"), once=_SERVICE)) == []


def test_objects_that_an_unread_file_may_speak_of_are_not_held_against_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = _one_namespace(4, _APP, _RULE.replace("SELECTOR", "{}"))
    story.source["workloads/all/once.yaml"] = "a: [\n" + "".join(f"rule-{at}\n" for at in range(4))
    source, held = read_source(story.inputs().source, NoMemo()), list[SourceObject]()
    monkeypatch.setattr(SourceObject, "__eq__", lambda one, other: held.append(one) or one is other)
    assert group_objects(source).problems == ()
    assert held == []


@pytest.mark.usefixtures("less_is_shared")
@pytest.mark.parametrize("how", ["watching", "serving"])
def test_a_pass_of_apps_that_share_everything_grows_as_they_do(how: str) -> None:
    made = partial(_one_namespace, app=_APP, beside=_SELECTING[f"{how} every app, by one label"])
    made(4).plan()
    counts = [counted(made(number).plan) for number in (20, 40, 80)]
    assert list(map(str, too_fast(counts))) == []


def test_apps_that_stand_with_what_they_share_do_not_take_the_square_of_them() -> None:
    assert _standing_bends(_APP.replace("{containers", "{serviceAccountName: all, containers"), once=_ACCOUNT) == []


@pytest.mark.parametrize(
    ("action", "names"),
    [
        pytest.param(action, names, marks=[pytest.mark.slow] * (action != "Move" and names != "all/app-"))
        for action in ("Move", "Return", "Remove", "Exceed")
        for names in ("all/app-", "*/app-", "a??/*-")
    ],
)
def test_as_many_approvals_as_apps_do_not_take_the_square_of_them(action: str, names: str) -> None:
    def told(number: int) -> dict[str, str]:
        approval = _APPROVAL.replace("all/app-", names)
        return {f"approvals/{at}.yaml": approval.format(at=at, action=action) for at in range(number)}

    assert _standing_bends(then=told) == []


def test_groups_that_a_cluster_shows_are_not_looked_for_one_after_another() -> None:
    assert _standing_bends(_JOB, shown=_SHOWN) == []


def test_who_waits_does_not_ask_each_autoscaler_for_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many apps as clusters, whose autoscalers add machines, but none with what the apps ask for; of one they add too few."""
    app = _APP.replace("requests: {cpu: 1}", "limits: {example.com/device: 2}")
    asked = list[str]()

    def counting_fit(books: Books, gang: Gang, name: str, *, scale_up: bool) -> Packing | Shortfall:
        if scale_up:
            asked.append(name)
        return fit(books, gang, name, scale_up=scale_up)

    fit = Books.fit
    monkeypatch.setattr(Books, "fit", counting_fit)
    for number in (4, 8):
        story = _one_namespace(number, app)
        for at in range(number):
            offers = "example.com/device: 1" if at else "example.com/device: 2"
            types = f"[{{name: t, max: 1, allocatable: {{cpu: 8, memory: 8Gi, pods: 9, {offers}}}}}]"
            story.source |= cluster(f"c-{at}", autoscaler=f"{{type: ClusterAutoscaler, nodeTypes: {types}}}")
            story.capacity |= snapshot(f"c-{at}", "n1 1 1Gi 0")
        asked.clear()
        placed = [decision.after for decision in story.plan(with_candidates=False).view.plan.decisions]
        assert sorted(placed) == [*[()] * (number - 1), ("c-0",)]
        assert len(asked) <= number


def _standing_bends(
    app: str = _APP,
    *,
    once: str = "",
    then: Callable[[int], dict[str, str]] = lambda number: {},
    shown: str = "",
) -> list[str]:
    """
    What takes more than its part in a pass of twice and four times as many apps that are placed, when the source says something more, or the cluster
    shows each of them.
    """

    def standing(number: int) -> Story:
        story = _one_namespace(number, app, once=once)
        placed = story.run(with_candidates=False)
        assert {decision.after for decision in placed.view.plan.decisions} == {("a",)}
        story.source |= then(number)
        if shown:
            story.now += timedelta(minutes=10)
            groups = "".join(shown.replace("NUMBER", str(at)) for at in range(number))
            story.capacity |= snapshot("a", "n1 9000 64Gi 0", at=story.now, more=f"groups:\n{groups}")
        return story

    standing(4).plan(with_candidates=False)
    counts = [counted(partial(standing(number).plan, with_candidates=False)) for number in (20, 40, 80)]
    return list(map(str, too_fast(counts)))


def test_what_a_record_says_of_a_shared_object_is_made_once_for_all_who_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []

    def noted(**said: Any) -> RecordMember:
        made.append(said["name"])
        return RecordMember(**said)

    monkeypatch.setattr(groupfiles, "RecordMember", noted)
    rule = _RULE.replace("SELECTOR", "{matchLabels: {any: all}}")
    done = _one_namespace(3, _APP, rule).plan()
    assert all(done.tree.read(f"placements/all/app-{at}.yaml").count(b"/_shared/") == 3 for at in range(3))
    assert sorted(made) == [f"{name}-{at}" for name in ("app", "rule") for at in range(3)]


def test_a_fleet_of_copies_has_everything_so_many_times() -> None:
    one, three = (counting.copied(fleets.Size(6, 4, 24), copies) for copies in (1, 3))
    for folder in ("clusters/", "capacity/", "workloads/", "tenants/"):
        assert sum(path.startswith(folder) for path in three) == 3 * sum(path.startswith(folder) for path in one)
    assert one["policies/jobs.yaml"] == three["policies/jobs.yaml"]
    hubs = [f"cluster-{copy}-0000" for copy in range(3)]
    assert all(f"'{hub}'" in three["policies/hub.yaml"] and f"clusters/{hub}.yaml" in three for hub in hubs)


LISTING = (
    "git/reading.py ",
    "git/worktree.py ",
    "tree.py ",
    "source/files.py is_read",
    "source/fleetspec.py readable_fleet",
    "source/edited.py Change.texts.<locals>.<genexpr>",
)
"""What lists the source and its snapshots, file after file."""


def _placed(folder: Path, copies: int) -> tuple[Fleet, int]:
    """A fleet of copies that was placed and found at rest, and the minute after that."""
    folder.mkdir()
    fleet = Fleet(folder / "source", str(folder / "deployment.git"), folder / "deployment.git")
    fleet.source.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=fleet.source)
    git("init", "-q", "--bare", "-b", "main", fleet.deployment, cwd=folder)
    fleet.commit(counting.copied(fleets.Size(6, 4, 24), copies))
    for minute in itertools.count(5):
        done = reconcile_unless_quiet(fleet.settings(minute), progress=silently)
        if isinstance(done, Outcome) and done.tip is None:
            return fleet, minute + 1
    raise AssertionError


def _edit_counted(folder: Path, copies: int, replaced: Callable[[str], str]) -> dict[str, int]:
    """The lines that are begun for a pass which publishes the edit of one RayJob, and plans no whole fleet."""
    fleet, minute = _placed(folder / str(copies), copies)
    files = {path.rpartition("/")[2] for path in fleet.files() if "/workloads/team-" in path}
    ended: list[object] = []
    jobs = (path for path in sorted(fleet.source.glob("workloads/**/*.yaml")) if "\nkind: RayJob\n" in path.read_text())
    path = next(path for path in jobs if path.name in files)
    fleet.commit({str(path.relative_to(fleet.source)): replaced(path.read_text())})
    later = fleet.settings(minute)
    found = counted(lambda: ended.append(reconcile_unless_quiet(later, progress=silently)))
    assert [type(each) for each in ended] == [Rewritten]
    return {name: number for name, number in found.items() if not name.startswith(LISTING)}


@pytest.mark.slow
@pytest.mark.unproved("a whole pass is what it is spared")
def test_a_text_that_was_edited_costs_the_same_in_every_fleet(tmp_path: Path) -> None:
    """Nothing that is done for it but listing the source knows how large the fleet is."""
    less, more = (_edit_counted(tmp_path, copies, lambda text: f"{text}# edited\n") for copies in (1, 4))
    assert sum(less.values()) > 1000
    assert sum(more.values()) < 1.05 * sum(less.values()), {
        name: n for name, n in more.items() if n > less.get(name, 0) + 10
    }


@pytest.mark.slow
@pytest.mark.unproved("a whole pass is what it is spared")
def test_an_image_that_was_edited_costs_little_more_in_a_larger_fleet(tmp_path: Path) -> None:
    """Its cluster is planned; of others only those who wait are read, because they are told of. A whole pass would cost four times as much."""
    less, more = (_edit_counted(tmp_path, copies, lambda text: text.replace("ray:2", "ray:3")) for copies in (1, 4))
    assert sum(less.values()) > 10_000
    assert sum(more.values()) < 1.6 * sum(less.values()), {
        name: n for name, n in more.items() if n > less.get(name, 0) + 1000
    }
