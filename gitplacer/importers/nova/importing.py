"""
A folder of Nova's files as a fleet repo: the whole of the conversion, without touching a disk.

Clusters come first, because their labels decide how selectors are written; then policies, each with a precedence, because Nova's may
overlap; then manifests, each on the shelf that the policy which governs it asks for.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitplacer.documents import Document
from gitplacer.importers.fleetrepo import Opened, opened
from gitplacer.importers.foreign import group_and_kind
from gitplacer.importers.nova.clusters import ClusterMaking, NovaCluster, read_cluster
from gitplacer.importers.nova.governing import Governed, Made, by_strength
from gitplacer.importers.nova.options import NovaOptions
from gitplacer.importers.nova.pins import Pin, is_mirrored, pin_of
from gitplacer.importers.nova.policies import Making, SchedulePolicy, read_policy
from gitplacer.importers.nova.vocabulary import Vocabulary
from gitplacer.importers.overlaps import Ranked, ranked
from gitplacer.importers.report import Imported, Notes, Outcome
from gitplacer.importers.shelves import NAMESPACES, Shelved, Thing, shelve, things_in
from gitplacer.importers.variables import Variables
from gitplacer.importers.writing import Names, header, valid_name
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.labels import Labels
from gitplacer.plaintext import few
from gitplacer.yamltext import to_yaml

_ELOTL = "elotl.co"
_RUNTIME: Mapping[str, str] = {
    "ScheduleGroup": "Nova's record of what it placed together; gitplacer keeps its own in the deployment repo",
}
"""Kinds of Nova's that say what it did."""


def imported(
    files: Mapping[str, bytes], variables: Variables, options: NovaOptions, namespaces: Sequence[str] = ()
) -> Imported:
    """
    A fleet repo of what files by path hold, and what became of each of them. An object that says no namespace is one in each of `namespaces`.
    Raises Rejected where a variable has no value.
    """
    return _Import(opened("Nova", _ELOTL, "clusters.cluster.elotl.co", files, variables), options, namespaces).done()


