"""
The collector that KubeRay puts beside every Ray container, to keep logs and events for the history server.

Where it keeps them is said in its environment, and KubeRay wants to read there, before it starts anything, which storage is
used and where that is. It knows the variables below; another backend is taken as it is.
Source: validateCollectorOptions in ray-operator/controllers/ray/utils/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.documents import Cursor
from gitplacer.rules.containers import pod_spec, tell_managed_variables
from gitplacer.rules.manifest import RayManifest, Rule, tell

COLLECTOR = "ray-history-collector"
BACKEND = "STORAGE_BACKEND"
MANAGED = (
    "POD_IP",
    "FQ_RAY_IP",
    "RAY_CLUSTER_NAME",
    "RAY_CLUSTER_NAMESPACE",
    "RAY_ROLE",
    "OWNER_KIND",
    "OWNER_NAME",
    "EVENTS_PORT",
)
"""Variables that KubeRay sets in the collector."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "GCS": ("GCS_BUCKET",),
    "S3": ("S3_REGION",),
    "ALIYUNOSS": ("ALIYUN_BUCKET", "ALIYUN_ENDPOINT", "ALIYUN_REGION"),
}
"""Each backend with the variables that it needs. That of Azure depends on how one signs in."""

_AZURE = "AZUREBLOB"
_AZURE_MODE = "AZURE_STORAGE_AUTH_MODE"
_AZURE_CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
_AZURE_ACCOUNT = "AZURE_STORAGE_ACCOUNT_URL"


def collector(manifest: RayManifest) -> None:
    """The collector has an image and a storage, and KubeRay's own variables are left to it."""
    if not manifest.v1 or not manifest.cluster.has("historyServerOptions"):
        return
    owner = manifest.cluster.mapping("historyServerOptions")
    if not owner.has("collectorOptions"):
        hint = "add collectorOptions with its env, or remove historyServerOptions"
        tell(owner, "InvalidHistoryServerOptions", "collectorOptions is missing", hint)
        return
    options = owner.mapping("collectorOptions")
    if not options.text("image"):
        tell(options, "MissingCollectorImage", "the collector has no image", "add image: that of KubeRay's collector")
    tell_managed_variables(options, MANAGED, "the collector needs it")
    variables = {variable.text("name"): variable for variable in options.items("env")}
    backend = variables[BACKEND].text("value") if BACKEND in variables else ""
    if not backend:
        hint = f"add {BACKEND} with a value, such as S3; one that comes from a secret cannot be checked"
        tell(options, "InvalidHistoryServerOptions", f"{BACKEND} has no literal value in env", hint)
        return
    missing = _missing(backend.upper(), variables)
    if missing:
        message = f"{BACKEND} is {backend}, and env has no {missing}"
        tell(variables[BACKEND], "InvalidHistoryServerOptions", message, "add the variable")


def collector_name(manifest: RayManifest) -> None:
    """The collector's container has a name that no other container may have. Source: ValidateRayClusterSpec."""
    if not manifest.v1 or not manifest.cluster.has("historyServerOptions"):
        return
    for group in (manifest.head, *manifest.groups):
        for container in pod_spec(group).items("containers"):
            if container.text("name") == COLLECTOR:
                message = f"KubeRay adds a container {COLLECTOR} itself, because historyServerOptions is set"
                tell(
                    container, "ManagedByKubeRay", message, "give the container another name, or remove it", key="name"
                )


def _missing(backend: str, variables: Mapping[str, Cursor]) -> str:
    """The variable that a backend still needs; '' when it has all."""
    if backend == _AZURE:
        mode = variables[_AZURE_MODE].text("value").strip().lower() if _AZURE_MODE in variables else ""
        if mode == "connection_string":
            needed: tuple[str, ...] = (_AZURE_CONNECTION,)
        elif mode in ("workload_identity", "default"):
            needed = (_AZURE_ACCOUNT,)
        else:
            either = any(_is_set(variables.get(name)) for name in (_AZURE_CONNECTION, _AZURE_ACCOUNT))
            return "" if either else f"{_AZURE_CONNECTION} or {_AZURE_ACCOUNT}"
    else:
        needed = NEEDED.get(backend, ())
    return next((name for name in needed if not _is_set(variables.get(name))), "")


def _is_set(variable: Cursor | None) -> bool:
    """Whether a variable has a value, written or from somewhere."""
    return variable is not None and bool(variable.text("value") or variable.has("valueFrom"))


RULES: tuple[Rule, ...] = (collector, collector_name)
