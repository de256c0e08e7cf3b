"""Problems of leaving it to Kueue where a group starts."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "DispatchManager": Code(
        "A policy leaves its groups to the Kueue of a cluster that cannot dispatch them",
        "`placement.dispatch.multiKueue.manager` names the cluster whose Kueue starts the groups of the policy on others. It has to be in the "
        "fleet and awake, and cannot be one of those on which it starts them. Groups under the policy are held until then.",
        "Name a Cluster of the fleet with `role: Management`, or one that `spec.clusters` of the policy leaves out.",
    ),
    "DispatchTooMany": Code(
        "A policy nominates more clusters than Kueue takes",
        "A MultiKueueConfig lists 20 clusters at most. The first ones in the policy's order are nominated, and equals by name.",
        "Select fewer clusters, or divide what the policy governs between two policies.",
        severity=Severity.WARNING,
    ),
    "DispatchKind": Code(
        "Something cannot be left to Kueue",
        "MultiKueue starts a RayJob, RayCluster or RayService of `ray.io/v1` on another cluster, each by itself. It brings no other pods, no "
        "volume, and puts two objects on one cluster by accident only.",
        "Let another policy govern the group, or take what cannot be left to Kueue out of it.",
    ),
    "DispatchContradicted": Code(
        "A manifest says something else than the policy that leaves it to Kueue",
        "Such a policy has the object wait in its queue, gives it `managedBy: kueue.x-k8s.io/multikueue`, and leaves it to Kueue where it runs "
        "and when. A label, a field or an annotation that says otherwise is not written over.",
        "Remove it from the manifest, or let another policy govern the object.",
    ),
    "DispatchTenant": Code(
        "Kueue could start a tenant's group where the tenant may not be",
        "Kueue starts a group on any cluster that it is told of for a policy, and knows nothing of tenants.",
        "Let the policy allow only clusters that the tenant may use, or write a policy for the tenant.",
    ),
    "DispatchNotOurs": Code(
        "Somebody else wrote the file in which Kueue is told of a policy",
        "What somebody did by hand is not written over, so Kueue does not learn which clusters are nominated. A file of ours begins with a line "
        "that says so.",
        "Take the change back, or remove the file: it is made anew.",
        severity=Severity.WARNING,
    ),
}
