"""
The files of each group: where they go, the same on every cluster, and what is in them on each.

Names are given when they are first asked for, and counts and overrides may differ from cluster to cluster; both are remembered, because
files are asked for when a decision is tried, when an edit is judged, and when they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from gitplacer.dispatching import is_started
from gitplacer.grouping import Group
from gitplacer.kinds.record import RecordMember
from gitplacer.model.counts import Counts
from gitplacer.model.decision import Action, Decision
from gitplacer.render import FileNames, Placed, Renderer, Rendering
from gitplacer.snapshot import Snapshot
from gitplacer.source.files import Memo
from gitplacer.source.workloadkinds import is_declared
from gitplacer.tree import Tree
from gitplacer.units import unit_of


class GroupFiles:
    """`source` is the source tree, which has the bytes."""

    def __init__(self, snapshot: Snapshot, source: Tree, memo: Memo) -> None:
        self.names = FileNames(snapshot.source.own.fleet.spec)
        self._snapshot = snapshot
        self._clusters = snapshot.source.own.clusters
        self._renderer = Renderer(snapshot.source, snapshot.variants, snapshot.spans, source, memo)
        self._renderings: dict[tuple[str, str, Counts], Rendering] = {}
        self._placed: dict[str, tuple[Placed, ...]] = {}
        self._members: dict[tuple[int, str, str | None], RecordMember] = {}
        for record in snapshot.records.values():
            for member in record.members:
                self.names.keep(unit_of(record), member)

    # where they go

    def placed(self, group: Group) -> tuple[Placed, ...]:
        """Every member of a group with its file."""
        if group.id not in self._placed:
            self._placed[group.id] = self.names.place(group, self._snapshot.predecessor(group))
        return self._placed[group.id]

    def has_new(self, group: Group) -> bool:
        """Whether it has files that its record does not know: they could not be written for a cluster that is gone."""
        record = self._snapshot.predecessor(group)
        known = {(member.identity, member.file) for member in record.members} if record else set()
        return any((placed.member.identity, placed.file) not in known for placed in self.placed(group))

    def members(self, group: Group, decision: Decision) -> tuple[RecordMember, ...]:
        """What the record says of the objects of a group that is where a decision puts it, with what is made for remote clusters."""
        members = tuple(self._member(item, self._only(group, item, decision)) for item in self.placed(group))
        return (*members, self._remote(group)) if decision.roles else members

    def _member(self, item: Placed, only: Literal["Home"] | None) -> RecordMember:
        """What a record says of an object, kept once for all the groups that share it."""
        key = (id(item.member), item.file, only)
        if key not in self._members:
            self._members[key] = RecordMember(
                api_version=item.member.api_version,
                kind=item.member.identity.kind,
                namespace=item.member.identity.namespace,
                name=item.member.identity.name,
                source=item.member.path,
                file=item.file,
                declared=is_declared(item.member) or None,
                only=only,
            )
        return self._members[key]

    def _only(self, group: Group, item: Placed, decision: Decision) -> Literal["Home"] | None:
        """Whether an object of a group is only where the head is of one that spans clusters, or Kueue of one that is left to it."""
        if decision.dispatch is not None:
            return "Home" if is_started(item.member.identity) else None
        home = self._clusters.get(decision.home or "")
        return "Home" if home is not None and self._snapshot.spans.stays_home(group, item.member, home) else None

    def _remote(self, group: Group) -> RecordMember:
        """What is made for the remote clusters of a group, as a member of it."""
        app = self._snapshot.spans.app(group)
        assert app is not None  # only a Ray app spans clusters
        source = f"{app.path}#remote-workers"
        file = self.names.remote(group, self._snapshot.predecessor(group), source)
        return RecordMember(
            api_version="apps/v1",
            kind="Deployment",
            namespace=app.identity.namespace,
            name=app.identity.name,
            source=source,
            file=file,
            only="Remote",
        )

    # what is in them

    def on(self, group: Group, decision: Decision, cluster: str) -> Rendering:
        """The files of a group on a cluster, as a decision will have them."""
        counts, home = decision.counts_on(cluster), decision.home
        if decision.role_on(cluster) == "Remote" and home is not None and home in self._clusters:
            there, head, placed = self._clusters[cluster], self._clusters[home], self.placed(group)
            return self._renderer.render_remote(group, placed, there, head, counts, self._remote(group).file)
        return self.with_counts(group, cluster, counts)

    def with_counts(self, group: Group, cluster: str, counts: Counts) -> Rendering:
        """The files of a group on a cluster that has all of it, with some counts."""
        key = (group.id, cluster, counts)
        if key not in self._renderings:
            placed = self.placed(group)
            self._renderings[key] = self._renderer.render(group, placed, self._clusters[cluster], counts)
        return self._renderings[key]

    def beside(self, group: Group, cluster: str) -> Rendering:
        """The files of a group on a cluster where Kueue may start it."""
        return self._renderer.render_beside(group, self.placed(group), self._clusters[cluster])

    # many at a time

    def foresee(self) -> None:
        """Look up together what will be asked for of each group, one by one, where it is; a pass that looks at one only does without."""
        self._foresee(
            (group, entry.name, entry.known_counts())
            for group in self._snapshot.groups.values()
            if group.policy is not None and (record := self._snapshot.predecessor(group)) is not None
            for entry in record.clusters
            if entry.name in self._clusters and entry.role != "Remote"
        )

    def foresee_where(self, decisions: Sequence[Decision]) -> None:
        """The same where decisions put them, of what was not asked for yet."""
        self._foresee(
            (group, name, decision.counts_on(name))
            for decision in decisions
            if decision.action is not Action.HOLD and (group := self._snapshot.groups.get(decision.group)) is not None
            for name in decision.after
            if name in self._clusters and decision.role_on(name) != "Remote"
            if (group.id, name, decision.counts_on(name)) not in self._renderings
        )

    def _foresee(self, places: Iterable[tuple[Group, str, Counts]]) -> None:
        """What is only foreseen takes no name for its files."""
        names = self.names.copy()
        self._renderer.foresee(
            (group, names.place(group, self._snapshot.predecessor(group)), self._clusters[name], counts)
            for group, name, counts in places
        )
