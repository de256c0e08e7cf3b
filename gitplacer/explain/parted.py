"""Claims that apps on different clusters share, as problems of the claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.placement.parted import Parted
from gitplacer.plaintext import few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.source.allowances import not_allowed


def parted_claims(some: Iterable[Parted]) -> Iterator[Problem]:
    """A warning for each claim; none where it allows it."""
    for each in some:
        first, second = (f"{group} on {few(clusters)}" for group, clusters in (each.one, each.other))
        what = f"is shared by {first} and {second}, each cluster makes a volume of its own, and neither sees what the other writes"
        problem = each.claim.document.problem(
            "VolumesApart",
            printable(f"{each.claim.identity} {what}", LONGEST_SENTENCE),
            "join the apps with groupBy in their policy, let their policies bring them to one cluster, or name a volume that all clusters reach (volumeName)",
            path=("metadata", "name"),
            severity=Severity.WARNING,
        )
        yield from not_allowed([problem], each.claim.annotations)
