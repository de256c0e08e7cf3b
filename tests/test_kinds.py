"""
Our own kinds: what the parser accepts and what the schema accepts is the same, and what is refused is said well.

Both are judged on the same values: the example fleet, documents that use every field, a table of mistakes, and random
mutations of all of them. Where JSON Schema has no words for a rule, `ONLY_THE_PARSER` says so, and nothing else may
differ.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.validators import extend

from gitplacer.cli.schema import command
from gitplacer.documents import Document, parse
from gitplacer.formats.documents import DOCUMENTS
from gitplacer.kinds import TABLE
from gitplacer.kinds.fields import API_VERSION, Model, first_twice
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.schema import combined_schema, kind_schema
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem
from tests.jsonvalues import places

ROOT = Path(__file__).parent.parent
HEAD = f"apiVersion: {API_VERSION}\nkind: "


# the two judges


def _pattern(validator: Any, pattern: str, instance: object, schema: object) -> Iterator[jsonschema.ValidationError]:
    """As editors read it, by ECMA-262: `$` is the end, not the end or the newline before it."""
    if isinstance(instance, str) and re.search(re.sub(r"(?<!\\)\$", r"\\Z", pattern), instance) is None:
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


Editor = extend(jsonschema.Draft202012Validator, {"pattern": _pattern})
COMBINED = Editor(combined_schema())
BY_KIND = {kind: Editor(kind_schema(kind)) for kind in TABLE}


def document(text: str) -> Document:
    """The one document in a text without faults."""
    data = text.encode()
    parsed = parse(data)
    assert parsed.faults == ()
    (found,) = parsed.documents
    return Document("a.yaml", found, 0, lambda: data)


def refused(text: str) -> list[Problem]:
    """What the parser has against the one document in a text."""
    found = parse_own(document(text))
    return [] if isinstance(found, Model) else found


def judged(value: Mapping[str, Any]) -> tuple[list[Problem], bool]:
    """What the parser has against a value, and whether the schemas accept it: that of its kind, and the combined one."""
    doc = document(json.dumps(value))
    found = parse_own(doc) if is_own(doc) else []
    accepted = COMBINED.is_valid(doc.value)
    kind = doc.value.get("kind")
    if is_own(doc) and isinstance(kind, str) and kind in BY_KIND:
        assert BY_KIND[kind].is_valid(doc.value) == accepted
    return [] if isinstance(found, Model) else found, accepted


def test_the_same_document_is_parsed_once_and_what_is_wrong_with_it_is_found_in_every_file() -> None:
    text = "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {}\n"
    right, wrong = document(text), document(text + "wrong: 1\n")
    assert isinstance(parse_own(right), Model)
    assert parse_own(right) is parse_own(replace(right, file="b.yaml"))
    assert [p.location.file for p in parse_own(wrong) if isinstance(p, Problem)] == ["a.yaml"]
    assert [p.location.file for p in parse_own(replace(wrong, file="b.yaml")) if isinstance(p, Problem)] == ["b.yaml"]
    assert pickle.loads(pickle.dumps(right.parsed)).made == right.parsed.made == {Cluster: parse_own(right)}


# documents that are right


EVERY_FIELD = {
    "Fleet": """
metadata: {name: fleet.of-ours, labels: {team: platform, example.com/tier: ""}, annotations: {note: "any text, at all"}}
spec:
  source:
    include: ["workloads/**", "teams/*/[a-m]?.yaml"]
    exclude: [workloads/old/**]
    namespaces: {fromPath: "workloads/{namespace}/**"}
    signers: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVnknQ2 ann"]
  deployment:
    url: "git@example.com:fleet/deployment.git"
    branch: main
    root: fleets/one
    hydrator: {notes: true}
    proposed: false
  capacity:
    url: "https://example.com/fleet.git"
    branch: "snapshots/{cluster}"
    path: capacity
    writers: {gpu-1: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHVnknQ2 of gpu-1"], "*": ["-----BEGIN PGP PUBLIC KEY BLOCK-----\\n\\nmDME\\n"]}
    jumps: {factor: 3, nodes: 10, believedAfter: 10m}
  engine: flux
  platform:
    paths: ["platform/**"]
    charts:
    - name: kuberay-operator
      repo: oci://ghcr.io/example/charts
      chart: kuberay-operator
      version: 1.5.0-rc.1
      namespace: kuberay-system
      values: {image: {tag: v1.5.0}, env: [{name: A}]}
      clusters: {names: [gpu-1], matchLabels: {class: gpu}, matchExpressions: [{key: class, operator: Exists}]}
  systemNamespace: gitplacer
  clone: {from: gpu-1, manifests: {active: standby/clone/active, standby: standby/clone/standby}, max: 3}
  decisions: {into: hub, profiles: fleet-system}
  lostAfter: 2h
  guards:
    relocations: {max: 0, per: 1h30m, exceed: Hold}
    evacuations: {max: 5, per: 1h, exceed: Throttle}
    removals: {max: 10%, of: groups, per: 2h, exceed: Throttle}
    freeze: [{schedule: "0 18 * * 5", duration: 62h, timeZone: Europe/Berlin, allow: [ClusterLost]}]
""",
    "Cluster": """
metadata: {name: gpu-1, labels: {class: gpu}, annotations: {example.com/owner: "somebody, somewhere"}}
spec:
  role: Workload
  provider: aws
  region: us-west-2
  zone: us-west-2a
  kubernetesVersion: "1.31"
  state: Active
  maxAge: 1h30m
  taints: [{key: reserved, value: research, effect: NoSchedule}]
  limits: {total: {nodes: 20, nvidia.com/gpu: "64"}, perNode: {cpu: 64}, nodeGroups: Declared}
  autoscaler:
    type: Karpenter
    podLabels: {elotl-luna: "true"}
    maxNodes: 40
    nodePools:
    - name: gpu
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["3"]}
      - {key: disk, operator: Exists, values: []}
      limits: {nvidia.com/gpu: 0, cpu: 1000, nodes: "20"}
      labels: {pool: gpu}
      taints: [{key: pool, value: gpu}]
      weight: 10
    nodeTypes:
    - name: g4dn.2xlarge
      allocatable: {cpu: 7910m, memory: 29.5Gi, nvidia.com/gpu: "1", pods: 58}
      labels: {disk: ssd}
      taints: [{key: nvidia.com/gpu, value: present, effect: NoExecute}]
      max: 4
      pricePerHour: 0.752
      spot: true
      instanceType: g4dn.2xlarge
      overhead: {cpu: 250m, memory: 500Mi, pods: "5"}
      capacity: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}
  mesh: us
  profile:
    kuberay:
      version: 1.7.0
      featureGates: {RayCronJob: true, RayClusterMTLS: false}
      initContainerInjection: false
      zeroDowntime: false
      headClusterIPService: true
      headSidecars: [{name: log-shipper, requests: {cpu: 50m, memory: 64Mi}}]
      workerSidecars: [{name: log-shipper}]
      watchNamespaces: [rayjob1]
      deletesFinishedJobs: true
    limitRanges: [{namespace: rayjob1, name: usual, defaultRequest: {cpu: 100m}, default: {cpu: "1", memory: 256Mi}, min: {cpu: 10m}, max: {cpu: "8", nvidia.com/gpu: "0"}, maxLimitRequestRatio: {cpu: "1.5"}}, {namespace: rayjob1, type: Pod, max: {cpu: "9"}}]
    runtimeClasses:
    - name: gvisor
      overhead: {cpu: 250m}
      nodeSelector: {sandbox: gvisor}
      tolerations: [{key: sandbox, operator: Exists, effect: NoSchedule}]
    priorityClasses: [{name: high, value: 1000, preemptionPolicy: Never, globalDefault: true}]
    storageClasses: [{name: local, default: true, zones: [us-west-2d], nodeAffinity: [{matchLabels: {disk: fast}}]}]
    gangScheduler: scheduler-plugins
    sliceTopology: cloud.google.com/gke-nodepool
    extendedResourceToleration: true
    present: [{apiGroup: "", kind: Secret, namespace: rayjob1, name: hf-token}]
    gatewayAPI: true
    certManager: false
    sealingKey: team-a
  overrides:
  - {path: /spec/replicas, op: replace, value: null}
  - {path: /metadata/labels/example.com~1tier, op: add, value: {any: [value, 1]}}
  - {path: /spec/volumes/-, op: remove}
  standby:
    mode: Delete
    idleAfter: 30m
    ignoreNamespaces: ["kuberay*"]
    nodes: [{name: n1, count: 2, allocatable: {cpu: "8", memory: 32Gi}}]
    wakeTimeout: 20m
    manifests: {active: standby/gpu-1/active, standby: standby/gpu-1/standby, renderInto: hub}
""",
    "PlacementPolicy": """
metadata: {name: training}
spec:
  select:
    namespaces: ["rayjob*", default]
    namespaceSelector: {matchLabels: {team: a}, matchExpressions: [{key: tier, operator: NotIn, values: [test, ""]}]}
    labelSelector: {matchExpressions: [{key: a, operator: Exists}, {key: b, operator: DoesNotExist, values: []}]}
    kinds: [RayJob, "Ray*"]
    names: [train, "tune-*"]
    paths: ["workloads/**"]
  precedence: -5
  groupBy: {label: app.kubernetes.io/part-of, directory: false, namespace: false}
  clusters: {matchLabels: {class: gpu}, matchExpressions: [{key: zone, operator: In, values: [a]}], names: [gpu-1]}
  tolerations: [{key: reserved, operator: Equal, value: research, effect: NoSchedule}, {operator: Exists}]
  placement:
    type: Ordered
    order: [{names: [gpu-1]}, {matchLabels: {class: gpu}}, {}]
    weights: {}
    divideBy: Weights
    copies: 3
    topologySpread: [{topologyKey: topology.kubernetes.io/region, maxSkew: 1, minDomains: 2, maxDomains: 3}]
    admission: Gang
    accept: TightFit
    scaleUp: Never
    reserve: Maximum
    span: Never
    prefer: [Free, Span, ScaleUp]
  priority: 100
  preempts: LowerPriority
  preemptible: true
  relocation:
    when: {NotEligible: Never, ClusterDraining: Manual, ClusterLost: Never, PendingPods: Automatic, PreferredAvailable: Manual}
    pendingFor: 10m
    cooldown: 2h
    strategy: Surge
    surge: {timeout: 20m, soak: 5m, approval: Required}
    runningJobs: Restart
    finishedJobs: Remove
  update: {ifNotFit: Hold, reservePeak: true}
  budgetPerHour: 200
""",
    "OverridePolicy": """
metadata: {name: cheaper}
spec:
  select: {kinds: [RayService]}
  clusters: {names: []}
  overrides: [{path: /spec/replicas, value: 2}, {path: /metadata/labels, op: remove}]
""",
    "Tenant": """
metadata: {name: research, labels: {team: research}}
spec:
  paths: ["workloads/research/**"]
  namespaces: ["research-*", kube-system]
  clusters: {matchLabels: {class: experimental}, matchExpressions: [{key: a, operator: Exists}], names: [gpu-1]}
  kinds: ["Ray*", ConfigMap]
  secrets: Plain
  pods: Privileged
  serviceAccounts: [trainer]
  policies: ["research-*"]
  priority: {max: 10, classes: ["research-*"]}
  quota: {nvidia.com/gpu: "64", cpu: 100}
  clusterQuota: {nvidia.com/gpu: "16"}
  budgetPerHour: "200"
""",
    "ClusterScores": """
metadata: {name: carbon}
spec:
  scores: {gpu-1: -100, gpu-2: 100}
  validUntil: "2026-01-02T18:00:00Z"
""",
    "Approval": """
metadata: {name: drill, labels: {team: platform}, annotations: {note: any}}
spec:
  groups: [rayjob1/train, "rayjob*/[a-m]*", _cluster/kuberay]
  action: Move
  to: gpu-1
  expires: "2026-01-02T18:00:00+01:00"
  plan: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  reason: failover drill
""",
    "Scenario": """
metadata: {name: drained, labels: {team: platform}}
spec:
  title: A cluster is emptied
  story: "It is *emptied*."
  given:
    now: "2026-01-02T03:05:00Z"
    directory: fleets/one
    write: {fleet.yaml: "kind: Fleet"}
    copy: {workloads/a/b.yaml: files/b.yaml}
    capacity: [friday/gpu-1.yaml]
    deployment: live
  steps:
  - title: All is well
  - title: It is emptied
    story: ""
    wait: 1h30m
    push:
      message: Empty it
      write: {a.yaml: ""}
      copy: {b.yaml: a.yaml}
      edit: {a.yaml: [{replace: Active, with: Draining}]}
      remove: [c.yaml]
    observe:
    - clusters: [gpu-1]
      age: 5m
      applied: Before
      settled: true
      groups: {prod/api: Ready, prod/b: Gone}
      pending: {prod/c: {worker/gpu: 2}}
      edit: [{replace: a, with: b}]
    deployment: {message: Undo it, write: {a: b}, copy: {c: d}, edit: {e: []}, remove: [f], revert: Relocate prod/api}
    suppose: {lose: [gpu-1], drain: [gpu-2], loseEach: {matchLabels: {class: gpu}}}
    expect:
      commits:
      - {subject: Relocate prod/api}
      - {subject: Update records, files: [A a/**, M b, D c, "R d => e/*"]}
      decisions: {prod/api: {action: Relocate, to: [gpu-1], reason: ClusterDraining}}
      problems: [{code: InvalidYAML, at: "a.yaml:3:1"}, {code: InvalidYAML}]
      that: [{cel: summary.Wait == 0, because: nothing may wait}]
    show: [placements/prod/api.yaml]
""",
    "WorkloadKind": """
metadata: {name: mpirun}
spec:
  apiGroup: example.com
  kind: MPIRun
  versions: [v1, v1alpha2]
  finishes: true
  releasesWhen: [{paths: [/spec/cleanUp], operator: In, values: [true, All, 1]}]
  stopped: [{when: [{paths: [/spec/suspend], operator: In, values: [true]}], because: suspended}]
  notSized: [{when: [{paths: [/metadata/annotations/example.com~1mode], operator: Exists, values: []}], because: of it}]
  notCounted: [{when: [{paths: [/spec/image], operator: Matches, values: ["*:v1.*"]}], because: its database}]
  singleton: [{when: [{paths: [/spec/data], operator: DoesNotExist}], because: data of its own}]
  needs: [{apiGroup: example.com, kind: Hostfile, path: /spec/hosts/*/name, name: hosts, optional: true}]
  volumeClaims: [/spec/volumeClaimTemplates]
  pods:
  - template: [/spec/roles/*/template, /spec/template]
    names: [launcher, worker]
    when: [{paths: [/spec/roles/*/enabled], operator: NotIn, values: [false]}]
    adds:
    - {name: wait, role: Init, requests: {cpu: 50m}, when: [{paths: [/spec/wait], operator: Exists}]}
    mounts: [{path: /spec/roles/*/data, after: "pvc://"}]
    mustRequest: [cpu, nvidia.com/gpu]
    count:
    - {paths: [/spec/roles/*/ranks, /spec/ranks], default: 1, ignore: [-1], plus: -1, atLeast: 1, atMost: [/spec/most]}
    minimum:
    - when: [{paths: [/spec/elastic], operator: Exists}]
      paths: [/spec/min]
      default: 0
      ignore: [0]
      plus: 1
      atLeast: 0
      atMost: [/spec/max]
    maximum:
    - when: [{paths: [/spec/elastic], operator: Exists, values: []}]
      paths: [/spec/max]
      default: 4
      ignore: []
      plus: 0
      atLeast: 1
      atMost: []
      unlimited: true
    surge: [{when: [{paths: [/spec/roll], operator: Exists}], paths: [/spec/roll/surge], default: 25%}]
    labels: {example.com/run: /metadata/name}
    labelsFrom: [/spec/labels]
  - podSpec: [/spec/pod]
    podFields: [/spec]
    fieldsAt: {resourceClaims: [/spec/devices]}
    container: [/spec/main]
    containers: [/spec/sidecars]
    resources: [/spec/resources]
    orEmpty: true
    surge: [{default: 1}]
