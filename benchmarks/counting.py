"""
Does a pass grow faster than its fleet? Operations are counted, not seconds, so the answer is the same on every machine.

    python -m benchmarks count                      # fleets of 8, 16 and 32 gangs on 5, 10 and 20 clusters

An operation is a line of our code that is begun: loops begin theirs once for each turn. The larger fleets are copies of the smallest: each
cluster, tenant and gang is there twice, and four times, under other names, and nothing is left to chance. Each is counted as it is, and with what fleets of people have more
(`TRAITS`). A pass may grow by a tenth more than its fleet, and so may each function in it that does more than a two-thousandth of the whole: a quadratic step
shows there long before it outweighs the rest.

What this cannot see is work within one step of C: a scan of a list by `in`, a copy of a dict, an array as long as the fleet.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from types import CodeType, FrameType
from typing import Any
from unittest import mock

from benchmarks.fleets import HUB, Size, files
from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.scheduler.patience import Patience
from gitplacer.tree import Tree

PACKAGE = Path(__file__).resolve().parent.parent / "gitplacer"
MOST = 2.2
"""How many times as much there may be to do for twice the fleet."""
SHARE = 0.0005
"""Of all operations at the largest size: functions that do less are not looked at by themselves."""
START = Size(8, 5, 40)
BLUEPRINTS = 12
COPIES = (1, 2, 4)
HEADER = "apiVersion: gitplacer.dev/v1alpha1\n"
_OVERRIDE = f"""\
{HEADER}kind: OverridePolicy
metadata: {{name: larger-heads}}
spec:
  select: {{kinds: [RayJob]}}
  clusters: {{matchLabels: {{class: research}}}}
  overrides:
  - {{path: /spec/rayClusterSpec/headGroupSpec/template/spec/containers/0/resources/requests/memory, value: 70Gi}}
  - {{path: /spec/rayClusterSpec/headGroupSpec/template/spec/containers/0/resources/limits/memory, value: 70Gi}}
"""
_SIDECAR = "  profile: {kuberay: {version: 1.5.0, headSidecars: [{name: logs, requests: {cpu: 100m}}]}}\n"
_REGISTRY = "  overrides:\n  - {{path: /spec/rayClusterSpec/headGroupSpec/template/spec/containers/0/image, value: {name}.example/ray}}\n"
_AUTOSCALER = """\
  autoscaler:
    type: ClusterAutoscaler
    nodeTypes:
    - {name: m6i.8xlarge, max: 1, allocatable: {cpu: 31850m, memory: 120Gi, pods: "110"}}
    - name: g5.12xlarge
      max: 1
      allocatable: {cpu: 47810m, memory: 178Gi, pods: "110", nvidia.com/gpu: "4"}
      labels: {accelerator: a10g}
      taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
"""
_SINGLE = f"""\
{HEADER}kind: OverridePolicy
metadata: {{{{name: {{name}}}}}}
spec:
  select: {{{{names: [{{name}}], namespaces: [{{namespace}}]}}}}
  clusters: {{{{names: [{{cluster}}]}}}}
  overrides:
  - {{{{path: /metadata/annotations, op: add, value: {{{{example.com/cluster: {{cluster}}}}}}}}}}
"""
_REPLICAS = re.compile("[rR]eplicas: ")
_NAME = re.compile(r"\b(app-|cluster-|team-)(\d+)")

Counts = Counter[str]
"""Operations by function: its place in the package, and its name."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A function, or a whole pass, that grows too fast: operations at each size."""

    what: str
    counts: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.what}: {' → '.join(f'{count:,}' for count in self.counts)}"


