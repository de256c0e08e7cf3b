"""
What runs keeps its room: whatever an override, a broken file, an old operator or a lost declaration makes of the manifest.

Each story fills a cluster, changes something that frees nothing, and sees that a second group waits.
"""

from __future__ import annotations

import pytest

from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot

DEVICE = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus, namespace: %s}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}}
"""
DOMAIN = """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: rack, namespace: x}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: gpus}}}
"""
CLAIMING = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: %s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
      containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]
"""


def claiming(namespace: str, name: str) -> dict[str, str]:
    return {
        f"workloads/{namespace}/claim.yaml": CLAIM % namespace,
        f"workloads/{namespace}/{name}.yaml": CLAIMING % (name, namespace, name, name),
    }


def devices() -> dict[str, str]:
    """A snapshot with two devices on one node."""
    plain = snapshot("a", "n1 16 64Gi")["a.yaml"]
    return {"a.yaml": plain.replace("memory: 64Gi}", f'memory: 64Gi, {DEVICE}: "2"}}')}


def override(kind: str, path: str, value: str) -> dict[str, str]:
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\n"
        f"spec: {{select: {{kinds: [{kind}]}}, overrides: [{{path: {path}, op: add, value: {value}}}]}}\n"
    )
    return {"policies/o.yaml": text}


NOTE = override("Deployment", "/spec/template/metadata/annotations", "{note: more}")
FOUR = override("ResourceClaimTemplate", "/spec/spec/devices/requests/0/exactly/count", "4")


def test_claimed_devices_count_whatever_an_override_changes_beside_them() -> None:
    for more in ({}, NOTE):
        story = Story.of(cluster("a"), ANYWHERE, claiming("x", "one"), claiming("z", "two"), more, capacity=devices())
        assert outcome(story.run()) == {"x/one": "Place a Fits", "z/two": "Wait  NoClusterFits"}


def test_an_override_of_a_claim_template_counts_where_it_applies() -> None:
    story = Story.of(cluster("a"), ANYWHERE, claiming("x", "one"), FOUR, capacity=devices())
    assert outcome(story.run()) == {"x/one": "Wait  NoClusterFits"}


def test_the_channels_of_a_compute_domain_count_and_it_goes_along_with_its_pods() -> None:
    """Two pods of one domain take the channels of two nodes, also once the files are all that is known of them."""
    plain = snapshot("a", "n1 16 64Gi", "n2 16 64Gi")["a.yaml"]
    channel = "deviceclass.resource.kubernetes.io/compute-domain-default-channel.nvidia.com"
    room = {
        "a.yaml": plain.replace("memory: 64Gi}", f'memory: 64Gi, {channel}: "1"}}')
        + "serves: [resource.nvidia.com/v1beta1]\n"
    }
    story = Story.of(cluster("a"), ANYWHERE, {**claiming("x", "one"), "workloads/x/claim.yaml": DOMAIN}, capacity=room)
    done = story.run()
    assert outcome(done) == {"x/one": "Place a Fits"}
    assert "clusters/a/workloads/x/one/claim.yaml" in done.tree
    story.source["workloads/x/one.yaml"] = "kind: [\n"
    other = f'{{name: c, image: i, resources: {{limits: {{{channel}: "1"}}}}}}'
    story.source["workloads/x/two.yaml"] = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: two}}\nspec: {{containers: [{other}]}}\n"
    )
    assert outcome(story.run())["x/two"] == "Wait  NoClusterFits"


ELASTIC = rayservice("x", "one", workers=2, gpus=1)["workloads/x/one.yaml"].replace(
    "  rayClusterConfig:\n", "  rayClusterConfig:\n    enableInTreeAutoscaling: true\n"
)
PLAIN = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: one}\nspec:\n  replicas: 2\n" + (
    "  template: {metadata: {labels: {app: one}}, spec: {containers: [{name: c, image: i}]}}\n"
)
LIMITS = "{limitRanges: [{namespace: x, defaultRequest: {cpu: 2}}]}"
MAXIMUM = policy("anywhere", "select: {}\nplacement: {reserve: Maximum}")


@pytest.mark.parametrize(
    ("files", "rule", "profile", "capacity"),
    [
        (claiming("x", "one"), ANYWHERE, "{}", devices()),
        # a LimitRange gives each of the two pods 2 cpu
        ({"workloads/x/one.yaml": PLAIN}, ANYWHERE, LIMITS, snapshot("a", "n1 4 64Gi 9")),
        # ten workers of one GPU may come
        ({"workloads/x/one.yaml": ELASTIC}, MAXIMUM, "{}", snapshot("a", "n1 99 640Gi 10")),
    ],
    ids=["devices", "limits", "maximum"],
)
@pytest.mark.parametrize("harm", ["replicas: two", "replicas: ["])
def test_a_group_whose_file_is_broken_holds_what_it_runs_with(
    harm: str, files: dict[str, str], rule: dict[str, str], profile: str, capacity: dict[str, str]
) -> None:
    story = Story.of(cluster("a", profile=profile), rule, files, capacity=capacity)
    assert outcome(story.run()) == {"x/one": "Place a Fits"}
    story.source["workloads/x/one.yaml"] = story.source["workloads/x/one.yaml"].replace("replicas: 2", harm)
    other = "apiVersion: v1\nkind: Pod\nmetadata: {name: two}\nspec: {containers: [{name: c, resources: {%s}}]}\n"
    asks = {"{}": f'limits: {{{DEVICE}: "1"}}', LIMITS: "requests: {cpu: 1}"}[profile]
    if rule is MAXIMUM:
        asks = 'limits: {nvidia.com/gpu: "1"}'
    story.source["workloads/z/two.yaml"] = other % asks
    done = story.run()
    assert outcome(done)["x/one"].startswith("Hold a ")
    assert outcome(done)["z/two"] == "Wait  NoClusterFits"


