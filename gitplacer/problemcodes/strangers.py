"""Problems of what workloads hold that no stranger's may."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "ControlAnnotation": Code(
        "An annotation steers the GitOps engine",
        "Order, method and timing of a sync belong to whoever runs the engine. A workload that replaces by force or is not reconciled does "
        "not become what was reviewed.",
        "Remove it. If it is needed and does no harm, as a sync wave may, allow it with a reason.",
        allowable=True,
    ),
    "OrphaningAnnotation": Code(
        "An annotation takes an object from the engine that applies it",
        "gitplacer moves a group by removing its files in one directory and adding them to another, and relies on the engine to do the "
        "same in the clusters. What is not pruned, is a hook, or claims to be another app's stays where it was: the job runs twice.",
        "Remove the annotation or label.",
    ),
    "UnsafeLink": Code(
        "An annotation holds an address that a browser would run",
        "Argo CD and dashboards make links of annotations, and whoever clicks one is logged in there (CVE-2026-45738).",
        "Write an address that begins with `https://`.",
    ),
    "PlainSecret": Code(
        "A Secret is in plain text",
        "The deployment repo keeps it for ever, on every cluster's directory, for everybody who may read it. Base64 hides nothing.",
        "Seal it, let an ExternalSecret bring it, or encrypt it with SOPS. Where the repo is as safe as the secret, a Tenant says "
        "`secrets: Plain`; a fleet without Tenants needs one for that, as nothing on the object itself can allow it.",
    ),
    "SecretInPlain": Code(
        "A value looks like a secret in plain text",
        "A password in a variable, an argument or an annotation is in Git for ever, and in whatever prints the pod. So is one in `env_vars` of "
        "`runtimeEnvYAML` or `serveConfigV2`, which Ray shows on its dashboard too.",
        "Take it from a Secret, by `valueFrom` or a volume; the pods of a Ray cluster hand their own variables on to what runs in them. If it is none, "
        "allow it with a reason.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "ServerField": Code(
        "A field is one that only the cluster writes",
        "Copied out of a live object it makes the apply fail, lets the object be deleted with another, or keeps it from being deleted. It "
        "is not taken out quietly, for what was reviewed is what arrives. Empty ones, as tools write them, are no problem.",
        "Remove it.",
    ),
    "PrivilegedPod": Code(
        "A pod could get out of its container, or onto any node",
        'Beyond the level "baseline" of the Pod Security Standards a pod can take over its node, and with it what others run there. One '
        "that names its node or tolerates every taint goes where placement did not send it. One that keeps pods of other namespaces away by required anti-affinity closes nodes, or whole "
        "zones, to everybody else. Fields are looked for wherever they stand, in "
        "every kind.",
        "Remove the field, or move the object under the platform paths. A Tenant may say `pods: Privileged`; a fleet without Tenants needs "
        "one for that, as nothing on the object itself can allow it.",
    ),
    "ForeignServiceAccount": Code(
        "A pod uses a ServiceAccount that is not its own",
        "A pod may do whatever its ServiceAccount may. One that is not in the source was made by somebody else, with rights that nobody "
        "reviewed here.",
        "Write the ServiceAccount beside the workload, have it under the platform paths in the same namespace, or let its Tenant name it in "
        "`serviceAccounts`.",
    ),
}
