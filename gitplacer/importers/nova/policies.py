"""
SchedulePolicies: what each selects, which clusters it may use, and how they are chosen.

Reading says what is written and what is wrong with it; making says it in our words. A SchedulePolicy whose alternatives cannot be one
selector becomes several policies. Rules: docs/from-nova.md, which has the table of fields.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.documents import Document
from gitplacer.importers.nova.options import NovaOptions
from gitplacer.importers.nova.spreading import Spread, placement, read_spread
from gitplacer.importers.nova.vocabulary import Vocabulary, is_name, names_in
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import ForeignMetadata, read_metadata, read_selector, selector_of, written
from gitplacer.kinds.selectors import LabelSelector
from gitplacer.model.labels import NAME_KEY, Labels, Requirement
from gitplacer.problems import Problem

_MOST_ORDERED = 100
"""Entries of an order that several conditions make together."""


class SchedulePolicy(Struct, frozen=True):
    """A SchedulePolicy as it is written. `namespaces` has no requirements where it takes every namespace."""

    root: Reader
    metadata: ForeignMetadata
    namespaces: tuple[Requirement, ...]
    alternatives: tuple[tuple[Requirement, ...], ...]
    clusters: LabelSelector | None
    ordered: Reader | None
    order: tuple[Requirement, ...]
    group_label: str
    spread: Spread | None

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def document(self) -> Document:
        return self.root.document

    @property
    def spec(self) -> Any:
        return self.document.value.get("spec")


def read_policy(document: Document, notes: Notes) -> SchedulePolicy | list[Problem]:
    """The policy in a document, or what is wrong with it. A field that is not known is a line, and nothing else."""
    root = Reader.of(document)
    metadata = read_metadata(root, notes, kept=True)
    spec = root.mapping("spec")
    for key in ("namespaceSelector", "resourceSelectors"):
        if not isinstance(spec.cursor.value.get(key), dict):
            spec.report("MissingField", f'"{key}" is missing', "Nova refuses a SchedulePolicy without it")
    namespaces = read_selector(spec.mapping("namespaceSelector"))
    selectors = spec.mapping("resourceSelectors")
    alternatives = [read_selector(item).requirements() for item in selectors.items("labelSelectors")]
    if not alternatives:
        selectors.report(
            "MissingField", '"labelSelectors" has no entry', "write '- {matchExpressions: []}' for every object"
        )
    clusters = read_selector(spec.mapping("clusterSelector")) if spec.has("clusterSelector") else None
    ordered = _ordered(spec, notes)
    group = spec.mapping("groupBy").text("labelKey") if spec.has("groupBy") else ""
    spread = read_spread(spec.mapping("spreadConstraints"), notes) if spec.has("spreadConstraints") else None
    if root.has("status"):
        root.value("status")
        notes.about(Outcome.LEFT_OUT, root, "status", "what Nova found out")
    order = read_selector(ordered).requirements() if ordered is not None else ()
    notes.unread(root)
    if root.problems:
        return root.problems
    every = Requirement(NAME_KEY, "Exists")
    return SchedulePolicy(
        root,
        metadata,
        tuple(one for one in namespaces.requirements() if one != every),
        merged(alternatives),
        clusters,
        ordered,
        order,
        group,
        spread,
    )


def _ordered(spec: Reader, notes: Notes) -> Reader | None:
    """The orderedClusterSelector, in both spellings of Nova's documentation."""
    for key in ("orderedClusterSelector", "OrderedClusterSelector"):
        if spec.has(key):
            if key[0] == "O":
                notes.about(Outcome.CHOSEN, spec, key, "it is taken for orderedClusterSelector")
            return spec.mapping(key)
    return None


def merged(alternatives: Sequence[tuple[Requirement, ...]]) -> tuple[tuple[Requirement, ...], ...]:
    """
    The same alternatives, as few as possible: one that takes everything stands for all, and those that differ in the values of one
    label are one with all the values.
    """
    distinct = list(dict.fromkeys(tuple(sorted(set(one))) for one in alternatives))
    if () in distinct or len(distinct) < 2:
        return tuple(distinct[:1] if () not in distinct else [()])
    common = set.intersection(*map(set, distinct))
    rest = [[one for one in each if one not in common] for each in distinct]
    keys = {(one.key, one.operator) for each in rest for one in each}
    if len(keys) == 1 and all(len(each) == 1 for each in rest) and rest[0][0].operator == "In":
        values = dict.fromkeys(value for each in rest for value in each[0].values)
        return ((*sorted(common), Requirement(rest[0][0].key, "In", tuple(values))),)
    return tuple(distinct)