@pytest.mark.parametrize(("version", "second"), [("1.6.2", "Wait  NoClusterFits"), ("1.7.0", "Place a Fits")])
def test_an_operator_that_drops_a_field_goes_on_as_before(version: str, second: str) -> None:
    story = Story.of(
        cluster("a", profile=f"{{kuberay: {{version: {version}}}}}"),
        ANYWHERE,
        rayservice("x", "one", workers=2),
        capacity=snapshot("a", "n1 16 64Gi 2"),
    )
    story.run()
    text = story.source["workloads/x/one.yaml"]
    story.source["workloads/x/one.yaml"] = text.replace("spec:\n  ray", "spec:\n  suspend: true\n  ray", 1)
    story.source |= rayservice("z", "two", workers=2)
    assert outcome(story.run()) == {"x/one": "Update a Updated", "z/two": second}


KIND = """\
apiVersion: gitplacer.dev/v1alpha1
kind: WorkloadKind
metadata: {name: trainer}
spec:
  apiGroup: example.com
  kind: Trainer
  versions: [v1]
  pods: [{template: [/spec/template], count: [{paths: [/spec/replicas], default: 1}]}]
"""
TRAINERS = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Tenant
metadata: {name: x}
spec: {paths: ["workloads/**"], namespaces: [x], kinds: ["*", Trainer]}
"""
"""Who may write the kind, declared or not."""
TRAINER = """\
apiVersion: example.com/v1
kind: Trainer
metadata: {name: app}
spec: {replicas: 2, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}
"""


@pytest.mark.parametrize(
    "lost",
    [
        {},
        {"kinds/trainer.yaml": KIND.replace("kind: WorkloadKind", "kind: WorkloadKnd")},
        {"kinds/trainer.yaml": KIND.replace("kind: Trainer", "kind: Trainr")},
        {"kinds/trainer.yaml": KIND.replace("example.com", "example.org")},
        {"workloads/x/trainer.yaml": KIND},
        {"kinds/.trainer.yaml": KIND},
    ],
    ids=["removed", "misspelt kind", "other kind", "other group", "moved", "hidden"],
)
def test_an_app_is_not_removed_because_nobody_declares_its_kind_any_more(lost: dict[str, str]) -> None:
    files = {"kinds/trainer.yaml": KIND, "workloads/x/app.yaml": TRAINER, "tenants/x.yaml": TRAINERS}
    story = Story.of(cluster("a"), ANYWHERE, files, capacity=snapshot("a", "n1 4 64Gi", more="serves: [example.com]\n"))
    assert outcome(story.run()) == {"x/app": "Place a Fits"}
    written = story.files()
    del story.source["kinds/trainer.yaml"]
    story.source |= lost
    assert outcome(story.run())["x/app"] == "Hold a UndeclaredKind"
    assert story.files() == written
    # taken out of the source by its owner it goes
    del story.source["workloads/x/app.yaml"]
    assert outcome(story.run())["x/app"] == "Remove  SourceRemoved"


def test_a_node_too_small_for_its_agent_closes_no_other() -> None:
    agent = (
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n"
        "  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n"
    )
    story = Story.of(cluster("a"), ANYWHERE, {"workloads/x/agent.yaml": agent}, capacity=snapshot("a", "n1 8 64Gi 8"))
    story.run()
    story.capacity = snapshot("a", "n1 8 64Gi 8", "n2 500m 1Gi", at=story.now)
    story.source |= rayservice("z", "two", cpu="2", workers=1)
    assert outcome(story.run()) == {"x/agent": "Keep a Outgrown", "z/two": "Place a Fits"}


# what overrides produce is judged as what people write


def test_an_override_that_kuberay_would_refuse_holds_the_group() -> None:
    bad = override("RayService", "/spec/upgradeStrategy", "{type: Recreate}")
    story = Story.of(cluster("a"), ANYWHERE, rayservice("x", "app"), bad, capacity=snapshot("a", "n1 64 256Gi 8"))
    done = story.run()
    assert outcome(done) == {"x/app": "Hold  HasProblems"}
    assert {p.code for p in done.problems} == {"InvalidUpgradeStrategy"}


def test_a_feature_that_an_override_takes_away_is_not_missed() -> None:
    text = rayservice("x", "app")["workloads/x/app.yaml"]
    text = text.replace("{containers: [{name: worker", "{runtimeClassName: gvisor, containers: [{name: worker")
    usual = override("RayService", "/spec/rayClusterConfig/workerGroupSpecs/0/template/spec/runtimeClassName", "kata")
    has_kata = cluster("a", profile="{runtimeClasses: [{name: kata}]}")
    for more, codes in (({}, ["ServedNowhere"]), (usual, [])):
        files = {"workloads/x/app.yaml": text, **more}
        story = Story.of(has_kata, ANYWHERE, files, capacity=snapshot("a", "n1 64 256Gi 8"))
        assert [p.code for p in story.run().problems] == codes
