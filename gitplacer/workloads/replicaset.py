"""ReplicaSet: `replicas` pods of one template, one if it does not say. An update of the template changes no pod that runs."""

from __future__ import annotations

from gitplacer.documents import Cursor
from gitplacer.workloads import podtemplate, scaling
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.fields import count, replicas_said, required
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    return podtemplate.facts(
        podtemplate.read(spec, "template", around), count(spec, "replicas", 1), replicas_said(spec)
    )


KIND = Kind("apps", "ReplicaSet", ("v1",), read, podtemplate.in_spec, scaling.replicas)
