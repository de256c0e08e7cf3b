"""
Deployment: `replicas` pods of one template, one if it does not say.

The extra pods of a rolling update are not counted.
"""

from __future__ import annotations

from gitplacer.documents import Cursor
from gitplacer.workloads import podtemplate
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.fields import count, required


def read(root: Cursor) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    return podtemplate.facts(podtemplate.read(spec), count(spec, "replicas", 1))


KIND = Kind("apps", "Deployment", ("v1",), read, podtemplate.in_spec)
