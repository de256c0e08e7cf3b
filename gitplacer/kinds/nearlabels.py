"""
What labels somebody may have meant: a selector that chooses nothing is more often misspelt than meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitplacer.model.labels import Requirement
from gitplacer.problems import nearest


def near_label(asked: Iterable[Requirement], labelled: Iterable[Mapping[str, str]]) -> str:
    """
    The first condition for which nothing has the key, or none of the values, with what is near; empty where each condition by itself is met by
    something, or asks for no label.
    """
    values: dict[str, set[str]] = {}
    for labels in labelled:
        for key, value in labels.items():
            values.setdefault(key, set()).add(value)
    for one in asked:
        if one.operator not in ("In", "Exists"):
            continue
        if one.key not in values:
            return f"nothing has the label {one.key}; {nearest(one.key, values) or 'there are none'}"
        if one.operator == "In" and values[one.key].isdisjoint(one.values):
            word = str(one.values[0])
            return f"nothing has {one.key}={word}; {nearest(word, values[one.key])}"
    return ""
