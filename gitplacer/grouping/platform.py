"""
The groups of the platform: one for each directory below its paths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from gitplacer import pathglob
from gitplacer.grouping.governed import policy_of
from gitplacer.grouping.group import NO_NAMESPACE, Group
from gitplacer.grouping.names import name_problems
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.workload import Identity
from gitplacer.policies.governing import Governing
from gitplacer.problems import Problem, Severity
from gitplacer.source.manifests import PLATFORM, SourceObject
from gitplacer.source.reading import Source


def platform_groups(source: Source, governed: Governing, taken: Collection[Identity]) -> Iterator[Group]:
    """One group for each directory below the platform paths. `taken` are objects that are deployed as workloads, and stay that."""
    spec = source.own.fleet.spec
    folders: dict[str, list[SourceObject]] = defaultdict(list)
    for item in source.objects:
        if item.unit == PLATFORM:
            folders[_platform_folder(spec, item.path)].append(item)
    for folder, members in sorted(folders.items()):
        deciding = [m for m in members if governed(m).policy or governed(m).problem or governed(m).broken] or members
        policy, problems, broken = policy_of(deciding, governed)
        spaces = {m.identity.namespace for m in members}
        namespace = next(iter(spaces)) if len(spaces) == 1 and "" not in spaces else NO_NAMESPACE
        group_id = f"{namespace}/{folder}"
        problems += name_problems(folder, members[0])
        problems += [p for m in members for p in m.problems if p.severity is Severity.ERROR]
        problems += [_is_workload(m) for m in members if m.identity in taken]
        yield Group(group_id, PLATFORM, policy, tuple(members), (), tuple(problems), broken)


def _is_workload(item: SourceObject) -> Problem:
    hint = "a workload file has it, and it is deployed from there; keep one of them"
    return item.document.problem("DuplicateObject", f"{item.identity} is a workload's already", hint)


def _platform_folder(spec: FleetSpec, path: str) -> str:
    """The directory of a platform file as the name of its group: `platform/kuberay/crds/x.yaml` → `kuberay-crds`."""
    pattern = next(p for p in spec.platform.paths if pathglob.matches(p, path))
    base = pathglob.fixed_folder(pattern)
    below = path[len(base) :].rpartition("/")[0]
    return below.replace("/", "-") or base.rstrip("/").rpartition("/")[2] or "platform"
