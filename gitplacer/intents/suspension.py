"""
Pausing and resuming apps: the one field that their controller listens to, set in the manifest.

Each sized kind says in the table of kinds which field that is, if it has one. What is written is a splice, so that the
reviewer sees a line and no more. The edited object is read again before it is believed: a field that its version does not
have leaves its pods where they are, and then nothing is written for it.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from gitplacer import pathglob, workloads
from gitplacer.documents import Document, Edit, EditError, parse, splice
from gitplacer.grouping import Group
from gitplacer.kinds.selectors import LabelSelector
from gitplacer.model.workload import Identity
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.tree import Changes
from gitplacer.workloads.facts import ObjectFacts, Switch, at


class Selection(Struct, frozen=True):
    """Which groups: every condition given must hold. `groups` are patterns of ids; `labels` of any object that has pods."""

    groups: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    labels: LabelSelector = field(default_factory=LabelSelector)

    def takes(self, group: Group) -> bool:
        if self.groups and not pathglob.matches_any(self.groups, group.id):
            return False
        if self.namespaces and not pathglob.name_matches_any(self.namespaces, group.namespace):
            return False
        policy = group.policy.name if group.policy else ""
        if self.policies and not pathglob.name_matches_any(self.policies, policy):
            return False
        return not self.labels.requirements() or any(self.labels.unmet(item.labels) is None for item in group.sized)


class Outcome(enum.StrEnum):
    """What came of one object."""

    SET = "Set"
    ALREADY = "Already"
    NO_SWITCH = "NoSwitch"  # its kind cannot be suspended
    WITHOUT_EFFECT = "WithoutEffect"  # its version does not have the field
    NOT_SERVED = "NotServed"  # a cluster that has it does not know the field
    NOT_WRITABLE = "NotWritable"


class Told(Struct, frozen=True):
    """What came of one object, and why, as the end of a sentence."""

    group: str
    identity: Identity
    outcome: Outcome
    why: str = ""


class Switching(Struct, frozen=True):
    """Changes to the source, and what came of each object with pods."""

    changes: Changes
    told: tuple[Told, ...]


def selected(snapshot: Snapshot, selection: Selection) -> list[Group]:
    """The groups of workloads that a selection takes, by id. What is platform is not suspended."""
    return [g for _, g in sorted(snapshot.groups.items()) if g.unit == WORKLOADS and selection.takes(g)]


def switched(snapshot: Snapshot, groups: Iterable[Group], *, suspend: bool) -> Switching:
    """The groups suspended or resumed."""
    told: list[Told] = []
    edits: dict[str, dict[tuple[int, int], list[Edit]]] = defaultdict(lambda: defaultdict(list))
    for group in groups:
        for item in group.sized:
            found = _switched(snapshot, group, item, suspend=suspend)
            if isinstance(found, Edit):
                parsed = item.document.parsed
                edits[item.path][parsed.start, parsed.end].append(found)
                found = Told(group.id, item.identity, Outcome.SET)
            told.append(found)
    tree = snapshot.source.tree
    return Switching(Changes({p: _spliced(tree.read(p), e) for p, e in sorted(edits.items())}), tuple(told))


def _spliced(data: bytes, edits: dict[tuple[int, int], list[Edit]]) -> bytes:
    """A file with edits in some of its documents, each given by where it stands; the last first, so that places stay right."""
    for (start, end), found in sorted(edits.items(), reverse=True):
        data = data[:start] + splice(data[start:end], found) + data[end:]
    return data


def _switched(snapshot: Snapshot, group: Group, item: SourceObject, *, suspend: bool) -> Edit | Told:
    """The edit of one object, or why there is none."""
    kind = workloads.kind_of(item.identity[:2], snapshot.source.declarations.kinds)
    if kind is None or kind.switch is None:
        why = (
            "cannot be suspended: its kind has no field for that" if suspend else "is of a kind that is never suspended"
        )
        return Told(group.id, item.identity, Outcome.NO_SWITCH, why)
    switch = kind.switch
    if (at(item.document.value, switch.path) == switch.on) is suspend:
        why = "is suspended already" if suspend else "is not suspended"
        return Told(group.id, item.identity, Outcome.ALREADY, why)
    if suspend and switch.unless and at(item.document.value, switch.unless):
        why = f"cannot be suspended: it is refused beside {switch.unless[-1]}"
        return Told(group.id, item.identity, Outcome.NO_SWITCH, why)
    edit = _edit(item, switch, suspend)
    try:
        facts = _facts_after(snapshot, item, edit)
    except EditError as error:
        return Told(group.id, item.identity, Outcome.NOT_WRITABLE, error.message)
    if suspend and facts.gang:
        why = f"would run on: {item.api_version} has no such field, or another controller has it"
        return Told(group.id, item.identity, Outcome.WITHOUT_EFFECT, why)
    unmet = _not_served(snapshot, group, item, facts)
    if suspend and unmet:
        return Told(group.id, item.identity, Outcome.NOT_SERVED, unmet)
    return Edit((*item.document.parsed.prefix, *edit.path), edit.op, edit.value)


def _edit(item: SourceObject, switch: Switch, suspend: bool) -> Edit:
    if suspend or switch.off is not None:
        return Edit(switch.path, "add", switch.on if suspend else switch.off)
    return Edit(switch.path, "remove")


def _facts_after(snapshot: Snapshot, item: SourceObject, edit: Edit) -> ObjectFacts:
    """What the object is after the edit. Raises EditError."""
    text = item.document.edited([edit])
    documents = parse(text).documents
    document = Document(item.path, documents[0], 0, lambda: text)
    return workloads.read(document, declared=snapshot.source.declarations.kinds)[0]


def _not_served(snapshot: Snapshot, group: Group, item: SourceObject, facts: ObjectFacts) -> str:
    """Why a cluster that has the group would not act on the edited object, or ''."""
    record = snapshot.predecessor(group)
    new: Sequence[workloads.Demand] = [demand for demand in facts.demands if demand not in item.facts.demands]
    for entry in record.clusters if record is not None else ():
        profile = snapshot.profiles.get(entry.name)
        words = next((words for demand in new if profile and (words := profile.unmet(demand))), None)
        if words:
            return f"would run on: on {entry.name} that {words}"
    return ""
