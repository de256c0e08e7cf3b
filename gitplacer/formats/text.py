"""
The plan for a terminal.

Problems come first, then what changes, one line for each group under the action's symbol, then what does not happen
and why every cluster refused. The last line counts everything and is the one to grep for. Where nothing changes there
is one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitplacer.explain import (
    ALL_CANDIDATES,
    LONGEST_SENTENCE,
    NEAREST_CANDIDATES,
    PlanView,
    changes_nothing,
    cluster_change,
    cluster_count,
    computed_from,
    file_count,
    is_worth_telling,
    problem_lines,
    sentence,
    shortlist,
    summary,
    verdict_counts,
    verdict_text,
    why,
)
from gitplacer.formats.options import Options, Style
from gitplacer.model.decision import Action, Decision, Phase, Reason, Verdict
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.plaintext import LONGEST_PATH, aligned, few, printable
from gitplacer.problems import Problem, Severity

SECTIONS = (
    (Action.PLACE, "+", "green"),
    (Action.RELOCATE, "→", "yellow"),
    (Action.EXTEND, "+", "green"),
    (Action.UPDATE, "~", "cyan"),
    (Action.REMOVE, "-", "red"),
    (Action.PREEMPT, "-", "red"),
    (Action.HOLD, "!", "magenta"),
    (Action.WAIT, "…", "yellow"),
    (Action.KEEP, "=", "blue"),
)
"""Actions in the order in which they are shown, with symbol and colour."""


def plan_text(view: PlanView, options: Options) -> str:
    """The plan as lines, each ending in a newline."""
    lines = list(problems_text(view.snapshot.problems, options.style))
    quiet = changes_nothing(view) and not any(map(is_worth_telling, view.plan.decisions))
    if quiet and not options.verbose:
        return "\n".join([*lines, f"No change: {summary(view.plan, zeros=False)}"]) + "\n"
    for action, symbol, colour in SECTIONS:
        decisions = [d for d in view.plan.decisions if d.action is action and (is_worth_telling(d) or options.verbose)]
        if decisions:
            if lines:
                lines.append("")
            lines += [options.style(str(action), colour), *_section(decisions, symbol, colour, view, options)]
    clusters = [
        (f"{symbol} {o.cluster}", said) for o in view.sleepers if (symbol := turn(o)) and (said := cluster_change(o))
    ]
    if clusters:
        lines += [*([""] if lines else []), options.style("Clusters", "yellow"), *aligned(clusters)]
    if lines:
        lines.append("")
    return "\n".join([*lines, *_footer(view, options)]) + "\n"


def turn(outcome: ClusterOutcome) -> str:
    """The symbol of what happens to a cluster that may sleep; '' for nothing."""
    return "↑" if outcome.wakes else "↓" if outcome.sleeps else "=" if outcome.came else ""


def problems_text(problems: Sequence[Problem], style: Style) -> Iterator[str]:
    """Problems as lines, in the order they are in."""
    for problem in problems:
        first, *hint = problem_lines(problem)
        yield style(first, "red" if problem.severity is Severity.ERROR else "yellow")
        yield from hint


def shifted(decision: Decision) -> str:
    """From where to where, in names and arrows."""
    before, after = few(decision.files_before), few(decision.files_after)
    match decision.phase:
        case Phase.LEAVE:
            return f"{before} → moving"
        case Phase.ARRIVE:
            return f"moving → {after}"
    match decision.action:
        case Action.PLACE:
            return f"→ {few(sorted(set(decision.after) - set(decision.before)))}"
        case Action.REMOVE | Action.PREEMPT if not decision.after:
            return f"{before} →" if before else ""
        case Action.RELOCATE | Action.EXTEND | Action.REMOVE | Action.PREEMPT:
            return f"{before} → {after}"
    return after


def _section(
    decisions: Sequence[Decision], symbol: str, colour: str, view: PlanView, options: Options
) -> Iterator[str]:
    rows = [
        (f"{symbol} {printable(d.group)}", printable(shifted(d), LONGEST_SENTENCE), _because(d, view))
        for d in decisions
    ]
    for decision, line in zip(decisions, aligned(rows), strict=True):
        yield line.replace(symbol, options.style(symbol, colour), 1)
        if decision.action is Action.WAIT or decision.finding.code is Reason.NOWHERE_TO_GO:
            yield from _refusals(decision, view, options)


def _because(decision: Decision, view: PlanView) -> str:
    if decision.action is Action.KEEP and decision.finding.code is Reason.KEPT:
        return ""
    if decision.phase is not None:
        return sentence(decision, view)
    count = cluster_count(decision) if decision.action is Action.WAIT else ""
    return printable(f"{why(decision, view)}{f': {count}' if count else ''}", LONGEST_SENTENCE)


def _refusals(decision: Decision, view: PlanView, options: Options) -> Iterator[str]:
    most = ALL_CANDIDATES if options.verbose else NEAREST_CANDIDATES
    refused = [c for c in decision.candidates if c.verdict is not Verdict.CHOSEN]
    shown = shortlist(refused, most)
    rows = [
        (c.cluster, str(c.finding.code), printable(verdict_text(c, decision, view), LONGEST_SENTENCE)) for c in shown
    ]
    yield from aligned(rows, "      ")
    if len(shown) < len(refused):
        rest = verdict_counts(c for c in refused if c not in shown)
        counts = ", ".join(f"{count} {name.removeprefix('Rejected/')}" for name, count in rest.items())
        yield f"      and {len(refused) - len(shown)} more: {counts}"


def _footer(view: PlanView, options: Options) -> Iterator[str]:
    files = file_count(view)
    if files:
        yield files
    if options.verbose:
        yield from (f"  {printable(path, LONGEST_PATH)}" for paths in view.changed_files.values() for path in paths)
    yield from computed_from(view)
    yield summary(view.plan)
