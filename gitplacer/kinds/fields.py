"""
The field types our own kinds are made of.

Each type is declared once: what it accepts, what it becomes, and how JSON Schema says so. Values are exact and
immutable; a number is never taken for a string nor a string for a number, because YAML's guesses are where
mistakes hide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    WithJsonSchema,
    WrapSerializer,
    WrapValidator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from gitplacer.model import quantity
from gitplacer.model.horizon import as_shown
from gitplacer.model.labels import DNS_LABEL, SUBDOMAIN
from gitplacer.model.resources import Resources

API_VERSION = "gitplacer.dev/v1alpha1"

_NAME = 317
"""The longest qualified name: a prefix of 253 characters, a slash, and 63."""

_SHARE = r"^(100|[1-9]?[0-9])%$"
_DURATION = r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$"
_TIME = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)

_DECIMAL = r"^[0-9]{1,9}(\.[0-9]{1,9})?$"


class Model(BaseModel):
    """
    What all declared objects share: camelCase in files, snake_case here, frozen, unknown fields refused.

    Code may name fields in snake_case; `kinds.parse` accepts only what files may say. A field is described by the
    string below it, which `kinds.schema` reads when somebody asks for a schema: pydantic would at every start.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True)


class OwnKind(Model):
    """What every kind of ours begins with."""

    api_version: Literal["gitplacer.dev/v1alpha1"]
    """The version of the kind."""
    kind: str
    """The name of the kind."""


class Matching(Struct, frozen=True):
    """A string that matches a pattern; the message says what would. Parser and schema use the same pattern."""

    pattern: str
    message: str
    longest: int | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, core_schema.str_schema())

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Callable[[Any], Any]) -> dict[str, Any]:
        limit = {} if self.longest is None else {"maxLength": self.longest}
        return {"type": "string", "pattern": self.pattern, **limit}

    def _check(self, value: str) -> str:
        if self.longest is not None and len(value) > self.longest:
            raise ValueError(f"{self.message}, of at most {self.longest:,} characters")
        if re.fullmatch(self.pattern, value) is None:
            raise ValueError(self.message)
        return value


Place = tuple[str | int, ...]
"""Keys and indices that lead to a value, as they are written."""


def first_twice(names: Sequence[str]) -> str | None:
    """The first name that is there twice; None where each is there once. A snapshot has a hundred thousand."""
    times = Counter(names)
    return next((name for name in names if times[name] > 1), None)


class Twice(ValueError):
    """
    A name that is there twice, in a list where each may be there once. `first` and `second` are where it stands, below the object that
    refuses it.
    """

    def __init__(self, what: str, name: str, first: Place, second: Place) -> None:
        super().__init__(f"{what} {name} is there twice")
        self.first = first
        self.second = second


def refuse_twice(what: str, names: Sequence[str], field: str, places: Sequence[Place] = ()) -> None:
    """Raise Twice where a name is there twice. They are of the items of a field, or stand at the `places`, one for each."""
    twice = first_twice(names)
    if twice is not None:
        first, second = [index for index, name in enumerate(names) if name == twice][:2]
        raise Twice(what, twice, *((places[index] if places else (field, index)) for index in (first, second)))


def duration_seconds(value: object) -> int:
    """The seconds of `1h30m`. Raises ValueError."""
    match = re.fullmatch(_DURATION, value) if isinstance(value, str) else None
    if not value or match is None:
        raise ValueError('must be a duration such as "30s", "15m" or "1h30m"')
    return sum(int(part[:-1]) * scale for part, scale in zip(match.groups(), (3600, 60, 1), strict=True) if part)


def period_seconds(value: object) -> int:
    """The same of a time that must not be nothing. Raises ValueError."""
    seconds = duration_seconds(value)
    if not seconds:
        raise ValueError("must be longer than 0s")
    return seconds


def duration_text(seconds: int) -> str:
    """Seconds as a duration is written, in one unit: `1h`, `90m`, `30s`, `0s`."""
    units = ((3600, "h"), (60, "m")) if seconds else ()
    scale, unit = next(((scale, unit) for scale, unit in units if seconds % scale == 0), (1, "s"))
    return f"{seconds // scale}{unit}"


def _instant(value: object) -> datetime:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or re.fullmatch(_TIME, value) is None:
        raise ValueError('must be a time such as "2026-01-02T03:04:05Z"')
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00")).astimezone(UTC)
    except (ValueError, OverflowError):  # what Python says of it differs by version
        raise ValueError("is a time that does not exist: look at its month, day and hour") from None


def _written(value: Any, write: SerializerFunctionWrapHandler) -> Any:
    return write(as_shown(value))


