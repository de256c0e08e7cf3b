"""
Whatever a fleet says of itself, a pass is made of it.

Each seed is a small fleet of what policies, clusters, tenants, snapshots and workloads can say, drawn without a thought for whether it
makes sense, and what happens to it: snapshots come, get old and go, clusters are lost, policies and apps are edited. Other laws draw
fleets for what they are about, and so miss what only two rare settings do together. These laws hold:

- a pass ends with a plan, or refuses the source and says why; nothing else ends it;
- what it decided comes out the same from what its commits say;
- where nothing changes any more, passes come to an end of what there is to be done.

A short form runs with the suite. For more:

    python -m tests.test_any_fleet --seeds 0:2000
"""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import ClassVar

import pytest

from gitplacer.hydrate import Hydration
from gitplacer.problems import Rejected, Severity
from tests.seeds import Lived, live_all
from tests.stories import FLEET, Story, cluster, outcome, policy, rayjob, rayservice, snapshot

SHORT, CHUNK = 60, 10  # seeds in the suite, seeds in a test
PASSES = 12
"""More than any of these fleets needs when nothing changes."""
HAPPENINGS = (
    *("look", "look", "snapshot", "silence", "cluster", "state", "gone", "app", "app", "no app"),
    *("policy", "tenants", "fleet", "approval", "approval"),
)
TRIGGER = ("Automatic", "Manual", "Never")
NAMESPACES = ("a", "b")


