"""
A stand-in for a Kubernetes API server on this machine: lists with `limit`, `continue` and `resourceVersion`, Status objects, API
groups, tables of rights, and troubles that are arranged beforehand.

It holds each request against what the API documents and notes what is wrong with one: another method, a path that is not one of a
resource, a parameter that lists do not have, a limit beside a foreign token, a missing or foreign bearer token. A test that uses one
fails if anything was noted. The objects that it serves are held against Kubernetes' own schemas (`checked`).

Written from "Kubernetes API Concepts" (Retrieving large results sets in chunks, 410 Gone, Resource versions) and apimachinery's
`metav1.Status`, `metav1.ListMeta` and `metav1.APIGroupList`.
"""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import ssl
import threading
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import kubernetes_validate
import trustme

TOKEN = "eyJ-SeCrEt-of-a-service-account-0123456789"
Json = dict[str, Any]
VERSION = "1.33"

GROUPS: Mapping[str, tuple[str, ...]] = {
    "apps": ("v1",),
    "batch": ("v1",),
    "storage.k8s.io": ("v1",),
    "node.k8s.io": ("v1",),
    "scheduling.k8s.io": ("v1",),
    "ray.io": ("v1", "v1alpha1"),
}
KINDS: dict[tuple[str, str], str] = {
    ("", "nodes"): "Node",
    ("", "pods"): "Pod",
    ("", "namespaces"): "Namespace",
    ("", "limitranges"): "LimitRange",
    ("", "resourcequotas"): "ResourceQuota",
    ("", "persistentvolumes"): "PersistentVolume",
    ("", "configmaps"): "ConfigMap",
    ("apps", "replicasets"): "ReplicaSet",
    ("apps", "deployments"): "Deployment",
    ("apps", "statefulsets"): "StatefulSet",
    ("apps", "daemonsets"): "DaemonSet",
    ("batch", "jobs"): "Job",
    ("batch", "cronjobs"): "CronJob",
    ("node.k8s.io", "runtimeclasses"): "RuntimeClass",
    ("storage.k8s.io", "storageclasses"): "StorageClass",
    ("scheduling.k8s.io", "priorityclasses"): "PriorityClass",
    ("ray.io", "rayclusters"): "RayCluster",
    ("ray.io", "rayjobs"): "RayJob",
    ("ray.io", "rayservices"): "RayService",
    ("ray.io", "raycronjobs"): "RayCronJob",
    ("karpenter.sh", "nodepools"): "NodePool",
    ("jobset.x-k8s.io", "jobsets"): "JobSet",
    ("kueue.x-k8s.io", "clusterqueues"): "ClusterQueue",
    ("kueue.x-k8s.io", "localqueues"): "LocalQueue",
    ("kueue.x-k8s.io", "cohorts"): "Cohort",
}
PARAMETERS = {"limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector"}


@dataclass
class Trouble:
    """
    What happens to requests of a path instead of an answer, `times` of them, after the first `after`. `status` 0 closes the connection;
    `cut` sends so many bytes of the body and then closes it; `stall` sends so many and waits until the server ends.
    """

    path: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json | None = None
    after: int = 0
    times: int = 1
    cut: int | None = None
    stall: int | None = None
    raw: bytes | None = None


@dataclass(frozen=True)
class Asked:
    """A request as it came. `acting_as` are the headers by which its user acts as another."""

    path: str
    query: Mapping[str, str]
    accept: str
    acting_as: tuple[tuple[str, str], ...] = ()