""",
    "CapacitySnapshot": """
metadata: {name: gpu-1}
observedAt: "2026-01-02T03:04:05.678901+01:00"
applied: {platform: 0, workloads: 40}
coarse: false
nodes:
- name: n1
  count: 3
  labels: {disk: ssd}
  taints: [{key: gpu}]
  unschedulable: false
  ready: true
  allocatable: {cpu: 1.5, memory: 30Gi, pods: "58"}
  used: {cpu: 310m}
  pods: []
- name: n9
  allocatable: {cpu: "8"}
  pods:
  - namespace: monitoring
    labels: {app: agent}
    antiAffinity:
    - topologyKey: kubernetes.io/hostname
      labelSelector: {matchLabels: {app: agent}, matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}
      namespaces: [monitoring]
      namespaceSelector: {matchLabels: {team: a}}
    hostPorts: [{port: 9100, protocol: UDP, ip: 127.0.0.1}]
    terminating: true
namespaces: [{name: monitoring, labels: {team: a}}]
nodeGroups:
- name: eks-gpu-b8c5
  nodeType: g4dn.2xlarge
  min: 1
  max: 8
  count: 3
  labels: {disk: ssd}
  taints: [{key: gpu}]
  allocatable: {cpu: 7910m, memory: 30Gi, nvidia.com/gpu: "1"}
  overhead: {cpu: 250m, pods: 5}
  capacity: {cpu: 8}
  pricePerHour: 0.752
  spot: false
  exhausted: {code: QuotaExceeded, since: "2026-01-02T03:00:00Z", until: "2026-01-02T04:00:00Z"}
groups:
- name: rayjob1/train
  phase: Running
  ready: true
  observedGeneration: 3
  pods:
  - {role: head, node: n1, requests: {cpu: "4"}, terminating: true}
  - {role: worker/small-group, pendingSince: "2026-01-02T03:04:05Z", reason: Insufficient nvidia.com/gpu}
serves: [ray.io/v1]
queues:
- name: gpu
  cohort: research
  covers: [cpu, nvidia.com/gpu]
  left: {cpu: "8", nvidia.com/gpu: "4"}
  own: {nvidia.com/gpu: "1"}
  stopped: Hold
  localQueues: [{name: rayjob1/train, stopped: NamespaceNotSelected}]
cohorts: [{name: research, cohort: everybody, left: {cpu: "8"}, own: {cpu: "1"}}, {name: everybody}]
kuberay:
  version: 1.7.0
  featureGates: {RayCronJob: true, RayClusterMTLS: false}
  initContainerInjection: false
  zeroDowntime: false
  headClusterIPService: true
  headSidecars: [{name: log-shipper, requests: {cpu: 50m, memory: 64Mi}}]
  workerSidecars: [{name: log-shipper}]
  watchNamespaces: [rayjob1]
  deletesFinishedJobs: true
limitRanges: [{namespace: rayjob1, name: usual, defaultRequest: {cpu: 100m}, default: {cpu: "1", memory: 256Mi}, min: {cpu: 10m}, max: {cpu: "8", nvidia.com/gpu: "0"}, maxLimitRequestRatio: {cpu: "1.5"}}, {namespace: rayjob1, type: Pod, max: {cpu: "9"}}]
extendedResourceToleration: true
runtimeClasses:
- name: gvisor
  overhead: {cpu: 250m}
  nodeSelector: {sandbox: gvisor}
  tolerations: [{key: sandbox, operator: Exists, effect: NoSchedule}]
resourceQuotas:
- {namespace: rayjob1, name: compute, hard: {requests.cpu: "8", limits.memory: 1Ti}, used: {requests.cpu: 500m}, scopes: [{scopeName: PriorityClass, operator: In, values: [high]}]}
priorityClasses: [{name: high, value: 1000, preemptionPolicy: Never, globalDefault: true}]
storageClasses: [{name: local, default: true, zones: [us-west-2d], nodeAffinity: [{matchLabels: {disk: fast}}]}]
volumes:
- claim: rayjob1/data
  zones: [us-west-2d]
  nodeAffinity: [{matchExpressions: [{key: disk, operator: In, values: [fast]}]}]
gangScheduler: scheduler-plugins
sliceTopology: cloud.google.com/gke-nodepool
present: [{apiGroup: "", kind: Secret, namespace: rayjob1, name: hf-token}]
""",
    "WhatIf": """
