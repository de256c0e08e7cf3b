"""
Whether a Tenant's quotas have enough left for a group, beside the Tenant's other groups.

A group counts on every cluster where it is, by what is reserved for it there, and where room is kept for it: nobody else can have that,
and ten that wait would keep ten times the quota from others. One that has run to its end counts nothing. What would go beyond a quota is
not placed, and waits like what finds no room. An edit that would is not written: what runs stays as it is, and counts as it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from gitplacer.grouping import Group
from gitplacer.kinds.tenant import Tenant
from gitplacer.model import quantity
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.placement.books import Books
from gitplacer.placement.holders import Holders
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass


class TenantQuotas:
    """The quotas of all tenants, over a round as far as it has come."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._seen = Holders(shared, occupancy)
        self._taken: dict[str, dict[str, Resources]] = defaultdict(dict)
        """What counts of each group, by cluster."""
        self._sums: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        """The same added up for each tenant that has a quota, of what this limits, by cluster, and in all under no name."""

    def exceeded(self, group: Group, name: str, books: Books, *, leaving: Collection[str] = ()) -> Finding | None:
        """
        Why a group may not be on a cluster, or not with what it asks for there now; None if its tenant's quotas allow it. On other clusters
        it counts where the books promise it room, or where it is and no books are kept, but for those in `leaving`, which it gives up.
        """
        tenant = group.tenant
        if tenant is None or not _has_quota(tenant):
            return None
        self._catch_up()
        asked, taken, sums = self._pass.requests(group.id, name), self._taken[group.id], self._sums[tenant.name]
        quota, limited = tenant.spec.cluster_quota, _limited(tenant.spec.cluster_quota, asked)
        if limited:
            here = _used(limited, sums[name], [taken[name]] if name in taken else [])
            over = _over(quota, here, asked)
            if over is not None:
                return _finding(tenant, over, here, asked, quota, f" on {name}")
        quota, limited = tenant.spec.quota, _limited(tenant.spec.quota, asked)
        if limited:
            own = books.promised_to(group.id) | {c for c in self._occupancy.here.of(group.id) if c not in books}
            elsewhere = [self._pass.requests(group.id, c) for c in own - {name} - set(leaving)]
            used = _used(limited, sums[""], taken.values(), elsewhere)
            over = _over(quota, used, asked)
            if over is not None:
                return _finding(tenant, over, used, asked, quota, "")
        return None

    def _catch_up(self) -> None:
        """Count again what has changed since anybody asked."""
        for group_id, name in self._seen.changed():
            self._count(group_id, name)

    def _count(self, group_id: str, name: str) -> None:
        tenant = self._pass.tenant(group_id)
        if tenant is None or not _has_quota(tenant):
            return
        taken, sums = self._taken[group_id], self._sums[tenant.name]
        before = taken.pop(name, NOTHING)
        if self._seen.counts(group_id, name):
            taken[name] = self._pass.requests(group_id, name)
        now = taken.get(name, NOTHING)
        for resource in {*tenant.spec.quota, *tenant.spec.cluster_quota}:
            more = now.get(resource, 0) - before.get(resource, 0)
            if more:
                sums[name][resource] += more
                sums[""][resource] += more


def _has_quota(tenant: Tenant) -> bool:
    return bool(tenant.spec.quota or tenant.spec.cluster_quota)


def _limited(quota: Mapping[str, int], asked: Mapping[str, int]) -> list[str]:
    """The resources that are asked for and that a quota limits."""
    return [resource for resource in quota if asked.get(resource, 0)]


def _used(
    limited: Iterable[str],
    total: Mapping[str, int],
    less: Collection[Resources],
    more: Collection[Resources] = (),
) -> dict[str, int]:
    """What is used of some resources: so much in all, less some of it, and some more."""
    return {
        resource: total.get(resource, 0)
        - sum(each.get(resource, 0) for each in less)
        + sum(each.get(resource, 0) for each in more)
        for resource in limited
    }


def beyond_quota(shared: Pass) -> dict[str, Finding]:
    """
    Placed groups whose edit asks for more than their tenant's quotas have left, each with why. Whoever comes first by priority and
    name gets what is left; an edit that asks for less is never refused, and what it gives back counts from the next pass on.
    """
    found: dict[str, Finding] = {}
    deployed: list[tuple[str, str, Resources]] = []
    growing: list[tuple[Group, str, Resources, Resources]] = []
    for group_id, names in shared.recorded.items():
        tenant, group = shared.tenant(group_id), shared.groups.get(group_id)
        if tenant is None or not _has_quota(tenant):
            continue
        for name in names:
            now, before = shared.requests(group_id, name), shared.deployed_requests(group_id, name)
            deployed.append((tenant.name, name, before))
            if group is not None and any(now.get(r, 0) > before.get(r, 0) for r in now):
                growing.append((group, name, now, before))
    used = _used_by_each(shared, deployed) if growing else {}
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


def _used_by_each(shared: Pass, deployed: Iterable[tuple[str, str, Resources]]) -> dict[tuple[str, str], Counter[str]]:
    """What each tenant uses of each cluster: what is `deployed` of groups, by tenant and cluster, and what those have who stand by."""
    used: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for owner, name, amounts in deployed:
        used[owner, name].update(amounts)
    for name, there in shared.snapshot.bystanders.items():
        for group_id, bystander in there.items():
            used[bystander.tenant, name].update(shared.requests(group_id, name))
    return used


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
