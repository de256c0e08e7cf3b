"""
StatefulSet: like a Deployment, but its pods keep their volumes, and an update replaces them one by one.

Data in a claim that one node at a time may mount does not follow to another cluster, so such a set is not moved freely.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from gitplacer.documents import Cursor
from gitplacer.model.podrules import each_number, untold
from gitplacer.model.workload import Named, PodVolumeClaim
from gitplacer.workloads import podtemplate, scaling
from gitplacer.workloads.claims import claim_spec, single_node_claim, storage_class
from gitplacer.workloads.facts import Kind, ObjectFacts, distinct
from gitplacer.workloads.fields import count, replicas_said, required
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    template = podtemplate.read(spec, "template", around)
    name, first = root.mapping("metadata").text("name"), count(spec.mapping("ordinals"), "start", 0)
    added = {
        "controller-revision-hash": untold("StatefulSet", name),
        "statefulset.kubernetes.io/pod-name": each_number(f"{name}-", first),
        "apps.kubernetes.io/pod-index": each_number(first=first),
    }
    facts = podtemplate.facts(template, count(spec, "replicas", 1), replicas_said(spec), added)
    templates = spec.items("volumeClaimTemplates")
    claims = [claim.mapping("spec") for claim in templates]
    return facts.but(
        roles=tuple(replace(role, named=_with_claims(root, templates, role.named, first)) for role in facts.roles),
        needs=distinct([*facts.needs, *(found for claim in claims for found in storage_class(claim))]),
        singleton=next(filter(None, map(single_node_claim, claims)), ""),
    )


def _with_claims(root: Cursor, templates: list[Cursor], named: Named, first: int) -> Named:
    """A template that a volume of the pods has the name of takes its place. `first` is the number of the first pod."""
    owner = root.mapping("metadata").text("name")
    made = {claim.mapping("metadata").text("name"): claim_spec(claim) for claim in templates}
    kept = tuple(claim for claim in named.claims if claim.of == "namespace" or claim.name not in made)
    own = (PodVolumeClaim(f"{name}-{owner}", "set", spec, first) for name, spec in made.items())
    return structs.replace(named, claims=(*kept, *own))


KIND = Kind("apps", "StatefulSet", ("v1",), read, podtemplate.in_spec, scaling.replicas)
