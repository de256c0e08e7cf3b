"""
Job: `parallelism` pods at once, never more than there are `completions`; none while it is suspended.

It runs to completion, and started somewhere else it would do its work twice.
"""

from __future__ import annotations

import dataclasses

from gitplacer.documents import Cursor
from gitplacer.workloads import podtemplate
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.fields import count, required


def read(root: Cursor) -> ObjectFacts:
    spec = required(root, "spec")
    facts = ObjectFacts(sized=True)
    if spec is not None:
        name = root.mapping("metadata").text("name")
        labels = {"job-name": name, "batch.kubernetes.io/job-name": name} if name else {}
        facts = podtemplate.facts(podtemplate.read(spec), _count(spec), labels)
    return dataclasses.replace(facts, singleton="Job", finishes=True, releases_when_finished=True)


def _count(spec: Cursor) -> int:
    parallelism = count(spec, "parallelism", 1)
    completions = count(spec, "completions", parallelism)
    return 0 if spec.boolean("suspend") else min(parallelism, completions)


KIND = Kind("batch", "Job", ("v1",), read, podtemplate.in_spec)
