"""
How an object says whom it is for: by the labels of pods, by references, by a target.

What `pointers` and `companions` have in common. All of it is about the namespace of the object; a reference that leaves it leads to
nobody here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitplacer.documents import Cursor
from gitplacer.model.labels import Requirement
from gitplacer.model.workload import api_group
from gitplacer.workloads.constraints import requirement
from gitplacer.workloads.facts import LabelSelector, ObjectFacts, Reference, distinct
from gitplacer.workloads.podtemplate import named


def selects(*selectors: LabelSelector) -> tuple[LabelSelector, ...]:
    """An empty selector picks every pod of the namespace: a rule for the namespace, not part of an app."""
    return tuple(sorted({selector for selector in selectors if selector}))


def label_selector(selector: Cursor) -> LabelSelector:
    """A selector with `matchLabels` and `matchExpressions`."""
    equal = [Requirement(key, "In", (value,)) for key, value in selector.labels("matchLabels").items()]
    operators = ("In", "NotIn", "Exists", "DoesNotExist")
    return tuple(sorted([*equal, *(requirement(item, operators) for item in selector.items("matchExpressions"))]))


def plain_selector(owner: Cursor, key: str) -> LabelSelector:
    """A selector that is labels and nothing else, as a Service has."""
    return tuple(sorted(Requirement(k, "In", (v,)) for k, v in owner.labels(key).items()))


def selecting(key: str, *, watches: bool = False) -> Callable[[Cursor], ObjectFacts]:
    """Reads an object that picks pods by the selector at `spec.<key>`."""

    def read(root: Cursor) -> ObjectFacts:
        return ObjectFacts(selects=selects(label_selector(root.mapping("spec").mapping(key))), watches=watches)

    return read


def local(root: Cursor, cursor: Cursor, default_kind: str, default_group: str = "") -> Iterator[Reference]:
    """A Gateway API reference (group, kind, name, namespace), if it stays in the namespace of the object."""
    own, namespace = root.mapping("metadata").text("namespace"), cursor.text("namespace")
    group = cursor.text("group") if cursor.has("group") else default_group
    kind, name = cursor.text("kind") or default_kind, cursor.text("name")
    if name and (not own or namespace in ("", own)):
        elsewhere = "" if namespace == own else namespace
        yield Reference(group, kind, name, namespace=elsewhere, path=(*cursor.path, "name"))


def attachment(root: Cursor, default_kind: str = "") -> tuple[Reference, ...]:
    """What a policy of the Gateway API is attached to: `targetRefs`, or `targetRef` in older ones."""
    spec = root.mapping("spec")
    targets = (*spec.items("targetRefs"), spec.mapping("targetRef"))
    return distinct(found for each in targets for found in local(root, each, default_kind))


def targeting(key: str, default_kind: str = "", default_group: str = "") -> Callable[[Cursor], ObjectFacts]:
    """HorizontalPodAutoscaler and its kin: `spec.<key>` is {apiVersion, kind, name}."""

    def read(root: Cursor) -> ObjectFacts:
        target = root.mapping("spec").mapping(key)
        kind = target.text("kind") or default_kind
        group = api_group(target.text("apiVersion")) if target.has("apiVersion") else default_group
        return ObjectFacts(points_at=distinct(named(target, kind, api_group=group)) if kind else ())

    return read
