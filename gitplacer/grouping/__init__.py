"""
Objects to groups: what is placed together, moves together and is removed together.

`grouping` tells in which order objects find their groups, and puts them together. `group`: what a group is. `workloads`, `platform`: the groups of either sort of
objects. `governed`: the policy of a group. `names`: names that groups can have, and groups that would have the same. `leftover`: objects of no group.
`masks`: sets of groups as bits, for fleets of thousands.
"""

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
