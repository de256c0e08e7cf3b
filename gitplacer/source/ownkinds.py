"""
Our own kinds in the source: the Fleet, its Clusters, its policies, and what was consented to.

A document that cannot be read is sorted by the harm it could do. A Fleet or Cluster stops the run: a cluster
that vanished by a typo would otherwise look like one that is gone, and everything on it would move. A policy
holds what it governs, or might govern. An Approval that cannot be read consents to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from pydantic import ValidationError

from gitplacer.documents import Document
from gitplacer.kinds import OWN_API_GROUP, TABLE
from gitplacer.kinds.approval import Approval
from gitplacer.kinds.fields import API_VERSION, Model
from gitplacer.kinds.fleet import Cluster, Fleet
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.policy import OverridePolicy, PlacementPolicy
from gitplacer.kinds.scenario import Scenario
from gitplacer.kinds.scores import ClusterScores
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.kinds.tenant import Tenant
from gitplacer.plaintext import one
from gitplacer.problemcodes import CODES
from gitplacer.problems import Location, Problem, Rejected, meant, nearest
from gitplacer.source.consent import Approvals, Consent
from gitplacer.source.domains import spread_problems
from gitplacer.source.managers import unfit_dispatcher
from gitplacer.source.namedclusters import names_of_no_cluster
from gitplacer.source.scores import ScoresFile, unknown_scores

_Kind = TypeVar("_Kind", bound=Model)
_STOPS = ("Fleet", "Cluster")
_POLICIES = ("PlacementPolicy", "OverridePolicy")
_ELSEWHERE = {
    "CapacitySnapshot": "the capacity directory",
    "Placement": "the deployment repo",
    "ClusterState": "the deployment repo",
    "Removals": "the deployment repo",
}
"""Where our kinds belong that stand in no source."""
_ONE_FLEET = "keep one here; where each is a fleet of its own, give the directory of one of them"
_KIND_LINE = re.compile(r"""^[\s{-]*["']?kind["']?\s*:\s*["']?(\w+)""", re.MULTILINE)


class BrokenPolicy(Struct, frozen=True):
    """A policy that could not be read, with its name and its selection as far as they could."""

    kind: str
    name: str | None = None
    select: ObjectSelector | None = None


class OwnKinds(Struct, frozen=True):
    """The readable own kinds of a source, and the policies that are not readable."""

    fleet: Fleet
    clusters: Mapping[str, Cluster]
    policies: tuple[PlacementPolicy, ...]
    overrides: tuple[OverridePolicy, ...]
    broken_policies: tuple[BrokenPolicy, ...]
    approvals: Approvals
    """By name. One whose name is there twice consents to nothing."""
    places: Mapping[str, Location]
    """Where each own object stands, by `Kind/name`."""
    scores: Mapping[str, ScoresFile]
    """By name. One whose name is there twice scores nothing."""
    unmanaged: Mapping[str, Problem]
    """Policies that leave their groups to a Kueue which cannot have them, by name, each with what is wrong."""


def looks_own(document: Document) -> bool:
    """Whether the document is one of our kinds, or all but one: its kind is ours and its group a misspelling."""
    if is_own(document):
        return True
    version, kind = document.parsed.says
    group = str(version).split("/")[0]
    return isinstance(kind, str) and kind in TABLE and bool(meant(group, [OWN_API_GROUP]))


def may_be(document: Document, kinds: Iterable[str]) -> str | None:
    """Which of some kinds a document that looks like ours is, or is misspelt for; None if it is none of them."""
    said = str(document.parsed.says[1])
    meant = nearest(said, TABLE)
    return next((kind for kind in kinds if f'"{kind}"' in meant), None)


class _Found:
    """Our own kinds among documents, as far as they can be read, and what is wrong with the others. What is in files of `given` is a Scenario's."""

    def __init__(self, given: tuple[str, ...]) -> None:
        self._given = given
        self._objects: dict[str, tuple[Model, Document]] = {}
        self._twice: set[str] = set()
        self.broken: list[BrokenPolicy] = []
        self.unread_scores: set[str] = set()
        self.misplaced: list[Document] = []
        self.stops = False
        """Whether what could not be read may be a Fleet or a Cluster."""
        self.problems: list[Problem] = []

    def take(self, document: Document) -> None:
        """Read a document, if that can be done."""
        parsed = _parsed(document)
        if not isinstance(parsed, Model):
            self.problems.extend(parsed)
            self.stops = self.stops or may_be(document, _STOPS) is not None
            if (policy := may_be(document, _POLICIES)) is not None:
                self.broken.append(_broken(policy, document))
            if may_be(document, ["ClusterScores"]) is not None:
                self.unread_scores.add(str(_broken("ClusterScores", document).name))
            return
        kind = str(document.parsed.says[1])
        key = f"{kind}/{parsed.metadata.name}"  # type: ignore[attr-defined]
        if kind in _ELSEWHERE:
            if not document.file.startswith(self._given):
                self.misplaced.append(document)
        elif key in self._objects:
            message = f"{kind} {key.split('/')[1]} is at {self._objects[key][1].locate()} too"
            hint = _ONE_FLEET if kind == "Fleet" else "rename one of them"
            self.problems.append(document.problem("DuplicateName", message, hint))
            self.stops = self.stops or kind in _STOPS
            if kind in _POLICIES:
                self.broken.append(_broken(kind, document))
            self._twice.add(key)
        else:
            self._objects[key] = parsed, document

    def take_torn(self, data: bytes) -> None:
        """Reckon with what a file may hold that cannot be parsed."""
        kinds = torn_kinds(data)
        self.stops = self.stops or bool(kinds & {*_STOPS, ""})
        self.broken.extend(BrokenPolicy(kind) for kind in sorted(kinds) if kind in _POLICIES)

    def places(self) -> dict[str, Location]:
        """Where each stands, by `Kind/name`."""
        return {key: document.locate() for key, (_, document) in self._objects.items()}

    def of(self, kind: type[_Kind], *, once: bool = False) -> list[tuple[_Kind, Document]]:
        """All of one kind, by name; `once`: of which there is no other."""
        keys = sorted(self._objects.keys() - self._twice if once else self._objects)
        return [(item, document) for item, document in map(self._objects.__getitem__, keys) if isinstance(item, kind)]


def read_own_kinds(
    documents: Iterable[Document], torn: Mapping[str, bytes], problems: list[Problem], named: str | None
) -> OwnKinds:
    """
    Parse the documents for which `looks_own` holds. `torn` are files that could not be parsed, with their bytes, and `named` the file
    that should hold the Fleet, if it is there.

    Problems found are added to `problems`. Raises Rejected with all of them where the run has to stop.
    """
    documents = list(documents)
    found = _Found(tuple(_given_to_scenarios(documents)))
    for document in documents:
        found.take(document)
    for data in torn.values():
        found.take_torn(data)
    problems.extend(found.problems)
    problems.extend(_misplaced(found.misplaced, [fleet for fleet, _ in found.of(Fleet)]))
    clusters, policies = {each.name: each for each, _ in found.of(Cluster)}, found.of(PlacementPolicy)
    scores = {each.name for each, _ in found.of(ClusterScores)}
    problems.extend(_weights_of_nobody(policies, clusters.keys()))
    faults = {
        p.name: fault for p, document in policies if (fault := unfit_dispatcher(p, document, clusters)) is not None
    }
    problems.extend(faults.values())
    for policy, document in policies:
        problems.extend(spread_problems(policy, document, list(clusters.values())))
        problems.extend(unknown_scores(policy, document, scores, but=found.unread_scores))
    fleets, places = found.of(Fleet), found.places()
    if len(fleets) != 1 and not found.stops:
        problems.append(_not_one_fleet(places, named))
    if found.stops or len(fleets) != 1:
        raise Rejected(problems)
    if fleets[0][0].spec.clone is None:
        problems.extend(names_of_no_cluster([*policies, *found.of(OverridePolicy), *found.of(Tenant)], clusters))
    torn_names = {policy.name for policy in found.broken if policy.name is not None}
    return OwnKinds(
        fleet=fleets[0][0],
        clusters=clusters,
        policies=tuple(policy for policy, _ in policies if policy.name not in torn_names),
        overrides=tuple(policy for policy, _ in found.of(OverridePolicy) if policy.name not in torn_names),
        broken_policies=tuple(found.broken),
        approvals=Approvals(tuple(Consent(approval, document) for approval, document in found.of(Approval, once=True))),
        places=places,
        scores={each.name: ScoresFile(each, document) for each, document in found.of(ClusterScores, once=True)},
        unmanaged=faults,
    )


def _misplaced(documents: Iterable[Document], fleets: Sequence[Fleet]) -> Iterator[Problem]:
    """What stands in no source, and that a directory of it may be another than its author thinks."""
    for document in documents:
        kind = str(document.parsed.says[1])
        where, hint = _ELSEWHERE[kind], "move it there"
        if kind == "CapacitySnapshot" and len(fleets) == 1:
            where, hint = (
                f"{where}, {fleets[0].spec.capacity.path}/",
                f"{hint}, or correct spec.capacity.path of the Fleet",
            )
        yield document.problem("MisplacedKind", f"{one(kind)} belongs in {where}", hint)


def _given_to_scenarios(documents: Iterable[Document]) -> Iterator[str]:
    """
    Files that hold what a Scenario begins with, and directories of them with a slash. Snapshots and records there are in their place.
    Nothing else is: whoever copies a Cluster for a test must not thereby take it out of the fleet.
    """
    for document in documents:
        parsed = _parsed(document) if document.parsed.says[1] == "Scenario" else None
        if isinstance(parsed, Scenario):
            folder = document.file[: document.file.rfind("/") + 1]
            given = parsed.spec.given
            for name in (*given.capacity, *([given.deployment] if given.deployment is not None else [])):
                yield folder + name if name.endswith((".yaml", ".yml", ".json")) else f"{folder}{name}/"


def _weights_of_nobody(
    policies: Iterable[tuple[PlacementPolicy, Document]], clusters: Collection[str]
) -> Iterator[Problem]:
    """Weights for clusters that there are not."""
    for policy, document in policies:
        for name in sorted(policy.spec.placement.weights.keys() - set(clusters)):
            message = f"policy {policy.name} has a weight for cluster {name}, and there is none of that name"
            path = ("spec", "placement", "weights", name)
            severity = CODES["WeightedClusterMissing"].severity
            yield document.problem(
                "WeightedClusterMissing", message, nearest(name, clusters), path=path, severity=severity
            )


def torn_kinds(data: bytes) -> set[str]:
    """
    The kinds that a file which cannot be parsed seems to hold; '' where it is ours but does not say its kind.

    NULs are dropped, so that UTF-16 is seen through. Empty for a file that does not mention our API group.
    """
    text = data.replace(b"\x00", b"").decode("utf-8", "replace")
    if OWN_API_GROUP not in text:
        return set()
    return set(_KIND_LINE.findall(text)) or {""}


def _parsed(document: Document) -> Model | list[Problem]:
    if is_own(document):
        return parse_own(document)
    hint = nearest(str(document.value.get("apiVersion")).split("/")[0], [OWN_API_GROUP])
    return [
        document.problem("UnknownKind", f"unknown API group for a {document.value['kind']}", hint, path=("apiVersion",))
    ]


def _broken(kind: str, document: Document) -> BrokenPolicy:
    metadata, spec = document.value.get("metadata"), document.value.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    select: ObjectSelector | None = None
    if isinstance(spec, dict) and "select" in spec:
        try:
            select = ObjectSelector.model_validate(spec["select"], by_alias=True, by_name=False)
        except ValidationError:
            select = None
    return BrokenPolicy(kind, name if isinstance(name, str) else None, select)


def _not_one_fleet(places: Mapping[str, Location], named: str | None) -> Problem:
    found = sorted(str(place) for key, place in places.items() if key.startswith("Fleet/"))
    if found:
        return Problem(
            places[min(k for k in places if k.startswith("Fleet/"))],
            "NotOneFleet",
            f"a source has exactly one Fleet; found {', '.join(found)}",
            _ONE_FLEET,
        )
    if named is not None:
        message = f"there is no Fleet in this source: {named} is there, and holds none that can be read"
        hint = f"write it there, as text: `apiVersion: {API_VERSION}`, `kind: Fleet`; `gitplacer schema Fleet` prints its fields"
        return Problem(Location(named), "NotOneFleet", message, hint)
    return Problem(
        Location("fleet.yaml"),
        "NotOneFleet",
        "there is no Fleet in this source",
        "`gitplacer init` makes one; `spec: {}` is enough",
    )
