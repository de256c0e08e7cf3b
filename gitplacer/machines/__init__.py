"""
What the autoscaler of each cluster can add: one list of machine types, from what people write and what machines report.

Three questions are kept apart, a module each: which fields win where both sides speak of a type (`merging`), through
which node pools of Karpenter a type can come and what its nodes are then (`pools`), and how many more there may be
(`catalogue`). Which of them a gang gets is the planner's question.
"""

from gitplacer.machines.catalogue import Catalogue
from gitplacer.machines.types import Limit, LimitKind, MachineType

__all__ = ["Catalogue", "Limit", "LimitKind", "MachineType"]
