"""Examples of files, fields, objects, groups and repos."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import (
    APPROVAL,
    CLUSTER,
    HEAD,
    JOB,
    NODES,
    PLATFORM,
    POD,
    POLICY,
    RANKS,
    RANKS_KIND,
    RAYCLUSTER,
    ROLE,
    SCENARIO,
    SELECT,
    SERVICE,
    SETTINGS,
    SNAPSHOT,
    TENANT,
    WORKER,
    approval,
    policy,
    settings,
    workload,
)
from docs.problem_examples.rayjobs import service
from gitplacer.model.signers import Flaw, Uncounted
from gitplacer.tree import SYMLINK, Entry

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "ApprovalExpired": (approval("hello/hello", "my-cluster", "2025-12-31T18:00:00Z"),),
    "ApprovalTooLong": (approval("hello/hello", "my-cluster", "2026-12-31T18:00:00Z"),),
    "ApprovalNeedsPlan": (
        Example(
            (("approvals/drill.yaml", APPROVAL.format("drill", "hello/*", "other-cluster", "2026-01-03T00:00:00Z")),),
            "`hello/hello` runs on `my-cluster`:",
            beside={"clusters/other-cluster.yaml": CLUSTER.format("other-cluster", "  state: Active\n")},
            first={},
        ),
    ),
    "ApprovalForOtherPlan": (
        Example(
            (
                (
                    "approvals/drill.yaml",
                    APPROVAL.format("drill", "hello/*", "other-cluster", "2026-01-03T00:00:00Z")
                    + f"  plan: sha256:{'0' * 64}\n",
                ),
            ),
            "`hello/hello` runs on `my-cluster`:",
            beside={"clusters/other-cluster.yaml": CLUSTER.format("other-cluster", "  state: Active\n")},
            first={},
        ),
    ),
    "ApprovalImpossible": (
        Example(
            (
                (
                    "approvals/drill.yaml",
                    APPROVAL.format("drill", "hello/hello", "other-cluster", "2026-01-03T00:00:00Z"),
                ),
            ),
            "`other-cluster` is in the fleet and has no capacity snapshot; the app runs on `my-cluster`:",
            beside={"clusters/other-cluster.yaml": CLUSTER.format("other-cluster", "  state: Active\n")},
            first={},
        ),
    ),
    "ApprovalsDisagree": (
        Example(
            (
                ("approvals/one.yaml", APPROVAL.format("one", "hello/hello", "my-cluster", "2026-01-03T00:00:00Z")),
                ("approvals/two.yaml", APPROVAL.format("two", "hello/hello", "other-cluster", "2026-01-03T00:00:00Z")),
            ),
        ),
    ),
    "AmbiguousPolicy": (
        Example(
            (("policies/second.yaml", POLICY.format("second", "  select:\n    namespaces: [hello]\n")),),
            "A second policy that selects what `policies/general.yaml` selects already:",
        ),
    ),
    "BrokenWorkloadKind": (
        Example(
            (
                ("workloads/hello/ranks.yaml", RANKS),
                ("kinds/mpirun.yaml", RANKS_KIND.replace("finishes: true", 'finishes: "yes"')),
            ),
            "A declaration with a mistake, and an object of the kind that it declares:",
        ),
    ),
    "CannotBeSized": (
        workload(
            "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata:\n  name: web\nspec:\n  replicas: 3\n"
            "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n",
            "web",
        ),
    ),
    "CannotEdit": (
        Example(
            (
                (
                    "policies/override.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata:\n  name: more-workers\nspec:\n"
                    "  select:\n    kinds: [RayCluster]\n  overrides:\n"
                    "  - {path: /spec/workerGroupSpecs/7/replicas, value: 2}\n",
                ),
            ),
            "The RayCluster has one worker group, not eight:",
        ),
    ),
    "CaseTwin": (
        Example(
            ((SETTINGS, f"{HEAD}data: {{}}\n"), ("workloads/hello/Settings.yaml", f"{HEAD}data: {{}}\n")),
        ),
    ),
    "ConflictMarkers": (settings("data:\n<<<<<<< HEAD\n  level: info\n=======\n  level: debug\n>>>>>>> other\n"),),
    "ContradictoryAnnotation": (
        Example(
            (
                (
                    "workloads/hello/both.yaml",
                    POD.format("a", "  annotations: {gitplacer.dev/cluster: my-cluster}\n", "")
                    + "---\n"
                    + POD.format("b", "  annotations: {gitplacer.dev/cluster: other-cluster}\n", ""),
                ),
                ("policies/general.yaml", POLICY.format("general", f"{SELECT}  groupBy: {{namespace: true}}\n")),
            ),
            beside={"clusters/other-cluster.yaml": CLUSTER.format("other-cluster", "  state: Active\n")},
        ),
    ),
    "CopiesOfAJob": (
        Example(
            (
                ("policies/general.yaml", POLICY.format("general", f"{SELECT}  placement: {{copies: All}}\n")),
                ("workloads/hello/train.yaml", JOB),
            ),
        ),
    ),
    "ClaimForOnePod": (
        workload(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
            "spec: {accessModes: [ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}\n---\n"
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: 2\n"
            "  selector: {matchLabels: {app: x}}\n  template:\n    metadata: {labels: {app: x}}\n    spec:\n"
            "      containers: [{name: main, image: busybox}]\n"
            "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
        ),
    ),
    "ClaimForOneNode": (
        workload(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
            "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n---\n"
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: 2\n"
            "  selector: {matchLabels: {app: x}}\n  template:\n    metadata: {labels: {app: x}}\n    spec:\n"
            "      containers: [{name: main, image: busybox}]\n"
            "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
        ),
    ),
    "DividedSingleton": (
        Example(
            (
                ("policies/general.yaml", POLICY.format("general", f"{SELECT}  placement: {{type: Divide}}\n")),
                ("workloads/hello/train.yaml", JOB),
            ),
        ),
    ),
    "WeightedClusterMissing": (
        policy(f"{SELECT}  placement:\n    type: Divide\n    weights: {{static-clutser: 70, my-cluster: 30}}\n"),
    ),
    "WishedClusterMissing": (workload(POD.format("main", "  annotations: {gitplacer.dev/cluster: my-clutser}\n", "")),),
    "CustomTag": (settings("data:\n  level: !secret level\n"),),
    "DuplicateGroupName": (
        workload(RAYCLUSTER + WORKER.format("gpu", 1, 1, 1) + WORKER.format("gpu", 2, 2, 2), "two"),
    ),
    "DuplicateKey": (settings("data:\n  level: info\n  level: debug\n"),),
    "DuplicateName": (
        Example(
            (("policies/copy.yaml", POLICY.format("general", "  select:\n    namespaces: [other]\n")),),
            "`policies/general.yaml` has a policy of that name already:",
        ),
    ),
    "DuplicateObject": (
        Example(
            (
                ("workloads/hello/settings.yaml", f"{HEAD}data: {{}}\n"),
                ("workloads/hello/more/settings.yaml", f"{HEAD}data: {{level: debug}}\n"),
            ),
        ),
    ),
    "EnginesDisagree": (
        settings("data: {}  # +argocd:skip-file-rendering\n"),
        workload("""\
