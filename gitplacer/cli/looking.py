"""What `plan`, `explain` and `status` begin with: a pass that publishes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gitplacer.cli.progress import note, note_work_tree, progress
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.reconcile import base_of, hydrate_once, looked_at
from gitplacer.settings import Settings, settings

if TYPE_CHECKING:
    from gitplacer.review import Base


def look(where: Mapping[str, Any]) -> Hydration:
    """Plan with the options of `options.fleet`, and say on stderr what was not there to be read."""
    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say:
        hydration, spec = hydrate_once(chosen, work_tree=True, progress=say)
    _note_nothing_placed(chosen, hydration, spec)
    return hydration


@contextlib.contextmanager
def looking(where: Mapping[str, Any], base: str | None) -> Iterator[tuple[Hydration, Base | None]]:
    """
    The same, held against a revision if one is given. Files of the plans, which diffs are made of, can be read while the context
    lasts.
    """
    chosen = settings(**where)
    note_work_tree(chosen)
    with contextlib.ExitStack() as stack:
        with progress() as say:
            looked = stack.enter_context(looked_at(chosen, work_tree=True, progress=say))
            hydration = hydrate(looked.inputs, memo=looked.memo)
            found = None
            if base is not None:
                say(f"planning {base}")
                found = stack.enter_context(base_of(chosen, looked, base))
        _note_nothing_placed(chosen, hydration, looked.source.spec)
        if found is not None and found.view is None:
            note(
                f"there is no plan of {found.name}, because it has no readable fleet; everything counts as part of the change"
            )
        yield hydration, found


def _note_nothing_placed(chosen: Settings, hydration: Hydration, spec: FleetSpec) -> None:
    if chosen.deployment is None:
        named = f"; the Fleet names {spec.deployment.url}" if spec.deployment.url else ""
        note(f"no --deployment given, so nothing is placed yet{named}")
    elif hydration.view.deployment_commit is None:
        note(f"{chosen.deployment.redacted} has no branch {spec.deployment.branch} yet, so nothing is placed yet")
