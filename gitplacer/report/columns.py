"""
The document inside the page: columns of small numbers over tables of what repeats.

Ten thousand groups on two hundred clusters say the same few sentences about the same few amounts. So every text stands once
in `texts`, every set of amounts once in `amounts`, every list of verdicts once in `verdicts`, and a table is one array for each
column with positions in these; a column that says the same in every row says it once. A time is in seconds since 1970, -1 for none; amounts are whole multiples of `unit` of their
resource, which is the largest that leaves nothing over.

Every text goes through one door here, and leaves it as one harmless line. The script in the page is the only reader of this
document; its shape may change with any version.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.model.resources import Resources
from gitplacer.plaintext import LONGEST_NAME, LONGEST_PATH, printable
from gitplacer.report.facts import (
    ClusterFacts,
    Event,
    EventKind,
    FleetFacts,
    GroupFacts,
    NodeFacts,
    Presence,
    Seat,
    Verdict,
)

PRESENCES = tuple(Presence)
EVENTS = tuple(EventKind)
_POD_SLOTS = "pods"


def document(facts: FleetFacts) -> dict[str, Any]:
    """The document, as values that JSON can hold."""
    return _Packing(facts).document()


class _Table:
    """Values that stand once, by their position."""

    def __init__(self, written: Callable[[Any], Any]) -> None:
        self._written = written
        self._places: dict[Hashable, int] = {}
        self.rows: list[Any] = []

    def place(self, value: Hashable) -> int:
        if value not in self._places:
            row = self._written(value)
            self._places[value] = len(self.rows)
            self.rows.append(row)
        return self._places[value]


class _Packing:
    def __init__(self, facts: FleetFacts) -> None:
        self._facts = facts
        self._texts = _Table(lambda text: text)
        self._resources = _resources(facts)
        self._amounts = _Table(self._row)
        self._cluster_numbers = {cluster.name: number for number, cluster in enumerate(facts.clusters)}
        self._group_numbers = {group.name: number for number, group in enumerate(facts.groups)}
        self._findings = _Table(self._finding)
        self._verdicts = _Table(lambda verdicts: [part for verdict in verdicts for part in self._verdict(verdict)])
        self._pods = _Table(
            lambda pods: [x for each in pods for x in (self._name(each.role), each.count, self._amount(each.requests))]
        )
        self._counts = _Table(lambda counts: [x for code, count in counts for x in (self._name(code), count)])

    def document(self) -> dict[str, Any]:
        facts = self._facts
        for word in _frequent(facts):
            self._name(word)
        clusters, groups = self._clusters(facts.clusters), self._groups(facts.groups)
        nodes, events = self._nodes(facts.clusters), self._events(facts.history.events)
        return {
            "fleet": printable(facts.fleet),
            "now": _seconds(facts.now),
            "version": printable(facts.version),
            "source": facts.source,
            "capacity": facts.capacity,
            "deployment": facts.deployment,
            "redacted": facts.redacted,
            "wholeHistory": facts.history.is_whole,
            "presences": [str(presence) for presence in PRESENCES],
            "eventKinds": [str(kind) for kind in EVENTS],
            "resources": [{"name": printable(name), "unit": unit} for name, unit in self._resources.items()],
            "clusters": clusters,
            "nodes": nodes,
            "groups": groups,
            "events": events,
            "problems": self._problems(),
            "amounts": self._amounts.rows,
            "findings": self._findings.rows,
            "verdicts": self._verdicts.rows,
            "pods": self._pods.rows,
            "counts": self._counts.rows,
            "texts": self._texts.rows,
        }

    # tables

    def _clusters(self, clusters: Iterable[ClusterFacts]) -> dict[str, Any]:
        return _columns(
            ("name", "state", "freshness", "observed", "where", "labels", "offered", "foreign", "free", "claimants", "closed", "nodes"),
            [
                (
                    self._name(c.name), self._name(c.state), self._name(c.freshness), _seconds(c.observed_at),
                    self._path(c.where), [self._name(f"{key}={value}") for key, value in c.labels.items()],
                    self._amount(c.offered), self._amount(c.foreign), self._amount(c.free), [self._name(name) for name in c.claimants], int(c.closed), len(c.nodes),
                )
                for c in clusters
            ],
        )  # fmt: skip

    def _nodes(self, clusters: Iterable[ClusterFacts]) -> dict[str, Any]:
        """Those of the first cluster, then those of the next. `flags` adds up: 1 not ready, 2 cordoned."""
        return _columns(
            ("name", "count", "type", "allocatable", "used", "kept", "flags", "seats"),
            [self._node(node) for cluster in clusters for node in cluster.nodes],
        )

    def _node(self, node: NodeFacts) -> tuple[Any, ...]:
        return (
            self._name(node.name), node.count, self._name(node.type), self._amount(node.allocatable),
            self._amount(node.used), self._amount(node.kept), (not node.ready) + 2 * node.cordoned,
            [part for seat in node.seats for part in self._seat(seat)],
        )  # fmt: skip

    def _seat(self, seat: Seat) -> tuple[int, ...]:
        """A group that is in no table is told by its name, at -1 - place."""
        number = self._group_numbers.get(seat.group)
        who = number if number is not None else -1 - self._name(seat.group)
        presence = PRESENCES.index(seat.presence)
        return who, self._name(seat.role), seat.count, self._amount(seat.requests), presence

    def _groups(self, groups: Iterable[GroupFacts]) -> dict[str, Any]:
        names = (
            "name", "action", "code", "sentence", "policy", "policyAt", "priority", "before", "after", "since", "moved",
            "waiting", "cost", "blockedBy", "pods", "members", "verdicts", "counts", "seen",
        )  # fmt: skip
        return _columns(names, [self._group(group) for group in groups])

    def _group(self, group: GroupFacts) -> tuple[Any, ...]:
        return (
            self._name(group.name), self._name(group.action), self._name(group.code), self._sentence(group.sentence),
            self._name(group.policy), self._path(group.policy_at), group.priority,
            [self._cluster(name) for name in group.before], [self._cluster(name) for name in group.after],
            _seconds(group.since), _seconds(group.moved_at), _seconds(group.waiting_since), self._name(group.cost),
            [self._sentence(one) for one in group.blocked_by], self._pods.place(group.pods),
            [part for kind, name, path in group.members for part in (self._name(kind), self._name(name), self._path(path))],
            self._verdicts.place(group.verdicts), self._counts.place(group.counts),
            [
                part
                for seen in group.seen
                for part in (self._cluster(seen.cluster), self._name(seen.phase), int(seen.ready), self._sentence(seen.pending))
            ],
        )  # fmt: skip

    def _events(self, events: Iterable[Event]) -> dict[str, Any]:
        """A cluster or group of the past may be gone, so events have them by name."""
        return _columns(
            ("commit", "at", "kind", "subject", "why", "group", "gone", "come", "code", "phase"),
            [
                (
                    self._name(e.commit), _seconds(e.at), EVENTS.index(e.kind), self._sentence(e.subject),
                    self._sentence(e.why), self._name(e.group), [self._name(name) for name in e.gone],
                    [self._name(name) for name in e.come], self._name(e.code), self._name(e.phase),
                )
                for e in events
            ],
        )  # fmt: skip

    def _problems(self) -> dict[str, Any]:
        return _columns(
            ("severity", "code", "where", "message", "hint"),
            [
                (
                    self._name(str(p.severity)), self._name(p.code), self._path(str(p.location)),
                    self._sentence(p.message), self._sentence(p.hint),
                )
                for p in self._facts.problems
            ],
        )  # fmt: skip

    # cells

    def _verdict(self, verdict: Verdict) -> tuple[int, int]:
        return self._cluster(verdict.cluster), self._findings.place(
            (verdict.verdict, verdict.code, verdict.text, verdict.nodes)
        )

    def _finding(self, finding: tuple[str, str, str, str]) -> list[int]:
        verdict, code, text, nodes = finding
        return [self._name(verdict), self._name(code), self._sentence(text), self._sentence(nodes)]

    def _cluster(self, name: str) -> int:
        """A cluster that is not declared is told by its name, at -1 - place."""
        number = self._cluster_numbers.get(name)
        return number if number is not None else -1 - self._name(name)

    def _name(self, text: str) -> int:
        return self._texts.place(printable(text, LONGEST_NAME))

    def _path(self, text: str) -> int:
        return self._texts.place(printable(text, LONGEST_PATH))

    def _sentence(self, text: str) -> int:
        return self._texts.place(printable(text, LONGEST_SENTENCE))

    def _amount(self, amounts: Resources) -> int:
        return self._amounts.place(amounts)

    def _row(self, amounts: Resources) -> list[int]:
        """Pairs of a resource's number and how many units of it."""
        row: list[int] = []
        for number, (name, unit) in enumerate(self._resources.items()):
            if name in amounts:
                row += (number, amounts[name] // unit)
        return row


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """One array for each column; a column in which every row has the same is that alone, as `all`."""
    columns: dict[str, Any] = {"rows": len(rows)}
    for number, name in enumerate(names):
        column = [row[number] for row in rows]
        same = len(column) > 1 and all(value == column[0] for value in column)
        columns[name] = {"all": column[0]} if same else column
    return columns


def _frequent(facts: FleetFacts) -> Iterable[str]:
    """Words that come up again and again, the most frequent first: they get the shortest numbers."""
    counted: Counter[str] = Counter([""])
    for group in facts.groups:
        counted.update((group.action, group.code, group.policy, group.policy_at, group.cost, group.sentence))
        counted.update(pods.role for pods in group.pods)
        counted.update(kind for kind, _, _ in group.members)
        counted.update(text for seen in group.seen for text in (seen.phase, seen.pending))
    return (
        word for word, count in sorted(counted.items(), key=lambda item: (-item[1], item[0])) if count > 1 or not word
    )


def _seconds(time: datetime | None) -> int:
    return -1 if time is None else int(time.timestamp())


def _resources(facts: FleetFacts) -> Mapping[str, int]:
    """Every resource with its unit: devices first, then cpu and memory, slots for pods last."""
    units: dict[str, int] = {}
    seen: set[Resources] = set()
    for amounts in _all_amounts(facts):
        if amounts not in seen:
            seen.add(amounts)
            for name, value in amounts.items():
                units[name] = math.gcd(units.get(name, 0), value)
    last = {"cpu": 1, "memory": 2, _POD_SLOTS: 4}
    order = sorted(units, key=lambda name: (0 if "/" in name else last.get(name, 3), name))
    return {name: units[name] for name in order}


def _all_amounts(facts: FleetFacts) -> Iterable[Resources]:
    for cluster in facts.clusters:
        yield from (cluster.offered, cluster.foreign, cluster.free)
        for node in cluster.nodes:
            yield from (node.allocatable, node.used, node.kept)
            yield from (seat.requests for seat in node.seats)
    for group in facts.groups:
        yield from (pods.requests for pods in group.pods)