apiVersion: v1
kind: Pod
metadata: {name: x}
spec:
  containers:
  - name: main
    image: python:3.11
    resources: {requests: {cpu: 100m, memory: 64Mi}}
    args:
    -
"""),
        settings("data: {released: 2026-01-02}\n"),
    ),
    "FileTooLarge": (
        Example((), "A file of five megabytes:", beside={SETTINGS: f"{HEAD}data:\n  x: {'x' * 5_000_000}\n"}),
    ),
    "GroupIdTaken": (
        Example(
            (
                ("workloads/hello/pod.yaml", POD.format("worker", "", "")),
                ("workloads/hello/job.yaml", JOB.replace("name: train", "name: worker")),
            ),
        ),
    ),
    "InTwoGroups": (
        Example(
            (
                ("workloads/hello/service.yaml", SERVICE),
                (
                    "workloads/hello/pods.yaml",
                    POD.format("one", "  labels: {team: a}\n", "")
                    + "---\n"
                    + POD.format("two", "  labels: {team: a}\n", ""),
                ),
            ),
        ),
    ),
    "InvalidCharacter": (
        Example((), "A control character in a value:", beside={SETTINGS: f"{HEAD}data:\n  level: in\x07fo\n"}),
    ),
    "InvalidGroupName": (
        Example(
            (
                ("policies/general.yaml", POLICY.format("general", f"{SELECT}  groupBy: {{directory: true}}\n")),
                ("workloads/hello/my app/pod.yaml", POD.format("main", "", "")),
            ),
        ),
    ),
    "InvalidMerge": (settings("data:\n  <<: debug\n"),),
    "InvalidObject": (workload("apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: worker-\n"),),
    "InvalidQuantity": (workload(POD.format("main", "", '    resources: {requests: {cpu: "two"}}\n')),),
    "InvalidReplicas": (workload(RAYCLUSTER + WORKER.format("gpu", 1, 4, 2), "two"),),
    "InvalidResources": (
        workload(POD.format("main", "", "    resources:\n      requests: {cpu: 4}\n      limits: {cpu: 2}\n")),
        workload(
            JOB.replace("  rayClusterSpec:\n", "  shutdownAfterJobFinishes: true\n  rayClusterSpec:\n")
            .replace("    headGroupSpec:\n", "    enableInTreeAutoscaling: true\n    headGroupSpec:\n")
            .replace(
                "          containers:\n",
                '          resources: {requests: {cpu: "1", memory: 8Gi}}\n          containers:\n',
            ),
            "train",
        ),
    ),
    "InvalidValue": (policy(f"{SELECT}  placement: {{type: Capasity}}\n"),),
    "InvalidYAML": (
        settings("data: {level: info\n"),
        settings("data: {level: info}\n--- {note: Kubernetes would not see this}\n"),
    ),
    "MisplacedKind": (Example((("clusters/snapshot.yaml", SNAPSHOT.format("my-cluster")),)),),
    "MissingField": (policy("  placement: {type: Capacity}\n"),),
    "MissingNamespace": (
        Example(
            (("workloads/pod.yaml", POD.format("main", "", "")),),
            "Not below `workloads/<namespace>/`, and with no `metadata.namespace`:",
        ),
    ),
    "MixedPolicies": (
        Example(
            (
                ("policies/general.yaml", POLICY.format("general", "  select:\n    kinds: [RayCluster]\n")),
                ("policies/jobs.yaml", POLICY.format("jobs", "  select:\n    kinds: [RayJob]\n")),
                (
                    "workloads/hello/train.yaml",
                    "apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: train\nspec:\n"
                    "  entrypoint: python train.py\n  clusterSelector: {ray.io/cluster: hello}\n",
                ),
            ),
            "A job that runs on the Ray cluster `hello`, which another policy governs:",
        ),
    ),
    "NoPolicy": (policy("  select:\n    namespaces: [production]\n"),),
    "NoSuchCluster": (approval("hello/hello", "my-clutser", "2026-01-03T00:00:00Z"),),
    "NoSuchGroup": (approval("hello/helo", "my-cluster", "2026-01-03T00:00:00Z"),),
    "NoSuchPolicy": (workload(POD.format("main", "  annotations: {gitplacer.dev/policy: generel}\n", "")),),
    "NonStringKey": (settings("data:\n  8080: http\n"),),
    "NotAFile": (
        Example(
            (),
            "`workloads/hello/link.yaml` is a symbolic link:",
            tree=(("workloads/hello/link.yaml", Entry(SYMLINK, "0" * 40)),),
        ),
    ),
    "NotAMapping": (
        workload("- apiVersion: v1\n  kind: Pod\n"),
        workload("apiVersion: v1\nkind: List\nitems:\n"),
    ),
    "NoTenant": (
        Example(
            (("tenants/research.yaml", TENANT.format("research", "research", "research")),),
            "With the first Tenant, workloads that are in no Tenant's paths are nobody's:",
        ),
    ),
    "NotTheTenants": (
        Example(
            (("tenants/hello.yaml", TENANT.format("hello", "hello", "greetings")),),
            "The app is in the tenant's paths, and its namespace `hello` is not one of the tenant's:",
        ),
    ),
    "QuotaOfNothing": (
        Example(
            (("tenants/hello.yaml", TENANT.format("hello", "hello", "hello") + '  quota: {cpus: "64"}\n'),),
        ),
    ),
    "TenantsOverlap": (
        Example(
            (
                ("tenants/hello.yaml", TENANT.format("hello", "hello", "hello")),
                ("tenants/world.yaml", TENANT.format("world", "h*", "world")),
            ),
        ),
    ),
    "NotAllowed": (
        workload("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: admin\nrules: []\n"),
    ),
    "NotCounted": (
        workload(
            POD.format("main", "", "  schedulingGates: [{name: example.com/quota}]\n"),
        ),
    ),
    "NotInAGroup": (settings("data: {level: info}\n"),),
    "NotJSON": (settings("data:\n  level: .inf\n"),),
    "ScenarioStep": (
        Example(
            (
                (
                    "scenarios/drain.yaml",
                    SCENARIO
                    + """\
  - title: It is to be emptied
    push:
      edit:
        clusters/on-prem.yaml: [{replace: "state: Active", with: "state: Draining"}]
