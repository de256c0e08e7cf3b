"""What `move` and `return` do: an Approval for one group, once a plan has shown that it leads somewhere."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitplacer.explain import PlanView
    from gitplacer.hydrate import Hydration
    from gitplacer.kinds.approval import ApprovedAction
    from gitplacer.model.decision import Decision
    from gitplacer.snapshot import Snapshot
    from gitplacer.tree import Changes


def approve(
    group: str, action: ApprovedAction, to: str | None, *, lasting: timedelta, reason: str, branch: str | None,
    as_patch: bool, where: dict[str, Any],
) -> None:  # fmt: skip
    """Write the Approval, or raise UsageError with the reason why the group would not go there."""
    import click

    from gitplacer.cli.intending import Intent
    from gitplacer.explain import sentence
    from gitplacer.intents.approval import approval_file, standing_approval
    from gitplacer.plaintext import printable

    intent = Intent(where, branch=branch, as_patch=as_patch)
    now = intent.settings.now

    def change(before: Hydration) -> Changes:
        from gitplacer.tree import Changes

        there = to or _whence(before, group)
        _refuse_early(before, group, there)
        if there in _decision(before.view, group).after and standing_approval(before.snapshot, group, action, to):
            return Changes()
        path, text = approval_file(
            group, action, to=to, now=now, expires=now + lasting, reason=reason, taken=before.snapshot.source.tree
        )
        return Changes({path: text})

    done = intent.rehearse(change, about=[group], once_read=partial(_refuse_unknown, group, to))
    if done.after is None:
        for line in _standing(done.before, group, action, to):
            click.echo(printable(line, 2000), err=True)
        return
    [path] = done.changes.written
    _refuse_bad_file(done.after, path)
    after = _decision(done.after.view, group)
    _refuse_standing(done.after.view, after, to or _whence(done.before, group))
    body = printable(f"{group} {sentence(after, done.after.view)}", 2000)
    verb = f"move of {group} to {to}" if to else f"return of {group}"
    intent.write(done, f"Approve the {verb}", "\n\n".join(part for part in (reason, body) if part), told=[body])


def _standing(before: Hydration, group: str, action: ApprovedAction, to: str | None) -> tuple[str, str]:
    """That the group goes there already, by which Approval and until when, and what to do for it to last longer."""
    from gitplacer.explain import sentence
    from gitplacer.intents.approval import standing_approval
    from gitplacer.plaintext import rfc3339

    item = standing_approval(before.snapshot, group, action, to)
    assert item is not None
    ends, path = rfc3339(item.approval.spec.expires), item.document.file
    return (
        f"{group} {sentence(_decision(before.view, group), before.view)}",
        f"It is approved already, until {ends}: gitplacer reconcile carries it out once it is pushed; {path} may get a later `expires`",
    )


def _refuse_unknown(group: str, to: str | None, snapshot: Snapshot) -> None:
    """What takes no plan to refuse: a group or a cluster that is not there."""
    from gitplacer.explain import NoSuchGroup, refuse_unknown
    from gitplacer.problems import nearest
    from gitplacer.settings import UsageError

    try:
        refuse_unknown(group, snapshot)
    except NoSuchGroup as error:
        raise UsageError(str(error), error.hint) from None
    clusters = snapshot.source.own.clusters
    if to is not None and to not in clusters:
        raise UsageError(f"there is no cluster {to}", nearest(to, clusters))


def _decision(view: PlanView, group: str) -> Decision:
    from gitplacer.explain import NoSuchGroup
    from gitplacer.settings import UsageError

    try:
        return view.decision(group)
    except NoSuchGroup as error:
        raise UsageError(str(error), error.hint) from None


def _whence(before: Hydration, group: str) -> str:
    """The cluster that a group came from, which is where an Approval of its return sends it; '' for one that is nowhere."""
    from gitplacer.plaintext import few
    from gitplacer.settings import UsageError

    if not _decision(before.view, group).before:
        return ""
    record, clusters = before.snapshot.records.get(group), before.snapshot.source.own.clusters
    if record is None or not record.moves:
        raise UsageError(
            f"{group} has nowhere to return to: its record knows of no relocation", "use gitplacer move --to"
        )
    left = record.moves[-1].source
    there = [name for name in left if name in clusters]
    if len(there) != 1:
        why = f"it left {few(left)}" if there else f"{few(left)} is no cluster of this fleet any more"
        raise UsageError(f"{group} has no one cluster to return to: {why}", "use gitplacer move --to")
    return there[0]


def _refuse_early(before: Hydration, group: str, to: str) -> None:
    """What no Approval could change."""
    from gitplacer.settings import UsageError

    decision = _decision(before.view, group)
    if not decision.before:
        raise UsageError(f"{group} is not placed anywhere", f"gitplacer explain {group} says what it waits for")
    if to in decision.before:
        raise UsageError(f"{group} is on {to} already", "nothing to do")


def _refuse_bad_file(after: Hydration, path: str) -> None:
    """An Approval that would not be read as one: its reason is too long, or the Fleet takes its path for a workload's."""
    from gitplacer.settings import UsageError

    if any(consent.document.file == path for consent in after.snapshot.source.own.approvals):
        return
    found = next((problem for problem in after.problems if problem.location.file == path), None)
    if found is None:
        raise UsageError(
            f"an Approval at {path} would not be read", "gitplacer reads files of every directory that is not hidden"
        )
    raise UsageError(f"the Approval would be refused: {found.message}", found.hint)


def _refuse_standing(view: PlanView, after: Decision, to: str) -> None:
    """Raise unless with the Approval the group goes where it is to go."""
    from gitplacer.explain import sentence, verdict_text
    from gitplacer.model.decision import Verdict
    from gitplacer.settings import UsageError

    goes = set(after.after) - set(after.before)
    if to in goes:
        return
    candidate = next((c for c in after.candidates if c.cluster == to), None)
    if candidate is not None and candidate.verdict is Verdict.REJECTED:
        raise UsageError(
            f"{after.group} cannot go to {to}: {verdict_text(candidate, after, view)}",
            f"gitplacer explain {after.group} shows every cluster",
        )
    what = f"would not go to {to}, but {sentence(after, view)}" if goes else f"would not move: {sentence(after, view)}"
    raise UsageError(f"{after.group} {what}", f"gitplacer explain {after.group}")
