"""
Whether whatever one selection takes, another takes too.

It is proved or it is not: yes means for every object that there could be, no means that no proof was found. Each condition of the
wider selection must follow from the narrower one by itself. Patterns are compared as automata, label conditions key by key; what is
not understood (a set of characters against another) is taken for different.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.model.labels import NAME_KEY, Requirement

_STATES = 4096
"""How many pairs of states two patterns are compared over before it is given up."""
_OTHER = "\0"
"""Stands for a character that neither pattern names."""


def implies(narrow: ObjectSelector, wide: ObjectSelector) -> bool:
    """Whether it is proved that everything which `narrow` selects is selected by `wide`."""
    if never_selects(narrow):
        return True
    namespaced = narrow.namespaces is not None or bool(narrow.namespace_selector.requirements())
    if (wide.namespaces is not None or wide.namespace_selector.requirements()) and not namespaced:
        return False
    return (
        _covered(_namespaces(narrow), wide.namespaces, _name_steps)
        and _covered(narrow.kinds, wide.kinds, _name_steps)
        and _covered(narrow.names, wide.names, _name_steps)
        and _covered(narrow.paths, wide.paths, _path_steps)
        and follow(narrow.label_selector.requirements(), wide.label_selector.requirements())
        and follow(_of_namespaces(narrow), wide.namespace_selector.requirements())
    )


def never_selects(select: ObjectSelector) -> bool:
    """Whether it is proved that no object at all meets the conditions."""
    lists = (select.namespaces, select.kinds, select.names, select.paths)
    if any(patterns is not None and not patterns for patterns in lists):
        return True
    return _contradict(select.label_selector.requirements()) or _contradict(_of_namespaces(select))


def _namespaces(select: ObjectSelector) -> tuple[str, ...] | None:
    """The patterns of namespaces: those that are given, and names that the labels of namespaces are held to."""
    if select.namespaces is not None:
        return select.namespaces
    held = _Held.of(
        requirement for requirement in select.namespace_selector.requirements() if requirement.key == NAME_KEY
    )
    return tuple(map(_literally, sorted(held.values))) if held.values is not None else None


def _literally(name: str) -> str:
    """A pattern that matches just this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _of_namespaces(select: ObjectSelector) -> tuple[Requirement, ...]:
    """What the labels of namespaces must be; names without wildcards are one of them."""
    found = select.namespace_selector.requirements()
    if select.namespaces is None or any(re.search(r"[*?\[]", name) for name in select.namespaces):
        return found
    return (*found, Requirement(NAME_KEY, "In", tuple(select.namespaces)))


# labels


def follow(given: Sequence[Requirement], wanted: Iterable[Requirement]) -> bool:
    """Whether labels that meet all of the given requirements meet all of the wanted ones."""
    return _contradict(given) or all(
        _Held.of(one for one in given if one.key == requirement.key).meets(requirement) for requirement in wanted
    )


def _contradict(requirements: Sequence[Requirement]) -> bool:
    keys = {requirement.key for requirement in requirements}
    return any(_Held.of(one for one in requirements if one.key == key).is_impossible for key in keys)


class _Held(Struct, frozen=True):
    """What is known of one label: whether it is there, which values it may have (None: any), and which it has not."""

    present: bool
    absent: bool
    values: frozenset[str] | None
    never: frozenset[str]

    @classmethod
    def of(cls, requirements: Iterable[Requirement]) -> _Held:
        present = absent = False
        values: frozenset[str] | None = None
        never: frozenset[str] = frozenset()
        for one in requirements:
            present |= one.operator in ("In", "Exists")
            absent |= one.operator == "DoesNotExist"
            if one.operator == "In":
                values = frozenset(one.values) if values is None else values & frozenset(one.values)
            if one.operator == "NotIn":
                never |= frozenset(one.values)
        return cls(present, absent, values - never if values is not None else None, never)

    @property
    def is_impossible(self) -> bool:
        return self.present and (self.absent or self.values == frozenset())

    def meets(self, wanted: Requirement) -> bool:
        match wanted.operator:
            case "In":
                return self.values is not None and self.values <= set(wanted.values)
            case "NotIn":
                without = self.values is not None and not self.values & set(wanted.values)
                return self.absent or without or set(wanted.values) <= self.never
            case "Exists":
                return self.present
            case "DoesNotExist":
                return self.absent
        return False


# patterns

Accepts = Callable[[str], bool]


class _Automaton(Struct, frozen=True):
    """
    States are numbers, the last is the end. `free` are moves without a character; each other move says which characters it takes, and
    where it leads.
    """

    free: tuple[frozenset[int], ...]
    moves: tuple[tuple[tuple[Accepts, int], ...], ...]

    def reach(self, states: Iterable[int]) -> frozenset[int]:
        found, left = set(states), list(states)
        while left:
            for state in self.free[left.pop()] - found:
                found.add(state)
                left.append(state)
        return frozenset(found)

    def after(self, states: Iterable[int], character: str) -> frozenset[int]:
        return self.reach({to for s in states for takes, to in self.moves[s] if takes(character)})


