"""
The plan for a terminal.

Problems come first, then what changes, one line for each group under the action's symbol, with what its users notice and what it
costs below it, then what does not happen and why every cluster refused. With a base to compare with, what the change does comes
apart from what would happen anyway. The last line counts everything and is the one to grep for; the one before it is the
verdict. Where nothing changes there is one line, and one before it where a snapshot is missing or not current.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitplacer.comparison import Because
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
    movement,
    not_chosen,
    sentence,
    shortlist,
    snapshots_amiss,
    summary,
    told,
    unasked_text,
    verdict_counts,
    verdict_text,
    why,
)
from gitplacer.formats.options import Options, Style
from gitplacer.formats.reviewwords import (
    LONGEST_LINE,
    bar,
    budget_text,
    cluster_text,
    cost_text,
    diff_title,
    displacement_text,
    downtime_text,
    headroom_text,
    level_text,
    machines_to_come,
    older_problems_text,
    outlook_text,
    remedy_text,
    verdict_line,
    without_text,
)
from gitplacer.model.decision import Action, Decision, Phase, Reason
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.plaintext import LONGEST_PATH, aligned, counted, few, printable
from gitplacer.problems import Problem, Severity
from gitplacer.review import Level, Review, Row

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


def plan_text(view: PlanView, options: Options, review: Review | None = None) -> str:
    """The plan as lines, each ending in a newline. Without a review there is nothing to compare with."""
    review = review or Review(view)
    view = review.view
    older = older_problems_text(review.older_problems)
    lines = [*problems_text(review.told_problems, options.style), *([older] if older else [])]
    quiet = changes_nothing(view) and not any(map(is_worth_telling, view.plan.decisions)) and review.changes_nothing
    if quiet and not options.verbose:
        amiss = snapshots_amiss(view)
        return "\n".join([*lines, *([amiss] if amiss else []), f"No change: {summary(view.plan, zeros=False)}"]) + "\n"
    blocks = [lines, *_ours(review, options), *_around(review, options)]
    if options.diffs:
        blocks.append(list(_diffs(review, options.style)))
    blocks += _anyway(review, options)
    withheld = ["Nodes, numbers and what belongs to others are not shown here"] if review.is_redacted else []
    blocks.append(
        [*withheld, *_footer(view, options), printable(verdict_line(review), LONGEST_SENTENCE), summary(view.plan)]
    )
    return "\n".join("\n".join([*block, ""]) for block in blocks if block)


def _ours(review: Review, options: Options) -> Iterator[list[str]]:
    """What becomes of groups, a block for each action; with a base only because of the change, under a heading."""
    blocks = list(_sections([d for d in _told(review, options) if review.row(d).is_ours], review, options))
    if review.withdrawn:
        rows = [(f"  {printable(d.group)}", printable(movement(d), LONGEST_SENTENCE)) for d in review.withdrawn]
        blocks.append([options.style("Not any more", "yellow"), *aligned(rows)])
    return _under("BECAUSE OF THIS CHANGE" if review.base is not None else "", blocks)


def _anyway(review: Review, options: Options) -> Iterator[list[str]]:
    """What would happen without the change as well."""
    some = [d for d in _told(review, options) if not review.row(d).is_ours]
    return _under("WOULD HAPPEN ANYWAY", list(_sections(some, review, options)))


def _told(review: Review, options: Options) -> list[Decision]:
    told = {row.group for row in review.rows}
    return [d for d in review.view.plan.decisions if d.group in told or options.verbose]


def _under(title: str, blocks: Sequence[list[str]]) -> Iterator[list[str]]:
    for index, block in enumerate(blocks):
        yield [title, *block] if title and not index else block


def _sections(decisions: Sequence[Decision], review: Review, options: Options) -> Iterator[list[str]]:
    for action, symbol, colour in SECTIONS:
        some = [d for d in decisions if d.action is action]
        if some:
            yield [options.style(str(action), colour), *_section(some, symbol, colour, review, options)]


def _around(review: Review, options: Options) -> Iterator[list[str]]:
    """What becomes of clusters, how full they are, and what could still change."""
    outcomes = [
        (f"{symbol} {o.cluster}", said)
        for o in review.view.sleepers
        if (symbol := turn(o)) and (said := cluster_change(o))
    ]
    states = [f"  {printable(cluster_text(change), LONGEST_SENTENCE)}" for change in review.cluster_changes]
    if outcomes or states:
        yield [options.style("Clusters", "yellow"), *states, *aligned(outcomes)]
    if review.displacements:
        yield [
            options.style("Room is made", "yellow"),
            *(f"  {printable(displacement_text(d), 600)}" for d in review.displacements),
        ]
    if review.levels:
        come = machines_to_come(review)
        rows = [(printable(level.cluster), bar(level), _level(level, come)) for level in review.levels]
        yield [options.style("Room", "cyan"), *aligned(rows)]
    if review.budgets:
        yield [options.style("Budgets", "cyan"), *(f"  {printable(budget_text(use), 600)}" for use in review.budgets)]
    if review.outlooks and (review.base is not None or options.verbose):
        facts = [printable(outlook_text(outlook), LONGEST_SENTENCE) for outlook in review.outlooks]
        yield [options.style("Could still change it", "cyan"), *(f"  {fact}" for fact in facts)]


def _level(level: Level, come: Mapping[str, int]) -> str:
    machines = come.get(level.cluster, 0)
    more = f", and {machines} machine{'s' if machines != 1 else ''} to be added" if machines else ""
    return printable(level_text(level) + more, LONGEST_SENTENCE)


def _diffs(review: Review, style: Style) -> Iterator[str]:
    for diff in review.diffs:
        yield printable(diff_title(diff), LONGEST_PATH * 2)
        for line in diff.lines:
            yield style(printable(line, LONGEST_LINE), {"+": "green", "-": "red"}.get(line[:1], ""))
        if diff.left_out:
            yield f"… {counted(diff.left_out, 'more line')}"


def turn(outcome: ClusterOutcome) -> str:
    """The symbol of what happens to a cluster that may sleep; '' for nothing."""
    return "↑" if outcome.wakes else "↓" if outcome.sleeps else "=" if outcome.came else ""


def problems_text(problems: Sequence[Problem], style: Style) -> Iterator[str]:
    """Problems as lines, in the order they are in; of very many some, and how many there are."""
    for problem, (first, *hint) in told(problems):
        yield style(first, "" if problem is None else "red" if problem.severity is Severity.ERROR else "yellow")
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
    decisions: Sequence[Decision], symbol: str, colour: str, review: Review, options: Options
) -> Iterator[str]:
    view, rows = review.view, [review.row(decision) for decision in decisions]
    cells = [
        (f"{symbol} {printable(d.group)}", printable(shifted(d), LONGEST_SENTENCE), _because(row, view))
        for d, row in zip(decisions, rows, strict=True)
    ]
    for decision, row, line in zip(decisions, rows, aligned(cells), strict=True):
        yield line.replace(symbol, options.style(symbol, colour), 1)
        details = "; ".join(_details(row, review, options))
        if details:
            yield f"      {printable(details, LONGEST_SENTENCE)}"
        if row.is_ours and (decision.action is Action.WAIT or decision.finding.code is Reason.NOWHERE_TO_GO):
            yield from _refusals(decision, view, options)
            remedy = remedy_text(review.own_remedies.get(decision.group))
            if remedy:
                yield f"      {remedy}"
    unasked = unasked_text((row.decision for row in rows if row.is_ours), view)
    if unasked:
        yield f"    {unasked}"


def _details(row: Row, review: Review, options: Options) -> Iterator[str]:
    """What a reviewer asks of a group beside why: always what hurts, and the rest when it is compared or all is wanted."""
    decision, whole = row.decision, options.verbose or row.because is Because.CHANGE
    if decision.action is Action.KEEP and row.without is None:
        return
    notices = downtime_text(row.downtime)
    if notices:
        yield notices
    elif whole and decision.before and decision.action is not Action.HOLD:
        yield "no downtime"
    cost = cost_text(row)
    if cost and decision.after != decision.before and not review.is_redacted:
        yield f"{cost} an hour" if cost != "?" else "what it costs is not known"
    if whole and row.headroom is not None and decision.action is not Action.HOLD:
        yield f"leaves {headroom_text(row.headroom)}"
    if row.without is not None:
        yield without_text(row)
    if whole:
        yield from (f"{place.file}:{place.line}" for place in (row.manifest, row.policy) if place is not None)


def _because(row: Row, view: PlanView) -> str:
    decision = row.decision
    if decision.action is Action.KEEP and decision.finding.code is Reason.KEPT:
        return ""
    if decision.phase is not None:
        return sentence(decision, view)
    count = cluster_count(decision) if decision.action is Action.WAIT and row.is_ours else ""
    return printable(f"{why(decision, view)}{f': {count}' if count else ''}", LONGEST_SENTENCE)


def _refusals(decision: Decision, view: PlanView, options: Options) -> Iterator[str]:
    most = ALL_CANDIDATES if options.verbose else NEAREST_CANDIDATES
    refused = not_chosen(decision)
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
