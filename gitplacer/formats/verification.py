"""`gitplacer verify`: each commit with its answer, and for one that is not proved, why and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import FORMAT_VERSION, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.audit import Answer, Checked, Discrepancy, Mismatch
from gitplacer.plaintext import aligned, counted, printable

_SAID: Mapping[Mismatch, str] = {
    Mismatch.PARENT: "it stands on {found}, and says that it stands on {expected}",
    Mismatch.DATE: "it was made at {found}, and says {expected}",
    Mismatch.FUTURE: "it says that it was computed at {found}, which is yet to come",
    Mismatch.BY_HAND: "what it says others did with {where} is not so: {found}",
    Mismatch.REFUSED: "no pass can be made of source commit {where}: {found}",
    Mismatch.STEPS: "the pass makes {expected} commits, and it says {found}",
    Mismatch.MESSAGE: "its message is not what the pass says",
    Mismatch.NOT_PROPOSED: "the pass that it names proposes no move of {where}",
    Mismatch.SOURCE_GONE: "source commit {where} is not to be had: {found}",
    Mismatch.CAPACITY_GONE: "capacity tree {where} is in neither repo",
    Mismatch.BASE_GONE: "deployment commit {where}, which it was computed from, is not in {found}",
    Mismatch.OBJECT_GONE: "an object is missing: {where}",
}
_ADVICE = "find out who made it; `gitplacer plan` shows what the next pass makes of it"
_COLOURS = {Answer.VERIFIED: "green", Answer.FOREIGN: "yellow", Answer.OTHER_VERSION: "yellow"}
_SHORT = 12


def sentence(wrong: Discrepancy) -> str:
    """In what a commit is not what it says, in one line."""
    fields = {name: getattr(wrong, name) for name in ("where", "expected", "found")}
    if wrong.mismatch is Mismatch.TRAILER:
        if not wrong.found:
            return f"it has no trailer {printable(wrong.where)}"
        return f"no pass writes a trailer like {printable(f'{wrong.where}: {wrong.found}', 300)}"
    if wrong.mismatch is Mismatch.FILE:
        return _file_sentence(wrong)
    if wrong.mismatch is Mismatch.SOURCE_GONE and not wrong.found.startswith("there is"):
        return f"source commit {printable(wrong.where)} is not in {printable(wrong.found, 300)}"
    return printable(_SAID[wrong.mismatch].format(**fields), LONGEST_SENTENCE)


def _file_sentence(wrong: Discrepancy) -> str:
    path = printable(wrong.where, LONGEST_SENTENCE)
    if wrong.expected and not wrong.found:
        return f"{path} is missing"
    if wrong.found and not wrong.expected:
        return f"{path} is one that the pass did not leave there"
    if wrong.expected != wrong.found:
        return f"{path} has mode {wrong.found} instead of {wrong.expected}"
    return f"{path} is not what the pass wrote"


def as_text(checked: Sequence[Checked], options: Options) -> str:
    """What is not proved, with why; everything if it is one commit or is asked for. The last line counts."""
    shown = [c for c in checked if options.verbose or len(checked) == 1 or c.answer is not Answer.VERIFIED]
    rows = aligned([_row(c) for c in shown], "")
    lines: list[str] = []
    for one, row in zip(shown, rows, strict=True):
        word = str(one.answer)
        told = (
            _details(one) if one.answer is not Answer.VERIFIED or one.consent or one.landed or len(checked) == 1 else ()
        )
        lines += [options.style(word, _COLOURS.get(one.answer, "red")) + row[len(word) :], *told]
    if len(checked) != 1:
        lines += [*([""] if lines else []), _counted(checked)]
    return "\n".join(lines) + "\n"


def _row(checked: Checked) -> tuple[str, ...]:
    step = f"step {checked.step}" if checked.step else f"by {printable(checked.author, 60)}"
    return str(checked.answer), checked.commit[:_SHORT], checked.date, step, printable(checked.subject, 200)


def _details(checked: Checked) -> Iterator[str]:
    wrong = checked.discrepancy
    if checked.answer is Answer.VERIFIED and checked.consent:
        yield f"  lets in the move of {printable(checked.consent)} that was proposed, and nothing else"
    elif checked.answer is Answer.FOREIGN and checked.consent:
        yield f"  merges a proposal to move {printable(checked.consent)}, with something else"
    elif checked.answer is Answer.FOREIGN and checked.reverts:
        yield f"  says that it reverts {checked.reverts[:_SHORT]}"
    elif checked.answer is Answer.FOREIGN and checked.squashed:
        yield "  no pass says that it made it; it looks like a pass or a proposal that was squashed, which nothing can prove"
        yield "  hint: let passes in by a merge commit or a rebase, and switch off squashing for the deployment repo"
    elif checked.answer is Answer.FOREIGN:
        yield "  no pass says that it made it"
    if checked.landed:
        yield f"  a pass that {printable(checked.landed, 60)} let in later than it was computed, and nothing else"
    if wrong is None and checked.source and not checked.consent:
        capacity = f"capacity {checked.capacity[:_SHORT]}" if checked.capacity else "no capacity"
        base = f"deployment {checked.base[:_SHORT]}" if checked.base else "an empty deployment"
        yield f"  from source {checked.source[:_SHORT]}, {capacity} and {base}, byte for byte"
    if wrong is None:
        return
    yield f"  {sentence(wrong)}"
    yield from (f"      {printable(line, 200)}" for line in wrong.excerpt)
    if wrong.hint:
        yield f"  hint: {printable(wrong.hint, LONGEST_SENTENCE)}"
    elif checked.answer is Answer.OTHER_VERSION:
        version = printable(checked.version)
        yield f"  hint: version {version} made it: pipx run gitplacer=={version} verify --commit {checked.commit[:_SHORT]} …"
    elif checked.answer is Answer.DIFFERS:
        yield f"  hint: {_ADVICE}"


def _counted(checked: Sequence[Checked]) -> str:
    counts = _summary(checked)
    parts = [f"{count} {answer}" for answer, count in counts.items() if count]
    return f"{counted(len(checked), 'commit')}{': ' + ', '.join(parts) if parts else ''}"


def _summary(checked: Sequence[Checked]) -> dict[str, int]:
    return {str(answer): sum(c.answer is answer for c in checked) for answer in Answer}


def as_json(checked: Sequence[Checked], options: Options) -> str:
    """All commits, the oldest first."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "Verification",
        "formatVersion": FORMAT_VERSION,
        "summary": _summary(checked),
        "commits": [_value(one) for one in checked],
    }
    return to_json(document, indent=2)


def _value(checked: Checked) -> dict[str, Any]:
    wrong = checked.discrepancy
    return {
        "commit": checked.commit,
        "answer": str(checked.answer),
        "subject": checked.subject,
        "author": checked.author,
        "date": checked.date,
        "version": checked.version or None,
        "step": checked.step or None,
        "inputs": {
            "source": checked.source or None,
            "capacity": checked.capacity or None,
            "deployment": checked.base or None,
        },
        "consent": checked.consent or None,
        "reverts": checked.reverts or None,
        "landed": checked.landed or None,
        "squashed": checked.squashed,
        "reason": None
        if wrong is None
        else {
            "code": str(wrong.mismatch),
            "where": wrong.where or None,
            "message": sentence(wrong),
            "excerpt": list(wrong.excerpt),
            "hint": wrong.hint or None,
        },
    }


VERIFICATION_FORMATS: Mapping[str, Callable[[Sequence[Checked], Options], str]] = {"text": as_text, "json": as_json}
"""Of what `verify` found."""
