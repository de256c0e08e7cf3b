"""
A job spec: `parallelism` pods at once, never more than there are `completions`; none while it is suspended.

Job is such a spec; CronJob contains one.
"""

from __future__ import annotations

from gitplacer.documents import Cursor
from gitplacer.model.podrules import each_number, untold
from gitplacer.workloads import podtemplate
from gitplacer.workloads.facts import ObjectFacts
from gitplacer.workloads.fields import count
from gitplacer.workloads.surroundings import Surroundings


def job_labels(name: str) -> dict[str, str]:
    """What the Job controller labels pods with: the Job's name, and its uid, which nobody knows yet."""
    uid = untold("Job", name)
    return {
        "job-name": name,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
    }


def job_facts(spec: Cursor, around: Surroundings, name: str) -> ObjectFacts:
    """The facts of one run. `name` is `untold` where the controller makes the name up."""
    labels = job_labels(name)
    if spec.text("completionMode") == "Indexed":
        labels["batch.kubernetes.io/job-completion-index"] = each_number()
    parallelism = count(spec, "parallelism", 1)
    completions = count(spec, "completions", parallelism)
    counted = f"parallelism {parallelism}" + (f", completions {completions}" if completions < parallelism else "")
    template = podtemplate.read(spec, "template", around)
    facts = podtemplate.facts(template, min(parallelism, completions), counted, labels)
    return facts.stopped("suspended") if spec.boolean("suspend") else facts
