"""
The options of Nova's control plane and agent that say how everything is placed, given by name.

They stand in arguments and environment variables of Deployments that are in no folder of policies, so whoever imports says them:
`--option multi-cluster-capacity`, `--option NOVA_IDLE_ENTER_STANDBY_SECS=1800`. What is not said is as Nova has it by default.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from gitplacer.importers.report import Notes, Outcome
from gitplacer.problems import Location, nearest

DEFAULTS: Mapping[str, str] = {
    "multi-cluster-capacity": "false",
    "skip-capacity-relocate": "false",
    "rescheduling-enabled": "true",
    "luna-management-enabled": "true",
    "orchestration-enabled": "true",
    "rbac-controller-enabled": "false",
    "NOVA_IDLE_ENTER_STANDBY_ENABLE": "false",
    "NOVA_IDLE_ENTER_STANDBY_SECS": "3600",
    "NOVA_DELETE_CLUSTER_IN_STANDBY": "false",
    "NOVA_CREATE_CLUSTER_IF_NEEDED": "false",
    "NOVA_MAX_CREATED_CLUSTERS": "10",
    "NOVA_NAMESPACES_EXCLUDE_ACTIVE": "",
}
"""Every option that is known, as it is where nobody says it."""

_CLONES = (
    "gitplacer makes clusters from manifests that you write: read docs/standby.md, and write 'clone' in fleet.yaml"
)
_EQUALS: Mapping[str, tuple[Outcome, str, str]] = {
    "multi-cluster-capacity": (Outcome.CONVERTED, "policies by capacity get 'span: IfNeeded'", ""),
    "skip-capacity-relocate": (Outcome.CONVERTED, "policies by capacity get 'when: {PendingPods: Never}'", ""),
    "rescheduling-enabled": (
        Outcome.CONVERTED,
        "policies by capacity get 'when: {PendingPods: Never}' where it is false",
        "",
    ),
    "luna-management-enabled": (Outcome.CONVERTED, "clusters that scale get the label of Luna, or with false not", ""),
    "orchestration-enabled": (Outcome.LEFT_OUT, "an engine always applies what is placed here", ""),
    "rbac-controller-enabled": (
        Outcome.NO_EQUAL,
        "rights on objects are not copied: Argo CD or Flux applies everything",
        "write Tenants for who may write what: docs/tenants.md",
    ),
    "NOVA_IDLE_ENTER_STANDBY_ENABLE": (Outcome.CONVERTED, "clusters get 'standby'", ""),
    "NOVA_IDLE_ENTER_STANDBY_SECS": (Outcome.CONVERTED, "'standby.idleAfter'", ""),
    "NOVA_DELETE_CLUSTER_IN_STANDBY": (Outcome.CONVERTED, "'standby.mode': Delete where it is true", ""),
    "NOVA_NAMESPACES_EXCLUDE_ACTIVE": (Outcome.CONVERTED, "'standby.ignoreNamespaces'", ""),
    "NOVA_CREATE_CLUSTER_IF_NEEDED": (Outcome.NO_EQUAL, "no manifests of clusters came with it", _CLONES),
    "NOVA_MAX_CREATED_CLUSTERS": (Outcome.NO_EQUAL, "it is 'clone.max', and nothing is cloned yet", _CLONES),
}
_TRUTHS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


class UnknownOption(ValueError):
    """An option that is none, or a value that it cannot have; the text says what, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NovaOptions(Struct, frozen=True):
    """What the options say. `idle_seconds` is None where no cluster ever sleeps."""

    spans: bool = False
    moves_for_capacity: bool = True
    luna: bool = True
    idle_seconds: int | None = None
    deletes: bool = False
    ignored_namespaces: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @staticmethod
    def of(given: Iterable[str]) -> NovaOptions:
        """From `name` (true) or `name=value` each, with dashes before it or not. Raises UnknownOption."""
        values = dict(DEFAULTS)
        named: dict[str, None] = {}
        for each in given:
            name, equals, value = each.lstrip("-").partition("=")
            if name not in DEFAULTS:
                raise UnknownOption(f"Nova has no option {name}", nearest(name, DEFAULTS))
            values[name] = value if equals else "true"
            named[name] = None
        seconds = values["NOVA_IDLE_ENTER_STANDBY_SECS"]
        if not re.fullmatch(r"[0-9]{1,6}", seconds):
            raise UnknownOption(f"NOVA_IDLE_ENTER_STANDBY_SECS={seconds} is no number of seconds", "such as 3600")
        return NovaOptions(
            spans=_truth(values, "multi-cluster-capacity"),
            moves_for_capacity=_truth(values, "rescheduling-enabled") and not _truth(values, "skip-capacity-relocate"),
            luna=_truth(values, "luna-management-enabled"),
            idle_seconds=int(seconds) if _truth(values, "NOVA_IDLE_ENTER_STANDBY_ENABLE") else None,
            deletes=_truth(values, "NOVA_DELETE_CLUSTER_IN_STANDBY"),
            ignored_namespaces=tuple(
                name for name in re.split(r"[,\s]+", values["NOVA_NAMESPACES_EXCLUDE_ACTIVE"]) if name
            ),
            given=tuple(named),
        )

    def tell(self, notes: Notes) -> None:
        """A line for each option that was given."""
        for name in self.given:
            outcome, what, todo = _EQUALS[name]
            notes.add_at(outcome, Location(f"--option {name}"), what, todo)


def _truth(values: Mapping[str, str], name: str) -> bool:
    if values[name].lower() not in _TRUTHS:
        raise UnknownOption(f"{name}={values[name]} is neither true nor false", f"--option {name}=true")
    return _TRUTHS[values[name].lower()]
