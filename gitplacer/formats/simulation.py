"""
What suppositions come to, for a terminal and for programs.

Of one supposition every group that it concerns is told, services apart from jobs. Of many there is a table first, the worst on top,
and then those groups that would not survive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE, amount_text, problem_lines
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import problem_value, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.fates import LOSES, Fate, Given, GroupFate, Left, Supposed, worst_first
from gitplacer.model.resources import Resources
from gitplacer.plaintext import aligned, few, printable
from gitplacer.problems import Problem

FORMAT_VERSION = "1.0"
_SYMBOLS: Mapping[Fate, tuple[str, str]] = {
    Fate.STRANDED: ("✗", "red"),
    Fate.HELD: ("!", "magenta"),
    Fate.LESS: ("▽", "yellow"),
    Fate.MOVES: ("→", "green"),
    Fate.WAITS: ("…", "yellow"),
    Fate.REMOVED: ("-", "red"),
    Fate.CHANGED: ("~", "cyan"),
    Fate.PLACED: ("+", "green"),
}
_WORDS: Mapping[Fate, tuple[str, str]] = {
    Fate.STRANDED: ("is stranded", "are stranded"),
    Fate.HELD: ("is held", "are held"),
    Fate.LESS: ("keeps a part", "keep a part"),
    Fate.MOVES: ("moves", "move"),
    Fate.WAITS: ("is new and waits", "are new and wait"),
    Fate.REMOVED: ("is removed", "are removed"),
    Fate.CHANGED: ("changes in place", "change in place"),
    Fate.PLACED: ("finds a place", "find a place"),
}
SHOWN = 5
"""Of many suppositions, the worst so many are told in full, unless somebody wants all."""
LISTED = 100
"""The same of lines of their table."""
_TOLD_RESOURCES = ("cpu", "memory")


def one_text(found: Supposed, options: Options) -> str:
    """One supposition, every group that it concerns, and the errors that it brings."""
    lines = [f"What if: {found.title}", ""]
    if found.problems:
        lines += [options.style("Errors", "red"), *_errors(found.problems), ""]
    if not found.fates:
        lines += ["  No group is concerned.", ""]
    for heading, serves in (("Services", True), ("Jobs", False)):
        told = [fate for fate in found.fates if fate.serves is serves]
        if told:
            lines += [options.style(heading, "blue"), *_rows(told, options), ""]
    if found.left is not None:
        lines += [*_left(found.left), ""]
    return "\n".join([*lines, summary(found)]) + "\n"


def _errors(problems: Iterable[Problem]) -> Iterator[str]:
    for problem in problems:
        yield from (f"  {printable(line, LONGEST_SENTENCE)}" for line in problem_lines(problem))


def many_text(found: Sequence[Supposed], options: Options, given: Given | None = None) -> str:
    """A table of suppositions, the worst on top, and who would not survive them; `given` is what all of them are on top of."""
    ordered = worst_first(tuple(found))
    header = ("what if", "concerned", "move", "part", "held", "stranded", "of these services")
    shown = [item for item in ordered if item.fates or options.verbose]
    listed = shown if options.verbose else shown[:LISTED]
    rows = [header, *(_counts(item) for item in listed)]
    lines = []
    if given is not None:
        brings = ", which brings errors:" if given.problems else ""
        lines = [f"On top of: {given.title}{brings}", *_errors(given.problems), ""]
    lines += aligned(rows, "", widest=140)
    if len(shown) > len(listed):
        lines.append(f"and {len(shown) - len(listed):,} more that cost no more than these; --all shows them")
    quiet = len(ordered) - len(shown)
    if quiet:
        lines.append(f"and {quiet} more that concern no group")
    bad = [item for item in shown if item.count(*LOSES)]
    for item in bad if options.verbose else bad[:SHOWN]:
        losers = [fate for fate in item.fates if fate.fate in LOSES]
        lines += ["", f"{item.title}:", *_rows(losers, options)]
    for item in (each for each in ordered if each.problems):
        lines += ["", f"{item.title} brings errors:", *_errors(item.problems)]
    if len(bad) > SHOWN and not options.verbose:
        lines += ["", f"{len(bad) - SHOWN} more would cost somebody something; --all shows them"]
    return "\n".join([*lines, "", many_summary(ordered)]) + "\n"


def _counts(item: Supposed) -> tuple[str, ...]:
    numbers = (
        len(item.fates), item.count(Fate.MOVES), item.count(Fate.LESS), item.count(Fate.HELD), item.count(Fate.STRANDED),
        item.count(Fate.STRANDED, serves=True),
    )  # fmt: skip
    return (item.title, *(str(number) for number in numbers))


def _rows(told: Iterable[GroupFate], options: Options) -> Iterator[str]:
    order = list(Fate)
    fates = sorted(told, key=lambda fate: (order.index(fate.fate), fate.group))
    rows = [(f"{_SYMBOLS[f.fate][0]} {printable(f.group)}", str(f.fate), _way(f), _why(f)) for f in fates]
    for fate, line in zip(fates, aligned(rows), strict=True):
        symbol, colour = _SYMBOLS[fate.fate]
        yield line.replace(symbol, options.style(symbol, colour), 1)
        yield from aligned(fate.refused, "      ")


def _way(fate: GroupFate) -> str:
    before, after = few(fate.before) or "—", few(fate.after) or "—"
    return before if before == after else f"{before} → {after}"


def _why(fate: GroupFate) -> str:
    return f"{fate.why}; not at once: guards or a freeze hold it back" if fate.later else fate.why


def _left(left: Left) -> Iterator[str]:
    named = [name for name in left.most if name in _TOLD_RESOURCES or "/" in name]
    rows = []
    for name in named:
        cluster, most = left.most[name]
        on = f"at most {amount_text(name, most)} on one cluster, {printable(cluster)}" if most else ""
        rows.append((printable(name), amount_text(name, left.total.get(name, 0)), on))
    yield "Left free" if rows else "Left free: nothing"
    yield from aligned(rows)


def summary(found: Supposed) -> str:
    """One line that counts everything."""
    counts = [f"{number} {_WORDS[fate][number > 1]}" for fate in Fate if (number := found.count(fate))] or [
        "nobody is concerned"
    ]
    waiting = f"; {found.waiting} wait{'s' * (found.waiting == 1)} anyway" if found.waiting else ""
    number = len(found.problems)
    errors = f"; it brings {number} error{'s' * (number > 1)}" if number else ""
    return f"{found.title}: {', '.join(counts)}{waiting}{errors}"


def many_summary(found: Sequence[Supposed]) -> str:
    """One line that counts suppositions."""
    strand = sum(bool(item.count(Fate.STRANDED)) for item in found)
    services = sum(bool(item.count(Fate.STRANDED, serves=True)) for item in found)
    other = sum(not item.count(Fate.STRANDED) and bool(item.count(Fate.HELD, Fate.LESS)) for item in found)
    fine = len(found) - strand - other
    return (
        f"{len(found)} suppositions: {strand} strand somebody ({services} a service), "
        f"{other} hold somebody or leave a part, {fine} cost nobody anything"
    )


def simulation_json(found: Sequence[Supposed], inputs: Mapping[str, Any], given: Given | None = None) -> str:
    """All suppositions, in the order given, as a document of the kind Simulation; `given` is what all of them are on top of."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "formatVersion": FORMAT_VERSION,
        "inputs": dict(inputs),
        "given": given.title if given is not None else None,
        "givenProblems": [problem_value(problem) for problem in given.problems] if given is not None else [],
        "results": [_result(item) for item in found],
    }
    return to_json(document, indent=2)


def _result(item: Supposed) -> dict[str, Any]:
    return {
        "title": item.title,
        "clusters": list(item.clusters),
        "summary": {str(fate): item.count(fate) for fate in Fate},
        "services": {str(fate): item.count(fate, serves=True) for fate in Fate},
        "waiting": item.waiting,
        "problems": [problem_value(problem) for problem in item.problems],
        "groups": [_group(fate) for fate in item.fates],
        "left": None
        if item.left is None
        else {
            "total": item.left.total.rendered(),
            "mostOnOneCluster": {
                name: {"cluster": cluster, "free": Resources({name: free}).rendered().get(name, "0")}
                for name, (cluster, free) in item.left.most.items()
            },
        },
    }


def _group(fate: GroupFate) -> dict[str, Any]:
    return {
        "group": fate.group,
        "fate": str(fate.fate),
        "serves": fate.serves,
        "policy": fate.policy,
        "from": list(fate.before),
        "to": list(fate.after),
        "reason": {"code": fate.code, "message": fate.why},
        "later": fate.later,
        "refused": [{"cluster": c, "reason": {"code": code, "message": said}} for c, code, said in fate.refused],
    }
