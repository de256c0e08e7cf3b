"""
CronJob: a Job at each tick of its schedule. Its room is that of one run.

With `concurrencyPolicy: Allow` runs overlap when one outlasts the period; how many there may be at once cannot be told from
the manifest. On two clusters each tick would run twice. The controller makes up the names of the Jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.model.podrules import untold
from gitplacer.workloads import jobspec
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts, existing
from gitplacer.workloads.fields import required
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    template = None if spec is None else required(spec, "jobTemplate")
    job = None if template is None else required(template, "spec")
    facts = ObjectFacts(sized=True)
    if spec is not None and job is not None:
        facts = jobspec.job_facts(job, around, untold("CronJob", root.mapping("metadata").text("name")))
        facts = facts.stopped("suspended") if spec.boolean("suspend") else facts
    return facts.but(singleton="CronJob")


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return existing(value, ("spec", "jobTemplate", "spec", "template"))


KIND = Kind("batch", "CronJob", ("v1",), read, pod_templates, switch=SUSPEND)
