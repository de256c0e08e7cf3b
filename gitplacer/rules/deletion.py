"""
What is deleted when a Ray job is done: nothing, unless the job says so.

There are two ways to say it, `shutdownAfterJobFinishes` and `deletionStrategy`, and KubeRay takes one at a time. Source:
validateDeletionConfiguration, validateDeletionRules and validateLegacyDeletionPolicies in
ray-operator/controllers/ray/utils/validation.go, and the rules of the CRD (rayjob_types.go). `ray.io/v1alpha1` knows
`shutdownAfterJobFinishes` and `ttlSecondsAfterFinished` only.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayjob import selects_cluster
from gitplacer.workloads.raydeletion import LEGACY, deletions, strategy_of

_ORDER = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
"""From little to much: a later one includes the earlier."""

POLICIES = (*_ORDER, "DeleteNone")

_STATUSES = {"jobStatus": ("SUCCEEDED", "FAILED"), "jobDeploymentStatus": ("Failed",)}
_ON_ITS_OWN = ("DeleteWorkers", "DeleteCluster")
"""What can be done to a Ray cluster of the job's own only."""


def ttl(manifest: RayManifest) -> None:
    """`ttlSecondsAfterFinished` is how long `shutdownAfterJobFinishes` waits; without that it has no meaning."""
    job = manifest.job
    key = "ttlSecondsAfterFinished"
    if job is None or not (seconds := job.integer(key)):
        return
    if seconds < 0:
        tell(job, "NumberOutOfRange", f"{key} is {seconds}", "use 0 or more", key=key)
    elif not job.boolean("shutdownAfterJobFinishes"):
        message = f"{key} {seconds} without shutdownAfterJobFinishes: true"
        tell(job, "InvalidDeletion", message, "add shutdownAfterJobFinishes: true, or remove it", key=key)


def strategy(manifest: RayManifest) -> None:
    """`deletionStrategy` has rules, or both `onSuccess` and `onFailure`."""
    found = _strategy(manifest)
    if found is None or manifest.job is None:
        return
    legacy = [key for key in LEGACY if found.has(key)]
    if found.items("deletionRules"):
        if legacy:
            message = f"deletionRules does not go with {' and '.join(legacy)}"
            tell(found, "InvalidDeletion", message, "keep deletionRules; the others are old", key="deletionRules")
        if manifest.job.boolean("shutdownAfterJobFinishes"):
            message = "deletionRules does not go with shutdownAfterJobFinishes: true"
            hint = "remove shutdownAfterJobFinishes, or the rules; a rule can wait too, by condition.ttlSeconds"
            tell(found, "InvalidDeletion", message, hint, key="deletionRules")
    elif len(legacy) == 1:
        message = f"deletionStrategy has {legacy[0]} alone"
        tell(found, "InvalidDeletion", message, "write deletionRules instead, or both onSuccess and onFailure")
    elif not legacy:
        message = "deletionStrategy says nothing"
        tell(found, "InvalidDeletion", message, "add deletionRules, or remove it")


def policies(manifest: RayManifest) -> None:
    """What each rule, or `onSuccess` and `onFailure`, may do to this job."""
    found, job = _strategy(manifest), manifest.job
    if found is None or job is None:
        return
    chosen = selects_cluster(job)
    for owner, where in _policies(found):
        if not owner.has("policy"):
            tell(owner, "MissingField", f"{where} has no policy", f"add policy: one of {', '.join(POLICIES)}")
            continue
        policy = owner.text("policy", "DeleteNone")
        if policy not in POLICIES:
            tell(owner, "InvalidValue", f'unknown policy "{policy}"', f"one of {', '.join(POLICIES)}", key="policy")
        elif chosen and policy in _ON_ITS_OWN:
            message = f"{policy} does not go with clusterSelector: the job runs on a Ray cluster that is not its own"
            tell(owner, "NotItsOwnCluster", message, "remove it, or write rayClusterSpec instead", key="policy")
        elif manifest.autoscaling and policy == "DeleteWorkers":
            message = "DeleteWorkers does not go with enableInTreeAutoscaling: the autoscaler owns the workers"
            tell(owner, "InvalidDeletion", message, "use DeleteCluster, or turn the autoscaler off", key="policy")
        elif policy == "DeleteNone" and where in LEGACY and job.boolean("shutdownAfterJobFinishes"):
            message = f"{where} says DeleteNone and shutdownAfterJobFinishes says to delete the Ray cluster"
            tell(owner, "InvalidDeletion", message, "keep one of them", key="policy")


