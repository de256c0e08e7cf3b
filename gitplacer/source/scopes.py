"""
What the source itself says of kinds that are not known by name: whether their objects have a namespace.

Whoever writes workloads may write what has one, and there are more cluster-scoped kinds than a list can hold. So a kind is taken only
if something trusted says that it has one: the table of known kinds, its CustomResourceDefinition under the platform paths, or a
WorkloadKind. A definition also says of others that they have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field

from gitplacer.documents import Document
from gitplacer.model.workload import api_group
from gitplacer.source.apigroups import is_cluster_scoped, is_known_namespaced

CRDS = ("apiextensions.k8s.io", "CustomResourceDefinition")

_Key = tuple[str, str]


def _nobody(group: str, kind: str) -> bool:
    return False


class Scopes(Struct, frozen=True):
    """`defined` is the scope that a definition gives a kind, by API group and name; `declared` tells kinds that a WorkloadKind declares."""

    defined: Mapping[_Key, str] = field(default_factory=dict)
    declared: Callable[[str, str], bool] = _nobody

    def is_cluster_scoped(self, group: str, kind: str) -> bool:
        """Whether objects of a kind are known to have no namespace."""
        return is_cluster_scoped(group, kind) or self.defined.get((group, kind)) == "Cluster"

    def is_namespaced(self, group: str, kind: str) -> bool:
        """Whether objects of a kind are known to have a namespace."""
        defined = self.defined.get((group, kind)) == "Namespaced"
        return is_known_namespaced(group, kind) or defined or self.declared(group, kind)


def defined_scopes(documents: Iterable[Document]) -> dict[_Key, str]:
    """The scopes that definitions among documents of the platform give, by API group and kind. Where two disagree it is Cluster."""
    found: dict[_Key, str] = {}
    for document in documents:
        version, kind = document.parsed.says
        if (api_group(str(version)), kind) != CRDS or not isinstance(spec := document.value.get("spec"), dict):
            continue
        names = spec.get("names")
        kind = names.get("kind") if isinstance(names, dict) else None
        key = (str(spec.get("group")), str(kind))
        found[key] = "Cluster" if found.get(key) == "Cluster" else str(spec.get("scope"))
    return found