class _Import:
    """One import, step by step."""

    def __init__(self, read: Opened, options: NovaOptions, namespaces: Sequence[str]) -> None:
        self.read = read
        self.repo = read.repo
        self.notes = read.repo.notes
        self.options = options
        self.namespaces = namespaces

    def done(self) -> Imported:
        theirs = self.read.theirs
        self.options.tell(self.notes)
        clusters = self._clusters(theirs["Cluster"])
        policies = by_strength(self._policies(theirs["SchedulePolicy"], clusters))
        things = self._things(self.read.manifests)
        policies += self._pins(things, Governed(policies, things))
        ranks = ranked([one.select for one in policies])
        self._overlaps(policies, ranks)
        for one, rank in zip(policies, ranks, strict=True):
            self.repo.files[f"policies/{one.name}.yaml"] = one.file(rank.precedence)
            self.repo.highest = max(self.repo.highest, rank.precedence)
        shelved = shelve(self.read.files, things, Governed(policies, things).rule, self.notes)
        self.repo.files |= shelved.files
        self._overrides(policies, things)
        self._folders(policies, shelved)
        for kind, documents in theirs.items():
            for document in documents if kind not in ("Cluster", "SchedulePolicy") else ():
                _tell(document, kind, self.notes)
        return self.repo.done()

    # clusters

    def _clusters(self, documents: Sequence[Document]) -> dict[str, Labels]:
        """Writes the clusters, and returns the labels by which policies select each."""
        read: dict[str, NovaCluster] = {}
        for document in documents:
            cluster = read_cluster(document, self.notes)
            if isinstance(cluster, list):
                self.repo.problems += cluster
            elif cluster.name in read:
                where = read[cluster.name].root.document.locate()
                self.notes.add(
                    Outcome.CHOSEN, document, (), f"Cluster {cluster.name} is at {where} too, which counts", "keep one"
                )
            else:
                read[cluster.name] = cluster
        self.words = Vocabulary.of(cluster.metadata.labels for cluster in read.values())
        making = ClusterMaking(self.words, self.options, self.notes, self.repo.snapshots)
        labels: dict[str, Labels] = {}
        for name, cluster in sorted(read.items()):
            spec, own_labels, annotations = making.parts(cluster)
            document = cluster.root.document
            comment = f"Imported from the Cluster at {document.locate()}."
            ours = self.repo.own(
                "clusters", "Cluster", name, spec, document, comment, labels=own_labels, annotations=annotations
            )
            if not isinstance(ours, Cluster):
                continue
            self.notes.about(Outcome.CONVERTED, cluster.root, None, f"Cluster {name}: clusters/{name}.yaml")
            labels[name] = ours.labels()
            snapshot = making.snapshot(cluster)
            if snapshot is not None:
                data = header((f"From the status of the Cluster at {document.locate()}.",)) + to_yaml(snapshot)
                if self.repo.kept(data, document) is not None:
                    self.repo.files[f"capacity/{name}.yaml"] = data
        return labels

    # policies

    def _policies(self, documents: Sequence[Document], clusters: Mapping[str, Labels]) -> list[Made]:
        """Every policy in our words, in the order of their files."""
        read: list[SchedulePolicy] = []
        for document in documents:
            policy = read_policy(document, self.notes)
            if isinstance(policy, list):
                self.repo.problems += policy
            else:
                read.append(policy)
        making = Making(clusters, self.words, self.options, self.notes)
        made: list[Made] = []
        for policy, name in self._named(read):
            spec = making.spec(policy)
            for select, alternative in zip(making.selects(policy), policy.alternatives, strict=True):
                unique = self.repo.policies.unique(name)
                one = Made(unique, {"select": select, **spec}, policy, alternative)
                if self.repo.kept(one.file(), policy.document) is None:
                    continue
                made.append(one)
                self.notes.about(
                    Outcome.CONVERTED, policy.root, None, f"SchedulePolicy {policy.name}: policies/{unique}.yaml"
                )
        return made

    def _named(self, read: Sequence[SchedulePolicy]) -> Iterator[tuple[SchedulePolicy, str]]:
        """Policies with the names they get: their own, or of several with one name those of their files. The same twice is one."""
        by_name: dict[str, dict[str, SchedulePolicy]] = defaultdict(dict)
        for policy in read:
            same = by_name[policy.name]
            first = same.setdefault(json.dumps(policy.spec, sort_keys=True), policy)
            if first is not policy:
                what = f"SchedulePolicy {policy.name} is at {first.document.locate()} too, word for word"
                self.notes.about(Outcome.LEFT_OUT, policy.root, None, what)
        several = {
            name: few([str(policy.document.locate()) for policy in same.values()])
            for name, same in by_name.items()
            if len(same) > 1
        }
        kept = {id(policy) for same in by_name.values() for policy in same.values()}
        for policy in read:
            if id(policy) not in kept:
                continue
            if policy.name not in several:
                yield policy, valid_name(policy.name, "policy")
                continue
            count, places = len(by_name[policy.name]), several[policy.name]
            what = f"{policy.name} is the name of {count} policies, at {places}. In Nova the last that was applied counts; here all do, and of equals the last"
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
                place = where.locate(change.reader.path)
                comment = f"Imported from the overrides of SchedulePolicy {policy.name} at {place}."
                if self.repo.own("overrides", "OverridePolicy", name, spec, where, comment) is None:
                    continue
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
        found = things_in(documents, self.namespaces, self.notes, self.repo.problems)
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
            if made is not None and self.repo.kept(made.file(), thing.document) is not None:
                pins.append(made)
        return pins

    def _pinned(self, thing: Thing, pin: Pin) -> Made:
        select: dict[str, Any] = {"kinds": [thing.kind], "names": [thing.name]}
        if thing.namespace:
            select = {"namespaces": [thing.namespace], **select}
        spec = {"select": select, "clusters": {"names": list(pin.clusters)}, "placement": pin.placement}
        name = self.repo.policies.unique(valid_name(f"{thing.namespace}-{thing.kind}-{thing.name}", "pinned"))
        return Made(name, spec, None, pinned=thing)

    def _folders(self, made: Sequence[Made], shelved: Shelved) -> None:
        """A policy of its own for each folder of the platform that the imported one would not govern whole."""
        by_name = {one.name: one for one in made}
        for folder, (rule, things) in shelved.folders.items():
            one = by_name.get(rule.name) if rule is not None else None
            first = things[0].document
            if one is None:
                why = "namespaces go to every cluster, so that they are there before anything in them"
                self.repo.folder(folder, NAMESPACES, {"placement": {"copies": "All"}}, first, why)
                continue
            limited = one.origin is None or bool(one.origin.namespaces)
            if limited and any(not thing.namespace for thing in things):
                spec = {key: value for key, value in one.spec.items() if key in ("clusters", "placement")}
                why = "what has no namespace is selected whatever the namespaceSelector says, so one policy takes the whole folder"
                self.repo.folder(folder, f"{one.name[:54]}-platform", spec, first, why)


def _tell(document: Document, kind: str, notes: Notes) -> None:
    """A line for an object of Nova's that nothing is made of."""
    if kind in _RUNTIME:
        notes.add(Outcome.LEFT_OUT, document, (), _RUNTIME[kind])
    else:
        what = f"{kind} of {group_and_kind(document)[0]} has no equal here"
        notes.add(Outcome.NO_EQUAL, document, ("kind",), what, "see docs/from-nova.md for what does its work")
