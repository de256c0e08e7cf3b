"""
A stand-in for a Kubernetes API server that real kubectl can write to, on this machine: discovery, server-side apply, get, list, delete.

It keeps what is applied as it came, gives it a uid, and refuses what a real one refuses: an object in a namespace that is not there, an
object of a kind whose definition is not there, a PATCH that is no apply, an apply without a field manager. Nothing that it keeps is
defaulted, validated or run. A namespace that goes takes what is in it along.

Written from "Kubernetes API Concepts" and the discovery that `kubectl -v=8` shows.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from tests.apistandin import Json, status

CRD = "CustomResourceDefinition"
BUILT_IN: Mapping[tuple[str, str], tuple[str, bool]] = {
    ("v1", "namespaces"): ("Namespace", False),
    ("v1", "configmaps"): ("ConfigMap", True),
    ("v1", "services"): ("Service", True),
    ("v1", "secrets"): ("Secret", True),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions"): (CRD, False),
}
Key = tuple[str, str, str, str]
"""apiVersion, plural, namespace, name."""


class KubeApi:
    """What a cluster keeps, and what was asked of it: a line for each change, as `verb plural namespace/name`."""

    def __init__(self) -> None:
        self.objects: dict[Key, Json] = {}
        self.changes: list[str] = []
        self.refused: set[str] = set()
        """Changes that are refused, as they would stand in `changes`."""
        self.told: Callable[[], None] = lambda: None
        """Called after each change, before its answer."""
        self.serve("v1", "namespaces", "default")

    def serve(self, api: str, plural: str, name: str, namespace: str = "", **fields: Any) -> None:
        """Put an object there."""
        kind, _ = self.kinds[api, plural]
        metadata = {"name": name, "uid": str(uuid.uuid4()), **({"namespace": namespace} if namespace else {})}
        self.objects[api, plural, namespace, name] = {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}

    def define(self, group: str, plural: str, kind: str) -> None:
        """Put the definition of a kind there, which is in namespaces and has the version v1."""
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1"}],
        }
        self.serve("apiextensions.k8s.io/v1", "customresourcedefinitions", f"{plural}.{group}", spec=spec)

    @property
    def kinds(self) -> dict[tuple[str, str], tuple[str, bool]]:
        """Kind and whether it is in a namespace, by apiVersion and plural."""
        found = dict(BUILT_IN)
        for (_, plural, _, _), item in self.objects.items():
            if plural == "customresourcedefinitions":
                spec = item["spec"]
                for version in spec["versions"]:
                    api = f"{spec['group']}/{version['name']}"
                    found[api, spec["names"]["plural"]] = (spec["names"]["kind"], spec["scope"] == "Namespaced")
        return found

    def names(self, plural: str = "") -> set[str]:
        """`namespace/name` of everything of a kind; with the plural in front where none is asked for."""
        return {
            f"{ns}/{name}" if plural else f"{what} {ns}/{name}"
            for _, what, ns, name in self.objects
            if plural in ("", what)
        }

    def answer(self, verb: str, path: str, query: dict[str, str], body: Json | None) -> tuple[int, Json]:
        parts = path.strip("/").split("/")
        if parts[0] == "openapi":
            return self._openapi(path)
        if path in ("/api", "/apis") or len(parts) == 2 + (parts[0] == "apis"):
            return self._discovery(path)
        if parts[0] not in ("api", "apis"):
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        at = 2 if parts[0] == "api" else 3
        api, rest = "/".join(parts[1:at]), parts[at:]
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, name = rest[0], rest[1] if len(rest) > 1 else ""
        if (api, plural) not in self.kinds:
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        if not name:
            return self._list(api, plural, namespace)
        return self._one(verb, (api, plural, namespace, name), query, body)

    def _one(self, verb: str, key: Key, query: dict[str, str], body: Json | None) -> tuple[int, Json]:
        _, plural, namespace, name = key
        there = self.objects.get(key)
        gone = 404, status(404, "NotFound", f'{plural} "{name}" not found')
        if verb == "GET":
            return (200, there) if there is not None else gone
        change = f"{verb.lower()} {plural} {namespace}/{name}"
        if change in self.refused:
            return 403, status(403, "Forbidden", f"{plural} {name} is forbidden")
        if verb == "DELETE":
            if there is None:
                return gone
            doomed = [k for k in self.objects if k == key or (plural == "namespaces" and k[2] == name)]
            for k in doomed:
                del self.objects[k]
        elif namespace and ("v1", "namespaces", "", namespace) not in self.objects:
            return 404, status(404, "NotFound", f'namespaces "{namespace}" not found')
        else:
            assert verb == "PATCH" and body is not None and query.get("fieldManager"), (verb, query)
            body["metadata"]["uid"] = there["metadata"]["uid"] if there else str(uuid.uuid4())
            if body["kind"] == CRD:
                body["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
            self.objects[key] = body
        self.changes.append(change)
        self.told()
        return 200, self.objects.get(key, there or {})

    def _list(self, api: str, plural: str, namespace: str) -> tuple[int, Json]:
        kind, _ = self.kinds[api, plural]
        items = [
            item for (a, p, ns, _), item in sorted(self.objects.items())
            if (a, p) == (api, plural) and namespace in ("", ns)
        ]  # fmt: skip
        return 200, {"apiVersion": api, "kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": items}

    def _discovery(self, path: str) -> tuple[int, Json]:
        if path == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            groups = sorted({api for api, _ in self.kinds if "/" in api})
            return 200, {
                "kind": "APIGroupList", "apiVersion": "v1",
                "groups": [
                    {"name": api.split("/")[0], "versions": [version], "preferredVersion": version}
                    for api in groups
                    for version in ({"groupVersion": api, "version": api.split("/")[1]},)
                ],
            }  # fmt: skip
        api = path.removeprefix("/apis/").removeprefix("/api/")
        verbs = ["create", "delete", "get", "list", "patch"]
        resources = [
            {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": verbs}
            for (a, plural), (kind, namespaced) in self.kinds.items()
            if a == api
        ]
        if not resources:
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api, "resources": resources}

    def _openapi(self, path: str) -> tuple[int, Json]:
        """Only what kubectl asks: that the server itself finds fields that are not known."""
        roots = {f"{'apis' if '/' in api else 'api'}/{api}": api for api, _ in self.kinds}
        if path == "/openapi/v3":
            return 200, {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}
        root = path.removeprefix("/openapi/v3/")
        if root not in roots:
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        group, _, version = roots[root].rpartition("/")
        checks = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
        return 200, {
            "openapi": "3.0.0", "info": {"title": "stand-in", "version": "1"},
            "paths": {
                f"/{root}/{plural}/{{name}}": {
                    "patch": {
                        "parameters": [checks], "responses": {},
                        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
                    }
                }
                for (api, plural), (kind, _) in self.kinds.items()
                if api == roots[root]
            },
        }  # fmt: skip


def kubeconfig(contexts: Mapping[str, str]) -> str:
    """A kubeconfig: contexts by name, each with the address of its cluster."""
    return json.dumps(
        {
            "apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {}}],
            "clusters": [{"name": name, "cluster": {"server": url}} for name, url in contexts.items()],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in contexts],
        }
    )  # fmt: skip


@contextlib.contextmanager
def serving(api: KubeApi) -> Iterator[str]:
    """Serves until the context ends; gives the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self) -> None:
            split = urllib.parse.urlsplit(self.path)
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.command == "PATCH":
                assert self.headers["Content-Type"] == "application/apply-patch+yaml"
            code, body = api.answer(
                self.command, split.path, dict(urllib.parse.parse_qsl(split.query)), yaml.safe_load(data)
            )
            sent = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PATCH = do_DELETE = do_POST = _answer

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_address[1]}"
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
