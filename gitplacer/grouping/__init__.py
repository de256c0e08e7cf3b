"""Objects to groups."""

from gitplacer.grouping.group import (
    AS_DESIRED,
    CLUSTER_ANNOTATION,
    NO_NAMESPACE,
    RELOCATION_ANNOTATION,
    Group,
    holder,
    namespace_of,
)
from gitplacer.grouping.grouping import Grouping, group_objects

__all__ = [
    "AS_DESIRED",
    "CLUSTER_ANNOTATION",
    "NO_NAMESPACE",
    "RELOCATION_ANNOTATION",
    "Group",
    "Grouping",
    "group_objects",
    "holder",
    "namespace_of",
]
