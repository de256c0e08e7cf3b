"""
Decisions to files: what each cluster's directory holds.

A group's documents go, byte for byte, to the same path on every cluster it is on. The only edits are a namespace that
the path gives, the counts of a group that is divided or spans clusters, overrides, and a cluster's pod labels. File names are chosen once and remembered in the record, so a
file that was written keeps its name for as long as its group lives.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec import Struct, field

from gitplacer.dispatching import started
from gitplacer.documents import Document, Edit, EditError
from gitplacer.grouping import Group
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.fleet import Cluster, FleetSpec
from gitplacer.kinds.record import SHARED, PlacementRecord, RecordMember
from gitplacer.kinds.removals import REMOVALS, Removal
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.workload import Identity
from gitplacer.pathglob import fixed_folder, matches
from gitplacer.problems import Problem
from gitplacer.rules.sops import is_sops_document
from gitplacer.source.files import Maker, Memo
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS, SourceObject
from gitplacer.source.reading import Source
from gitplacer.spanning import Spans
from gitplacer.tree import Content, Tree, folded
from gitplacer.variants import Variants
from gitplacer.workloads import kind_of
from gitplacer.yamltext import to_block_yaml, to_yaml

REMOTE_WORKERS = "remote-workers.yaml"
UNIT_ANNOTATION = "gitplacer.dev/unit"
_NOT_FOR_MANIFESTS = ("kustomization.yaml", "Chart.yaml", "cloudbuild.yaml")
"""Kustomize and Helm take these for their own; Flux leaves out cloudbuild.yaml, and other names with endings we never use."""
_LONGEST_PART = 230
"""Bytes of a file's name without its ending; file systems take 255."""
_BY_KUBERNETES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Placed(Struct, frozen=True):
    """Where one member goes: the file below the unit, the same on every cluster."""

    member: SourceObject
    unit: str
    file: str


class FileNames(Struct):
    """Hands out paths below a unit: those that are written already stay, new ones avoid them."""

    spec: FleetSpec
    taken: dict[tuple[str, str], str] = field(default_factory=dict)
    """(unit, path below it as file systems may take it that cannot tell case or composed letters) to the source file it holds."""

    shared: dict[Identity, str] = field(default_factory=dict)
    """What several groups need, to its path below the unit."""

    def copy(self) -> FileNames:
        """The same names, to try something on them."""
        return FileNames(self.spec, dict(self.taken), dict(self.shared))

    def keep(self, unit: str, member: RecordMember) -> None:
        """Note a name that a record says was written."""
        if member.is_shared:
            self.shared.setdefault(member.identity, member.file)
        source = _part(member.source, member.identity) if member.is_shared else member.source
        self.taken.setdefault((unit, folded(member.file)), source)

    def place(self, group: Group, record: PlacementRecord | None) -> tuple[Placed, ...]:
        """Every member of a group, and what it shares with others, with its file."""
        # A name is kept with the group's directory: under a new id the group starts anew there. What was shared once
        # stays where it is while anybody needs it: a group that is held may still have it there. Of two names of one file the first
        # is the one that holds: what a cluster that is left still has under an older id comes last.
        same = record.members if record is not None and record.id == group.id else ()
        names = {m.source: m.file for m in reversed(same) if not m.is_shared}
        placed = []
        for member in group.members:
            was_shared = self.shared.get(member.identity) if group.unit == WORKLOADS else None
            file = Placed(member, WORKLOADS, was_shared) if was_shared else self._own(group, member, names)
            placed.append(file)
        placed += [Placed(member, WORKLOADS, self._shared(member)) for member in group.shared]
        return tuple(placed)

    def remote(self, group: Group, record: PlacementRecord | None, source: str) -> str:
        """The file of what is made of an object of the group for other clusters than its head's."""
        same = record.members if record is not None and record.id == group.id else ()
        known = next((m.file for m in same if m.source == source), None)
        return known or self.free(WORKLOADS, f"{group.id}/{REMOTE_WORKERS}", source)

    def _own(self, group: Group, member: SourceObject, names: Mapping[str, str]) -> Placed:
        if member.is_namespace:
            return Placed(member, PLATFORM, namespace_file(member.identity.name))
        if member.path in names and not names[member.path].startswith("namespaces/"):
            return Placed(member, group.unit, names[member.path])
        if group.unit == PLATFORM:
            pattern = next(p for p in self.spec.platform.paths if matches(p, member.path))
            below = member.path[len(fixed_folder(pattern)) :]
            return Placed(member, PLATFORM, self.free(PLATFORM, below, member.path))
        base = member.path.rpartition("/")[2]
        return Placed(member, WORKLOADS, self.free(WORKLOADS, f"{group.id}/{base}", member.path))

    def _shared(self, member: SourceObject) -> str:
        """One file for each object: which of them a cluster needs depends on the groups that are there."""
        if member.identity not in self.shared:
            path = f"{member.identity.namespace}/{SHARED}/{member.path.rpartition('/')[2]}"
            self.shared[member.identity] = self.free(WORKLOADS, path, _part(member.path, member.identity))
        return self.shared[member.identity]

    def free(self, unit: str, path: str, source: str) -> str:
        """
        The path with the ending `.yaml`, which both engines read, or a longer one if another file has it. `source` tells
        what is in the file from all else.
        """
        stem = "/".join(map(_writable, path.rpartition(".")[0].split("/")))
        digest = hashlib.sha256(source.encode()).hexdigest()[:8]
        for name in (f"{stem}.yaml", f"{stem}.{digest}.yaml"):
            if not _is_reserved(unit, name) and self.taken.setdefault((unit, folded(name)), source) == source:
                return name
        raise AssertionError(f"two files called {source}")


