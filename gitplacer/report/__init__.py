"""
The fleet as one page: what `gitplacer report` writes.

Three steps, each a pure function. `gathered` takes from a plan, the planner's ledgers and the history of the deployment branch
what a page tells, as values. `document` packs these into one small JSON document. `page` puts it, with a script that draws
it, into one HTML file that loads nothing and lets nothing be loaded.
"""

from __future__ import annotations

from gitplacer.report.columns import document
from gitplacer.report.facts import Event, EventKind, FleetFacts, History
from gitplacer.report.gathering import gathered
from gitplacer.report.page import page
from gitplacer.report.redaction import redacted

__all__ = ["Event", "EventKind", "FleetFacts", "History", "document", "gathered", "page", "redacted"]