metadata: {name: next-quarter}
spec:
  title: Next quarter
  suppose:
  - lose: static-cluster
  - drain: standby-cluster
  - cordon: gke
  - add: {path: clusters/new.yaml, content: "kind: Cluster"}
  - remove: workloads/rayjob1/rayjob.yaml
  - replicas: {group: rayjob1/train, worker: small-group, to: 8}
  - replicas: {group: rayjob1/train, times: 1.5}
  - price: {cluster: dynamic-cluster, nodeType: g4dn.2xlarge, perHour: 0.5}
""",
    "ClusterState": """
metadata: {name: gpu-1, labels: {}, annotations: {}}
state: Standby
since: "2026-01-02T03:04:05Z"
idleSince: "2026-01-02T02:04:05Z"
retryAt: "2026-01-02T03:34:05Z"
cloneOf: gpu-0
manifests: {into: hub, epoch: 3, files: [standby/gpu-1/pool.yaml]}
""",
    "Removals": """
metadata: {name: removals, labels: {}, annotations: {}}
removed: [{at: "2026-01-02T03:04:05Z", groups: 3, tenant: research}]
""",
    "Placement": """
metadata: {name: train, namespace: rayjob1}
policy: training
members:
- {apiVersion: ray.io/v1, kind: RayJob, namespace: rayjob1, name: train, source: workloads/a.yaml, file: rayjob1/train/a.yaml, declared: true, only: Home}
clusters: [{name: gpu-1, role: Copy, state: Placed, since: "2026-01-02T03:04:05Z", epoch: 7, reason: FitsByScaleUp, unstartedAt: "2026-01-02T03:03:05Z", pendingAt: "2026-01-02T03:03:05Z", endedAt: "2026-01-02T03:03:06Z", updates: [{kind: RayService, name: train, how: NewCluster, pods: [{role: head, count: 1, requests: {cpu: "2"}}], since: "2026-01-02T03:04:05Z", epoch: 7, generation: 3, appliedAt: "2026-01-02T03:05:05Z"}],
  counts: [{apiGroup: apps, kind: Deployment, namespace: ns, name: web, roles: [{role: pod, replicas: 3, minimum: 1, maximum: 5}]}]}]
move: {strategy: Surge, from: [gpu-1], to: [gpu-2], reason: ClusterDraining, since: "2026-01-02T03:04:05Z", readyAt: "2026-01-02T03:04:06Z", goneAt: "2026-01-02T03:04:07Z"}
moves: [{at: "2026-01-02T03:04:05Z", from: [gpu-3], to: [gpu-1], reason: ClusterLost, aborted: true, epochs: {gpu-3: 4}, lostAt: "2026-01-02T03:09:05Z"}]
dispatch: {policy: training, manager: hub, queue: train, nominated: [gpu-2, gpu-1]}
finished: {phase: Failed, at: "2026-01-02T03:04:05Z"}
waitingSince: "2026-01-02T03:04:05Z"
claim: {cluster: gpu-1, displaced: [rayjob2/sweep], since: "2026-01-02T03:04:05Z", epoch: 8}
movedAt: "2026-01-02T03:04:05Z"
holdUntil: "2026-01-02T03:34:05Z"
approvals: [drill.1a2b3c4d]
reason: Fits
""",
}
"""One document of each kind with all its fields."""

SCORED = """
metadata: {name: green}
spec:
  select: {}
  placement: {type: Scored, scores: [{name: carbon, weight: -3}, {allocatable: nvidia.com/gpu, weight: 10}]}
"""
"""What a policy cannot have beside an order."""
LEFT = """
metadata: {name: left}
spec:
  select: {}
  placement: {dispatch: {multiKueue: {manager: hub, queue: train}}}
"""
"""What a policy cannot have beside copies and preemption."""

SMALLEST = {
    "Fleet": "{metadata: {name: f}, spec: {}}",
    "Cluster": "{metadata: {name: c}, spec: {}}",
    "PlacementPolicy": "{metadata: {name: p}, spec: {select: {}}}",
    "OverridePolicy": "{metadata: {name: o}, spec: {select: {}, overrides: [{path: /a, value: 1}]}}",
    "Tenant": '{metadata: {name: t}, spec: {paths: ["workloads/t/**"], namespaces: [t]}}',
    "ClusterScores": "{metadata: {name: s}, spec: {scores: {}}}",
    "Approval": '{metadata: {name: a}, spec: {groups: [a/b], action: Return, expires: "2026-01-02T18:00:00Z"}}',
    "WorkloadKind": "{metadata: {name: w}, spec: {apiGroup: a.b, kind: K, versions: [v1], pods: [{resources: [/spec]}]}}",
    "WhatIf": "{metadata: {name: w}, spec: {title: t, suppose: [{lose: a}]}}",
    "CapacitySnapshot": '{metadata: {name: c}, observedAt: "2026-01-02T03:04:05Z"}',
    "Removals": "{metadata: {name: removals}}",
    "Placement": "{metadata: {name: g, namespace: _cluster}, policy: p, reason: Fits}",
}
"""One document of each kind with the fields it must have."""


def own(kind: str, rest: str) -> dict[str, Any]:
    value: dict[str, Any] = {"apiVersion": API_VERSION, "kind": kind, **yaml.safe_load(rest)}
    return value


def shipped() -> Iterator[tuple[str, dict[str, Any]]]:
    """Our own kinds in the example fleet, in what `init` starts from, and among the declarations that come with gitplacer."""
    for folder in (ROOT / "fleet-repo-example", ROOT / "gitplacer/data/starter", ROOT / "gitplacer/data/workloadkinds"):
        for path in sorted(folder.rglob("*.yaml")):
            data = path.read_bytes()
            for index, parsed in enumerate(parse(data.replace(b"@ENGINE@", b"flux")).documents):
                if is_own(Document(path.name, parsed, index, lambda: b"")):
                    yield f"{path.relative_to(ROOT)}#{index}", parsed.value


VALID = {
    **{f"{kind}, every field": own(kind, rest) for kind, rest in EVERY_FIELD.items()},
    **{f"{kind}, smallest": own(kind, rest) for kind, rest in SMALLEST.items()},
    **dict(shipped()),
    "PlacementPolicy, scored": own("PlacementPolicy", SCORED),
    "PlacementPolicy, left to Kueue": own("PlacementPolicy", LEFT),
    "PlacementPolicy, spread": own(
        "PlacementPolicy",
        "{metadata: {name: p}, spec: {select: {}, placement: {copies: 2, topologySpread: "
        "[{topologyKey: a, maxSkew: 1, minDomains: 2, maxDomains: 3}, {topologyKey: b.c/d, maxDomains: 1}]}}}",
    ),
    "PlacementPolicy, copies everywhere": own(
        "PlacementPolicy", "{metadata: {name: p}, spec: {select: {}, placement: {copies: All, topologySpread: []}}}"
    ),
    "PlacementPolicy, divided by room": own(
        "PlacementPolicy",
        "{metadata: {name: p}, spec: {select: {}, placement: {type: Divide, divideBy: Room, weights: {}, copies: 2}}}",
    ),
    "PlacementPolicy, divided": own(
        "PlacementPolicy",
        "{metadata: {name: p}, spec: {select: {}, placement: {type: Divide, weights: {a: 70, b: 0}, copies: 2}}}",
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_what_is_right_is_accepted_by_parser_and_schema(name: str) -> None:
    assert judged(VALID[name]) == ([], True)


def test_every_kind_is_among_the_files_we_ship_except_what_only_machines_and_few_users_write() -> None:
    kinds = {value["kind"] for _, value in shipped()}
    assert kinds == TABLE.keys() - {
        "Approval",
        "ClusterScores",
        "OverridePolicy",
        "Tenant",
        "Placement",
        "ClusterState",
        "Removals",
        "WhatIf",
    }


def test_the_documents_with_every_field_have_every_field() -> None:
    definitions = COMBINED.schema["$defs"]
    seen: dict[str, set[str]] = {}
    for kind, rest in (*EVERY_FIELD.items(), ("PlacementPolicy", SCORED), ("PlacementPolicy", LEFT)):
        _see(definitions, {"$ref": f"#/$defs/{kind}"}, own(kind, rest), seen)
    assert seen == {name: set(definition["properties"]) for name, definition in definitions.items()}


def _see(definitions: Mapping[str, Any], schema: Mapping[str, Any], value: Any, seen: dict[str, set[str]]) -> None:
    """The fields of each definition that a value has."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        schema = definitions[name]
        seen.setdefault(name, set()).update(value)
    if isinstance(value, dict):
        for key, field in schema.get("properties", {}).items():
            if key in value:
                _see(definitions, field, value[key], seen)
        of_all = schema.get("additionalProperties")
        for item in value.values() if isinstance(of_all, dict) else ():
            _see(definitions, of_all, item, seen)
    elif isinstance(value, list):
        for item in value:
            _see(definitions, schema.get("items", {}), item, seen)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\nspec: 3\n",
        "apiVersion: ray.io/v1\nkind: Fleet\n",
        "apiVersion: gitplacer.dev.example.com/v1\nkind: Fleet\n",
        "kind: Kustomization\n",
        "settings: {}\n",
    ],
)
def test_kinds_of_others_pass_the_combined_schema(text: str) -> None:
    assert judged(yaml.safe_load(text)) == ([], True)


# documents that are wrong

GONE = "(gone)"
"""Instead of a value: the field is removed."""

