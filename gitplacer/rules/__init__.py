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
from gitplacer.kinds.parse import is_own
from gitplacer.problemcodes import CODES
from gitplacer.problems import Problem
from gitplacer.rules import (
    auth,
    autoscaling,
    deletion,
    engineannotations,
    faulttolerance,
    fields,
    fieldtypes,
    history,
    kueue,
    managedby,
    mounts,
    names,
    networkpolicy,
    plainsecrets,
    podsecurity,
    quantities,
    raycronjob,
    rayjob,
    raynodes,
    rayservice,
    refusedpods,
    requests,
    scaletargets,
    serveconfig,
    serverfields,
    tls,
    tpu,
    upgrades,
    versions,
    workergroups,
)
from gitplacer.rules.accounts import accounts
from gitplacer.rules.anything import Anything, ObjectRule
from gitplacer.rules.fluxvariables import SUBSTITUTE, variables
from gitplacer.rules.manifest import RAY_KINDS, RayManifest, Rule
from gitplacer.rules.texts import FIELDS, texts
from gitplacer.workloads.facts import Reference

__all__ = ["FAMILIES", "OBJECT_FAMILIES", "OF_STRANGERS", "ONLY_FLUX", "check", "check_of_strangers"]

ONLY_FLUX = ("FluxVariable", "AutoscalerOwnsReplicas")
"""The codes of what goes wrong only where Flux is the engine."""

FAMILIES: Mapping[str, tuple[Rule, ...]] = {
    "types": fieldtypes.RULES,  # the first, since its hints are the best
    "quantities": quantities.RULES,
    "names": names.RULES,
    "fields": fields.RULES,
    "versions": versions.RULES,
    "worker groups": workergroups.RULES,
    "Ray nodes": raynodes.RULES,
    "requests": requests.RULES,
    "volumes": mounts.RULES,
    "pods": refusedpods.RULES,
    "TPU slices": tpu.RULES,
    "autoscaling": autoscaling.RULES,
    "fault tolerance": faulttolerance.RULES,
    "security": (*auth.RULES, *networkpolicy.RULES, *tls.RULES),
    "history server": history.RULES,
    "jobs": (*rayjob.RULES, *deletion.RULES),
    "cron jobs": raycronjob.RULES,
    "services": (*rayservice.RULES, *serveconfig.RULES),
    "upgrades": upgrades.RULES,
    "managers": managedby.RULES,
    "queues": kueue.RULES,
}
"""The rules about Ray objects, by family."""

_RULES = tuple(rule for family in FAMILIES.values() for rule in family)

OBJECT_FAMILIES: Mapping[str, tuple[ObjectRule, ...]] = {
    "secrets": plainsecrets.RULES,
    "fields of the server": serverfields.RULES,
    "GitOps engines": engineannotations.RULES,
    "pods": podsecurity.RULES,
    "autoscalers": scaletargets.RULES,
}
"""The rules about what workloads of strangers may not hold, of whatever kind, by family."""

OF_STRANGERS = frozenset(
    {
        "BudgetNotCounted",
        "ControlAnnotation",
        "NotAllowed",
        "NothingToScale",
        "OrphaningAnnotation",
        "PlainSecret",
        "PrivilegedPod",
        "SecretInPlain",
        "ServerField",
        "UnsafeLink",
    }
)
"""Their codes. Whoever writes the platform paths is trusted, and told none of them."""

_OBJECT_RULES = tuple(rule for family in OBJECT_FAMILIES.values() for rule in family)


def check(document: Document) -> list[Problem]:
    """Everything the rules have to say about one object, sorted. Never raises, whatever the document holds."""
    found = list(_about_variables(document))
    value = document.value
    kind = value.get("kind")
    if isinstance(kind, str) and kind in FIELDS and value.get("apiVersion") == "v1":
        root = document.cursor()
        texts(root)
        return sorted({*found, *root.problems.told()})
    if not isinstance(kind, str) or kind not in RAY_KINDS or not str(value.get("apiVersion")).startswith("ray.io/"):
        return found
    manifest = RayManifest.of(document.cursor())
    for rule in _RULES:
        rule(manifest)
    return sorted({*found, *manifest.root.problems.told()})


def check_of_strangers(document: Document) -> tuple[tuple[Reference, ...], list[Problem]]:
    """
    The ServiceAccounts that an object uses, and what it must not hold if strangers wrote it. Not asked of our own kinds, nor of
    definitions of kinds, which are cluster-scoped and full of the names of fields.
    """
    if is_own(document) or document.value.get("kind") == "CustomResourceDefinition":
        return (), []
    found = Anything.of(document.cursor())
    for rule in _OBJECT_RULES:
        rule(found)
    return accounts(found), found.root.problems.told()


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
