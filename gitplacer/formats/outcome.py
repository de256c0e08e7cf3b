"""
What became of a plan, for the comment that showed it and for a commit's status.

The comment keeps the plan; above it stands what was done, between two marks that readers do not see, so that it can be told anew. The
remembered plan is hidden in the comment as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from gitplacer.formats.markdown import escaped
from gitplacer.plaintext import counted, few, printable
from gitplacer.review.outcomes import Fate, GroupOutcome, Outcome, Promise, packed, unpacked

_BEGIN, _END = "<!-- gitplacer:done -->", "<!-- /gitplacer:done -->"
_DONE = re.compile(rf"{_BEGIN}.*?{_END}\n*", re.DOTALL)
_REMEMBERED = re.compile(r"\n*<!-- gitplacer:promised ([A-Za-z0-9_.=]+) -->")
_LISTED = 100
_LONGEST_PART = 25_000
"""Characters of the table, and of the commits: with the plan's heading, no more than any host takes."""
_SYMBOLS = {
    Fate.AS_PLANNED: "as planned",
    Fate.FOUND_ROOM: "has found room",
    Fate.WAITS: "waits",
    Fate.NOT_UPDATED: "**not updated**",
    Fate.DIFFERS: "**differs**",
}
_WAS_TO = {"Hold": "be held", "Remove": "be removed"}
_MOVED = {
    "capacity": "the capacity snapshots have changed since the plan",
    "deployment": "the deployment repo has moved on since the plan",
    "version": "another version of gitplacer carried it out",
}


def remembered(promise: Promise) -> str:
    """A promise as a line that readers do not see."""
    return f"<!-- gitplacer:promised {packed(promise)} -->"


def remembered_in(body: str) -> Promise | None:
    """The promise that a comment hides, if it does."""
    found = _REMEMBERED.search(body)
    return unpacked(found[1]) if found else None


def description(outcome: Outcome, longest: int) -> str:
    """One line for a status."""
    return printable(_line(outcome), longest)


def _line(outcome: Outcome) -> str:
    promise, fate = outcome.promise, outcome.fate
    if fate is None:
        return "not carried out yet: no pass has been published for this commit"
    if promise is None:
        return f"carried out in {counted(len(outcome.commits), 'commit')}; no plan to compare with"
    if not outcome.groups:
        return "as planned: it changes no placement"
    differing = [*_of(outcome, Fate.DIFFERS), *_of(outcome, Fate.NOT_UPDATED)]
    if differing:
        first = differing[0]
        rest = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        return f"differs: {first.group} {_where(first)}{rest}; {because(outcome)}"
    waiting = _of(outcome, Fate.WAITS)
    if waiting:
        return f"waits: {few([each.group for each in waiting], 2)}; the rest is as planned"
    return f"as planned: {counted(len(outcome.groups), 'group')}"


def because(outcome: Outcome) -> str:
    """Why a pass decided otherwise than the plan, as far as the inputs tell."""
    told = [_MOVED[name] for name in outcome.moved]
    return " and ".join(told) if told else "the source or the time is another than in the plan"


def outcome_markdown(outcome: Outcome, link: Callable[[str], str]) -> str:
    """What was done, to stand above the plan. `link` is the address of a commit, or ''."""
    lines = [_BEGIN, f"### gitplacer: {escaped(_line(outcome))}", ""]
    rows = [_row(each) for each in _worst_first(outcome)]
    if rows:
        shown = _as_many_as_fit(rows)
        lines += ["| Group | Planned | Now | |", "|---|---|---|---|", *shown]
        if len(rows) > len(shown):
            lines.append(f"\nand {counted(len(rows) - len(shown), 'more group')}")
        lines.append("")
    if outcome.commits:
        lines += [f"Deployment commit{'' if len(outcome.commits) == 1 else 's'}: {_links(outcome.commits, link)}", ""]
    if outcome.groups:
        lines += ["What follows is the plan as it was before the merge.", ""]
    return "\n".join([*lines, _END])


def with_outcome(pages: Sequence[str], told: str, longest: int) -> list[str]:
    """The pages of a comment with what was done on top, in place of what was told before."""
    rest = [_DONE.sub("", page, count=1) for page in pages]
    rest = [page for page in rest if page.strip()]
    if rest and len(told) + len(rest[0]) + 200 <= longest:
        return [f"{told}\n\n{rest[0]}", *rest[1:]]
    return [told, *rest]


def _row(each: GroupOutcome) -> str:
    planned = few(each.planned.to) or each.planned.action.lower()
    now = few(each.now) or "–"
    reason = f" ({each.reason})" if each.reason and each.fate is not Fate.AS_PLANNED else ""
    cells = (escaped(each.group, 253), escaped(planned), escaped(now + reason), _SYMBOLS[each.fate])
    return f"| {' | '.join(cells)} |"


def _where(each: GroupOutcome) -> str:
    planned = few(each.planned.to)
    if each.fate is Fate.NOT_UPDATED:
        return (
            f"is on {few(each.now)} as it was, and was to be updated" if each.now else "was to be updated, and is not"
        )
    now = f"is on {few(each.now)}" if each.now else "is on no cluster"
    action = each.planned.action
    return f"{now} instead of {planned}" if planned else f"{now}, and was to {_WAS_TO.get(action, action.lower())}"


def _links(commits: Sequence[str], link: Callable[[str], str]) -> str:
    named = [f"[`{oid[:12]}`]({link(oid)})" if link(oid) else f"`{oid[:12]}`" for oid in commits]
    shown = _as_many_as_fit(named)
    more = f" and {len(commits) - len(shown)} more" if len(commits) > len(shown) else ""
    return ", ".join(shown) + more


def _worst_first(outcome: Outcome) -> list[GroupOutcome]:
    """The groups, those first of which a reader must know: what is beyond the last row is as planned."""
    order = (Fate.DIFFERS, Fate.NOT_UPDATED, Fate.WAITS, Fate.FOUND_ROOM, Fate.AS_PLANNED)
    return [each for fate in order for each in _of(outcome, fate)]


def _as_many_as_fit(parts: Sequence[str]) -> list[str]:
    """The first of some parts of a comment, so many that it does not get too long."""
    sizes = accumulate(len(part) + len(", ") for part in parts[:_LISTED])
    return [part for part, size in zip(parts, sizes, strict=False) if size <= _LONGEST_PART]


def _of(outcome: Outcome, fate: Fate) -> list[GroupOutcome]:
    return [each for each in outcome.groups if each.fate is fate]
