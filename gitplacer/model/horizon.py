"""
A `now` that notes until when an answer stands.

Most of what a pass compares with its time does not change for hours: a snapshot becomes stale at one instant, an Approval expires at
another. Whoever computes with `Horizon.now` computes what a plain datetime gives, and afterwards `until` is the first instant at which
any comparison that was made would have come out otherwise. All comparisons before it would be the same, so the answer is.

It does not have to be told where time is compared, so nothing can be forgotten: it is a datetime that is asked. Comparisons and
differences are followed; every other question (its year, its text, its hash) shows the instant itself, and whatever is made of that differs
with each. Then the horizon is lost, and `lost` says by which question. A difference that moves is no timedelta, so that no arithmetic
in C reads it unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

_NOTHING = timedelta(0)


class Horizon:
    """`now` is the instant to compute with; `until` and `lost` tell what has come of it so far."""

    def __init__(self, instant: datetime) -> None:
        self.instant = instant
        self.until: datetime | None = None
        """The first instant at which an answer may be another; None for never."""
        self.lost = ""
        """The question that showed the instant itself, '' for none: nothing is known of any other instant."""
        self.now: datetime = Moving(instant, self)

    def reaches(self, instant: datetime) -> bool:
        """Whether the same would be computed at another instant."""
        return not self.lost and self.instant <= instant and (self.until is None or instant < self.until)

    def passes(self, gap: timedelta) -> None:
        """Something is compared that is met after this time; what is behind us stays there."""
        if gap >= _NOTHING:
            try:
                met = self.instant + gap
            except OverflowError:
                return  # after the end of all dates
            self.until = met if self.until is None else min(self.until, met)

    def lose(self, question: str) -> None:
        """Something was asked that has another answer at each instant."""
        self.lost = self.lost or question


class Moving(datetime):
    """An instant that is always as far from now as it is."""

    horizon: Horizon
    plain: datetime

    def __new__(cls, plain: datetime, horizon: Horizon) -> Moving:
        made = super().__new__(
            cls, plain.year, plain.month, plain.day, plain.hour, plain.minute, plain.second, plain.microsecond, plain.tzinfo,
            fold=plain.fold,
        )  # fmt: skip
        made.plain, made.horizon = plain, horizon
        return made

    def _compared(self, other: object, answer: Callable[[Any, Any], Any]) -> Any:
        if not isinstance(other, datetime):
            return NotImplemented
        if not isinstance(other, Moving):
            try:
                self.horizon.passes(other - self.plain)
            except TypeError:  # one of both has no time zone
                self.horizon.lose("time zone")
        elif other.horizon is not self.horizon:
            self.horizon.lose("another horizon")
        return answer(self.plain, _as_plain(other))

    def __lt__(self, other: object) -> bool:
        return cast(bool, self._compared(other, datetime.__lt__))

    def __le__(self, other: object) -> bool:
        return cast(bool, self._compared(other, datetime.__le__))

    def __gt__(self, other: object) -> bool:
        return cast(bool, self._compared(other, datetime.__gt__))

    def __ge__(self, other: object) -> bool:
        return cast(bool, self._compared(other, datetime.__ge__))

    def __eq__(self, other: object) -> bool:
        return cast(bool, self._compared(other, datetime.__eq__))

    def __ne__(self, other: object) -> bool:
        return cast(bool, self._compared(other, datetime.__ne__))

    def __hash__(self) -> int:
        self.horizon.lose("__hash__")
        return hash(self.plain)

    def __add__(self, other: timedelta) -> datetime:  # type: ignore[override]
        return Moving(self.plain + other, self.horizon) if isinstance(other, timedelta) else NotImplemented

    __radd__ = __add__  # type: ignore[assignment]

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, timedelta):
            return Moving(self.plain - other, self.horizon)
        return self._since(other, 1)

    def __rsub__(self, other: Any) -> Any:
        return self._since(other, -1)

    def _since(self, other: Any, pace: int) -> Any:
        """This less another instant; with a pace of -1 the other less this."""
        if not isinstance(other, datetime):
            return NotImplemented
        span = (self.plain - _as_plain(other)) * pace
        if isinstance(other, Moving):
            if other.horizon is not self.horizon:
                self.horizon.lose("another horizon")
            return span
        return MovingSpan(span, pace, self.horizon)


class MovingSpan:
    """
    A time that becomes longer as now goes on (a `pace` of 1), or shorter (-1), where a timedelta is expected. What is not followed here
    is answered by the timedelta, and loses the horizon.
    """

    __slots__ = ("horizon", "pace", "plain")

    def __init__(self, plain: timedelta, pace: int, horizon: Horizon) -> None:
        self.plain, self.pace, self.horizon = plain, pace, horizon

    def _compared(self, other: object, answer: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, MovingSpan):
            if other.pace != self.pace or other.horizon is not self.horizon:
                self.horizon.lose("spans of different paces")
            return answer(self.plain, other.plain)
        if not isinstance(other, timedelta):
            return NotImplemented
        self.horizon.passes((other - self.plain) * self.pace)
        return answer(self.plain, other)

    def __lt__(self, other: object) -> Any:
        return self._compared(other, timedelta.__lt__)

    def __le__(self, other: object) -> Any:
        return self._compared(other, timedelta.__le__)

    def __gt__(self, other: object) -> Any:
        return self._compared(other, timedelta.__gt__)

    def __ge__(self, other: object) -> Any:
        return self._compared(other, timedelta.__ge__)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, timedelta.__eq__)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, timedelta.__ne__)

    def __bool__(self) -> bool:
        return bool(self != _NOTHING)

    def __hash__(self) -> int:
        self.horizon.lose("__hash__")
        return hash(self.plain)

    def __neg__(self) -> MovingSpan:
        return MovingSpan(-self.plain, -self.pace, self.horizon)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, timedelta):
            return MovingSpan(self.plain + other, self.pace, self.horizon)
        if isinstance(other, datetime) and not isinstance(other, Moving) and self.pace == 1:
            return Moving(other + self.plain, self.horizon)
        return self._shown("__add__", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, timedelta):
            return MovingSpan(self.plain - other, self.pace, self.horizon)
        return self._shown("__sub__", other)

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, timedelta):
            return MovingSpan(other - self.plain, -self.pace, self.horizon)
        self.horizon.lose("__rsub__")
        return _as_plain(other) - self.plain

    def _shown(self, question: str, *others: Any) -> Any:
        self.horizon.lose(question)
        return getattr(self.plain, question)(*map(_as_plain, others))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the interpreter looks for, such as how to copy it
            raise AttributeError(name)
        self.horizon.lose(name)
        return getattr(self.plain, name)


def as_shown(value: Any) -> Any:
    """A value that is about to be read by code which is not Python; of one that moves the horizon is lost."""
    if isinstance(value, Moving):
        value.horizon.lose("written")
    return _as_plain(value)


def _as_plain(value: Any) -> Any:
    return value.plain if isinstance(value, Moving | MovingSpan) else value


_INSTANT_FREE = {
    "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__setattr__", "__delattr__",
    "__dir__", "__doc__", "__sizeof__", "__getstate__", "__replace__",
    "min", "max", "resolution", "tzinfo",
    "now", "utcnow", "today", "combine", "strptime", "fromtimestamp", "utcfromtimestamp", "fromordinal", "fromisoformat", "fromisocalendar",
}  # fmt: skip
"""Attributes of a datetime that tell nothing of the instant; the last of them are asked of the class."""


def _showing(cls: type, followed: type) -> None:
    """Make every attribute of a datetime that is not followed show the plain one, and lose the horizon."""
    for name in sorted(set(dir(followed)) - _INSTANT_FREE - set(vars(cls))):
        if callable(getattr(followed, name)):

            def method(self: Any, *args: Any, _name: str = name, **kwargs: Any) -> Any:
                self.horizon.lose(_name)
                return getattr(self.plain, _name)(*map(_as_plain, args), **kwargs)

            setattr(cls, name, method)
        else:

            def value(self: Any, _name: str = name) -> Any:
                self.horizon.lose(_name)
                return getattr(self.plain, _name)

            setattr(cls, name, property(value))


_showing(Moving, datetime)
for _name in (
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__floordiv__",
    "__mod__",
    "__divmod__",
    "__abs__",
    "__pos__",
    "__str__",
    "__repr__",
    "__format__",
):

    def _method(self: MovingSpan, *args: Any, _name: str = _name) -> Any:
        return self._shown(_name, *args)

    setattr(MovingSpan, _name, _method)
