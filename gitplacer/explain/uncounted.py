"""What quotas bound and is not counted, as problems of the objects that bring it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.placement.uncounted import Uncounted
from gitplacer.plaintext import few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.source.allowances import not_allowed
from gitplacer.source.manifests import SourceObject

_HINT = "see that the quota has some left; what it refuses is tried again, and may never come"


def not_looked_at(some: Iterable[Uncounted]) -> Iterator[Problem]:
    """A warning for each object and quota, which names all clusters; none where the object allows it."""
    found: dict[tuple[int, str, tuple[str, ...]], list[str]] = defaultdict(list)
    members: dict[int, SourceObject] = {}
    for one in some:
        members[id(one.member)] = one.member
        found[id(one.member), one.quota, one.names].append(one.cluster)
    for (key, quota, names), clusters in found.items():
        member = members[key]
        where = f"of namespace {member.identity.namespace} on {few(clusters)}"
        message = f"ResourceQuota {quota} {where} bounds {few(names)}, and nobody knows how much of that {member.identity} brings"
        problem = member.document.problem(
            "QuotaNotCounted", printable(message, LONGEST_SENTENCE), _HINT, path=("metadata", "name"), severity=Severity.WARNING
        )  # fmt: skip
        yield from not_allowed([problem], member.annotations)
