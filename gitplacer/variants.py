"""
What an object is on a cluster: the edits that its counts and overrides make there, and the pods that come of them and of the
cluster.

An override may raise a replica count or a request on one cluster, and a cluster may add sidecars or default requests, so
what is looked for there is the gang as it will be there, not as it is in the source. Where a group is divided its objects have
other counts on each cluster; they are edited first, so that an override of a count has the last word. An override that makes an object the
API server would refuse is a problem of the manifest, found before anything is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from msgspec import structs

from gitplacer import dispatching, rules, workloads
from gitplacer.dispatching import Queues
from gitplacer.documents import Document, Edit, EditError, Path, applied, value_at
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.selectors import Override
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.resources import Resources
from gitplacer.model.workload import ClaimSpec, Gang
from gitplacer.policies.overriding import Overrides, names_objects
from gitplacer.problems import Problem, Severity
from gitplacer.profiles import ClusterProfile
from gitplacer.reach import bound
from gitplacer.source.accounts import foreign_accounts
from gitplacer.source.allowances import not_allowed
from gitplacer.source.claims import claimed
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.source.reading import Source
from gitplacer.workloads.facts import ObjectFacts
from gitplacer.workloads.surroundings import USUAL, Surroundings

Edits = tuple[Edit, ...]
Overriding = tuple[tuple[str, Edits], ...]
"""What overrides an object, by `Kind/name` in the order in which it does, with the edits it makes."""

Sort = tuple[int, tuple[str, ...]]
"""What clusters have in common for a group: what counts for all objects or those of some kind, and the policies that name one of its own."""

AS_USUAL: Sort = (0, ())

_Concerns = tuple[frozenset[int], Mapping[str, tuple[str, ...]]]
"""What clusters have in common on which something is other than it is written, and clusters with policies by its name."""

_NOTHING = object()
_AS_WRITTEN: tuple[object, ...] = ((), (), "", ())
"""What clusters have of policies, overrides, queues and surroundings on which nothing differs."""


class Overridden:
    """
    The objects of a source with what OverridePolicies and the overrides of clusters make of them there, and nothing else. Answers are
    remembered.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.policies = Overrides(source.own.overrides, source.namespace_labels)
        self._by: dict[tuple[int, str], Overriding] = {}

    def by(self, member: SourceObject, cluster: Cluster) -> Overriding:
        """What overrides an object on a cluster."""
        if not self.policies.on(cluster) and not cluster.spec.overrides:
            return ()
        key = (id(member), cluster.name)
        if key not in self._by:
            found = [
                (f"OverridePolicy/{policy.name}", tuple(map(_edit, policy.spec.overrides)))
                for policy in self.policies.about(member, cluster)
            ]
            own = tuple(_edit(o) for o in cluster.spec.overrides if self.is_about(member, o))
            self._by[key] = (*found, *([(f"Cluster/{cluster.name}", own)] if own else ()))
        return self._by[key]

    @staticmethod
    def is_about(member: SourceObject, override: Override) -> bool:
        """Whether an override of a cluster is about an object, should it be there."""
        return _has_field(member.document.value, _edit(override))

    def facts(self, member: SourceObject, cluster: Cluster) -> ObjectFacts:
        """An object as they leave it on a cluster; as it is written where one of their edits cannot be made, which is told elsewhere."""
        edits = tuple(edit for _, edits in self.by(member, cluster) for edit in edits)
        document = _edited(member, edits) if edits else None
        if document is None:
            return member.facts
        return workloads.read(document, declared=self._source.declarations.kinds)[0].remembered()


