"""
The plan: for every group, where it goes and why.

What is placed is kept first; then what has to leave looks for another cluster, then what waits, in turn. Policies say which clusters they like; the
first on which every pod fits is taken and its room reserved. All of this is one round (`rounds`). It is repeated on its own outcome until nothing
changes, so that planning again from what was just published changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from msgspec.structs import replace

from gitplacer.model.counts import Counts
from gitplacer.model.decision import Action, Claim, Decision, Finding, Move, Reason, action_of
from gitplacer.model.verdicts import Verdicts, verdicts_of
from gitplacer.placement.apart import Apart, apart
from gitplacer.placement.books import Books
from gitplacer.placement.division import brought_on, divides
from gitplacer.placement.foresight import expect
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.onepass import NOBODY_RESTS, Pass
from gitplacer.placement.parted import Parted, parted
from gitplacer.placement.rounds import Round
from gitplacer.placement.stranded import Stranded, stranded
from gitplacer.placement.tenantquota import beyond_quota
from gitplacer.placement.uncounted import Uncounted, uncounted
from gitplacer.placement.updating import Edits, no_edits
from gitplacer.placement.wakes import as_written
from gitplacer.snapshot import Snapshot

_ROUNDS = 8
"""
Bound on repeating the plan on its own outcome. Two is usual: one that places and one that finds nothing to do. Where groups may
send away others, which may send away others in turn, there is one more for each priority.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """
    One decision for each group of the source or of the records, sorted by id. `sought` are the groups for which another
    cluster was looked for, found or not. `outgrown` are the groups that find no room for all their pods where they are;
    None where no ledger was opened, so that it is not known.

    The rest is for reviewers. `stranded`: pods that groups may have later, and that could never run where the groups
    are. `uncounted`: resources that a quota limits and of which the requests of some groups are not known. `apart`:
    objects that call Services on other clusters. `parted`: volume claims shared by groups on different clusters, so
    that each cluster makes a volume of its own.
    """

    decisions: tuple[Decision, ...]
    sought: frozenset[str] = field(default=frozenset(), compare=False)
    outgrown: frozenset[str] | None = field(default=None, compare=False)
    stranded: tuple[Stranded, ...] = field(default=(), compare=False)
    uncounted: tuple[Uncounted, ...] = field(default=(), compare=False)
    apart: tuple[Apart, ...] = field(default=(), compare=False)
    parted: tuple[Parted, ...] = field(default=(), compare=False)

    def counts(self) -> dict[Action, int]:
        """How many groups each action concerns; the counts add up to the number of groups."""
        return {action: sum(d.action is action for d in self.decisions) for action in Action}

    def groups(self, action: Action) -> list[str]:
        """The groups that an action concerns, in the order of the plan."""
        return [decision.group for decision in self.decisions if decision.action is action]


def plan(
    snapshot: Snapshot,
    *,
    with_candidates: Verdicts | bool = True,
    also_held: Mapping[str, Finding] = MappingProxyType({}),
    edits: Edits = no_edits,
    agreed: frozenset[str] = frozenset(),
    opened: Books | None = None,
    ledgers: LedgerCache | None = None,
    resting: Mapping[str, Decision] = NOBODY_RESTS,
) -> Plan:
    """
    Decide.

    With `with_candidates` False, only the verdicts that decisions rest on are computed, which is all that rendering
    needs; with the verdicts of some groups or of all, theirs besides. `also_held` are groups that must stay as they are
    for reasons that planning cannot know, each with its reason. `edits` tells what would change of a group where it is;
    it takes the files that would be written. `agreed` are groups planned as if somebody had consented to their moves.
    `opened` are empty ledgers for a caller that plans many times on the same snapshots: what was computed on them is
    not computed again. `ledgers` only save work. `resting` are groups whose decision is known already: they stay as
    they are.
    """
    kept = verdicts_of(with_candidates)
    shared = Pass(snapshot, also_held, edits, agreed, opened, ledgers, resting)
    beyond = beyond_quota(shared)
    if beyond:
        shared = Pass(snapshot, {**beyond, **also_held}, edits, agreed, opened, ledgers, resting)
    expect(_looking(shared))
    before: dict[str, tuple[str, ...]] = dict(shared.recorded)
    claims: dict[str, Claim] = shared.claims
    moves: dict[str, Move] = shared.moves
    made: dict[str, Decision] = {}
    sent_away: dict[str, Finding] = {}
    for _ in range(_ROUNDS + len({group.priority for group in snapshot.groups.values()})):
        counts = dict(shared.counts)
        this = Round(shared, before, claims, moves, kept)
        decisions = this.decide()
        after = {d.group: d.after for d in decisions}
        shared.taken.update(((d.group, name), found.code) for d in decisions for name, found in d.reasons.items())
        claimed = {d.group: d.claim for d in decisions if d.claim is not None}
        moving = {d.group: d.move for d in decisions if d.move is not None}
        sent_away |= {d.group: d.finding for d in decisions if d.action is Action.PREEMPT}
        made |= {d.group: _told_after(shared, made.get(d.group), d) for d in decisions}
        same = all(after[group_id] == clusters for group_id, clusters in before.items() if group_id in after)
        recounted = any(shared.counts_of(g, a) != _of(counts, g, a) for g, a in after.items())
        if same and claimed == claims and moving == moves and not recounted:
            break
        shared.doubts = None if recounted or moves or moving else this.doubts(decisions)
        before, claims, moves = after, claimed, moving
    finished = (_since_the_start(shared, made[group_id], sent_away) for group_id in sorted(made))
    final = tuple(as_written(snapshot, _shaped(shared, decision)) for decision in finished)
    return Plan(
        final,
        uncounted=tuple(uncounted(shared, final)),
        stranded=tuple(stranded(shared, final)),
        apart=tuple(apart(shared, final)),
        sought=frozenset(shared.sought),
        outgrown=this.outgrown(),
        parted=tuple(parted(shared, final)),
    )


