"""
A plan that somebody looked at, kept in a file, and held against the plan that a later pass makes.

The file is the plan's JSON with one more key. A pass never does what a file says: it plans anew, and the file can only keep it
from publishing. What is compared is what becomes of each group (its action, its clusters, what each has of it) and of
each cluster that may sleep; bytes of manifests and the words for reasons are not. So a plan stays good while a snapshot, the
time or somebody else's commit has moved, for as long as nothing in it would come out otherwise.

A decision that was carried out meanwhile is no difference: whoever runs the same plan twice is told that nothing is left to do.
The digest shows damage and careless edits; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from gitplacer.explain import LONGEST_SENTENCE, PlanView
from gitplacer.formats.planjson import plan_document, to_json
from gitplacer.formats.planschema import plan_schema
from gitplacer.plaintext import aligned, printable

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SAVED = 256 * 1024 * 1024
"""Bytes. The plan of ten thousand groups is about 40 MB."""

INPUTS = ("source", "capacity", "deployment", "now", "version")
"""What a plan depends on, as the plan's JSON names it."""

_SHOWN = 50
"""Differences that a refusal tells."""
_ANEW = "make it anew: gitplacer plan --out FILE"


class BadPlan(Exception):
    """A file that is no saved plan. `hint` says what to do."""

    def __init__(self, message: str, hint: str = _ANEW) -> None:
        super().__init__(message)
        self.hint = hint


class Fate(Struct, frozen=True):
    """
    What becomes of one group: its action, the clusters that have its files before and after, and what each has of it: cluster,
    role, state, and pods by role.
    """

    action: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    copies: tuple[tuple[str, str, str, tuple[tuple[str, int], ...]], ...] = ()


class SavedPlan(Struct, frozen=True):
    """
    What of a plan is held against another: its `inputs` by the names of `INPUTS`, None for what there was not; the fates of its
    groups; and of clusters that may sleep their states before and after.
    """

    inputs: Mapping[str, str | None]
    groups: Mapping[str, Fate]
    clusters: Mapping[str, Fate]

    @property
    def digest(self) -> str:
        """The same for two plans that come to the same from the same inputs."""
        rows = {
            "inputs": dict(self.inputs),
            "groups": {name: _row(fate) for name, fate in self.groups.items()},
            "clusters": {name: _row(fate) for name, fate in self.clusters.items()},
        }
        text = json.dumps(rows, sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class Otherwise(Struct, frozen=True):
    """A group or cluster that comes out otherwise than planned; None where it is not in one of the plans."""

    name: str
    planned: Fate | None
    now: Fate | None


class MovedInput(Struct, frozen=True):
    """An input that is not what it was, None where there was or is none."""

    name: str
    planned: str | None
    now: str | None


def plan_of(view: PlanView) -> SavedPlan:
    """What of a plan is compared."""
    return _read(plan_document(view))


def saved_text(document: Mapping[str, Any], *, changes: bool) -> str:
    """The file: the plan's JSON, with the digest, and whether the pass `changes` anything. Nothing of it may be redacted."""
    return to_json({**document, "saved": {"digest": _read(document).digest, "changes": changes}}, indent=1)


def load(data: bytes, name: str) -> SavedPlan:
    """The plan that a file holds; `name` is for messages. Raises BadPlan."""
    document = _checked(_parsed(data, name), name)
    plan = _read(document)
    if len(plan.groups) != len(document["groups"]) or len(plan.clusters) != len(document["clusters"]):
        raise BadPlan(f"{name} has something twice")
    if not _is_time(plan.inputs["now"]):
        raise BadPlan(f"{name} is no saved plan: inputs/now: {plan.inputs['now']} is no time")
    if plan.digest != document["saved"]["digest"]:
        raise BadPlan(f"{name} is not as it was written: its decisions do not have its digest")
    return plan


def _is_time(text: str | None) -> bool:
    try:
        return text is not None and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _parsed(data: bytes, name: str) -> Any:
    if len(data) > MAX_SAVED:
        raise BadPlan(f"{name} has more than {MAX_SAVED // 1024 // 1024} MiB, so it is no plan")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_without_twins)
    except json.JSONDecodeError as error:
        raise BadPlan(f"{name}:{error.lineno}:{error.colno}: is no JSON: {error.msg}") from None
    except RecursionError:
        raise BadPlan(f"{name} is nested too deep") from None
    except ValueError as error:
        raise BadPlan(f"{name} is no JSON: {error}") from None


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _checked(document: Any, name: str) -> dict[str, Any]:
    """The document, if it is one that we wrote. Raises BadPlan."""
    if isinstance(document, dict) and document.get("kind") == "Plan" and "saved" not in document:
        raise BadPlan(f"{name} is a plan, and was not saved to be carried out", "save it: gitplacer plan --out FILE")
    error = next(_validator().iter_errors(document), None)
    if error is not None:
        place = "/".join(map(str, error.instance_path)) or "the whole"
        raise BadPlan(f"{name} is no saved plan: {place}: {printable(error.message, LONGEST_SENTENCE)}")
    assert isinstance(document, dict)
    return document


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # half of what it takes to start

    schema = plan_schema()
    saved = {
        "type": "object",
        "required": ["digest", "changes"],
        "properties": {
            "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
            "changes": {"type": "boolean"},
        },
    }
    return jsonschema_rs.Draft202012Validator(
        {**schema, "required": [*schema["required"], "saved"], "properties": {**schema["properties"], "saved": saved}}
    )


