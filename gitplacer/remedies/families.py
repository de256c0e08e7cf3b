"""
The changes that could be enough for a group, of each kind.

A family is a change whose amount is to be found: one node more like this one, two, three. Where there is nothing to count, its
amount is 1. What a family tells of the amount that is `likely` enough comes from the planner's ledgers and is not proved;
`make` gives the inputs as they would be, for whoever proves it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from gitplacer import workloads
from gitplacer.documents import Document, Edit, EditError, pointer, value_at
from gitplacer.hydrate import Inputs
from gitplacer.kinds.capacity import Node
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicySpec
from gitplacer.machines import Limit, LimitKind
from gitplacer.model import quantity
from gitplacer.model.counts import Count
from gitplacer.model.decision import Reason
from gitplacer.model.labels import Taint, untolerated
from gitplacer.model.remedy import Amendment, RemedyKind
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Amounts
from gitplacer.placement.pack import Packing
from gitplacer.policies import DIVIDING
from gitplacer.remedies.amended import limit_field, own_document, with_edits, with_group_max, with_nodes
from gitplacer.remedies.case import Case, fewer, more_like, plain, without_limits
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import Scale

MOST = 64
"""Machines that are added, or steps by which a limit is raised."""
_MOST_CENTS = 10_000_000

Made = tuple[Amendment, Inputs]


class Family(Struct, frozen=True):
    """
    Changes that differ in their amount only, up to `most`. `likely` is the amount that may be enough, None where none seems to be;
    `cluster` the one that it is about, '' for what concerns all.
    """

    kind: RemedyKind
    subject: str
    item: str
    make: Callable[[Inputs, int], Made | None]
    likely: int | None
    most: int = 1
    cluster: str = ""
    price: float | None = None

    @property
    def rank(self) -> tuple[bool, int, float, str, str]:
        """Those first that seem to need least."""
        price = float("inf") if self.price is None else self.price
        return self.likely is None, self.likely or 0, price, self.subject, self.item

    def order(self, amount: int) -> tuple[int, float, str, str]:
        """What is compared within a kind."""
        price = float("inf") if self.price is None else self.price * amount
        return amount, price, self.subject, self.item


def _written(
    inputs: Inputs, case: Case, kind: str, name: str, edits: Callable[[Document], list[Edit]]
) -> tuple[Document, list[Edit], Inputs] | None:
    """One of our objects with edits made where it stands in the source; None where they cannot be made there."""
    place = case.snapshot.source.own.places.get(f"{kind}/{name}")
    document = own_document(inputs, place.file, kind, name) if place is not None else None
    if document is None:
        return None
    try:
        made = edits(document)
        return document, made, with_edits(inputs, document, made)
    except EditError:
        return None


def _field(
    case: Case, kind: RemedyKind, object_: tuple[str, str], path: tuple[str | int, ...], item: str = ""
) -> Callable[[Inputs, int, object, str, float | None], Made | None]:
    """How one field of one of our objects is given another value."""

    def make(inputs: Inputs, amount: int, value: object, before: str, price: float | None) -> Made | None:
        written = _written(inputs, case, *object_, lambda document: [Edit(path, "add", value)])
        if written is None:
            return None
        document, _, after = written
        amendment = Amendment(
            kind=kind, subject=object_[1], item=item, amount=amount, before=before, after=plain(value),
            place=document.locate(path), field=pointer(path), price=price,
        )  # fmt: skip
        return amendment, after

    return make


# what a line of a Cluster or a policy says


def uncordoned(case: Case) -> Iterator[Family]:
    """Clusters that take nothing new."""
    for name, cluster in case.clusters.items():
        if cluster.spec.state == "Cordoned":
            field = _field(case, RemedyKind.UNCORDON, ("Cluster", name), ("spec", "state"))
            likely = 1 if case.is_allowed(cluster) and case.would_take(name) else None
            yield Family(
                RemedyKind.UNCORDON, name, "",
                lambda inputs, n, field=field: field(inputs, n, "Active", "Cordoned", None), likely, cluster=name,  # type: ignore[misc]
            )  # fmt: skip


def tolerated(case: Case) -> Iterator[Family]:
    """Taints of clusters that the policy does not tolerate, each once."""
    policy, found = case.policy, dict[Taint, list[Cluster]]()
    for cluster in case.clusters.values():
        for taint in cluster.taints():
            if untolerated((taint,), policy.tolerations()) is not None:
                found.setdefault(taint, []).append(cluster)
    for taint, clusters in sorted(found.items(), key=lambda entry: str(entry[0])):
        more = {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
        able = [c for c in clusters if _lets_in(case, c, taint) and case.would_take(c.name)]
        yield Family(RemedyKind.TOLERATE_TAINT, policy.name, str(taint), _tolerating(case, taint, more), 1 if able else None)  # fmt: skip


def _lets_in(case: Case, cluster: Cluster, taint: Taint) -> bool:
    """Whether nothing but a taint keeps the group from a cluster."""
    others = tuple(t for t in cluster.taints() if t != taint)
    spec = case.policy.spec
    selected = spec.clusters.unmet(cluster.labels()) is None
    return selected and untolerated(others, case.policy.tolerations()) is None and cluster.spec.state == "Active"


def _tolerating(case: Case, taint: Taint, more: Mapping[str, str]) -> Callable[[Inputs, int], Made | None]:
    def make(inputs: Inputs, amount: int) -> Made | None:
        def edits(document: Document) -> list[Edit]:
            there = document.value["spec"].get("tolerations")
            if there:
                return [Edit(("spec", "tolerations", "-"), "add", dict(more))]
            return [Edit(("spec", "tolerations"), "add", [dict(more)])]

        written = _written(inputs, case, "PlacementPolicy", case.policy.name, edits)
        if written is None:
            return None
        document, made, after = written
        amendment = Amendment(
            kind=RemedyKind.TOLERATE_TAINT, subject=case.policy.name, item=str(taint), after=plain(dict(more)),
            place=document.locate(("spec", "tolerations")), field=pointer(made[0].path),
        )  # fmt: skip
        return amendment, after

    return make


def allowed(case: Case) -> Iterator[Family]:
    """Clusters that the policy does not select, or that its order does not name."""
    spec = case.policy.spec
    if spec.placement.type in DIVIDING and spec.placement.weights:
        return  # who gets which share is a question of its own
    for name, cluster in case.clusters.items():
        edits = widened(spec, cluster)
        if edits:
            tolerates = untolerated(cluster.taints(), case.policy.tolerations()) is None
            likely = 1 if cluster.spec.state == "Active" and tolerates and case.would_take(name) else None
            yield Family(RemedyKind.ALLOW_CLUSTER, case.policy.name, name, _allowing(case, name, edits), likely, cluster=name)  # fmt: skip


def _allowing(case: Case, name: str, edits: list[Edit]) -> Callable[[Inputs, int], Made | None]:
    def make(inputs: Inputs, amount: int) -> Made | None:
        written = _written(inputs, case, "PlacementPolicy", case.policy.name, lambda document: edits)
        if written is None:
            return None
        document, made, after = written
        first = made[0]
        amendment = Amendment(
            kind=RemedyKind.ALLOW_CLUSTER, subject=case.policy.name, item=name,
            before=plain(value_at(document.value, first.path)), after=plain(first.value),
            place=document.locate(first.path), field=pointer(first.path),
        )  # fmt: skip
        return amendment, after

    return make


def widened(spec: PlacementPolicySpec, cluster: Cluster) -> list[Edit]:
    """
    The edits by which a policy allows a cluster as well, and no other thing of it changes; none where it does already, or where no
    value that is added would do.
    """
    labels, select = cluster.labels(), spec.clusters
    edits: list[Edit] = []
    names = select.names
    if names is not None and cluster.name not in names:
        edits.append(Edit(("spec", "clusters", "names"), "add", [*names, cluster.name]))
    expressions = [{"key": e.key, "operator": e.operator, "values": list(e.values)} for e in select.match_expressions]
    written, kept = [dict(e) for e in expressions], dict(select.match_labels)
    for expression in expressions:
        value = labels.get(str(expression["key"]))
        match expression["operator"]:
            case "In" if value is None:
                return []
            case "In" if value is not None and value not in expression["values"]:
                expression["values"] = [*expression["values"], value]
            case "NotIn" if value in expression["values"]:
                expression["values"] = [v for v in expression["values"] if v != value]
            case "Exists" if value is None:
                return []
            case "DoesNotExist" if value is not None:
                return []
    for key, wanted in sorted(select.match_labels.items()):
        if labels.get(key) == wanted:
            continue
        if key not in labels:
            return []
        del kept[key]
        expressions.append({"key": key, "operator": "In", "values": [wanted, labels[key]]})
    expressions = [e for e in expressions if e["values"] or e["operator"] in ("Exists", "DoesNotExist")]
    if kept != select.match_labels:
        edits.append(Edit(("spec", "clusters", "matchLabels"), "add", kept) if kept else Edit(("spec", "clusters", "matchLabels"), "remove"))  # fmt: skip
    if expressions != written:
        told = [{k: v for k, v in e.items() if v} for e in expressions]
        edits.append(Edit(("spec", "clusters", "matchExpressions"), "add", told))
    edits.sort(key=lambda edit: edit.op == "remove")
    order = spec.placement.order
    if order and all(one.unmet(labels) is not None for one in order):
        edits.append(Edit(("spec", "placement", "order", "-"), "add", {"names": [cluster.name]}))
    return edits


def tightly(case: Case) -> Iterator[Family]:
    """A fit that takes luck."""
    if case.policy.spec.placement.accept == "Fits":
        path = ("spec", "placement", "accept")
        field = _field(case, RemedyKind.ACCEPT_TIGHT_FIT, ("PlacementPolicy", case.policy.name), path)
        tight = any(c.finding.code in (Reason.TIGHT_FIT, Reason.ROOM) for c in case.candidates.values())
        yield Family(
            RemedyKind.ACCEPT_TIGHT_FIT, case.policy.name, "",
            lambda inputs, n: field(inputs, n, "TightFit", "Fits", None), 1 if tight else None,
        )  # fmt: skip


def scaled(case: Case) -> Iterator[Family]:
    """Machines that the policy does not count on."""
    if not case.scales:
        path = ("spec", "placement", "scaleUp")
        field = _field(case, RemedyKind.COUNT_ON_SCALE_UP, ("PlacementPolicy", case.policy.name), path)
        able = any(case.is_allowed(c) and case.fits(name, scale_up=True) for name, c in case.clusters.items())
        yield Family(
            RemedyKind.COUNT_ON_SCALE_UP, case.policy.name, "",
            lambda inputs, n: field(inputs, n, "IfNeeded", "Never", None), 1 if able else None,
        )  # fmt: skip


def unspread(case: Case) -> Iterator[Family]:
    """Domains in which the policy wants copies."""
    for index, spread in enumerate(case.policy.spec.placement.topology_spread):
        least, key = spread.min_domains or 1, spread.topology_key
        if least == 1:
            continue
        path = ("spec", "placement", "topologySpread", index, "minDomains")
        field = _field(case, RemedyKind.FEWER_DOMAINS, ("PlacementPolicy", case.policy.name), path, key)
        told = case.decision.finding
        short = told.wanted - told.placed if told.code is Reason.TOO_FEW_DOMAINS else 0
        make = partial(_with_fewer, field, least)
        yield Family(RemedyKind.FEWER_DOMAINS, case.policy.name, key, make, min(short, least - 1) or None, least - 1)


def _with_fewer(
    field: Callable[[Inputs, int, object, str, float | None], Made | None], least: int, inputs: Inputs, fewer: int
) -> Made | None:
    return field(inputs, fewer, least - fewer, str(least), None)


def paid(case: Case) -> Iterator[Family]:
    """What the policy may spend in an hour, in cents."""
    budget = case.policy.spec.budget_per_hour
    if budget is None:
        return
    field = _field(case, RemedyKind.RAISE_BUDGET, ("PlacementPolicy", case.policy.name), ("spec", "budgetPerHour"))
    start = math.floor(round(budget * 100, 6))
    asked = [c.finding.spending for c in case.candidates.values() if c.finding.spending is not None]
    asked += [case.decision.finding.spending] if case.decision.finding.spending is not None else []
    sums = [spending.spent + spending.more for spending in asked if spending.more is not None]
    likely = max(1, math.ceil(round(min(sums) * 100, 6)) - start) if sums else None

    def make(inputs: Inputs, cents: int) -> Made | None:
        return field(inputs, cents, round((start + cents) / 100, 2), f"{budget:g}", None)

    yield Family(RemedyKind.RAISE_BUDGET, case.policy.name, "", make, likely, _MOST_CENTS)


# machines


def raised(case: Case) -> Iterator[Family]:
    """Limits on what autoscalers may add."""
    for _, cluster, ledger, limits in _limited(case):
        yield from (_raising(case, cluster, ledger, limit, (limit.key,)) for limit in limits)


def raised_together(case: Case) -> Iterator[tuple[Family, Family]]:
    """Two limits of one autoscaler, of which a machine may need both; what is likely of each is likely with the other."""
    for _, cluster, ledger, limits in _limited(case):
        for one, other in itertools.combinations(limits, 2):
            if any({one.key, other.key} <= {key for key, _ in t.draws} for t in ledger.nodes.types.values()):
                keys = one.key, other.key
                yield _raising(case, cluster, ledger, one, keys), _raising(case, cluster, ledger, other, keys)


def _limited(case: Case) -> Iterator[tuple[str, Cluster, Ledger, list[Limit]]]:
    """Clusters whose autoscaler knows limits that can be raised, with these."""
    for name, cluster in case.clusters.items():
        if name in case.books and cluster.spec.autoscaler is not None:
            ledger = case.books[name]
            drawn = {key for t in ledger.nodes.types.values() for key, _ in t.draws}
            limits = ledger.nodes.catalogue.limits
            known = [limits[key] for key in sorted(drawn) if limits[key].kind is not LimitKind.EXHAUSTED]
            yield name, cluster, ledger, known


def _raising(case: Case, cluster: Cluster, ledger: Ledger, limit: Limit, plenty: tuple[str, ...]) -> Family:
    """
    A limit that is raised by so many times what the smallest machine draws of it. What is likely is so if there is enough of those
    in `plenty`.
    """
    step = math.gcd(*(n for t in ledger.nodes.types.values() for drawn, n in t.draws if drawn == limit.key))
    room = ledger.room()
    draws = {t.key: dict(t.draws).get(limit.key, 0) for t in ledger.nodes.types.values()}
    gone = limit.used + max(limit.coming, sum(draws[key] for key in room.promised if key))
    left = room.left[limit.key]
    prices = {t.price_per_hour for t in ledger.nodes.types.values() if draws[t.key]}
    alone = limit.kind in (LimitKind.MAX, LimitKind.GROUP_MAX) and len(prices) == 1
    price = prices.pop() if alone else None
    likely = None
    if case.scales and case.is_allowed(cluster) and cluster.spec.state == "Active":
        drawn = without_limits(ledger, case.gang_on(cluster.name), plenty)
        likely = None if drawn is None else max(1, math.ceil((drawn[limit.key] - left // step * step) / step))

    def make(inputs: Inputs, steps: int) -> Made | None:
        most = max(gone, limit.most - left) + (left // step + steps) * step
        return _with_limit(inputs, case, cluster, limit, most, steps, None if price is None else price * steps)

    return Family(RemedyKind.RAISE_LIMIT, cluster.name, _limit_item(limit), make, likely, MOST, cluster.name, price)


def _with_limit(
    inputs: Inputs, case: Case, cluster: Cluster, limit: Limit, most: int, steps: int, price: float | None
) -> Made | None:
    """The inputs with a limit raised: in the Cluster, or in what its autoscaler reports."""
    shown = quantity.render(limit.resource, limit.most), quantity.render(limit.resource, most)
    found, item = limit_field(cluster, limit, most), _limit_item(limit)
    if found is not None:
        field = _field(case, RemedyKind.RAISE_LIMIT, ("Cluster", cluster.name), found[0], item)
        return field(inputs, steps, found[1], shown[0], price)
    after = with_group_max(inputs, cluster.name, limit.subject, most)
    amendment = Amendment(
        kind=RemedyKind.RAISE_LIMIT, subject=cluster.name, item=item, amount=steps, before=shown[0], after=shown[1], price=price,
    )  # fmt: skip
    return None if after is None else (amendment, after)


def _limit_item(limit: Limit) -> str:
    """What a limit is about: its kind, and its subject with the resource where there may be several."""
    more = f" {limit.resource}" if limit.kind is LimitKind.NODE_POOL else ""
    return f"{limit.kind}/{limit.subject or 'nodes'}{more}"


def grown(case: Case) -> Iterator[Family]:
    """Nodes like those that clusters have, one family for each shape of node."""
    for name, cluster in case.clusters.items():
        reported = case.snapshot.reported.get(name)
        if reported is None or name not in case.books or not case.snapshot.is_awake(name):
            continue
        ledger, gang = case.books[name], case.gang_on(name)
        enters = case.is_allowed(cluster) and cluster.spec.state == "Active" and not case.is_over_quota(name)
        enters = enters and not ledger.has_no_slices(gang)  # one more like them has no such label either
        taken = {node.name for node in reported.nodes}
        for node, used in shapes_of(reported.nodes):
            machine = ledger.nodes.index[node.name if node.count == 1 else f"{node.name}[0]"]
            fresh = np.clip(ledger.columns.offered(node.allocatable) - ledger.columns.row(used), 0, None)
            likely = _nodes_more(ledger, machine, fresh, gang) if enters else None
            called = next(n for i in range(len(taken) + 1) if (n := f"{node.name}-more{i or ''}") not in taken)
            make = _growing(name, node, used, called)
            yield Family(RemedyKind.ADD_NODES, name, node.name, make, likely, MOST, name)  # fmt: skip


def _nodes_more(ledger: Ledger, machine: int, fresh: Amounts, gang: Gang) -> int | None:
    """
    How many nodes more seem to be enough. Where all pods find room as it is, it is a proof that is wanting, or something else is in the way: then one, if
    it takes the pods of which it is known that there is none for them.
    """
    more = more_like(ledger, machine, fresh, gang)
    if more != 0:
        return more
    lack = ledger.lacks_proof(gang, lambda shape: 0)
    wanting = lack.alone[0] if lack is not None and lack.alone is not None else None
    nodes = ledger.nodes
    return 1 if wanting is None or nodes.would_take(wanting, nodes.machines[machine].shape, fresh) else None


def _growing(cluster: str, node: Node, used: Resources, called: str) -> Callable[[Inputs, int], Made | None]:
    def make(inputs: Inputs, count: int) -> Made | None:
        after = with_nodes(inputs, cluster, [fresh_node(node, used, called, count)])
        amendment = Amendment(
            kind=RemedyKind.ADD_NODES, subject=cluster, item=node.name, amount=count, resources=node.allocatable
        )
        return None if after is None else (amendment, after)

    return make


def fresh_node(node: Node, used: Resources, name: str, count: int) -> dict[str, Any]:
    """More nodes like one, as a snapshot would show them."""
    return {
        "name": name,
        "count": count,
        "labels": {key: value for key, value in node.labels.items() if key != HOSTNAME},
        "taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in node.taint_values()],
        "allocatable": node.allocatable.rendered(),
        "used": used.rendered(),
    }


def shapes_of(nodes: tuple[Node, ...]) -> list[tuple[Node, Resources]]:
    """
    One node of each shape, the first by name, that can take pods, and what every node of that shape has in use: DaemonSets, which
    would run on one more as well.
    """
    alike: dict[tuple[object, ...], list[Node]] = {}
    for node in nodes:
        if node.ready and not node.unschedulable:
            labels = tuple(sorted((k, v) for k, v in node.labels.items() if k != HOSTNAME))
            alike.setdefault((labels, node.taint_values(), node.allocatable), []).append(node)
    found = []
    for same in alike.values():
        names = {name for node in same for name in node.used}
        least = Resources({name: min(node.used.get(name, 0) for node in same) for name in names})
        found.append((min(same, key=lambda node: node.name), least))
    return sorted(found, key=lambda one: one[0].name)


# the group itself


def lowered(case: Case) -> Iterator[Family]:
    """Roles of the group's objects that could have fewer replicas."""
    reserve = case.policy.spec.placement.reserve
    for item in case.group.sized:
        for scale in workloads.scales(item.document.value, case.snapshot.source.declarations.kinds):
            bound = reserve if scale.scales_itself else "Desired"
            number = {"Minimum": scale.minimum, "Maximum": scale.maximum or scale.replicas}.get(bound, scale.replicas)
            most = number - max(scale.least, 1)
            if scale.path and most > 0:
                yield _lowering(case, item, scale, bound, number, most)