def conditions(manifest: RayManifest) -> None:
    """Each rule waits for one status, no two say the same, and what deletes more does not come earlier."""
    found = _strategy(manifest)
    if found is None:
        return
    waits: dict[tuple[str, str], dict[str, tuple[int, Cursor]]] = {}
    for number, rule in enumerate(found.items("deletionRules")):
        where = f"deletionRules[{number}]"
        if not rule.has("condition"):
            hint = "add condition: {jobStatus: SUCCEEDED}, or another status"
            tell(rule, "MissingField", f"{where} has no condition", hint)
            continue
        condition = rule.mapping("condition")
        seconds = condition.integer("ttlSeconds", 0)
        if seconds is not None and seconds < 0:
            tell(condition, "NumberOutOfRange", f"ttlSeconds is {seconds}", "use 0 or more", key="ttlSeconds")
            continue
        status = _status(condition, where)
        policy = rule.text("policy")
        if status is None or policy not in POLICIES or seconds is None:
            continue
        same = waits.setdefault(status, {})
        if policy in same:
            message = f"{where}: there is a rule for {policy} and {status[0]} {status[1]} already"
            tell(rule, "InvalidDeletion", message, "remove one of them", key="policy")
        else:
            same[policy] = (seconds, condition)
    for (_, status_name), same in waits.items():
        _in_order(same, status_name)


def deletes_itself(manifest: RayManifest) -> None:
    """
    An object that is deleted in the cluster and is still in Git is made again, and a RayJob that is made runs. The RayJobs
    of a RayCronJob are not in Git: there it is good order.
    """
    found = _strategy(manifest) if manifest.kind == "RayJob" else None
    for owner, where in _policies(found) if found is not None else ():
        if owner.text("policy") == "DeleteSelf":
            message = f"{where} deletes the RayJob; the GitOps engine makes it again from Git, and it runs again"
            tell(owner, "DeletesItself", message, "use DeleteCluster, which keeps the RayJob as done", key="policy")


def keeps_cluster(manifest: RayManifest) -> None:
    """
    By default the Ray cluster of a job runs on when the job is done, and holds its room for ever. Rules for one outcome
    leave it for the other; a rule that says DeleteNone is taken at its word.
    """
    job = manifest.job
    if job is None or not job.has("rayClusterSpec") or selects_cluster(job):
        return
    if job.boolean("shutdownAfterJobFinishes"):
        return
    found = _strategy(manifest)
    outcomes = {told.outcome for told in deletions(found)} if found is not None else set()
    if len(outcomes) == 2 or (found is not None and not outcomes):
        return
    when = "is done" if not outcomes else "has failed" if "succeeded" in outcomes else "has succeeded"
    if manifest.kind == "RayCronJob":
        message = f"when a job {when} its Ray cluster runs on, and the next tick makes another one"
    else:
        message = f"when the job {when} its Ray cluster runs on and holds its room for ever"
    hint = "add shutdownAfterJobFinishes: true" if not outcomes else "add a deletion rule for the other outcome"
    tell(job, "KeepsRayCluster", message, hint, key="deletionStrategy" if outcomes else "shutdownAfterJobFinishes")


def _strategy(manifest: RayManifest) -> Cursor | None:
    return strategy_of(manifest.job, v1=manifest.v1) if manifest.job is not None else None


def _policies(found: Cursor) -> Iterator[tuple[Cursor, str]]:
    """What says a policy, and how it is called."""
    for number, rule in enumerate(found.items("deletionRules")):
        yield rule, f"deletionRules[{number}]"
    for key in LEGACY:
        if found.has(key):
            yield found.mapping(key), key


def _status(condition: Cursor, where: str) -> tuple[str, str] | None:
    """The one status that a rule waits for, and where it is said."""
    said = [key for key in _STATUSES if condition.has(key)]
    if len(said) != 1:
        message = f"{where} waits for {'both' if said else 'neither'} jobStatus {'and' if said else 'nor'} "
        tell(condition, "InvalidDeletion", f"{message}jobDeploymentStatus", "a rule waits for exactly one of them")
        return None
    (key,) = said
    status = condition.text(key)
    if status in _STATUSES[key]:
        return key, status
    if isinstance(condition.value[key], str):
        tell(condition, "InvalidValue", f'unknown {key} "{status}"', f"one of {', '.join(_STATUSES[key])}", key=key)
    return None


def _in_order(same: dict[str, tuple[int, Cursor]], status: str) -> None:
    """The rules for one status: what deletes more must not be due before what deletes less."""
    before = ""
    for policy in _ORDER:
        if policy not in same:
            continue
        seconds, condition = same[policy]
        if before and seconds < same[before][0]:
            message = f"for {status}, {policy} is due after {seconds} s and {before} only after {same[before][0]} s"
            hint = "raise ttlSeconds here, or lower it there"
            tell(condition, "InvalidDeletion", message, hint, key="ttlSeconds" if condition.has("ttlSeconds") else None)
        before = policy


RULES: tuple[Rule, ...] = (ttl, strategy, policies, conditions, deletes_itself, keeps_cluster)