def _read(document: Mapping[str, Any]) -> SavedPlan:
    inputs = document["inputs"]
    return SavedPlan(
        {
            "source": inputs["source"]["commit"],
            "capacity": inputs["capacity"]["tree"],
            "deployment": inputs["deployment"]["commit"],
            "now": inputs["now"],
            "version": inputs["version"],
        },
        {group["group"]: _fate(group) for group in document["groups"]},
        {
            each["cluster"]: Fate("Keep" if each["from"] == each["to"] else "Change", _one(each["from"]), (each["to"],))
            for each in document["clusters"]
        },
    )


def _fate(group: Mapping[str, Any]) -> Fate:
    copies = [
        (each["cluster"], each["role"], each["state"], tuple((pods["role"], pods["count"]) for pods in each["pods"]))
        for each in group["assignments"]
    ]
    return Fate(group["action"], tuple(group["from"]), tuple(group["to"]), tuple(copies))


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _row(fate: Fate) -> list[Any]:
    return [fate.action, fate.before, fate.after, fate.copies]


# two plans


def differences(planned: SavedPlan, now: SavedPlan) -> tuple[Otherwise, ...]:
    """What comes out otherwise: groups first, then clusters, each sorted by name."""
    return (*_differing(planned.groups, now.groups), *_differing(planned.clusters, now.clusters))


def _differing(planned: Mapping[str, Fate], now: Mapping[str, Fate]) -> Iterator[Otherwise]:
    for name in sorted(planned.keys() | now.keys()):
        one, other = planned.get(name), now.get(name)
        if one != other and not _is_carried_out(one, other):
            yield Otherwise(name, one, other)


def _is_carried_out(planned: Fate | None, now: Fate | None) -> bool:
    """Whether what was to be done is done, and nothing else is to be."""
    if planned is None:
        return False
    if now is None:
        return planned.action == "Remove" and not planned.after
    return now.action == "Keep" and planned.after == now.before and planned.copies == now.copies


def moved(planned: SavedPlan, now: SavedPlan) -> tuple[MovedInput, ...]:
    """The inputs that are not what they were, in the order of `INPUTS`."""
    return tuple(
        MovedInput(name, planned.inputs[name], now.inputs[name])
        for name in INPUTS
        if planned.inputs[name] != now.inputs[name]
    )


# as words


def refusal(found: Sequence[Otherwise], causes: Mapping[str, Sequence[str]], inputs: Sequence[MovedInput]) -> str:
    """Both plans side by side: each difference with the inputs that make it, and then what moved of the inputs."""
    rows = [("", "PLANNED", "NOW", "BECAUSE OF")]
    rows += [
        (printable(each.name), fate_text(each.planned, each.now), fate_text(each.now, each.planned), _because(causes.get(each.name, ())))
        for each in found[:_SHOWN]
    ]  # fmt: skip
    lines = aligned(rows)
    if len(found) > _SHOWN:
        lines.append(f"  and {len(found) - _SHOWN} more")
    lines += [
        "",
        "Inputs that have moved since",
        *aligned([(m.name, _short(m.planned), "→", _short(m.now)) for m in inputs]),
    ]
    return "".join(f"{line}\n" for line in lines)


def fate_text(fate: Fate | None, beside: Fate | None = None) -> str:
    """A fate in a few words; with its counts where these are all that it differs in from the one beside it."""
    if fate is None:
        return "not there"
    before, after = (", ".join(map(printable, names)) for names in (fate.before, fate.after))
    if before and after and before != after:
        where = f" {before} → {after}"
    else:
        where = f" on {after}" if after else f" from {before}" if before else ""
    text = f"{fate.action}{where}"
    if beside is None or (fate.action, fate.before, fate.after) != (beside.action, beside.before, beside.after):
        return text
    return f"{text}: {'; '.join(_copy_text(*copy) for copy in fate.copies if copy not in beside.copies)}".rstrip(": ")


def _copy_text(cluster: str, role: str, state: str, pods: tuple[tuple[str, int], ...]) -> str:
    counted = ", ".join(f"{count} × {printable(name)}" for name, count in pods)
    said = [word for word in (role, state) if word not in ("Copy", "Placed")]
    return " ".join((printable(cluster), *said, counted))


def _because(causes: Sequence[str]) -> str:
    return " or ".join(causes) if causes else "several together"


def _short(value: str | None) -> str:
    """An input; ids of objects as short as git shows them."""
    if value is None:
        return "none"
    return value[:12] if len(value) == 40 else printable(value)
