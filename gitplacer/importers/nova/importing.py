"""
A folder of Nova's files as a fleet repo: the whole of the conversion, without touching a disk.

Clusters come first, because their labels decide how selectors are written; then policies, each with a precedence, because Nova's may
overlap; then manifests, each on the shelf that the policy which governs it asks for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitplacer.documents import Document
from gitplacer.importers.foreign import Foreign, read_foreign
from gitplacer.importers.nova.clusters import ClusterMaking, NovaCluster, read_cluster
from gitplacer.importers.nova.governing import Governed, Made, by_strength
from gitplacer.importers.nova.options import NovaOptions
from gitplacer.importers.nova.pins import Pin, is_mirrored, pin_of
from gitplacer.importers.nova.policies import Making, SchedulePolicy, read_policy
from gitplacer.importers.nova.sorting import Sorted
from gitplacer.importers.nova.vocabulary import Vocabulary
from gitplacer.importers.overlaps import Ranked, ranked
from gitplacer.importers.report import Imported, Notes, Outcome, markdown
from gitplacer.importers.shelves import NAMESPACES, Shelved, Thing, shelve, things_in
from gitplacer.importers.variables import Variables
from gitplacer.importers.writing import Names, header, own_file, read_back, valid_name
from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import Labels
from gitplacer.plaintext import few
from gitplacer.problems import Problem
from gitplacer.yamltext import to_yaml

SYSTEM = "Nova"
REPORT = "IMPORT.md"
_ABOVE_ALL = 1000
"""The precedence of policies of folders, which are about nothing else."""


def imported(
    files: Mapping[str, bytes], variables: Variables, options: NovaOptions, namespace: str = "default"
) -> Imported:
    """
    A fleet repo of what files by path hold, and what became of each of them. `namespace` is for objects that say none. Raises Rejected where
    a variable has no value.
    """
    return _Import(read_foreign(files, variables), options, namespace).done()


@dataclass
class _Import:
    """One import, step by step."""

    foreign: Foreign
    options: NovaOptions
    namespace: str
    notes: Notes = field(default_factory=Notes)
    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def done(self) -> Imported:
        self.problems += self.foreign.problems
        sorted_ = Sorted.of(self.foreign.documents, self.notes)
        self.options.tell(self.notes)
        self._snapshots(sorted_.snapshots)
        clusters = self._clusters(sorted_)
        policies = by_strength(self._policies(sorted_.policies, clusters))
        things = self._things(sorted_.manifests)
        policies += self._pins(things, Governed(policies, things))
        ranks = ranked([one.select for one in policies])
        self._overlaps(policies, ranks)
        for one, rank in zip(policies, ranks, strict=True):
            self.files[f"policies/{one.name}.yaml"] = one.file(rank.precedence)
        shelved = shelve(self.foreign.files, things, Governed(policies, things).rule, self.notes)
        self.files |= shelved.files
        self._overrides(policies, things)
        self._folders(policies, shelved, max((rank.precedence for rank in ranks), default=0))
        self._fleet()
        result = Imported(self.files, self.notes.lines(), tuple(dict.fromkeys(sorted(self.problems))))
        return Imported({**self.files, REPORT: markdown(result, SYSTEM)}, result.lines, result.problems)

    def _fleet(self) -> None:
        comments = (
            "The fleet, imported from Nova. Everything is as it is by default.",
            "IMPORT.md says what became of each file, docs/kinds/Fleet.md what may stand here.",
        )
        self.files["fleet.yaml"] = own_file("Fleet", "fleet", {}, comments=comments)

    # clusters

    def _snapshots(self, documents: Mapping[str, Document]) -> None:
        for name, document in documents.items():
            self.files[f"capacity/{name}.yaml"] = document.source()
            what = f"the snapshot of {name}: capacity/{name}.yaml"
            self.notes.add(Outcome.CONVERTED, document, (), what)

    def _clusters(self, found: Sorted) -> dict[str, Labels]:
        """Writes the clusters, and returns the labels by which policies select each."""
        read: dict[str, NovaCluster] = {}
        for document in found.clusters:
            cluster = read_cluster(document, self.notes)
            if isinstance(cluster, list):
                self.problems += cluster
            elif cluster.name in read:
                where = read[cluster.name].root.document.locate()
                self.notes.add(
                    Outcome.CHOSEN, document, (), f"Cluster {cluster.name} is at {where} too, which counts", "keep one"
                )
            else:
                read[cluster.name] = cluster
        self.words = Vocabulary.of(cluster.metadata.labels for cluster in read.values())
        snapshots = {name: document.value for name, document in found.snapshots.items()}
        making = ClusterMaking(self.words, self.options, self.notes, snapshots)
        labels: dict[str, Labels] = {}
        for name, cluster in sorted(read.items()):
            spec, own_labels, annotations = making.parts(cluster)
            comments = (f"Imported from the Cluster at {cluster.root.document.locate()}.",)
            data = own_file("Cluster", name, spec, comments=comments, labels=own_labels, annotations=annotations)
            ours = self._read_back(data, cluster.root.document)
            if not isinstance(ours, Cluster):
                continue
            self.files[f"clusters/{name}.yaml"] = data
            self.notes.about(Outcome.CONVERTED, cluster.root, None, f"Cluster {name}: clusters/{name}.yaml")
            labels[name] = ours.labels()
            snapshot = making.snapshot(cluster)
            if snapshot is not None:
                data = header((f"From the status of the Cluster at {cluster.root.document.locate()}.",)) + to_yaml(
                    snapshot
                )
                if self._read_back(data, cluster.root.document) is not None:
                    self.files[f"capacity/{name}.yaml"] = data
        return labels

    def _read_back(self, data: bytes, document: Document) -> Model | None:
        """What a file of ours holds; a line where its parser refuses it, because then it is not written."""
        found = read_back(data)
        if isinstance(found, Model):
            return found
        for problem in found:
            what = f"it cannot be written as it would have to be: {problem.message}"
            self.notes.add(Outcome.NO_EQUAL, document, ("metadata", "name"), what, problem.hint or "write it by hand")
        return None

    # policies

    def _policies(self, documents: Sequence[Document], clusters: Mapping[str, Labels]) -> list[Made]:
        """Every policy in our words, in the order of their files."""
        read: list[SchedulePolicy] = []
        for document in documents:
            policy = read_policy(document, self.notes)
            if isinstance(policy, list):
                self.problems += policy
            else:
                read.append(policy)
        making = Making(clusters, self.words, self.options, self.notes)
        self.names = Names()
        made: list[Made] = []
        for policy, name in self._named(read):
            spec = making.spec(policy)
            for select, alternative in zip(making.selects(policy), policy.alternatives, strict=True):
                unique = self.names.unique(name)
                one = Made(unique, {"select": select, **spec}, policy, alternative)
                if self._read_back(one.file(), policy.document) is None:
                    continue
                made.append(one)
                self.notes.about(
                    Outcome.CONVERTED, policy.root, None, f"SchedulePolicy {policy.name}: policies/{unique}.yaml"
                )
        return made

    def _named(self, read: Sequence[SchedulePolicy]) -> Iterator[tuple[SchedulePolicy, str]]:
        """Policies with the names they get: their own, or of several with one name those of their files. The same twice is one."""
        by_name: dict[str, list[SchedulePolicy]] = defaultdict(list)
        for policy in read:
            by_name[policy.name].append(policy)
        for policy in read:
            same = by_name[policy.name]
            at = next(index for index, one in enumerate(same) if one is policy)
            if any(one.spec == policy.spec for one in same[:at]):
                where = same[0].document.locate()
                self.notes.about(
                    Outcome.LEFT_OUT,
                    policy.root,
                    None,
                    f"SchedulePolicy {policy.name} is at {where} too, word for word",
                )
                continue
            if len(same) == 1:
                yield policy, valid_name(policy.name, "policy")
                continue
            others = few([str(one.document.locate()) for one in same if one is not policy])
            what = f"{policy.name} is the name of {len(same)} policies, also at {others}. In Nova the last that was applied counts; here all do, and of equals the last"
            todo = "keep the one that you had applied"
            self.notes.about(Outcome.CHOSEN, policy.root.mapping("metadata"), "name", what, todo)
            yield policy, valid_name(policy.document.file.rpartition("/")[2].rpartition(".")[0], policy.name)

    def _overlaps(self, made: Sequence[Made], ranks: Sequence[Ranked]) -> None:
        """A line for each policy that others may contradict by the same labels; those by other labels share objects by chance alone."""
        by_chance: list[Made] = []
        for one, rank in zip(made, ranks, strict=True):
            if not rank.over or one.origin is None:
                continue
            others = [made[index].name for index in rank.over if made[index].asks_alike(one)]
            if not others:
                by_chance.append(one)
                continue
            what = f"{one.name} may select the same objects as {few(others)}. Nova does not say which counts; here it does, with precedence {rank.precedence}"
            todo = "give another one a higher 'precedence', if it should count"
            self.notes.about(Outcome.CHOSEN, one.origin.root.mapping("metadata"), "name", what, todo)
        if by_chance and by_chance[0].origin is not None:
            names = few([one.name for one in by_chance])
            what = f"{names} ask for other labels than all others; of an object that has several of these labels, the highest precedence takes care"
            self.notes.about(Outcome.CHOSEN, by_chance[0].origin.root.mapping("metadata"), "name", what)

    def _overrides(self, made: Sequence[Made], things: Sequence[Thing]) -> None:
        names = Names()
        origins = {id(one.origin): one.origin for one in made if one.origin is not None}.values()
        for policy in origins:
            for change in policy.spread.changes if policy.spread is not None else ():
                name = names.unique(valid_name(f"{policy.name}-{change.name}-{change.value}", "override"))
                spread = policy.spread
                assert spread is not None
                clusters: dict[str, Any] = (
                    {"names": [change.value]}
                    if spread.by_name
                    else {"matchLabels": {self.words.key(spread.key): change.value}}
                )
                namespaces = {"namespaces": [change.namespace]} if change.namespace else {}
                select = {"kinds": [change.kind], "names": [change.name], **namespaces}
                spec = {"select": select, "clusters": clusters, "overrides": list(change.overrides)}
                where = change.reader.document
                comments = (
                    f"Imported from the overrides of SchedulePolicy {policy.name} at {where.locate(change.reader.path)}.",
                )
                data = own_file("OverridePolicy", name, spec, comments=comments)
                if self._read_back(data, where) is None:
                    continue
                self.files[f"overrides/{name}.yaml"] = data
                self.notes.about(
                    Outcome.CONVERTED,
                    change.reader,
                    None,
                    f"{change.api_version} {change.kind} {change.name} on {change.value}: overrides/{name}.yaml",
                )
                self._about_versions(change.reader, change.api_version, change.kind, change.name, things)

    def _about_versions(self, reader: Any, version: str, kind: str, name: str, things: Sequence[Thing]) -> None:
        """A line where the manifest that an override is for is not here, or is of another version."""
        found = [thing for thing in things if (thing.kind, thing.name) == (kind, name)]
        if not found:
            self.notes.about(
                Outcome.CHANGED, reader, None, f"no manifest of {kind} {name} was imported, so nothing changes yet"
            )
        elif version and all(thing.document.parsed.says[0] != version for thing in found):
            what = (
                f"{kind} {name} here is of {found[0].document.parsed.says[0]}, not {version}; it changes all the same"
            )
            self.notes.about(Outcome.CHANGED, reader, "apiVersion", what)

    # manifests

    def _things(self, documents: Sequence[Document]) -> list[Thing]:
        found = things_in(documents, self.namespace, self.notes, self.problems)
        for thing in found:
            if is_mirrored(thing):
                what = f"{thing} is only shown in Nova's control plane; what made it in its cluster makes it again"
                self.notes.add(Outcome.LEFT_OUT, thing.document, ("metadata", "labels"), what)
        return [thing for thing in found if not is_mirrored(thing)]

    def _pins(self, things: Sequence[Thing], governed: Governed) -> list[Made]:
        pins: list[Made] = []
        for thing in things:
            rule = governed.of(thing)
            pin = pin_of(thing, spread_by_policy=rule is not None and rule.spreads, notes=self.notes)
            made = self._pinned(thing, pin) if pin is not None else None
            if made is not None and self._read_back(made.file(), thing.document) is not None:
                pins.append(made)
        return pins

    def _pinned(self, thing: Thing, pin: Pin) -> Made:
        select: dict[str, Any] = {"kinds": [thing.kind], "names": [thing.name]}
        if thing.namespace:
            select = {"namespaces": [thing.namespace], **select}
        spec = {"select": select, "clusters": {"names": list(pin.clusters)}, "placement": pin.placement}
        name = self.names.unique(valid_name(f"{thing.namespace}-{thing.kind}-{thing.name}", "pinned"))
        return Made(name, spec, None, pinned=thing)

    def _folders(self, made: Sequence[Made], shelved: Shelved, highest: int) -> None:
        """A policy of its own for each folder of the platform that the imported one would not govern whole."""
        by_name = {one.name: one for one in made}
        for folder, (rule, things) in shelved.folders.items():
            one = by_name.get(rule.name) if rule is not None else None
            limited = one is not None and (one.origin is None or bool(one.origin.namespaces))
            if one is not None and not (limited and any(not thing.namespace for thing in things)):
                continue
            spec = (
                {key: value for key, value in one.spec.items() if key in ("clusters", "placement")}
                if one
                else {"placement": {"copies": "All"}}
            )
            name = self.names.unique(f"{rule.name[:54]}-platform" if rule is not None else NAMESPACES)
            spec = {"select": {"paths": [f"{folder}/**"]}, "precedence": max(_ABOVE_ALL, highest + 10), **spec}
            first = things[0].document
            if one is not None:
                what = f"what has no namespace is selected whatever the namespaceSelector says: policies/{name}.yaml takes all of {folder}/"
            else:
                what = f"namespaces go to every cluster, so that they are there before anything in them: policies/{name}.yaml"
            data = own_file("PlacementPolicy", name, spec, comments=(f"All of {folder}/, which is one group.",))
            if self._read_back(data, first) is not None:
                self.files[f"policies/{name}.yaml"] = data
                self.notes.add(Outcome.CHANGED, first, (), what)
