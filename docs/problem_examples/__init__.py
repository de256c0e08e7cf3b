"""
Inputs that have a problem, one or more for each code, and what is printed about them.

Each is put into the small fleet that `gitplacer init` makes, over its files of the same name, and a whole pass is run.
"""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples import (
    announcements,
    charts,
    crds,
    dispatching,
    edits,
    general,
    gitops,
    policies,
    ray,
    rayjobs,
    spanning,
    spread,
    standby,
    strangers,
)
from docs.problem_examples.example import Example, printed, problems

__all__ = ["EXAMPLES", "Example", "printed", "problems"]

EXAMPLES: Mapping[str, tuple[Example, ...]] = dict(
    sorted(
        {
            **announcements.EXAMPLES,
            **charts.EXAMPLES,
            **crds.EXAMPLES,
            **dispatching.EXAMPLES,
            **edits.EXAMPLES,
            **general.EXAMPLES,
            **ray.EXAMPLES,
            **rayjobs.EXAMPLES,
            **spanning.EXAMPLES,
            **spread.EXAMPLES,
            **gitops.EXAMPLES,
            **policies.EXAMPLES,
            **standby.EXAMPLES,
            **strangers.EXAMPLES,
        }.items()
    )
)
