"""
RayCronJob: when it runs.

Its job template is a RayJob spec, and the rules of RayJobs hold there too. Source: ValidateRayCronJobSpec in
ray-operator/controllers/ray/utils/validation.go. KubeRay tells a bad schedule in an Event only; nothing is ever run.
"""

from __future__ import annotations

from gitplacer.problems import nearest
from gitplacer.rules import cron
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.timezones import TIME_ZONES


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


def _like(name: str) -> list[str]:
    """The zones that a name may be meant for: those of its area, of its city, or outside of areas."""
    area, _, city = name.casefold().rpartition("/")
    return [zone for zone in TIME_ZONES if (parts := zone.casefold().rpartition("/"))[0] == area or parts[2] == city]


RULES: tuple[Rule, ...] = (schedule, time_zone)
