"""The blast radius of an edit, for a terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE, problem_lines
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import problem_value, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.blasts import Blast, Touched
from gitplacer.plaintext import LONGEST_PATH, aligned, few, printable

FORMAT_VERSION = "1.0"


def blast_text(blast: Blast, options: Options) -> str:
    """Groups by policy, those that something happens to first."""
    lines: list[str] = []
    if blast.problems:
        told = (line for problem in blast.problems for line in problem_lines(problem))
        lines += [options.style("Errors", "red"), *(f"  {printable(line, LONGEST_SENTENCE)}" for line in told), ""]
    for policy, touched in _by_policy(blast).items():
        place = printable(blast.places.get(policy, ""), LONGEST_PATH)
        name = printable(policy) or "governed by no policy"
        lines += [options.style(f"{name}{f' ({place})' if place else ''}", "blue")]
        ordered = sorted(touched, key=lambda item: (item.fate is None and item.held is None, item.group))
        lines += aligned(
            [(f"{'→' if t.fate else '·' if t.held is None else '!'} {printable(t.group)}", _what(t)) for t in ordered]
        )
        lines.append("")
    return "\n".join([*lines, blast_summary(blast)]) + "\n"


def _by_policy(blast: Blast) -> Mapping[str, Sequence[Touched]]:
    found: dict[str, list[Touched]] = {}
    for item in blast.touched:
        found.setdefault(item.policy or item.governed, []).append(item)
    return dict(sorted(found.items()))


def _what(touched: Touched) -> str:
    return "; ".join(_parts(touched))


def _parts(touched: Touched) -> Iterator[str]:
    if touched.fate is not None:
        before, after = few(touched.before) or "—", few(touched.after) or "—"
        way = before if before == after else f"{before} → {after}"
        yield f"{touched.fate}: {way}, {touched.why}" if touched.why else f"{touched.fate}: {way}"
    elif touched.held:
        yield f"is held from now on: {touched.why}"
    elif touched.held is False:
        yield "is held no longer"
    if touched.policy != touched.governed:
        yield f"was governed by {printable(touched.governed) or 'no policy'}"
    if touched.gains:
        yield f"may go to {few(touched.gains)} now"
    if touched.loses:
        yield f"may not be on {few(touched.loses)} any more"
    if touched.rules:
        yield "other rules hold for it"


def blast_summary(blast: Blast) -> str:
    """One line that counts."""
    files = f"{len(blast.edited)} edited file{'s' * (len(blast.edited) != 1)}"
    number = len(blast.problems)
    errors = f"; it brings {number} error{'s' * (number > 1)}" if number else ""
    if not blast.touched:
        return f"No group is touched by {files}{errors}"
    share = f"{len(blast.touched)} of {blast.total} groups"
    later = len(blast.touched) - blast.moves
    return f"{share} touched by {files}: {blast.moves} at the next pass, {later} only later, if at all{errors}"


def blast_json(blast: Blast, inputs: Mapping[str, Any]) -> str:
    """A document of the kind Blast."""
    groups = [
        {
            "group": t.group,
            "policy": t.policy,
            "governedBefore": t.governed,
            "gains": list(t.gains),
            "loses": list(t.loses),
            "otherRules": t.rules,
            "held": t.held,
            "fate": None if t.fate is None else str(t.fate),
            "from": list(t.before),
            "to": list(t.after),
            "message": t.why,
        }
        for t in blast.touched
    ]
    document = {
        "apiVersion": API_VERSION,
        "kind": "Blast",
        "formatVersion": FORMAT_VERSION,
        "inputs": dict(inputs),
        "summary": {"groups": blast.total, "touched": len(blast.touched), "atNextPass": blast.moves},
        "edited": list(blast.edited),
        "problems": [problem_value(problem) for problem in blast.problems],
        "policies": dict(sorted(blast.places.items())),
        "groups": groups,
    }
    return to_json(document, indent=2)
