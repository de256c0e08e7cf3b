"""
ResourceClaimTemplate: how many devices each pod claims that names it; and what makes one.

A claim is counted as the extended resource that Kubernetes gives a device class
(`deviceclass.resource.kubernetes.io/<class>`), so that nodes can offer it like any other. A request whose number only
the allocation knows (all devices of a kind, the first that is available of several) has no size. Which devices of the class a request
refuses, takes a part of, or only watches (`adminAccess`), stands in no resource: that is told.
Source: the resource.k8s.io API, v1, v1beta2 and v1beta1; of a ComputeDomain compute-domain-workload-claim-template.tmpl.yaml of NVIDIA's driver for DRA.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.model.resources import Resources
from gitplacer.problems import Severity
from gitplacer.workloads.facts import ObjectFacts, distinct
from gitplacer.workloads.podtemplate import named

PREFIX = "deviceclass.resource.kubernetes.io/"

TPU = "google.com/tpu"
"""The extended resource of TPU chips, counted for each host."""

API_GROUP, KIND = "resource.k8s.io", "ResourceClaimTemplate"
DOMAIN = ("resource.nvidia.com", "ComputeDomain")
MAKERS = frozenset({(API_GROUP, KIND), DOMAIN})
"""What is a ResourceClaimTemplate, or makes one."""
_CHANNEL = "compute-domain-default-channel.nvidia.com"
"""The class of the one device that a node has for all of a ComputeDomain that are there."""

_BESIDE = "choose nodes that have them, by a node selector of the pod"
_ROOM = "leave room on the clusters it may go to"
_NARROWING = (
    (
        "selectors",
        "which devices of the class the selectors of a request take",
        "make a DeviceClass with these selectors, and name it",
    ),
    ("capacity", "how much of each device a request takes", _ROOM),
    ("constraints", "what the devices of a claim must have in common", _ROOM),
)


def read(root: Cursor) -> ObjectFacts:
    """The devices of one claim made from a template."""
    total: dict[str, int] = {}
    devices = root.mapping("spec").mapping("spec").mapping("devices")
    _report_narrowing(devices)
    for request in devices.items("requests"):
        if request.has("firstAvailable"):
            request.report(
                "UnknownDevices",
                "a request for the first available of several device classes has no size before it is allocated",
                "ask for one device class, under exactly",
                key="firstAvailable",
            )
            continue
        exact = request.mapping("exactly") if request.has("exactly") else request
        name, mode = exact.text("deviceClassName"), exact.text("allocationMode", "ExactCount")
        number = exact.integer("count", 1) or 0
        if not name:
            exact.report("MissingField", "deviceClassName is missing", "name the DeviceClass")
        elif exact.boolean("adminAccess"):
            # an observer takes no device from those who use them, and comes only to a node that has such devices
            _report(exact, "adminAccess", "on which nodes the devices are that a request watches", _BESIDE)
        elif mode != "ExactCount":
            hint = "use allocationMode ExactCount with a count"
            exact.report(
                "UnknownDevices",
                f"allocationMode {mode} has no size before it is allocated",
                hint,
                key="allocationMode",
            )
        elif number < 1:
            exact.report("InvalidValue", f"count is {number}", "claim one device or more", key="count")
        else:
            _report_narrowing(exact)
            total[PREFIX + name] = total.get(PREFIX + name, 0) + number
    return ObjectFacts(devices=Resources(total))


def read_domain(root: Cursor) -> ObjectFacts:
    """NVIDIA's ComputeDomain, which joins GPUs of several nodes, makes the template by which pods get in."""
    made = root.mapping("spec").mapping("channel").mapping("resourceClaimTemplate")
    return ObjectFacts(
        provides=distinct(named(made, KIND, api_group=API_GROUP)), devices=Resources({PREFIX + _CHANNEL: 1})
    )


def templates(key: tuple[str, str], name: str, facts: ObjectFacts) -> Iterator[str]:
    """The names of the ResourceClaimTemplates that an object of a kind is, or that are made of it."""
    if key == (API_GROUP, KIND):
        yield name
    yield from (made.name for made in facts.provides if (made.api_group, made.kind) == (API_GROUP, KIND))


def _report_narrowing(owner: Cursor) -> None:
    """What narrows the devices that a claim may get is told, since all of the class are counted."""
    for key, what, hint in _NARROWING:
        if owner.value.get(key):
            _report(owner, key, what, hint)


def _report(owner: Cursor, key: str, what: str, hint: str) -> None:
    message = f"gitplacer does not count {what}; the fit may be too optimistic"
    owner.report("NotCounted", message, hint, key=key, severity=Severity.WARNING)
