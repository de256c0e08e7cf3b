"""
RayCronJob: a RayJob at each tick of its schedule. Its room is that of one run.

Runs overlap when one outlasts the period, and KubeRay does not prevent it; how many there are at once cannot be told
from the manifest, so a rule warns where there may be two. On two clusters each tick would run twice. KubeRay names the RayJobs, and gives them no labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.workloads import rayjobspec, rayspec
from gitplacer.workloads.facts import SUSPEND, Kind, ObjectFacts
from gitplacer.workloads.fields import required
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    job = None if spec is None else required(spec, "jobTemplate")
    facts = ObjectFacts(sized=True)
    if spec is not None and job is not None:
        facts = rayjobspec.job_facts(root, job, around, "")
        facts = facts.stopped("suspended") if spec.boolean("suspend") else facts
    return facts.but(singleton="RayCronJob", releases_when_finished=False)


def pod_templates(value: Mapping[str, Any]) -> tuple[Path, ...]:
    return rayjobspec.job_templates(value, ("spec", "jobTemplate"))


KIND = Kind(rayspec.API_GROUP, "RayCronJob", ("v1",), read, pod_templates, switch=SUSPEND)