def _lowering(case: Case, item: SourceObject, scale: Scale, bound: str, number: int, most: int) -> Family:
    def make(inputs: Inputs, amount: int) -> Made | None:
        count = number - amount
        counts = {
            "Minimum": Count(minimum=count),
            "Maximum": Count(replicas=min(scale.replicas, count), maximum=count),
        }.get(bound, Count(replicas=count))
        declared = case.snapshot.source.declarations.kinds
        edits = workloads.counted(item.document.value, {scale.role: counts}, declared)
        try:
            after = with_edits(inputs, item.document, edits)
        except EditError:
            return None
        path = edits[0].path if edits else scale.path
        amendment = Amendment(
            kind=RemedyKind.FEWER_PODS, subject=str(item.identity), item=scale.role, amount=amount, before=str(number),
            after=str(count), place=item.document.locate(path), field=pointer(path),
        )  # fmt: skip
        return amendment, after

    subject = str(item.identity)
    return Family(RemedyKind.FEWER_PODS, subject, scale.role, make, _fewest(case, scale.role, number, most), most)


def _fewest(case: Case, role: str, number: int, most: int) -> int | None:
    """By how much less a role finds room on some cluster that may take the group, as far as the ledgers tell."""
    able = [name for name, c in case.clusters.items() if case.is_allowed(c) and c.spec.state == "Active"]
    best = None
    for name in able:
        if name not in case.books:
            continue
        gang = case.gang_on(name)
        each = max(1, sum(pods.count for pods in gang if pods.role == role) // max(number, 1))
        low, high = 0, (most if best is None else best - 1) + 1
        while low + 1 < high:
            middle = (low + high) // 2
            less = fewer(gang, role, middle, each)
            ways = (False, True) if case.scales else (False,)
            fits = any(isinstance(case.books.fit(less, name, scale_up=way), Packing) for way in ways)
            low, high = (low, middle) if fits else (middle, high)
        if high <= (most if best is None else best - 1):
            best = high
    return best


FAMILIES: Mapping[RemedyKind, Callable[[Case], Iterator[Family]]] = {
    RemedyKind.UNCORDON: uncordoned,
    RemedyKind.TOLERATE_TAINT: tolerated,
    RemedyKind.ALLOW_CLUSTER: allowed,
    RemedyKind.ACCEPT_TIGHT_FIT: tightly,
    RemedyKind.COUNT_ON_SCALE_UP: scaled,
    RemedyKind.FEWER_DOMAINS: unspread,
    RemedyKind.RAISE_BUDGET: paid,
    RemedyKind.RAISE_LIMIT: raised,
    RemedyKind.ADD_NODES: grown,
    RemedyKind.FEWER_PODS: lowered,
}
"""Each kind of change with what could be changed."""
_OPENS_A_CLUSTER = (RemedyKind.UNCORDON, RemedyKind.TOLERATE_TAINT, RemedyKind.ALLOW_CLUSTER)


def families(case: Case, kind: RemedyKind) -> Iterator[Family]:
    """The changes of a kind, without those of which it is proved that no amount is enough, alone or beside another that opens no cluster."""
    if not case.needs_other_clusters:
        yield from FAMILIES[kind](case)
    elif kind in _OPENS_A_CLUSTER:
        yield from (
            family for family in FAMILIES[kind](case) if not (family.cluster and case.never_takes(family.cluster))
        )
