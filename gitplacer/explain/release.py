"""What lets a group go that is held, where somebody can say so: the field, the command or the commit."""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.explain.decisions import place
from gitplacer.explain.view import PlanView
from gitplacer.explain.words import with_place
from gitplacer.grouping import RELOCATION_ANNOTATION
from gitplacer.kinds.record import RECORDS
from gitplacer.model.decision import Action, Decision, Reason
from gitplacer.relocation.silence import silent_clusters


def release_text(decision: Decision, view: PlanView) -> str:
    """What would end a hold, as a clause, not yet safe to print; '' where it ends by itself or by what its reason names."""
    group, policy = view.group(decision), view.policy(decision)
    if decision.action is not Action.HOLD or group is None or policy is None:
        return ""
    rule = with_place(f"policy {policy.name}", place(view, "PlacementPolicy", policy.name))
    match decision.finding.code:
        case Reason.MAY_HAVE_STARTED if not decision.ended:
            needed = [f"relocation.runningJobs: Restart of {rule}"] * (policy.spec.relocation.running_jobs == "Never")
            needed += map(_LOST.format, _silent(decision, view))
            return _jointly(needed, "it leave; then it starts from the beginning elsewhere")
        case Reason.NEVER_RELOCATED if group.never_relocates:
            return f"take the annotation {RELOCATION_ANNOTATION}: Never away"
        case Reason.NEVER_RELOCATED:
            return f"relocation.when.{decision.finding.subject} of {rule} lets it leave, or `gitplacer move {group.id} --to CLUSTER`"
        case Reason.AWAITS_APPROVAL:
            return f"`gitplacer move {group.id} --to CLUSTER`, or merge the branch on which the move is proposed"
        case Reason.COOLING_DOWN | Reason.BACKING_OFF | Reason.FROZEN:
            return f"`gitplacer move {group.id} --to CLUSTER` moves it before that"
        case Reason.UPDATE_HELD:
            return f"update.ifNotFit of {rule}: Relocate moves it with the edit, Proceed writes the edit and lets pods wait"
        case Reason.BROKEN_RECORD:
            return f"restore what cannot be read below {RECORDS}/ in the deployment repo, from the history there"
        case Reason.FOREIGN_CHANGE:
            return "take the change back in the deployment repo, with git revert; what is meant to stay belongs into the source"
    return ""


_LOST = "state: Lost of Cluster {}, if nothing runs there any more,"


def _jointly(needed: Sequence[str], what: str) -> str:
    """All that is needed to let something happen; '' where nothing helps."""
    return f"{', and '.join(needed)} {'let' if len(needed) > 1 else 'lets'} {what}" if needed else ""


def _silent(decision: Decision, view: PlanView) -> list[str]:
    """The clusters of a group that nobody has heard of for long, and nobody calls lost."""
    silent = silent_clusters(view.snapshot)
    return [name for name in decision.before if name in silent and view.clusters[name].spec.state != "Lost"]