class ApiServer:
    """
    Objects by (API group, plural). `forbidden` are those that may not be read. `expires` is how many pages of a list are
    given out before its token is forgotten, None for ever; `resumes`: with a token to go on. `page` is the most that it gives at a time. `only` is the
    version that alone has a resource, where not all versions of its group do.
    """

    def __init__(self, objects: Mapping[tuple[str, str], Sequence[Json]]) -> None:
        self.objects = dict(objects)
        self.groups = dict(GROUPS)
        self.forbidden: set[tuple[str, str]] = set()
        self.only: dict[tuple[str, str], str] = {}
        self.troubles: list[Trouble] = []
        self.expires: int | None = None
        self.resumes = True
        self.page = 500
        self.asked: list[Asked] = []
        self.wrong: list[str] = []
        self.over = threading.Event()
        self._served: dict[str, int] = {}
        self._pages: dict[str, int] = {}

    # -- what it answers

    def answer(self, path: str, query: Mapping[str, str], accept: str) -> tuple[int, Json]:
        if path == "/apis":
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self._group(n) for n in self.groups]}
        if path == "/version":
            return 200, {"major": "1", "minor": "33", "gitVersion": "v1.33.4-eks-1a2b3c"}
        parts = path.strip("/").split("/")
        group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
        version = parts[1] if parts[0] == "api" else parts[2]
        if group and version not in self.groups.get(group, ()):
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        if not rest:
            kinds = [
                (plural, kind)
                for (g, plural), kind in KINDS.items()
                if g == group and self.only.get((g, plural), version) == version
            ]
            return 200, {"kind": "APIResourceList", "resources": [{"name": p, "kind": k} for p, k in kinds]}
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural = rest[0]
        if (group, plural) not in KINDS:
            self.wrong.append(f"no resource at {path}")
        if (group, plural) not in KINDS or self.only.get((group, plural), version) != version:
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        if (group, plural) in self.forbidden or f"{namespace}/{'/'.join(rest)}" in self.forbidden:
            message = f'{plural} is forbidden: User "system:serviceaccount:x:y" cannot list resource "{plural}"'
            return 403, status(403, "Forbidden", message)
        items = self.objects.get((group, plural), [])
        if len(rest) > 1:
            for item in items:
                if item["metadata"].get("namespace", "") == namespace and item["metadata"]["name"] == rest[1]:
                    return 200, item
            return 404, status(404, "NotFound", f'{plural} "{rest[1]}" not found')
        return self._list(path, KINDS[group, plural], items, query, accept)

    def _list(
        self, path: str, kind: str, items: Sequence[Json], query: Mapping[str, str], accept: str
    ) -> tuple[int, Json]:
        limit = min(int(query.get("limit", self.page)), self.page)
        start, generation = 0, 0
        if "continue" in query:
            token = json.loads(base64.urlsafe_b64decode(query["continue"]))
            if token["path"] != path:
                self.wrong.append(f"a token of {token['path']} for {path}")
            start, generation = token["start"], token["generation"]
            self._pages[path] = self._pages.get(path, 0) + 1
            if self.expires is not None and self._pages[path] >= self.expires and not token.get("fresh"):
                self._pages[path] = 0
                gone = status(
                    410, "Expired", "The provided continue parameter is too old to display a consistent list."
                )
                if self.resumes:
                    gone["metadata"] = {"continue": self._token(path, start, generation + 1, fresh=True)}
                return 410, gone
        found = list(items[start : start + limit])
        metadata: Json = {"resourceVersion": str(1000 + generation)}
        if start + limit < len(items):
            metadata["continue"] = self._token(path, start + limit, generation)
            metadata["remainingItemCount"] = len(items) - start - limit
        if "as=PartialObjectMetadataList" in accept:
            listed = [
                {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": i["metadata"]}
                for i in found
            ]
            return 200, {
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": listed,
            }
        listed = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in found]
        return 200, {"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": listed}

    def _token(self, path: str, start: int, generation: int, *, fresh: bool = False) -> str:
        value = {"path": path, "start": start, "generation": generation, "fresh": fresh}
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()

    def _group(self, name: str) -> Json:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self.groups[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def trouble(self, path: str) -> Trouble | None:
        """What is arranged for this request of a path."""
        number = self._served.get(path, 0)
        self._served[path] = number + 1
        for trouble in self.troubles:
            if trouble.path == path and trouble.after <= number < trouble.after + trouble.times:
                return trouble
        return None


def status(code: int, reason: str, message: str) -> Json:
    """A metav1.Status of a failure."""
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    }  # fmt: skip


def checked(objects: Mapping[tuple[str, str], Sequence[Json]]) -> Mapping[tuple[str, str], Sequence[Json]]:
    """The objects, once those of Kubernetes' own kinds were held against its schemas, every field known."""
    for (group, _), items in objects.items():
        if group in ("ray.io", "karpenter.sh", "jobset.x-k8s.io"):
            continue
        for item in items:
            kubernetes_validate.validate(item, VERSION, strict=True)
    return objects


@dataclass(frozen=True)
class Served:
    """A server that answers: its address, and the certificate of who vouches for it, as PEM."""

    url: str
    authority: bytes
    server: ApiServer

    def kubeconfig(self, **user: Any) -> str:
        """A kubeconfig for it, with one context called static-cluster."""
        authority = base64.b64encode(self.authority).decode()
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "static-cluster",
                "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority-data": authority}}],
                "users": [{"name": "u", "user": user or {"token": TOKEN}}],
                "contexts": [{"name": "static-cluster", "context": {"cluster": "c", "user": "u"}}],
            }
        )


@contextlib.contextmanager
def serving(server: ApiServer) -> Iterator[Served]:
    """Serves over TLS until the context ends. Fails if any request was wrong."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits 40 ms for the client to acknowledge its headers

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            split = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(split.query, strict_parsing=bool(split.query)))
            accept = self.headers.get("Accept", "")
            acting_as = tuple((name, value) for name, value in self.headers.items() if name.startswith("Impersonate-"))
            server.asked.append(Asked(split.path, query, accept, acting_as))
            server.wrong += [f"{split.path}?{name}" for name in query if name not in PARAMETERS]
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self._send(401, status(401, "Unauthorized", "Unauthorized"), {})
            trouble = server.trouble(split.path)
            if trouble is None:
                return self._send(*server.answer(split.path, query, accept), {})
            if trouble.cut is None and trouble.stall is None and trouble.raw is None:
                if trouble.status == 0:
                    self.close_connection = True
                    return None
                body = trouble.body or status(trouble.status, "Trouble", "arranged")
                return self._send(trouble.status, body, trouble.headers)
            code, body = server.answer(split.path, query, accept)
            data = trouble.raw if trouble.raw is not None else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: trouble.cut if trouble.cut is not None else trouble.stall])
            self.wfile.flush()
            self.close_connection = trouble.raw is None
            if trouble.stall is not None:
                server.over.wait(60)
            return None

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                server.wrong.append(f"{name[3:]} {self.path}")
            raise AttributeError(name)

        def _send(self, code: int, body: Json, headers: Mapping[str, str]) -> None:
            data = json.dumps(body).encode()
            self.send_response(code)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a client that goes away is what some tests are about

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    listener = Quiet(("127.0.0.1", 0), Handler)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        url = f"https://127.0.0.1:{listener.server_address[1]}"
        yield Served(url, authority.cert_pem.bytes(), server)
    finally:
        server.over.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
    assert not server.wrong, server.wrong
