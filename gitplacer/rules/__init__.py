"""
What is wrong with one object, whoever its neighbours are and wherever it goes: one module per family, and one table.

KubeRay checks a spec inside its operator, after the API server took the object and Argo CD or Flux reported the sync
as successful; what it refuses then never starts. These are its rules, and the hazards that it has no rule for, said
before the merge. A rule looks at a manifest and tells; what it tells is remembered with the file, so rules
know nothing but the manifest. To add one, write a function like `Rule`, put it in its module's RULES, and give its code a
row in `gitplacer.problemcodes`, which says how severe it is and whether an object may allow it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.documents import Document
from gitplacer.problems import Problem
from gitplacer.rules import names, workergroups
from gitplacer.rules.manifest import RAY_KINDS, RayManifest, Rule

__all__ = ["FAMILIES", "check"]

FAMILIES: Mapping[str, tuple[Rule, ...]] = {
    "names": names.RULES,
    "worker groups": workergroups.RULES,
}
"""The rules about Ray objects, by family."""

_RULES = tuple(rule for family in FAMILIES.values() for rule in family)


def check(document: Document) -> list[Problem]:
    """Everything the rules have to say about one object, sorted. Never raises, whatever the document holds."""
    value = document.value
    if value.get("kind") not in RAY_KINDS or not str(value.get("apiVersion")).startswith("ray.io/"):
        return []
    manifest = RayManifest.of(document.cursor())
    for rule in _RULES:
        rule(manifest)
    return sorted(set(manifest.root.problems))
