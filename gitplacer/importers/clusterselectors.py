"""Conditions on clusters: as they stand in a policy of ours, and which clusters of an import they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitplacer.importers.selectors import selector_of, written
from gitplacer.model.labels import NAME_KEY, Labels, Requirement


def named(names: Iterable[str], operator: str = "In") -> Requirement:
    """Clusters of these names, or with NotIn all others."""
    return Requirement(NAME_KEY, operator, tuple(dict.fromkeys(names)))


def cluster_selector(requirements: Iterable[Requirement]) -> dict[str, object]:
    """Conditions as `clusters` of a policy: names, labels, expressions. Empty where there are none."""
    every = tuple(dict.fromkeys(requirements))
    lists = [one for one in every if one.key == NAME_KEY and one.operator == "In"]
    names = [name for name in lists[0].values if all(name in one.values for one in lists)] if lists else []
    rest = tuple(one for one in every if one not in lists)
    return {**({"names": names} if lists else {}), **written(selector_of(rest))}


def taken(clusters: Mapping[str, Labels], requirements: Iterable[Requirement]) -> list[str]:
    """The names of the clusters that meet every condition, sorted."""
    every = tuple(requirements)
    return sorted(name for name, labels in clusters.items() if all(one.matches(labels) for one in every))
