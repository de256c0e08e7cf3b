"""
Notices as Events of the cluster that the controller runs in, on its own Pod.

`kubectl describe pod` and `kubectl events` show them. They are of `events.k8s.io/v1`; one that comes again counts up on the first (its `series`),
as long as that is remembered. An API server that is slow, refuses or is gone costs a pass nothing.

The Pod's name, namespace and uid come from POD_NAME, POD_NAMESPACE and POD_UID (the downward API); without them the name is the
host's, and the namespace that of the service account.
"""

from __future__ import annotations

import os
import re
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Turn
from gitplacer.controller.wakes import Clock
from gitplacer.redactor import redact
from gitplacer.settings import UsageError
from gitplacer.telemetry.courier import Courier, Undelivered
from gitplacer.telemetry.notices import Notice, Told, notices

CONTROLLER = "gitplacer.dev/controller"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_LONGEST_NOTE = 1000  # bytes; the API takes 1024
_REMEMBERED = 64
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_HOW: Mapping[str, Any] = {"_request_timeout": (5.0, 10.0), "_preload_content": False}


class Regarding(Struct, frozen=True):
    """The Pod that events are about. `uid` may be ''; then `kubectl describe` does not show them."""

    namespace: str
    name: str
    uid: str = ""


def regarding(environment: Mapping[str, str] = os.environ) -> Regarding:
    """Our own Pod. Raises UsageError where that is not known."""
    name = environment.get("POD_NAME") or socket.gethostname()
    namespace = environment.get("POD_NAMESPACE") or (
        _NAMESPACE_FILE.read_text().strip() if _NAMESPACE_FILE.is_file() else ""
    )
    if not (_NAME.fullmatch(name) and _NAME.fullmatch(namespace)):
        raise UsageError(
            "nobody said which Pod this is", "set POD_NAME, POD_NAMESPACE and POD_UID from the downward API"
        )
    return Regarding(namespace, name, environment.get("POD_UID", ""))


def in_cluster_api() -> Any:
    """The API that takes events, of the cluster that we run in. Raises UsageError."""
    try:
        from kubernetes import client, config
    except ModuleNotFoundError:
        raise UsageError(
            "--events needs the package kubernetes", "install it: pip install 'gitplacer[clusters]'"
        ) from None
    load: Callable[[], None] = config.load_incluster_config
    try:
        load()
    except config.ConfigException as error:
        raise UsageError(f"--events is for a controller in a cluster: {error}", "leave it out elsewhere") from None
    return client.EventsV1Api()


def event(notice: Notice, about: Regarding, name: str, at: datetime) -> dict[str, Any]:
    """A notice as an Event, of events.k8s.io/v1."""
    text = redact(f"{notice.text}{f' (hint: {notice.hint})' if notice.hint else ''}")
    pod = {"apiVersion": "v1", "kind": "Pod", "namespace": about.namespace, "name": about.name}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.namespace},
        "eventTime": _micro(at),
        "reportingController": CONTROLLER,
        "reportingInstance": about.name[:128],
        "action": str(notice.sort),
        "reason": _reason(notice),
        "type": "Warning" if notice.is_warning else "Normal",
        "note": text.encode()[:_LONGEST_NOTE].decode("utf-8", "ignore"),
        "regarding": {**pod, **({"uid": about.uid} if about.uid else {})},
    }


def _reason(notice: Notice) -> str:
    """One word, as the API wants it."""
    return (notice.reason if "," not in notice.reason else str(notice.sort))[:128] or str(notice.sort)


def _micro(at: datetime) -> str:
    """
    A MicroTime, which the API takes with six digits after the point and not otherwise. Clients read it and write it anew, and some leave the digits
    out where they are zeros; so they never are.
    """
    return f"{at.astimezone(UTC).replace(microsecond=at.microsecond or 1):%Y-%m-%dT%H:%M:%S.%fZ}"


class _Post(Struct, frozen=True):
    """An event to be made, or, where it was made before, how often it has come."""

    body: dict[str, Any]
    count: int


class Events(Silent):
    """Makes events of what is worth a notice. `api` is a client of events.k8s.io/v1."""

    def __init__(
        self,
        api: Any,
        about: Regarding,
        *,
        clock: Clock,
        complain: Callable[[str], None],
        dropped: Callable[[], None],
    ) -> None:
        self._api, self._about, self._clock = api, about, clock
        self._told = Told()
        self._known: OrderedDict[tuple[str, str, str], tuple[dict[str, Any], int]] = OrderedDict()
        self._courier: Courier[_Post] = Courier("events", self._send, clock, complain=complain, dropped=dropped)
        self._courier.start()

    def ended(self, turn: Turn) -> None:
        found, self._told = notices(turn, self._told)
        for number, notice in enumerate(found):
            key = (str(notice.sort), notice.reason, notice.text)
            body, count = self._known.pop(key, ({}, 0))
            if not body:
                name = f"{self._about.name[:200]}.{turn.started:%Y%m%d%H%M%S%f}.{number}"
                body = event(notice, self._about, name, turn.started)
            self._known[key] = body, count + 1
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            self._courier.post(_Post(body, count + 1))

    def stopped(self) -> None:
        self._courier.stop()

    def _send(self, post: _Post) -> None:
        name, namespace = post.body["metadata"]["name"], self._about.namespace
        try:
            if post.count == 1:
                _taken(self._api.create_namespaced_event(namespace, post.body, **_HOW))
                return
            seen = {"series": {"count": post.count, "lastObservedTime": _micro(self._clock.wall())}}
            try:
                _taken(self._api.patch_namespaced_event(name, namespace, seen, **_HOW))
            except Exception as error:
                if getattr(error, "status", None) != 404:  # events are kept for an hour or so
                    raise
                body = {**post.body, "eventTime": _micro(self._clock.wall())}
                _taken(self._api.create_namespaced_event(namespace, body, **_HOW))
        except Exception as error:
            status = getattr(error, "status", None) or 0
            if status == 409:  # it was made, and only the answer was lost
                return
            why = f"the API server answers {status}" if status else f"it cannot be reached ({type(error).__name__})"
            raise Undelivered(why, again=status in (0, 429) or status >= 500) from None


def _taken(answer: Any) -> None:
    """The answer's body is of no interest, and its connection may be used again."""
    answer.drain_conn()
