"""Kubernetes' label selectors as other systems write them, and their names and labels of objects: what all importers read alike."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from gitplacer.documents import Document
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.kinds.selectors import LabelRequirement, LabelSelector
from gitplacer.model.labels import KEY_HINT, VALUE_HINT, Requirement, is_label_key, is_label_value
from gitplacer.plaintext import few
from gitplacer.problems import nearest

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_TOLD = 100
"""Characters of a value that are told."""
_SERVERS_OWN = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of metadata that an API server writes; they are in what `kubectl get -o yaml` prints."""
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ForeignMetadata(Struct, frozen=True):
    """Who a foreign object is."""

    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


class ForeignObject(Struct, frozen=True):
    """An object of another system: where it is written, and who it is. `namespace` is '' for what has none."""

    root: Reader
    metadata: ForeignMetadata
    namespace: str

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def document(self) -> Document:
        return self.root.document


def read_metadata(root: Reader, notes: Notes, *, kept: bool = False) -> ForeignMetadata:
    """
    The metadata of an object; what only a server writes is told and left out, and so are labels and annotations, unless they are `kept` by
    what is made of it. The name is '' where there is none.
    """
    root.text("apiVersion")
    root.text("kind")
    metadata = root.mapping("metadata")
    annotations = metadata.labels("annotations")
    written = [key for key in _SERVERS_OWN if key in metadata.fields]
    for key in written:
        metadata.value(key)
    written += ["annotations." + APPLIED] if annotations.pop(APPLIED, None) is not None else []
    if written:
        notes.about(Outcome.LEFT_OUT, root, "metadata", f"an API server wrote {', '.join(written)}")
    name = metadata.text("name")
    if not name:
        root.report("MissingField", '"name" is missing', "give the object a metadata.name", key="metadata")
    found = ForeignMetadata(name, metadata.labels("labels"), annotations)
    if not kept:
        leave_out(found, root, notes)
    return found


def leave_out(metadata: ForeignMetadata, root: Reader, notes: Notes) -> None:
    """A line for labels and annotations that nothing keeps."""
    own = [*metadata.labels, *metadata.annotations]
    if own:
        notes.about(Outcome.LEFT_OUT, root, "metadata", f"its own labels and annotations: {few(own)}")


def read_values(reader: Reader, key: str) -> tuple[str, ...]:
    """Texts that have to be values of labels, such as names of clusters or regions. One that cannot be is a problem, and is left out."""
    found = reader.texts(key)
    for value in found:
        if not is_label_value(value):
            reader.report("InvalidLabel", f'"{value[:_TOLD]}" cannot be the value of a label', VALUE_HINT, key=key)
    return tuple(value for value in found if is_label_value(value))


def read_selector(reader: Reader) -> LabelSelector:
    """The label selector in a mapping. What the API server would refuse is a problem, and is left out."""
    labels = reader.labels("matchLabels")
    for key, value in labels.items():
        if not (is_label_key(key) and is_label_value(value)):
            hint = f"keys: {KEY_HINT}; values: {VALUE_HINT}"
            reader.report("InvalidLabel", f'"{key}: {value}" is no label', hint, key="matchLabels")
    found = [_requirement(item) for item in reader.items("matchExpressions")]
    return LabelSelector(
        match_labels={k: v for k, v in labels.items() if is_label_key(k) and is_label_value(v)},
        match_expressions=tuple(one for one in found if one is not None),
    )


def _requirement(reader: Reader) -> LabelRequirement | None:
    key, operator, values = reader.text("key"), reader.text("operator"), reader.texts("values")
    if not is_label_key(key):
        reader.report("InvalidLabel", f'"{key}" is no key of a label', KEY_HINT, key="key")
    elif operator not in _OPERATORS:
        reader.report("InvalidValue", f'unknown operator "{operator}"', nearest(operator, _OPERATORS), key="operator")
    elif (operator in ("In", "NotIn")) != bool(values):
        wanted = "needs values" if operator in ("In", "NotIn") else "takes no values"
        reader.report("InvalidValue", f"operator {operator} {wanted}", key="values" if values else None)
    elif not all(map(is_label_value, values)):
        reader.report("InvalidLabel", "one of these is no value of a label", VALUE_HINT, key="values")
    else:
        return LabelRequirement(key=key, operator=operator, values=values)  # type: ignore[arg-type]
    return None


def selector_of(requirements: tuple[Requirement, ...]) -> LabelSelector:
    """The shortest way to write requirements: `matchLabels` for one value of a key, if the key comes once."""
    keys = [one.key for one in requirements]
    exact = [one for one in requirements if one.operator == "In" and len(one.values) == 1 and keys.count(one.key) == 1]
    rest = [one for one in requirements if one not in exact]
    return LabelSelector(
        match_labels={one.key: one.values[0] for one in exact},
        match_expressions=tuple(
            LabelRequirement(key=one.key, operator=one.operator, values=one.values)  # type: ignore[arg-type]
            for one in rest
        ),
    )


def written(selector: LabelSelector) -> dict[str, object]:
    """A selector as it stands in a file; empty for one that takes everything."""
    expressions = [
        {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
        for one in selector.match_expressions
    ]
    labels = {"matchLabels": dict(selector.match_labels)} if selector.match_labels else {}
    return {**labels, **({"matchExpressions": expressions} if expressions else {})}
