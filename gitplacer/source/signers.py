"""A commit of the source that does not count, as a problem of the Fleet that lists who may sign."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.model.signers import Flaw, Uncounted
from gitplacer.plaintext import printable
from gitplacer.problems import Location, Problem

_SHOWN = 12
_FLAWS: Mapping[Flaw, str] = {
    Flaw.UNSIGNED: "is signed by nobody",
    Flaw.OTHER_KEY: "is signed by no key that the Fleet lists",
    Flaw.DAMAGED: "has a signature that is not of it",
}


def uncounted_problem(found: Uncounted, place: Location) -> Problem:
    """What is wrong with it, and what the pass is made from instead. `place` is that of the Fleet."""
    came = f", which came with merge {found.brought_by[:_SHOWN]}," if found.brought_by else ""
    so = f"{found.counts[:_SHOWN]} is the newest commit that counts" if found.counts else "there is none that counts"
    message = f"commit {found.commit[:_SHOWN]} by {printable(found.author)}{came} {_FLAWS[found.flaw]}: {so}"
    hint = (
        "find out who pushed it; then write the commits since then anew, each signed with a key of spec.source.signers"
    )
    if found.counts:
        hint += f": git rebase --gpg-sign {found.counts[:_SHOWN]}, and push that"
    return Problem(place, "SourceNotSigned", message, hint)
