"""
The gangs that somebody asks about: like a group that there is, as somebody wrote it down, or the pods that are in use.

A gang that is tried in several sizes has one role whose number changes; pods of other roles come along as they are. Of a group
that is the role whose pods ask for most devices, then for most cores: its workers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.explain import PlanView
from gitplacer.model import quantity
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.room import Asked
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.problems import nearest
from gitplacer.profiles import ClusterProfile
from gitplacer.workloads.requests import Part, PodAsk
from gitplacer.workloads.surroundings import of_extended_resources

MOST_SHAPES = 4
"""Shapes of pods in use that are tried where nobody asks for one."""
_WRITTEN = re.compile(r"\s*(?:(\d{1,6})\s*[x×]\s*)?(\S.*?)\s*", re.DOTALL)


class NotAGang(ValueError):
    """A text that says no gang, with how it would; `hint` may be empty."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Tried(Struct, frozen=True):
    """A gang of any size: `others` and so many of `pods`, whose count is what was asked for."""

    like: str
    pods: PodSet
    others: Gang = ()

    def on(self, profile: ClusterProfile) -> Tried:
        """The gang as it is on a cluster of this profile."""
        return replace(
            self, pods=let_in(self.pods, profile), others=tuple(let_in(pods, profile) for pods in self.others)
        )

    def gang(self, count: int) -> Gang:
        """The gang with so many pods of the role."""
        return (*self.others, replace(self.pods, count=count))


def as_asked(tried: Tried) -> Asked:
    """The same as data to be told."""
    others = sum(pods.count for pods in tried.others)
    return Asked(like=tried.like, role=tried.pods.role, requests=tried.pods.shape.requests, others=others)


def like_group(view: PlanView, group_id: str) -> Tried:
    """A gang like a group, with more or fewer of its largest pods. Raises NoSuchGroup, and NotAGang for one without pods."""
    decision = view.decision(group_id)
    gang = view.gang(decision)
    if not gang:
        raise NotAGang(f"{group_id} has no pods", "name a group that has some, or give --gang")
    largest = max(range(len(gang)), key=lambda i: (_size(gang[i].shape.requests), -i))
    return Tried(group_id, gang[largest], tuple(pods for i, pods in enumerate(gang) if i != largest))


def written(text: str, known: Iterable[str], tolerate: Sequence[str] = ()) -> Tried:
    """`8 x nvidia.com/gpu=1,cpu=4,memory=16Gi` as a gang. `known` are resources that the fleet knows. Raises NotAGang."""
    match = _WRITTEN.fullmatch(text)
    hint = 'write it like "8 x nvidia.com/gpu=1,cpu=4,memory=16Gi"'
    if match is None:
        raise NotAGang("it says nothing", hint)
    count, names = int(match[1] or 1), set(known) - {"pods"}
    amounts: dict[str, int] = {}
    for part in match[2].split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not name or name in amounts:
            raise NotAGang(f'"{part.strip()}" is no resource and amount', hint)
        if name not in names:
            raise NotAGang(f'nothing in this fleet has "{name}"', nearest(name, names))
        try:
            amounts[name] = quantity.amount(name, value)
        except quantity.InvalidQuantity as error:
            raise NotAGang(str(error), hint) from None
    if count < 1:
        raise NotAGang("a gang has one pod at least", hint)
    tolerations = tuple(Toleration(key, "Exists") for key in tolerate)
    shape = PodShape(**PodAsk((Part("pod", Resources(amounts)),)).sizes(), tolerations=tolerations)
    return Tried(text.strip(), PodSet("pod", count, shape))


def let_in(pods: PodSet, profile: ClusterProfile) -> PodSet:
    """Pods with the tolerations for their devices that the API server of a cluster adds, if it does."""
    if not profile.extended_resource_toleration:
        return pods
    own = pods.shape.tolerations
    added = tuple(t for t in of_extended_resources(pods.shape.requests.keys()) if t not in own)
    return replace(pods, shape=replace(pods.shape, tolerations=(*own, *added))) if added else pods


def in_use(view: PlanView) -> list[Tried]:
    """Single pods like those of groups that ask for devices, the most frequent first; without any, like all."""
    found: dict[PodShape, tuple[int, str, PodSet]] = {}
    for decision in view.plan.decisions:
        for pods in view.gang(decision):
            shape = replace(pods.shape, node_name="")
            count, group, _ = found.get(shape, (0, decision.group, pods))
            found[shape] = (
                count + pods.count,
                group,
                replace(pods, shape=shape, count=1, slice_size=1, per_node=False),
            )
    devices = {shape: one for shape, one in found.items() if any("/" in name for name in shape.requests)}
    ranked = sorted((devices or found).values(), key=lambda one: (-one[0], one[1], one[2].role))
    return [Tried(f"{pods.role} of {group}", pods) for _, group, pods in ranked[:MOST_SHAPES]]


def _size(requests: Resources) -> tuple[int, int, int]:
    devices = sum(value for name, value in requests.items() if "/" in name)
    return devices, requests.get("cpu", 0), requests.get("memory", 0)
