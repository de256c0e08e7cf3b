"""What `suspend` and `resume` do: one field of each object that has pods, in the manifests of the groups that are selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitplacer.cli.completing import namespaces, policies, several_groups

if TYPE_CHECKING:
    from gitplacer.hydrate import Hydration
    from gitplacer.intents.suspension import Selection, Told
    from gitplacer.kinds.selectors import LabelSelector
    from gitplacer.passes.looking import Rehearsal
    from gitplacer.tree import Changes

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("groups", shell_complete=several_groups),
    click.option("--namespace", "namespaces", metavar="GLOB", shell_complete=namespaces, multiple=True, help="Only groups of such a namespace."),
    click.option("--selector", "labels", metavar="LABELS", help="Only groups with such labels, as kubectl's -l: a=b,c!=d,e."),
    click.option("--policy", "policies", metavar="GLOB", shell_complete=policies, multiple=True, help="Only groups that such a policy governs."),
)  # fmt: skip


def selecting(command: Command) -> Command:
    """GROUPS, and the options that narrow them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def switch(
    groups: str, *, suspend: bool, namespaces: tuple[str, ...], labels: str | None, policies: tuple[str, ...],
    reason: str, branch: str | None, as_patch: bool, **where: Any,
) -> None:  # fmt: skip
    """Write the manifests, or raise UsageError if there is nothing to write or it would do harm."""
    from gitplacer.cli.intending import Intent
    from gitplacer.intents.suspension import Outcome, Selection, selected, switched
    from gitplacer.settings import UsageError

    patterns = tuple(part.strip() for part in groups.split(",") if part.strip())
    selection = Selection(patterns, namespaces, policies, label_selector(labels, "--selector"))
    intent = Intent(where, branch=branch, as_patch=as_patch)
    told: list[Told] = []

    def change(before: Hydration) -> Changes:
        found = selected(before.snapshot, selection)
        if not found:
            raise UsageError("no group is selected", _hint(before, selection))
        made = switched(before.snapshot, found, suspend=suspend)
        told.extend(made.told)
        return made.changes

    done = intent.rehearse(change)
    lines = [_line(item, suspend) for item in told]
    if done.after is None:
        for line in lines:
            click.echo(line, err=True)
        if any(item.outcome is not Outcome.ALREADY for item in told):
            raise UsageError(
                "nothing of it can be " + ("suspended" if suspend else "resumed"), "the lines above say why"
            )
        return
    _refuse_errors(done)
    names = sorted({item.group for item in told if item.outcome is Outcome.SET})
    verb = "Suspend" if suspend else "Resume"
    intent.write(
        done, f"{verb} {names[0] if len(names) == 1 else f'{len(names)} groups'}", _body(reason, names), told=lines
    )


def _body(reason: str, names: list[str]) -> str:
    listed = "\n".join(f"- {name}" for name in names) if len(names) > 1 else ""
    return "\n\n".join(part for part in (reason, listed) if part)


def label_selector(text: str | None, option: str) -> LabelSelector:
    """A selector as kubectl's -l takes it: `a=b`, `a!=b`, `a in (b, c)`, `a notin (b)`, `a`, `!a`."""
    import re

    from pydantic import ValidationError

    from gitplacer.kinds.selectors import LabelRequirement, LabelSelector
    from gitplacer.settings import UsageError

    found = []
    for part in re.findall(r"(?:[^,(]|\([^)]*\))+", text or ""):
        match = re.fullmatch(r"\s*(!?)\s*([^\s=!]+)\s*(?:(==?|!=|\bin\b|\bnotin\b)\s*(\([^)]*\)|[^\s()]*))?\s*", part)
        try:
            if match is None or (match[1] and match[3]):
                raise ValueError
            values = tuple(value.strip() for value in (match[4] or "").strip("()").split(",")) if match[3] else ()
            operator = {"in": "In", "=": "In", "==": "In", "!=": "NotIn", "notin": "NotIn"}.get(match[3] or "")
            operator = operator or ("DoesNotExist" if match[1] else "Exists")
            found.append(LabelRequirement.model_validate({"key": match[2], "operator": operator, "values": values}))
        except (ValueError, ValidationError):
            hint = "write it like kubectl's -l: app=web,tier!=test,team"
            raise UsageError(f"{option} {part.strip()} is no condition on a label", hint) from None
    return LabelSelector(match_expressions=tuple(found))


def _hint(before: Hydration, selection: Selection) -> str:
    from gitplacer import pathglob
    from gitplacer.kinds.nearlabels import near_label
    from gitplacer.problems import meant, nearest

    known = [g.id for g in before.snapshot.groups.values()]
    named = next(filter(pathglob.is_plain, selection.groups), None)
    if named is not None:
        return nearest(named, known)
    if any("/" not in group for group in selection.groups):
        return 'a group is called <namespace>/<name>, and a wildcard stays within either: "*/*" is all of them'
    own = before.snapshot.source.own
    for words, names in (
        (selection.namespaces, {g.namespace for g in before.snapshot.groups.values()}),
        (selection.policies, {policy.name for policy in own.policies}),
    ):
        for word in words:
            if word not in names and (hint := meant(word, names)):
                return hint
    labels = (dict(m.labels) for g in before.snapshot.groups.values() for m in g.members)
    return near_label(selection.labels.requirements(), labels) or "gitplacer status lists all groups"


def _line(item: Told, suspend: bool) -> str:
    from gitplacer.intents.suspension import Outcome
    from gitplacer.plaintext import printable

    words = ("is suspended" if suspend else "is resumed") if item.outcome is Outcome.SET else item.why
    return printable(f"{item.group}: {item.identity} {words}", 2000)


def _refuse_errors(done: Rehearsal) -> None:
    """Raise if an object is refused with the change that was not refused before it."""
    from gitplacer.cli.progress import show_problems
    from gitplacer.problems import Severity
    from gitplacer.settings import UsageError

    assert done.after is not None
    files = done.changes.written.keys()
    known = {(p.location.file, p.code, p.message) for p in done.before.problems}
    new = [p for p in done.after.problems if p.location.file in files]
    new = [p for p in new if (p.location.file, p.code, p.message) not in known]
    show_problems(new)
    if any(problem.severity is Severity.ERROR for problem in new):
        raise UsageError("an object would be refused, so nothing is written", "mend it first, or select less")
