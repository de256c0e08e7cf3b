"""What `plan`, `explain` and `status` begin with: a pass that publishes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.cli.progress import note, note_work_tree, progress
from gitplacer.hydrate import Hydration
from gitplacer.reconcile import deployment_address, hydrate_once
from gitplacer.settings import settings


def look(where: Mapping[str, Any]) -> Hydration:
    """Plan with the options of `options.fleet`, and say on stderr what was not there to be read."""
    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say:
        hydration, spec = hydrate_once(chosen, work_tree=True, progress=say)
    address = deployment_address(chosen, spec, trusted=chosen.trust_base is not None)
    if address is None:
        named = f"; the Fleet names {spec.deployment.url}" if spec.deployment.url else ""
        note(f"no --deployment given, so nothing is placed yet{named}")
    elif hydration.view.deployment_commit is None:
        note(f"{address.redacted} has no branch {spec.deployment.branch} yet, so nothing is placed yet")
    return hydration