BROKEN = [
    # what it is
    "Fleet apiVersion: gitplacer.dev/v1",
    "Fleet apiVersion: gitplacer.dev",
    "Fleet apiVersion: gitplacer.dev/v1alpha1/x",
    "Fleet kind: Flet",
    "Fleet kind: fleet",
    "Fleet kind: null",
    "Fleet kind: [Fleet]",
    "Fleet kind: (gone)",
    "Fleet kind: Cluster",
    "Placement kind: Plan",
    # fields that are missing
    "Fleet metadata: (gone)",
    "Fleet metadata.name: (gone)",
    "Fleet spec: (gone)",
    "Cluster spec.autoscaler.type: (gone)",
    "Cluster spec.autoscaler.nodeTypes.0.name: (gone)",
    "Cluster spec.autoscaler.nodePools.0.name: (gone)",
    "Cluster spec.autoscaler.nodePools.0.requirements.0.operator: (gone)",
    "CapacitySnapshot nodeGroups.0.name: (gone)",
    "CapacitySnapshot nodeGroups.0.exhausted.code: (gone)",
    "CapacitySnapshot queues.0.name: (gone)",
    "CapacitySnapshot queues.0.localQueues.0.name: train",
    "Cluster spec.overrides.0.path: (gone)",
    "Cluster spec.profile.limitRanges.0.namespace: (gone)",
    "Cluster spec.profile.runtimeClasses.0.name: (gone)",
    "Cluster spec.profile.storageClasses.0.name: (gone)",
    "Cluster spec.profile.present.0.kind: (gone)",
    "PlacementPolicy spec.select: (gone)",
    "PlacementPolicy spec.clusters.matchExpressions.0.key: (gone)",
    "PlacementPolicy spec.clusters.matchExpressions.0.operator: (gone)",
    "OverridePolicy spec.overrides: (gone)",
    "CapacitySnapshot observedAt: (gone)",
    "CapacitySnapshot nodes.0.name: (gone)",
    "CapacitySnapshot volumes.0.claim: (gone)",
    "CapacitySnapshot volumes.0.claim: data",
    "CapacitySnapshot volumes.0.zone: us-west-2d",
    'CapacitySnapshot volumes.0.zones: [""]',
    "CapacitySnapshot storageClasses.0.bindingMode: Immediate",
    "CapacitySnapshot groups.0.pods.0.role: (gone)",
    "Placement metadata.namespace: (gone)",
    "Placement policy: (gone)",
    "Placement members.0.file: (gone)",
    "Placement clusters.0.since: (gone)",
    # fields that do not exist, at every level
    "Fleet specs: {}",
    "Fleet status: {}",
    "Fleet metadata.namespace: default",
    "Fleet spec.Engine: flux",
    "Fleet spec.system_namespace: x",
    "Fleet spec.source.includes: []",
    "Fleet spec.source.namespaces.from_path: x",
    "Fleet spec.deployment.path: x",
    "Cluster spec.cloud: aws",
    "Cluster spec.autoscaler.nodetypes: []",
    "Cluster spec.autoscaler.nodeTypes.0.price: 1",
    "Cluster spec.autoscaler.nodeTypes.0.count: 1",
    "Cluster spec.autoscaler.nodePools.0.disruption: {}",
    "CapacitySnapshot nodeGroups.0.instanceType: x",
    "CapacitySnapshot nodeGroups.0.exhausted.age: 5m",
    "Cluster spec.taints.0.operator: Exists",
    "Cluster spec.overrides.0.from: /x",
    "Cluster spec.profile.gatewayApi: true",
    "Cluster spec.profile.kuberay.gates: {}",
    "Cluster spec.profile.runtimeClasses.0.handler: runsc",
    "CapacitySnapshot sealingKey: team-a",
    "PlacementPolicy spec.select.namespace: x",
    "PlacementPolicy spec.placement.spread: {}",
    "PlacementPolicy spec.placement.order.0.name: x",
    "PlacementPolicy spec.relocation.when.notEligible: Never",
    "CapacitySnapshot spec: {}",
    "CapacitySnapshot nodes.0.pods: [{labels: {app: a}}]",
    "CapacitySnapshot nodes.1.pods.0.antiAffinity.0.topologyKey: (gone)",
    "CapacitySnapshot nodes.1.pods.0.antiAffinity.0.weight: 1",
    "CapacitySnapshot nodes.1.pods.0.hostPorts.0.port: 0",
    "CapacitySnapshot nodes.1.pods.0.name: agent",
    "CapacitySnapshot groups.0.namespace: x",
    "Placement clusters.0.since_epoch: 1",
    # nulls
    "Fleet metadata: null",
    "Fleet spec: null",
    "Fleet spec.source.exclude: null",
    "Fleet spec.source.exclude: [null]",
    "Fleet spec.deployment.url: null",
    "Fleet metadata.labels: {team: null}",
    "Cluster spec.autoscaler: null",
    "Cluster spec.taints.0.value: null",
    "Cluster spec.overrides.0.path: null",
    "Cluster spec.profile: null",
    "Cluster spec.profile.kuberay.featureGates: {RayCronJob: null}",
    "PlacementPolicy spec.select: null",
    "PlacementPolicy spec.clusters.names: null",
    "PlacementPolicy spec.groupBy: null",
    "CapacitySnapshot serves: null",
    "CapacitySnapshot nodes.0.used: {cpu: null}",
    "CapacitySnapshot groups.0.pods.0.node: null",
    "Placement waitingSince: null",
    # wrong types
    "Fleet metadata: fleet",
    "Fleet spec: []",
    "Fleet spec.source.include: workloads/**",
    "Fleet spec.source.include: {0: workloads/**}",
    "Fleet spec.source.include: [1]",
    "Fleet metadata.labels: [a]",
    "Fleet metadata.labels: {team: 1}",
    "Fleet metadata.labels: {team: true}",
    "Fleet metadata.annotations: {note: 1}",
    "Fleet spec.engine: 1",
    "Cluster spec.taints: {}",
    "Cluster spec.taints: [gpu]",
    "Cluster spec.kubernetesVersion: 1.31",
    "Cluster spec.autoscaler: Luna",
    "Cluster spec.profile.kuberay: 1.7.0",
    "Cluster spec.profile.kuberay.version: 1.7",
    "Cluster spec.profile.kuberay.featureGates: [RayCronJob]",
    "Cluster spec.profile.kuberay.watchNamespaces: rayjob1",
    "CapacitySnapshot present: [hf-token]",
    "Cluster spec.autoscaler.podLabels: {elotl-luna: true}",
    "PlacementPolicy spec.select: []",
    "PlacementPolicy spec.select.kinds: RayJob",
    "PlacementPolicy spec.placement.order: {}",
    "PlacementPolicy spec.priority: 1.5",
    "PlacementPolicy spec.priority: true",
    "PlacementPolicy spec.priority: 1.0e+300",
    "CapacitySnapshot nodes: {}",
    "CapacitySnapshot nodes.0: n1",
    "CapacitySnapshot nodes.0.allocatable: [4]",
    "Placement reason: {}",
    "Placement members.0.namespace: 1",
    # numbers and booleans in quotes
    'PlacementPolicy spec.priority: "100"',
    'PlacementPolicy spec.precedence: "1"',
    'PlacementPolicy spec.placement.copies: "2"',
    'PlacementPolicy spec.groupBy: {directory: "true"}',
    'Cluster spec.autoscaler.nodeTypes.0.max: "4"',
    'Cluster spec.autoscaler.nodeTypes.0.pricePerHour: "0.5"',
    'Cluster spec.autoscaler.nodeTypes.0.spot: "no"',
    'CapacitySnapshot nodes.0.count: "3"',
    'CapacitySnapshot nodes.0.ready: "true"',
    'Cluster spec.profile.certManager: "true"',
    'Cluster spec.profile.kuberay.featureGates: {RayCronJob: "true"}',
    'CapacitySnapshot applied.platform: "1"',
    # numbers out of range
    "Cluster spec.autoscaler.nodeTypes.0.max: -1",
    "Cluster spec.autoscaler.maxNodes: -1",
    "Cluster spec.autoscaler.nodePools.0.weight: 101",
    "Cluster spec.autoscaler.nodePools.0.limits: {cpu: -1}",
    "CapacitySnapshot nodeGroups.0.count: -1",
    "PlacementPolicy spec.budgetPerHour: -1",
    "Cluster spec.autoscaler.nodeTypes.0.max: 100001",
    "Cluster spec.autoscaler.nodeTypes.0.pricePerHour: -0.01",
    "Cluster spec.autoscaler.nodeTypes.0.pricePerHour: 1000000000",
    "PlacementPolicy spec.placement.copies: 0",
    "PlacementPolicy spec.placement.copies: 10001",
    "PlacementPolicy spec.placement.copies: 1.5",
    "PlacementPolicy spec.placement.copies: true",
    "CapacitySnapshot nodes.0.count: 0",
    "CapacitySnapshot applied.workloads: -1",
    "Placement clusters.0.epoch: 0",
    # one of several words
    "Fleet spec.engine: ArgoCD",
    "Cluster spec.role: workload",
    "Cluster spec.state: Drained",
    "Cluster spec.autoscaler.type: luna",
    "Cluster spec.taints.0.effect: Never",
    'Cluster spec.taints.0.effect: ""',
    "Cluster spec.overrides.0.op: move",
    "Cluster spec.profile.gangScheduler: kueue",
    "CapacitySnapshot gangScheduler: Volcano",
    "PlacementPolicy spec.placement.type: Spread",
    "PlacementPolicy spec.placement.copies: all",
    "PlacementPolicy spec.clusters.matchExpressions.0.operator: Gt",
    "PlacementPolicy spec.relocation.when.ClusterLost: Sometimes",
    "PlacementPolicy spec.relocation.strategy: Recreate",  # it has surge
    "PlacementPolicy spec.relocation.when.PendingPods: Never",  # it has pendingFor
    "PlacementPolicy spec.placement.type: Capacity",  # it has when.PreferredAvailable
    "CapacitySnapshot groups.0.phase: Crashed",
    "Placement clusters.0.role: Head",
    "Placement members.0.only: Copy",
    "PlacementPolicy spec.placement.span: Always",
    "PlacementPolicy spec.placement.span: IfNeeded",  # it has reserve: Maximum
    "PlacementPolicy spec.placement.prefer: [Free, Span]",
    "PlacementPolicy spec.placement.prefer: [Free, Span, Span]",
    "Cluster spec.mesh: us mesh",
    # names
    'Fleet metadata.name: ""',
    "Fleet metadata.name: Fleet",
    "Fleet metadata.name: a..b",
    "Fleet metadata.name: -a",
    "Fleet metadata.name: a_b",
    f"Fleet metadata.name: {'a' * 254}",
    'Fleet metadata.name: "a\\n"',
    "Cluster metadata.name: a.b",
    "Cluster spec.profile.kuberay.version: nightly",
    "Cluster spec.profile.kuberay.featureGates: {Ray-Cron-Job: true}",
    "Cluster spec.profile.present.0.apiGroup: Apps",
    "Cluster spec.profile.present.0.kind: secret",
    "Cluster spec.profile.runtimeClasses.0.name: G_visor",
    'Cluster spec.profile.sealingKey: ""',
    f"Cluster metadata.name: {'a' * 64}",
    "Fleet metadata.labels: {-a: b}",
    "Fleet metadata.labels: {a/b/c: d}",
    f"Fleet metadata.labels: {{{'a' * 64}: b}}",
    "Fleet metadata.labels: {a: b c}",
    f"Fleet metadata.labels: {{a: {'b' * 64}}}",
    f"Fleet metadata.annotations: {{{'a' * 256}/{'b' * 62}: c}}",
    "Fleet spec.systemNamespace: kube_system",
    "Cluster spec.provider: us east",
    'Cluster spec.region: ""',
    "Cluster spec.autoscaler.nodeTypes.0.name: g4dn 2xlarge",
    "PlacementPolicy spec.clusters.names: [A]",
    "PlacementPolicy spec.groupBy: {label: a b}",
    f"PlacementPolicy spec.tolerations.0.key: {'a' * 318}",
    'CapacitySnapshot nodes.0.name: ""',
    f"CapacitySnapshot nodes.0.name: {'n' * 254}",
    "CapacitySnapshot groups.0.name: train",
    "CapacitySnapshot groups.0.name: a/b/c",
    'CapacitySnapshot groups.0.pods.0.role: ""',
    "Placement metadata.namespace: _clusters",
    "Placement metadata.name: a/b",
    # quantities
    "CapacitySnapshot nodes.0.allocatable: {cpu: four}",
    "CapacitySnapshot nodes.0.allocatable: {cpu: 4 cores}",
    "CapacitySnapshot nodes.0.allocatable: {memory: 12GB}",
    "CapacitySnapshot nodes.0.allocatable: {memory: 12gi}",
    'CapacitySnapshot nodes.0.allocatable: {cpu: ""}',
    'CapacitySnapshot nodes.0.allocatable: {cpu: "-1"}',
    'CapacitySnapshot nodes.0.allocatable: {cpu: "-0"}',
    "CapacitySnapshot nodes.0.allocatable: {cpu: -1}",
    "CapacitySnapshot nodes.0.allocatable: {cpu: -0.5}",
    "CapacitySnapshot nodes.0.allocatable: {cpu: true}",
    "CapacitySnapshot nodes.0.allocatable: {cpu: [1]}",
    "CapacitySnapshot nodes.0.allocatable: {memory: 1.0e+40}",
    f"CapacitySnapshot nodes.0.allocatable: {{cpu: '{'0' * 65}'}}",
    'CapacitySnapshot nodes.0.allocatable: {"": "1"}',
    f"CapacitySnapshot nodes.0.allocatable: {{{'a' * 318}: '1'}}",
    "Cluster spec.autoscaler.nodeTypes.0.allocatable: 4",
    # durations and times
    "Cluster spec.maxAge: 15",
    'Cluster spec.maxAge: ""',
    'Cluster spec.maxAge: "15"',
    "Cluster spec.maxAge: 15 m",
    "Cluster spec.maxAge: 1d",
    "Cluster spec.maxAge: 30m1h",
    "Cluster spec.maxAge: 1.5h",
    "Cluster spec.maxAge: 1234567h",
    "Cluster spec.maxAge: 0s",
    "Cluster spec.maxAge: 00h000m",
    "Cluster spec.standby: {wakeTimeout: 0s}",
    "Fleet spec.lostAfter: 0m",
    "Fleet spec.guards: {relocations: {per: 0s}}",
    'Fleet spec.guards: {freeze: [{schedule: "0 18 * * 5", duration: 0h}]}',
    "PlacementPolicy spec.relocation: {strategy: Surge, surge: {timeout: 0s}}",
    'CapacitySnapshot observedAt: "2026-01-02"',
    'CapacitySnapshot observedAt: "2026-01-02 03:04:05Z"',
    'CapacitySnapshot observedAt: "2026-01-02T03:04:05"',
    'CapacitySnapshot observedAt: "2026-01-02T03:04Z"',
    'CapacitySnapshot observedAt: "2026-13-02T03:04:05Z"',
    'CapacitySnapshot observedAt: "2026-01-32T03:04:05Z"',
    'CapacitySnapshot observedAt: "2026-01-02T24:00:00Z"',
    'CapacitySnapshot observedAt: "2026-01-02T03:04:60Z"',
    'CapacitySnapshot observedAt: "2026-01-02T03:04:05+24:00"',
    'CapacitySnapshot observedAt: "2026-01-02T03:04:05Z\\n"',
    "CapacitySnapshot observedAt: 1767323045",
    # paths, globs, pointers, addresses
    "Fleet spec.source.include: [/workloads/**]",
    "Fleet spec.source.include: [workloads/]",
    "Fleet spec.source.include: [workloads//a]",
    "Fleet spec.source.include: [../other/**]",
    "Fleet spec.source.include: [./a]",
    "Fleet spec.source.include: [a/../b]",
    'Fleet spec.source.include: [""]',
    'Fleet spec.source.include: ["a\\\\b"]',
    "Fleet spec.source.namespaces.fromPath: workloads/**",
    "Fleet spec.source.namespaces.fromPath: workloads/x{namespace}/**",
    'Fleet spec.source.namespaces.fromPath: "{namespace}/{namespace}"',
    "Fleet spec.source.namespaces.fromPath: /{namespace}/**",
    "Fleet spec.deployment.url: http://example.com/x",
    "Fleet spec.deployment.url: ext::sh -c id",
    "Fleet spec.deployment.url: -oProxyCommand=id@example.com",
    "Fleet spec.deployment.url: ../deployment",
    "Fleet spec.deployment.branch: -main",
    "Fleet spec.deployment.branch: a..b",
    "Fleet spec.deployment.branch: a.lock",
    "Fleet spec.deployment.branch: a/",
    "Fleet spec.deployment.branch: a b",
    f"Fleet spec.deployment.branch: {'a' * 201}",
    "Fleet spec.deployment.root: /clusters",
    "Fleet spec.deployment.root: a/../b",
    "Fleet spec.deployment.root: .git",
    "Fleet spec.deployment.root: placements",
    "Fleet spec.deployment.root: fleet/x",
    "Fleet spec.capacity.path: a//b",
    'Fleet spec.deployment.proposed: "yes"',
    "Fleet spec.deployment.hydrator.notes: 1",
    "Fleet spec.platform.charts.0.name: Kuberay",
    f"Fleet spec.platform.charts.0.name: {'a' * 54}",
    "Fleet spec.platform.charts.0.repo: http://example.com",
    "Fleet spec.platform.charts.0.repo: https://me:pw@example.com",
    "Fleet spec.platform.charts.0.version: '>=1.0.0'",
    "Fleet spec.platform.charts.0.version: 1.5",
    "Fleet spec.platform.charts.0.chart: ../x",
    "Fleet spec.platform.charts.0.namespace: A",
    "Fleet spec.platform.charts.0.namespace: (gone)",
    "Fleet spec.platform.charts.0.values: []",
    "PlacementPolicy spec.select.namespaces: [a b]",
    'PlacementPolicy spec.select.kinds: [""]',
    "PlacementPolicy spec.select.paths: [a/]",
    "Cluster spec.overrides.0.path: spec.replicas",
    "Cluster spec.overrides.0.path: spec/replicas",
    'Cluster spec.overrides.0.path: ""',
    "Cluster spec.overrides.0.path: /a~2b",
    "Cluster spec.overrides.0.path: /metadata/name",
    "Cluster spec.overrides.0.path: /kind",
    "Cluster spec.kubernetesVersion: v1.31",
    "CapacitySnapshot nodeGroups.0.exhausted.code: no room",
    # node pools
    "Cluster spec.autoscaler.type: Luna",
    "Cluster spec.autoscaler.nodePools.0.requirements.0.values: (gone)",
    "Cluster spec.autoscaler.nodePools.0.requirements.0.operator: Exists",
    "Cluster spec.autoscaler.nodePools.0.requirements.0.operator: Gt",
    'Cluster spec.autoscaler.nodePools.0.requirements.1.values: ["3", "4"]',
    "Cluster spec.autoscaler.nodePools.0.requirements.1.values: [three]",
    # a budget
    "PlacementPolicy spec.placement.admission: Immediate",
    # how much may go
    "Fleet spec.guards.removals.max: 101%",
    "Fleet spec.guards.removals.max: -1",
    "Fleet spec.guards.removals.max: true",
    "Fleet spec.guards.removals.max: 2.5",
    'Fleet spec.guards.removals.max: "25"',
    "Fleet spec.guards.removals.of: pods",
    "Fleet spec.guards.removals.exceed: Never",
    "Removals removed.0.groups: 0",
    # consent
    "Tenant spec.paths: (gone)",
    "Tenant spec.paths: []",
    "Tenant spec.paths: [/workloads/**]",
    "Tenant spec.paths: [../**]",
    "Tenant spec.paths: workloads/**",
    "Tenant spec.namespaces: (gone)",
    "Tenant spec.namespaces: []",
    "Tenant spec.namespaces: [Research]",
    "Tenant spec.namespaces: [a/b]",
    'Tenant spec.namespaces: [""]',
    "Tenant spec.kinds: Ray*",
    "Tenant spec.priority.max: high",
    "Tenant spec.priority.max: 1.5",
    "Tenant spec.quota: {cpu: -1}",
    "Tenant spec.quota: 3",
    "Tenant spec.clusterQuota: {cpu: [1]}",
    "Tenant spec.budgetPerHour: -1",
    'Tenant spec.budgetPerHour: "much"',
    'Tenant spec.budgetPerHour: "1e3"',
    'Tenant spec.budgetPerHour: "-1"',
    "Approval spec.groups: (gone)",
    "Approval spec.groups: []",
    "Approval spec.groups: train",
    "Approval spec.groups: [train]",
    "Approval spec.groups: [a/b/c]",
    'Approval spec.groups: ["a/b c"]',
    "Approval spec.groups: [a/]",
    "Approval spec.action: (gone)",
    "Approval spec.action: move",
    "Approval spec.action: Return",
    "Approval spec.action: Remove",
    "Approval spec.action: Exceed",
    "Approval spec.to: GPU",
    "Approval spec.expires: (gone)",
    "Approval spec.expires: never",
    "Approval spec.expires: 12",
    "Approval spec.plan: 1a2b",
    # kinds that are declared
    "WorkloadKind spec.apiGroup: (gone)",
    "WorkloadKind spec.apiGroup: apps",
    "WorkloadKind spec.apiGroup: example.com/v1",
    "WorkloadKind spec.kind: mpirun",
    "WorkloadKind spec.versions: []",
    "WorkloadKind spec.versions: [example.com/v1]",
    "WorkloadKind spec.pods: []",
    "WorkloadKind spec.pods: (gone)",
    "WorkloadKind spec.pods.0.each: /spec/roles",
    "WorkloadKind spec.pods.0.template: []",
    "WorkloadKind spec.pods.0.template: (gone)",
    "WorkloadKind spec.pods.0.template: /spec/template",
    "WorkloadKind spec.pods.0.template: [spec.template]",
    "WorkloadKind spec.pods.0.template: [/spec/roles/*/*/template]",
    "WorkloadKind spec.pods.0.template: [/*/template]",
    "WorkloadKind spec.pods.0.podSpec: [/spec/roles/*/pod]",
    "WorkloadKind spec.pods.0.podFields: [/spec/roles/*]",
    "WorkloadKind spec.pods.0.fieldsAt: {}",
    "WorkloadKind spec.pods.0.orEmpty: false",
    "WorkloadKind spec.pods.1: {podFields: [/spec]}",
    "WorkloadKind spec.pods.1: {}",
    "WorkloadKind spec.pods.1.fieldsAt: {resource-claims: [/spec/devices]}",
    "WorkloadKind spec.pods.1.fieldsAt: {resourceClaims: []}",
    "WorkloadKind spec.pods.1.surge.0.default: (gone)",
    "WorkloadKind spec.pods.1.surge.0.default: 25 %",
    "WorkloadKind spec.pods.1.surge.0.default: -1",
    "WorkloadKind spec.pods.0.count.0.paths: (gone)",
    "WorkloadKind spec.pods.0.count.0.paths: []",
    "WorkloadKind spec.pods.0.count.0.default: -1",
    "WorkloadKind spec.pods.0.count.0.default: 1.5",
    "WorkloadKind spec.pods.0.count.0.when: []",
    "WorkloadKind spec.pods.0.minimum.0.unlimited: true",
    "WorkloadKind spec.pods.0.adds.0.requests: (gone)",
    "WorkloadKind spec.pods.0.adds.0.role: init",
    "WorkloadKind spec.pods.0.labels: {a b: /metadata/name}",
    "WorkloadKind spec.pods.0.when.0.values: []",
    "WorkloadKind spec.pods.0.when.0.values: [1.5]",
    "WorkloadKind spec.pods.0.when.0.values: [[a]]",
    "WorkloadKind spec.pods.0.when.0.values: [null]",
    "WorkloadKind spec.pods.0.when.0.operator: Equals",
    "WorkloadKind spec.stopped.0.when: []",
    "WorkloadKind spec.stopped.0.because: (gone)",
    'WorkloadKind spec.stopped.0.because: ""',
    "WorkloadKind spec.stopped.0.when.0.paths: [/spec/roles/*/suspend]",
    "WorkloadKind spec.notSized.0.when.0.values: [a]",
    "WorkloadKind spec.needs.0.path: (gone)",
    "WorkloadKind spec.needs.0.kind: hostfile",
    "WorkloadKind spec.needs.0.apiGroup: /v1",
    # settings that contradict each other
    "Cluster spec.overrides.2.value: 1",
    "Cluster spec.overrides.0.value: (gone)",
    "Cluster spec.overrides.1: {path: /a, op: add}",
    "Cluster spec.overrides.1: {path: /a}",
    "OverridePolicy spec.overrides: []",
    "PlacementPolicy spec.placement.weights: {gpu-1: 1}",
    "PlacementPolicy spec.placement: {type: Scored}",
    "PlacementPolicy spec.placement: {type: Scored, scores: []}",
    "PlacementPolicy spec.placement: {scores: [{name: a}]}",
    "PlacementPolicy spec.placement: {type: Scored, scores: [{weight: 1}]}",
    "PlacementPolicy spec.placement: {type: Scored, scores: [{name: a, allocatable: cpu}]}",
    "PlacementPolicy spec.placement: {type: Scored, scores: [{name: a, weight: 0}]}",
    "PlacementPolicy spec.placement: {type: Scored, scores: [{name: a, weight: -11}]}",
    "PlacementPolicy spec.placement: {type: Scored, scores: [{name: a, weight: 11}]}",
    "ClusterScores spec.scores: (gone)",
    "ClusterScores spec.scores: {gpu-1: 101}",
    "ClusterScores spec.scores: {gpu-1: -101}",
    "ClusterScores spec.scores: {gpu-1: 0.5}",
    "ClusterScores spec.scores: {GPU: 1}",
    "ClusterScores spec.validUntil: tomorrow",
    "PlacementPolicy spec.placement.copies: All",
    "PlacementPolicy spec.placement.copies: 1",
    "PlacementPolicy spec.placement.copies: (gone)",
    "PlacementPolicy spec.placement.topologySpread.0: {topologyKey: a}",
    "PlacementPolicy spec.placement.topologySpread.0.topologyKey: (gone)",
    "PlacementPolicy spec.placement.topologySpread.0.topologyKey: a b",
    "PlacementPolicy spec.placement.topologySpread.0.maxSkew: 0",
    "PlacementPolicy spec.placement.topologySpread.0.minDomains: '2'",
    "PlacementPolicy spec.placement.topologySpread.0.maxDomains: 1.5",
    "PlacementPolicy spec.placement: {type: Divide, weights: {gpu-1: 0, gpu-2: 0}}",
    "PlacementPolicy spec.placement: {type: Divide, weights: {GPU: 1}}",
    "PlacementPolicy spec.placement: {type: Divide, weights: {gpu-1: -1, gpu-2: 2}}",
    "PlacementPolicy spec.placement: {type: Divide, weights: {gpu-1: 70%}}",
    "PlacementPolicy spec.placement: {type: Divide, order: [{}]}",
    "PlacementPolicy spec.placement.divideBy: Room",
    "PlacementPolicy spec.placement: {divideBy: FewestClusters}",
    "PlacementPolicy spec.placement: {type: Divide, divideBy: Fewest}",
    "PlacementPolicy spec.placement: {type: Divide, divideBy: Room, weights: {gpu-1: 1}}",
    "PlacementPolicy spec.placement.order: []",
    "PlacementPolicy spec.placement.order: (gone)",
    "PlacementPolicy spec.placement.type: Capacity",
    "PlacementPolicy spec.placement.type: (gone)",
    "PlacementPolicy spec.groupBy: {}",
    "PlacementPolicy spec.groupBy: {directory: false}",
    "PlacementPolicy spec.groupBy: {directory: true, namespace: true}",
    "PlacementPolicy spec.groupBy: {label: a, directory: true}",
    "PlacementPolicy spec.clusters.matchExpressions.0.values: []",
    "PlacementPolicy spec.clusters.matchExpressions.0.values: (gone)",
    "PlacementPolicy spec.select.labelSelector.matchExpressions.0.values: [a]",
]
"""Each breaks the document with every field of a kind at one place: `<Kind> <where>: <what>`."""


