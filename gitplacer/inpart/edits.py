"""
Which edits of a source concern few groups, and which groups those are.

The narrowest are edits of manifests that take nothing away (`edits_of`): their objects hold, refer to and are what they were, and ask for no less. Of
others (`concern_of`) it is known whom they concern, because objects refer only to those of their own namespace, and the state of a cluster
matters to groups on other clusters only by the room that there is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import zip_longest

from msgspec import Struct

from gitplacer import pathglob
from gitplacer.documents.parse import ParsedDocument
from gitplacer.kinds import OWN_API_GROUP, TABLE
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.workload import api_group
from gitplacer.source.apigroups import is_cluster_scoped
from gitplacer.source.edited import Change, EditedFile, read_both, read_new
from gitplacer.source.files import Memo, ReadFile, is_read
from gitplacer.source.manifests import WORKLOADS, unit_of
from gitplacer.source.oddpaths import odd_paths
from gitplacer.source.territory import keeps_unread
from gitplacer.tree import Tree
from gitplacer.workloads.facts import ObjectFacts, Role


def edits_of(change: Change, source: Tree, unread: Collection[str], memo: Memo) -> frozenset[str] | None:
    """
    The manifests that a change edits, if each takes nothing away; else None. Other files may change, come and go that are not read, unless they are among
    the `unread` in which words count.
    """
    before = change.that_counts(source, unread).texts(source)
    if before is None or not before.entries.keys().isdisjoint(unread):
        return None
    edited = read_both(filter(is_read, before), before, source, memo)
    if edited is None or not all(map(takes_nothing_away, edited.values())):
        return None
    return frozenset(edited)


class Concern(Struct, frozen=True):
    """
    Whom a change concerns. `files` are those that are read; in some of them are clusters (`cluster_files`), of which `clusters` have another state then,
    in the others objects of `namespaces`. `opens`: whether one of the clusters may take new apps then.
    """

    files: frozenset[str]
    cluster_files: frozenset[str]
    clusters: frozenset[str]
    namespaces: frozenset[str]
    opens: bool


def concern_of(change: Change, source: Tree, spec: FleetSpec, unread: Collection[str], memo: Memo) -> Concern | None:
    """
    Whom a change of a fleet's source concerns that writes or edits manifests, or gives clusters another state; None where it does more than that, takes a
    file or an object away, or has pods that look at others, which may be anywhere. Other files may change as above, under paths that nothing is to be said of.
    """
    change = change.that_counts(source, unread)
    before = change.texts_before(source)
    if before is None or not change.entries.keys().isdisjoint(unread) or odd_paths(change.entries):
        return None
    if any(keeps_unread(path) or not is_read(path) for path in change.entries if path not in before):
        return None
    paths = [path for path in change.entries if is_read(path)]
    edited = read_both((path for path in paths if path in before), before, source, memo)
    new = read_new((path for path in paths if path not in before), source, memo)
    if edited is None or new is None:
        return None
    restated = {path: states for path, each in edited.items() if (states := _restated(each)) is not None}
    if not all(_names(each.was) <= _names(each.now) for each in edited.values()):
        return None
    if any(_looks_at_pods(file) for file in (*(each.now for each in edited.values()), *new.values())):
        return None
    namespaces: set[str] = set()
    before_and_after = ((path, file) for path, each in edited.items() for file in (each.was, each.now))
    for path, file in (*before_and_after, *new.items()):
        there = [_namespace(document, path, spec) for document in file.parsed.documents if path not in restated]
        if file.parsed.faults or "" in there:
            return None
        namespaces.update(there)
    states = {name: state for some in restated.values() for name, state in some.items()}
    opens = not _CLOSED.issuperset(states.values())
    return Concern(frozenset(paths), frozenset(restated), frozenset(states), frozenset(namespaces), opens)


def _names(file: ReadFile) -> set[str]:
    """Who its objects are, in words that are equal where they are the same."""
    return {
        repr((document.says, _written(document, "namespace"), _written(document, "name")))
        for document in file.parsed.documents
    }


def _written(document: ParsedDocument, key: str) -> object:
    """What the metadata of a document say, if they are any."""
    return document.metadata.get(key) if isinstance(document.metadata, Mapping) else None


def _looks_at_pods(file: ReadFile) -> bool:
    return any(role.shape.looks_at_pods for facts in file.facts for role in facts.roles)


def _namespace(document: ParsedDocument, path: str, spec: FleetSpec) -> str:
    """That of an object; '' for one that is in none, that is no workload, or that may be one of ours."""
    version, kind = map(str, document.says)
    group = api_group(version)
    if unit_of(spec, path) != WORKLOADS or group == OWN_API_GROUP or kind in TABLE or is_cluster_scoped(group, kind):
        return ""
    written = _written(document, "namespace")
    return str(written or pathglob.captured(spec.source.namespaces.from_path, path, "namespace") or "")


_CLOSED = frozenset({"Cordoned", "Draining", "Lost"})
"""States in which a cluster takes nobody new."""


def _restated(edited: EditedFile) -> dict[str, str] | None:
    """The clusters that have another state, with that; None where a file has anything but clusters, or says more of one."""
    old, new = edited.was.parsed, edited.now.parsed
    if len(old.documents) != len(new.documents):
        return None
    found = {}
    for was, now in zip(old.documents, new.documents, strict=True):
        (rest, state), (other_rest, other) = _without_state(was.value), _without_state(now.value)
        if was.value.get("kind") != "Cluster" or repr(rest) != repr(other_rest):
            return None
        if repr(state) != repr(other):
            found[str(_written(now, "name"))] = str(other)
    return found


def _without_state(cluster: Mapping[str, object]) -> tuple[dict[str, object], object]:
    """What a document says but for its state, and that."""
    spec = cluster.get("spec")
    if not isinstance(spec, Mapping):
        return {**cluster}, None
    rest = {key: value for key, value in spec.items() if key != "state"}
    return {**cluster, "spec": rest}, spec.get("state")


def takes_nothing_away(edited: EditedFile) -> bool:
    """
    Whether a manifest holds the same objects as before, which refer to the same others, are selected by the same, and become pods of the same
    shapes, no fewer of each.
    """
    was, now = edited.was, edited.now
    if was.parsed.faults or now.parsed.faults or len(was.facts) != len(now.facts):
        return False
    names = ("apiVersion", "kind", "metadata")
    for old, new in zip_longest(was.parsed.documents, now.parsed.documents):
        if old is None or new is None or old.prefix != new.prefix:
            return False
        if any(repr(old.value.get(name)) != repr(new.value.get(name)) for name in names):
            return False
    return all(map(_asks_no_less, was.facts, now.facts))


def _asks_no_less(was: ObjectFacts, now: ObjectFacts) -> bool:
    same = was.but(roles=()) == now.but(roles=()) and len(was.roles) == len(now.roles)
    return same and all(map(_is_no_smaller, was.roles, now.roles))


def _is_no_smaller(was: Role, now: Role) -> bool:
    numbers = {"count": was.count, "minimum": was.minimum, "maximum": was.maximum, "surge": was.surge}
    fewer = now.count < was.count or now.minimum < was.minimum or now.surge < was.surge
    lower = now.maximum is not None and (was.maximum is None or now.maximum < was.maximum)
    return not fewer and not lower and replace(now, **numbers) == was  # type: ignore[arg-type]