def _writable(part: str) -> str:
    """A part of a path as every file system takes it: without control characters, with room for a longer ending."""
    plain = re.sub(r"[\x00-\x1f\x7f\\]", "-", part)
    return plain.encode()[:_LONGEST_PART].decode(errors="ignore")


def _part(source: str, identity: Identity) -> str:
    """One object of a source file, where each has a file of its own."""
    return f"{source}#{identity}"


def _is_reserved(unit: str, name: str) -> bool:
    """Names of generated files, which have no second dot, and names that mean something to Argo CD or Flux."""
    if name.rpartition("/")[2] in _NOT_FOR_MANIFESTS:
        return True
    generated = name == SENTINEL or (
        name.startswith(("charts/", "decisions/", "multikueue/", "namespaces/", "standby/")) and name.count(".") == 1
    )
    return unit == PLATFORM and generated


def namespace_file(namespace: str) -> str:
    """Where a namespace's manifest is, below the platform unit."""
    return f"namespaces/{namespace}.yaml"


def needed_namespaces(group: Group) -> list[str]:
    """Namespaces that must be there for a group and that Kubernetes does not bring."""
    return [name for name in group.namespaces if name not in _BY_KUBERNETES]


class Rendering(Struct, frozen=True):
    """Files of one group on one cluster, by unit and path below it; or the problems that stop it there."""

    files: Mapping[tuple[str, str], Content]
    problems: tuple[Problem, ...] = ()


