"""
The vocabulary of constraints: requirements match labels, tolerations tolerate taints.

The rules are Kubernetes' own (labels: apimachinery/pkg/labels; nodes: component-helpers nodeaffinity; taints:
component-helpers tolerations), shared by policies that choose clusters and pods that choose nodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

Labels = Mapping[str, str]

NAME_KEY = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its name, and so have our clusters."""

KEY_HINT = "up to 63 letters, digits, '-', '_' and '.', after an optional DNS name and a slash"
VALUE_HINT = "up to 63 letters, digits, '-', '_' and '.'; begin and end with a letter or digit"

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
"""How they are written; a subdomain has at most 253 characters besides."""
_DNS_LABEL, _SUBDOMAIN = re.compile(DNS_LABEL), re.compile(SUBDOMAIN)
_LONGEST_SUBDOMAIN = 253
_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
"""What Kubernetes takes for a number here, within 64 bits; Python would also take "1_0" and digits of other scripts."""
_INTEGERS = range(-(2**63), 2**63)


def is_subdomain(name: str) -> bool:
    """Whether Kubernetes takes it for a DNS subdomain, which the names of most objects are."""
    return len(name) <= _LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(name) is not None


def is_dns_label(name: str) -> bool:
    """Whether Kubernetes takes it for a DNS label, which the names of namespaces are."""
    return _DNS_LABEL.fullmatch(name) is not None


def is_label_key(key: str) -> bool:
    """Whether Kubernetes takes it for a qualified name: `name`, or `prefix/name` with a DNS subdomain before the slash."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Whether Kubernetes takes it for the value of a label, which may be empty."""
    return not value or _NAME.fullmatch(value) is not None


class Requirement(Struct, frozen=True, order=True):
    """One condition on a label. `NotIn` holds when the label is absent; `Gt` and `Lt` compare integers."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
        raise ValueError(f"unknown operator {self.operator}")

    def _compares(self, value: str | None) -> bool:
        if value is None or len(self.values) != 1:
            return False
        if not _INTEGER.fullmatch(value) or not _INTEGER.fullmatch(self.values[0]):
            return False
        left, right = int(value), int(self.values[0])
        if left not in _INTEGERS or right not in _INTEGERS:
            return False
        return left > right if self.operator == "Gt" else left < right

    def __str__(self) -> str:
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "In" | "NotIn":
                word = "in" if self.operator == "In" else "not in"
                return f"{self.key} {word} [{', '.join(self.values)}]"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
        return f"{self.key} {'>' if self.operator == 'Gt' else '<'} {' '.join(self.values)}"


class Taint(Struct, frozen=True):
    """A node's or a cluster's taint."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(Struct, frozen=True):
    """An empty key with `Exists` tolerates everything; an empty effect tolerates every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if not self.key and self.operator != "Exists":
            return False
        return self.operator == "Exists" or (self.operator == "Equal" and self.value == taint.value)


def untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps a pod off (PreferNoSchedule never does), or None."""
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not any(t.tolerates(taint) for t in tolerations):
            return taint
    return None
