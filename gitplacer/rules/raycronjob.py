"""
RayCronJob: when it runs, and whether runs may meet.

Its job template is a RayJob spec, and the rules of RayJobs hold there too. Source: ValidateRayCronJobSpec in
ray-operator/controllers/ray/utils/validation.go. KubeRay tells a bad schedule in an Event only; nothing is ever run.
"""

from __future__ import annotations

from gitplacer.problems import nearest
from gitplacer.rules import cron
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayjob import selects_cluster
from gitplacer.rules.timezones import TIME_ZONES
from gitplacer.workloads.raydeletion import seconds_kept


def schedule(manifest: RayManifest) -> None:
    """The schedule is one that cron understands, and names no time zone: that has a field of its own."""
    spec = manifest.spec
    if manifest.kind != "RayCronJob" or not manifest.root.has("spec"):
        return
    if not spec.has("schedule"):
        tell(spec, "MissingField", "schedule is missing", "add schedule, for example 0 3 * * *")
        return
    text = spec.text("schedule", "@daily")
    if "TZ" in text:
        message = f'the schedule "{text}" names a time zone'
        tell(spec, "InvalidSchedule", message, "move it to timeZone", key="schedule")
    elif why := cron.flaw(text):
        hint = "minute, hour, day of the month, month, day of the week (0 is Sunday): 30 3 * * 1-5"
        tell(spec, "InvalidSchedule", f'the schedule "{text}" is not understood: {why}', hint, key="schedule")


def time_zone(manifest: RayManifest) -> None:
    """The time zone is one of the IANA database, which is what Go's time.LoadLocation looks in."""
    spec = manifest.spec
    if manifest.kind != "RayCronJob" or not spec.has("timeZone"):
        return
    name = spec.text("timeZone", "UTC")
    if name not in TIME_ZONES:
        message = f'there is no time zone "{name}"' if name else "timeZone is empty"
        hint = nearest(name, _like(name)) if name else "remove it for the time zone of the operator"
        if not hint.startswith(("did", "remove")):
            hint = 'use a name of the IANA time zone database, such as "Europe/Berlin" or "UTC"'
        tell(spec, "InvalidTimeZone", message, hint, key="timeZone")


def overlap(manifest: RayManifest) -> None:
    """
    KubeRay makes a RayJob at each tick, whether or not the one before is done, and room is counted for one. Each attempt of a job has the whole of
    `activeDeadlineSeconds`, and then its Ray cluster may stay for a while. What keeps it for ever is told elsewhere.
    Source: raycronjob_controller.go, and initRayJobStatusIfNeed in rayjob_controller.go.
    """
    spec, job = manifest.spec, manifest.job
    text = spec.text("schedule") if manifest.kind == "RayCronJob" else ""
    if not text or cron.flaw(text) or job is None or not job.has("rayClusterSpec") or selects_cluster(job):
        return
    kept = seconds_kept(job, v1=manifest.v1)
    if kept is None or spec.boolean("suspend"):
        return
    gap, deadline = cron.shortest_gap(text), job.integer("activeDeadlineSeconds") or 0
    period = f"{gap.total_seconds():.0f} s" if gap is not None else ""
    if not job.has("activeDeadlineSeconds"):
        message = "nothing ends a run before the next one begins, and there is room for one"
        hint = "add activeDeadlineSeconds" + (f", less than the {period} between two ticks" if period else "")
        tell(job, "RunsOverlap", message, hint)
        return
    attempts = max(job.integer("backoffLimit") or 0, 0) + 1
    longest = attempts * deadline + kept
    if deadline > 0 and gap is not None and longest >= gap.total_seconds():
        key = "activeDeadlineSeconds"
        why = f"{attempts} attempts of {deadline} s" if attempts > 1 else key
        why += f", then its Ray cluster stays {kept} s" if kept else ""
        message = f"a run may take {longest} s ({why}), the next begins {period} after it, and there is room for one"
        tell(job, "RunsOverlap", message, f"lower {key}, or run it less often", key=key)


def _like(name: str) -> list[str]:
    """The zones that a name may be meant for: those of its area, of its city, or outside of areas."""
    area, _, city = name.casefold().rpartition("/")
    return [zone for zone in TIME_ZONES if (parts := zone.casefold().rpartition("/"))[0] == area or parts[2] == city]


RULES: tuple[Rule, ...] = (schedule, time_zone, overlap)
