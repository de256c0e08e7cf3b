"""
Karmada's `spreadConstraints` and `replicaScheduling`: on how many clusters something is, and who gets how much of it.

Copies on every cluster that is taken are `copies: All`, on some of them a number. Groups of regions, providers and zones are `topologySpread`.
What is divided is `type: Divide`: by fixed weights, or by room where Karmada looks for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from gitplacer.importers.clusterselectors import taken
from gitplacer.importers.karmada.affinities import FIELDS, Known, read_taken
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.model.labels import NAME_KEY, Requirement, is_label_key
from gitplacer.problems import nearest

_TYPES, _PREFERENCES = ("Duplicated", "Divided"), ("Aggregated", "Weighted")
_DYNAMIC = "AvailableReplicas"
_MOST_GROUPS = 1000
"""Groups that a constraint may ask for."""


class Constraint(Struct, frozen=True):
    """At least and at most so many groups of clusters that share a label; `most` 0 is any number."""

    reader: Reader
    key: str
    least: int
    most: int


class Spread(Struct, frozen=True):
    """What is divided and how, on how many clusters, and over which groups of them. `weights` are by name, None where none are given."""

    reader: Reader
    divided: bool = False
    aggregated: bool = False
    dynamic: bool = False
    weights: Mapping[str, int] | None = None
    constraints: Sequence[Constraint] = field(default=())

    @property
    def clusters(self) -> Constraint | None:
        return next((one for one in self.constraints if one.key == NAME_KEY), None)

    @property
    def most(self) -> int:
        """Clusters at most; 0 for any number."""
        return self.clusters.most if self.clusters is not None else 0

    @property
    def where(self) -> str | None:
        """The field that a line is about."""
        return next((key for key in ("replicaScheduling", "spreadConstraints") if self.reader.has(key)), None)


def read_spread(reader: Reader, known: Known, notes: Notes) -> Spread:
    """The two fields of a `placement`. What is wrong is reported through the reader."""
    constraints = [one for item in reader.items("spreadConstraints") if (one := _constraint(item, notes)) is not None]
    if not reader.has("replicaScheduling"):
        return Spread(reader, constraints=constraints)
    how = reader.mapping("replicaScheduling")
    kind = _one_of(how, "replicaSchedulingType", _TYPES) or "Divided"
    preference = _one_of(how, "replicaDivisionPreference", _PREFERENCES)
    weights, dynamic = _weights(how, known, notes)
    if kind == "Duplicated":
        if preference or weights is not None or dynamic:
            notes.about(Outcome.LEFT_OUT, how, None, "copies are whole, so nothing says how they would be divided", "")
        return Spread(reader, constraints=constraints)
    if not preference:
        notes.about(Outcome.CHOSEN, how, None, "Divided with no replicaDivisionPreference is taken for Weighted")
    return Spread(reader, True, preference == "Aggregated", dynamic, weights, constraints)


def _one_of(reader: Reader, key: str, known: Sequence[str]) -> str:
    value = reader.text(key)
    if value and value not in known:
        reader.report("InvalidValue", f'unknown {key} "{value}"', nearest(value, known), key=key)
    return value


def _constraint(reader: Reader, notes: Notes) -> Constraint | None:
    by_field, by_label = reader.text("spreadByField"), reader.text("spreadByLabel")
    least, most = reader.integer("minGroups") or 0, reader.integer("maxGroups") or 0
    fields = {"cluster": NAME_KEY, **FIELDS}
    if by_field and by_field not in fields:
        hint = nearest(by_field, fields)
        reader.report("InvalidValue", f'"{by_field}" is no field to spread by', hint, key="spreadByField")
    elif by_label and not is_label_key(by_label):
        reader.report("InvalidLabel", f'"{by_label}" is no key of a label', key="spreadByLabel")
    elif not 0 <= least <= _MOST_GROUPS or not 0 <= most <= _MOST_GROUPS or (most and least > most):
        hint = f"numbers from 0 to {_MOST_GROUPS}, minGroups not above maxGroups"
        reader.report("InvalidValue", f"minGroups {least} and maxGroups {most} cannot be", hint)
    else:
        if by_label:
            what = f"Karmada ends in an error where it is to spread by a label; here {by_label} counts"
            notes.about(Outcome.CHANGED, reader, "spreadByLabel", what)
        elif by_field in ("zone", "provider"):
            what = f"Karmada only counts each {by_field} and chooses by cluster and region; here clusters are chosen so that it holds"
            notes.about(Outcome.CHANGED, reader, "spreadByField", what)
        return Constraint(reader, by_label or fields[by_field or "cluster"], least, most)
    return None


def _weights(how: Reader, known: Known, notes: Notes) -> tuple[dict[str, int] | None, bool]:
    """Weights by name of cluster, the highest of several, and whether they follow what room there is."""
    if not how.has("weightPreference"):
        return None, False
    preference = how.mapping("weightPreference")
    dynamic = _one_of(preference, "dynamicWeight", (_DYNAMIC,))
    found: dict[str, int] = {}
    for item in preference.items("staticWeightList"):
        weight = item.integer("weight")
        if weight is None or not 0 <= weight <= 1_000_000:
            item.report("InvalidValue", "a weight is a whole number from 1 to 1,000,000", "write one", key="weight")
            continue
        target = item.mapping("targetCluster")
        for name in read_taken(target, known, notes):
            found[name] = max(weight, found.get(name, 0))
        if not known.labels:
            found |= {name: max(weight, found.get(name, 0)) for name in target.texts("clusterNames")}
    if preference.has("staticWeightList") and dynamic:
        notes.about(Outcome.LEFT_OUT, preference, "staticWeightList", "dynamicWeight counts, where both are given")
    if preference.has("staticWeightList") and not dynamic:
        what = "weights are by name here: those of the clusters that there are now"
        selectors = any(
            "clusterNames" not in item.mapping("targetCluster").fields for item in preference.items("staticWeightList")
        )
        if selectors:
            notes.about(Outcome.CHANGED, preference, "staticWeightList", what, "give new clusters a weight")
    return (found if found and not dynamic else None), bool(dynamic)


def placement(
    spread: Spread, kinds: Sequence[str], alone: bool, known: Known, requirements: Sequence[Requirement], notes: Notes
) -> dict[str, Any]:
    """
    The `placement` for objects of some kinds, where no order of clusters is asked. `alone` says that there may be but one of each. `requirements`
    are those of the clusters that are taken.
    """
    names = next((one.values for one in requirements if one.key == NAME_KEY and one.operator == "In"), ())
    if len(names) == 1:
        if spread.divided or spread.where:
            what = "one cluster by name takes all of it, whatever the room: `admission: Immediate`"
            notes.about(Outcome.CONVERTED, spread.reader, spread.where, what)
        _no_groups(spread, notes)
        return {"admission": "Immediate"}
    if alone:
        return _once(spread, kinds, notes)
    if spread.divided:
        return _divided(spread, notes)
    return _copies(spread, len(taken(known.labels, requirements)), notes)


def _once(spread: Spread, kinds: Sequence[str], notes: Notes) -> dict[str, Any]:
    """What runs once: on one cluster, whole, where there is room."""
    told = ", ".join(kinds)
    if spread.most == 1:
        _gang(spread, notes)
        return {}
    verb = "would divide it over" if spread.divided else "would run it on each of"
    what = f"{told}: Karmada {verb} the clusters that it takes; here it runs once, whole, on one that has room"
    notes.about(Outcome.CHANGED, spread.reader, spread.where, what)
    _no_groups(spread, notes)
    return {}


def _gang(spread: Spread, notes: Notes) -> None:
    what = "one cluster, where there is room for all of it: the default. Karmada looks at the room of components only with a feature gate"
    notes.about(
        Outcome.CHOSEN,
        spread.reader,
        spread.where,
        what,
        "write `admission: Immediate` if pods are to wait in their cluster",
    )
    _no_groups(spread, notes)


def _no_groups(spread: Spread, notes: Notes) -> None:
    """Lines for constraints that mean nothing for one cluster."""
    for one in spread.constraints:
        if one.least > 1:
            what = "it is on one cluster, so it cannot be in several groups of them"
            notes.about(
                Outcome.NO_EQUAL, one.reader, "minGroups", what, "write `copies` and `topologySpread` if that is meant"
            )


def _copies(spread: Spread, there_are: int, notes: Notes) -> dict[str, Any]:
    """Whole copies. Karmada sends them whatever the room."""
    if spread.most == 1:
        _gang(spread, notes)
        return {}
    groups = _topology(spread)
    wanted = spread.most or (there_are if groups else 0)
    if groups and not wanted:
        what = "how many clusters it takes is not known, so copies go to all of them and are not counted by groups"
        notes.about(Outcome.NO_EQUAL, spread.reader, "spreadConstraints", what, "write `copies` and `topologySpread`")
        groups = []
    if wanted < 2:
        what = "a copy on each cluster that it takes, whatever the room: `copies: All`"
        notes.about(Outcome.CONVERTED, spread.reader, spread.where, what)
        return {"copies": "All", "admission": "Immediate"}
    if not spread.most:
        what = f"it takes {wanted} clusters now, so `copies: {wanted}` is all of them"
        notes.about(
            Outcome.CHANGED, spread.reader, "spreadConstraints", what, "change `copies` when clusters come or go"
        )
    else:
        what = f"copies on at most {wanted} clusters, whatever the room: `copies: {wanted}`"
        notes.about(Outcome.CONVERTED, spread.reader, "spreadConstraints", what)
    return {"copies": wanted, "admission": "Immediate", **({"topologySpread": groups} if groups else {})}


def _topology(spread: Spread) -> list[dict[str, Any]]:
    """The constraints as they are here: of clusters only how many at least, because `copies` says how many at most."""
    found = []
    for one in spread.constraints:
        most = one.most if one.key != NAME_KEY else 0
        least = min(one.least, spread.most) if spread.most else one.least
        bounds = {**({"minDomains": least} if least > 1 else {}), **({"maxDomains": most} if most else {})}
        if bounds:
            found.append({"topologyKey": one.key, **bounds})
    return found


def _divided(spread: Spread, notes: Notes) -> dict[str, Any]:
    how = spread.reader.mapping("replicaScheduling")
    if spread.aggregated or spread.dynamic:
        way = "FewestClusters" if spread.aggregated else "Room"
        what = f"`divideBy: {way}`: what has room runs, where Karmada places nothing as long as there is not room for all of it"
        notes.about(
            Outcome.CHANGED, how, "replicaDivisionPreference" if spread.aggregated else "weightPreference", what
        )
        share = {"type": "Divide", "divideBy": way, **({"copies": spread.most} if spread.most else {})}
        groups = _topology(spread) if spread.most > 1 else []
        for one in spread.constraints if spread.most < 2 else ():
            if one.key != NAME_KEY or one.least > 1:
                what = "over how many clusters it is divided is not said, and nothing was made of it"
                notes.about(Outcome.NO_EQUAL, one.reader, None, what, "write `copies` and `topologySpread`")
        return {**share, **({"topologySpread": groups} if groups else {})}
    for one in spread.constraints:
        what = "Karmada does not look at it where weights are fixed, and nothing was made of it"
        notes.about(Outcome.LEFT_OUT, one.reader, None, what)
    what = (
        "replicas divided by fixed weights: `type: Divide`. Who gets the replica that rounding leaves over may differ"
    )
    notes.about(Outcome.CHANGED, how, None, what)
    weights = {name: weight for name, weight in sorted((spread.weights or {}).items()) if weight}
    return {"type": "Divide", **({"weights": weights} if weights else {}), "admission": "Immediate"}