def broken(row: str) -> dict[str, Any]:
    kind, _, change = row.partition(" ")
    where, _, what = change.partition(": ")
    value = own(kind, EVERY_FIELD[kind])
    *above, last = (int(step) if step.isdigit() else step for step in where.split("."))
    at: Any = value
    for step in above:
        at = at[step]
    if what == GONE:
        del at[last]
    else:
        at[last] = yaml.safe_load(what)
    return value


@pytest.mark.parametrize("row", BROKEN)
def test_what_is_wrong_is_refused_by_parser_and_schema(row: str) -> None:
    problems, accepted = judged(broken(row))
    assert problems
    assert not accepted
    assert {problem.code for problem in problems} <= CODES.keys()


# what only the parser can tell

ONLY_THE_PARSER = {
    "a key that is set twice": ('Cluster metadata: {name: c, name: d}\nspec: {}', r'the key "name" is already set'),
    "two node types of one name": (
        "Cluster metadata: {name: c}\n"
        "spec: {autoscaler: {type: Luna, nodeTypes: [{name: a, max: 1, allocatable: {}}, {name: a, max: 2, allocatable: {}}]}}",
        r"nodeTypes\[\d+\]: node type .* is there twice, first on line \d+$",
    ),
    "two node pools of one name": (
        "Cluster metadata: {name: c}\nspec: {autoscaler: {type: Karpenter, nodePools: [{name: a}, {name: a}]}}",
        r"nodePools\[\d+\]: node pool .* is there twice, first on line \d+$",
    ),
    "two node groups of one name": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\nnodeGroups: [{name: a}, {name: a}]',
        r"nodeGroups\[\d+\]: node group .* is there twice, first on line \d+$",
    ),
    "a node group that must have more than it may": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\nnodeGroups: [{name: a, min: 3, max: 2}]',
        r"min 3 is more than max 2$",
    ),
    "a label over which copies are spread twice": (
        "PlacementPolicy metadata: {name: p}\n"
        "spec: {select: {}, placement: {copies: 2, topologySpread: [{topologyKey: a, maxSkew: 1}, {topologyKey: a, maxSkew: 2}]}}",
        r"is there twice: say all about a label in one place$",
    ),
    "fewer domains at most than at least": (
        "PlacementPolicy metadata: {name: p}\n"
        "spec: {select: {}, placement: {copies: 3, topologySpread: [{topologyKey: a, minDomains: 3, maxDomains: 2}]}}",
        r"minDomains \d+ is more than maxDomains \d+$",
    ),
    "more domains than copies": (
        "PlacementPolicy metadata: {name: p}\n"
        "spec: {select: {}, placement: {copies: 2, topologySpread: [{topologyKey: a, minDomains: 3}]}}",
        r"minDomains \d+ of .* is more than there are copies \(\d+\)$",
    ),
    "a score that is weighed twice": (
        "PlacementPolicy metadata: {name: p}\n"
        "spec: {select: {}, placement: {type: Scored, scores: [{name: a}, {name: a, weight: 2}]}}",
        r"score .* is weighed twice: give it one weight$",
    ),
    "two nodes of one name on standby": (
        "Cluster metadata: {name: c}\n"
        "spec: {standby: {nodes: [{name: a, allocatable: {}}, {name: a, allocatable: {}}]}}",
        r"^spec\.standby\.nodes\[\d+\]: node .* is there twice, first on line \d+$",
    ),
    "manifests of two states in one directory": (
        "Cluster metadata: {name: c}\nspec: {standby: {manifests: {active: a, standby: a/b, renderInto: hub}}}",
        r"must be two directories",
    ),
    "two volumes of one claim": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\nvolumes: [{claim: a/b}, {claim: a/b}]',
        r"^volumes\[\d+\]: volume of claim .* is there twice, first on line \d+$",
    ),
    "two nodes of one name": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\n'
        "nodes: [{name: node, allocatable: {}}, {name: node, allocatable: {}}]",
        r"^nodes\[\d+\]: node .* is there twice, first on line \d+$",
    ),
    "two LocalQueues of one name": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\nqueues:\n'
        "- {name: a, localQueues: [{name: x/a}, {name: x/l}]}\n- {name: b, localQueues: [{name: x/l}]}",
        r"^queues\[\d+\]\.localQueues\[\d+\]: LocalQueue .* is there twice, first on line \d+$",
    ),
    "two groups of one name": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\ngroups: [{name: a/b}, {name: a/b}]',
        r"^groups\[\d+\]: group .* is there twice, first on line \d+$",
    ),
    "items of two lists in one entry": (
        "WorkloadKind metadata: {name: w}\nspec: {apiGroup: a.b, kind: K, versions: [v1], "
        "pods: [{resources: [/spec/a/*], count: [{paths: [/spec/b/*]}]}]}",
        r": a step \* stands for the items of one list, not of ",
    ),
    "names of no items": (
        "WorkloadKind metadata: {name: w}\nspec: {apiGroup: a.b, kind: K, versions: [v1], "
        "pods: [{resources: [/spec], names: [a]}]}",
        r": names are the keys that a step \* stands for",
    ),
    "a day that the month does not have, or a year that there is not": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-02-30T03:04:05Z"',
        r" is a time that does not exist: ",
    ),
    "a quantity beyond 64 bits": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\nnodes: [{name: node, allocatable: {memory: 8Ei}}]',
        r'".*" is beyond 2\^63$',
    ),
    "a number too small to write as a quantity": (
        'CapacitySnapshot metadata: {name: c}\nobservedAt: "2026-01-02T03:04:05Z"\nnodes: [{name: node, allocatable: {cpu: 1.0e-200}}]',
        r'".*e-[0-9]{3}" is not a Kubernetes quantity$',
    ),
}  # fmt: skip
"""Rules that JSON Schema has no words for: a document that breaks one, and what the parser says. Editors pass these."""


