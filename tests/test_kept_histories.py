"""
The pasts that past versions made, as they were: what verified then verifies now, or is put down to the version that made it.

A version that was released may be computed otherwise by a later one, but it never becomes a lie.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitplacer import __version__
from gitplacer.audit.verifying import verify_history
from gitplacer.formats.verification import sentence
from gitplacer.model.audit import Answer
from gitplacer.settings import settings
from tests import make_history
from tests.fleetrepos import silently

VERSIONS = sorted(path for path in make_history.KEPT.iterdir() if path.is_dir())
AGAIN = (
    "this version computes something else than it did; if that is meant: GITPLACER_UPDATE_GOLDEN=1, and read the diff"
)


def test_the_present_version_has_its_history() -> None:
    assert __version__ in {path.name for path in VERSIONS}, "make it: python -m tests.make_history"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_a_kept_history_is_proved_or_put_down_to_its_version(version: Path, tmp_path: Path) -> None:
    if os.environ.get("GITPLACER_UPDATE_GOLDEN") and version.name == __version__:
        (tmp_path / "told").mkdir()
        make_history.write(make_history.exported(tmp_path / "told"))
    fleet = make_history.imported(version, tmp_path)
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2027-01-01T00:00:00Z")
    found = verify_history(chosen, None, 1, silently)
    answers = {c.answer for c in found if c.version}
    allowed = {Answer.VERIFIED} if version.name == __version__ else {Answer.VERIFIED, Answer.OTHER_VERSION}
    wrong = [(c.subject, sentence(c.discrepancy), *c.discrepancy.excerpt) for c in found if c.discrepancy is not None]
    assert answers <= allowed, (AGAIN, wrong)
    assert len([c for c in found if c.version]) >= 7
    assert {c.subject for c in found if c.answer is Answer.FOREIGN} == {
        'Revert "Relocate prod/api from a to b"',
        "Change it by hand",
    }
    assert [c.consent for c in found if c.consent] == ["prod/api"]
