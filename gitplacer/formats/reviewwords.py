"""
The words of a review that text, Markdown and JSON share: the verdict, and the cells of a row.

Nothing here is safe to print yet where it has names in it; each format makes it so in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from gitplacer.explain import (
    PlanView,
    amount_text,
    movement,
    remedy_line,
    rfc3339,
    sentence,
    summary,
    verdict_text,
    why,
)
from gitplacer.model.decision import Candidate, Decision, Verdict
from gitplacer.model.remedy import Remedy
from gitplacer.plaintext import few
from gitplacer.problems import Location
from gitplacer.review import (
    BudgetUse,
    Change,
    Check,
    ClusterChange,
    Concern,
    Displacement,
    Downtime,
    FileDiff,
    Headroom,
    Level,
    Outlook,
    Prospect,
    Review,
    Row,
    Worry,
)

LONGEST_LINE = 400
"""Characters of a line of a diff; what is longer is cut."""
BAR = 10
"""Characters of a bar."""
_LONGEST_WHY = 24
"""Words of a reason in a table; the longer ones end at the last clause that fits."""

_WORRIES: Mapping[Worry, tuple[str, str]] = {
    Worry.ERRORS: ("1 error", "{} errors"),
    Worry.CONNECTS_ELSEWHERE: ("{} names another place", "{} fields of the Fleet name another place"),
    Worry.ENDS: ("{} stops for good", "{} groups stop for good"),
    Worry.GAP: ("{} does not run for a while", "{} groups do not run for a while"),
    Worry.DOUBLE_RUN: ("{} may run twice for a while", "{} groups may run twice for a while"),
    Worry.PREEMPTED: ("{} makes room for another", "{} groups make room for others"),
    Worry.WAITS: ("{} waits", "{} groups wait"),
    Worry.HELD: ("{} is held", "{} groups are held"),
    Worry.REMOVED: ("{} goes from a cluster", "{} groups go from a cluster"),
    Worry.NO_ROOM: ("{} has too little room", "{} groups have too little room"),
    Worry.RELOCATED: ("{} moves", "{} groups move"),
    Worry.CLUSTER: ("{} takes nothing new", "{} clusters take nothing new"),
}
"""What is said of one group, by its name, and of several, by their number."""

DOWNTIME: Mapping[Downtime, str] = {
    Downtime.NONE: "none",
    Downtime.GAP: "gap",
    Downtime.DOUBLE_RUN: "double run",
    Downtime.ENDS: "ends",
}

_STATES: Mapping[Check, str] = {Check.PASS: "Passes", Check.LOOK: "Needs a look", Check.FAIL: "Fails"}


def verdict_line(review: Review) -> str:
    """One line: whether a change may be merged without a look, and why not."""
    found = [_concern(concern) for concern in review.concerns]
    if found:
        return f"{_STATES[review.check]}: {few(found, most=len(found))}"
    if review.changes_nothing and not review.withdrawn:
        return f"No change: {summary(review.view.plan, zeros=False)}"
    if review.brings_nothing:
        count = len(review.anyway)
        more = f"; what happens to {count} group{'s' if count != 1 else ''} happens anyway" if count else ""
        return f"No change by this branch{more}"
    return f"{_STATES[review.check]}: {'' if review.base is None else 'because of this change '}nothing waits, stops, moves or is held"


def _concern(concern: Concern) -> str:
    one, many = _WORRIES[concern.worry]
    return one.format(*concern.names) if concern.count == 1 else many.format(concern.count)


def short_why(decision: Decision, view: PlanView) -> str:
    """Why something happens, in about a dozen words."""
    text = sentence(decision, view) if decision.phase is not None else why(decision, view)
    words = text.split(" ")
    if len(words) <= _LONGEST_WHY:
        return text
    cut = " ".join(words[:_LONGEST_WHY])
    for mark in ("; ", ": ", " ("):
        head = cut.rpartition(mark)[0]
        if len(head.split(" ")) >= _LONGEST_WHY // 3:
            return f"{head} …"
    return f"{cut} …"


def headroom_text(room: Headroom) -> str:
    """`1 of 4 nvidia.com/gpu free on cloud`, and the largest piece on a node where it is not one piece."""
    free, offered = amount_text(room.resource, room.free), amount_text(room.resource, room.offered)
    pieces = f", {amount_text(room.resource, room.largest)} on one node" if 0 < room.largest < room.free else ""
    return f"{free} of {offered} {room.resource} free on {room.cluster}{pieces}"


def cost_text(row: Row) -> str:
    """`+2.25`, `-0.75`, '' where there is no difference, `?` where nobody knows."""
    if row.cost is None:
        return "?"
    return f"{row.cost:+.2f}" if round(row.cost, 2) else ""


def downtime_text(downtime: Downtime) -> str:
    """What users notice, as a clause; '' for nothing."""
    return {
        Downtime.NONE: "",
        Downtime.GAP: "does not run for a while",
        Downtime.DOUBLE_RUN: "may run twice for a while",
        Downtime.ENDS: "stops for good",
    }[downtime]


def without_text(row: Row) -> str:
    """What would become of a group without the change; '' where that is the same."""
    return f"without this change it {movement(row.without)}" if row.without is not None else ""


def bar(level: Level) -> str:
    """What is taken after the pass: `███████░░░`. Nothing taken shows no block, and a full bar is full."""
    taken = min(max(level.after, 0), level.offered)
    blocks = taken * BAR // level.offered
    blocks = max(1, blocks) if taken else 0
    return "█" * blocks + "░" * (BAR - blocks)


def level_text(level: Level) -> str:
    """`4 of 5 taken, 1 before`."""
    after, offered = amount_text(level.resource, level.after), amount_text(level.resource, level.offered)
    before = f", {amount_text(level.resource, level.before)} before" if level.before != level.after else ""
    return f"{after} of {offered} {level.resource} taken{before}"


def machines_to_come(review: Review) -> dict[str, int]:
    """How many machines have to be added on which cluster."""
    found: dict[str, int] = {}
    for row in review.rows:
        for name, finding in row.decision.reasons.items():
            found[name] = found.get(name, 0) + sum(nodes.count for nodes in finding.new_nodes)
    return {name: count for name, count in found.items() if count}


def budget_text(use: BudgetUse) -> str:
    """`policy training uses 3.00 of its budget of 4.00 an hour, 0.75 of it before; 1.00 is left`."""
    left = f"{use.left:.2f} is left" if use.left >= 0 else f"{-use.left:.2f} is beyond it"
    before = "as before" if round(use.before, 2) == round(use.after, 2) else f"{use.before:.2f} before"
    return f"policy {use.policy} uses {use.after:.2f} of its budget of {use.budget:.2f} an hour ({before}); {left}"


def older_problems_text(count: int) -> str:
    """Problems that are not the work of the change; '' for none."""
    if not count:
        return ""
    said = "1 problem was" if count == 1 else f"{count} problems were"
    return f"{said} there before; gitplacer validate shows {'it' if count == 1 else 'them'}"


def cluster_text(change: ClusterChange) -> str:
    """What a change does with a cluster."""
    if change.before is None:
        return f"{change.cluster} is new ({change.after})"
    has = "" if change.groups is None else f"; it has {change.groups} group{'s' if change.groups != 1 else ''}"
    if change.after is None:
        return f"{change.cluster} is taken out of the fleet{has}"
    does = {
        "Active": "it takes new groups again",
        "Cordoned": "it takes nothing new",
        "Draining": "everything moves away from it",
        "Lost": "it counts as lost, and everything moves away from it",
    }[change.after]
    return f"{change.cluster}: {change.before} → {change.after}: {does}{has}"


def displacement_text(displaced: Displacement) -> str:
    """Who makes room for whom."""
    return f"{displaced.group} makes room for {few(displaced.by)}"


def nearest(decision: Decision) -> Candidate | None:
    """Of the clusters that refused a group because of room, the one that has the least too little."""
    near = [c for c in decision.candidates if c.verdict is Verdict.REJECTED and c.finding.wanted and c.finding.short]
    return min(near, key=lambda c: (c.finding.wanted - c.finding.placed, c.cluster), default=None)


def unblocking_text(decision: Decision, view: PlanView) -> str:
    """What came nearest to taking a group that waits; '' where nothing was asked for room."""
    candidate = nearest(decision)
    if candidate is None:
        return ""
    return f"nearest is {candidate.cluster}: {verdict_text(candidate, decision, view)}"


def remedy_text(remedy: Remedy | None) -> str:
    """What was found to place a group that waits; '' where nothing was, unless everything was tried."""
    if remedy is None or not (remedy.ways or remedy.complete):
        return ""
    return (
        f"what would place it: {remedy_line(remedy)}{'' if remedy.complete else '; not all that is smaller was tried'}"
    )


def _names(outlook: Outlook) -> str:
    return few(outlook.names, most=5)


def _little(outlook: Outlook) -> str:
    assert outlook.room is not None
    room = outlook.room
    if room.free <= 0:
        return (
            f"nothing of {room.resource} is left on {room.cluster}: a branch that is merged first may take this place"
        )
    left = f"{amount_text(room.resource, room.free)} {room.resource}"
    return f"{left} is left on {room.cluster}: a branch that is merged first and takes more takes this place"


def _elsewhere(field: str, before: str, after: str) -> str:
    return f"{field} changes from {before or 'nothing'} to {after or 'nothing'}: passes connect there once this is merged, and this plan does not"


_OUTLOOKS: Mapping[Prospect, Callable[[Outlook], str]] = {
    Prospect.BEHIND: lambda o: (
        f"{_names(o)} has commits that this branch lacks: what they did looks here as if the branch took it back; merge it in"
    ),
    Prospect.CONNECTS_ELSEWHERE: lambda o: _elsewhere(*o.names),
    Prospect.SNAPSHOT_EXPIRES: lambda o: f"the snapshot of {_names(o)} is too old from {_at(o)} on",
    Prospect.SNAPSHOT_OLD: lambda o: (
        f"the snapshot of {_names(o)} is from {_at(o)}: what has changed there since then is not known"
    ),
    Prospect.FREEZE_ENDS: lambda o: f"a freeze ends at {_at(o)}, and {_names(o)} may move",
    Prospect.FREEZE_BEGINS: lambda o: f"a freeze begins at {_at(o)}, and {_names(o)} stays from then on",
    Prospect.APPROVAL_EXPIRES: lambda o: f"Approval {_names(o)} expires at {_at(o)}",
    Prospect.WAIT_ENDS: lambda o: f"{_names(o)} may move from {_at(o)} on",
    Prospect.FOREIGN_CHANGES: lambda o: (
        f"somebody else changed {_names(o)} in the deployment repo; what it belongs to is held until that is undone"
    ),
    Prospect.FIRST_IN_LINE: lambda o: f"what gets free is first for {_names(o)}, waiting already",
    Prospect.LITTLE_ROOM: _little,
}


def outlook_text(outlook: Outlook) -> str:
    """A fact that may change the plan, as a clause."""
    return _OUTLOOKS[outlook.prospect](outlook)


def _at(outlook: Outlook) -> str:
    return rfc3339(outlook.at) if outlook.at is not None else "a time that is not known"


def place_text(location: Location | None) -> str:
    """`file#Lline`; '' for nothing."""
    return f"{location.file}#L{location.line}" if location is not None else ""


def link(location: Location | None, link_base: str) -> str:
    """The address of a line below a base address; '' without one."""
    if location is None or not link_base:
        return ""
    return f"{link_base.rstrip('/')}/{quote(location.file, safe='/')}#L{location.line}"


def diff_title(diff: FileDiff) -> str:
    """What becomes of a file, on one line."""
    if diff.change is Change.RENAMED:
        said = f"{diff.old} → {diff.path}: renamed{'' if diff.lines or diff.hidden else ', not a byte changed'}"
    else:
        said = f"{diff.path}: {diff.change}"
    return f"{said}; not shown, because only secrets differ, or it is too large" if diff.hidden else said