def _price(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise ValueError("must be a number from 0 on")
    return float(value)


def _budget(value: object) -> float:
    if isinstance(value, str) and re.fullmatch(_DECIMAL, value):
        return _price(float(value))
    return _price(value)


def _quantity(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError('must be a Kubernetes quantity such as "500m" or "12Gi"')
    _amount("", str(value))
    return str(value)


def _amount(name: str, text: str) -> int:
    if text.startswith("-"):
        raise quantity.InvalidQuantity(f'"{text}" is negative')  # "-0" too, which a pattern cannot tell from "-1"
    return quantity.amount(name, text)


@lru_cache(maxsize=16384)
def _amounts_of(items: tuple[tuple[str, str], ...]) -> Resources:
    if not all(type(name) is type(text) is str and 0 < len(name) <= _NAME for name, text in items):
        raise ValueError("has a resource without a name, or with one that is too long")
    return Resources({name: _amount(name, text) for name, text in items})


def _amounts(value: dict[str, str]) -> Resources:
    return _amounts_of(tuple(value.items()))


def _bounds(value: dict[str, str]) -> dict[str, int]:
    """Like amounts, but a bound of zero is one."""
    return {name: _amount(name, text) for name, text in value.items()}


def _amounts_quickly(value: object, check: Callable[[object], Resources]) -> Resources:
    """Thousands of nodes are alike: what was converted before is not checked item by item again."""
    if isinstance(value, dict) and value:
        try:
            return _amounts_of(tuple(value.items()))
        except (ValueError, TypeError):  # the latter for what cannot be looked up: a list, say
            pass  # the check says which of them it is, and where
    return check(value)


def _copies(value: object) -> object:
    if value == "All" or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10_000):
        return value
    raise ValueError("must be All or a number from 1 on")


def _at_most(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(_SHARE, value) is not None:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1_000_000:
        return value
    raise ValueError('must be a number from 0 on, or a share such as "25%"')


DnsLabel = Annotated[
    str,
    Matching(
        rf"^{DNS_LABEL}$",
        "must be up to 63 lower-case letters, digits and dashes, and start and end with a letter or digit",
    ),
]
DnsSubdomain = Annotated[
    str,
    Matching(
        rf"^{SUBDOMAIN}$",
        "must be lower-case letters, digits, dashes and dots, and start and end with a letter or digit",
        253,
    ),
]
NamespacedName = Annotated[str, Matching(r"^[^/\s]+/[^/\s]+$", "must be <namespace>/<name>")]
LABEL_KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
LabelKey = Annotated[
    str,
    Matching(
        LABEL_KEY,
        "must be a label key: a name of up to 63 characters, with an optional DNS prefix and a slash",
        _NAME,
    ),
]
LabelValue = Annotated[
    str,
    Matching(
        r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$",
        "must be a label value: up to 63 letters, digits, dashes, dots and underscores",
    ),
]
Word = Annotated[
    str,
    Matching(r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", "must be a label value that is not empty"),
]
LabelMap = dict[LabelKey, LabelValue]
LONGEST_PATTERN = 1000
"""Characters. Longer than any that somebody writes, and short enough that nobody waits while it is read."""
Glob = Annotated[str, Matching(r"^\S+$", "must be a name, with *, ? and [...] as wildcards", LONGEST_PATTERN)]
PathGlob = Annotated[
    str,
    Matching(
        r"^(?!([^\x00-\x1f\\]*/)?\.{0,2}(/|$))[^\x00-\x1f\\]+$",
        'must be a relative path pattern without empty, "." or ".." parts; ** crosses folders',
        LONGEST_PATTERN,
    ),
]
FieldPointer = Annotated[
    str,
    Matching(
        r"^(?!/(apiVersion|kind|metadata(/name|/namespace)?)$)(/([^/~]|~[01])*)+$",
        "must be a JSON Pointer such as /spec/replicas, and not one of the fields that say which object it is",
    ),
]

FOLDER = r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$"
Folder = Annotated[
    str,
    Matching(rf"^{FOLDER}", "must be a relative directory of letters, digits, dots, dashes and underscores"),
]

Boolean = StrictBool
Integer = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
Count = Annotated[StrictInt, Field(ge=1, le=100_000)]

if TYPE_CHECKING:
    Seconds = int
    Period = int
    Instant = datetime
    Price = float
    Budget = float
    Amounts = Resources
    Bounds = dict[str, int]
    Quantities = dict[str, str]
    Copies = int | Literal["All"]
    NumberOrShare = int | str
else:
    Seconds = Annotated[
        int,
        BeforeValidator(duration_seconds),
        WithJsonSchema({"type": "string", "pattern": _DURATION, "minLength": 2, "examples": ["15m", "1h30m"]}),
    ]
    Period = Annotated[
        int,
        BeforeValidator(period_seconds),
        WithJsonSchema(
            {"type": "string", "pattern": f"^(?=.*[1-9]){_DURATION[1:]}", "minLength": 2, "examples": ["15m", "1h30m"]}
        ),
    ]
    Instant = Annotated[
        Any,
        BeforeValidator(_instant),
        # pydantic reads a datetime without asking it, so that one which moves would not notice.
        WrapSerializer(_written, when_used="json-unless-none"),
        WithJsonSchema({"type": "string", "pattern": _TIME, "format": "date-time"}),
    ]
    Price = Annotated[
        float, BeforeValidator(_price), WithJsonSchema({"type": "number", "minimum": 0, "exclusiveMaximum": 1e9})
    ]
    Budget = Annotated[
        float,
        BeforeValidator(_budget),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "number", "minimum": 0, "exclusiveMaximum": 1e9},
                    {"type": "string", "pattern": _DECIMAL},
                ]
            }
        ),
    ]
    _Quantities = dict[
        Annotated[str, Field(min_length=1, max_length=_NAME)],
        Annotated[
            str,
            BeforeValidator(_quantity),
            WithJsonSchema(
                {
                    "anyOf": [
                        {"type": "string", "pattern": quantity.PATTERN, "maxLength": 64},
                        {"type": "number", "minimum": 0, "exclusiveMaximum": 2**63},
                    ]
                }
            ),
        ],
    ]
    Amounts = Annotated[_Quantities, AfterValidator(_amounts), WrapValidator(_amounts_quickly)]
    Bounds = Annotated[_Quantities, AfterValidator(_bounds)]
    Quantities = _Quantities
    Copies = Annotated[
        Any,
        BeforeValidator(_copies),
        WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10_000}, {"const": "All"}]}),
    ]
    NumberOrShare = Annotated[
        Any,
        BeforeValidator(_at_most),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "integer", "minimum": 0, "maximum": 1_000_000},
                    {"type": "string", "pattern": _SHARE, "examples": ["25%"]},
                ]
            }
        ),
    ]