def _told_after(shared: Pass, earlier: Decision | None, decision: Decision) -> Decision:
    """
    What is said of a group after a further round: what an earlier round did with it, if anything, with what this round
    knows better.
    """
    if earlier is None:
        return decision
    if _is_brought_on(shared, earlier, decision):
        return brought_on(earlier, decision)
    if decision.before != decision.after or _nothing_happens(earlier):
        if earlier.hold_until and not decision.hold_until:
            return replace(decision, hold_until=earlier.hold_until)  # what was taken back has been taken back
        return decision
    if earlier.action is Action.PREEMPT:
        # Now that it is away: why it finds no other place, and what it does about that.
        return replace(
            earlier, waiting_since=decision.waiting_since, candidates=decision.candidates, claim=decision.claim,
            blocked_by=decision.blocked_by,
        )  # fmt: skip
    news = decision.waiting_since, decision.move, earlier.candidates or decision.candidates
    if news == (earlier.waiting_since, earlier.move, earlier.candidates):  # as mostly
        return earlier
    waiting_since, move, candidates = news
    return replace(earlier, waiting_since=waiting_since, move=move, candidates=candidates)


def _looking(shared: Pass) -> int:
    """How many groups look for a place: those that have none, and those that are about to lose it with its cluster."""
    there = {name for name in shared.clusters if not shared.is_gone(name) and name not in shared.silent}
    nowhere = (group_id for group_id in shared.groups if there.isdisjoint(shared.recorded.get(group_id, ())))
    return sum(group_id not in shared.resting and group_id not in shared.held for group_id in nowhere)


def _of(counts: Mapping[tuple[str, str], Counts], group_id: str, names: Iterable[str]) -> dict[str, Counts]:
    return {name: found for name in names if (found := counts.get((group_id, name)))}


def _shaped(shared: Pass, decision: Decision) -> Decision:
    """
    A decision with the counts and roles of the group on its clusters; a decision that changes only these gets an action
    that says so.
    """
    if decision.action is Action.KEEP and decision.group in shared.reshaped:
        action, finding = shared.reshaped[decision.group]
        decision = replace(decision, action=action, finding=finding)
    dispatched = shared.nominations.of(decision, decision.files_after)
    if dispatched is not None:
        decision = replace(decision, dispatch=dispatched)
    counts, roles = shared.counts_of(decision.group, decision.after), shared.roles_of(decision.group, decision.after)
    if roles:
        return replace(decision, counts=counts, roles=roles)
    if not counts:
        return decision
    finding, action = decision.finding, decision.action
    grows = action is Action.KEEP and finding in decision.reasons.values()
    if (finding.code is Reason.KEPT or grows) and shared.is_recounted(decision.group, decision.after):
        finding = Finding(code=Reason.DIVIDED)
    if action is Action.RELOCATE and divides(shared.groups[decision.group]):
        action = Action.PLACE  # a share went elsewhere, and the group with it and not
    return replace(decision, counts=counts, finding=finding, action=action)


def _nothing_happens(decision: Decision) -> bool:
    """Whether a later round may say better what becomes of a group: it stays, and no step of a relocation was made."""
    return decision.before == decision.after and decision.phase is None and decision.moving == decision.move


def _is_brought_on(shared: Pass, earlier: Decision, decision: Decision) -> bool:
    """Whether a later round has looked for room for what an earlier one left of a group that is divided."""
    group = shared.groups.get(decision.group)
    if group is None or not divides(group) or (_nothing_happens(earlier) and not earlier.reasons):
        return False
    return Action.PREEMPT not in (earlier.action, decision.action)


def _since_the_start(shared: Pass, decision: Decision, sent_away: Mapping[str, Finding]) -> Decision:
    """The decision of a round, told from the start of the pass instead of the start of that round."""
    before, moving = shared.recorded.get(decision.group, ()), shared.moves.get(decision.group)
    if before == decision.before and moving == decision.moving:
        return decision
    decision = replace(decision, moving=moving)
    if before == decision.before:
        return decision
    action, finding = action_of(before, decision.after), decision.finding
    if decision.group in sent_away and before:
        finding = sent_away[decision.group] if action is not Action.KEEP else Finding(code=Reason.KEPT)
    return replace(decision, before=before, action=action, finding=finding)
