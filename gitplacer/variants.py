"""
What differs on a cluster: the edits that overrides make there, and the pods that come of them.

An override may raise a replica count or a request on one cluster, so what is looked for there is the gang after
overrides, not the one in the source; and an override that makes an object the API server would refuse is a problem of
the manifest, found before anything is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gitplacer import workloads
from gitplacer.documents import Edit, EditError, Path, applied
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.selectors import Override
from gitplacer.model.workload import Gang
from gitplacer.policies.selection import selects
from gitplacer.problems import Problem, Severity
from gitplacer.source.manifests import SourceObject
from gitplacer.source.reading import Source
from gitplacer.workloads.facts import ObjectFacts

Edits = tuple[Edit, ...]


class Overrides:
    """The OverridePolicies of a source and the overrides of its clusters. Answers are remembered."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._policies = source.own.overrides
        self._edits: dict[tuple[int, str], Edits] = {}
        self._facts: dict[tuple[int, str], tuple[ObjectFacts, tuple[Problem, ...]]] = {}

    def edits(self, member: SourceObject, cluster: Cluster) -> Edits:
        """
        The edits of an object on a cluster: of the policies that select both, by name, then the cluster's own where
        the object has the field.
        """
        if not self.any_on(cluster):
            return ()
        key = (id(member), cluster.name)
        if key not in self._edits:
            labels = cluster.labels()
            edits = [
                _edit(override)
                for policy in self._policies
                if policy.spec.clusters.unmet(labels) is None
                and selects(policy.spec.select, member, self._source.namespace_labels)
                for override in policy.spec.overrides
            ]
            value = member.document.value
            edits += [edit for o in cluster.spec.overrides if _has_field(value, edit := _edit(o))]
            self._edits[key] = tuple(edits)
        return self._edits[key]

    def facts(self, member: SourceObject, cluster: Cluster) -> tuple[ObjectFacts, tuple[Problem, ...]]:
        """
        What placement wants to know of an object as it will be on a cluster, and what is wrong with it there. An edit
        that cannot be made is left to whoever makes it.
        """
        edits = self.edits(member, cluster)
        if not edits:
            return member.facts, ()
        key = (id(member), cluster.name)
        if key not in self._facts:
            self._facts[key] = _edited_facts(member, edits)
        return self._facts[key]

    def any_on(self, cluster: Cluster) -> bool:
        """Whether there is anything that could differ on a cluster."""
        return bool(self._policies or cluster.spec.overrides)

    def gang(self, group: Group, cluster: Cluster) -> Gang:
        """The pods of a group on a cluster."""
        return tuple(pods for member in group.members for pods in self.facts(member, cluster)[0].gang)


def _edited_facts(member: SourceObject, edits: Edits) -> tuple[ObjectFacts, tuple[Problem, ...]]:
    value: Any = member.document.value
    try:
        for edit in edits:
            value = applied(value, edit)
    except EditError:
        return member.facts, ()
    document = replace(member.document, parsed=replace(member.document.parsed, value=value))
    facts, problems = workloads.read(document)
    return facts, tuple(problem for problem in problems if problem.severity is Severity.ERROR)


def _edit(override: Override) -> Edit:
    """An override as an edit. List indexes stay text: only the document tells a list from a mapping."""
    path: Path = tuple(part.replace("~1", "/").replace("~0", "~") for part in override.path.split("/")[1:])
    return Edit(path, override.op, override.value)


def _has_field(value: Any, edit: Edit) -> bool:
    """Whether an object has the field a cluster's override is about; for `add`, the mapping or list around it."""
    for part in edit.path[:-1] if edit.op == "add" else edit.path:
        if isinstance(value, list) and str(part).isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return False
    return isinstance(value, dict | list) if edit.op == "add" else True
