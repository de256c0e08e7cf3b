"""What `plan`, `explain` and `status` begin with: a pass that publishes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.cli.progress import note, note_work_tree, progress
from gitplacer.explain import PlanView
from gitplacer.hydrate import Hydration
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.reconcile import hydrate_once
from gitplacer.settings import Settings, settings


def look(where: Mapping[str, Any]) -> Hydration:
    """Plan with the options of `options.fleet`, and say on stderr what was not there to be read."""
    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say:
        hydration, spec = hydrate_once(chosen, work_tree=True, progress=say)
    note_nothing_placed(chosen, spec, hydration.view)
    return hydration


def note_nothing_placed(chosen: Settings, spec: FleetSpec, view: PlanView) -> None:
    """Say on stderr why nothing is placed, where that may not be meant."""
    if chosen.deployment is None:
        named = f"; the Fleet names {spec.deployment.url}" if spec.deployment.url else ""
        note(f"no --deployment given, so nothing is placed yet{named}")
    elif view.deployment_commit is None:
        note(f"{chosen.deployment.redacted} has no branch {spec.deployment.branch} yet, so nothing is placed yet")
