"""What is left in a fleet as data: devices that nobody can reach, the largest gang that still fits, and what to buy."""

from __future__ import annotations

from dataclasses import dataclass

from gitplacer.model.decision import Finding
from gitplacer.model.resources import Resources


@dataclass(frozen=True, slots=True)
class Cause:
    """`devices` free devices on `nodes` that no pod reaches, and why: the resource that is used up first, or what refuses pods."""

    why: str
    devices: int
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranded:
    """Of one resource on one cluster: how much there is, how much of it is free, and how much of that no pod can reach."""

    resource: str
    offered: int
    free: int
    stranded: int
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    A gang that may be larger or smaller: so many pods of `role`, each asking `requests`, beside `others` that stay as they are.
    `like` is the group or the text that it was taken from.
    """

    like: str
    role: str
    requests: Resources
    others: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """
    How many pods of an asked gang a cluster takes: `now` on nodes that are there, whatever the order they come in, and `added`
    with machines that its autoscaler can add, None where nothing can be. `bounded`: it may be more, and was not tried.
    """

    now: int
    added: int | None = None
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class QueueRoom:
    """
    A ClusterQueue or Cohort (`kind`) of Kueue: what its cluster says that it has left, what of that is `promised` to groups that are not
    seen there yet, and why it lets nothing in, where it does not.
    """

    kind: str
    name: str
    left: Resources
    promised: Resources
    stopped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRoom:
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


@dataclass(frozen=True, slots=True, order=True)
class Bought:
    """So many machines of a type for a cluster, and what one costs in an hour."""

    cluster: str
    type: str
    count: int
    price_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shopping:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is left after a plan. `asked` are the gangs that were tried; `shopping` is None where nobody wanted to know."""

    asked: tuple[Asked, ...]
    clusters: tuple[ClusterRoom, ...]
    shopping: Shopping | None = None
