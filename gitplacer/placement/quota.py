"""
What a tenant's groups ask for together, held against its quotas.

A group counts on every cluster where it is, by what is reserved for it there, and where room is kept for it: nobody else can have that,
and ten that wait would keep ten times the quota from others. One that has run to its end counts nothing. What would go beyond a quota is
not placed, and waits like what finds no room. An edit that would is not written: what runs stays as it is, and counts as it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from gitplacer.grouping import Group
from gitplacer.kinds.tenant import Tenant
from gitplacer.model import quantity
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import Resources
from gitplacer.placement.books import Books
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass


class Quotas:
    """The quotas of all tenants, over a round as far as it has come."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._asked_for: tuple[int, int, str] | None = None
        self._known: Mapping[str, Resources] = {}
        self._sum = Resources()

    def exceeded(self, group: Group, name: str, books: Books, *, leaving: Collection[str] = ()) -> Finding | None:
        """
        Why a group may not be on a cluster, or not with what it asks for there now; None if its tenant's quotas allow it. On other clusters
        it counts where the books promise it room, or where it is and no books are kept, but for those in `leaving`, which it gives up.
        """
        tenant = group.tenant
        if tenant is None or not (tenant.spec.quota or tenant.spec.cluster_quota):
            return None
        asked, others = self._pass.requests(group.id, name), self._others(group, tenant)
        here = others.get(name, Resources())
        over = _over(tenant.spec.cluster_quota, here, asked)
        if over is not None:
            return _finding(tenant, over, here, asked, tenant.spec.cluster_quota, f" on {name}")
        if not tenant.spec.quota:
            return None
        kept = {c for c, ids in self._occupancy.here.items() if c not in books.names and group.id in ids}
        own = {c for c in books.names if books[c].is_promised_to(group.id)} | kept
        used = sum((self._pass.requests(group.id, c) for c in own - {name} - set(leaving)), start=self._sum)
        over = _over(tenant.spec.quota, used, asked)
        return None if over is None else _finding(tenant, over, used, asked, tenant.spec.quota, "")

    def _others(self, group: Group, tenant: Tenant) -> Mapping[str, Resources]:
        """What the tenant's other groups ask for on each cluster where they are, or have room kept; worked out once for each group whose turn it is."""
        reservations = self._occupancy.reservations
        asked_for = (self._occupancy.changes, reservations.changes, group.id)
        if self._asked_for != asked_for:
            members = self._members[tenant.name] - {group.id}
            here, kept = self._occupancy.here, reservations.kept()
            taking = {name: here.get(name, set()) | kept.get(name, set()) for name in sorted({*here, *kept})}
            used = {name: self._used(members & ids, name) for name, ids in taking.items()}
            self._asked_for, self._known, self._sum = asked_for, used, sum(used.values(), start=Resources())
        return self._known

    def _used(self, group_ids: Iterable[str], name: str) -> Resources:
        used: Counter[str] = Counter()
        for group_id in group_ids:
            if name not in self._pass.books or not self._occupancy.has_finished(self._pass.books[name], group_id, name):
                used.update(self._pass.requests(group_id, name))
        return Resources(used)

    @cached_property
    def _members(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for group_id in (*self._pass.groups, *self._pass.orphans):
            if (tenant := self._pass.tenant(group_id)) is not None:
                found[tenant.name].add(group_id)
        return defaultdict(frozenset, {name: frozenset(ids) for name, ids in found.items()})


def beyond_quota(shared: Pass) -> dict[str, Finding]:
    """
    Placed groups whose edit asks for more than their tenant's quotas have left, each with why. Whoever comes first by priority and
    name gets what is left; an edit that asks for less is never refused, and what it gives back counts from the next pass on.
    """
    found: dict[str, Finding] = {}
    used: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    growing: list[tuple[Group, str, Resources, Resources]] = []
    for group_id, names in shared.recorded.items():
        tenant, group = shared.tenant(group_id), shared.groups.get(group_id)
        if tenant is None or not (tenant.spec.quota or tenant.spec.cluster_quota):
            continue
        for name in names:
            now, before = shared.requests(group_id, name), shared.deployed_requests(group_id, name)
            used[tenant.name, name].update(before)
            if group is not None and any(now.get(r, 0) > before.get(r, 0) for r in now):
                growing.append((group, name, now, before))
    for group, name, now, before in sorted(growing, key=lambda one: (-one[0].priority, one[0].id, one[1])):
        assert group.tenant is not None
        owner, spec = group.tenant.name, group.tenant.spec
        here = used[owner, name] - Counter(before)
        fleet = sum((amounts for (whose, other), amounts in used.items() if whose == owner and other != name), here)
        grown = {resource: amount for resource, amount in now.items() if amount > before.get(resource, 0)}
        for quota, others, where in ((spec.cluster_quota, here, f" on {name}"), (spec.quota, fleet, "")):
            over = _over(quota, others, grown)
            if over is not None:
                found.setdefault(group.id, _finding(group.tenant, over, others, now, quota, where))
        if group.id not in found:
            used[owner, name] = here + Counter(now)
    return found


def _over(quota: Mapping[str, int], used: Mapping[str, int], asked: Mapping[str, int]) -> str | None:
    """The first resource of which a quota does not allow what is asked for. What asks for nothing of it is never refused."""
    return next((r for r, most in sorted(quota.items()) if asked.get(r, 0) and used.get(r, 0) + asked[r] > most), None)


def _finding(
    tenant: Tenant,
    resource: str,
    used: Mapping[str, int],
    asked: Mapping[str, int],
    quota: Mapping[str, int],
    where: str,
) -> Finding:
    taken, more, most = (quantity.render(resource, each.get(resource, 0)) for each in (used, asked, quota))
    said = f"asks for {more} {resource}{where}, and {taken} of {most} of tenant {tenant.name} are taken"
    return Finding(code=Reason.TENANT_QUOTA, subject=said)
