"""
What a commit of a pass says: a sentence for people, trailers for programs.

The trailers name every input of the pass, so that the commit can be recomputed from the repos alone. One value for
each line, and nothing in it that came from a manifest without having been checked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitplacer.explain import PlanView, sentence
from gitplacer.model.decision import Action, Decision, Phase
from gitplacer.plaintext import few

PREFIX = "Gitplacer-"
FOREIGN = "Gitplacer-Foreign"

_VERBS = (
    (Action.PLACE, "place"),
    (Action.UPDATE, "update"),
    (Action.REMOVE, "remove"),
    (Action.PREEMPT, "preempt"),
    (Action.WAIT, "let wait"),
)
_SUBJECTS: Mapping[Phase | None, str] = {
    None: "Relocate {group} from {gone} to {come}",
    Phase.ADD: "Relocate {group} from {gone} to {come}: add to {come}",
    Phase.REMOVE: "Relocate {group} from {gone} to {come}: remove from {gone}",
    Phase.ABORT: "Relocate {group} from {gone} to {come}: take back from {come}",
    Phase.LEAVE: "Relocate {group} from {gone} to {come}: remove from {gone}",
    Phase.ARRIVE: "Relocate {group} from {gone} to {come}: add to {come}",
}
_LISTED = 50
"""Groups named in a commit's body; the trailers and files tell the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTrailers:
    """The inputs of a pass as its commits name them."""

    source: str
    capacity: str
    base: str
    now: datetime
    version: str
    foreign: Mapping[str, str]

    def lines(self, step: int, steps: int) -> list[str]:
        """
        One line for each input. Foreign changes are carried along with what we had written there, so that they are
        not forgotten under our own commits and end by being undone.
        """
        fields: Mapping[str, str] = {
            "Source": self.source,
            "Capacity": self.capacity,
            "Base": self.base,
            "Step": f"{step}/{steps}",
            "Now": f"{self.now:%Y-%m-%dT%H:%M:%SZ}",
            "Version": self.version,
        }
        lines = [f"{PREFIX}{key}: {value}" for key, value in fields.items() if value]
        return [*lines, *(f"{FOREIGN}: {oid or 'none'} {path}" for path, oid in sorted(self.foreign.items()))]


def relocation_message(decision: Decision, view: PlanView) -> tuple[str, str, list[str]]:
    """Subject, body and own trailers of the commit that moves one group."""
    gone = sorted(set(decision.before) - set(decision.after))
    come = sorted(set(decision.after) - set(decision.before))
    move = decision.move or decision.moving
    if decision.phase is not None and move is not None:
        gone, come = list(move.sources), sorted(set(move.targets) | set(come))
    elif decision.phase is not None:  # it began in this pass, and the copies that stay were seen ready already
        come = sorted(decision.after)
    subject = _SUBJECTS[decision.phase].format(group=decision.group, gone=", ".join(gone), come=", ".join(come))
    trailers = [
        f"Gitplacer-Group: {decision.group}",
        f"Gitplacer-From: {', '.join(gone)}",
        f"Gitplacer-To: {', '.join(come)}",
        f"Gitplacer-Reason: {decision.finding.code}",
    ]
    if decision.phase is not None:
        trailers.append(f"Gitplacer-Phase: {decision.phase}")
    why = sentence(decision, view)
    return subject, why[:1].upper() + why[1:], trailers


def rest_message(decisions: Sequence[Decision], view: PlanView, started: Collection[str]) -> tuple[str, str, list[str]]:
    """
    Subject and body of the commit that carries out everything of a pass that is no relocation. `started` are clusters
    whose directories it begins.
    """
    parts = []
    for action, verb in _VERBS:
        groups = [d.group for d in decisions if d.action is action]
        if groups:
            parts.append(f"{verb} {groups[0] if len(groups) == 1 else f'{len(groups)} groups'}")
    if not parts and started:
        parts.append(f"begin the directories of {few(sorted(started))}")
    subject = ", ".join(parts) or "update records"
    told = [d for d in decisions if d.action in dict(_VERBS)]
    lines = [f"- {d.group}: {sentence(d, view)}" for d in told[:_LISTED]]
    if len(told) > _LISTED:
        lines.append(f"- and {len(told) - _LISTED} more")
    return subject[0].upper() + subject[1:], "\n".join(lines), []


def whole_message(subject: str, body: str, trailers: Sequence[str]) -> str:
    """A commit message; git takes the last paragraph for the trailers."""
    return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"
