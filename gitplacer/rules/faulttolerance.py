"""
GCS fault tolerance: where the head keeps its state, so that it survives the head.

It used to be set up by an annotation, start parameters and environment variables of the head; since KubeRay 1.3 there is
`gcsFaultToleranceOptions`, and KubeRay refuses a cluster that does both. The state is in Redis, or, since 1.7, in
files on a volume of the head that KubeRay mounts.

A RayCronJob's annotations are not given to the RayJobs that it makes, so they do not count. That a backend cannot be changed
later is a matter of two versions of an object, and rules look at one.
Source: ValidateRayClusterSpec and validateGcsFaultToleranceBackend in ray-operator/controllers/ray/utils/validation.go.
"""

from __future__ import annotations

from gitplacer.documents import Cursor
from gitplacer.rules.containers import (
    pod_spec,
    ray_container,
    tell_managed_mounts,
    tell_managed_variables,
    variable,
)
from gitplacer.rules.manifest import RayManifest, Rule, tell

ENABLED = "ray.io/ft-enabled"
STORAGE_NAMESPACE = "ray.io/external-storage-namespace"
REDIS_ADDRESS = "RAY_REDIS_ADDRESS"
STORAGE_VARIABLES = ("RAY_gcs_storage", "RAY_gcs_storage_path")
STORAGE_VOLUME = "gcs-storage"
STORAGE_PATH = "/data/gcs"
BACKENDS = ("", "redis", "rocksdb")

_OPTIONS = "gcsFaultToleranceOptions"
_AS_OPTION = f"write it as {_OPTIONS}.{{}}"
_REDIS_OPTIONS = ("redisAddress", "redisUsername", "redisPassword", "externalStorageNamespace")
_OF_NEW_CLAIM = ("size", "storageClassName", "accessModes")


def one_way(manifest: RayManifest) -> None:
    """Fault tolerance is set up by its options or in the old way, not by both, and a Redis address is not enough."""
    annotations = _annotations(manifest)
    if manifest.v1 and manifest.cluster.has(_OPTIONS):
        _tell_old_ways(manifest, annotations)
    elif annotations.text(ENABLED).lower() != "true":
        address = variable(ray_container(manifest.head), REDIS_ADDRESS)
        if address is not None:
            message = f"{REDIS_ADDRESS} is set, but fault tolerance is not enabled"
            tell(address, "ContradictoryFaultTolerance", message, f"write the address as {_OPTIONS}.redisAddress")


def redis_username(manifest: RayManifest) -> None:
    """The user of Redis has one place: the options."""
    hint = _AS_OPTION.format("redisUsername")
    params = manifest.head.value.get("rayStartParams")
    if isinstance(params, dict) and params.get("redis-username"):
        at = manifest.head.mapping("rayStartParams")
        message = "KubeRay refuses rayStartParams.redis-username"
        tell(at, "ContradictoryFaultTolerance", message, hint, key="redis-username")
    user = variable(ray_container(manifest.head), "REDIS_USERNAME")
    if user is not None:
        tell(user, "ContradictoryFaultTolerance", "KubeRay refuses the variable REDIS_USERNAME of the head", hint)


def storage(manifest: RayManifest) -> None:
    """Each backend has options of its own; RocksDB also has a volume that nobody else may mount or name."""
    if not manifest.v1 or not manifest.cluster.has(_OPTIONS):
        return
    options = manifest.cluster.mapping(_OPTIONS)
    backend = options.text("backend")
    if backend not in BACKENDS:
        tell(options, "InvalidGCSStorage", f'unknown backend "{backend}"', "redis or rocksdb", key="backend")
    elif backend != "rocksdb":
        if options.has("storage"):
            message = "storage is for the backend rocksdb; this one is redis"
            tell(options, "InvalidGCSStorage", message, "set backend: rocksdb, or remove storage", key="storage")
    else:
        _tell_rocksdb(manifest, options)


def _annotations(manifest: RayManifest) -> Cursor:
    """The annotations that KubeRay goes by: those of the object, and none in a RayCronJob."""
    annotations = manifest.root.mapping("metadata").mapping("annotations")
    if manifest.kind != "RayCronJob":
        return annotations
    return Cursor(annotations.document, annotations.path, {}, annotations.problems)


def _tell_old_ways(manifest: RayManifest, annotations: Cursor) -> None:
    for key, hint in (
        (ENABLED, "remove the annotation"),
        (STORAGE_NAMESPACE, _AS_OPTION.format("externalStorageNamespace")),
    ):
        if annotations.text(key):
            message = f"the annotation {key} and {_OPTIONS} are both set"
            tell(annotations, "ContradictoryFaultTolerance", message, hint, key=key)
    params = manifest.head.mapping("rayStartParams")
    if params.value.get("redis-password"):
        message = f"rayStartParams.redis-password and {_OPTIONS} are both set"
        hint = _AS_OPTION.format("redisPassword")
        tell(params, "ContradictoryFaultTolerance", message, hint, key="redis-password")
    container = ray_container(manifest.head)
    for name, option in (("REDIS_PASSWORD", "redisPassword"), (REDIS_ADDRESS, "redisAddress")):
        found = variable(container, name)
        if found is not None:
            message = f"the head's variable {name} and {_OPTIONS} are both set"
            tell(found, "ContradictoryFaultTolerance", message, _AS_OPTION.format(option))


def _tell_rocksdb(manifest: RayManifest, options: Cursor) -> None:
    for key in _REDIS_OPTIONS:
        if options.value.get(key) not in (None, ""):
            message = f"{key} is for the backend redis; this one is rocksdb"
            tell(options, "InvalidGCSStorage", message, "remove it", key=key)
    claim = options.mapping("storage")
    written = [key for key in _OF_NEW_CLAIM if claim.value.get(key) not in (None, [])]
    if written and claim.text("claimName"):
        message = f"claimName names a claim that exists; {', '.join(written)} would describe a new one"
        tell(claim, "InvalidGCSStorage", message, "keep claimName, or what describes a new claim", key="claimName")
    because = "the GCS storage backend is rocksdb"
    container, spec = ray_container(manifest.head), pod_spec(manifest.head)
    tell_managed_variables(container, STORAGE_VARIABLES, because)
    tell_managed_mounts(container, STORAGE_VOLUME, STORAGE_PATH, because)
    for volume in spec.items("volumes"):
        if volume.text("name") == STORAGE_VOLUME:
            message = f"KubeRay adds a volume {STORAGE_VOLUME} itself, because {because}"
            tell(volume, "ManagedByKubeRay", message, "give the volume another name")


RULES: tuple[Rule, ...] = (one_way, redis_username, storage)
