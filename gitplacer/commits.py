"""
What a commit of a pass says: a sentence for people, trailers for programs.

The trailers name every input of the pass, so that the commit can be recomputed from the repos alone. One value for
each line, and nothing in it that came from a manifest without having been checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.model.decision import Action, Decision, Phase
from gitplacer.plaintext import UNSEEN, few

if TYPE_CHECKING:
    from gitplacer.explain import PlanView

PREFIX = "Gitplacer-"
FOREIGN = "Gitplacer-Foreign"
REVERTED = "Gitplacer-Reverted"
MERGED = "Gitplacer-Merged"
PROPOSED = "Gitplacer-Proposed"
CO_AUTHOR = "Co-authored-by"
"""The trailer by which hosts show who else has made a commit."""

_VERBS = (
    (Action.PLACE, "place"),
    (Action.EXTEND, "extend"),
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
_NAMED = re.compile(rf"^{CO_AUTHOR}: *(.*)$", re.MULTILINE | re.IGNORECASE)
_PERSON = re.compile(r"(?P<name>[^<>\s][^<>]*?) *<(?P<mail>[^<>\s@]+@[^<>\s@]+)>")
_LONGEST_PERSON = 200
_CO_AUTHORS = 10
LISTED = 50
"""Groups named in a commit's body; the trailers and files tell the rest."""