""",
                ),
            ),
        ),
    ),
    "ScenarioDiffers": (
        Example(
            (
                (
                    "scenarios/hello.yaml",
                    SCENARIO
                    + """\
  - title: There is one cluster and nothing to place
    expect:
      commits:
      - subject: Place hello/world
""",
                ),
            ),
        ),
    ),
    "NotOneDocument": (
        Example((("capacity/my-cluster.yaml", SNAPSHOT.format("my-cluster") + "---\n" + SNAPSHOT.format("other")),)),
    ),
    "FleetNotOnTop": (
        Example(
            (
                (
                    "fleet.yaml",
                    "# it is in settings/fleet.yaml\n",
                ),
                (
                    "settings/fleet.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {}\n",
                ),
            ),
        ),
    ),
    "NotOneFleet": (
        Example(
            (
                (
                    "second.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata:\n  name: second\nspec: {}\n",
                ),
            ),
        ),
    ),
    "ClusterMissing": (
        Example(
            (("clusters/edge.yaml", "metadata: [\n"),),
            "A group is on the cluster `edge`, whose file was damaged:",
            first={},
            deployment={
                "placements/hello/old.yaml": (
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Placement\nmetadata: {name: old, namespace: hello}\n"
                    "policy: general\nclusters: [{name: edge, since: 2026-01-02T03:04:05Z, epoch: 1}]\nreason: Fits\n"
                )
            },
        ),
    ),
    "NameTaken": (
        Example(
            (),
            "The deployment repo has a file `clusters/my-cluster`, where a directory is to be:",
            deployment={"clusters/my-cluster": "not a directory\n"},
        ),
    ),
    "NotOurs": (
        Example(
            (),
            "The deployment repo has a file `clusters/my-cluster/workloads/mine.yaml` that gitplacer did not write:",
            deployment={"clusters/my-cluster/workloads/mine.yaml": f"{HEAD}data: {{}}\n"},
        ),
    ),
    "NotReadable": (
        Example(
            ((SETTINGS, f"{HEAD}data:\n  level: info\n"),),
            "A file on which the parser of `reconcile --watch` crashes, whatever it looks like:",
            deadly=(SETTINGS,),
        ),
    ),
    "NotRendered": (Example((("workloads/hello/kustomization.yaml", "resources: [raycluster.yaml]\n"),)),),
    "NotUTF8": (
        Example(
            (),
            "A file saved as UTF-16:",
            beside={SETTINGS: f"{HEAD}data: {{}}\n".encode("utf-16").decode("utf-8", "surrogateescape")},
        ),
    ),
    "NullValue": (policy(f"{SELECT}  clusters:\n  # names: [my-cluster]\n"),),
    "OddPath": (
        Example(
            (),
            "`workloads/hello/settings.yaml`, with a space of no width in its name:",
            beside={"workloads/hello/sett\u200bings.yaml": f"{HEAD}data: {{}}\n"},
        ),
        Example(
            (),
            "`workloads/hello/settings.YAML`, with its ending in capitals:",
            beside={"workloads/hello/settings.YAML": f"{HEAD}data: {{}}\n"},
        ),
    ),
    "OwnKindInWorkloads": (workload(POLICY.format("mine", "  select: {}\n"), "policy"),),
    "RecordName": (
        Example(
            (),
            "Somebody copied the record `placements/hello/hello.yaml` to `placements/hello/copy.yaml`:",
            first={},
            deployment={
                "placements/hello/copy.yaml": (
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Placement\nmetadata: {name: hello, namespace: hello}\n"
                    "policy: general\nreason: Fits\n"
                )
            },
        ),
    ),
    "RecursiveAlias": (settings("data: &data\n  again: *data\n"),),
    "RemovalNeedsApproval": (
        Example(
            (),
            "`platform/operator/role.yaml` was placed on my-cluster, and is removed from the source:",
            beside=PLATFORM,
            first={**PLATFORM, "platform/operator/role.yaml": ROLE},
        ),
    ),
    "SnapshotName": (Example((("capacity/my-cluster.yaml", SNAPSHOT.format("other-cluster")),)),),
    "SnapshotFromFuture": (
        Example((("capacity/my-cluster.yaml", SNAPSHOT.format("my-cluster").replace("2026-01-01", "2027-01-01")),)),
    ),
    "SnapshotJump": (
        Example(
            (("capacity/my-cluster.yaml", NODES.format("04:00", "count: 2")),),
            "The last snapshot that was believed is of 03:00 and shows 64 such nodes:",
            beside={
                "capacity/earlier/my-cluster.yaml": NODES.format("03:00", "count: 64"),
            },
        ),
    ),
    "SnapshotBeyondLimits": (
        Example(
            (("capacity/my-cluster.yaml", NODES.format("04:00", "count: 64")),),
            "Its Cluster says `limits: {total: {nodes: 8}}`:",
            beside={
                "clusters/my-cluster.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: my-cluster}\n"
                "spec: {limits: {total: {nodes: 8}}}\n"
            },
        ),
    ),
    "EpochNeverWritten": (
        Example(
            (("capacity/my-cluster.yaml", SNAPSHOT.format("my-cluster") + "applied: {workloads: 40}\n"),),
            "The deployment repo was written once:",
            first={},
        ),
    ),
    "SnapshotNotSigned": (
        Example(
            (
                (
                    "fleet.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec:\n  capacity:\n"
                    '    branch: "capacity/{cluster}"\n'
                    "    writers:\n      my-cluster: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDi2VhzGqYyOw1JEsS0rTnXOTR1gIG0wXmkN9xHqBdEF]\n",
                ),
            ),
            "Commit 3f1c09ab54d2 on the branch `capacity/my-cluster` has a signature by another key:",
            beside={
                "capacity/doubted/my-cluster.txt": "SnapshotNotSigned: commit 3f1c09ab54d2 of branch capacity/my-cluster is signed by "
                "no key that may speak for my-cluster\n"
            },
        ),
    ),
    "SourceNotSigned": (
        Example(
            (
                (
                    "fleet.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec:\n  source:\n"
                    "    signers: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDi2VhzGqYyOw1JEsS0rTnXOTR1gIG0wXmkN9xHqBdEF]\n",
                ),
            ),
            "The last pass was made from 8d20c1b67e33, and 3f1c09ab54d2 came after it:",
            uncounted=Uncounted(
                commit="3f1c09ab54d2", author="Ada <ada@example.com>", flaw=Flaw.UNSIGNED, counts="8d20c1b67e33"
            ),
        ),
    ),
    "TabIndentation": (settings("data:\n\tlevel: info\n"),),
    "TooDeep": (
        Example(
            (),
            "A value nested two hundred deep, `[[[[…]]]]`:",
            beside={SETTINGS: f"{HEAD}data: {'[' * 200}{']' * 200}\n"},
        ),
    ),
    "TooLarge": (
        Example((), "A value of three megabytes:", beside={SETTINGS: f"{HEAD}data:\n  x: {'x' * 3_000_000}\n"}),
    ),
    "SharedTooWidely": (
        Example(
            (),
            "Four hundred pods with the label `team: a`, and as many NetworkPolicies that select it:",
            beside={
                "workloads/hello/pods.yaml": "---\n".join(
                    POD.format(f"worker-{n:03}", "  labels: {team: a}\n", "") for n in range(400)
                ),
                "workloads/hello/policies.yaml": "---\n".join(
                    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
                    f"metadata: {{name: rule-{n:03}}}\nspec: {{podSelector: {{matchLabels: {{team: a}}}}}}\n"
                    for n in range(400)
                ),
            },
        ),
    ),
    "TooManyAliases": (
        settings(
            "data:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"  {b}: &{b} [{', '.join(['*' + a] * 10)}]\n" for a, b in zip("abcdef", "bcdefg", strict=True))
        ),
    ),
    "TooManyDocuments": (
        Example((), "A file of twenty thousand documents:", beside={SETTINGS: f"{HEAD}---\n" * 20_000}),
    ),
    "LFSPointer": (
        Example(
            (
                (
                    SETTINGS,
                    "version https://git-lfs.github.com/spec/v1\n"
                    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
                ),
            ),
        ),
    ),
    "TooManyFiles": (
        Example(
            (),
            "Twenty-five thousand files, with nothing in them but a comment:",
            beside={f"workloads/hello/{n:05}.yaml": "# to do\n" for n in range(25_000)},
        ),
    ),
    "TooManyParts": (
        Example(
            (),
            "A pod with five hundred tolerations:",
            beside={
                "workloads/hello/x.yaml": POD.format("x", "", "")
                + "  tolerations:\n"
                + "".join(f"  - {{key: k{n}, operator: Exists}}\n" for n in range(500))
            },
        ),
    ),
    "TooManyFaults": (
        Example(
            (),
            "A file with five hundred keys that are not strings:",
            beside={SETTINGS: f"{HEAD}data:\n" + "".join(f"  {n}: x\n" for n in range(500))},
        ),
    ),
    "UndefinedAlias": (settings("data:\n  level: *default\n"),),
    "UnknownCluster": (Example((("capacity/my-clutser.yaml", SNAPSHOT.format("my-clutser")),)),),
    "UnknownField": (policy(f"{SELECT}  placment: {{type: Capacity}}\n"),),
    "UnknownKind": (
        Example(
            (("policies/general.yaml", POLICY.format("general", SELECT).replace("PlacementPolicy", "PlacmentPolicy")),)
        ),
    ),
    "UnrenderedTemplate": (settings("data: {{ .Values.settings }}\n"),),
    "UnsupportedVersion": (workload(JOB.replace("ray.io/v1", "ray.io/v1beta1")),),
    "WrongType": (
        policy(f'{SELECT}  priority: "10"\n'),
        service('  serveConfigV2:\n    applications: []\n  serviceUnhealthySecondThreshold: "900"\n'),
    ),
    "InvalidAllowance": (
        workload(POD.format("x", '  annotations: {allow.gitplacer.dev/NoHost: "one is enough"}\n', "")),
    ),
    "MisspeltAnnotation": (workload(POD.format("x", "  annotations: {gitplacer.dev/clustr: my-cluster}\n", "")),),
    "MissingReference": (workload(POD.format("x", "", "    envFrom: [{secretRef: {name: hf-token}}]\n")),),
    "NamesakesCollide": (
        Example(
            (
                ("workloads/hello/job.yaml", JOB),
                (
                    "workloads/hello/cluster.yaml",
                    RAYCLUSTER.replace("name: two", "name: train") + WORKER.format("a", 1, 1, 1),
                ),
            ),
        ),
    ),
    "ServedNowhere": (
        Example(
            (
                (
                    "clusters/my-cluster.yaml",
                    CLUSTER.format(
                        "my-cluster\n  labels: {class: general}", "  profile: {kuberay: {version: 1.4.2}}\n"
                    ),
                ),
                (
                    "workloads/hello/train.yaml",
                    JOB.replace("  entrypoint:", "  submissionMode: SidecarMode\n  entrypoint:"),
                ),
            ),
        ),
    ),
    "SopsFileEdited": (
        workload(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\n"
            "data: {token: 'ENC[AES256_GCM,data:Zm9v,type:str]'}\n"
            "sops: {mac: 'ENC[AES256_GCM,data:YmFy,type:str]', lastmodified: '2026-01-02T03:04:05Z', version: 3.9.0}\n"
            "---\n" + POD.format("x", "", "    envFrom: [{secretRef: {name: token}}]\n"),
        ),
    ),
    "UnboundedMaximum": (
        Example(
            (
                ("policies/general.yaml", POLICY.format("general", f"{SELECT}  placement: {{reserve: Maximum}}\n")),
                (
                    "workloads/hello/x.yaml",
                    RAYCLUSTER.replace("spec:\n", "spec:\n  enableInTreeAutoscaling: true\n", 1)
                    + WORKER.format("gpu", 1, 1, 1).replace("    maxReplicas: 1\n", ""),
                ),
            ),
        ),
    ),
    "UnknownDevices": (
        workload(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  resourceClaims:\n"
            "  - {name: gpu, resourceClaimTemplateName: one-gpu}\n  containers:\n  - name: main\n    image: busybox\n"
            "    resources: {claims: [{name: gpu}]}\n"
        ),
    ),
    "UnknownSealingKey": (
        Example(
            (
                (
                    "workloads/hello/x.yaml",
                    "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: token}\n"
                    "spec: {encryptedData: {token: AgBy3i4OJSWK}}\n---\n"
                    + POD.format("x", "", "    envFrom: [{secretRef: {name: token}}]\n"),
                ),
            ),
            "Two clusters, with different keys:",
            beside={
                "clusters/my-cluster.yaml": CLUSTER.format(
                    "my-cluster\n  labels: {class: general}", "  profile: {sealingKey: team-a}\n"
                ),
                "clusters/other.yaml": CLUSTER.format(
                    "other\n  labels: {class: general}", "  profile: {sealingKey: team-b}\n"
                ),
            },
        ),
    ),
    "CapacityTooLarge": (
        Example(
            (
                (
                    "capacity/my-cluster.yaml",
                    SNAPSHOT.format("my-cluster").replace(
                        "nodes: []\n", "nodes: [{name: n1, count: 3, allocatable: {cpu: '8', memory: 4E}}]\n"
                    ),
                ),
            ),
        ),
    ),
    "NodeTypeNotCounted": (
        Example(
            (
                (
                    "clusters/my-cluster.yaml",
                    CLUSTER.format(
                        "my-cluster",
                        "  autoscaler:\n    type: Karpenter\n    nodePools:\n    - name: gpu\n      requirements: "
                        "[{key: karpenter.k8s.aws/instance-family, operator: In, values: [g5]}]\n"
                        "    nodeTypes:\n    - {name: g5.xlarge, allocatable: {cpu: 3920m, nvidia.com/gpu: '1'}}\n",
                    ),
                ),
            ),
            beside={"capacity/my-cluster.yaml": SNAPSHOT.format("my-cluster")},
        ),
    ),
    "NoNodeToGrow": (
        workload(
            RAYCLUSTER
            + WORKER.format("gpu", 0, 0, 8).replace(
                "ray:2.52.0}", "ray:2.52.0, resources: {limits: {nvidia.com/gpu: '1'}}}"
            ),
            "two",
        ),
    ),
    "ServiceElsewhere": (
        Example(
            (
                (
                    "workloads/hello/chat.yaml",
                    POD.format("chat", "", "    env: [{name: MODEL, value: 'http://llm-head-svc:8000'}]\n"),
                ),
            ),
            beside={
                "workloads/hello/llm.yaml": RAYCLUSTER.replace("name: two", "name: llm").replace(
                    "  workerGroupSpecs:\n", ""
                ),
                "clusters/other.yaml": CLUSTER.format("other", "  provider: aws\n"),
                "capacity/other.yaml": NODES.format("04:00", "count: 2").replace("my-cluster", "other"),
                "policies/models.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: models}\nspec:\n"
                "  precedence: 1\n  select: {paths: [workloads/hello/llm.yaml]}\n  clusters: {names: [other]}\n  placement: {type: Capacity}\n",
            },
        ),
    ),
    "VolumesApart": (
        Example(
            (
                (
                    "workloads/hello/models.yaml",
                    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: models\n"
                    "spec: {accessModes: [ReadWriteMany], storageClassName: '', resources: {requests: {storage: 9Gi}}}\n",
                ),
            ),
            beside={
                **{
                    f"workloads/hello/{name}.yaml": POD.format(name, "", "").replace(
                        "spec:\n", "spec:\n  volumes: [{name: m, persistentVolumeClaim: {claimName: models}}]\n"
                    )
                    for name in ("train", "serve")
                },
                "clusters/other.yaml": CLUSTER.format("other", "  provider: aws\n"),
                "capacity/other.yaml": NODES.format("04:00", "count: 2").replace("my-cluster", "other"),
                "policies/serving.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: serving}\nspec:\n"
                "  precedence: 1\n  select: {paths: [workloads/hello/serve.yaml]}\n  clusters: {names: [other]}\n  placement: {type: Capacity}\n",
            },
        ),
    ),
    "QuotaNotCounted": (
        Example(
            (
                ("workloads/hello/train.yaml", JOB),
                (
                    "capacity/my-cluster.yaml",
                    NODES.format("04:00", "count: 2")
                    + "resourceQuotas:\n- {namespace: hello, name: team, hard: {services: '10', requests.cpu: '64'}}\n",
                ),
            ),
        ),
    ),
    "UntrustedFleet": (
        Example(
            (
                (
                    "fleet.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec:\n"
                    "  guards:\n    relocations: {max: 500}\n",
                ),
            ),
            intro="In the plan of a pull request with `--trust-base main`, where `max` is 10:",
            trusted="apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {}\n",
        ),
    ),
    "UsedBeyondAllocatable": (
        Example(
            (
                (
                    "capacity/my-cluster.yaml",
                    SNAPSHOT.format("my-cluster").replace(
                        "nodes: []\n",
                        "nodes: [{name: n1, allocatable: {cpu: '8', memory: 32Gi}, used: {memory: 40Gi}}]\n",
                    ),
                ),
            ),
        ),
    ),
    "InvalidImage": (workload(POD.format("x", "", "").replace("busybox", "$IMAGE")),),
    "FractionalBytes": (workload(POD.format("x", "", "    resources: {requests: {cpu: 100m, memory: 4096m}}\n")),),
}