class _Lines:
    """How many lines of a function were begun. A function is told by its id, because its hash is one of all that stands in it, taken each time."""

    __slots__ = ("begun", "code", "count")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.begun = begun = [0]

        def count(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                begun[0] += 1
            return count

        self.count = count


def counted(work: Callable[[], object]) -> Counts:
    """
    Lines of gitplacer that are begun while something is done. It is done the plain way: machine code begins no lines, and would be looked
    for as soon as enough was done.
    """
    found: dict[int, _Lines] = {}
    ours = f"{PACKAGE}{os.sep}"

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        lines = found.get(id(code))
        if lines is None:
            if not code.co_filename.startswith(ours):
                return None
            lines = found[id(code)] = _Lines(code)
        return lines.count

    before = sys.gettrace()
    with mock.patch.object(Patience, "compiled", None):
        sys.settrace(on_call)
        try:
            work()
        finally:
            sys.settrace(before)
    told: Counts = Counter()
    for lines in found.values():
        told[f"{lines.code.co_filename[len(ours) :]} {lines.code.co_qualname}"] += lines.begun[0]
    return told


def _unlike(files: dict[str, str]) -> dict[str, str]:
    """
    Clusters of which some change heads by an OverridePolicy, others give them a sidecar, and each pulls images from a registry of its own; and for every
    second app an OverridePolicy for it alone, on a single cluster.
    """
    clusters = [path for path in files if path.startswith("clusters/")]
    changed = {path: files[path] + _REGISTRY.format(name=PurePath(path).stem) for path in clusters}
    changed |= {path: text + _SIDECAR for path, text in changed.items() if "provider: gce" in text}
    for number, path in enumerate([path for path in files if path.startswith("workloads/")][::2]):
        where, app = PurePath(clusters[number % len(clusters)]).stem, PurePath(path)
        changed[f"policies/{app.stem}.yaml"] = _SINGLE.format(name=app.stem, namespace=app.parent.name, cluster=where)
    return {**files, **changed, "policies/larger-heads.yaml": _OVERRIDE}


def _closed(files: dict[str, str]) -> dict[str, str]:
    """Clusters that take nothing new."""
    closed = {path: f"{text}  state: Cordoned\n" for path, text in files.items() if path.startswith("clusters/")}
    return {**files, **closed}


def _paid(files: dict[str, str]) -> dict[str, str]:
    """A budget for all jobs together."""
    return {**files, "policies/jobs.yaml": files["policies/jobs.yaml"] + "  budgetPerHour: 5\n"}


def _growing(files: dict[str, str]) -> dict[str, str]:
    """Clusters to which an autoscaler may add a machine of each of two types, and every third app has so many workers that it waits all the same."""
    grown = {path: text + _AUTOSCALER for path, text in files.items() if path.startswith("clusters/")}
    large = [path for path in files if path.startswith("workloads/")][::3]
    return {**files, **grown, **{path: _REPLICAS.sub(r"\g<0>9", files[path]) for path in large}}


TRAITS: Mapping[str, Callable[[dict[str, str]], dict[str, str]]] = {
    "": dict,
    "clusters unlike": _unlike,
    "clusters closed": _closed,
    "a budget": _paid,
    "machines to add": _growing,
}
"""What else may be said of a fleet, and where that stands."""


def copied(size: Size, copies: int) -> dict[str, str]:
    """
    A fleet in which every cluster, tenant and gang of a small one is there some times. The gangs of a copy may use its clusters alone, so each
    copy is planned as the others are, and what grows faster than the copies looks at more than it has to.
    """
    found: dict[str, str] = {}
    for path, text in files(size, blueprints=BLUEPRINTS).items():
        if path.startswith(("clusters/", "capacity/", "tenants/", "workloads/")):
            found |= {_named(path, copy): _named(text, copy) for copy in range(copies)}
        else:
            found[path] = text.replace(f"[{HUB}]", str([_named(HUB, copy) for copy in range(copies)]))
    return found


def _named(text: str, copy: int) -> str:
    """A text about some copy of a cluster, a tenant or a gang."""
    text = text.replace("labels: {class: ", f"labels: {{copy: c{copy}, class: ")
    if "kind: Tenant" in text:
        text += f"  clusters: {{matchLabels: {{copy: c{copy}}}}}\n"
    return _NAME.sub(rf"\g<1>{copy}-\g<2>", text)


def passes(size: Size, copies: int, trait: str = "") -> Iterator[tuple[str, Callable[[], object]]]:
    """What is counted: the pass from nothing, and one on what it made, in which nothing changes."""
    source = Tree.of({path: text.encode() for path, text in TRAITS[trait](copied(size, copies)).items()})

    def done(deployment: Tree) -> Hydration:
        commit = SourceCommit(id="1" * 40, author="A <a@b>", date="2026-01-02T03:04:05+00:00", subject="A fleet")
        now = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
        given = Inputs(
            source=source,
            commit=commit,
            capacity=source.under("capacity"),
            deployment=deployment,
            deployment_commit="2" * 40,
            now=now,
            version="count",
        )
        return hydrate(given, with_candidates=False)

    made: list[Hydration] = []
    beside = f", {trait}" if trait else ""
    yield f"cold{beside}", lambda: made.append(done(Tree()))
    yield f"nothing changed{beside}", lambda: done(made[0].tree)


def counted_at(size: Size, copies: Sequence[int] = COPIES, traits: Iterable[str] = TRAITS) -> dict[str, list[Counts]]:
    """Of each pass, the operations with so many copies of a fleet."""
    found: dict[str, list[Counts]] = {}
    for trait in traits:
        for _, work in passes(size, max(copies), trait):
            work()  # what is made once in a process is made now, for all sizes
        for number in copies:
            for name, work in passes(size, number, trait):
                found.setdefault(name, []).append(counted(work))
    return found


def too_fast(counts: Sequence[Counts]) -> list[Finding]:
    """What more than doubles with the fleet, from the first size to the last; the worst first."""
    whole = tuple(sum(found.values()) for found in counts)
    findings = [Finding("everything", whole)] if _bends(whole) else []
    for name in sorted(counts[-1], key=lambda name: -counts[-1][name]):
        numbers = tuple(found[name] for found in counts)
        if numbers[-1] >= SHARE * whole[-1] and _bends(numbers):
            findings.append(Finding(name, numbers))
    return findings


def _bends(numbers: Sequence[int]) -> bool:
    """
    Whether there is more than MOST times as much to do for twice the fleet, from the first size to the last, and not on a straight line, of which the
    last doubling adds about twice what the one before added: one that the smallest fleet has less of, by a constant, is straight all the same.
    """
    added = [after - before for before, after in itertools.pairwise(numbers)]
    straight = len(added) > 1 and abs(added[-1] - 2 * added[-2]) <= (MOST - 2) * added[-2]
    return numbers[-1] > MOST ** len(added) * numbers[0] and not straight


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser("python -m benchmarks count", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    for name in ("gangs", "clusters", "nodes"):
        parser.add_argument(f"--{name}", type=int, default=getattr(START, name), help="of the smallest fleet")
    chosen = parser.parse_args(arguments)
    size = Size(chosen.gangs, chosen.clusters, chosen.nodes)
    print(
        "| pass | "
        + " | ".join(f"{size.gangs * copies:,} gangs" for copies in COPIES)
        + " | growth |\n"
        + "|---" * 5
        + "|"
    )
    findings = []
    for name, counts in counted_at(size).items():
        whole = [sum(found.values()) for found in counts]
        growth = ", ".join(f"{after / before:.2f}" for before, after in itertools.pairwise(whole))
        print(f"| {name} | {' | '.join(f'{number:,}' for number in whole)} | {growth} |")
        findings += [(name, finding) for finding in too_fast(counts)]
    for name, finding in findings:
        print(f"{name}: {finding}", file=sys.stderr)
    if findings:
        sys.exit(f"{len(findings)} grow faster than the fleet: more than {MOST} times for twice of it")