class PassTrailers(Struct, frozen=True, kw_only=True):
    """The inputs of a pass as its commits name them."""

    source: str
    capacity: str
    base: str
    now: datetime
    version: str
    foreign: Mapping[str, str]
    reverted: Mapping[str, RevertedMove]
    merged: Mapping[str, MergedMove]

    def lines(self, step: int, steps: int) -> list[str]:
        """
        One line for each input. Foreign changes are carried along with what we had written there, so that they are
        not forgotten under our own commits and end by being undone; so are reverts and merges of relocations.
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
        lines += [f"{FOREIGN}: {oid or 'none'} {_on_a_line(path)}" for path, oid in sorted(self.foreign.items())]
        lines += [f"{REVERTED}: {group} {_reverted(move)}" for group, move in sorted(self.reverted.items())]
        return lines + [f"{MERGED}: {group} {_merged(move)}" for group, move in sorted(self.merged.items())]


def _on_a_line(path: str) -> str:
    """A path so that it is one line and comes back as it was: quoted where it could be taken for something else."""
    odd = path != path.strip() or path.startswith('"') or UNSEEN.search(path)
    return json.dumps(path) if odd else path


def foreign_path(text: str) -> str:
    """The path that `PassTrailers` wrote on a line; '' for what it never would have written."""
    if not text.startswith('"'):
        return text
    try:
        path = json.loads(text)
    except ValueError:
        return ""
    return path if isinstance(path, str) else ""


def _reverted(move: RevertedMove) -> str:
    epochs = ",".join(f"{cluster}/{unit}:{epoch}" for cluster, unit, epoch in move.epochs)
    words = [_landed(move), f"left={','.join(move.left)}"]
    words += [f"epochs={epochs}"] if epochs else []
    return " ".join(words + ([f"approvals={','.join(move.approvals)}"] if move.approvals else []))


def _merged(move: MergedMove) -> str:
    return f"{_landed(move)} proposed={move.proposed_at:%Y-%m-%dT%H:%M:%SZ}"


def _landed(move: RevertedMove | MergedMove) -> str:
    return f"commit={move.commit} at={move.at:%Y-%m-%dT%H:%M:%SZ}"


def relocation_message(decision: Decision, view: PlanView) -> tuple[str, str, list[str]]:
    """Subject, body and own trailers of the commit that moves one group."""
    from gitplacer.explain import sentence  # which takes a while; many only read trailers
    from gitplacer.placement.wakes import woken_for

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
    woken = woken_for({outcome.cluster: outcome for outcome in view.sleepers}, decision)
    why = sentence(decision, view) + "".join(f"; {name} wakes" for name in woken)
    return subject, why[:1].upper() + why[1:], trailers


def rest_message(
    decisions: Sequence[Decision], view: PlanView, started: Collection[str], waiting: Mapping[str, str]
) -> tuple[str, str, list[str]]:
    """
    Subject and body of the commit that carries out everything of a pass that is no relocation. `started` are clusters
    whose directories it begins, and `waiting` others that wait, by id, as for `updates_message`.
    """
    from gitplacer.explain import cluster_change, sentence
    from gitplacer.placement.wakes import woken_for

    parts = []
    outcomes = {outcome.cluster: outcome for outcome in view.sleepers}
    for action, verb in _VERBS:
        groups = [d.group for d in decisions if _done(d) is action and not _loses_a_copy(d)]
        groups += waiting if action is Action.WAIT else ()
        if groups:
            parts.append(f"{verb} {_counted(groups, 'groups')}")
    lessened = [d.group for d in decisions if _loses_a_copy(d)]
    if lessened:
        parts.append(f"remove a copy of {_counted(lessened, 'groups')}")
    woken = {name for d in decisions if d.action is Action.RELOCATE for name in woken_for(outcomes, d)}
    changed = [outcome for name, outcome in outcomes.items() if name not in woken and cluster_change(outcome)]
    for said, some in (
        ("wake {}", [o.cluster for o in changed if o.wakes and o.groups]),
        ("put {} to sleep", [o.cluster for o in changed if o.sleeps]),
        ("count {} as awake", [o.cluster for o in changed if o.came]),
    ):
        parts += [said.format(few(some))] if some else []
    if not parts and started:
        parts.append(f"begin the directories of {few(sorted(started))}")
    subject = ", ".join(parts) or "update records"
    told = {d.group: d for d in decisions if _done(d) in dict(_VERBS)}
    groups = sorted([*told, *waiting])
    words = {group: sentence(told[group], view) if group in told else waiting[group] for group in groups[:LISTED]}
    lines = _listed(groups, words)
    lines += [f"- cluster {outcome.cluster} {cluster_change(outcome)}" for outcome in changed]
    return subject[0].upper() + subject[1:], "\n".join(lines), []


def who_waits(view: PlanView) -> Mapping[str, str]:
    """The groups that wait, of which every commit tells, by id: the first with what is said of them."""
    from gitplacer.explain import sentence

    found = [decision for decision in view.plan.decisions if decision.action is Action.WAIT]
    return {d.group: sentence(d, view) if number < LISTED else "" for number, d in enumerate(found)}


def updates_message(updated: Mapping[str, str], waiting: Mapping[str, str]) -> tuple[str, str, list[str]]:
    """
    The same of a pass that does nothing but update some groups, while others wait, by id. Each comes with its sentence; of those that wait
    only the first have to, of which a commit tells.
    """
    verbs = dict(_VERBS)
    some = ((Action.UPDATE, updated), (Action.WAIT, waiting))
    subject = ", ".join(f"{verbs[action]} {_counted([*said], 'groups')}" for action, said in some if said)
    told = dict(sorted({**waiting, **updated}.items()))
    return subject[0].upper() + subject[1:], "\n".join(_listed([*told], told)), []


def _listed(groups: Sequence[str], said: Mapping[str, str]) -> list[str]:
    """A line for each of the first groups with its sentence, and how many more there are."""
    more = [f"- and {len(groups) - LISTED} more"] if len(groups) > LISTED else []
    return [f"- {group}: {said[group]}" for group in groups[:LISTED]] + more


def co_authors(author: str, body: str) -> list[str]:
    """
    A trailer for the author of a source commit, and one for each whom its message names beside, as `Name <mail>`. Both come from
    outside: what is no name and address on a line, or holds what cannot be seen, is nobody.
    """
    people: dict[str, str] = {}
    for text in (author, *_NAMED.findall(body)):
        # Its length comes first: where many spaces end in no address, the pattern takes the square of their number.
        found = _PERSON.fullmatch(text.strip()) if len(text) <= _LONGEST_PERSON else None
        if found and not UNSEEN.search(text):
            people.setdefault(found["mail"].lower(), f"{CO_AUTHOR}: {found['name']} <{found['mail']}>")
    return list(people.values())[:_CO_AUTHORS]


def _done(decision: Decision) -> Action:
    """What a commit calls a decision: a hold whose files change is an update to whoever reads the log."""
    return Action.UPDATE if decision.writes else decision.action


def _loses_a_copy(decision: Decision) -> bool:
    """Whether a group leaves clusters and stays on others."""
    return decision.action is Action.REMOVE and bool(decision.after)


def _counted(names: Sequence[str], many: str) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} {many}"


def whole_message(subject: str, body: str, trailers: Sequence[str]) -> str:
    """A commit message; git takes the last paragraph for the trailers."""
    return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"