def mapping(**fields: object) -> str:
    """A mapping in YAML, without what is None."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in fields.items() if value is not None) + "}"


class Draws(Random):
    """What is drawn for the files of a fleet. The less `wild`, the fewer say more than they have to."""

    wild = 1.0

    def one(self, chance: float, *some: object) -> object | None:
        """One of some, or nothing."""
        return self.choice(some) if self.random() < chance * self.wild else None

    def cluster(self, name: str) -> dict[str, str]:
        spec = {
            "region": self.choice(("eu", "us")),
            "provider": self.one(0.5, "aws", "gce"),
            "state": self.one(0.2, "Cordoned", "Draining", "Lost"),
            "maxAge": self.one(0.2, "2m", "10m"),
            "taints": self.one(
                0.1, *(f"[{{key: t, effect: {e}}}]" for e in ("NoSchedule", "NoExecute", "PreferNoSchedule"))
            ),
            "limits": self.one(0.2, "{total: {cpu: 4}}", "{total: {cpu: 100}}"),
            "autoscaler": self._autoscaler() if self.random() < 0.4 * self.wild else None,
            "mesh": self.one(0.4, "m"),
            "profile": mapping(
                kuberay=self.one(0.2, '{version: "1.2"}', '{version: "1.6"}'),
                limitRanges=self.one(0.2, *(f"[{{namespace: a, max: {{cpu: {most}}}}}]" for most in (1, 2))),
            ),
        }
        spec["standby"] = self.one(0.3, "{}") if spec["autoscaler"] else None
        told = {key: str(value) for key, value in spec.items() if value is not None}
        return cluster(name, labels=f"{{zone: {self.choice(('za', 'zb'))}}}", **told)

    def _autoscaler(self) -> str:
        types = [
            mapping(
                name=f"m{number}",
                allocatable=mapping(cpu=self.choice((2, 4, 8)), memory="16Gi", **{"nvidia.com/gpu": self.one(0.5, 2)}),
                max=self.one(0.7, 0, 1, 3),
                pricePerHour=self.one(0.7, 0, 1.5, 3),
            )
            for number in range(self.randint(0, 2))
        ]
        pools = self.one(0.3, "[{name: p, limits: {cpu: 4}}]", "[{name: p}]")
        kind = "Karpenter" if pools else self.choice(("Luna", "ClusterAutoscaler", "Karpenter"))
        most = self.one(0.3, 0, 2, 5)
        return mapping(type=kind, nodeTypes=f"[{', '.join(types)}]", nodePools=pools, maxNodes=most)

    def snapshot(self, name: str, story: Story) -> dict[str, str]:
        nodes = []
        for number in range(self.randint(0, 4)):
            more = {
                "count": self.one(0.3, 2, 3),
                "unschedulable": self.one(0.2, "true"),
                "ready": self.one(0.2, "false"),
                "used": self.one(0.3, "{cpu: 1}", "{cpu: 4}"),
                "labels": self.one(0.3, f"{{zone: z{number}}}"),
                "taints": self.one(0.2, "[{key: nvidia.com/gpu, effect: NoSchedule}]"),
            }
            fields = "".join(f", {key}: {value}" for key, value in more.items() if value is not None)
            shape = f"n{number} {self.choice((2, 4, 8))} {self.choice((4, 16))}Gi {self.choice((0, 1, 2))}"
            nodes.append(f"{shape}|{fields}")
        hard = self.choice(("{requests.cpu: 3}", "{pods: 4}", "{requests.nvidia.com/gpu: 1}"))
        group = (
            f"{{name: g, allocatable: {{cpu: 4, memory: 8Gi}}, max: {self.randint(0, 4)}, count: {self.randint(0, 2)}}}"
        )
        more_of_it = {
            "coarse": self.one(0.2, "true"),
            "applied": self.one(0.4, *["EVERYTHING"] * 5, "{workloads: 7}"),
            "resourceQuotas": self.one(0.3, f"[{{namespace: {self.choice(NAMESPACES)}, name: q, hard: {hard}}}]"),
            "nodeGroups": self.one(0.3, f"[{group}]"),
        }
        told = "".join(f"{key}: {value}\n" for key, value in more_of_it.items() if value is not None)
        return snapshot(name, *nodes, at=story.now, more=told)

    def policy(self, namespace: str, clusters: Sequence[str]) -> dict[str, str]:
        kind = self.choice(("Capacity", "Capacity", "Cheapest", "Divide", "Ordered", "Scored"))
        by = self.one(0.7, "Room", "FewestClusters", "Weights") if kind == "Divide" else None
        copies = self.one(0.4, 1, 2, 3, "All")
        immediate, reserve = self.one(0.25, "Immediate"), self.one(0.3, "Minimum", "Maximum")
        alone = copies in (None, 1) and kind != "Divide"
        key = self.choice(("zone", "topology.kubernetes.io/region"))
        rule = mapping(
            topologyKey=key, maxSkew=self.randint(1, 2), minDomains=self.one(0.3, 2), maxDomains=self.one(0.3, 2)
        )
        placement = mapping(
            type=kind,
            order=f"[{{names: [{self.choice(clusters)}]}}, {{}}]" if kind == "Ordered" else None,
            scores=f"[{{allocatable: cpu, weight: {self.choice((-2, 1, 3))}}}]" if kind == "Scored" else None,
            divideBy=by,
            weights=mapping(**{name: self.randint(0, 3) for name in clusters}) if by == "Weights" else None,
            copies=copies,
            topologySpread=f"[{rule}]" if copies in (2, 3) and kind != "Divide" and self.random() < 0.6 else None,
            admission=immediate,
            accept=self.one(0.3, "TightFit"),
            reserve=reserve,
            scaleUp=self.one(0.3, "Never"),
            span=self.one(0.5, "IfNeeded") if alone and not immediate and not reserve else None,
            prefer=f"[{', '.join(self.sample(('Free', 'ScaleUp', 'Span'), 3))}]" if self.random() < 0.2 else None,
        )
        stays = immediate or copies == "All" or kind == "Divide"
        when = mapping(
            PendingPods=None if stays else self.choice(TRIGGER[:2]),
            ClusterLost=self.choice(TRIGGER),
            ClusterDraining=self.choice(TRIGGER),
            NotEligible=self.choice(TRIGGER),
        )
        relocation = mapping(
            when=when,
            strategy=self.choice(("Recreate", "Surge", "RemoveFirst")),
            runningJobs=self.choice(("Never", "Restart")),
            cooldown=self.choice(("0s", "30m")),
            pendingFor=None if stays else self.choice(("0s", "1m")),
        )
        update = mapping(
            ifNotFit=self.choice(("Relocate", "Hold", "Proceed")), reservePeak=self.choice(("true", "false"))
        )
        spec = {
            "select": f"{{namespaces: [{namespace}]}}",
            "placement": placement,
            "clusters": self.one(0.15, "{matchLabels: {zone: za}}"),
            "tolerations": self.one(0.3, "[{operator: Exists}]"),
            "priority": self.one(0.4, -1, 3),
            "preempts": self.one(0.3, "LowerPriority"),
            "preemptible": self.one(0.4, "true"),
            "budgetPerHour": None if immediate else self.one(0.3, 0, 1.5, 4),
            "relocation": self.one(0.5, relocation),
            "update": self.one(0.4, update),
            "groupBy": self.one(0.3, "{namespace: true}", "{directory: true}", "{label: app}"),
        }
        return policy(namespace, "\n".join(f"{key}: {value}" for key, value in spec.items() if value is not None))

    def fleet(self) -> dict[str, str]:
        exceed = self.choice(("Throttle", "Hold", "Allow"))
        guard = mapping(max=self.randint(0, 2), exceed=exceed)
        spec = mapping(
            lostAfter=self.one(0.5, "2m", "30m"),
            guards=self.one(0.3, *(f"{{{name}: {guard}}}" for name in ("relocations", "evacuations", "removals"))),
        )
        return {"fleet.yaml": FLEET.replace("spec: {}", f"spec: {spec}")}

    def approval(self, story: Story, clusters: Sequence[str]) -> dict[str, str]:
        """Consent, for no plan or, where that was asked for, mostly for the one that there is."""
        said = re.search(r"write `plan: (sha256:[0-9a-f]{64})`", str(story.plan(with_candidates=False).problems))
        action = self.choice(("Move", "Return", "Remove", "Exceed"))
        spec = mapping(
            groups=f"['{self.choice(('a/*', 'b/*', '*/*', 'a/w1', 'b/w2'))}']",
            action=action,
            to=self.choice(clusters) if action == "Move" and self.random() < 0.7 else None,
            expires=f"{story.now + timedelta(hours=self.choice((0, 2))):%Y-%m-%dT%H:%M:%SZ}",
        )
        asked = story.source.get("approvals/ok.yaml")
        if asked is not None and said is not None:
            return {"approvals/ok.yaml": re.sub(r"(, plan: .*)?}\n$", f", plan: '{said[1]}'}}\n", asked)}
        head = "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
        return {"approvals/ok.yaml": f"{head}spec: {spec}\n"}

    def tenants(self) -> dict[str, str]:
        found = {}
        for name in NAMESPACES:
            spec = {
                "paths": f"['workloads/{name}/**']",
                "namespaces": f"[{name}]",
                "quota": self.one(0.6, "{cpu: 2}", "{cpu: 9}"),
                "clusterQuota": self.one(0.4, "{cpu: 2}", "{cpu: 6}"),
                "budgetPerHour": self.one(0.3, 0, 2),
            }
            text = policy(name, "\n".join(f"{key}: {value}" for key, value in spec.items() if value is not None))
            found[f"tenants/{name}.yaml"] = text[f"policies/{name}.yaml"].replace("PlacementPolicy", "Tenant")
        return found

    def app(self, namespace: str, name: str) -> dict[str, str]:
        cpu = self.choice(("500m", "1", "3", "7"))
        match self.choice(("RayService", "RayJob", "Deployment", "StatefulSet", "DaemonSet", "ConfigMap")):
            case "RayService":
                return rayservice(namespace, name, cpu=cpu, workers=self.randint(0, 3), gpus=self.choice((0, 0, 1, 2)))
            case "RayJob":
                return rayjob(namespace, name, cpu=cpu, workers=self.randint(0, 3))
            case "ConfigMap":
                text = (
                    f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{app: x}}}}\ndata: {{a: b}}\n"
                )
                return {f"workloads/{namespace}/{name}.yaml": text}
            case kind:
                named = self.one(0.3, ", envFrom: [{configMapRef: {name: settings}}]") or ""
                pod = f"{{containers: [{{name: c, image: x, resources: {{requests: {{cpu: {cpu}}}}}{named}}}]}}"
                update = self.one(0.5, "{type: Recreate}", "{rollingUpdate: {maxSurge: 50%, maxUnavailable: 0}}")
                more = {
                    "replicas": None if kind == "DaemonSet" else self.randint(0, 5),
                    "strategy": update if kind == "Deployment" else None,
                    "serviceName": name if kind == "StatefulSet" else None,
                    "selector": f"{{matchLabels: {{app: {name}}}}}",
                    "template": f"{{metadata: {{labels: {{app: {name}}}}}, spec: {pod}}}",
                }
                spec = mapping(**more)
                text = f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\nspec: {spec}\n"
                return {f"workloads/{namespace}/{name}.yaml": text}


@dataclass
class Life(Lived):
    """A fleet, and what happens to it."""

    def live(self) -> Life:
        try:
            self._live(self._draws())
        except Rejected:
            self.counts["refused"] += 1
        except Exception:
            self.wrong.append(f"seed {self.seed}: {traceback.format_exc()}")
        return self

    wildness: ClassVar = (0.4, 1.0)

    def _draws(self) -> Draws:
        draws = Draws(self.seed)
        draws.wild = draws.choice(self.wildness)
        return draws

    def _live(self, draws: Draws) -> None:
        clusters = [f"c{number}" for number in range(draws.randint(1, 4))]
        story = Story.of(*map(draws.cluster, clusters), *(draws.policy(name, clusters) for name in NAMESPACES))
        story.source |= draws.tenants() if draws.random() < 0.3 else {}
        for number in range(draws.randint(1, 5)):
            story.source |= draws.app(draws.choice(NAMESPACES), f"w{number}")
        for name in clusters:
            story.capacity |= draws.snapshot(name, story) if draws.random() < 0.8 else {}
        for _ in range(draws.randint(2, 6)):
            self._look(draws, story)
            self._pass(story)
            self._happen(draws, story, clusters)
        for _ in range(PASSES):
            if not self._pass(story).steps:
                break
        else:
            self.wrong.append(f"seed {self.seed}: after {PASSES} passes there is something left to be done")
        self._rest(draws, story)

    def _look(self, draws: Draws, story: Story) -> None:
        """Look at a fleet before a pass is made of it."""

    def _rest(self, draws: Draws, story: Story) -> None:
        """Look at a fleet in which nothing is left to be done."""

    def _happen(self, draws: Draws, story: Story, clusters: Sequence[str]) -> None:
        name, namespace = draws.choice(clusters), draws.choice(NAMESPACES)
        match draws.choice(HAPPENINGS):
            case "look":
                story.look_again()
            case "snapshot":
                story.capacity |= draws.snapshot(name, story)
            case "silence":
                story.capacity.pop(f"{name}.yaml", None)
            case "cluster":
                story.source |= draws.cluster(name)
            case "state" if f"clusters/{name}.yaml" in story.source:
                text = re.sub(r"  state: .*\n", "", story.source[f"clusters/{name}.yaml"])
                story.source[f"clusters/{name}.yaml"] = (
                    f"{text}  state: {draws.choice(('Active', 'Draining', 'Lost'))}\n"
                )
            case "gone":
                story.source.pop(f"clusters/{name}.yaml", None)
            case "app":
                story.source |= draws.app(namespace, f"w{draws.randint(0, 5)}")
            case "no app":
                apps = [path for path in story.source if path.startswith("workloads/")]
                story.source.pop(draws.choice(apps or ["none"]), None)
            case "policy":
                story.source |= draws.policy(namespace, clusters)
            case "tenants":
                story.source |= draws.tenants()
            case "fleet":
                story.source |= draws.fleet()
            case "approval":
                story.source |= draws.approval(story, clusters)
        story.now += timedelta(minutes=draws.choice((0, 0, 1, 5, 40)))

    def _pass(self, story: Story) -> Hydration:
        self.told = [f"# {path}\n{text}" for path, text in (*story.source.items(), *story.capacity.items())]
        done = story.run()
        self.counts["passes"] += 1
        self.counts += Counter(f"{told.split()[0]} {told.split()[-1]}" for told in outcome(done).values())
        self.counts += Counter(problem.code for problem in done.problems if problem.severity is Severity.ERROR)
        return done


@pytest.mark.parametrize("first", range(0, SHORT, CHUNK))
def test_whatever_a_fleet_says_a_pass_is_made_of_it(first: int) -> None:
    lives = [Life(seed).live() for seed in range(first, first + CHUNK)]
    assert [line for life in lives for line in life.wrong] == []


def test_the_fleets_are_no_dull_ones() -> None:
    """Most are not refused, and much becomes of their groups: what is drawn can break the laws."""
    counts = sum((Life(seed).live().counts for seed in range(SHORT)), Counter[str]())
    assert counts["refused"] < SHORT / 5
    decided = {name for name in counts if " " in name}
    assert len(decided) >= 20
    assert {"Place", "Keep", "Wait", "Hold", "Update", "Relocate", "Remove"} <= {name.split()[0] for name in decided}


def main(args: Sequence[str] | None = None) -> int:
    """Live any range of seeds from the command line; exit 1 where a law was broken."""
    return live_all("Passes of any fleet.", "fleets", lambda seed: Life(seed).live(), args)


if __name__ == "__main__":
    sys.exit(main())
