"""What `plan`, `explain` and `status` begin with: a pass that publishes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from gitplacer.cli.progress import note, note_work_tree, progress
from gitplacer.explain import refuse_unknown
from gitplacer.git.ourbranches import INPUTS
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.verdicts import Verdicts
from gitplacer.passes.looking import Looked, looked_at
from gitplacer.passes.opening import Progress, deployment_address
from gitplacer.settings import Settings, settings


@contextlib.contextmanager
def looking(
    where: Mapping[str, Any], verdicts: Verdicts | bool = True, about: str | None = None
) -> Iterator[tuple[Looked, Hydration, Progress]]:
    """
    Plan with the options of `options.fleet`, and say on stderr what was not there to be read. What was read stays readable while the context
    lasts, for commands that go on to plan with other inputs. `verdicts` says of which groups every cluster's is kept. Raises NoSuchGroup, before it
    plans, if there is none that this is `about`.
    """
    once_read = partial(refuse_unknown, about) if about is not None else None
    with opened(where) as (looked, say):
        hydration = hydrate(
            looked.inputs, memo=looked.memo, ledgers=looked.ledgers, with_candidates=verdicts, once_read=once_read
        )
        yield looked, hydration, say


@contextlib.contextmanager
def opened(where: Mapping[str, Any]) -> Iterator[tuple[Looked, Progress]]:
    """The same for a command that plans by itself."""
    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say, looked_at(chosen, work_tree=True, progress=say) as looked:
        yield looked, say
        lost = looked.has_lost_its_branch
    note_nothing_placed(chosen, looked.source.spec, looked.inputs.deployment_commit, lost=lost)


NOTHING_PLACED = "nothing is placed yet"
FIRST_PASS = "the fleet is taken as the first pass would place it"


def note_nothing_placed(
    chosen: Settings, spec: FleetSpec, deployed: str | None, *, lost: bool, so: str = NOTHING_PLACED
) -> None:
    """
    Say on stderr why nothing is placed, where that may not be meant, and `so` what follows of it; `lost`: passes were published, and their
    branch is gone.
    """
    address = deployment_address(chosen, spec, trusted=chosen.trust_base is not None)
    if address is None:
        named = f"; the Fleet names {spec.deployment.url}" if spec.deployment.url else ""
        note(f"no --deployment given, so {so}{named}")
    elif deployed is None and lost:
        note(
            f"{address.redacted} has no branch {spec.deployment.written}, so nothing counts as placed; but it has {INPUTS}, where passes were "
            "published: if they were this fleet's, the branch was removed or renamed, or spec.deployment.branch is wrong, and "
            "`gitplacer reconcile` says what to do"
        )
    elif deployed is None:
        note(f"{address.redacted} has no branch {spec.deployment.written} yet, so {so}")


def note_unplaced(chosen: Settings, looked: Looked, so: str = NOTHING_PLACED) -> None:
    """The same while what was read is open, for commands that may end with an error because of it."""
    lost = looked.has_lost_its_branch
    note_nothing_placed(chosen, looked.source.spec, looked.inputs.deployment_commit, lost=lost, so=so)
