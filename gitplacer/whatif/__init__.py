"""
What if: the same fleet with one thing otherwise, planned by the same function.

A supposition changes inputs as a commit would, and everything after that is `hydrate`: so what is said here of a lost cluster is
what a pass would do on the day. Nothing here publishes anything.
"""

from gitplacer.whatif.editing import Unsupposable
from gitplacer.whatif.suppositions import (
    TABLE,
    AddCluster,
    AddFiles,
    CordonCluster,
    DrainCluster,
    LoseCluster,
    RaiseReplicas,
    RemoveFiles,
    SetPrice,
    Supposition,
    Together,
)

__all__ = [
    "TABLE",
    "AddCluster",
    "AddFiles",
    "CordonCluster",
    "DrainCluster",
    "LoseCluster",
    "RaiseReplicas",
    "RemoveFiles",
    "SetPrice",
    "Supposition",
    "Together",
    "Unsupposable",
]
