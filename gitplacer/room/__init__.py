"""
What a fleet has left, and what it lacks: stranded devices, the largest gang that still fits, the machines to buy.

Free room is a sum, and sums deceive: a GPU on a node without a free core is free for nobody. So every number here is asked of the
planner's ledgers as they stand after a plan, for pods that somebody really runs or wants to run.
"""

from __future__ import annotations

from gitplacer.room.asking import NotAGang, Tried, as_asked, in_use, let_in, like_group, written
from gitplacer.room.catalogue import read_catalogue
from gitplacer.room.largest import largest
from gitplacer.room.shopping import shop
from gitplacer.room.stranded import stranded

__all__ = [
    "NotAGang",
    "Tried",
    "as_asked",
    "in_use",
    "largest",
    "let_in",
    "like_group",
    "read_catalogue",
    "shop",
    "stranded",
    "written",
]
