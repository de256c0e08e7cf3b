"""
What a group is on each cluster, worked out once for all clusters that are alike: held against every group and every cluster by itself.

The fleets are of chance: OverridePolicies by kind, name, pattern and label, clusters with overrides, sidecars, old operators, classes of storage, or none of
these, some without a snapshot.
"""

from __future__ import annotations

import pickle
import random
from functools import cache

import pytest

from gitplacer import workloads
from gitplacer.model.counts import AS_WRITTEN
from gitplacer.placement.onepass import Pass
from gitplacer.policies.overriding import Overrides
from gitplacer.policies.selection import selects
from gitplacer.problems import Severity
from gitplacer.snapshot import Snapshot
from gitplacer.variants import Variants
from tests.stories import Story, cluster, policy, rayjob, rayservice, snapshot
from tests.test_counts import document

SEEDS = range(30)

_HEAD = "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0"
_CHANGES = (
    f"{{path: {_HEAD}/image, value: mirror-%s/ray}}",
    f"{{path: {_HEAD}/image, op: remove}}",
    f'{{path: {_HEAD}/resources/requests/cpu, value: "%n"}}',
    "{path: /spec/rayClusterConfig/workerGroupSpecs/0/replicas, value: %n}",
    f"{{path: {_HEAD.replace('Config', 'Spec')}/image, value: mirror-%s/ray}}",
    f"{{path: {_HEAD.replace('Config', 'Spec')}/resources/requests/memory, value: %nGi}}",
    "{path: /metadata/annotations, op: add, value: {example.com/where: in-%s}}",
    "{path: /spec/template/spec/containers/0/image, value: mirror-%s/web}",
    "{path: /spec/template/spec/runtimeClassName, op: add, value: slow}",
    "{path: /spec/storageClassName, op: add, value: slow}",
    "{path: /spec/replicas, value: %n}",
    "{path: /spec/nothing/of/the/kind, value: 1}",
)
_PROFILES = (
    "{kuberay: {version: 1.5.0, headSidecars: [{name: logs, requests: {cpu: 100m}}]}}",
    "{kuberay: {version: 1.4.0}}",
    "{kuberay: {initContainerInjection: false}}",
    "{kuberay: {watchNamespaces: [a]}}",
    '{runtimeClasses: [{name: slow, overhead: {cpu: "1"}}]}',
    "{runtimeClasses: [{name: fast}]}",
    "{limitRanges: [{namespace: b, defaultRequest: {cpu: 700m}}]}",
    "{storageClasses: [{name: slow, zones: [z1]}, {name: fast, zones: [z2]}]}",
    "{storageClasses: [{name: slow}]}",
)
_SELECTS = (
    "{kinds: [RayService]}", "{kinds: [RayJob], namespaces: [a]}", "{names: [app-1]}", "{names: [app-1, app-4], namespaces: [a, b]}",
    '{names: ["app-*"]}', '{names: ["*-2", app-3]}', "{labelSelector: {matchLabels: {tier: front}}}", "{kinds: [PersistentVolumeClaim]}",
    "{namespaces: [b]}",
)  # fmt: skip
_WHERE = (
    "{matchLabels: {class: k}}",
    "{matchLabels: {class: m}}",
    "{names: [c-0]}",
    "{names: [c-1, c-3, nowhere]}",
    "{}",
    "{matchLabels: {class: k}, names: [c-2]}",
)
_WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""
_DATA = """\
      volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def _override(name: str, among: list[str], chance: random.Random) -> dict[str, str]:
    changes = "".join(f"  - {_on(change, name, chance)}\n" for change in chance.sample(among, chance.randint(1, 2)))
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {{name: {name}}}\nspec:\n"
        f"  select: {chance.choice(_SELECTS)}\n  clusters: {chance.choice(_WHERE)}\n  overrides:\n{changes}"
    )
    return {f"policies/{name}.yaml": text}


def _on(change: str, name: str, chance: random.Random) -> str:
    return change.replace("%s", name).replace("%n", str(chance.randint(1, 3)))


def _app(number: int, chance: random.Random) -> dict[str, str]:
    name, namespace = f"app-{number}", chance.choice("ab")
    match number % 4:
        case 0:
            return rayjob(namespace, name)
        case 1:
            return rayservice(namespace, name, labels="{tier: front}" if chance.random() < 0.5 else "{}")
        case 2:
            return {f"workloads/{namespace}/{name}.yaml": (_WEB + _DATA).replace("%s", name)}
    return {f"workloads/{namespace}/{name}.yaml": _WEB.replace("%s", name)}


def _fleet(seed: int) -> Story:
    chance = random.Random(seed)
    story = Story.of(policy("any", "select: {}"), *(_app(number, chance) for number in range(7)))
    if chance.random() < 0.3:
        story.source.update(policy("divided", "select: {names: [app-3]}\nprecedence: 1\nplacement: {type: Divide}"))
    profiles, changes = chance.sample(_PROFILES, 2), chance.sample(_CHANGES, 4)
    for number in range(chance.randint(3, 8)):
        name, spec = f"c-{number}", dict[str, str]()
        if chance.random() < 0.3:
            spec["overrides"] = f"[{', '.join(_on(each, name, chance) for each in chance.sample(changes, 2))}]"
        if chance.random() < 0.5:
            spec["profile"] = chance.choice(profiles)
        story.source.update(cluster(name, labels=f"{{class: {chance.choice('km')}}}", **spec))
        if chance.random() < 0.85:
            zoned = ", labels: {topology.kubernetes.io/zone: z1}"
            story.capacity.update(snapshot(name, f"n1 16 64Gi 8|{zoned}", "n2 16 64Gi 8"))
    for number in range(chance.randint(0, 6)):
        story.source.update(_override(f"over-{number}", changes, chance))
    return story


@cache
def _known(seed: int) -> Snapshot:
    """What a second pass over a fleet knows before it plans: some groups are placed, and have counts."""
    story = _fleet(seed)
    story.deployment = story.plan().tree
    return story.plan().snapshot


def _by_itself(snapshot: Snapshot, shared: Pass, group_id: str, name: str) -> object:
    """A group on a cluster, by somebody who has never heard of another."""
    variants = Variants(snapshot.source, snapshot.profiles, {})
    counts = shared.counts.get((group_id, name), AS_WRITTEN)
    gang = variants.gang(snapshot.groups[group_id], snapshot.source.own.clusters[name], counts)
    return shared.rosters.known(group_id, gang)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_is_on_each_cluster_what_it_is_by_itself(seed: int) -> None:
    snapshot = _known(seed)
    shared = Pass(snapshot, {})
    for group_id in snapshot.groups.keys() - shared.held.keys():
        found = {name: shared.rosters.on(group_id, name) for name in shared.clusters}
        assert found == {name: _by_itself(snapshot, shared, group_id, name) for name in found}
        told = [(gang, name) for gang, names in shared.gangs_on(group_id, list(found)) for name in names]
        assert sorted(name for _, name in told) == sorted(found)
        assert all(gang is found[name] for gang, name in told)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_same_anywhere_exactly_where_all_clusters_with_a_snapshot_make_it_that(seed: int) -> None:
    snapshot = _known(seed)
    shared = Pass(snapshot, {})
    for group_id in snapshot.groups.keys() - shared.held.keys():
        there = {id(gang): gang for name in snapshot.capacity if (gang := shared.rosters.on(group_id, name))}
        counted = any(key[0] == group_id for key in shared.counts)
        alike = len(there) == 1 and not counted
        assert shared.rosters.anywhere(group_id) is (there.popitem()[1] if alike else None)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_may_enter_the_clusters_against_which_there_is_nothing_one_by_one(seed: int) -> None:
    shared = Pass(_known(seed), {})
    for group in shared.groups.values():
        assert group.policy is not None
        one_by_one = [
            name
            for name, each in shared.clusters.items()
            if shared.entrance.may_not_enter(group, group.policy, each) is None
        ]
        assert list(shared.entrance.may_enter(group, group.policy)) == one_by_one


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_wrong_with_an_object_is_told_of_the_cluster_that_is_asked_about(seed: int) -> None:
    snapshot = _known(seed)
    for item in snapshot.source.objects:
        for each in snapshot.source.own.clusters.values():
            alone = Variants(snapshot.source, snapshot.profiles, {})
            assert snapshot.variants.problems(item, each) == alone.problems(item, each)


@pytest.mark.parametrize("seed", SEEDS)
def test_override_policies_that_are_looked_up_by_name_are_those_that_select(seed: int) -> None:
    source = _known(seed).source
    found = Overrides(source.own.overrides, source.namespace_labels)
    for each in source.own.clusters.values():
        assert list(found.on(each)) == [p for p in source.own.overrides if p.spec.clusters.unmet(each.labels()) is None]
    for item in source.objects:
        chosen = {p.name for p in source.own.overrides if selects(p.spec.select, item, source.namespace_labels)}
        assert found.of(item) == chosen


def test_the_fleets_have_what_they_are_for() -> None:
    """Clusters that are alike and that are not, and groups that are the same everywhere though clusters differ, and that are not."""
    alike = unlike = same = other = 0
    for seed in SEEDS:
        known = _known(seed)
        shared, variants = Pass(known, {}), known.variants
        numbers = [variants.likeness(each) for each in shared.clusters.values()]
        differing = [number for number in numbers if number]
        alike += len(differing) - len({*differing})
        unlike += len({*differing})
        for group_id in known.groups if differing else ():
            anywhere = shared.rosters.anywhere(group_id)
            same, other = same + (anywhere is not None), other + (anywhere is None)
    divided = sum(bool(Pass(_known(seed), {}).counts) for seed in SEEDS)
    assert min(alike, unlike, same, other) >= 10 and divided >= 3, (alike, unlike, same, other, divided)


_POD = "{containers: [{name: a, image: one, resources: {requests: {cpu: 1}}}], initContainers: [{name: b, image: two}]}"
_RAY = f"""\
{{rayVersion: 2.52.0, headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {_POD}}}}},
  workerGroupSpecs: [{{groupName: w, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {{}}, template: {{spec: {_POD}}}}}]}}"""
_SPECS = {
    "RayCluster": _RAY,
    "RayJob": f"{{entrypoint: x, rayClusterSpec: {_RAY}}}",
    "RayService": f"{{rayClusterConfig: {_RAY}}}",
    "RayCronJob": f"{{schedule: '* * * * *', jobTemplate: {{entrypoint: x, rayClusterSpec: {_RAY}}}}}",
    "Pod": _POD,
    "CronJob": f"{{schedule: '* * * * *', jobTemplate: {{spec: {{template: {{spec: {_POD}}}}}}}}}",
}


@pytest.mark.parametrize("kind", sorted(workloads.KINDS))
def test_which_images_its_containers_have_is_nothing_to_the_size_of_a_workload(kind: tuple[str, str]) -> None:
    api_group, name = kind
    spec = _SPECS.get(
        name, f"{{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {_POD}}}}}"
    )
    version = "/".join(
        filter(None, (api_group, workloads.KINDS[kind].versions[0] if workloads.KINDS[kind].versions else "v1"))
    )
    text = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: x, namespace: y}}\nspec: {spec}\n"
    (plain, told), (mirrored, _) = (
        workloads.read(document(each)) for each in (text, text.replace("image: ", "image: mirror.example/"))
    )
    assert not [problem for problem in told if problem.severity is Severity.ERROR]
    assert plain.sized and any(role.count for role in plain.roles)
    assert mirrored == plain


_TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}}
"""
_CLAIMING = """\
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}, claims: [{name: gpu}]}}]
"""


