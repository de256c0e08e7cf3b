"""
What Kueue has left to give on a cluster: the queues of a CapacitySnapshot.

A ClusterQueue gives out quota that is its own and, in a cohort, what others there have to lend. So a queue and a cohort say the same
two things: how much more may be reserved through them (`left`), and how much of that nobody else can take (`own`). What goes beyond
`own` is taken from the cohort around it, and counts there too.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gitplacer.kinds.fields import Amounts, Model, NamespacedName
from gitplacer.model.resources import NOTHING

QueueName = Annotated[str, Field(min_length=1, max_length=253)]


class LocalQueue(Model):
    """A LocalQueue, which leads to the ClusterQueue that it is listed under."""

    name: NamespacedName
    """`<namespace>/<name>`."""
    stopped: str = ""
    """Why nothing that waits in it is let in now, such as `Hold`; absent where it is."""


class Share(Model):
    """What may still be reserved through a ClusterQueue or a Cohort."""

    name: QueueName
    """Its name."""
    cohort: QueueName | None = None
    """The Cohort that it is in."""
    left: Amounts = NOTHING
    """What may still be reserved through it: over all flavors, with what may be borrowed, less what is reserved."""
    own: Amounts = NOTHING
    """How much of that nobody else can take. The rest comes from its cohort."""


class ClusterQueue(Share):
    """A ClusterQueue, and what leads to it."""

    covers: tuple[str, ...] = ()
    """The resources that it has quota for, be it none. Kueue lets nothing in that asks for another."""
    stopped: str = ""
    """Why it lets nothing in now: its `stopPolicy`, or why it is not active; absent where it does."""
    local_queues: tuple[LocalQueue, ...] = ()
    """The LocalQueues that lead to it."""


class Cohort(Share):
    """A Cohort, whose queues lend each other what they do not use."""
