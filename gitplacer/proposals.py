"""
What waits for consent, made ready to be merged.

Where a policy lets a group move only with consent, the pass says where it would go and leaves it. Here the same fleet is planned
once more as if everybody had agreed, and each move that would begin then becomes changes on top of what the pass has made. Whoever
merges them has agreed. All of them are planned together, so that they have room together; merged by itself each has more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from gitplacer.documents import Document, parse
from gitplacer.intents.approval import approval_file
from gitplacer.kinds.approval import Approval
from gitplacer.kinds.parse import parse_own
from gitplacer.layout import Layout
from gitplacer.model.decision import Action, Decision
from gitplacer.snapshot import Snapshot, read_records
from gitplacer.source.consent import Consent
from gitplacer.source.files import Memo
from gitplacer.tree import Changes, Tree


def proposed(
    snapshot: Snapshot,
    source: Tree,
    after: Tree,
    decisions: Sequence[Decision],
    memo: Memo,
    metadata: bytes | None,
    planned: Callable[[Snapshot], Sequence[Decision]],
) -> Iterator[tuple[Decision, Changes]]:
    """Each move that waits for nothing but consent, with its changes of `after`, the deployment tree that the pass has made."""
    waiting = [decision.group for decision in decisions if decision.proposed]
    if not waiting:
        return
    unchanged = {d.group for d in decisions if d.before == d.after}
    records, _ = read_records(after, memo, [])
    then = replace(snapshot, deployment=after, records=records, reverted={}, merged={})
    for decision in planned(_agreed(snapshot, waiting)):
        begins = decision.action is Action.RELOCATE or decision.phase is not None
        if decision.group in waiting and decision.group in unchanged and begins:
            layout = Layout(then, source, memo)
            layout.apply(replace(decision, consent=""))
            changes = layout.take_changes(metadata)
            if changes:
                yield decision, changes


def _agreed(snapshot: Snapshot, groups: Sequence[str]) -> Snapshot:
    """The same fleet, with consent to whatever is proposed for some groups."""
    own = snapshot.source.own
    given = tuple(_consent(group, snapshot) for group in groups)
    return replace(snapshot, source=replace(snapshot.source, own=replace(own, approvals=(*own.approvals, *given))))


def _consent(group: str, snapshot: Snapshot) -> Consent:
    now = snapshot.now
    path, text = approval_file(
        group, "Move", to=None, now=now, expires=now + timedelta(hours=1), reason="", taken=snapshot.source.tree
    )
    document = Document(path, parse(text).documents[0], 0, lambda: text)
    approval = parse_own(document)
    assert isinstance(approval, Approval)
    return Consent(approval, document)
