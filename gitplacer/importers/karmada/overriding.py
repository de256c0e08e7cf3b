"""
OverridePolicies and ClusterOverridePolicies, as OverridePolicies of ours.

Karmada applies those of the cluster first, then those of a namespace; of each, those that take an object by kind before those that take it by
label before those that take it by name, and of equals the name that is first in the alphabet. Ours are applied by their names, so each name
begins with a number. What depends on the object is worked out for each object that is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.documents import Document
from gitplacer.importers.clusterselectors import cluster_selector
from gitplacer.importers.karmada.affinities import Known, read_affinity
from gitplacer.importers.karmada.patches import Overrider, computed, patch, plaintext
from gitplacer.importers.karmada.selecting import BY_KIND, Selection, merged, read_selections
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import ForeignObject, read_metadata
from gitplacer.importers.shelves import Thing
from gitplacer.plaintext import few
from gitplacer.problems import Problem

_OVERRIDERS = (
    "imageOverrider",
    "commandOverrider",
    "argsOverrider",
    "labelsOverrider",
    "annotationsOverrider",
    "fieldOverrider",
    "plaintext",
)


class Changes(Struct, frozen=True):
    """What one rule changes on its clusters: a patch, and what has to be worked out for each object."""

    reader: Reader
    clusters: Mapping[str, object]
    patch: Sequence[Mapping[str, Any]]
    computed: Sequence[Overrider]


class Overriding(ForeignObject, frozen=True):
    """An override policy of Karmada's."""

    selections: Sequence[Selection]
    rules: Sequence[Changes]

    def __str__(self) -> str:
        kind = "OverridePolicy" if self.namespace else "ClusterOverridePolicy"
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


class Override(Struct, frozen=True):
    """An OverridePolicy of ours: its spec, a name that it would like, and what it is told to come from."""

    policy: Overriding
    reader: Reader
    name: str
    spec: Mapping[str, Any]


def read_overriding(document: Document, known: Known, namespace: str, notes: Notes) -> Overriding | list[Problem]:
    """The policy in a document, or what is wrong with it."""
    root = Reader.of(document)
    metadata = read_metadata(root, notes, kept=True)
    own = (root.mapping("metadata").text("namespace") or namespace) if root.text("kind") == "OverridePolicy" else ""
    spec = root.mapping("spec")
    selections = read_selections(spec, own, notes)
    if not spec.items("resourceSelectors"):
        selections = [Selection((), own)]
    rules = [_rule(item, known, notes) for item in spec.items("overrideRules")]
    if spec.has("overriders") or spec.has("targetCluster"):
        rules.append(_rule(spec, known, notes))
    if not rules:
        notes.about(Outcome.LEFT_OUT, root, None, "it has no rule, so it changes nothing")
    notes.unread(root)
    if root.problems:
        return root.problems
    return Overriding(root, metadata, own, selections, rules)


def _rule(reader: Reader, known: Known, notes: Notes) -> Changes:
    clusters = (
        cluster_selector(read_affinity(reader.mapping("targetCluster"), known, notes))
        if reader.has("targetCluster")
        else {}
    )
    overriders = reader.mapping("overriders")
    if not any(overriders.has(key) for key in _OVERRIDERS):
        notes.about(Outcome.LEFT_OUT, reader, None, "it changes nothing")
    return Changes(reader, clusters, plaintext(overriders), computed(overriders))


def in_order(policies: Sequence[Overriding]) -> list[tuple[Overriding, Selection]]:
    """Policies with each of their selections, in the order in which they are applied to an object."""
    pairs = [(policy, part) for policy in policies for part in merged(policy.selections)]
    return sorted(
        pairs, key=lambda pair: (bool(pair[0].namespace), pair[1].precision if pair[1].kinds else BY_KIND, pair[0].name)
    )


def overrides(policy: Overriding, part: Selection, taken: Sequence[Thing], notes: Notes) -> Iterator[Override]:
    """What a policy changes in the objects of one of its selections, which are `taken`, rule by rule."""
    if part.kinds and not taken:
        what = (
            f"no manifest of {few([kind for _, kind in part.kinds])} that it takes was imported, so nothing changes yet"
        )
        notes.about(Outcome.CHANGED, policy.root, None, what)
    for rule in policy.rules:
        clusters = {"clusters": dict(rule.clusters)} if rule.clusters else {}
        for thing in taken if rule.computed else ():
            made, _ = patch(list(rule.computed), thing.kind, thing.document.value, notes)
            if made:
                select = Selection(
                    ((str(thing.document.parsed.says[0]), thing.kind),), thing.namespace, (thing.name,)
                ).select()
                yield Override(
                    policy,
                    rule.reader,
                    f"{policy.name}-{thing.name}",
                    {"select": select, **clusters, "overrides": made},
                )
                what = f"worked out for {thing} as it is now"
                notes.about(
                    Outcome.CHANGED, rule.reader, "overriders", what, "change the OverridePolicy with the manifest"
                )
        if rule.computed and not taken:
            what = "it depends on objects of which none is among the files"
            notes.about(
                Outcome.NO_EQUAL, rule.reader, "overriders", what, "import them too, or write an OverridePolicy by hand"
            )
        if rule.patch:
            yield Override(
                policy,
                rule.reader,
                policy.name,
                {"select": part.select(), **clusters, "overrides": [dict(one) for one in rule.patch]},
            )
