"""
What manifests become, apart from any fleet: files in, the pods of each sized object out.

The same reading as a pass uses, so the numbers are those that placement counts. Templates of resource claims, LimitRanges and
WorkloadKinds are looked for in the given files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodSet, api_group, total_requests
from gitplacer.plaintext import one
from gitplacer.problems import Location, Problem, Severity
from gitplacer.source.files import MAX_FILE
from gitplacer.source.kindnames import is_known, likely
from gitplacer.source.workloadkinds import KIND, read_declarations
from gitplacer.workloads import devices as claimable
from gitplacer.workloads.facts import ObjectFacts, Reserve
from gitplacer.workloads.limitranges import LimitItem
from gitplacer.workloads.surroundings import USUAL, Surroundings


class Sized(Struct, frozen=True):
    """One object with what it becomes. `name` may be that of `generateName`."""

    document: Document
    facts: ObjectFacts

    @property
    def api_version(self) -> str:
        return str(self.document.value["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.document.value["kind"])

    @property
    def namespace(self) -> str:
        return self._metadata("namespace")

    @property
    def name(self) -> str:
        return self._metadata("name") or self._metadata("generateName")

    @property
    def total(self) -> Resources:
        """What all pods ask for together."""
        return total_requests(self.facts.gang)

    def total_of(self, reserve: Reserve) -> Resources | None:
        """The same at the fewest or the most that the bounds allow; None where there is no bound."""
        counts = [(role, role.minimum if reserve == "Minimum" else role.maximum) for role in self.facts.roles]
        if any(count is None for _, count in counts):
            return None
        return total_requests(tuple(PodSet(role.name, count or 0, role.shape) for role, count in counts))

    @property
    def upgrade_peak(self) -> Resources:
        """The same while an update runs."""
        return total_requests(self.facts.gang_for("Desired", with_peak=True))

    def _metadata(self, key: str) -> str:
        metadata = self.document.value.get("metadata")
        found = metadata.get(key) if isinstance(metadata, dict) else None
        return found if isinstance(found, str) else ""


class Sizes(Struct, frozen=True):
    """
    The objects that have a size, in order of file and place, and everything that keeps others from having one. `beside` are
    those of kinds that are not sized, and `declared` the kinds that WorkloadKinds among them declare.
    """

    objects: tuple[Sized, ...]
    problems: tuple[Problem, ...]
    beside: tuple[Sized, ...] = ()
    declared: workloads.Declared = field(default_factory=dict)


def sizes(files: Mapping[str, bytes], around: Callable[[str], Surroundings] = lambda namespace: USUAL) -> Sizes:
    """
    Size every object of a kind that is sized. One with an error, its own or that of a template by which it claims devices,
    is left out, and the problems say why; a file that is not YAML is a problem. Other kinds are passed over, and those of which
    nobody knows whether they make pods are told. `around` says what a cluster adds to the pods of a namespace; LimitRanges among the objects count as if they were there.
    """
    problems: list[Problem] = []
    documents: list[Document] = []
    for path, data in files.items():
        parsed = parse(data, max_bytes=MAX_FILE)
        problems += [Problem(Location(path, f.line, f.column), f.code, f.message, f.hint) for f in parsed.faults]
        documents += [Document(path, item, index, _reader(data)) for index, item in enumerate(parsed.documents)]
    declared = _declared(documents, problems)
    claims, limits = _claims(documents), _limits(documents)
    objects, beside = [], []
    for document in documents:
        namespace = Sized(document, ObjectFacts()).namespace
        templates = claims[namespace]
        known = tuple((name, devices or NOTHING) for name, devices in sorted(templates.items()))
        there = around(namespace).with_claims(known).with_limits(limits[namespace or "default"])
        facts, found = workloads.read(document, there, declared)
        problems += found
        whole = not any(problem.severity is Severity.ERROR for problem in found)
        if facts.sized and whole and all(templates[name] is not None for name in facts.claims):
            objects.append(Sized(document, facts))
        elif not facts.sized and whole:
            beside.append(Sized(document, facts))
            problems += _uncounted(document)
    return Sizes(tuple(objects), tuple(problems), tuple(beside), declared)


def _uncounted(document: Document) -> Iterator[Problem]:
    """A kind that is not known by its name may make pods, or be one that is sized and is misspelt."""
    api_version, kind = document.parsed.says
    if not isinstance(kind, str) or not kind or is_own(document):
        return
    group = api_group(str(api_version or ""))
    if is_known(group, kind):
        return
    message = f"gitplacer does not know what pods {one(kind)}{f' of {group}' if group else ''} makes, and counts none"
    hint = likely(group, kind) or "a WorkloadKind beside it says what it makes"
    yield document.problem("NotCounted", message, hint, path=("kind",), severity=Severity.WARNING)


def _declared(documents: Iterable[Document], problems: list[Problem]) -> workloads.Declared:
    """The kinds that the WorkloadKinds among the documents declare; what is wrong with these is added to the problems."""
    own = [document for document in documents if is_own(document) and document.value.get("kind") == KIND]
    for document in own:
        parsed = parse_own(document)
        problems += parsed if isinstance(parsed, list) else ()
    return read_declarations(own, {}, {}, problems).kinds


def _claims(documents: Iterable[Document]) -> Mapping[str, dict[str, Resources | None]]:
    """The devices of each ResourceClaimTemplate by namespace and name; None for one that cannot be counted."""
    found: dict[str, dict[str, Resources | None]] = defaultdict(dict)
    for document in documents:
        group, kind = api_group(str(document.value.get("apiVersion"))), str(document.value.get("kind"))
        if (group, kind) in claimable.MAKERS:
            facts, problems = workloads.read(document)
            template = Sized(document, facts)
            is_counted = not any(problem.severity is Severity.ERROR for problem in problems)
            for name in claimable.templates((group, kind), template.name, facts):
                found[template.namespace][name] = facts.devices if is_counted else None
    return found


def _limits(documents: Iterable[Document]) -> Mapping[str, list[LimitItem]]:
    """The items of the LimitRanges by namespace."""
    found: dict[str, list[LimitItem]] = defaultdict(list)
    for document in documents:
        if (document.value.get("apiVersion"), document.value.get("kind")) == ("v1", "LimitRange"):
            facts, _ = workloads.read(document)
            found[Sized(document, facts).namespace or "default"] += facts.limits
    return found


def _reader(data: bytes) -> Callable[[], bytes]:
    return lambda: data
