"""
A mapping put together from fields that stand in several places of an object.

Some kinds spread a pod's spec over fields of their own. Whoever reads pods gets one cursor all the same; what is wrong with
a field is reported where the field stands, under the name that it has there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gitplacer.documents import Cursor
from gitplacer.problems import Severity

Home = tuple[Cursor, str]
"""Where a field stands: the mapping, and its name in it."""


class Gathered(Cursor):
    """
    A cursor whose fields have homes elsewhere. Lists are those of all homes together, and before them the items of
    `lists`; anything else is that of the first home. A field without home is absent.
    """

    __slots__ = ("homes", "lists")

    def __init__(
        self, at: Cursor, homes: Mapping[str, Sequence[Home]], lists: Mapping[str, Sequence[Cursor]] | None = None
    ) -> None:
        self.homes = homes
        self.lists = lists or {}
        value = {key: owner.value.get(name) for key, ((owner, name), *_) in homes.items()}
        for key, items in self.lists.items():
            if items or key in homes:
                value[key] = [*(item.value for item in items), *_all_items(homes.get(key, ()))]
        super().__init__(at.document, at.path, value, at.problems)

    def mapping(self, key: str) -> Cursor:
        home = self._home(key)
        return super().mapping(key) if home is None else home[0].mapping(home[1])

    def items(self, key: str) -> list[Cursor]:
        found = list(self.lists.get(key, ()))
        for owner, name in self.homes.get(key, ()):
            found.extend(owner.items(name))
        return found

    def text(self, key: str, default: str = "", *, hint: str = "") -> str:
        home = self._home(key)
        return default if home is None else home[0].text(home[1], default, hint=hint)

    def integer(self, key: str, default: int | None = None) -> int | None:
        home = self._home(key)
        return default if home is None else home[0].integer(home[1], default)

    def number(self, key: str) -> int | float | None:
        home = self._home(key)
        return None if home is None else home[0].number(home[1])

    def boolean(self, key: str, default: bool = False) -> bool:
        home = self._home(key)
        return default if home is None else home[0].boolean(home[1], default)

    def texts(self, key: str) -> tuple[str, ...]:
        home = self._home(key)
        return () if home is None else home[0].texts(home[1])

    def labels(self, key: str) -> dict[str, str]:
        home = self._home(key)
        return {} if home is None else home[0].labels(home[1])

    def report(
        self, code: str, message: str, hint: str = "", *, key: str | None = None, severity: Severity = Severity.ERROR
    ) -> None:
        home = None if key is None else self._home(key)
        if home is None:
            super().report(code, message, hint, severity=severity)
        else:
            home[0].report(code, message, hint, key=home[1], severity=severity)

    def _home(self, key: str) -> Home | None:
        return next(iter(self.homes.get(key, ())), None)


def homes(
    owners: Iterable[Cursor], fields: Iterable[str] | None, together: Iterable[str] = ()
) -> dict[str, list[Home]]:
    """
    Where each field stands: in the first of the mappings that has it, or, for those that count `together`, in all of
    them. `fields` None means any field.
    """
    known, many = None if fields is None else set(fields), set(together)
    found: dict[str, list[Home]] = {}
    for owner in owners:
        for key in owner.value:
            if owner.has(key) and (known is None or key in known) and (key not in found or key in many):
                found.setdefault(key, []).append((owner, key))
    return found


def _all_items(places: Iterable[Home]) -> list[object]:
    return [item for owner, name in places for item in owner.items(name)]
