"""
Karmada's `clusterAffinity`: labels, fields, names and exclusions of clusters, all of which must hold, as conditions on our labels.

Its field selector knows provider, region and zone; here these are labels that follow from the Cluster's fields. A cluster of Karmada may be
in several zones, and a condition on zones holds it by all of them; where one is, the condition becomes the names of the clusters that meet it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from gitplacer.importers.clusterselectors import named, taken
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import read_selector, read_values
from gitplacer.model.labels import Labels, Requirement
from gitplacer.problems import nearest

FIELDS: Mapping[str, str] = {
    "provider": "gitplacer.dev/provider",
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
}
"""Karmada's fields of a cluster that policies may ask for, and our label of each."""
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class Known(Struct, frozen=True):
    """The clusters of an import: the labels that policies see, and the zones of each that Karmada knows."""

    labels: Mapping[str, Labels] = field(default_factory=dict)
    zones: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def several_zones(self) -> bool:
        return any(len(zones) > 1 for zones in self.zones.values())


def read_affinity(reader: Reader, known: Known, notes: Notes) -> tuple[Requirement, ...]:
    """The conditions of a clusterAffinity; none take every cluster. What is wrong is reported through the reader."""
    found: list[Requirement] = []
    if reader.has("labelSelector"):
        found += read_selector(reader.mapping("labelSelector")).requirements()
    if reader.has("fieldSelector"):
        for item in reader.mapping("fieldSelector").items("matchExpressions"):
            found += _field(item, known, notes)
    names = read_values(reader, "clusterNames")
    if names:
        found.append(named(names))
        missing = [name for name in names if name not in known.labels] if known.labels else []
        for name in missing:
            todo = "write one, or let it be: nothing can go there until then"
            notes.about(Outcome.NO_EQUAL, reader, "clusterNames", f"there is no Cluster {name}", todo)
    excluded = read_values(reader, "exclude")
    if excluded:
        found.append(named(excluded, "NotIn"))
    return tuple(found)


def _field(reader: Reader, known: Known, notes: Notes) -> list[Requirement]:
    key, operator, values = reader.text("key"), reader.text("operator"), read_values(reader, "values")
    if key not in FIELDS:
        reader.report("InvalidValue", f'"{key}" is no field of a cluster', nearest(key, FIELDS), key="key")
    elif operator not in _OPERATORS:
        reader.report("InvalidValue", f'unknown operator "{operator}"', nearest(operator, _OPERATORS), key="operator")
    elif (operator in ("In", "NotIn")) != bool(values):
        wanted = "needs values" if operator in ("In", "NotIn") else "takes no values"
        reader.report("InvalidValue", f"operator {operator} {wanted}", key="values" if values else "operator")
    elif key == "zone" and known.several_zones:
        meeting = [name for name, zones in sorted(known.zones.items()) if _by_zones(zones, operator, values)]
        what = "some cluster is in several zones, so the condition is written as the names of the clusters that meet it now"
        notes.about(Outcome.CHANGED, reader, None, what, "change the names when clusters come or go")
        return [named(meeting)]
    else:
        return [Requirement(FIELDS[key], operator, values)]
    return []


def _by_zones(zones: tuple[str, ...], operator: str, values: tuple[str, ...]) -> bool:
    """Whether all zones of a cluster are among the values, or none is."""
    match operator:
        case "In":
            return bool(zones) and all(zone in values for zone in zones)
        case "NotIn":
            return not any(zone in values for zone in zones)
        case "Exists":
            return bool(zones)
    return not zones


def read_taken(reader: Reader, known: Known, notes: Notes) -> list[str]:
    """The names of the clusters that a clusterAffinity takes now."""
    return taken(known.labels, read_affinity(reader, known, notes))
