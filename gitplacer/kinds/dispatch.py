"""Fields by which a policy leaves it to somebody else on which of its clusters a group starts, and when."""

from __future__ import annotations

from gitplacer.kinds.fields import DnsLabel, Model


class MultiKueue(Model):
    """Kueue on one cluster starts each Ray object on one of the others, as soon as one of them has quota for it."""

    manager: DnsLabel
    """The cluster whose Kueue does it: one with role Management, or one that the policy does not select."""
    queue: DnsLabel
    """The LocalQueue, in the namespace of each object, on the manager and on every cluster that is nominated. Its ClusterQueue on
    the manager has the AdmissionCheck `gitplacer-<policy>`; a policy whose name has dots, or is long, gets a digest at its end."""


class Dispatch(Model):
    """Who chooses among the clusters that the policy nominates."""

    multi_kueue: MultiKueue
    """MultiKueue does, by quota. No room is promised to anything that it dispatches."""