def _changed(name: str, select: str, where: str, path: str, value: str) -> dict[str, str]:
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {{name: {name}}}\nspec:\n  select: {select}\n"
        f"  clusters: {{names: [{where}]}}\n  overrides:\n  - {{path: {path}, value: {value}}}\n"
    )
    return {f"policies/{name}.yaml": text}


_CPU = "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/resources/requests/cpu"
CASES = {
    "by kind here, by namespace there": (
        rayservice("a", "app-1"),
        _changed("one", "{kinds: [RayService]}", "c-0", _CPU, '"3"'),
        _changed("two", "{namespaces: [b]}", "c-1", _CPU, '"3"'),
    ),
    "a template by which devices are claimed": (
        {"workloads/a/app.yaml": _CLAIMING, "workloads/a/template.yaml": _TEMPLATE},
        {"workloads/a/web.yaml": _CLAIMING.replace("name: app", "name: web")},
        _changed("one", "{names: [one-gpu]}", "c-0", "/spec/spec/devices/requests/0/exactly/count", "2"),
    ),
    "two objects of one group": (
        rayservice("a", "app-1", labels="{pair: p}"),
        rayservice("a", "app-2", labels="{pair: p}"),
        policy("any", "select: {}\ngroupBy: {label: pair}"),
        _changed("one", "{names: [app-1]}", "c-0", _CPU, '"3"'),
        _changed("two", "{names: [app-2]}", "c-0, c-1", _CPU, '"4"'),
    ),
    "what counts for all, taken back for one on the first of two": (
        rayservice("a", "app-1"),
        _changed("one", "{kinds: [RayService]}", "c-0, c-1", _CPU, '"3"'),
        _changed("two", "{names: [app-1]}", "c-0", _CPU, '"2"'),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_clusters_are_told_apart_by_whatever_makes_a_group_another_there(case: str) -> None:
    clusters = {name: snapshot(name, "n1 16 64Gi 8") for name in ("c-0", "c-1", "c-2")}
    story = Story.of(policy("any", "select: {}"), *CASES[case], *(cluster(name) for name in clusters))
    for text in clusters.values():
        story.capacity.update(text)
    known = story.plan().snapshot
    shared = Pass(known, {})
    differs = 0
    for group_id in shared.groups:
        found = {name: shared.rosters.on(group_id, name) for name in clusters}
        assert found == {name: _by_itself(known, shared, group_id, name) for name in clusters}
        alike = len({id(gang) for gang in found.values()}) == 1
        assert (shared.rosters.anywhere(group_id) is not None) == alike
        differs += not alike
    assert differs


def test_what_an_app_asks_of_clusters_is_asked_of_those_that_are_like_it() -> None:
    """A RuntimeClass that no cluster has is named for all apps on two clusters, and for one app on the first of these another change takes that back."""
    path = "/spec/rayClusterConfig/headGroupSpec/template/spec/runtimeClassName"
    story = Story.of(
        policy("any", "select: {}"), rayservice("a", "app-1"), rayservice("a", "app-2"), rayservice("a", "app-3"),
        *(cluster(name, profile="{runtimeClasses: []}") for name in ("c-0", "c-1", "c-2")),
        _changed("one", "{kinds: [RayService]}", "c-0, c-1", f"{path}, op: add", "gone"),
        _changed("two", "{names: [app-1]}", "c-0", f"{path}, op: add", '""'),
        _changed("three", "{names: [app-3]}", "c-2", f"{path}, op: add", "gone"),
    )  # fmt: skip
    for name in ("c-0", "c-1", "c-2"):
        story.capacity.update(snapshot(name, "n1 16 64Gi 8"))
    shared = Pass(story.plan().snapshot, {})
    entered = {g.name: shared.entrance.may_enter(g, g.policy) for g in shared.groups.values() if g.policy is not None}
    assert entered == {"app-1": ("c-0", "c-2"), "app-2": ("c-2",), "app-3": ()}


def test_what_is_wrong_on_clusters_that_are_alike_is_told_where_each_says_it() -> None:
    path = "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/securityContext"
    overrides = f"[{{path: {path}, op: add, value: {{privileged: true}}}}]"
    clusters = (cluster(name, overrides=overrides) for name in ("c-0", "c-1"))
    known = Story.of(policy("any", "select: {}"), rayservice("a", "app-1"), *clusters).plan().snapshot
    [item] = known.source.objects
    own = known.source.own.clusters.values()
    assert len({known.variants.likeness(each) for each in own}) == 1
    told = [(problem.code, problem.location.file) for each in own for problem in known.variants.problems(item, each)]
    assert told == [("PrivilegedPod", "clusters/c-0.yaml"), ("PrivilegedPod", "clusters/c-1.yaml")]


def test_answers_stay_in_the_process_in_which_objects_are_where_they_are() -> None:
    known = _known(3)
    fresh, asked = (Variants(known.source, known.profiles, {}) for _ in range(2))
    for group in known.groups.values():
        for each in known.source.own.clusters.values():
            asked.gang(group, each)
            asked.concerned(group)
    assert len(pickle.dumps(asked)) == len(pickle.dumps(fresh))
    again: Variants = pickle.loads(pickle.dumps(asked))
    [item, *_] = known.source.objects
    clusters = known.source.own.clusters.values()
    assert [again.facts(item, each) for each in clusters] == [asked.facts(item, each) for each in clusters]
