"""
Authentication of the calls to Ray: with a token, which may be one of Kubernetes.

Source: ValidateRayClusterSpec, ValidateRayJobSpec and ValidateRayServiceSpec in
ray-operator/controllers/ray/utils/validation.go, and the CRD schema for the modes.
"""

from __future__ import annotations

from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayversion import tell_older

MODES = ("", "disabled", "token")
OLDEST_WITH_TOKEN = (2, 52)
OLDEST_WITH_KUBERNETES_TOKEN = (2, 55)


def auth(manifest: RayManifest) -> None:
    """Tokens need a Ray that knows them, and those of Kubernetes a RayCluster by itself without a secret."""
    if not manifest.v1 or not manifest.cluster.has("authOptions"):
        return
    options = manifest.cluster.mapping("authOptions")
    mode, kubernetes = options.text("mode"), options.boolean("enableK8sTokenAuth")
    if mode not in MODES:
        tell(options, "InvalidAuthOptions", f'unknown mode "{mode}"', "token or disabled", key="mode")
    if kubernetes and manifest.kind != "RayCluster":
        message = f"enableK8sTokenAuth is not for a {manifest.kind}"
        tell(options, "InvalidAuthOptions", message, "use mode: token alone", key="enableK8sTokenAuth")
    if kubernetes and mode in ("", "disabled"):
        message = "enableK8sTokenAuth needs mode: token"
        tell(options, "InvalidAuthOptions", message, "set mode: token", key="enableK8sTokenAuth")
    if mode != "token":
        return
    if not kubernetes:
        tell_older(manifest.cluster, OLDEST_WITH_TOKEN, "authOptions.mode: token", options, "mode")
        return
    feature = "authOptions.enableK8sTokenAuth"
    tell_older(manifest.cluster, OLDEST_WITH_KUBERNETES_TOKEN, feature, options, "enableK8sTokenAuth")
    if options.text("secretName"):
        message = "enableK8sTokenAuth and secretName are both set: the token is Kubernetes' or the secret's"
        tell(options, "InvalidAuthOptions", message, "keep one of them", key="secretName")


RULES: tuple[Rule, ...] = (auth,)
