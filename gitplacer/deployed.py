"""
What is deployed of a group on a cluster, sized as it runs there.

It is what a group holds while its source cannot say: when it is held, when its file cannot be read, when it is on its way
out. The deployed files have the overrides in them already; what the cluster adds to pods, and the devices that their claims
come to, are counted as for any other object there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from gitplacer import workloads
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import BETWEEN, PlacementRecord
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, Identity
from gitplacer.profiles import ClusterProfile
from gitplacer.reach import Specs, bound
from gitplacer.source.files import Memo, NoMemo, Reading, SourceDocument, read_documents
from gitplacer.source.manifests import PLATFORM, WORKLOADS, identity_in
from gitplacer.source.reading import Source
from gitplacer.tree import Tree
from gitplacer.workloads import devices
from gitplacer.workloads.facts import ObjectFacts, reserved
from gitplacer.workloads.surroundings import USUAL


class DeployedFiles:
    """
    The deployment tree, whose files are read when somebody asks. Most are files of the source as they are, which `memo` knows; another
    process that is given this reads them again.
    """

    def __init__(self, tree: Tree, memo: Memo) -> None:
        self._tree = tree
        self._memo = memo

    def __getstate__(self) -> dict[str, object]:
        return {"_tree": self._tree, "_memo": NoMemo()}

    def read(self, paths: Iterable[str]) -> Reading:
        """What stands in those of some files that are there."""
        return read_documents(self._tree, sorted(path for path in paths if path in self._tree), self._memo)


class Deployed:
    """What is deployed, as gangs. Answers are remembered."""

    def __init__(self, files: DeployedFiles, source: Source, profiles: Mapping[str, ClusterProfile]) -> None:
        self._files = files
        self._source = source
        self._profiles = profiles
        self._policies = {policy.name: policy for policy in source.own.policies}
        self._facts: dict[tuple[str, str], tuple[tuple[Identity | None, ObjectFacts], ...]] = {}

    def gang(self, record: PlacementRecord, policy: PlacementPolicy | None, cluster: str | None = None) -> Gang:
        """
        The pods of a recorded group on a cluster, or on the first that has it; as many as its policy wants room for, or
        the policy that the record names.
        """
        policy = policy or self._policies.get(record.policy)
        names = [entry.name for entry in record.clusters]
        order = [cluster, *names] if cluster in names else names
        objects = next((found for name in order if name and (found := self._on(record, name))), ())
        facts = [each for _, each in objects]
        if policy is None:
            return reserved(facts)
        return reserved(facts, policy.spec.placement.reserve, with_peak=policy.spec.update.reserve_peak)

    def objects(self, record: PlacementRecord, cluster: str) -> dict[Identity, ObjectFacts]:
        """The objects of a recorded group as they run on a cluster."""
        return {identity: facts for identity, facts in self._on(record, cluster) if identity is not None}

    def _on(self, record: PlacementRecord, cluster: str) -> tuple[tuple[Identity | None, ObjectFacts], ...]:
        """The objects of a record's files on a cluster; () where it has none of them."""
        key = (record.id, cluster)
        if key not in self._facts:
            unit = PLATFORM if record.is_platform else WORKLOADS
            root = self._source.own.fleet.spec.deployment.root
            paths = {f"{root}/{cluster}/{unit}/{member.file}" for member in record.members}
            if record.move is not None and record.move.strategy == "RemoveFirst":
                paths |= {f"{BETWEEN}/{member.file}" for member in record.members}  # it holds room that has no files
            documents = self._files.read(paths).documents
            self._facts[key] = self._sized([item for items in documents.values() for item in items], cluster)
        return self._facts[key]

    def _sized(self, items: list[SourceDocument], cluster: str) -> tuple[tuple[Identity | None, ObjectFacts], ...]:
        claims: dict[str, dict[str, Resources]] = defaultdict(dict)
        for item in items:
            identity = identity_in(item.document)
            if identity is not None:
                kind = (identity.api_group, identity.kind)
                for name in devices.templates(kind, identity.name, item.facts):
                    claims[identity.namespace][name] = item.facts.devices
        volumes = {
            f"{identity.namespace}/{identity.name}": item.facts.volume
            for item in items
            if (identity := identity_in(item.document)) is not None
        }
        return tuple(
            (identity_in(item.document), self._as_it_runs(item, cluster, claims, volumes.get)) for item in items
        )

    def _as_it_runs(
        self, item: SourceDocument, cluster: str, claims: Mapping[str, Mapping[str, Resources]], specs: Specs
    ) -> ObjectFacts:
        identity, profile = identity_in(item.document), self._profiles.get(cluster)
        if identity is None or profile is None:
            return item.facts
        declared = self._source.declarations.kinds
        known = tuple(sorted(claims.get(identity.namespace, {}).items()))
        around = profile.surroundings(identity.namespace).with_claims(known if item.facts.claims else None)
        if identity.namespace in profile.quotas and item.facts.sized:
            around = replace(around, bounded=True)
        if around == USUAL and (identity.api_group, identity.kind) not in declared:
            facts = item.facts.but(accounts=()) if item.facts.accounts else item.facts  # which is how it was read
        else:
            facts = workloads.read(item.document, around, declared)[0].remembered()
        return bound(facts, identity.namespace, profile, specs)
