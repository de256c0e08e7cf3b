"""
Mutual TLS between the pods of a Ray cluster, by certificates that KubeRay has cert-manager make.

KubeRay points Ray to the certificates by environment variables and a mount. A second one of either would win over its
own in silence, so it refuses them: in the Ray containers and in what is added to the autoscaler's.
Source: validateTLSOptions in ray-operator/controllers/ray/utils/validation.go.
"""

from __future__ import annotations

from gitplacer.rules.containers import ray_container, tell_managed_mounts, tell_managed_variables
from gitplacer.rules.manifest import RayManifest, Rule

VARIABLES = ("RAY_USE_TLS", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY", "RAY_TLS_CA_CERT")
VOLUME = "ray-tls"
MOUNT_PATH = "/etc/ray/tls"


def managed_tls(manifest: RayManifest) -> None:
    """With tlsOptions.enabled nobody but KubeRay sets up TLS."""
    if not manifest.v1 or not manifest.cluster.has("tlsOptions"):
        return
    if not manifest.cluster.mapping("tlsOptions").boolean("enabled"):
        return
    containers = [ray_container(group) for group in (manifest.head, *manifest.groups)]
    for owner in (*containers, manifest.cluster.mapping("autoscalerOptions")):
        tell_managed_variables(owner, VARIABLES, "tlsOptions.enabled is true")
        tell_managed_mounts(owner, VOLUME, MOUNT_PATH, "tlsOptions.enabled is true")


RULES: tuple[Rule, ...] = (managed_tls,)
