"""
Nova's labels of clusters, in our words.

Nova puts what it knows of a cluster into labels, and policies choose by them. Here the same facts are fields of a Cluster, and become
labels by other keys. A key is only translated where every cluster's value can be such a field; else the label stays as it is, in
clusters and in policies alike, so that a selector never takes other clusters than before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from gitplacer.importers.selectors import selector_of
from gitplacer.kinds.selectors import LabelSelector
from gitplacer.model.labels import NAME_KEY, Requirement

FIELDS: Mapping[str, tuple[str, str]] = {
    "nova.elotl.co/cluster.provider": ("provider", "gitplacer.dev/provider"),
    "nova.elotl.co/cluster.region": ("region", "topology.kubernetes.io/region"),
    "nova.elotl.co/cluster.zone": ("zone", "topology.kubernetes.io/zone"),
    "nova.elotl.co/cluster.version": ("kubernetesVersion", "gitplacer.dev/kubernetes-version"),
}
"""Nova's key of a label, the field of a Cluster that says the same, and the label that comes of it."""

VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")


class Vocabulary(Struct, frozen=True):
    """`kept` are keys that cannot be translated."""

    kept: frozenset[str] = frozenset()

    @staticmethod
    def of(labels: Iterable[Mapping[str, str]]) -> Vocabulary:
        """What can be translated, given the labels of all clusters."""
        return Vocabulary(
            frozenset(
                key
                for each in labels
                for key, (field, _) in FIELDS.items()
                if key in each and not _can_be(field, each[key])
            )
        )

    def key(self, key: str) -> str:
        return FIELDS[key][1] if key in FIELDS and key not in self.kept else key

    def selector(self, selector: LabelSelector) -> LabelSelector:
        """A selector of clusters with our keys."""
        return selector_of(tuple(map(self.requirement, selector.requirements())))

    def requirement(self, one: Requirement) -> Requirement:
        return Requirement(self.key(one.key), one.operator, one.values)


def _can_be(field: str, value: str) -> bool:
    return VERSION.fullmatch(value) is not None if field == "kubernetesVersion" else bool(value)


def names_in(requirements: Iterable[Requirement]) -> tuple[str, ...] | None:
    """The names that conditions hold clusters to, by the label that each has with its own; None where they hold to none."""
    found = [one for one in requirements if is_name(one)]
    return tuple(name for name in found[0].values if all(name in one.values for one in found)) if found else None


def is_name(one: Requirement) -> bool:
    """Whether a condition is a list of names."""
    return one.key == NAME_KEY and one.operator == "In"
