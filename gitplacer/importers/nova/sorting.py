"""The documents of a folder by what they are to an import from Nova."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitplacer.documents import Document
from gitplacer.importers.foreign import group_and_kind
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.writing import read_back
from gitplacer.kinds import OWN_API_GROUP
from gitplacer.kinds.fields import API_VERSION, Model

_POLICIES, _CLUSTERS, _ELOTL = "policy.elotl.co", "cluster.elotl.co", "elotl.co"
_RUNTIME = {
    (
        _POLICIES,
        "ScheduleGroup",
    ): "Nova's record of what it placed together; gitplacer keeps its own in the deployment repo",
}


@dataclass(frozen=True, slots=True)
class Sorted:
    """The documents of a folder by what they are to us."""

    policies: tuple[Document, ...]
    clusters: tuple[Document, ...]
    snapshots: Mapping[str, Document]
    manifests: tuple[Document, ...]

    @staticmethod
    def of(documents: Iterable[Document], notes: Notes) -> Sorted:
        policies: list[Document] = []
        clusters: list[Document] = []
        snapshots: dict[str, Document] = {}
        manifests: list[Document] = []
        for document in documents:
            group, kind = group_and_kind(document)
            if (group, kind) == (_POLICIES, "SchedulePolicy"):
                policies.append(document)
            elif (group, kind) == (_CLUSTERS, "Cluster"):
                clusters.append(document)
            elif (group, kind) in _RUNTIME:
                notes.add(Outcome.LEFT_OUT, document, (), _RUNTIME[group, kind])
            elif group == _ELOTL or group.endswith(f".{_ELOTL}"):
                what = f"a {kind} of {group} has no equal here"
                notes.add(Outcome.NO_EQUAL, document, ("kind",), what, "see docs/from-nova.md for what does its work")
            elif group == OWN_API_GROUP:
                _own(document, snapshots, notes)
            else:
                manifests.append(document)
        return Sorted(tuple(policies), tuple(clusters), snapshots, tuple(manifests))


def _own(document: Document, snapshots: dict[str, Document], notes: Notes) -> None:
    """One of our own kinds among the files: a snapshot is taken over, because Nova knows less."""
    metadata = document.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    found = read_back(document.source()) if document.value.get("kind") == "CapacitySnapshot" else []
    if isinstance(found, Model) and isinstance(name, str) and name not in snapshots:
        snapshots[name] = document
    else:
        what = f"only a CapacitySnapshot of {API_VERSION} that is right, one for each cluster, is taken over"
        notes.add(
            Outcome.NOT_UNDERSTOOD, document, ("kind",), what, "copy it into the new repo, and try: gitplacer validate"
        )
