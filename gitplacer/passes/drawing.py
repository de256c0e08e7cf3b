"""
The fleet as a page: a plan, what every cluster has and has left, and the past, drawn.
"""

from __future__ import annotations

from msgspec import Struct

from gitplacer import redactor
from gitplacer.branch.chronicle import history
from gitplacer.explain import PlanView
from gitplacer.hydrate import hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.verdicts import OF_MANY
from gitplacer.packaged import REPORT, packaged
from gitplacer.passes.looking import looked_at
from gitplacer.passes.opening import Progress
from gitplacer.report import document, gathered, page, redacted
from gitplacer.settings import Settings


class Drawn(Struct, frozen=True):
    """The page, the plan that it shows, what the source's Fleet says, and whether the deployment branch is gone (see `Looked`)."""

    html: str
    view: PlanView
    spec: FleetSpec
    has_lost_its_branch: bool


def drawn(settings: Settings, *, work_tree: bool, redact: bool, progress: Progress) -> Drawn:
    """The fleet of the source as one HTML page. Raises Rejected, GitError or UsageError."""
    with looked_at(settings, work_tree=work_tree, progress=progress) as looked:
        view = hydrate(looked.inputs, memo=looked.memo, ledgers=looked.ledgers, with_candidates=OF_MANY).view
        progress("drawing the fleet")
        facts = gathered(view, history(looked.deployment))
        html = page(document(redacted(facts) if redact else facts), packaged(REPORT))
        return Drawn(redactor.redact(html), view, looked.source.spec, looked.has_lost_its_branch)
