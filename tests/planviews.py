"""Plans to be shown: one in which everything happens, the example fleet's, and decisions made by hand."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from gitplacer.explain import PlanView
from gitplacer.formats.markdown import plan_markdown
from gitplacer.formats.options import Options
from gitplacer.formats.text import plan_text
from gitplacer.model.decision import Action, Candidate, Decision, Finding, Reason, Tally, Verdict
from gitplacer.model.resources import Resources
from gitplacer.placement.plan import Plan
from gitplacer.review import Base, Review
from tests.stories import START, Story, cluster, policy, rayjob, rayservice, snapshot

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden" / "plan"

_CLOUD = """
    type: Luna
    nodeTypes:
    - {name: gpu.large, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, max: 4, pricePerHour: 0.75, spot: true}
    - {name: cpu.small, allocatable: {cpu: "4", memory: 16Gi}, max: 4, pricePerHour: 0.15}"""
_TRAINING = """
select: {namespaces: ["jobs*"]}
precedence: 100
clusters: {matchExpressions: [{key: region, operator: In, values: [us, eu]}]}
"""


_RUNNING = """\
applied: EVERYTHING
groups:
- name: jobs/running
  phase: Running
  pods: [{role: head, node: n1}, {role: worker/gpu, pendingSince: "2026-01-02T03:20:00Z", reason: Insufficient nvidia.com/gpu}]
