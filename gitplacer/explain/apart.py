"""Services that are called from clusters where they are not, as problems of the objects that call them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.placement.apart import Apart
from gitplacer.plaintext import few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.source.allowances import not_allowed

_BOTH = "let their policies bring both to the same clusters, or to clusters of one mesh"


def called_from_afar(some: Iterable[Apart]) -> Iterator[Problem]:
    """A warning for each object and Service, at the line that names it; none where the object allows it."""
    for one in some:
        member, away = one.member, one.namespace != one.member.identity.namespace
        service = f"Service {one.called.name}{f' of namespace {one.namespace}' if away else ''}"
        where = f"comes with {few(one.beside)} and is on {few(one.there)}"
        problem = member.document.problem(
            "ServiceElsewhere",
            printable(f"{member.identity} on {few(one.clusters)} calls {service}, which {where}", LONGEST_SENTENCE),
            _BOTH if away else f"join the two with groupBy in their policy, or {_BOTH}",
            path=one.called.path,
            severity=Severity.WARNING,
        )
        yield from not_allowed([problem], member.annotations)
