"""
The plan for a pull-request comment.

Whoever writes manifests must not be able to write our comment: what comes from them is escaped so that it is neither
markup nor HTML, and mentions, references and links in it do nothing. A comment has a largest size; what is too much
for the first page is left out there by whole rows, with the number of them, and stands on the pages that follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gitplacer.explain import (
    LONGEST_SENTENCE,
    PlanView,
    cluster_change,
    cluster_count,
    computed_from,
    file_count,
    movement,
    not_chosen,
    shortlist,
    snapshots_amiss,
    summary,
    unasked_text,
    verdict_text,
    why,
)
from gitplacer.formats.mermaid import picture
from gitplacer.formats.options import Options
from gitplacer.formats.reviewwords import (
    DOWNTIME,
    LONGEST_LINE,
    bar,
    cluster_text,
    cost_text,
    diff_title,
    displacement_text,
    headroom_text,
    level_text,
    link,
    machines_to_come,
    older_problems_text,
    outlook_text,
    place_text,
    remedy_text,
    short_why,
    unblocking_text,
    verdict_line,
    without_text,
)
from gitplacer.formats.text import SECTIONS, shifted
from gitplacer.model.decision import Action, Decision, Reason
from gitplacer.plaintext import LONGEST_PATH, counted, printable
from gitplacer.problems import Location, Problem
from gitplacer.review import Check, FileDiff, Review, Row

LIMIT = 65_000
"""Bytes of a page. GitHub takes 65,536 characters, and others more."""
MOST_PAGES = 10
"""Pages that are written; what is beyond is for the plan as JSON or text."""

COMMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
"""What may tell comments apart."""

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&${}^]")
_ZERO_WIDTH = "\u200b"
# A mention, issue, merge request, label or milestone of some host, after which the host would look for a name; or a name between
# colons that it would draw as a picture, of which line 100 of a file is one.
_REFERENCE = re.compile(
    r"[@#!%]|:(?=//)|(?i:www)(?=\.)|(?i:gh)(?=-)|:(?=100:|1234:)|:(?=(?:[\w+-]|&#95;){1,60}:)(?!\d{1,60}Z?:)"
)
_BACKTICKS = re.compile(r"`+")

_SIGNS: Mapping[Check, str] = {Check.PASS: "✅", Check.LOOK: "👀", Check.FAIL: "❌"}


def marker(comment_id: str = "", page: int = 1) -> str:
    """
    The hidden first line of a page, by which it is found again, to be edited instead of followed by another: of which fleet it is, and which page.
    """
    return f"<!-- gitplacer:plan{f':{comment_id}' if comment_id else ''}{f' page={page}' if page > 1 else ''} -->"


def escaped(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """Text as characters and nothing else, in Markdown, in a table cell and in HTML; at most `longest` of them."""
    as_text = _MARKUP.sub(lambda match: f"&#{ord(match[0])};", printable(text, longest))
    # Only what stands for itself: the # in an entity is ours.
    return re.sub(
        r"&#\d+;|" + _REFERENCE.pattern,
        lambda match: match[0] if match[0].startswith("&#") else match[0] + _ZERO_WIDTH,
        as_text,
    )


def fenced(lines: Iterable[str], language: str) -> str:
    """Lines as code, in a fence that nothing in them ends. What would begin a marker of ours does not."""
    text = "\n".join(printable(line, LONGEST_LINE).replace("<!--", f"<!{_ZERO_WIDTH}--") for line in lines)
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


class _Block(Struct, frozen=True):
    """Rows between a head and a foot; without rows it is not there."""

    head: str
    rows: Sequence[str]
    foot: str = "\n"

    @property
    def size(self) -> int:
        return sum(map(_size, self.rows)) + _size(self.head + self.foot) if self.rows else 0

    def split(self, limit: int) -> tuple[_Block, _Block]:
        """As many rows as fit into `limit` bytes, room for a notice kept, and the others."""
        if self.size <= limit:
            return self, _Block(self.head, (), self.foot)
        left = limit - _size(self.head + self.foot) - _NOTICE
        count = 0
        for row in self.rows:
            left -= _size(row)
            if left < 0:
                break
            count += 1
        return _Block(self.head, self.rows[:count], self.foot), _Block(self.head, self.rows[count:], self.foot)

    def written(self, missing: int = 0, where: str = "") -> str:
        """The block, and how many of its rows are not here."""
        notice = f"\n**{missing} more left out here** to keep this comment short; {where}.\n" if missing else ""
        if not self.rows:
            return f"{notice}\n" if notice else ""
        return f"{self.head}{''.join(self.rows)}{notice}{self.foot}"


_NOTICE = 200
"""Bytes that a notice takes at most."""


def _size(text: str) -> int:
    return len(text.encode())


def plan_markdown(view: PlanView, options: Options, review: Review | None = None) -> str:
    """The comment, below `LIMIT` bytes, beginning with a marker; where there are more pages, the first."""
    return plan_pages(review or Review(view), options)[0]


def plan_pages(review: Review, options: Options) -> list[str]:
    """The pages of a comment. The first has something of everything, those that follow what was left out there."""
    mark = marker(options.comment_id)
    lines = [line for line in (file_count(review.view), *computed_from(review.view)) if line]
    foot = "".join(f"{escaped(line)}{'<br>' if line is not lines[-1] else ''}\n" for line in lines)
    older = older_problems_text(review.older_problems)
    items = [*(_problem_item(p, options) for p in review.told_problems), *([f"- {older}\n"] if older else [])]
    problems = _Block("**Problems**\n\n", items)
    if review.changes_nothing:
        amiss = snapshots_amiss(review.view)
        told = f"\n{escaped(amiss)}\n" if amiss else ""
        return [f"{mark}\n### gitplacer: {escaped(_short(verdict_line(review)))}\n{_problems_alone(problems)}{told}"]
    head = f"{mark}\n### {_SIGNS[review.check]} gitplacer: {escaped(verdict_line(review))}\n\n"
    head += f"{escaped(summary(review.view.plan, zeros=False))}\n\n"
    if review.is_redacted:
        head += "Nodes, numbers and what belongs to others are not shown here.\n\n"
    blocks = [problems, *_blocks(review, options)]
    shares = _shares(LIMIT - _size(head + foot), [block.size for block in blocks])
    split = [block.split(share) for block, share in zip(blocks, shares, strict=True)]
    where = "the pages that follow have them" if options.paged else "`gitplacer plan --pages DIR` writes them all"
    first = head + "".join(kept.written(len(rest.rows), where) for kept, rest in split) + foot
    more = list(_further([rest for _, rest in split if rest.rows]))
    total = 1 + len(more)
    return [first, *(_page(text, number, total, options) for number, text in enumerate(more, 2))]


def _page(text: str, number: int, total: int, options: Options) -> str:
    return f"{marker(options.comment_id, number)}\n### gitplacer: page {number} of {total}\n\n{text}"


def _further(blocks: Sequence[_Block]) -> Iterator[str]:
    """The texts of the pages after the first: blocks one after another, each begun again where it goes on."""
    room = LIMIT - 2 * _NOTICE
    pages, text, too_large = 0, "", 0
    waiting = list(blocks)
    while waiting:
        block = waiting.pop(0)
        rows = [row for row in block.rows if _size(block.head + row + block.foot) + _NOTICE <= room]
        too_large += len(block.rows) - len(rows)
        kept, rest = _Block(block.head, rows, block.foot).split(room - _size(text))
        if kept.rows:
            text += kept.written()
        if rest.rows:
            if pages == MOST_PAGES - 2:
                left = len(rest.rows) + sum(len(each.rows) for each in waiting) + too_large
                yield text + _too_much(left)
                return
            yield text
            pages, text = pages + 1, ""
            waiting.insert(0, rest)
    if text or too_large:
        yield text + (_too_much(too_large) if too_large else "")


def _too_much(count: int) -> str:
    return (
        f"\n**{count} more are too large for comments.** The plan as JSON or text has them: take the artefact of this run, or run"
        " `gitplacer plan --format json`.\n"
    )


def _problems_alone(block: _Block) -> str:
    """Problems of a plan that changes nothing; a page of them at most."""
    kept, rest = block.split(LIMIT - 1000)
    return f"\n{kept.written(len(rest.rows), '`gitplacer validate` shows all')}" if block.rows else ""


def _short(line: str) -> str:
    return line[0].lower() + line[1:]


_TABLE = "| Group | From → to | Why | Downtime | Left there | Per hour | Where |\n|---|---|---|---|---|---|---|\n"
_PUBLIC_TABLE = "| Group | From → to | Why | Downtime | Where |\n|---|---|---|---|---|\n"


def _blocks(review: Review, options: Options) -> Iterator[_Block]:
    view = review.view
    decisions = [d for action, *_ in SECTIONS for d in view.plan.decisions if d.action is action]
    told = {row.group: row for row in review.rows}
    rows = [told[d.group] for d in decisions if d.group in told]
    table = _PUBLIC_TABLE if review.is_redacted else _TABLE
    ours = [_row(row, review, options) for row in rows if row.is_ours]
    yield _Block(f"**Because of this change**\n\n{table}" if review.base is not None else table, ours)
    gone = [f"- {escaped(d.group, 253)} {escaped(movement(d))}\n" for d in review.withdrawn]
    yield _Block("**Not any more, because of this change**\n\n", gone)
    yield _Block("", [f"- {escaped(cluster_text(each))}\n" for each in review.cluster_changes])
    yield _Block(
        "| Cluster | |\n|---|---|\n",
        [f"| {escaped(o.cluster)} | {escaped(cluster_change(o))} |\n" for o in review.outcomes],
    )
    yield _Block("", [f"- {escaped(displacement_text(each))}\n" for each in review.displacements])
    yield _Block("", [_refusals(row.decision, review) for row in rows if row.is_ours and _found_nothing(row.decision)])
    unasked = unasked_text((row.decision for row in rows if row.is_ours), view)
    yield _Block("", [f"{unasked[0].upper()}{unasked[1:]}.\n\n"] if unasked else [])
    anyway = [_row(row, review, options) for row in rows if not row.is_ours]
    folded = f"<details><summary>Would happen anyway: {len(anyway)}</summary>\n\n{table}"
    yield _Block(folded, anyway, "\n</details>\n\n")
    yield _Block(
        "| Policy | Budget per hour | Used before | Used after | Left |\n|---|---|---|---|---|\n",
        [
            f"| {escaped(u.policy, 253)} | {u.budget:.2f} | {u.before:.2f} | {u.after:.2f} | {u.left:.2f} |\n"
            for u in review.budgets
        ],
    )
    yield _levels(review)
    yield _picture(review)
    yield _Block(
        "**Could still change before the merge**\n\n", [f"- {escaped(outlook_text(o))}\n" for o in review.outlooks]
    )
    yield from _diffs(review)


def _levels(review: Review) -> _Block:
    come = machines_to_come(review)
    rows = []
    for level in review.levels:
        machines = f", {come[level.cluster]} to be added" if level.cluster in come else ""
        rows.append(f"| {escaped(level.cluster)} | {bar(level)} | {escaped(level_text(level))}{machines} |\n")
    head = "<details><summary>Room on the clusters</summary>\n\n| Cluster | | After this |\n|---|---|---|\n"
    return _Block(head, rows, "\n</details>\n\n")


def _picture(review: Review) -> _Block:
    told = {row.group for row in review.rows}
    steady = [(d.group, name) for d in review.view.plan.decisions if d.group not in told for name in d.files_after]
    drawn = picture(review.ours, steady)
    rows = [fenced(drawn.splitlines(), "mermaid")] if drawn else []
    return _Block("<details><summary>Picture</summary>\n\n", rows, "\n</details>\n\n")


def _diffs(review: Review) -> Iterator[_Block]:
    by_cluster: dict[str, list[FileDiff]] = {}
    for diff in review.diffs:
        by_cluster.setdefault(diff.cluster, []).append(diff)
    for cluster, diffs in by_cluster.items():
        name = escaped(cluster) if cluster else "between clusters"
        count = f"{len(diffs)} file{'s' if len(diffs) != 1 else ''}"
        yield _Block(
            f"<details><summary>Files, {name}: {count}</summary>\n\n", [_diff(d) for d in diffs], "\n</details>\n\n"
        )


def _diff(diff: FileDiff) -> str:
    title = f"{escaped(diff_title(diff), LONGEST_PATH * 2)}\n\n"
    lines = [*diff.lines, *([f"… {counted(diff.left_out, 'more line')}"] if diff.left_out else [])]
    return title + (f"{fenced(lines, 'diff')}\n" if lines else "")


def _shares(total: int, sizes: Sequence[int]) -> list[int]:
    """Room for each block: the small ones get what they need, the others the same part of the rest."""
    shares = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    for rank, index in enumerate(order):
        shares[index] = min(sizes[index], total // (len(order) - rank))
        total -= shares[index]
    return shares


def _problem_item(problem: Problem, options: Options) -> str:
    hint = f" (hint: {escaped(problem.hint)})" if problem.hint else ""
    where = _linked(str(problem.location), problem.location, options)
    return f"- {problem.severity}: {where}: {escaped(problem.message)}{hint}\n"


def _linked(text: str, location: Location | None, options: Options) -> str:
    address = link(location, options.link_base)
    shown = escaped(text, LONGEST_PATH)
    return f"[{shown}]({address})" if address else shown


def _row(row: Row, review: Review, options: Options) -> str:
    decision, view = row.decision, review.view
    symbol = next(symbol for action, symbol, _ in SECTIONS if action is decision.action)
    because = "; ".join(part for part in (short_why(decision, view), without_text(row)) if part)
    numbers = [] if review.is_redacted else [
        escaped(headroom_text(row.headroom)) if row.headroom is not None and decision.action is not Action.HOLD else "–",
        cost_text(row) or "–",
    ]  # fmt: skip
    cells = (
        f"{symbol} {escaped(decision.group, 253)}",
        escaped(shifted(decision)) or "–",
        escaped(because),
        DOWNTIME[row.downtime],
        *numbers,
        _where(row, options),
    )
    return f"| {' | '.join(cells)} |\n"


def _where(row: Row, options: Options) -> str:
    """Links to the manifest and the policy; without an address the lines themselves."""
    manifest = row.manifest and _linked(
        "manifest" if options.link_base else place_text(row.manifest), row.manifest, options
    )
    name = f"policy {row.decision.policy}" if options.link_base else place_text(row.policy)
    policy = _linked(name, row.policy, options) if row.policy is not None else escaped(row.decision.policy, 253)
    return "<br>".join(part for part in (manifest, policy) if part) or "–"


def _found_nothing(decision: Decision) -> bool:
    return bool(not_chosen(decision)) and (
        decision.action is Action.WAIT or decision.finding.code is Reason.NOWHERE_TO_GO
    )


def _refusals(decision: Decision, review: Review) -> str:
    """Why every cluster refused a group, folded. The blank lines make what is between them Markdown again."""
    view, remedy = review.view, remedy_text(review.own_remedies.get(decision.group))
    refused = shortlist(not_chosen(decision))
    rows = [
        f"| {escaped(c.cluster)} | {c.finding.code} | {escaped(verdict_text(c, decision, view))} |\n" for c in refused
    ]
    said = "; ".join(part for part in (cluster_count(decision), unblocking_text(decision, view)) if part)
    head = f"<details><summary>{escaped(decision.group, 253)}: {escaped(said)}</summary>\n\n{escaped(why(decision, view))}\n\n"
    head += f"{escaped(remedy[0].upper() + remedy[1:], 2000)}\n\n" if remedy else ""
    return f"{head}| Cluster | Reason | Why |\n|---|---|---|\n{''.join(rows)}\n</details>\n\n"
