"""
Our own kinds in the source: the Fleet, its Clusters, its policies, and what was consented to.

A document that cannot be read is sorted by the harm it could do. A Fleet or Cluster stops the run: a cluster
that vanished by a typo would otherwise look like one that is gone, and everything on it would move. A policy
holds what it governs, or might govern. An Approval that cannot be read consents to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from gitplacer.documents import Document
from gitplacer.kinds import OWN_API_GROUP, TABLE
from gitplacer.kinds.approval import Approval
from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import Cluster, Fleet
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.policy import OverridePolicy, PlacementPolicy
from gitplacer.kinds.scenario import Scenario
from gitplacer.kinds.scores import ClusterScores
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.plaintext import one
from gitplacer.problemcodes import CODES
from gitplacer.problems import Location, Problem, Rejected, meant, nearest
from gitplacer.source.consent import Consent
from gitplacer.source.domains import spread_problems
from gitplacer.source.managers import unfit_dispatcher
from gitplacer.source.scores import ScoresFile, unknown_scores

_Kind = TypeVar("_Kind", bound=Model)
_STOPS = ("Fleet", "Cluster")
_POLICIES = ("PlacementPolicy", "OverridePolicy")
_KIND_LINE = re.compile(r"""^[\s{-]*["']?kind["']?\s*:\s*["']?(\w+)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BrokenPolicy:
    """A policy that could not be read, with its name and its selection as far as they could."""

    kind: str
    name: str | None = None
    select: ObjectSelector | None = None


@dataclass(frozen=True, slots=True)
class OwnKinds:
    """The readable own kinds of a source, and the policies that are not readable."""

    fleet: Fleet
    clusters: Mapping[str, Cluster]
    policies: tuple[PlacementPolicy, ...]
    overrides: tuple[OverridePolicy, ...]
    broken_policies: tuple[BrokenPolicy, ...]
    approvals: tuple[Consent, ...]
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


def read_own_kinds(documents: Iterable[Document], torn: Mapping[str, bytes], problems: list[Problem]) -> OwnKinds:
    """
    Parse the documents for which `looks_own` holds. `torn` are files that could not be parsed, with their bytes.

    Problems found are added to `problems`. Raises Rejected with all of them where the run has to stop.
    """
    objects: dict[str, Model] = {}
    places: dict[str, Location] = {}
    approvals: dict[str, Consent] = {}
    scored: dict[str, ScoresFile] = {}
    unread_scores: set[str] = set()
    twice_approved: set[str] = set()
    broken: list[BrokenPolicy] = []
    policies: list[tuple[PlacementPolicy, Document]] = []
    stop = False
    documents = list(documents)
    given = tuple(_given_to_scenarios(documents))
    for document in documents:
        parsed = _parsed(document)
        kind = str(document.parsed.says[1])
        if not isinstance(parsed, Model):
            problems.extend(parsed)
            stop = stop or may_be(document, _STOPS) is not None
            if (policy := may_be(document, _POLICIES)) is not None:
                broken.append(_broken(policy, document))
            if may_be(document, ["ClusterScores"]) is not None:
                unread_scores.add(str(_broken("ClusterScores", document).name))
            continue
        key = f"{kind}/{parsed.metadata.name}"  # type: ignore[attr-defined]
        if kind in ("CapacitySnapshot", "Placement", "ClusterState", "Removals"):
            if document.file.startswith(given):
                continue
            where = "the capacity directory" if kind == "CapacitySnapshot" else "the deployment repo"
            problems.append(document.problem("MisplacedKind", f"{one(kind)} belongs in {where}", "move it there"))
        elif key in places:
            hint = "rename one of them"
            problems.append(
                document.problem("DuplicateName", f"{kind} {key.split('/')[1]} is at {places[key]} too", hint)
            )
            stop = stop or kind in _STOPS
            if kind in _POLICIES:
                broken.append(_broken(kind, document))
            twice_approved.add(key)
        else:
            objects[key], places[key] = parsed, document.locate()
            if isinstance(parsed, PlacementPolicy):
                policies.append((parsed, document))
            if isinstance(parsed, Approval):
                approvals[key] = Consent(parsed, document)
            if isinstance(parsed, ClusterScores):
                scored[key] = ScoresFile(parsed, document)
    for data in torn.values():
        kinds = torn_kinds(data)
        stop = stop or bool(kinds & {*_STOPS, ""})
        broken.extend(BrokenPolicy(kind) for kind in sorted(kinds) if kind in _POLICIES)
    problems.extend(_weights_of_nobody(policies, {item.name for item in _of(Cluster, objects)}))
    known = {cluster.name: cluster for cluster in _of(Cluster, objects)}
    faults = {p.name: found for p, document in policies if (found := unfit_dispatcher(p, document, known)) is not None}
    problems.extend(faults.values())
    clusters, names = list(_of(Cluster, objects)), {scores.name for scores in _of(ClusterScores, objects)}
    for item, document in policies:
        problems.extend(spread_problems(item, document, clusters))
        problems.extend(unknown_scores(item, document, names, but=unread_scores))
    fleets = [item for item in objects.values() if isinstance(item, Fleet)]
    if len(fleets) != 1 and not stop:
        problems.append(_not_one_fleet(places))
    if stop or len(fleets) != 1:
        raise Rejected(problems)
    twice = {policy.name for policy in broken if policy.name is not None}
    return OwnKinds(
        fleet=fleets[0],
        clusters=known,
        policies=tuple(p for p in _of(PlacementPolicy, objects) if p.name not in twice),
        overrides=tuple(p for p in _of(OverridePolicy, objects) if p.name not in twice),
        broken_policies=tuple(broken),
        approvals=tuple(item for key, item in sorted(approvals.items()) if key not in twice_approved),
        places=places,
        scores={item.scores.name: item for key, item in sorted(scored.items()) if key not in twice_approved},
        unmanaged=faults,
    )


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


def _of(kind: type[_Kind], objects: Mapping[str, Model]) -> Iterator[_Kind]:
    yield from (item for _, item in sorted(objects.items()) if isinstance(item, kind))


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


def _not_one_fleet(places: Mapping[str, Location]) -> Problem:
    found = sorted(str(place) for key, place in places.items() if key.startswith("Fleet/"))
    if found:
        return Problem(
            places[min(k for k in places if k.startswith("Fleet/"))],
            "NotOneFleet",
            f"a source has exactly one Fleet; found {', '.join(found)}",
            "remove all but one",
        )
    return Problem(
        Location("fleet.yaml"),
        "NotOneFleet",
        "there is no Fleet in this source",
        "`gitplacer init` makes one; `spec: {}` is enough",
    )
