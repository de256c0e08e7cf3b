"""
The plan for a pull-request comment.

Whoever writes manifests must not be able to write our comment: what comes from them is escaped so that it is neither
markup nor HTML, and mentions, references and links in it do nothing. A comment has a largest size; what is too much
is left out by whole rows, with the number of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gitplacer.explain import (
    LONGEST_SENTENCE,
    PlanView,
    changes_nothing,
    cluster_change,
    cluster_count,
    computed_from,
    file_count,
    is_worth_telling,
    sentence,
    shortlist,
    summary,
    verdict_text,
    why,
)
from gitplacer.formats.options import Options
from gitplacer.formats.text import SECTIONS, shifted
from gitplacer.model.decision import Action, Decision, Reason, Verdict
from gitplacer.plaintext import LONGEST_PATH, printable
from gitplacer.problems import Problem

MARKER = "<!-- gitplacer:plan -->"
"""By which our comment is found again, to be edited instead of followed by another."""
LIMIT = 65_000
"""Bytes. GitHub takes 65,536 characters, and others more."""

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&${}^]")
_ZERO_WIDTH = "\u200b"
# A mention, issue, merge request, label or milestone of some host, after which the host would look for a name.
_REFERENCE = re.compile(r"[@#!%]|:(?=//)|(?i:www)(?=\.)|(?i:gh)(?=-)")


def escaped(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """Text as characters and nothing else, in Markdown, in a table cell and in HTML; at most `longest` of them."""
    as_text = _MARKUP.sub(lambda match: f"&#{ord(match[0])};", printable(text, longest))
    # Only what stands for itself: the # in an entity is ours.
    return re.sub(
        r"&#\d+;|" + _REFERENCE.pattern,
        lambda match: match[0] if match[0].startswith("&#") else match[0] + _ZERO_WIDTH,
        as_text,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows between a head and a foot; without rows it is not there."""

    head: str
    rows: Sequence[str]
    foot: str = "\n"

    def within(self, limit: int) -> str:
        """The block in at most `limit` bytes, if that is enough for its head: as many rows as fit, and a notice."""
        if not self.rows:
            return ""
        whole = self.head + "".join(self.rows) + self.foot
        if _size(whole) <= limit:
            return whole
        left = limit - _size(self.head + self.foot) - _NOTICE
        kept: list[str] = []
        for row in self.rows:
            left -= _size(row)
            if left < 0:
                break
            kept.append(row)
        missing = len(self.rows) - len(kept)
        head = self.head if kept else ""
        notice = f"\n**{missing} more left out here** to keep this comment short; `gitplacer plan` shows all.\n"
        return head + "".join(kept) + notice + self.foot


_NOTICE = 160
"""Bytes that a notice takes at most."""


def _size(text: str) -> int:
    return len(text.encode())


def plan_markdown(view: PlanView, options: Options) -> str:
    """The comment, below `LIMIT` bytes, beginning with `MARKER`."""
    head = f"{MARKER}\n### gitplacer: {_verdict(view)}\n\n"
    lines = [line for line in (file_count(view), *computed_from(view)) if line]
    foot = "".join(f"{escaped(line)}{'<br>' if line is not lines[-1] else ''}\n" for line in lines)
    decisions = [d for action, *_ in SECTIONS for d in view.plan.decisions if d.action is action]
    blocks = (
        _Block("**Problems**\n\n", [_problem_item(p) for p in view.snapshot.problems]),
        _Block(
            "| Group | From → to | Why | Policy |\n|---|---|---|---|\n",
            [_row(d, view) for d in decisions if is_worth_telling(d)],
        ),
        _Block(
            "| Cluster | |\n|---|---|\n",
            [f"| {escaped(o.cluster)} | {escaped(said)} |\n" for o in view.sleepers if (said := cluster_change(o))],
        ),
        _Block("", [_refusals(d, view) for d in decisions if d.candidates and _found_nothing(d)]),
    )
    sizes = [sum(_size(row) for row in b.rows) + _size(b.head + b.foot) if b.rows else 0 for b in blocks]
    shares = _shares(LIMIT - _size(head + foot), sizes)
    return head + "".join(b.within(share) for b, share in zip(blocks, shares, strict=True)) + foot


def _shares(total: int, sizes: Sequence[int]) -> list[int]:
    """Room for each block: the small ones get what they need, the others the same part of the rest."""
    shares = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    for rank, index in enumerate(order):
        shares[index] = min(sizes[index], total // (len(order) - rank))
        total -= shares[index]
    return shares


def _verdict(view: PlanView) -> str:
    if changes_nothing(view):
        return f"no placement changes ({summary(view.plan, zeros=False)})"
    return summary(view.plan, zeros=False)


def _problem_item(problem: Problem) -> str:
    hint = f" (hint: {escaped(problem.hint)})" if problem.hint else ""
    where = escaped(str(problem.location), LONGEST_PATH)
    return f"- {problem.severity}: {where}: {escaped(problem.message)}{hint}\n"


def _row(decision: Decision, view: PlanView) -> str:
    symbol = next(symbol for action, symbol, _ in SECTIONS if action is decision.action)
    cells = (
        f"{symbol} {escaped(decision.group, 253)}",
        escaped(shifted(decision)) or "–",
        escaped(sentence(decision, view) if decision.phase is not None else why(decision, view)),
        escaped(decision.policy, 253) or "–",
    )
    return f"| {' | '.join(cells)} |\n"


def _found_nothing(decision: Decision) -> bool:
    return decision.action is Action.WAIT or decision.finding.code is Reason.NOWHERE_TO_GO


def _refusals(decision: Decision, view: PlanView) -> str:
    """Why every cluster refused a group, folded. The blank lines make what is between them Markdown again."""
    refused = shortlist([c for c in decision.candidates if c.verdict is not Verdict.CHOSEN])
    rows = [f"| {c.cluster} | {c.finding.code} | {escaped(verdict_text(c, decision, view))} |\n" for c in refused]
    head = f"<details><summary>{escaped(decision.group, 253)}: {cluster_count(decision)}</summary>\n\n"
    return f"{head}| Cluster | Reason | Why |\n|---|---|---|\n{''.join(rows)}\n</details>\n"
