"""
A Ray app over several clusters of one mesh, when no single cluster takes it.

The home is the first cluster, in the policy's order, that takes the head and all else that cannot be elsewhere; it gets as many
workers as fit beside that, and the next clusters of its mesh the rest, as far as their room goes. A gang is placed whole or not
at all, so what does not find room for its last worker is given back entirely.

An app that runs is extended: what it has stays where it is, and more workers come, at home if KubeRay adds pods to a running
Ray cluster of its kind, and elsewhere in files of their own. Where it has too many, those on remote clusters go first. An
extension that would make KubeRay do more at home than the edit does by itself is not made.

Bounds are counted: so many homes are tried, and on each cluster the largest share is found by halving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import parse
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.decision import Action, ClusterRole, Finding, Reason
from gitplacer.placement.choice import Choice
from gitplacer.placement.evaluation import can_scale
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.pack import Packing
from gitplacer.placement.sidebyside import Fit
from gitplacer.source.manifests import WORKLOADS, identity_of

HOMES = 8
"""Clusters that are tried as the home of one group; one that is as likely after them is not."""

Shares = Mapping[str, int]
"""Worker role to a number of workers."""


class Spanned(Struct, frozen=True):
    """Where a group is when it spans clusters, and why it was put on those that are new; `action` says what changed."""

    after: tuple[str, ...]
    action: Action
    finding: Finding
    reasons: Mapping[str, Finding] = field(default_factory=dict)


class Spanning:
    """Asked where a group finds no single cluster, and of groups that span clusters already."""

    def __init__(self, shared: Pass, occupancy: Occupancy, choice: Choice) -> None:
        self._pass = shared
        self._spans = shared.snapshot.spans
        self._occupancy = occupancy
        self._choice = choice
        self.short: dict[str, Finding] = {}
        """Of groups that could not span clusters: what is missing, or how far it went."""

    def spans(self, group_id: str, here: Iterable[str]) -> bool:
        """Whether a group spans clusters."""
        return bool(self._pass.roles_of(group_id, here))

    # a first placement

    def place(self, group: Group, policy: PlacementPolicy, exclude: set[str], *, scale_up: bool) -> dict[str, Finding]:
        """The clusters of one mesh that take a group together, room reserved, each with why; {} if none do."""
        if policy.spec.placement.span != "IfNeeded" or not self._spans.apps(group):
            return {}
        lacking = self._spans.lacks(group)
        if lacking:
            self.short[group.id] = Finding(code=Reason.CANNOT_SPAN, subject=", ".join(m.code for m in lacking))
            return {}
        ranked = self._ranked(group, policy, exclude)
        homes = [name for name in ranked if any(self._of_one_mesh(name, other) for other in ranked)]
        for name in homes[:HOMES]:
            home = self._pass.clusters[name]
            if self._spans.lacks(group, home):
                continue
            if self._spans.is_late(group, home):
                self.short[group.id] = Finding(code=Reason.CANNOT_SPAN, subject="HeadComesLate")
                continue
            others = [other for other in ranked if self._of_one_mesh(name, other)]
            for scales in (False, True) if scale_up and may_scale_up(policy) else (False,):
                trial = _Trial(self._pass, self._choice, group, policy, scales)
                if self._split(trial, home, others):
                    return trial.reasons
                trial.undo()
        return {}

    def _split(self, trial: _Trial, home: Cluster, others: Sequence[str]) -> bool:
        """Whether a home and others take a group together; then they have it."""
        group, wanted = trial.group, self._spans.workers(trial.group, home)
        here = trial.largest(home.name, wanted, lambda share: ("Home", self._at_home(group, home, share)))
        if here is None:
            return False
        left = _minus(wanted, here)
        if not left:
            trial.settle(home.name, "Copy", AS_WRITTEN)
        for name in others if left else ():
            left = _minus(left, trial.largest(name, left, lambda share: ("Remote", self._away(group, share))) or {})
            if not left:
                break
        if left:
            self._tell(group, left, wanted)
        return not left

    def _tell(self, group: Group, left: Shares, wanted: Shares) -> None:
        """How close the clusters of a mesh came; of several tries the best is told."""
        role = min(left)
        placed = wanted[role] - left[role]
        known = self.short.get(group.id)
        if known is None or known.code is not Reason.NO_MESH_FITS or known.placed < placed:
            finding = Finding(code=Reason.NO_MESH_FITS, role=role, placed=placed, wanted=wanted[role])
            self.short[group.id] = finding

    # what is placed

    def stay(self, group: Group, policy: PlacementPolicy, here: Sequence[str]) -> Spanned | None:
        """
        What becomes of a group that stays where it is: more workers, or fewer, or the counts that it has. None for a group that
        does not span clusters and need not.
        """
        spanning = self.spans(group.id, here)
        home = self._home(group, here)
        if home is None or not (spanning or (policy.spec.placement.span == "IfNeeded" and self._grew(group, home))):
            return None
        if spanning and self._has_finished(group, home.name):
            return Spanned(tuple(here), Action.KEEP, Finding(code=Reason.KEPT))
        has = {name: self._share(group, home, name) for name in here}
        wanted = self._spans.workers(group, home)
        if spanning:
            has = self._fewer(group, has, home, wanted)
        if not self._missing(has, wanted):
            return self._settled(group, home, has, here) if spanning else None
        if len(here) == 1 and self._moves_whole(group, policy, home):
            self.forget(group, here)
            return None
        extended = self._extend(group, policy, home, has, wanted)
        return extended or self._settled(group, home, has, here, outgrown=True)

    def without(
        self, group: Group, policy: PlacementPolicy, here: Sequence[str], leaving: Sequence[str], closed: Iterable[str]
    ) -> Spanned | None:
        """
        A group that spans clusters without some of them, which only have workers of it: these go to others that are not
        closed to it. None if none do.
        """
        home = self._home(group, here)
        if home is None or home.name in leaving:
            return None
        has = {name: self._share(group, home, name) for name in here if name not in leaving}
        return self._extend(group, policy, home, has, self._spans.workers(group, home), closed={*leaving, *closed})

    def leave_all(
        self, group: Group, policy: PlacementPolicy, here: Sequence[str], leaving: Sequence[str], closed: Iterable[str]
    ) -> Spanned | None:
        """All of a group elsewhere, on one cluster or several, what it has now given up; None if nobody takes it."""
        trial = _Trial(self._pass, self._choice, group, policy, scale_up=True)
        for name in here:
            trial.settle(name, "Copy", AS_WRITTEN)
            if name in self._choice.books:
                trial.reopen(name, self._occupancy.ledger(name, without=frozenset({group.id})))
        exclude = {*leaving, *closed}
        chosen = self._choice.choose(group, policy, exclude=exclude, wanted=1)
        chosen = chosen or self.place(group, policy, exclude, scale_up=True)
        if not chosen:
            trial.undo()
            return None
        return Spanned(tuple(sorted(chosen)), Action.RELOCATE, Finding(code=Reason.SPANS), chosen)

    def forget(self, group: Group, here: Iterable[str]) -> None:
        """Take a group as it is written, on whatever cluster, because it leaves all of these."""
        for name in here:
            self._pass.assume(group.id, name, "Copy", AS_WRITTEN)

    def _home(self, group: Group, here: Sequence[str]) -> Cluster | None:
        if self.spans(group.id, here):
            return self._pass.rosters.home(group.id)
        return self._pass.clusters.get(here[0]) if len(here) == 1 else None

    def _grew(self, group: Group, home: Cluster) -> bool:
        """Whether a group that is on one cluster wants more workers than it has, and finds no room for them there."""
        if self._spans.lacks(group, home) or not self._missing(
            {home.name: self._deployed(group, home.name)}, self._spans.workers(group, home)
        ):
            return False
        self._occupancy.open()  # which is what finds out
        judged = self._occupancy.judged.get((group.id, home.name))
        return (group.id, home.name) in self._occupancy.outgrown or (judged is not None and judged.fit is Fit.SHORT)

    def _share(self, group: Group, home: Cluster, name: str) -> dict[str, int]:
        """The workers that a group has on a cluster: those that its counts say, and at home else those deployed."""
        known = self._spans.share(group, self._pass.counts.get((group.id, name), AS_WRITTEN))
        if name != home.name:
            return known
        return {**self._deployed(group, name), **known}

    def _deployed(self, group: Group, name: str) -> dict[str, int]:
        """The workers that a group has on a cluster by the files that are deployed; as it is written, where there are none."""
        record = self._pass.record(group.id)
        cluster = self._pass.clusters[name]
        if record is None or self._pass.entry(group.id, name) is None:
            return self._spans.workers(group, cluster)
        gang = self._pass.snapshot.deployed.gang(record, group.policy, name)
        counts = {pods.role: pods.count for pods in gang}
        return {role: counts.get(role, 0) for role in self._spans.workers(group, cluster)}

    def _has_finished(self, group: Group, home: str) -> bool:
        """Whether the home shows a job of the group at its end, though not for long enough to believe it."""
        return home in self._pass.books and self._occupancy.has_finished(self._pass.books[home], group.id, home)

    def _moves_whole(self, group: Group, policy: PlacementPolicy, home: Cluster) -> bool:
        """Whether another cluster takes a group alone, to which it will move when its pods have been pending for long enough."""
        when = policy.spec.relocation.when.pending_pods
        if when == "Never" or group.never_relocates or group.singletons:
            return False
        trial = _Trial(self._pass, self._choice, group, policy, scale_up=True)
        trial.settle(home.name, "Copy", AS_WRITTEN)
        chosen = self._choice.choose(group, policy, exclude={home.name}, wanted=1)
        for name in chosen:
            self._choice.books.release(group.id, name)
        trial.undo()
        return bool(chosen)

    @staticmethod
    def _missing(has: Mapping[str, Shares], wanted: Shares) -> dict[str, int]:
        total = {role: sum(share.get(role, 0) for share in has.values()) for role in wanted}
        return _minus(wanted, total)

    def _fewer(
        self, group: Group, has: Mapping[str, Shares], home: Cluster, wanted: Shares
    ) -> dict[str, dict[str, int]]:
        """What a group keeps of its workers where it has too many: those elsewhere go first, the last clusters first."""
        kept = {name: dict(share) for name, share in has.items()}
        policy = group.policy
        order = sorted(set(kept) - {home.name}, key=lambda n: (self._rank(policy, n), n), reverse=True)
        for role in sorted({role for share in kept.values() for role in share}):
            surplus = sum(share.get(role, 0) for share in kept.values()) - wanted.get(role, 0)
            for name in [*order, home.name]:
                going = min(max(surplus, 0), kept[name].get(role, 0))
                kept[name][role] = kept[name].get(role, 0) - going
                surplus -= going
        return {name: share for name, share in kept.items() if name == home.name or any(share.values())}

    def _rank(self, policy: PlacementPolicy | None, name: str) -> int:
        return self._pass.preference(policy, name) if policy is not None and name in self._pass.clusters else 0

    def _settled(
        self, group: Group, home: Cluster, has: Mapping[str, Shares], here: Sequence[str], *, outgrown: bool = False
    ) -> Spanned:
        """A group with these shares and no others."""
        for name in here:
            if name not in has:
                self._pass.assume(group.id, name, "Copy", AS_WRITTEN)
                self._occupancy.books.release(group.id, name)
        alone = len(has) == 1
        for name, share in has.items():
            if name != home.name:
                self._pass.assume(group.id, name, "Remote", self._away(group, share))
            elif alone and not outgrown:
                self._pass.assume(group.id, name, "Copy", AS_WRITTEN)
            else:
                self._pass.assume(group.id, name, "Home", self._at_home(group, home, share))
        after = tuple(sorted(has))
        action = Action.KEEP if after == tuple(here) else Action.UPDATE
        code = Reason.OUTGROWN if outgrown else Reason.KEPT if action is Action.KEEP else Reason.UPDATED
        return Spanned(after, action, Finding(code=code))

    # more workers

    def _extend(
        self,
        group: Group,
        policy: PlacementPolicy,
        home: Cluster,
        has: Mapping[str, Shares],
        wanted: Shares,
        closed: Iterable[str] = (),
    ) -> Spanned | None:
        """The group with the workers that it lacks, room reserved; None if not all of them find some."""
        left = self._missing(has, wanted)
        if policy.spec.placement.span != "IfNeeded" or self._spans.lacks(group, home):
            return None
        ranked = self._ranked(group, policy, {home.name, *closed})
        others = [
            n
            for n in [*(n for n in ranked if n in has), *(n for n in ranked if n not in has)]
            if self._of_one_mesh(home.name, n)
        ]
        for scale_up in (False, True) if may_scale_up(policy) else (False,):
            trial = _Trial(self._pass, self._choice, group, policy, scale_up)
            if self._grown(trial, home, has, left, others):
                after = tuple(sorted({*has, *trial.shares}))
                if after == (home.name,):
                    trial.settle(home.name, "Copy", AS_WRITTEN)  # all of it has come home
                    return Spanned(after, Action.UPDATE, Finding(code=Reason.UPDATED))
                fresh = {name: why for name, why in trial.reasons.items() if name not in has}
                return Spanned(after, Action.EXTEND, Finding(code=Reason.SPANS), fresh)
            trial.undo()
        return None

    def _grown(
        self, trial: _Trial, home: Cluster, has: Mapping[str, Shares], missing: Shares, others: Sequence[str]
    ) -> bool:
        group, left = trial.group, dict(missing)
        trial.reopen(home.name, self._occupancy.ledger(home.name, without=frozenset({group.id})))
        more = self._more_at_home(trial, home, has[home.name], left)
        if more is None:
            return False
        left = _minus(left, more)
        for name in others:
            if not left:
                break
            had = has.get(name, {})
            trial.reopen(name, self._occupancy.ledger(name, without=frozenset({group.id})))
            more = trial.largest(name, left, lambda share, had=had: ("Remote", self._away(group, _plus(had, share))))
            if more is None and had:
                return False
            left = _minus(left, more or {})
        return not left and self._harmless(group, home)

    def _more_at_home(self, trial: _Trial, home: Cluster, had: Shares, left: Shares) -> Shares | None:
        """Workers that come to the home; None if it has no room for those that it has."""
        group = trial.group

        def asked(share: Shares) -> tuple[ClusterRole, Counts]:
            return "Home", self._at_home(group, home, _plus(had, share))

        none = dict.fromkeys(left, 0)
        if not self._is_added_to(group):
            return none if trial.kept(home.name, *asked(none)) else None
        return trial.largest(home.name, left, asked) or (none if trial.kept(home.name, *asked(none)) else None)

    def _is_added_to(self, group: Group) -> bool:
        """Whether KubeRay adds workers to a Ray cluster that runs, when its object says so."""
        app = self._spans.app(group)
        return app is not None and app.identity.kind == "RayCluster"

    def _harmless(self, group: Group, home: Cluster) -> bool:
        """Whether what is edited at home makes KubeRay restart nothing there that would have gone on."""
        deployed = self._deployed_app(group, home.name)
        counts = self._pass.counts.get((group.id, home.name), AS_WRITTEN)
        return deployed is None or self._spans.restarts_nothing(group, home, deployed, counts)

    def _deployed_app(self, group: Group, name: str) -> dict[str, Any] | None:
        """The Ray object of a group as it is deployed on a cluster."""
        app, record = self._spans.app(group), self._pass.record(group.id)
        root = self._pass.snapshot.source.own.fleet.spec.deployment.root
        for member in record.members if record is not None and app is not None else ():
            path = f"{root}/{name}/{WORKLOADS}/{member.file}"
            if app is not None and member.identity == app.identity and path in self._pass.snapshot.deployment:
                for document in parse(self._pass.snapshot.deployment.read(path)).documents:
                    if identity_of(document.value) == app.identity:
                        return document.value
        return None

    # clusters and counts

    def _ranked(self, group: Group, policy: PlacementPolicy, exclude: Iterable[str]) -> list[str]:
        out = set(exclude)
        names = [
            n for n in self._pass.entrance.may_enter(group, policy) if n not in out and self._pass.clusters[n].spec.mesh
        ]
        return self._choice.offers.ranked(group, policy, names)

    def _of_one_mesh(self, name: str, other: str) -> bool:
        clusters = self._pass.clusters
        return (
            name != other
            and clusters[name].spec.mesh is not None
            and clusters[name].spec.mesh == clusters[other].spec.mesh
        )

    def _at_home(self, group: Group, home: Cluster, share: Shares) -> Counts:
        return self._spans.counts_at_home(group, home, share)

    def _away(self, group: Group, share: Shares) -> Counts:
        return self._spans.counts_elsewhere(group, share)


class _Trial:
    """What is tried for one group, and can be taken back: counts and roles in the pass, room in the books."""

    def __init__(self, shared: Pass, choice: Choice, group: Group, policy: PlacementPolicy, scale_up: bool) -> None:
        self.group = group
        self.reasons: dict[str, Finding] = {}
        self.shares: dict[str, Shares] = {}
        self._pass = shared
        self._choice = choice
        self._policy = policy
        self._scale_up = scale_up
        self._ledgers: dict[str, Ledger] = {}
        self._was: dict[str, tuple[ClusterRole, Counts]] = {}
        self._tight = dict(choice.tries.tight[group.id])

    def largest(self, name: str, wanted: Shares, asked: Any) -> dict[str, int] | None:
        """
        The largest share of some workers that a cluster takes, room reserved; `asked` tells the role and counts that a share
        comes to. None if it takes nothing, not even what is there besides workers.
        """
        share = dict.fromkeys(sorted(wanted), 0)
        if asked(share)[0] == "Home" and self._fits(name, asked(share)) is None:
            return None
        for role in share:
            low, high = 0, wanted[role]
            while low < high:
                middle = high if low == 0 and high == wanted[role] else (low + high + 1) // 2
                if self._fits(name, asked({**share, role: middle})) is not None:
                    low = middle
                else:
                    high = middle - 1
            share[role] = low
        if asked(share)[0] == "Remote" and not any(share.values()):
            return None
        found = self._fits(name, asked(share))
        if found is None:
            return None
        self._take(name, asked(share), *found)
        self.shares[name] = share
        return share

    def kept(self, name: str, role: ClusterRole, counts: Counts) -> bool:
        """Reserve what a cluster has already; whether there is room for it."""
        self.settle(name, role, counts)
        gang = self._choice.books[name].shown.not_seen(self.group.id, self._pass.gang_on(self.group.id, name))
        packing = self._choice.books.fit(gang, name, scale_up=can_scale(self._choice.books, self._policy, name))
        if isinstance(packing, Packing):
            self._choice.books.reserve(self.group.id, name, packing, gang, sure=False)
            self.shares[name] = {}
        return isinstance(packing, Packing)

    def settle(self, name: str, role: ClusterRole, counts: Counts) -> None:
        """Give a cluster its role and counts."""
        if name not in self._was:
            roles = self._pass.roles_of(self.group.id, [name])
            self._was[name] = roles.get(name, "Copy"), self._pass.counts.get((self.group.id, name), AS_WRITTEN)
        self._pass.assume(self.group.id, name, role, counts)

    def reopen(self, name: str, ledger: Ledger) -> None:
        """Take another ledger for a cluster, of one that the group is not on."""
        self._save(name)
        self._choice.books.replace(name, ledger)

    def undo(self) -> None:
        """Take all of it back."""
        for name, (role, counts) in self._was.items():
            self._pass.assume(self.group.id, name, role, counts)
        for name, ledger in self._ledgers.items():
            self._choice.books.replace(name, ledger)
        self._choice.tries.tight[self.group.id] = self._tight

    def _fits(self, name: str, asked: tuple[ClusterRole, Counts]) -> tuple[Finding, Packing] | None:
        self.settle(name, *asked)
        found = self._choice.promised(self.group, self._policy, name, scale_up=self._scale_up)
        if found is None:
            role, counts = self._was[name]
            self._pass.assume(self.group.id, name, role, counts)
        return found

    def _take(self, name: str, asked: tuple[ClusterRole, Counts], finding: Finding, packing: Packing) -> None:
        self._save(name)
        self.settle(name, *asked)
        missing = self._choice.books[name].shown.not_seen(self.group.id, self._pass.gang_on(self.group.id, name))
        self._choice.reserve(self.group, self._policy, name, finding, packing, missing)
        self.reasons[name] = finding

    def _save(self, name: str) -> None:
        if name not in self._ledgers:
            self._ledgers[name] = self._choice.books[name].copy()


def _minus(shares: Shares, others: Shares) -> dict[str, int]:
    """What is left of shares; roles of which nothing is left are left out."""
    found = {role: number - others.get(role, 0) for role, number in shares.items()}
    return {role: number for role, number in found.items() if number > 0}


def _plus(shares: Shares, others: Shares) -> dict[str, int]:
    return {role: shares.get(role, 0) + others.get(role, 0) for role in sorted({*shares, *others})}
