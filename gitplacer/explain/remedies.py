"""What would have to change for a group to be placed, in words."""

from __future__ import annotations

from gitplacer.explain.words import amounts_text
from gitplacer.model.decision import Reason
from gitplacer.model.remedy import Amendment, Remedy, RemedyKind, Way
from gitplacer.model.resources import Resources
from gitplacer.plaintext import few, printable


def remedy_line(remedy: Remedy) -> str:
    """
    The smallest change, and the smallest of each other kind, as one safe line: `2 more nvidia.com/gpu on static-cluster (…), or max
    of g4dn.2xlarge on cloud from 1 to 2 (clusters/cloud.yaml:12)`.
    """
    if not remedy.ways:
        return nothing_found(remedy)
    return printable(", or ".join(way_text(way) for way in remedy.ways), 2000)


def nothing_found(remedy: Remedy) -> str:
    """What there is to say where no change was found to be enough."""
    plans = f"{remedy.trials} plan{'s' if remedy.trials != 1 else ''} tried"
    if remedy.complete:
        told = f" ({plans})" if remedy.trials else ", and it takes no plan to tell"
        return f"no change of the kinds that are tried is enough, alone or with another{told}"
    return f"none of the changes that were tried is enough; `--trials N` allows more plans, to try the others ({plans})"


def found_how(remedy: Remedy) -> str:
    """How much the answer is worth, as a sentence without a full stop; '' where nothing was found."""
    if not remedy.ways:
        return ""
    plans = f"{remedy.trials} plan{'s' if remedy.trials != 1 else ''}"
    which = "it" if len(remedy.ways) == 1 else "any one of them"
    proved = f"a plan with {which} places the group and takes nobody else's place"
    if remedy.complete:
        return f"{proved}; less is not enough ({plans} tried)"
    return f"{proved}; smaller changes, which are less likely to be enough, were not tried ({plans} tried)"


def way_text(way: Way) -> str:
    """Changes that are enough together, with where to write each, and whether some pods have to wait then."""
    told = " and ".join(with_line(amendment) for amendment in way.amendments)
    return f"{told}, where its pods may have to wait" if way.finding.code is Reason.PODS_MAY_WAIT else told


def with_line(amendment: Amendment) -> str:
    """A change, and the line of the source that says it."""
    place = amendment.place
    return f"{amendment_text(amendment)} ({place.file}:{place.line})" if place is not None else amendment_text(amendment)  # fmt: skip


def amendment_text(amendment: Amendment) -> str:
    """A change as what is to be had: `max of g4dn.2xlarge on cloud from 1 to 2`. Not yet safe to print."""
    a = amendment
    match a.kind:
        case RemedyKind.UNCORDON:
            return f"cluster {a.subject} takes new groups again"
        case RemedyKind.TOLERATE_TAINT:
            return f"policy {a.subject} tolerates the cluster taint {a.item}"
        case RemedyKind.ALLOW_CLUSTER:
            return f"policy {a.subject} allows cluster {a.item}"
        case RemedyKind.ACCEPT_TIGHT_FIT:
            return f"policy {a.subject} accepts a tight fit"
        case RemedyKind.COUNT_ON_SCALE_UP:
            return f"policy {a.subject} counts on machines that can be added"
        case RemedyKind.FEWER_DOMAINS:
            return f"minDomains of {a.item} of policy {a.subject} from {a.before} to {a.after}"
        case RemedyKind.RAISE_BUDGET:
            return f"budgetPerHour of policy {a.subject} from {a.before} to {a.after}"
        case RemedyKind.RAISE_LIMIT:
            return _limit(a)
        case RemedyKind.ADD_NODES:
            return _nodes(a)
        case RemedyKind.FEWER_PODS:
            return f"{a.item.removeprefix('worker/')} of {a.subject} from {a.before} to {a.after} replicas"


def _limit(a: Amendment) -> str:
    kind, _, item = a.item.partition("/")
    price = f" ({a.price:.2f} an hour)" if a.price is not None else ""
    named = {
        "MaxNodes": f"maxNodes of {a.subject}",
        "NodePool": f"the limit of node pool {item} on {a.subject}",
        "GroupMax": f"the size of node group {item} on {a.subject}",
    }.get(kind, f"max of {item} on {a.subject}")
    return f"{named} from {a.before} to {a.after}{price}"


def _nodes(a: Amendment) -> str:
    """Devices are what people count; the node that is meant says the rest."""
    devices = Resources({name: value * a.amount for name, value in a.resources.items() if "/" in name})
    nodes = f"{a.amount} more node{'s' if a.amount != 1 else ''} like {a.item}"
    if not devices:
        return f"{nodes} on {a.subject}"
    more = few([f"{value} more {name}" for name, value in sorted(devices.items())])
    return f"{more} on {a.subject} ({nodes}: {amounts_text(a.resources)}{' each' if a.amount > 1 else ''})"
