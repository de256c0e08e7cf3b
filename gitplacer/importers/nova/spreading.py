"""Nova's `spreadConstraints`: a copy on each cluster, or replicas divided over them by percentages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gitplacer.importers.nova.overriding import Change, changes
from gitplacer.importers.nova.vocabulary import Vocabulary
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.model.labels import NAME_KEY, Labels
from gitplacer.problems import nearest

MODES = ("Duplicate", "Divide")


class Spread(Struct, frozen=True):
    """What a policy spreads over clusters, and how. `percentages` are by value of the topology key."""

    reader: Reader
    mode: str
    key: str
    percentages: Mapping[str, int]
    changes: tuple[Change, ...]

    @property
    def by_name(self) -> bool:
        return self.key == NAME_KEY


def read_spread(reader: Reader, notes: Notes) -> Spread:
    """The spreadConstraints of a policy. What is wrong is reported through the reader."""
    key, mode = reader.text("topologyKey"), reader.text("spreadMode")
    percentages = _percentages(reader)
    if mode and mode not in MODES:
        reader.report("InvalidValue", f'unknown spreadMode "{mode}"', nearest(mode, MODES), key="spreadMode")
    if not mode:
        notes.about(Outcome.CONVERTED, reader, None, "no spreadMode means that replicas are divided")
    if not key:
        notes.about(Outcome.CHOSEN, reader, None, "no topologyKey, so its values are taken for names of clusters")
    if mode == "Duplicate" and percentages:
        notes.about(
            Outcome.LEFT_OUT, reader, "percentageSplit", "copies are whole, so there is nothing to split by percentage"
        )
    found = tuple(change for item in reader.items("overrides") for change in changes(item, notes))
    return Spread(reader, mode or "Divide", key or NAME_KEY, percentages, found)


def _percentages(reader: Reader) -> dict[str, int]:
    """By value, of both spellings: a list of `{topologyValue, percentage}`, or a mapping."""
    found: dict[str, int] = {}
    if isinstance(reader.cursor.value.get("percentageSplit"), dict):
        split = reader.mapping("percentageSplit")
        for value in split.fields:
            _add(found, split, value, value)
        return found
    for item in reader.items("percentageSplit"):
        value = item.text("topologyValue")
        if not value:
            item.report("MissingField", '"topologyValue" is missing', "name the cluster that the percentage is for")
        else:
            _add(found, item, "percentage", value)
    return found


def _add(found: dict[str, int], reader: Reader, key: str, value: str) -> None:
    percentage = reader.integer(key)
    if percentage is None:
        reader.report("MissingField", f"{value} has no percentage", "write a whole number from 0 to 100")
    elif not 0 <= percentage <= 100:
        reader.report("InvalidValue", f"{percentage} is no percentage", "write a whole number from 0 to 100", key=key)
    elif value in found:
        reader.report("InvalidValue", f"{value} is there twice", "keep one of them", key=key)
    else:
        found[value] = percentage


def placement(spread: Spread, clusters: Mapping[str, Labels], words: Vocabulary, notes: Notes) -> dict[str, object]:
    """The `placement` of our policy. Nova sends what is spread at once, so pods may wait in their cluster."""
    if not spread.by_name:
        notes.about(
            Outcome.NO_EQUAL,
            spread.reader,
            "topologyKey",
            f"clusters are not counted as one where they share {spread.key}: each of them gets its part",
            "let the policy's 'clusters' select one cluster of each",
        )
    if spread.mode == "Duplicate":
        notes.about(Outcome.CONVERTED, spread.reader, None, "a copy on each eligible cluster: 'copies: All'")
        return {"copies": "All", "admission": "Immediate"}
    weights = _weights(spread, clusters, words, notes)
    total = sum(spread.percentages.values())
    if spread.percentages and total != 100:
        notes.about(
            Outcome.CHOSEN,
            spread.reader,
            "percentageSplit",
            f"the percentages add up to {total}; they are taken as weights, so all replicas are somewhere",
        )
    notes.about(
        Outcome.CHANGED,
        spread.reader,
        "percentageSplit" if spread.percentages else None,
        "Nova rounds each share down and loses what is left (5 replicas at 70 and 30 become 3 and 1); here nothing is lost (4 and 1)",
    )
    return {"type": "Divide", **({"weights": weights} if weights else {}), "admission": "Immediate"}


def _weights(spread: Spread, clusters: Mapping[str, Labels], words: Vocabulary, notes: Notes) -> dict[str, int]:
    """Weights by name of cluster."""
    if spread.by_name:
        return dict(spread.percentages)
    found: dict[str, int] = {}
    for value, percentage in spread.percentages.items():
        named = _with_label(clusters, words.key(spread.key), value)
        if len(named) != 1:
            there = f"{len(named)} clusters have {spread.key}={value}"
            notes.about(
                Outcome.NO_EQUAL,
                spread.reader,
                "percentageSplit",
                f"{there}, and weights are by name of cluster, so all share alike",
                "write 'weights' by name of cluster",
            )
            return {}
        found[named[0]] = percentage
    return found


def _with_label(clusters: Mapping[str, Labels], key: str, value: str) -> Sequence[str]:
    return [name for name, labels in sorted(clusters.items()) if labels.get(key) == value]
