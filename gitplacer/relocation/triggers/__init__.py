"""
Why a group should leave a cluster that it is on: one module per reason, and one table.

A trigger looks at one group on one cluster and says why it should leave, or None. The first in the table that has something to say
is the reason; whether it moves for that by itself is what its policy says under `relocation.when`.
"""

from __future__ import annotations

from collections.abc import Callable

from gitplacer.kinds.policy import Mode, PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.triggers import draining, gone, lost, noteligible, pendingpods
from gitplacer.relocation.triggers.standing import Standing

__all__ = ["DECLARED", "EVACUATIONS", "TRIGGERS", "Standing", "Trigger", "mode_of", "trigger"]

Trigger = Callable[[Standing], Finding | None]

TRIGGERS: tuple[Trigger, ...] = (
    gone.trigger,
    noteligible.trigger,
    lost.trigger,
    draining.trigger,
    pendingpods.trigger,
)
"""Reasons to leave, the most pressing first."""

EVACUATIONS = frozenset({Reason.CLUSTER_DRAINING, Reason.CLUSTER_LOST})
"""Reasons for which a cluster is emptied."""

DECLARED = EVACUATIONS | {Reason.NOT_ELIGIBLE}
"""Reasons that somebody has written down; they end when that is taken back."""


def trigger(standing: Standing) -> Finding | None:
    """Why a group should leave the cluster, or None."""
    return next((found for one in TRIGGERS if (found := one(standing)) is not None), None)


def mode_of(policy: PlacementPolicy, reason: Reason) -> Mode:
    """Whether a group moves by itself for a reason."""
    when = policy.spec.relocation.when
    modes = {
        Reason.NOT_ELIGIBLE: when.not_eligible,
        Reason.CLUSTER_DRAINING: when.cluster_draining,
        Reason.CLUSTER_LOST: when.cluster_lost,
        Reason.PENDING_PODS: when.pending_pods,
        Reason.UPGRADE_DOES_NOT_FIT: when.pending_pods,
        Reason.OUTGROWN: when.pending_pods,
        Reason.PREFERRED_AVAILABLE: when.preferred_available,
    }
    return modes.get(reason, "Automatic")