@pytest.mark.parametrize("rule", ONLY_THE_PARSER)
def test_what_a_schema_cannot_say_is_refused_by_the_parser_alone(rule: str) -> None:
    row, message = ONLY_THE_PARSER[rule]
    kind, _, rest = row.partition(" ")
    text = f"{HEAD}{kind}\n{rest}\n"
    faults = parse(text.encode()).faults
    said = [fault.message for fault in faults] or [problem.message for problem in refused(text)]
    assert len(said) == 1
    assert re.search(message, said[0])
    assert [rule for rule, (_, pattern) in ONLY_THE_PARSER.items() if re.search(pattern, said[0])] == [rule]
    assert COMBINED.is_valid(yaml.safe_load(text))
    assert BY_KIND[kind].is_valid(yaml.safe_load(text))


STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, -0.5, 1e19, 1e300, 2**63 - 1, 2**63 - 0.5, 100_001, "", " ", "a", "A", "1", "true", "null",
    "a b", "a\n", "\n", "ä", "😀", "a/b", "/a", "/a/b", "a/", "//", "..", "a~b", "~1", "-", "a-", ".", "*", "**", "workloads/**",
    "1h", "90m", "0s", "1h1h", "5", "5Gi", "+5", "5.", ".5", "-5", "9223372036854775808", "1e99", "8Ei", "2026-01-02T03:04:05Z",
    "2026-02-30T03:04:05Z", "0001-01-01T00:00:00+01:00", "All", "Ordered", "Capacity", "In", "Exists", "remove", "Fleet", "Plan",
    "gitplacer.dev/v1alpha1", "gitplacer.dev/v2", "v1", "x" * 64, "x" * 254, "x" * 318,
    [], [None], ["a"], ["a", "a"], [{}], [1], {}, {"a": None}, {"a": "b"}, {"a": 1}, {"": "1"}, {"name": "a"}, {"A b": "c"},
    {"path": "/a"}, {"path": "/a", "value": None}, {"key": "a"}, {"key": "a", "operator": "In"}, {"label": "a"}, {"names": []},
]  # fmt: skip
"""Values to put where others stand."""


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A document that is right, but for one place."""
    value: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(list(VALID.values())))))
    *above, last = draw(st.sampled_from(list(places(value))))
    at: Any = value
    for step in above:
        at = at[step]
    there = at[last]
    ways = ["replace", "delete", "wrap", "copy"]
    ways += ["rename", "add"] if isinstance(at, dict) else ["repeat"]
    ways += ["edit"] if isinstance(there, str) else []
    match draw(st.sampled_from(ways)):
        case "replace":
            at[last] = draw(st.sampled_from(STRANGE))
        case "delete":
            del at[last]
        case "wrap":
            at[last] = draw(st.sampled_from([[there], {"value": there}, [there, there], str(there)]))
        case "copy":
            at[last] = json.loads(json.dumps(_at(value, draw(st.sampled_from(list(places(value)))))))
        case "rename":
            name = str(last)
            snake = re.sub("([A-Z])", r"_\1", name).lower()
            renamed = draw(st.sampled_from([name.lower(), name.upper(), f"{name}s", f"_{name}", snake]))
            at[renamed] = at.pop(last)
        case "add":
            at[draw(st.sampled_from(["value", "name", "extra", "", "a b", "spec", "x" * 318]))] = draw(
                st.sampled_from(STRANGE)
            )
        case "repeat":
            at.append(there)
        case "edit":
            start = draw(st.integers(0, len(there)))
            end = draw(st.integers(start, min(start + 2, len(there))))
            at[last] = there[:start] + draw(st.text("aZ09 ./-_~*:+\n\\{}[]@é😀", max_size=2)) + there[end:]
    return json.loads(json.dumps(value))  # type: ignore[no-any-return]


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@settings(max_examples=max(500, settings().max_examples))
@given(mutated())
def test_parser_and_schema_agree_on_every_mutation_but_where_the_table_says(value: dict[str, Any]) -> None:
    problems, accepted = judged(value)
    if problems and accepted:
        patterns = [pattern for _, pattern in ONLY_THE_PARSER.values()]
        assert [p.message for p in problems if not any(re.search(pattern, p.message) for pattern in patterns)] == []
    else:
        assert accepted == (not problems), problems


# what is said

POLICY = f"{HEAD}PlacementPolicy\nmetadata:\n  name: training\nspec:\n"
CLUSTER = f"{HEAD}Cluster\nmetadata:\n  name: gpu-1\nspec:\n"
SNAPSHOT = f'{HEAD}CapacitySnapshot\nmetadata:\n  name: gpu-1\nobservedAt: "2026-01-02T03:04:05Z"\nnodes:\n'
LABEL_VALUE = "must be a label value: up to 63 letters, digits, dashes, dots and underscores"
LOOKS = '  quantities look like "500m", "4" or "16Gi"'

SAID: list[tuple[str, list[str]]] = [
    # fields that do not exist
    (f"{POLICY}  select: {{}}\n  placment: {{}}\n", ['7:3: unknown field "placment"', '  did you mean "placement"?']),
    (f"{POLICY}  select: {{}}\n  group_by: {{}}\n", ['7:3: unknown field "group_by"', '  did you mean "groupBy"?']),
    (
        f"{CLUSTER}  taints:\n  - key: gpu\n    operator: Exists\n",
        ['8:5: unknown field "operator"', "  known here: effect, key, value"],
    ),
    (
        f"{SNAPSHOT}- name: n1\n  allocatable: {{}}\n  lables: {{a: b}}\n",
        ['9:3: unknown field "lables"', '  did you mean "labels"?'],
    ),
    # fields at another level
    (
        f'{HEAD}CapacitySnapshot\nmetadata: {{name: gpu-1}}\nspec:\n  observedAt: "2026-01-02T03:04:05Z"\n  nodes: []\n',
        ['4:1: unknown field "spec"', "  there is nothing of that name here: write what is below it in its place: observedAt and nodes"],
    ),
    (
        f'{HEAD}CapacitySnapshot\nmetadata: {{name: gpu-1}}\nstatus: {{nodes: []}}\n',
        ['1:1: "observedAt" is missing', '4:1: unknown field "status"', "  there is nothing of that name here: write what is below it in its place: nodes"],
    ),
    (f"{CLUSTER}  zone: a\nstate: Draining\n", ['7:1: unknown field "state"', "  it belongs below spec"]),
    (
        f"{SNAPSHOT}- name: n1\n  spec: {{allocatable: {{}}, x: 1}}\n",
        ['8:3: unknown field "spec"', "  there is nothing of that name here: write what is below it in its place: allocatable"],
    ),
    # fields that are missing
    (f"{POLICY}  priority: 1\n", ['5:1: "select" is missing']),
    (f"{HEAD}Cluster\nspec: {{}}\n", ['1:1: "metadata" is missing']),
    (f"{SNAPSHOT}- name: n1\n", ['7:3: "allocatable" is missing']),
    # kinds and versions
    (f"{HEAD}PlacmentPolicy\n", ['2:7: unknown kind "PlacmentPolicy" of gitplacer.dev', '  did you mean "PlacementPolicy"?']),
    (
        f'{HEAD}Plan\nformatVersion: "1.0"\n',
        [
            '2:7: unknown kind "Plan" of gitplacer.dev',
            "  gitplacer has printed it, and it is no part of a source: keep it elsewhere, or under another ending",
        ],
    ),
    (
        "apiVersion: gitplacer.dev/v1alpha1\nmetadata: {}\n",
        [
            "1:1: an object of gitplacer.dev needs a kind",
            "  known here: Approval, CapacitySnapshot, Cluster, ClusterScores, ClusterState, Fleet, OverridePolicy, Placement, PlacementPolicy, Removals … and 4 more",
        ],
    ),
    (
        "apiVersion: gitplacer.dev/v1\nkind: Fleet\n",
        ["1:13: unknown version gitplacer.dev/v1", "  this version of gitplacer reads gitplacer.dev/v1alpha1"],
    ),
    # clusters that sleep
    (
        f"{CLUSTER}  standby: {{mode: Delete}}\n",
        ["6:12: spec.standby: mode Delete needs nodes: a cluster that is gone has no snapshot to tell what it would have"],
    ),
    (
        f"{CLUSTER}  role: Management\n  standby: {{}}\n",
        ["6:3: spec: a Management cluster has no standby: it takes no workloads, so it would always be idle"],
    ),
    # nothing where something is needed
    (
        f"{POLICY}  select: {{}}\n  clusters:\n  # names: [gpu-1]\n",
        ["7:3: spec.clusters has no value", "  give it one, or remove the key"],
    ),
    (
        f"{POLICY}  select: {{}}\n  clusters: {{names: [a, ~]}}\n",
        ["7:25: spec.clusters.names[1] has no value", "  give it one, or remove the key"],
    ),
    (
        f"{CLUSTER}  taints: [{{key: a, value: }}]\n",
        ["6:21: spec.taints[0].value has no value", "  give it one, or remove the key"],
    ),
    # types
    (
        f"{CLUSTER}  kubernetesVersion: 1.30\n",
        ["6:22: spec.kubernetesVersion must be a string, not a number", "  put it in quotes"],
    ),
    (
        f"{CLUSTER}  autoscaler:\n    type: Luna\n    podLabels: {{elotl-luna: true}}\n",
        ["8:29: spec.autoscaler.podLabels.elotl-luna must be a string, not true or false", "  put it in quotes"],
    ),
    (
        f'{POLICY}  select: {{}}\n  priority: "10"\n',
        ["7:13: spec.priority must be a whole number, not a string", "  remove the quotes"],
    ),
    (f"{POLICY}  select: {{}}\n  priority: high\n", ["7:13: spec.priority must be a whole number, not a string"]),
    (f"{POLICY}  select: {{}}\n  priority: 1.5\n", ["7:13: spec.priority must be a whole number, not 1.5"]),
    (
        f'{POLICY}  select: {{}}\n  groupBy: {{namespace: "true"}}\n',
        ["7:24: spec.groupBy.namespace must be true or false, not a string", "  remove the quotes"],
    ),
    (f"{POLICY}  select:\n    kinds: RayJob\n", ["7:12: spec.select.kinds must be a list, not a string"]),
    (f"{POLICY}  select: [RayJob]\n", ["6:11: spec.select must be a mapping, not a list"]),
    # words
    (
        f"{CLUSTER}  state: draining\n",
        ["6:10: spec.state must be Active, Cordoned, Draining or Lost, not draining", '  did you mean "Draining"?'],
    ),
    (f"{CLUSTER}  role: Hub\n", ["6:9: spec.role must be Workload or Management, not Hub"]),
    (f"{CLUSTER}  role: ''\n", ["6:9: spec.role must be Workload or Management, not empty"]),
    # forms
    (f"{HEAD}Cluster\nmetadata:\n  name: GPU\nspec: {{}}\n", ["4:9: metadata.name must be up to 63 lower-case letters, digits and dashes, and start and end with a letter or digit"]),
    (f"{HEAD}Cluster\nmetadata: {{name: c, labels: {{a b: c}}}}\nspec: {{}}\n", ['3:30: key "a b" must be a label key: a name of up to 63 characters, with an optional DNS prefix and a slash']),
    (f"{HEAD}Cluster\nmetadata: {{name: c, labels: {{a: b c}}}}\nspec: {{}}\n", [f"3:33: metadata.labels.a {LABEL_VALUE}"]),
    (f"{CLUSTER}  maxAge: 15\n", ['6:11: spec.maxAge must be a duration such as "30s", "15m" or "1h30m"']),
    (f"{CLUSTER}  maxAge: 0s\n", ["6:11: spec.maxAge must be longer than 0s"]),
    (f"{SNAPSHOT}- {{name: n1, allocatable: {{cpu: 4 cores}}}}\n", ['7:33: nodes[0].allocatable.cpu: "4 cores" is not a Kubernetes quantity', LOOKS]),
    (f"{SNAPSHOT}- {{name: n1, allocatable: {{cpu: -1}}}}\n", ['7:33: nodes[0].allocatable.cpu: "-1" is negative', LOOKS]),
    (f"{SNAPSHOT}- {{name: '', allocatable: {{}}}}\n", ["7:10: nodes[0].name must have at least 1 character"]),
    (f"{SNAPSHOT}- {{name: n1, count: 0, allocatable: {{}}}}\n", ["7:21: nodes[0].count must be at least 1"]),
    (SNAPSHOT.replace("01-02T", "02-30T").replace("nodes:\n", ""), ["5:13: observedAt is a time that does not exist: look at its month, day and hour"]),
    (f"{POLICY}  select: {{paths: [/workloads/**]}}\n", ['6:20: spec.select.paths[0] must be a relative path pattern without empty, "." or ".." parts; ** crosses folders']),
    (f"{HEAD}Fleet\nmetadata: {{name: f}}\nspec: {{deployment: {{url: ../d}}}}\n", ["4:26: spec.deployment.url must be an https:// or ssh:// address, or user@host:path, without a password, a user name for https, ? and #; a path is given on the command line"]),
    (f"{POLICY}  select: {{paths: ['{'*a' * 501}']}}\n", ['6:20: spec.select.paths[0] must be a relative path pattern without empty, "." or ".." parts; ** crosses folders, of at most 1,000 characters']),
    (f"{POLICY}  select: {{names: ['{'*a' * 501}']}}\n", ["6:20: spec.select.names[0] must be a name, with *, ? and [...] as wildcards, of at most 1,000 characters"]),
    # settings that contradict each other
    (f"{POLICY}  select: {{}}\n  placement: {{type: Ordered}}\n", ["7:14: spec.placement: type Ordered needs order"]),
    (f"{POLICY}  select: {{}}\n  groupBy: {{}}\n", ["7:12: spec.groupBy: give exactly one of label, directory: true, namespace: true"]),
    (f"{CLUSTER}  overrides:\n  - {{path: /a, op: remove, value: 1}}\n", ["7:5: spec.overrides[0]: remove takes no value"]),
    (f"{HEAD}OverridePolicy\nmetadata: {{name: o}}\nspec: {{select: {{}}, overrides: []}}\n", ["4:31: spec.overrides must have at least 1 item, not 0"]),
    (f"{SNAPSHOT}- {{name: n1, allocatable: {{}}}}\n- {{name: n1, allocatable: {{}}}}\n", ["8:3: nodes[1]: node n1 is there twice, first on line 7", "  remove one of the two"]),
    # all at once
    (
        f"{CLUSTER}  stat: Lost\n  zone: 1\n  taints:\n",
        [
            '6:3: unknown field "stat"', '  did you mean "state"?',
            "7:9: spec.zone must be a string, not a number", "  put it in quotes",
            "8:3: spec.taints has no value", "  give it one, or remove the key",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), SAID)
def test_what_is_wrong_is_said_with_its_place_and_its_remedy(text: str, said: list[str]) -> None:
    found = [(f"{p.location.line}:{p.location.column}: {p.message}", f"  {p.hint}") for p in refused(text)]
    assert [line for lines in found for line in lines if line.strip()] == said


# schemas

SCHEMAS = ROOT / "schemas"


@pytest.mark.parametrize("name", ["gitplacer", *DOCUMENTS, *TABLE])
def test_a_schema_file_is_what_the_command_prints(name: str) -> None:
    printed = CliRunner().invoke(command, [] if name == "gitplacer" else [name]).stdout
    stands = SCHEMAS / f"{name}.json"
    assert stands.is_file() and stands.read_text("utf-8") == printed, "out of date; run: python docs/generate.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(printed))


def test_there_is_no_schema_file_but_these() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {f"{name}.json" for name in ("gitplacer", *DOCUMENTS, *TABLE)}


@pytest.mark.parametrize("kind", TABLE)
def test_an_editor_has_a_title_and_a_description_for_every_field(kind: str) -> None:
    schema = kind_schema(kind)
    for name, part in {kind: schema, **schema.get("$defs", {})}.items():
        assert part["title"] == name
        assert part["description"]
        for field, told in part["properties"].items():
            assert told["title"] == field, f"{name}.{field}"
            assert told["description"].endswith((".", "…")), f"{name}.{field}"
            assert "null" not in json.dumps(told.get("type", "")) + json.dumps(told.get("anyOf", "")), f"{name}.{field}"


@pytest.mark.parametrize("kind", TABLE)
def test_a_default_is_what_a_file_may_say(kind: str) -> None:
    """Editors propose it: `per: 3600`, as a program counts, would be refused, and so would a null in what an object is by default."""
    schema = kind_schema(kind)
    definitions = schema.get("$defs", {})
    found = [
        (field, told)
        for part in (schema, *definitions.values())
        for field, told in part["properties"].items()
        if "default" in told
    ]
    assert found
    for field, told in found:
        wrong = [error.message for error in Editor({**told, "$defs": definitions}).iter_errors(told["default"])]
        assert wrong == [], f"{field}: {told['default']}"


class _Compared(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _Compared.times += 1
        return str(self) == str(other)


def test_whether_a_name_is_there_twice_takes_one_look_at_each() -> None:
    names = [_Compared(f"n{number}") for number in range(2000)]
    assert first_twice([*names, _Compared("z"), _Compared("n1999")]) == "n1999"
    assert first_twice(names) is None
    assert _Compared.times < 10 * len(names)
