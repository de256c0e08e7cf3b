"""Job: one run of its pods. Started somewhere else it would do its work twice, so it is not moved freely."""

from __future__ import annotations

from gitplacer.documents import Cursor
from gitplacer.model.podrules import untold
from gitplacer.workloads import jobspec, podtemplate
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts
from gitplacer.workloads.fields import required
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    facts = ObjectFacts(sized=True)
    if spec is not None:
        name = root.mapping("metadata").text("name")
        facts = jobspec.job_facts(spec, around, name or untold("Job", root.mapping("metadata").text("generateName")))
    return facts.but(singleton="Job", finishes=True, releases_when_finished=True)


KIND = Kind("batch", "Job", ("v1",), read, podtemplate.in_spec, switch=SUSPEND)