class Making(Struct, frozen=True):
    """What all policies of an import share: the clusters with the labels that policies see, and what Nova was told to do."""

    clusters: Mapping[str, Labels]
    words: Vocabulary
    options: NovaOptions
    notes: Notes

    def selects(self, policy: SchedulePolicy) -> list[dict[str, Any]]:
        """The `select` of each policy that it becomes: one for each alternative."""
        names = [one for one in policy.namespaces if is_name(one)]
        where: dict[str, Any] = {}
        if len(names) == len(policy.namespaces) == 1:
            where = {"namespaces": list(names[0].values)}
        elif policy.namespaces:
            where = {"namespaceSelector": written(selector_of(policy.namespaces))}
        if len(policy.alternatives) > 1:
            self.notes.about(
                Outcome.CHANGED,
                policy.root.mapping("spec"),
                "resourceSelectors",
                f"its {len(policy.alternatives)} alternatives are no single selector, so they are {len(policy.alternatives)} policies; "
                "objects that match different ones are not grouped with each other",
            )
        return [
            {**where, **({"labelSelector": written(selector_of(each))} if each else {})} for each in policy.alternatives
        ]

    def spec(self, policy: SchedulePolicy) -> dict[str, Any]:
        """All of our policy's spec but `select` and `precedence`."""
        made: dict[str, Any] = {}
        if policy.group_label:
            made["groupBy"] = {"label": policy.group_label}
        self._about_groups(policy)
        clusters = self._clusters(policy)
        if clusters:
            made["clusters"] = clusters
        chosen = self._placement(policy)
        if chosen:
            made["placement"] = chosen
        gang = chosen.get("admission") != "Immediate"
        if gang and not self.options.moves_for_capacity:
            made["relocation"] = {"when": {"PendingPods": "Never"}}
        return made

    def _about_groups(self, policy: SchedulePolicy) -> None:
        spec = policy.root.mapping("spec")
        exact = [one for one in policy.namespaces if is_name(one)]
        if not policy.group_label:
            what = "Nova places each object by itself; here what an app refers to goes with it"
            self.notes.about(Outcome.CHANGED, spec, "groupBy", f"no groupBy: {what}")
        elif not any(len(one.values) == 1 for one in exact):
            what = f"{policy.group_label} makes a group in each namespace; in Nova all namespaces share one of a value"
            self.notes.about(Outcome.CHANGED, spec, "groupBy", what)

    def _clusters(self, policy: SchedulePolicy) -> dict[str, Any]:
        requirements = [
            *(policy.clusters.requirements() if policy.clusters else ()),
            *policy.order,
        ]
        spec = policy.root.mapping("spec")
        if policy.clusters is not None and policy.ordered is not None:
            what = "clusterSelector and orderedClusterSelector must both hold"
            self.notes.about(Outcome.CHOSEN, spec, "clusterSelector", what)
        names = names_in(requirements)
        rest = tuple(self.words.requirement(one) for one in requirements if not is_name(one))
        for name in names or () if self.clusters else ():
            if name not in self.clusters:
                todo = "write one, or let it be: what goes only there waits for it"
                self.notes.about(Outcome.NO_EQUAL, spec, None, f"there is no Cluster {name}", todo)
        return {**({"names": list(names)} if names is not None else {}), **written(selector_of(rest))}

    def _placement(self, policy: SchedulePolicy) -> dict[str, Any]:
        if policy.spread is not None:
            return self._spread(policy, policy.spread)
        spec = policy.root.mapping("spec")
        span = {"span": "IfNeeded"} if self.options.spans else {}
        if policy.ordered is not None:
            order = self._order(policy, policy.ordered)
            self.notes.about(
                Outcome.CONVERTED, policy.ordered, None, f"{len(order)} in order, best first: 'type: Ordered'"
            )
            return {"type": "Ordered", "order": order, **span} if order else span
        if policy.clusters is None:
            self.notes.about(
                Outcome.CONVERTED, spec, None, "available capacity on any cluster, whole groups: the default"
            )
            return span
        if len(names_in(policy.clusters.requirements()) or ()) == 1:
            what = "one cluster by name, so its objects are sent whatever the room: 'admission: Immediate'"
            self.notes.about(Outcome.CONVERTED, spec, "clusterSelector", what)
            return {"admission": "Immediate"}
        self.notes.about(
            Outcome.CHOSEN,
            spec,
            "clusterSelector",
            "clusters by label: a group waits until one of them has room for all of it. Nova may send it at once where only one matches",
            "write 'admission: Immediate' under 'placement' if pods are to wait in their cluster",
        )
        return span

    def _spread(self, policy: SchedulePolicy, spread: Spread) -> dict[str, Any]:
        if policy.ordered is not None:
            what = "what is spread goes everywhere, so the order of clusters says only which are meant"
            self.notes.about(Outcome.CHANGED, policy.ordered, None, what)
        return placement(spread, self.clusters, self.words, self.notes)

    def _order(self, policy: SchedulePolicy, ordered: Reader) -> list[dict[str, Any]]:
        """Each choice of one value for each condition of `In`, the first condition being the most important."""
        lists = [one for one in policy.order if one.operator == "In"]
        if len(lists) > 1:
            what = "several conditions: the first is the most important, within each value of it the second, and so on"
            self.notes.about(Outcome.CHOSEN, ordered, None, what)
        if len(lists) < len(policy.order):
            self.notes.about(
                Outcome.CHOSEN, ordered, None, "conditions other than In select clusters and order nothing"
            )
        if not lists:
            what = "nothing in it is a list of values, so there is no order"
            self.notes.about(Outcome.NO_EQUAL, ordered, None, what, "write 'type: Ordered' and 'order'")
            return []
        choices = list(
            itertools.islice(itertools.product(*([(one, v) for v in one.values] for one in lists)), _MOST_ORDERED + 1)
        )
        if len(choices) > _MOST_ORDERED:
            what = f"its conditions make more than {_MOST_ORDERED} choices; only the first condition gives the order"
            self.notes.about(Outcome.CHANGED, ordered, None, what, "write 'order' by hand")
            choices = [((lists[0], value),) for value in lists[0].values]
        return [self._entry(tuple(Requirement(one.key, "In", (value,)) for one, value in each)) for each in choices]

    def _entry(self, requirements: tuple[Requirement, ...]) -> dict[str, Any]:
        names = [one.values[0] for one in requirements if one.key == NAME_KEY]
        rest = tuple(self.words.requirement(one) for one in requirements if one.key != NAME_KEY)
        return {**({"names": names} if names else {}), **written(selector_of(rest))}
