"""
Keeping a lease while the controller works: a thread that asks, and two places where a lease can be.

In a cluster it is a Lease of `coordination.k8s.io`, through the official client; on one machine it is a lock on a file, which the system gives back
when its holder ends, however that happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from gitplacer.controller.lease import Election, Record, Terms, freed, granted, observed
from gitplacer.settings import UsageError


class Conflict(Exception):
    """Somebody else has written since."""


class Leases(Protocol):
    """A place with one lease in it. Every method may raise whatever a connection raises."""

    def read(self) -> Record | None:
        """The record as it is now."""

    def write(self, record: Record) -> Record:
        """Replace the record of that version, or make it if the version is ''; as it is then. Raises Conflict."""


class Elected(Protocol):
    """Whether this replica works."""

    def leads(self) -> bool: ...

    def start(self, changed: Callable[[], None]) -> None:
        """Take part. `changed` is called, in any thread, when the answer may have changed."""

    def stop(self) -> None:
        """Take part no more, and let others begin."""


class Alone:
    """There are no other replicas."""

    def leads(self) -> bool:
        return True

    def start(self, changed: Callable[[], None]) -> None:
        return None

    def stop(self) -> None:
        return None


class Keeper:
    """Takes and renews a lease, in a thread of its own. `clock` never jumps."""

    def __init__(
        self,
        leases: Leases,
        me: str,
        clock: Callable[[], float],
        complain: Callable[[str], None],
        terms: Terms | None = None,
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._complain = complain
        self._election = Election(me=me, terms=terms or Terms())
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._told = ""

    def leads(self) -> bool:
        return self._election.leads(self._clock())

    def start(self, changed: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=self._keep, args=(changed,), name="lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(self._election.terms.deadline)
        mine = freed(self._election)
        if mine is not None:
            with contextlib.suppress(Exception):  # if it cannot be said, the others wait until the lease runs out
                self._leases.write(mine)

    def tick(self) -> None:
        """Read, and write if there is reason to. Never raises: whoever cannot ask does not lead for long."""
        try:
            self._election, wanted = observed(self._election, self._leases.read(), self._clock())
            if wanted is not None:
                asked = self._clock()
                self._election = granted(self._election, self._leases.write(wanted), asked)
            self._told = ""
        except Conflict:
            return  # somebody else was first; it is read again in a moment
        except Exception as error:
            said = f"cannot renew the lease: {type(error).__name__}: {error}"
            if said != self._told:
                self._told = said
                self._complain(said)

    def _keep(self, changed: Callable[[], None]) -> None:
        led = False
        while True:
            self.tick()
            if self.leads() is not led:
                led = not led
                changed()
            if self._stopped.wait(self._election.terms.retry):
                return


class FileLock:
    """A lock on a file of this machine. Whoever has it, has it until the process ends."""

    def __init__(self, path: Path, retry: float = 2.0) -> None:
        self._retry = retry
        self._has = False
        self._stopped = threading.Event()
        try:
            self._file = path.open("a")
        except OSError as error:
            raise UsageError(
                f"--leader-elect file:{path}: {error.strerror}", "give a file in a directory of your own"
            ) from None

    def leads(self) -> bool:
        return self._has

    def start(self, changed: Callable[[], None]) -> None:
        if not self._try():
            threading.Thread(target=self._wait, args=(changed,), name="lease", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._has = False
        self._file.close()

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (OSError, ValueError):  # held by another, or closed in the meantime
            return False
        self._has = True
        return True

    def _wait(self, changed: Callable[[], None]) -> None:
        while not self._stopped.wait(self._retry):
            if self._try():
                changed()
                return


_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ClusterLease:
    """A Lease of `coordination.k8s.io`, through the official client. `api` is its `CoordinationV1Api`."""

    def __init__(self, api: Any, namespace: str, name: str, timeout: float = 5.0) -> None:
        self._api = api
        self._namespace, self._name = namespace, name
        self._timeout = timeout

    @classmethod
    def in_cluster(cls, name: str) -> ClusterLease:
        """The Lease `name` or `namespace/name` of the cluster that this process runs in. Raises UsageError."""
        try:
            from kubernetes import client, config
        except ImportError:
            raise UsageError(
                "--leader-elect needs the Kubernetes client", "pip install 'gitplacer[clusters]'"
            ) from None
        namespace, _, short = name.rpartition("/")
        try:
            config.load_incluster_config()  # type: ignore[no-untyped-call]
            namespace = namespace or (_ACCOUNT / "namespace").read_text("utf-8").strip()
        except (config.ConfigException, OSError):
            hint = "outside of clusters give --leader-elect file:PATH, or run one controller"
            raise UsageError(f"--leader-elect {name} is for a pod in a cluster, and this is none", hint) from None
        return cls(client.CoordinationV1Api(), namespace, short)

    def read(self) -> Record | None:
        from kubernetes.client.exceptions import ApiException

        try:
            found = self._api.read_namespaced_lease(self._name, self._namespace, _request_timeout=self._timeout)
        except ApiException as error:
            if error.status == 404:
                return None
            raise
        return _record(found)

    def write(self, record: Record) -> Record:
        from kubernetes.client.exceptions import ApiException

        now = datetime.now(UTC)
        metadata = {"name": self._name, "namespace": self._namespace}
        spec = {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": max(1, round(record.duration)),
            "leaseTransitions": record.transitions,
            "renewTime": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        body: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": spec,
        }
        try:
            if record.version:
                metadata["resourceVersion"] = record.version
                made = self._api.replace_namespaced_lease(
                    self._name, self._namespace, body, _request_timeout=self._timeout
                )
            else:
                made = self._api.create_namespaced_lease(self._namespace, body, _request_timeout=self._timeout)
        except ApiException as error:
            if error.status == 409:
                raise Conflict from None
            raise
        return _record(made)


def _record(found: Any) -> Record:
    spec = found.spec
    return Record(
        holder=(spec.holder_identity if spec else "") or "",
        duration=float((spec.lease_duration_seconds if spec else 0) or Terms().duration),
        transitions=(spec.lease_transitions if spec else 0) or 0,
        version=found.metadata.resource_version or "",
    )


def elected(text: str | None, clock: Callable[[], float], complain: Callable[[str], None]) -> Elected:
    """What `--leader-elect` asks for: nothing, `file:PATH`, or the name of a Lease. Raises UsageError."""
    if text is None:
        return Alone()
    if text.startswith("file:"):
        if text == "file:":
            raise UsageError("--leader-elect file: names no file", "give a file in a directory of your own")
        return FileLock(Path(text.removeprefix("file:")))
    me = f"{os.uname().nodename}-{os.urandom(4).hex()}"
    return Keeper(ClusterLease.in_cluster(text), me, clock, complain)
