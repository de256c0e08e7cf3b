"""
StatefulSet: like a Deployment, but its pods keep their volumes.

Data in a claim that one node at a time may mount does not follow to another cluster, so such a set is not moved freely.
"""

from __future__ import annotations

import dataclasses

from gitplacer.documents import Cursor
from gitplacer.workloads import podtemplate
from gitplacer.workloads.claims import single_node_claim
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.fields import count, required


def read(root: Cursor) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    facts = podtemplate.facts(podtemplate.read(spec), count(spec, "replicas", 1))
    reasons = [single_node_claim(claim.mapping("spec")) for claim in spec.items("volumeClaimTemplates")]
    return dataclasses.replace(facts, singleton=next(filter(None, reasons), ""))


KIND = Kind("apps", "StatefulSet", ("v1",), read, podtemplate.in_spec)