def _covered(narrow: tuple[str, ...] | None, wide: tuple[str, ...] | None, steps: Callable[[str], list[_Step]]) -> bool:
    """Whether each narrow pattern lies within one wide pattern. No patterns at all: anything."""
    if wide is None:
        return True
    anything = ("**",) if steps is _path_steps else ("*",)
    return all(any(_within(one, other, steps) for other in wide) for one in (anything if narrow is None else narrow))


@lru_cache(maxsize=4096)
def _within(narrow: str, wide: str, steps: Callable[[str], list[_Step]]) -> bool:
    """Whether everything that one pattern matches is matched by another."""
    if narrow == wide:
        return True
    one, other = steps(narrow), steps(wide)
    if _is_anything(other):
        return True
    sets = {step.text for step in (*one, *other) if step.kind in ("set", "name set")}
    letters = {step.text for step in (*one, *other) if step.kind == "letter"} | {"/", _OTHER}
    first, second = _automaton(one), _automaton(other)
    alphabet = sorted(letters | sets)
    start = (first.reach([0]), second.reach([0]))
    seen, left = {start}, [start]
    while left:
        here, there = left.pop()
        if len(first.free) - 1 in here and len(second.free) - 1 not in there:
            return False
        for character in alphabet:
            after = first.after(here, character)
            if after and (state := (after, second.after(there, character))) not in seen:
                seen.add(state)
                left.append(state)
        if len(seen) > _STATES:
            return False
    return True


class _Step(Struct, frozen=True):
    """One piece of a pattern: a letter, one of a set, one of any but a slash, or of any; `many` for any number of them, and `folders`."""

    kind: str
    text: str = ""
    many: bool = False


def _is_anything(steps: Sequence[_Step]) -> bool:
    return bool(steps) and all(step.kind == "any" and step.many for step in steps)


def _name_steps(pattern: str) -> list[_Step]:
    """A shell pattern over a name; see `pathglob.name_matches_any`."""
    found = []
    for part in re.findall(r"\[(?:!.|[^!])[^\]]*\]|.", pattern, re.DOTALL):
        if part == "*":
            found.append(_Step("any", many=True))
        elif part == "?":
            found.append(_Step("any"))
        elif len(part) > 1:
            found.append(_Step("name set", part))
        else:
            found.append(_Step("letter", part))
    return found


def _path_steps(pattern: str) -> list[_Step]:
    """A pattern over paths; see `pathglob.compiled`."""
    found: list[_Step] = []
    for part in re.split(r"(\*\*/?|\*|\?|\[[^\]]*\]|\{[a-z]+\})", pattern):
        if part == "**/":
            found.append(_Step("folders"))
        elif part == "**":
            found.append(_Step("any", many=True))
        elif part == "*":
            found.append(_Step("name", many=True))
        elif part == "?":
            found.append(_Step("name"))
        elif part.startswith("{") and part.endswith("}"):
            found += [_Step("name"), _Step("name", many=True)]
        elif part.startswith("[") and part.endswith("]"):
            found.append(_Step("set", part))
        else:
            found += [_Step("letter", letter) for letter in part]
    return found


def _automaton(steps: Sequence[_Step]) -> _Automaton:
    """
    A character of a set stands for itself in the alphabet: in a narrow pattern it is any character of the set, which only the same
    set and wildcards surely take.
    """
    free: list[set[int]] = [set()]
    moves: list[list[tuple[Accepts, int]]] = [[]]

    def state() -> int:
        free.append(set())
        moves.append([])
        return len(free) - 1

    for step in steps:
        here = len(free) - 1
        if step.kind == "folders":  # any number of names, each with a slash
            inside, after = state(), state()
            free[here].add(after)
            moves[here].append((_is_no_slash, inside))
            moves[inside] += [(_is_no_slash, inside), (_is_slash, after)]
            moves[after].append((_is_no_slash, inside))
        elif step.many:
            moves[here].append((_TAKES[step.kind](step.text), here))
            free[here].add(state())
        else:
            moves[here].append((_TAKES[step.kind](step.text), state()))
    return _Automaton(tuple(map(frozenset, free)), tuple(map(tuple, moves)))


def _is_slash(character: str) -> bool:
    return character == "/"


def _is_no_slash(character: str) -> bool:
    return character != "/" and len(character) == 1  # a set may have a slash in it


def _is_of(name_set: str) -> Accepts:
    """The set itself, and the letters that are surely in it."""
    return lambda c: c == name_set or (len(c) == 1 and c != _OTHER and fnmatch.fnmatchcase(c, name_set))


_TAKES: dict[str, Callable[[str], Accepts]] = {
    "letter": lambda text: lambda character: character == text,
    "set": lambda text: lambda character: character == text,
    "name set": _is_of,
    "name": lambda text: _is_no_slash,
    "any": lambda text: lambda character: True,
}
