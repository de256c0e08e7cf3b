"""
Whether a gang fits, as `fit` prints it: lines for people, JSON for programs.

`FIT_FORMATS` is the table. The JSON is what DESIGN promises for cases, a line each: `id`, `answer`, `placement` (node by pod, in
an order that the scheduler's filters accept) and `reason`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from gitplacer.formats.options import Options
from gitplacer.formats.planjson import problem_value, to_json
from gitplacer.plaintext import aligned, counted, printable
from gitplacer.problems import Problem
from gitplacer.scheduler import Answer, Fit
from gitplacer.scheduler.shortage import said_of

_COLOURS = {Fit.FITS: "green", Fit.TIGHT: "yellow", Fit.NO: "red"}
_LONGEST = 2000


class FitView(Struct, frozen=True, kw_only=True):
    """
    An answer with the role of each pod by its name; what was not looked at, and what is to be noted. `problems` are those of the manifests, which
    people are told apart from it.
    """

    answer: Answer
    roles: Mapping[str, str]
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()
    problems: Sequence[Problem] = ()


def case_json(identity: Any, answer: Answer) -> str:
    """One line for one case."""
    return to_json({"id": identity, **_value(answer)})


def as_json(view: FitView, options: Options) -> str:
    """One document, without an id. What was not looked at, notes, and problems, each as in a plan, are there where there are any."""
    problems = [problem_value(problem) for problem in view.problems]
    said = {"notLookedAt": list(view.left_out), "notes": list(view.notes), "problems": problems}
    return to_json({**_value(view.answer), **{key: items for key, items in said.items() if items}}, indent=2)


def as_text(view: FitView, options: Options) -> str:
    """The answer and why; where it fits, what goes on each node; where not, why nodes refuse the pods that are short."""
    return "".join(f"{line}\n" for line in _lines(view, options))


FIT_FORMATS: Mapping[str, Callable[[FitView, Options], str]] = MappingProxyType({"text": as_text, "json": as_json})
"""Of one answer."""


def _value(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.fit.value,
        "placement": dict(answer.placement),
        "reason": {"code": answer.why.code, "message": answer.why.message},
    }


def _lines(view: FitView, options: Options) -> Iterator[str]:
    answer, shortage = view.answer, view.answer.why.shortage
    title = options.style(answer.fit.value, _COLOURS[answer.fit])
    code = "" if answer.why.code == answer.fit.value else f" ({answer.why.code})"
    if shortage is not None and shortage.tally:
        yield f"{title}{code}  {printable(shortage.summary, _LONGEST)}"
        rows = [
            (f"{n} of {counted(shortage.nodes, 'node')}", printable(said_of(c, s), _LONGEST))
            for c, s, n in shortage.tally
        ]
        yield from aligned(rows)
    else:
        yield f"{title}{code}  {printable(answer.why.message, _LONGEST)}"
    if answer.placement:
        yield from aligned([("node", "pods"), *_by_node(view)])
    for what in view.left_out:
        yield f"not looked at: {printable(what)}"
    for what in view.notes:
        yield f"note: {printable(what)}"


def _by_node(view: FitView) -> Iterator[tuple[str, str]]:
    """What goes on each node, by name."""
    nodes: dict[str, Counter[str]] = {}
    for pod, node in view.answer.placement.items():
        nodes.setdefault(node, Counter())[view.roles.get(pod, pod)] += 1
    for node in sorted(nodes):
        yield printable(node), ", ".join(f"{count} {printable(role)}" for role, count in nodes[node].items())
