"""What is left in a fleet as data: devices that nobody can reach, the largest gang that still fits, and what to buy."""

from __future__ import annotations

from msgspec import Struct

from gitplacer.model.decision import Finding
from gitplacer.model.resources import Resources


class Cause(Struct, frozen=True):
    """`devices` free devices on `nodes` that no pod reaches, and why: the resource that is used up first, or what refuses pods."""

    why: str
    devices: int
    nodes: tuple[str, ...]


class Stranded(Struct, frozen=True, kw_only=True):
    """Of one resource on one cluster: how much there is, how much of it is free, and how much of that no pod can reach."""

    resource: str
    offered: int
    free: int
    stranded: int
    causes: tuple[Cause, ...] = ()


class Asked(Struct, frozen=True, kw_only=True):
    """
    A gang that may be larger or smaller: so many pods of `role`, each asking `requests`, beside `others` that stay as they are.
    `like` is the group or the text that it was taken from.
    """

    like: str
    role: str
    requests: Resources
    others: int = 0


class Largest(Struct, frozen=True, kw_only=True):
    """
    How many pods of an asked gang a cluster takes: `now` on nodes that are there, whatever the order they come in, and `added`
    with machines that its autoscaler can add, None where nothing can be. `bounded`: it may be more, and was not tried.
    """

    now: int
    added: int | None = None
    bounded: bool = False


class QueueRoom(Struct, frozen=True):
    """
    A ClusterQueue or Cohort (`kind`) of Kueue: what its cluster says that it has left, what of that is `promised` to groups that are not
    seen there yet, and why it lets nothing in, where it does not.
    """

    kind: str
    name: str
    left: Resources
    promised: Resources
    stopped: str = ""


class ClusterRoom(Struct, frozen=True, kw_only=True):
    """
    What is left on one cluster. `largest` is in the order of what was asked, without regard to `queues`; no gang fits a cluster whose
    `state`, or whose `snapshot`, is such that it takes nothing new.
    """

    cluster: str
    stranded: tuple[Stranded, ...]
    largest: tuple[Largest, ...]
    state: str = "Active"
    snapshot: str = "Current"
    queues: tuple[QueueRoom, ...] = ()

    @property
    def takes_new(self) -> bool:
        """Whether anything new may come; who sleeps is called for it."""
        return self.state == "Active" and self.snapshot in ("Current", "Asleep")


class Bought(Struct, frozen=True, order=True):
    """So many machines of a type for a cluster, and what one costs in an hour."""

    cluster: str
    type: str
    count: int
    price_per_hour: float | None = None


class Shopping(Struct, frozen=True, kw_only=True):
    """
    The cheapest machines that would place what waits. `places` says where each group goes, `placed` which of them a plan with these
    machines places, `impossible` which no machine on offer would help. `forbidden` are groups for which nothing is bought, each with the
    budget or quota that would not let them have it; of a quota of Kueue `subject` is the cluster. `complete`: nothing cheaper was left untried.
    """

    waiting: tuple[str, ...]
    bought: tuple[Bought, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    placed: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    forbidden: tuple[tuple[str, Finding], ...] = ()
    complete: bool = True

    @property
    def price(self) -> float | None:
        """What all of them cost in an hour, None if a price is not known."""
        if any(one.price_per_hour is None for one in self.bought):
            return None
        return sum(one.count * (one.price_per_hour or 0.0) for one in self.bought)


class Room(Struct, frozen=True, kw_only=True):
    """What is left after a plan. `asked` are the gangs that were tried; `shopping` is None where nobody wanted to know."""

    asked: tuple[Asked, ...]
    clusters: tuple[ClusterRoom, ...]
    shopping: Shopping | None = None