class Renderer:
    """Renders groups for clusters. Results are remembered: clusters that change nothing share one rendering."""

    def __init__(self, source: Source, variants: Variants, spans: Spans, tree: Tree, memo: Memo) -> None:
        """`tree` is the source tree, for the ids of its files."""
        self._variants = variants
        self._spans = spans
        self._whole = source.document_counts
        self._declared = source.declarations.kinds
        self._tree = tree
        self._memo = memo
        self._plain: dict[str, Rendering] = {}
        self._refused: dict[tuple[str, str], tuple[bytes, tuple[Problem, ...]]] = {}

    def foresee(self, asked: Iterable[tuple[Group, Sequence[Placed], Cluster, Counts]]) -> None:
        """
        Ask the memo once for all texts for which `render` will ask it one after another, when it is asked the same; and have those that it does not
        know made by whoever makes many at a time.
        """
        texts: dict[str, tuple[bool, _Wanted]] = {}
        plain: set[str] = set()
        for group, placed, cluster, counts in asked:
            if group.id not in plain:
                edits, special = self._edits(placed, cluster, counts)
                if not special:
                    plain.add(group.id)
                for items in _by_file(placed).values() if edits else ():
                    if any(id(item) in edits for item in items):
                        oid, whole, wanted = self._wanted(items, edits)
                        texts[_digest(oid, whole, wanted)] = whole, wanted
        if not texts:
            return
        missing = {digest: texts[digest] for digest in texts.keys() - self._memo.recall_texts(texts).keys()}

        def makers() -> dict[str, Maker]:
            contents = self._tree.read_all({wanted[0][0].file for _, wanted in missing.values()})
            return {digest: partial(_made, wanted, whole, contents) for digest, (whole, wanted) in missing.items()}

        self._memo.make_texts(len(missing), makers)

    def render(
        self, group: Group, placed: Sequence[Placed], cluster: Cluster, counts: Counts = AS_WRITTEN
    ) -> Rendering:
        """The files of a group on a cluster, with its counts there."""
        return self._render(placed, cluster, counts, group.id)

    def _render(
        self, placed: Sequence[Placed], cluster: Cluster, counts: Counts = AS_WRITTEN, known_as: str = ""
    ) -> Rendering:
        """The files of some objects on a cluster, remembered under a name if nothing differs there."""
        edits, special = self._edits(placed, cluster, counts)
        problems: list[Problem] = []
        for item in placed:
            problems += self._variants.problems(item.member, cluster, counts)
            if id(item) in edits and is_sops_document(item.member.document):
                problems.append(_sops_edited(item.member))
        if not special and known_as in self._plain:
            return self._plain[known_as]
        files: dict[tuple[str, str], Content] = {}
        for key, items in _by_file(placed).items():
            files[key] = self._file(items, edits, problems)
        rendering = Rendering(files, tuple(sorted(set(problems))))
        if not special and known_as:
            self._plain[known_as] = rendering
        return rendering

    def _edits(self, placed: Sequence[Placed], cluster: Cluster, counts: Counts) -> tuple[dict[int, list[Edit]], bool]:
        """The edits of objects on a cluster, by id of those that have any; and whether there are others than everywhere."""
        edits: dict[int, list[Edit]] = {}
        special = False
        for item in placed:
            own, more = self._namespace_edit(item.member), self._edits_there(item.member, cluster, counts)
            special = special or bool(more)
            if own or more:
                edits[id(item)] = [*own, *more]
        return edits, special

    def render_remote(
        self, group: Group, placed: Sequence[Placed], cluster: Cluster, home: Cluster, counts: Counts, file: str
    ) -> Rendering:
        """The files of a group on a cluster that has further workers of it: what goes along, and a file of what is made."""
        along = [item for item in placed if not self._spans.stays_home(group, item.member, home)]
        rendering = self._render(along, cluster)
        # What stays at home is what the workers here are made of, as overrides change it here.
        stays = [item.member for item in placed if item not in along]
        problems = {problem for member in stays for problem in self._variants.problems(member, cluster)}
        made = joined([to_block_yaml(value) for value in self._spans.objects(group, home, cluster, counts)])
        told = tuple(sorted({*rendering.problems, *problems}))
        return Rendering({**rendering.files, (WORKLOADS, file): Content.of(made)}, told)

    def render_beside(self, group: Group, placed: Sequence[Placed], cluster: Cluster) -> Rendering:
        """The files of a group on a cluster where Kueue may start it: all but what that brings itself."""
        brought = {member.identity for member in started(group)}
        beside = [item for item in placed if item.member.identity not in brought]
        return self._render(beside, cluster, known_as=f"{group.id}#beside")

    def _file(self, items: Sequence[Placed], edits: Mapping[int, list[Edit]], problems: list[Problem]) -> Content:
        """The documents of one file: the file itself if all of it is meant, else those that are."""
        oid, whole, wanted = self._wanted(items, edits)
        if whole and not any(id(item) in edits for item in items):
            return Content(oid, wanted[0][0].read)
        digest = _digest(oid, whole, wanted)
        # What is wrong is told where it stands, and equal files stand in several places.
        asked = digest, wanted[0][0].file
        if asked in self._refused:
            refused, told = self._refused[asked]
            problems += told
            return Content.of(refused)
        text = self._memo.recall_text(digest)
        if text is None:
            found: list[Problem] = []
            text = _edited(wanted, whole, found)
            if found:
                self._refused[asked] = text, tuple(found)
                problems += found
            else:
                self._memo.remember_text(digest, text)
        return Content.of(text)

    def _wanted(self, items: Sequence[Placed], edits: Mapping[int, list[Edit]]) -> tuple[str, bool, _Wanted]:
        """The id of the source file of some objects, whether they are all that it has, and the documents with their edits."""
        documents = [item.member.document for item in items]
        path = documents[0].file
        wanted = [(document, edits.get(id(item), [])) for document, item in zip(documents, items, strict=True)]
        return self._tree.entries[path].oid, len(documents) == self._whole[path], wanted

    def edits(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> list[Edit]:
        """What is edited in an object on its way to a cluster. It follows from the object's value, and not from how that is written."""
        return [*self._namespace_edit(member), *self._edits_there(member, cluster, counts)]

    def _edits_there(self, member: SourceObject, cluster: Cluster, counts: Counts) -> list[Edit]:
        return [*self._variants.edits(member, cluster, counts), *self._label_edits(member, cluster)]

    @staticmethod
    def _namespace_edit(member: SourceObject) -> list[Edit]:
        if not member.namespace_from_path:
            return []
        return [Edit(("metadata", "namespace"), "add", member.identity.namespace)]

    def _label_edits(self, member: SourceObject, cluster: Cluster) -> list[Edit]:
        labels = cluster.spec.autoscaler.pod_labels if cluster.spec.autoscaler else {}
        kind = kind_of((member.identity.api_group, member.identity.kind), self._declared)
        if not labels or kind is None or member.unit == PLATFORM:
            return []
        return [
            Edit((*template, "metadata", "labels", key), "add", value)
            for template in kind.pod_templates(member.document.value)
            for key, value in sorted(labels.items())
        ]


def _sops_edited(member: SourceObject) -> Problem:
    return member.document.problem(
        "SopsFileEdited",
        "SOPS signed this file, and it would be edited on the way",
        "let no override select it, and write metadata.namespace into it before it is encrypted",
        path=("metadata",),
        key=True,
    )


_Wanted = Sequence[tuple[Document, Sequence[Edit]]]


def as_deployed(wanted: _Wanted) -> bytes | None:
    """All documents of a file with their edits, as the file is deployed; None where an edit cannot be made."""
    if not any(edits for _, edits in wanted):
        return wanted[0][0].read()
    problems: list[Problem] = []
    text = _edited(wanted, True, problems)
    return None if problems else text


def _digest(oid: str, whole: bool, wanted: _Wanted) -> str:
    """What an edited file is made from: the blob, which of its documents, and the edits."""
    told = [oid, whole, [[d.index, [[list(e.path), e.op, e.value] for e in edits]] for d, edits in wanted]]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _made(wanted: _Wanted, whole: bool, contents: Mapping[str, bytes]) -> bytes | None:
    """The same as `_edited` of files whose bytes are at hand; None where anything is wrong."""
    problems: list[Problem] = []
    at_hand = [(replace(each, read=partial(contents.__getitem__, each.file)), edits) for each, edits in wanted]
    text = _edited(at_hand, whole, problems)
    return text if not problems else None


def _edited(wanted: _Wanted, whole: bool, problems: list[Problem]) -> bytes:
    """The documents with their edits; where they are all of a file, what stands around them stays."""
    texts = []
    for document, edits in wanted:
        try:
            texts.append(document.edited(edits) if edits else document.source())
        except EditError as error:
            hint = "change the override, or the manifest"
            problems.append(document.problem("CannotEdit", error.message, hint, path=error.path))
            texts.append(b"")
    if not whole or any(document.parsed.prefix for document, _ in wanted):
        return joined(texts)
    data = wanted[0][0].read()
    for (document, _), text in sorted(zip(wanted, texts, strict=True), key=lambda pair: -pair[0][0].parsed.start):
        data = data[: document.parsed.start] + text + data[document.parsed.end :]
    return data


def joined(documents: Sequence[bytes]) -> bytes:
    """Documents as one file."""
    return b"---\n".join(text if text.endswith(b"\n") else text + b"\n" for text in documents)


def _by_file(placed: Iterable[Placed]) -> dict[tuple[str, str], list[Placed]]:
    files: dict[tuple[str, str], list[Placed]] = {}
    for item in placed:
        files.setdefault((item.unit, item.file), []).append(item)
    return files


def sentinel(spec: FleetSpec, cluster: str, unit: str, epoch: int) -> bytes:
    """The ConfigMap that keeps a unit from being empty, marks it as ours, and tells how far a cluster has synced."""
    return to_yaml(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"gitplacer-{unit}",
                "namespace": spec.system_namespace,
                "annotations": {UNIT_ANNOTATION: f"{cluster}/{unit}"},
            },
            "data": {"cluster": cluster, "unit": unit, "epoch": str(epoch)},
        }
    )


def namespace_manifest(name: str) -> bytes:
    """A namespace that no manifest of the source describes."""
    return to_yaml({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def state_file(state: ClusterState) -> bytes:
    """The state of a cluster as it is written."""
    body = state.model_dump(mode="json", by_alias=True, exclude_none=True)
    return to_yaml({"apiVersion": API_VERSION, **body})


def removals_file(removed: Sequence[Removal]) -> bytes:
    """What is remembered of removals, as it is written."""
    told = [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in removed]
    return to_yaml({"apiVersion": API_VERSION, "kind": "Removals", "metadata": {"name": REMOVALS}, "removed": told})


def record_file(record: PlacementRecord) -> bytes:
    """A record as it is written."""
    body = record.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=False)
    return to_yaml({"apiVersion": API_VERSION, **body})
