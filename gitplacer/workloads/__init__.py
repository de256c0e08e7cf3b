"""
What each kind of object becomes and needs: one module per kind, and one table.

`read` takes any document. A kind in `KINDS` is sized: its pods are what placement looks for room for. Any other kind
contributes what it points at (see `pointers`), or nothing. To add a kind, write a module with a `KIND`
row and put it in the table.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.documents import Document
from gitplacer.problems import Problem
from gitplacer.workloads import (
    deployment,
    job,
    pod,
    pointers,
    raycluster,
    raycronjob,
    rayjob,
    rayservice,
    statefulset,
)
from gitplacer.workloads.facts import Kind, LabelSelector, ObjectFacts, PodLabels, Reference
from gitplacer.workloads.surroundings import USUAL, Surroundings

__all__ = ["KINDS", "Kind", "LabelSelector", "ObjectFacts", "PodLabels", "Reference", "read"]

KINDS: Mapping[tuple[str, str], Kind] = {
    (row.api_group, row.kind): row
    for row in (
        pod.KIND,
        deployment.KIND,
        statefulset.KIND,
        job.KIND,
        raycluster.KIND,
        rayjob.KIND,
        raycronjob.KIND,
        rayservice.KIND,
    )
}
"""(API group, kind) to what we know of a sized kind."""


def read(document: Document, around: Surroundings = USUAL) -> tuple[ObjectFacts, list[Problem]]:
    """
    The facts of one object as it is with what a cluster adds, and every problem that was met. With an error among the problems the facts are
    incomplete and must not be acted on.
    """
    root = document.cursor()
    api_group, _, version = root.text("apiVersion").rpartition("/")
    key = (api_group, root.text("kind"))
    if (kind := KINDS.get(key)) is None:
        reader = pointers.READERS.get(key)
        return (reader(root) if reader else ObjectFacts()), _once(root.problems)
    if version not in kind.versions:
        known = ", ".join(f"{api_group}/{v}" if api_group else v for v in kind.versions)
        root.report(
            "UnsupportedVersion",
            f'{kind.kind} of version "{version}" cannot be read',
            f"known here: {known}",
            key="apiVersion",
        )
        return ObjectFacts(sized=True), root.problems
    return kind.read(root, around), _once(root.problems)


def _once(problems: list[Problem]) -> list[Problem]:
    """A value that is read for two purposes is wrong for both, and said once."""
    return sorted(set(problems))
