"""
What is wrong with one object, whoever its neighbours are and wherever it goes: one module per family, and one table.

KubeRay checks a spec inside its operator, after the API server took the object and Argo CD or Flux reported the sync
as successful; what it refuses then never starts. These are its rules, and the hazards that it has no rule for, said
before the merge. A rule looks at a manifest and tells; what it tells is remembered with the file, so rules
know nothing but the manifest. To add one, write a function like `Rule`, put it in its module's RULES, and give its code a
row in `gitplacer.problemcodes`, which says how severe it is and whether an object may allow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitplacer.documents import LISTED, Document, dotted
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem
from gitplacer.rules import (
    auth,
    autoscaling,
    deletion,
    faulttolerance,
    fields,
    history,
    kueue,
    managedby,
    names,
    networkpolicy,
    raycronjob,
    rayjob,
    raynodes,
    rayservice,
    requests,
    tls,
    tpu,
    upgrades,
    versions,
    workergroups,
)
from gitplacer.rules.fluxvariables import SUBSTITUTE, variables
from gitplacer.rules.manifest import RAY_KINDS, RayManifest, Rule

__all__ = ["FAMILIES", "ONLY_FLUX", "check"]

ONLY_FLUX = ("FluxVariable", "AutoscalerOwnsReplicas")
"""The codes of what goes wrong only where Flux is the engine."""

FAMILIES: Mapping[str, tuple[Rule, ...]] = {
    "names": names.RULES,
    "fields": fields.RULES,
    "versions": versions.RULES,
    "worker groups": workergroups.RULES,
    "Ray nodes": raynodes.RULES,
    "requests": requests.RULES,
    "TPU slices": tpu.RULES,
    "autoscaling": autoscaling.RULES,
    "fault tolerance": faulttolerance.RULES,
    "security": (*auth.RULES, *networkpolicy.RULES, *tls.RULES),
    "history server": history.RULES,
    "jobs": (*rayjob.RULES, *deletion.RULES),
    "cron jobs": raycronjob.RULES,
    "services": rayservice.RULES,
    "upgrades": upgrades.RULES,
    "managers": managedby.RULES,
    "queues": kueue.RULES,
}
"""The rules about Ray objects, by family."""

_RULES = tuple(rule for family in FAMILIES.values() for rule in family)


def check(document: Document) -> list[Problem]:
    """Everything the rules have to say about one object, sorted. Never raises, whatever the document holds."""
    found = list(_about_variables(document))
    value = document.value
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in RAY_KINDS or not str(value.get("apiVersion")).startswith("ray.io/"):
        return found
    manifest = RayManifest.of(document.cursor())
    for rule in _RULES:
        rule(manifest)
    return sorted({*found, *manifest.root.problems.told()})


def _about_variables(document: Document) -> Iterator[Problem]:
    """
    Of any object. It matters where Flux is the engine; whoever knows the engine drops it elsewhere, also what stands for
    all places that are not listed.
    """
    if not document.beside(b"${"):
        return
    found = variables(document)
    for path in found[:LISTED]:
        yield document.problem(
            "FluxVariable",
            f"{dotted(path)} holds ${{…}}, which Flux would replace where postBuild substitution is on",
            f"annotate the object with {SUBSTITUTE}: disabled, or leave postBuild out",
            path=path,
            severity=CODES["FluxVariable"].severity,
        )
    if len(found) > LISTED:
        yield document.problem(
            "FluxVariable",
            f"{len(found) - LISTED} more places hold ${{…}}",
            f"annotate the object with {SUBSTITUTE}: disabled",
            path=found[LISTED],
            severity=CODES["FluxVariable"].severity,
        )