class Variants:
    """
    The objects of a source as they are on each cluster, by OverridePolicies, by the overrides of the clusters and by their
    profiles, and where they are left to Kueue. Answers are remembered.
    """

    def __init__(self, source: Source, profiles: Mapping[str, ClusterProfile], queues: Queues) -> None:
        self._source = source
        self._queues = queues
        self._managers = frozenset(name for managers in queues.values() for name in managers)
        self._overridden = Overridden(source)
        self._overrides = self._overridden.policies
        self._profiles = profiles
        self._of_items: dict[int, _Concerns] = {}
        self._of_groups: dict[tuple[int, ...], _Concerns] = {}
        self._likeness: dict[str, int] = {}
        self._numbers: dict[tuple[object, ...], int] = {_AS_WRITTEN: 0}
        self._brought: dict[tuple[int, tuple[str, ...]], tuple[Problem, ...]] = {}
        self._facts: dict[tuple[int, Sort | Surroundings, Counts, bool], ObjectFacts] = {}
        self._problems: dict[tuple[int, str | Surroundings, Counts], tuple[Problem, ...]] = {}

    def __reduce__(self) -> tuple[type[Variants], tuple[Source, Mapping[str, ClusterProfile], Queues]]:
        # Answers are remembered by which object it is in memory: in another process another one may be where that was.
        return Variants, (self._source, self._profiles, self._queues)

    def edits(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> Edits:
        """
        The edits of an object on a cluster: its counts, then those of the policies that select both, by name, then the
        cluster's own where the object has the field, then those that leave it to Kueue there.
        """
        own = self._count_edits(member, counts) if counts else ()
        overridden = tuple(edit for _, edits in self._overridden.by(member, cluster) for edit in edits)
        edits = (*own, *overridden) if own else overridden
        left = self._left_to_kueue(member, cluster) if cluster.name in self._managers else ()
        return (*edits, *left) if left else edits

    def _left_to_kueue(self, member: SourceObject, cluster: Cluster) -> Edits:
        queue = self._queues.get(member.identity, {}).get(cluster.name)
        return dispatching.edits(member.document.value, queue) if queue is not None else ()

    def _count_edits(self, member: SourceObject, counts: Counts) -> Edits:
        known = counts.of_object(member.identity)
        return tuple(workloads.counted(member.document.value, known, self._declared)) if known else ()

    def facts(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> ObjectFacts:
        """What placement wants to know of an object as it will be on a cluster. An edit that cannot be made is left to whoever makes it."""
        return self._facts_in(member, cluster, counts, self.around(member, cluster))

    def counted(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> ObjectFacts:
        """The same with what its pods take of quotas there."""
        return self._facts_in(member, cluster, counts, structs.replace(self.around(member, cluster), bounded=True))

    def _facts_in(self, member: SourceObject, cluster: Cluster, counts: Counts, around: Surroundings) -> ObjectFacts:
        edits = self.edits(member, cluster, counts)
        if self._is_plain(member, edits, around):
            return member.facts
        key = (
            id(member),
            (self.likeness(cluster), self._concerning(member)[1].get(cluster.name, ())) if edits else around,
            counts.of_member(member.identity) if edits else AS_WRITTEN,
            around.bounded,
        )
        if key not in self._facts:
            self._facts[key] = self._read(member, edits, around)
        return self._facts[key]

    def _read(self, member: SourceObject, edits: Edits, around: Surroundings) -> ObjectFacts:
        edited = _edited(member, edits)
        return member.facts if edited is None else workloads.read(edited, around, self._declared)[0].remembered()

    def problems(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> tuple[Problem, ...]:
        """What is wrong with an object as it will be on a cluster, beyond what is with the object as it is written."""
        edits, around = self.edits(member, cluster, counts), self.around(member, cluster)
        edited = None if self._is_plain(member, edits, around) else _edited(member, edits)
        if edited is None:
            return ()
        key = (
            id(member),
            cluster.name if edits else around,
            counts.of_member(member.identity) if edits else AS_WRITTEN,
        )
        if key not in self._problems:
            found = workloads.read(edited, around, self._declared)[1]
            told = not_allowed([*found, *(rules.check(edited) if edits else ())], member.annotations)
            errors = {problem for problem in told if problem.severity is Severity.ERROR}
            if edits and member.unit == WORKLOADS:
                errors.update(self._brought_in(member, cluster))
            self._problems[key] = tuple(sorted(errors))
        return self._problems[key]

    @property
    def _declared(self) -> workloads.Declared:
        return self._source.declarations.kinds

    def _is_plain(self, member: SourceObject, edits: Edits, around: Surroundings) -> bool:
        """Whether an object is on a cluster what it is anywhere."""
        if edits or around.with_claims(None) != USUAL:
            return False
        return around.claims in (None, self._claims_in_source(member))

    def _brought_in(self, member: SourceObject, cluster: Cluster) -> tuple[Problem, ...]:
        """
        What overrides make of an object on a cluster that no workload may be, told where the first of them stands that does. Clusters
        with the same overrides share the answer.
        """
        overriding = self._overridden.by(member, cluster)
        key = (id(member), tuple(name for name, _ in overriding))
        if key not in self._brought:
            self._brought[key] = tuple(self._blamed(member, overriding))
        return self._brought[key]

    def _blamed(self, member: SourceObject, overriding: Overriding) -> Iterator[Problem]:
        left = self._refused(member, tuple(edit for _, edits in overriding for edit in edits))
        known = self._refused(member, ()) if left else {}
        done: Edits = ()
        for name, edits in overriding if left else ():
            done = (*done, *edits)
            found = self._refused(member, done)
            for said in sorted(found.keys() & left.keys() - known.keys()):
                place, message = self._source.own.places[name], f"{member.identity}: {found[said].message}"
                yield structs.replace(found[said], location=place, message=message)
            known |= found

    def _refused(self, member: SourceObject, edits: Edits) -> dict[str, Problem]:
        """What no workload may be, in an object with some edits, by what is said of it. An edit that cannot be made is told elsewhere."""
        document, tenancy = _edited(member, edits), self._source.tenancy
        if document is None:
            return {}
        needs = workloads.read(document, declared=self._declared)[0].needs
        asked, found = rules.check_of_strangers(document)
        found += foreign_accounts(document, member.identity.namespace, asked, self._source.accounts, tenancy)
        found += tenancy.forbidden(document, needs)
        granted = tenancy.granted(member.path)
        told = not_allowed((p for p in found if p.code not in granted), member.annotations)
        return {f"{p.code} {p.message}": p for p in told if p.severity is Severity.ERROR}

    def replicas(self, member: SourceObject, cluster: Cluster, counts: Counts) -> dict[str, int]:
        """How many replicas each role of an object has on a cluster, where its kind has such counts."""
        edited = _edited(member, self.edits(member, cluster, counts))
        scales = workloads.scales(edited.value, self._declared) if edited is not None else ()
        return {scale.role: scale.replicas for scale in scales if scale.path}

    def any_on(self, cluster: Cluster) -> bool:
        """Whether there is anything that could differ on a cluster."""
        overridden = bool(self.likeness(cluster) or self._overrides.on(cluster))
        return overridden or self._profiles[cluster.name].binds_volumes

    def likeness(self, cluster: Cluster) -> int:
        """
        A number that clusters have in common on which placement is told the same of every object of equal counts, but for where its volumes
        let it be, and for OverridePolicies that name their objects; 0 where all are as they are written. There are a few, where there are thousands of
        clusters: which image is pulled is nothing to placement.
        """
        known = self._likeness.get(cluster.name)
        if known is None:
            profile = self._profiles[cluster.name]
            key = (
                tuple(
                    (repr(policy.spec.select), *map(_told, policy.spec.overrides))
                    for policy in self._overrides.on(cluster)
                    if not names_objects(policy)
                ),
                tuple(map(_told, cluster.spec.overrides)),
                cluster.name if cluster.name in self._managers else "",
                profile.meetings if profile.changes_sizes else (),
            )
            known = self._likeness[cluster.name] = self._numbers.setdefault(key, len(self._numbers))
        return known

    def sort(self, group: Group, cluster: Cluster) -> Sort:
        """What decides, counts and volumes apart, what a group is on a cluster; AS_USUAL where it is as it is written."""
        likeness = self.likeness(cluster)
        return likeness if likeness in self.concerned(group) else 0, self.alone(group).get(cluster.name, ())

    def concerned(self, group: Group) -> frozenset[int]:
        """What clusters may have in common on which a group is other than it is written, as `likeness` has it."""
        return self._concerns(group)[0]

    def alone(self, group: Group) -> Mapping[str, tuple[str, ...]]:
        """The clusters on which policies concern a group by the names of its objects, with the names of these policies."""
        return self._concerns(group)[1]

    def _concerns(self, group: Group) -> _Concerns:
        if len(group.members) == 1:
            return self._concerning(group.members[0])
        key = tuple(map(id, group.members))
        if key not in self._of_groups:
            self._of_groups[key] = _together(map(self._concerning, group.members))
        return self._of_groups[key]

    def _concerning(self, item: SourceObject) -> _Concerns:
        """What concerns an object, and the templates by which it claims devices."""
        if id(item) not in self._of_items:
            by_policy, named, everybody = self._reach
            alone: dict[str, list[str]] = defaultdict(list)
            for policy in sorted(self._overrides.of(item) & named.keys()):
                for name in named[policy]:
                    alone[name].append(policy)
            likenesses = everybody.union(*(by_policy[name] for name in self._overrides.of(item) & by_policy.keys()))
            own = likenesses, {name: tuple(policies) for name, policies in alone.items()}
            templates = self._source.claim_templates.get(item.identity.namespace, ()) if item.facts.claims else ()
            self._of_items[id(item)] = _together([own, *map(self._concerning, templates)]) if templates else own
        return self._of_items[id(item)]

    @cached_property
    def _reach(self) -> tuple[Mapping[str, frozenset[int]], Mapping[str, Sequence[str]], frozenset[int]]:
        """
        What clusters have in common on which each policy counts; the clusters of each that names its objects; and what clusters have in common on which
        something counts for everybody.
        """
        by_policy: dict[str, set[int]] = defaultdict(set)
        named: dict[str, list[str]] = defaultdict(list)
        everybody: set[int] = set()
        for cluster in self._source.own.clusters.values():
            likeness = self.likeness(cluster)
            for policy in self._overrides.on(cluster):
                if names_objects(policy):
                    named[policy.name].append(cluster.name)
                else:
                    by_policy[policy.name].add(likeness)
            own = bool(cluster.spec.overrides) or cluster.name in self._managers
            if own or self._profiles[cluster.name].changes_sizes:
                everybody.add(likeness)
        return {name: frozenset(found) for name, found in by_policy.items()}, named, frozenset(everybody)

    def around(self, member: SourceObject, cluster: Cluster) -> Surroundings:
        """What a cluster adds to the pods of an object, and what devices their claims come to there."""
        profile = self._profiles[cluster.name]
        if not member.facts.sized:
            return USUAL
        around = profile.surroundings(member.identity.namespace) if profile.changes_sizes else USUAL
        return around.with_claims(self._claims(member, cluster) if member.facts.claims else None)

    def _claims(self, member: SourceObject, cluster: Cluster) -> tuple[tuple[str, Resources], ...]:
        """The templates of an object's namespace as they are on a cluster, where an override may change them too."""
        templates = self._source.claim_templates.get(member.identity.namespace, ())
        return tuple(each for item in templates for each in claimed(item, self.facts(item, cluster)))

    def _claims_in_source(self, member: SourceObject) -> tuple[tuple[str, Resources], ...]:
        templates = self._source.claim_templates.get(member.identity.namespace, ())
        return tuple(each for item in templates for each in claimed(item, item.facts))

    def gang(self, group: Group, cluster: Cluster, counts: Counts = AS_WRITTEN) -> Gang:
        """The pods of a group on a cluster, as many as its counts there say."""
        return group.gang_of(self.facts_there(member, cluster, counts) for member in group.members)

    def facts_there(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> ObjectFacts:
        """What an object of a group is on a cluster, with what its volumes ask of nodes there."""
        facts, specs = self.facts(member, cluster, counts), partial(self._claim, cluster=cluster)
        return bound(facts, member.identity.namespace, self._profiles[cluster.name], specs)

    def _claim(self, name: str, cluster: Cluster) -> ClaimSpec | None:
        """What a PersistentVolumeClaim of the source asks for on a cluster; None if the source has none of that name."""
        item = self._volume_claims.get(name)
        return None if item is None else self.facts(item, cluster).volume

    @cached_property
    def _volume_claims(self) -> Mapping[str, SourceObject]:
        """By namespace and name."""
        return {
            f"{item.identity.namespace}/{item.identity.name}": item
            for item in self._source.objects
            if item.facts.volume is not None
        }


def _edited(member: SourceObject, edits: Edits) -> Document | None:
    """An object with some edits; None if one of them cannot be made."""
    value: Any = member.document.value
    try:
        for edit in edits:
            value = applied(value, edit)
    except EditError:
        return None
    return as_document(member, value)


def as_document(member: SourceObject, value: dict[str, Any]) -> Document:
    """Another value as if it stood where an object does, so that what is wrong with it is told there."""
    return replace(member.document, parsed=replace(member.document.parsed, value=value, nulls=True))


def _edit(override: Override) -> Edit:
    """An override as an edit. List indexes stay text: only the document tells a list from a mapping."""
    path: Path = tuple(part.replace("~1", "/").replace("~0", "~") for part in override.path.split("/")[1:])
    return Edit(path, override.op, override.value)


def _together(some: Iterable[_Concerns]) -> _Concerns:
    """What concerns any of some objects."""
    likenesses, alone = frozenset[int](), dict[str, tuple[str, ...]]()
    for each, named in some:
        likenesses |= each
        for name, policies in named.items():
            alone[name] = tuple(sorted({*alone.get(name, ()), *policies}))
    return likenesses, alone


def _told(override: Override) -> str:
    """All of an override that may matter to placement: not which image of a container it names."""
    *_, containers, _, last = ("", "", *override.path.split("/"))
    is_image = last == "image" and containers in ("containers", "initContainers")
    return f"{override.op} {override.path}" if is_image else repr(override)  # a value may be anything


def _has_field(value: Any, edit: Edit) -> bool:
    """Whether an object has the field a cluster's override is about; for `add`, the mapping or list around it."""
    if edit.op == "add":
        return isinstance(value_at(value, edit.path[:-1]), dict | list)
    return value_at(value, edit.path, _NOTHING) is not _NOTHING
