"""
Where the scenarios come from that Nova's users know, and how Nova does what they tell.

Read in Elotl's public material: the talk "SkyRay: Seamlessly Extending KubeRay to Multi-Cluster Multi-Cloud Operation", the posts on
SuperSkyRay and Thrifty-Nova, the documentation of Nova and the samples in elotl/skyray and elotl/try-nova. Nova is closed source: where
none of these says something, this says that it is not documented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TALK = "SkyRay talk"
POSTS = "SuperSkyRay posts"
DOCS = "Nova's docs"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a scenario comes from (`source` and its `title` there), how Nova does it, and what is `other` here."""

    source: str
    title: str
    nova: str
    other: str


ORIGINS: Mapping[str, Origin] = {
    "fill-and-spill": Origin(
        TALK,
        "Fill and spill: RayJob training, production",
        "A SchedulePolicy without a cluster selector is an available-capacity policy. Nova takes a cluster with room for the whole group, "
        "else one with an autoscaler that it knows (Luna, Cluster Autoscaler), and labels the group with its target. The objects are in "
        "Nova's own API server; what is on the clusters is in its database and in events that expire.",
        "The choice stands in the pull request before the merge, with a verdict for each cluster, and in a commit after it. Two jobs "
        "that were placed between two snapshots hold their room, so a third is never sold it again.",
    ),
    "fill-no-spill": Origin(
        TALK,
        "Fill, no spill: RayJob training, experimental",
        "The policy names the one cluster (`clusterSelector` on `kubernetes.io/metadata.name`). Gangs apply to available-capacity policies "
        "only, so the third job is sent as well, and its pods are pending on the cluster until an earlier job is gone.",
        "The same with `admission: Immediate`; the plan says how many pods will wait and for what. Without it the third job "
        "is held back whole until there is room, which Nova cannot do for a named cluster.",
    ),
    "right-cluster": Origin(
        TALK,
        "Select the right cluster: RayService, production and development",
        "One policy per namespace with a `clusterSelector` on a label of the Cluster object. Moving the label to another cluster moves the "
        "service: it is deleted on the old cluster and made on the new one, in that order.",
        "Moving the label is a change of one line in a pull request, whose plan shows what it moves before it is merged; the move is a "
        "rename in one commit, or by `strategy: Surge` a second copy first.",
    ),
    "cloud-priority-standby": Origin(
        TALK,
        "Cloud priority with suspend and resume: GKE and EKS",
        "`orderedClusterSelector` lists providers in the order of their values. Clusters sleep by just-in-time standby: Nova sets node groups to 0 with cloud keys of its own, "
        "and wakes a cluster when something is scheduled to it.",
        "A commit says that a cluster wakes, and whoever owns clusters acts on that file (Crossplane, Cluster API, Terraform): no cloud keys here. "
        "What a sleeping cluster will have is written down, so a group is sent only where it will find room.",
    ),
    "cloud-priority-spot-first": Origin(
        TALK,
        "Cloud priority: Rackspace Spot and EKS",
        "The same policy; both clusters are awake, and the provider that is paid for already is named first.",
        "The same, with prices on node types where somebody wants `Cheapest` instead of a fixed order.",
    ),
    "upgrade-by-clone": Origin(
        TALK,
        "Kubernetes upgrade without downtime: clone, spread, validate",
        "The service is spread by annotation (`nova.elotl.co/spread-onto: …::Duplicate`). A copy of the Cluster object makes Nova create the cluster and duplicate onto it; "
        "taking the label off the old one removes the copy there.",
        "Each step is a commit to review. The old copy never goes in the commit that adds the new one.",
    ),
    "clone-if-needed": Origin(
        TALK,
        "Just in time: a cluster that does not exist yet",
        "`NOVA_CREATE_CLUSTER_IF_NEEDED`: where a policy names a cluster that does not exist, or capacity is missing and no candidate has an "
        "autoscaler, Nova clones an accessible cluster, at most ten, with cloud keys.",
        "A template in the fleet repo and a commit that writes the manifests of the clone; whoever owns clusters makes it.",
    ),
    "compound-ai": Origin(
        TALK,
        "Compound AI: retrieval and a language model, each on its cluster",
        "Three policies by labels, one namespace on two clusters. Objects without a matching label are placed each by itself, so they are labelled by scripts after `helm install`.",
        "What belongs to a group is found by references; labels are needed only to join what does not refer to each other.",
    ),
    "span-at-placement": Origin(
        POSTS,
        "Part 1: one Ray app over clusters at placement",
        "With `--multi-cluster-capacity` a group that fits no single cluster is spread over several that Cilium Cluster Mesh joins. A single cluster is preferred; how workers are divided is not documented.",
        "`span: IfNeeded`. The head stays with as many workers as fit; the rest are plain Deployments beside a mirrored global Service, and the plan names how many go where.",
    ),
    "extend-running": Origin(
        POSTS,
        "Part 2: a running app is extended without downtime",
        "With `skip-capacity-relocate` a group that outgrows its cluster is extended onto another instead of moved; the switch is one for the whole process.",
        "A policy decides it by `prefer`. The commit only adds files elsewhere; at home nothing but replica counts changes, which KubeRay does not count as an update.",
    ),
    "update-without-room": Origin(
        POSTS,
        "Part 3: an update that finds no room, and the way home",
        "KubeRay starts a second Ray cluster, whose pods stay pending. Nova sees that, moves the group to a cluster that takes one copy of the new version, and accepts the downtime. "
        "Going back is done by hand.",
        "The plan says before the merge that old and new do not fit together, and moves the app with the edit in one commit. The way home is `gitplacer return` or a revert, checked against today's snapshot.",
    ),
    "update-held-back": Origin(
        POSTS,
        "Part 3, with relocation skipped",
        "With `skip-capacity-relocate` the update stays incomplete until there is room.",
        "`update.ifNotFit: Hold` leaves the old version's manifest where it is until both fit, so no pods are pending.",
    ),
    "update-that-waits": Origin(
        POSTS,
        "Part 3, where no cluster takes a copy",
        "Nothing moves; the pods of the new version stay pending.",
        "`update.ifNotFit: Proceed` does the same, and says so before the merge.",
    ),
    "cheapest-cluster": Origin(
        "Thrifty-Nova",
        "The cheapest autoscaled cluster",
        "A script puts a gated copy on every cluster, waits for Luna's cost events, adds them up, deletes the copies and writes an ordered policy.",
        "Prices are in the Cluster, and `type: Cheapest` computes which machines would have to be added, and what they cost, in the pull request.",
    ),
    "divided": Origin(
        DOCS,
        "Spread scheduling: Divide",
        "`spreadMode: Divide` with `percentageSplit`. Replicas are rounded down, so 5 at 70 and 30 percent become 3 and 1.",
        "Weights, with no replica lost.",
    ),
    "pending-pods": Origin(
        DOCS,
        "Moved because pods wait",
        "Nova's agent reports `ReschedulingTriggered`; the whole group is looked at again with its new total. How long pods must have waited, "
        "and when the group may move again, is not documented.",
        "`pendingFor` and `cooldown`, per policy; the clock stops while nodes come. A job that may have started is not started twice.",
    ),
}  # fmt: skip
"""By scenario."""
