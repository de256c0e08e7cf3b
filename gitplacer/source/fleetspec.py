"""
Which Fleet counts, and what it says, before anything else of a source is known.

What the workload paths are stands in the Fleet, and a Fleet in the workload paths does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from gitplacer.documents import Document
from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import Fleet, FleetSpec
from gitplacer.kinds.parse import parse_own
from gitplacer.problems import Location, Problem, Rejected, Severity
from gitplacer.source.files import MAX_FILE, MAX_SNAPSHOT, READ_ENDINGS, Memo, is_read, read_documents
from gitplacer.source.manifests import WORKLOADS, unit_of
from gitplacer.source.ownkinds import looks_own, torn_kinds
from gitplacer.tree import Tree

_NAMED = re.compile(r"(?:^|/)fleet(?:\.[^/]*)?$")
"""A path to a file called fleet, whatever its endings."""


def fleet_spec(tree: Tree, memo: Memo) -> FleetSpec:
    """The spec of a source's Fleet, as `readable_fleet` finds it; the defaults if there is none to read."""
    return readable_fleet(tree, memo) or FleetSpec()


def readable_fleet(tree: Tree, memo: Memo) -> FleetSpec | None:
    """The spec of a source's Fleet, looked for in files called fleet first; None if there is none to read."""
    large = [path for path in tree if "/" not in path and is_read(path) and tree.entries[path].size > MAX_FILE]
    for everywhere in (False, True):
        # Most files have another name, and a large source has ten thousand.
        named = (path for path in tree if everywhere or ("fleet" in path and _NAMED.search(path)))
        some = [path for path in named if is_read(path) and tree.entries[path].size <= MAX_FILE]
        reading = read_documents(tree, some, memo)
        ours = [item.document for items in reading.documents.values() for item in items if looks_own(item.document)]
        if everywhere or any(_is_fleet(document) and _is_on_top(document) for document in ours):
            try:
                return first_spec(ours, may_hold_a_fleet(tree, [*reading.broken, *large]))
            except Rejected:
                return None
    return None


def first_spec(ours: Iterable[Document], torn: Collection[str]) -> FleetSpec | None:
    """
    The spec of the Fleet that says what the workload paths are; None if it cannot be read. Other Fleets are looked at later, if at all:
    one inside the workload paths does not count, so that nobody who may only write workloads can stop the fleet by adding one.

    What lies at the top goes first, also where it cannot be read: it may be among `torn`. Of Fleets in folders one goes that lies in the
    workload paths of another, but not if it says the same of that one. Then each calls the other a workload, nobody knows which is
    right, and the run stops: raises Rejected.
    """
    fleets = sorted(filter(_is_fleet, ours), key=lambda d: (d.file.count("/"), d.file, d.index))
    if not fleets:
        return None
    if _is_on_top(fleets[0]) or torn:
        return _spec_of(fleets[0]) if _is_on_top(fleets[0]) else None
    specs = [_spec_of(fleet) or FleetSpec() for fleet in fleets]
    held = {
        (one, other)
        for one, fleet in enumerate(fleets)
        for other, spec in enumerate(specs)
        if one != other and unit_of(spec, fleet.file) == WORKLOADS
    }
    for one, other in sorted(held):
        if (other, one) in held:
            message = f"{fleets[one].file} and {fleets[other].file} hold a Fleet, and each is in the workload paths of the other"
            raise Rejected(
                [fleets[one].problem("NotOneFleet", message, "put the Fleet that counts at the top of the source")]
            )
    first = next((n for n in range(len(fleets)) if not any(one == n for one, _ in held)), None)
    return _spec_of(fleets[first]) if first is not None else None


def _is_fleet(document: Document) -> bool:
    return bool(document.parsed.says[1] == "Fleet")


def _is_on_top(document: Document) -> bool:
    return "/" not in document.file


def _spec_of(document: Document) -> FleetSpec | None:
    parsed: Model | list[Problem] = parse_own(document)
    return parsed.spec if isinstance(parsed, Fleet) else None


def may_hold_a_fleet(tree: Tree, unread: Iterable[str]) -> set[str]:
    """Files at the top that could not be read, and that seem to hold a Fleet or do not say what they hold."""
    texts = [p for p in unread if "/" not in p and tree.entries[p].is_text and tree.entries[p].size <= MAX_SNAPSHOT]
    return {path for path in texts if torn_kinds(tree.read(path)) & {"Fleet", ""}}


def named_for_the_fleet(tree: Tree) -> str | None:
    """The file at the top that holds the Fleet by its name, whatever it holds; None where there is none."""
    return next((path for path in map("fleet".__add__, READ_ENDINGS) if path in tree), None)


def about_place(place: Location) -> Iterator[Problem]:
    if "/" in place.file:
        message = f"the Fleet is in a folder, {place.file}: another one among the workloads could be taken for it"
        yield Problem(place, "FleetNotOnTop", message, "put it at the top of the source", severity=Severity.WARNING)
