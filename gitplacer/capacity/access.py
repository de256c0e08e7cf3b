"""
Reading a cluster's API: one object, or a list page by page.

Pages are decoded as plain JSON and handed on one at a time, so that a list of any length costs one page of memory. What an API
server does to its readers is dealt with here, with bounds, so that nobody waits for ever: it says how long to wait (429, 503 with
Retry-After), it cuts a connection, it lets an answer trickle, and it forgets the state that a list began with. In that last case (410)
it gives a token to go on with what is there now; without one the list begins again, and who reads it is told by `Again` to
forget what it had.

Only GET is ever sent, no redirect is followed, and the token goes into no message.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from gitplacer.plaintext import printable
from gitplacer.retryafter import asked_to_wait

PAGE = 500
"""Objects of a page, as kubectl asks for."""
MOST_TRIES = 5
"""Of one request, and of one list that the server lets begin again."""
MOST_BYTES = 256 << 20
"""Of one answer. A page of the largest objects that etcd takes is smaller."""
LONGEST_WAIT = 60.0
"""Seconds that a server may ask us to wait, each time."""
WITHIN = 120.0
"""Seconds for one answer, its body included."""
CONNECT, SILENCE = 10.0, 30.0
"""Seconds for a connection, and between two pieces of a body."""

METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""Names, labels and owners of objects without what is in them."""

_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._:-]+)+")
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
_TRANSIENT = frozenset({429, 500, 502, 503, 504})


class ClusterError(Exception):
    """A cluster could not be read. `status` is the HTTP status, 0 where there was none; `hint` says what helps."""

    def __init__(self, message: str, hint: str = "", *, status: int = 0) -> None:
        super().__init__(message)
        self.hint, self.status = hint, status


class Again:
    """In the place of a page: the list begins again, what came before does not count."""


AGAIN = Again()


class Reply(Struct, frozen=True):
    """An answer: its status, whether more will come of asking again, and its body as JSON."""

    status: int
    body: Any
    retry_after: float | None


