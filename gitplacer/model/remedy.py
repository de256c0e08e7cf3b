"""
What would have to change for a group that waits to be placed, as data.

A change is of one of a few kinds, and kinds are in the order in which people would rather have them: a line in a policy or a
Cluster that costs nothing, then what costs money, last what gives the group less than it asks for. That order, then how much is
changed, then its price, is what "smaller" means here.
"""

from __future__ import annotations

import enum

from msgspec import Struct

from gitplacer.model.decision import Finding
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.problems import Location


class RemedyKind(enum.StrEnum):
    """What is changed, the kinds that people would rather change first."""

    UNCORDON = "Uncordon"  # a cluster takes new groups again
    TOLERATE_TAINT = "TolerateTaint"  # the policy tolerates a taint of clusters
    ALLOW_CLUSTER = "AllowCluster"  # the policy allows one more cluster
    ACCEPT_TIGHT_FIT = "AcceptTightFit"  # the policy accepts a fit that takes luck
    COUNT_ON_SCALE_UP = "CountOnScaleUp"  # the policy counts on machines that can be added
    FEWER_DOMAINS = "FewerDomains"  # the policy wants copies in fewer regions, or other domains
    RAISE_BUDGET = "RaiseBudget"  # the policy may spend more in an hour
    RAISE_LIMIT = "RaiseLimit"  # an autoscaler may add more machines
    ADD_NODES = "AddNodes"  # a cluster gets more nodes like one that it has
    FEWER_PODS = "FewerPods"  # the group asks for fewer pods


RANKS = {kind: rank for rank, kind in enumerate(RemedyKind)}


class Amendment(Struct, frozen=True, kw_only=True):
    """
    One change. `subject` is what is changed: a cluster, a policy or an object; `item` what of it: a taint, a limit, a node that more
    are wanted of, a role. `amount` is by how much, in steps of the kind: machines, cents, pods; 1 where there is nothing to count.
    `before` and `after` are the value as it is written. `place` and `field` are where to write it, None for what no file of
    the source says. Of nodes that are added, each has `resources`; `price` is that of all of them in an hour, where it is known.
    """

    kind: RemedyKind
    subject: str
    item: str = ""
    amount: int = 1
    before: str = ""
    after: str = ""
    place: Location | None = None
    field: str = ""
    resources: Resources = NOTHING
    price: float | None = None

    @property
    def cost(self) -> tuple[int, int, float, str, str]:
        """What is compared: the kind, the amount, the price, where one without a price comes last; then names."""
        price = float("inf") if self.price is None else self.price
        return RANKS[self.kind], self.amount, price, self.subject, self.item


Cost = tuple[int, tuple[tuple[int, int, float, str, str], ...]]


class Way(Struct, frozen=True):
    """Changes that are enough together, and where the group goes then, with why. A plan with them was made."""

    amendments: tuple[Amendment, ...]
    clusters: tuple[str, ...]
    finding: Finding

    @property
    def cost(self) -> Cost:
        """The fewer changes the better, then what each of them costs."""
        return len(self.amendments), tuple(sorted(amendment.cost for amendment in self.amendments))


class Remedy(Struct, frozen=True, kw_only=True):
    """
    What is enough for a group to be placed: the smallest change first, then the smallest of each other kind that is enough. None at
    all: no change of the kinds that were tried is. `complete`: nothing smaller was left untried, in so many `trials`, each of them a
    whole plan.
    """

    group: str
    ways: tuple[Way, ...]
    trials: int
    complete: bool