"""


@cache
def view() -> PlanView:
    """A second pass in which something of everything happens."""
    story = Story.of(
        cluster("on-prem", labels="{region: eu}"),
        cluster("cloud", labels="{region: us}", autoscaler=_CLOUD),
        cluster("edge", labels="{region: edge}"),
        cluster("closed", labels="{region: eu}", state="Cordoned"),
        cluster("silent", labels="{region: eu}", maxAge="10m"),
        cluster("new", labels="{region: eu}"),
        cluster("hub", role="Management"),
        policy("training", _TRAINING),
        policy("anywhere", "select: {}"),
        policy("pinned", 'select: {namespaces: ["pinned"]}\nprecedence: 5\nclusters: {names: [edge]}'),
        rayservice("jobs-web", "api"),
        rayservice("web", "shop", gpus=0),
        rayservice("pinned", "sensor", gpus=0),
        rayjob("jobs", "running", workers=1),
        rayjob("jobs", "done", workers=1),
        capacity={
            **snapshot("on-prem", "n1 32 64Gi 3", "n2 16 64Gi 2 | , taints: [{key: gpu, value: reserved}]"),
            **snapshot("cloud", "c1 4 16Gi"),
            **snapshot("edge", "e1 8 16Gi"),
            **snapshot("silent", "s1 64 256Gi 8"),
        },
    )
    story.run()
    story.source.pop("workloads/jobs/done.yaml")
    story.source |= cluster("on-prem", labels="{region: eu}", state="Draining")
    story.source |= rayjob("jobs", "bigger", workers=3) | rayjob("jobs", "huge", workers=50)
    story.source |= rayservice("broken", "typo") | {"workloads/broken/typo.yaml": "kind: RayJob\nmetadata: {name: x}\n"}
    story.source["workloads/web/shop.yaml"] += "# a word more\n"
    story.now += timedelta(minutes=20)
    for name in ("on-prem", "cloud", "edge"):
        story.capacity[f"{name}.yaml"] = story.capacity[f"{name}.yaml"].replace(
            f"{START:%H:%M:%SZ}", f"{story.now:%H:%M:%SZ}"
        )
    story.capacity["on-prem.yaml"] += _RUNNING
    return story.plan().view


@cache
def unchanged() -> PlanView:
    """A pass that finds nothing to do."""
    story = Story.of(cluster("a"), policy("anywhere", "select: {}"), rayservice("prod", "api"),
                     capacity=snapshot("a", "n1 16 64Gi 2"))  # fmt: skip
    story.run()
    return story.plan().view


def _ending(name: str, workers: int) -> dict[str, str]:
    """A RayJob that gives its room back when it is done."""
    made = rayjob("jobs", name, workers=workers)
    return {
        path: text.replace("  entrypoint", "  shutdownAfterJobFinishes: true\n  entrypoint")
        for path, text in made.items()
    }


@cache
def crowded() -> PlanView:
    """
    A fleet that is full: production makes one experiment leave, another moves to where there is room, a long-waiting gang
    has room kept for it, and a late one finds that it may not have that.
    """
    order = "placement: {type: Ordered, order: [{names: [main]}, {names: [spare]}]}"
    story = Story.of(
        cluster("main"), cluster("spare"), cluster("batch"),
        policy("production", "select: {namespaces: [prod]}\npriority: 10\npreempts: LowerPriority\nclusters: {names: [main]}"),
        policy("experiments", f"select: {{namespaces: [lab, lab-*]}}\npreemptible: true\nclusters: {{names: [main, spare]}}\n{order}"),
        policy("jobs", "select: {namespaces: [jobs]}\nclusters: {names: [batch]}"),
        rayservice("lab", "chat", workers=2), rayservice("lab-b", "vision", workers=3), rayservice("prod", "search", workers=1),
        _ending("night", 2),
        capacity={
            **snapshot("main", "m1 64 256Gi 6"), **snapshot("spare", "s1 16 64Gi 2"), **snapshot("batch", "b1 32 128Gi 4"),
        },
    )  # fmt: skip
    story.run()
    story.source |= _ending("pretrain", 4)
    story.run()
    story.now += timedelta(hours=2)
    story.source |= rayservice("prod", "answers", workers=5) | _ending("late", 1)
    pod = "{{role: {}, node: {}, requests: {{cpu: '2', memory: 2Gi{}}}}}"
    for name, node, groups in (
        ("main", "m1", {"lab/chat": 2, "lab-b/vision": 3, "prod/search": 1}), ("spare", "s1", {}), ("batch", "b1", {"jobs/night": 2}),
    ):  # fmt: skip
        shown = "".join(
            f"- {{name: {group}, phase: Running, pods: [{', '.join([pod.format('head', node, ''), *[pod.format('worker/gpu', node, ', nvidia.com/gpu: 1')] * gpus])}]}}\n"
            for group, gpus in groups.items()
        )
        text = story.capacity[f"{name}.yaml"].replace(f"{START:%H:%M:%SZ}", f"{story.now:%H:%M:%SZ}")
        story.capacity[f"{name}.yaml"] = text + "applied: EVERYTHING\n" + (f"groups:\n{shown}" if shown else "")
    return story.plan().view


@cache
def example() -> PlanView:
    """The first pass over the example fleet."""
    folder = ROOT / "fleet-repo-example"
    source = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    story = Story(source, {p.removeprefix("capacity/"): t for p, t in source.items() if p.startswith("capacity/")})
    return replace(story.plan().view, deployment_commit=None)


def with_decisions(*decisions: Decision) -> PlanView:
    """The fleet of `view`, and these decisions about it."""
    plan = Plan(tuple(sorted(decisions, key=lambda d: d.group)))
    return replace(view(), plan=plan, changed_files={}, tree=view().snapshot.deployment)


def decision(action: Action = Action.WAIT, finding: Finding | None = None, **fields: object) -> Decision:
    """A decision about group ns/app."""
    known = {"group": "ns/app", "policy": "training", "before": (), "after": (), **fields}
    return Decision(action=action, finding=finding or Finding(code=Reason.NO_CLUSTER_FITS), **known)  # type: ignore[arg-type]


def refused(cluster_name: str, placed: int = 0, wanted: int = 2) -> Candidate:
    """A cluster that has room for some of the pods."""
    finding = Finding(
        code=Reason.INSUFFICIENT_CAPACITY, role="worker/small-group", placed=placed, wanted=wanted, nodes=4,
        short=Resources({"nvidia.com/gpu": wanted - placed}),
        tally=(Tally(Reason.INSUFFICIENT_CAPACITY, "nvidia.com/gpu", 3), Tally(Reason.UNTOLERATED_TAINT, "gpu:NoSchedule", 1)),
    )  # fmt: skip
    return Candidate(cluster_name, Verdict.REJECTED, finding)


def as_people_read_it(view: PlanView, base: Base, *, redact: bool = False) -> str:
    """A plan held against a base, as a terminal shows it and as a comment does."""
    return "\n".join(shown(view, Options(), Review(view, base, redact=redact)) for shown in (plan_text, plan_markdown))


def assert_golden(name: str, text: str, folder: Path = GOLDEN) -> None:
    """The text is what the golden file holds; GITPLACER_UPDATE_GOLDEN=1 writes it."""
    path = folder / name
    if os.environ.get("GITPLACER_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; GITPLACER_UPDATE_GOLDEN=1 writes it anew"
