"""AddOnPlacementScores as ClusterScores: one file for each score, with the numbers of all clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from gitplacer.documents import Document
from gitplacer.importers.fleetrepo import FleetRepo
from gitplacer.importers.ocm.placements import ScoreNames
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Outcome
from gitplacer.importers.selectors import read_metadata
from gitplacer.plaintext import few


def write_scores(documents: Iterable[Document], called: ScoreNames, repo: FleetRepo) -> None:
    """Writes every score. Of clusters whose numbers end at different times the first end counts for all."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    ends: dict[str, set[str]] = defaultdict(set)
    first: dict[str, Document] = {}
    for document in documents:
        root = Reader.of(document)
        metadata = read_metadata(root, repo.notes)
        cluster = root.mapping("metadata").text("namespace")
        if not cluster:
            root.report("MissingField", '"namespace" is missing', "the namespace is the cluster's name", key="metadata")
        status = root.mapping("status")
        until = status.text("validUntil")
        found: dict[str, int] = {}
        for item in status.items("scores"):
            value = item.integer("value")
            found[item.text("name")] = value or 0
        if status.has("conditions"):
            status.value("conditions")
        repo.notes.unread(root)
        if root.problems:
            repo.problems += root.problems
            continue
        for score, value in found.items():
            name = called(metadata.name, score)
            numbers[name][cluster] = value
            first.setdefault(name, document)
            ends[name] |= {until} if until else set()
        if not found:
            what = f"nothing was measured of {cluster} when it was exported, so there is no score of it"
            repo.notes.add(Outcome.LEFT_OUT, document, (), what, "export it again, with its status")
            continue
        what = f"{few([*found])} of {cluster}: in scores/, and changed by a commit from now on"
        repo.notes.about(
            Outcome.CHANGED,
            root,
            "status" if root.has("status") else None,
            what,
            "let what measures them commit them: docs/spread.md",
        )
    for name, scores in sorted(numbers.items()):
        spec: dict[str, Any] = {"scores": dict(sorted(scores.items()))}
        if ends[name]:
            spec["validUntil"] = min(ends[name])
        if len(ends[name]) > 1:
            what = f"numbers of {name} end at different times; the first end counts for all"
            repo.notes.add(Outcome.CHOSEN, first[name], ("status", "validUntil"), what)
        repo.own("scores", "ClusterScores", name, spec, first[name], "Imported from AddOnPlacementScores.")