class Access(Struct):
    """
    A cluster's API. `pool` is a urllib3 pool manager, `headers` gives those of a request, the token among them; one that is there several times
    is a HTTPHeaderDict's. `sleep` and `clock`
    (seconds, monotonic) are given, so that tests wait for nothing.
    """

    host: str
    pool: Any
    headers: Callable[[], Mapping[str, str]] = dict
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    met: bool = False
    """Whether it has ever answered. A server that never did is told at once, because its address is likely wrong."""

    def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = "application/json") -> Any:
        """The JSON at a path. Raises ClusterError; one of status 404 or 403 says that it is not there or not ours to see."""
        reply = self._patiently(path, query or {}, accept)
        if reply.status != 200:
            raise self._refusal(path, reply)
        return reply.body

    def pages(self, path: str, *, accept: str = "application/json", limit: int = PAGE) -> Iterator[list[Any] | Again]:
        """The items of a list, page by page. Raises ClusterError."""
        query, expired = {"limit": str(limit)}, 0
        while True:
            reply = self._patiently(path, query, accept)
            if reply.status == 410 and "continue" in query:
                expired += 1
                token = _continuation(reply.body)
                if token and expired < MOST_TRIES:  # what is left, as it is now
                    query = {"limit": str(limit), "continue": token}
                    continue
                if expired >= MOST_TRIES:
                    raise ClusterError(
                        f"the list of {path} expired {MOST_TRIES} times before it was read",
                        "the API server forgets too fast for so slow a reader: read it from nearer by",
                        status=410,
                    )
                query = {"limit": str(limit)}
                yield AGAIN
                continue
            if reply.status != 200:
                raise self._refusal(path, reply)
            yield _items(path, reply.body)
            token = _continuation(reply.body)
            if not token:
                return
            if token == query.get("continue"):  # somebody between keeps answers and looks at paths alone
                raise ClusterError(
                    f"the list of {path} does not go on: it is sent away with where it came from",
                    "does a proxy keep answers? ask the API server itself",
                )
            query = {"limit": str(limit), "continue": token}

    def _patiently(self, path: str, query: Mapping[str, str], accept: str) -> Reply:
        """An answer that is not worth asking for again."""
        for tried in range(1, MOST_TRIES + 1):
            try:
                reply = self._ask(path, query, accept)
                if reply.status not in _TRANSIENT or tried == MOST_TRIES:
                    return reply
                wait = reply.retry_after
            except ClusterError:
                if tried == MOST_TRIES or not self.met:
                    raise
                wait = None
            self.sleep(min(2.0 ** (tried - 1) if wait is None else wait, LONGEST_WAIT))
        raise AssertionError("the last try returns or raises")

    def _ask(self, path: str, query: Mapping[str, str], accept: str) -> Reply:
        import urllib3

        if not _PATH.fullmatch(path):  # the names in it are of objects, and `..` would lead to others
            raise ClusterError(f"{printable(path)} is no path of the API")
        url = self.host + path + (f"?{urlencode(query)}" if query else "")
        until = self.clock() + WITHIN
        sent = urllib3.HTTPHeaderDict({"Accept": accept, "User-Agent": "gitplacer"})
        try:
            sent.extend(self.headers())
            response = self.pool.request(
                "GET", url, headers=sent, preload_content=False, redirect=False, retries=False,
                timeout=urllib3.Timeout(connect=CONNECT, read=SILENCE),
            )  # fmt: skip
            self.met = True
            try:
                data = self._body(path, response, until)
            finally:
                response.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterError(
                f"{self.host} cannot be read: {_cause(error)}",
                "is the cluster up, and the address in the kubeconfig right?",
            ) from None
        try:
            body = json.loads(data)
            if _HALVES.search(data):  # half a character cannot be written anywhere
                json.dumps(body, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            if response.status == 200:
                raise ClusterError(
                    f"{self.host}{path} does not answer in JSON", "is this the address of a Kubernetes API server?"
                ) from None
            body = None
        return Reply(response.status, body, asked_to_wait(response))

    def _body(self, path: str, response: Any, until: float) -> bytes:
        """The body, cut off when it takes too long or is too long."""
        whole = bytearray()
        for piece in response.stream(1 << 16):
            whole += piece
            if len(whole) > MOST_BYTES:
                response.close()
                raise ClusterError(f"{self.host}{path} answers with more than {MOST_BYTES >> 20} MiB")
            if self.clock() > until:
                response.close()
                raise ClusterError(
                    f"{self.host}{path} took more than {WITHIN:.0f} s to answer",
                    "the API server or the way to it is overloaded: try again, or read it from nearer by",
                )
        return bytes(whole)

    def _refusal(self, path: str, reply: Reply) -> ClusterError:
        said = reply.body.get("message") if isinstance(reply.body, dict) else None
        why = f": {printable(said, 300)}" if isinstance(said, str) and said else ""
        hints = {
            401: "the credentials are not accepted: log in again, or mend the kubeconfig",
            403: "grant what deploy/snapshot/rbac.yaml has",
        }
        hint = hints.get(reply.status, "")
        return ClusterError(f"{self.host}{path} answers {reply.status}{why}", hint, status=reply.status)


def _items(path: str, body: Any) -> list[Any]:
    """
    The items of a list, which may be null. What has none is no empty list: a page to log in that is JSON would be a cluster without nodes and
    pods.
    """
    if not isinstance(body, dict) or not isinstance(body.get("items", ""), list | None):
        raise ClusterError(f"{path} is not a list", "is this the address of a Kubernetes API server?")
    return body["items"] or []


def _continuation(body: Any) -> str:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    token = metadata.get("continue") if isinstance(metadata, dict) else None
    return token if isinstance(token, str) else ""


def _cause(error: BaseException) -> str:
    """The innermost reason, without the object that urllib3 names."""
    reason = getattr(error, "reason", None)
    text = str(reason if reason is not None and not isinstance(reason, str) else error)
    return printable(re.sub(r"<[^>]*>:? ?|\w+\(host=[^)]*\):? ?", "", text) or type(error).__name__, 300)
