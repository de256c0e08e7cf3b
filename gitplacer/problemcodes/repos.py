"""Problems of Approvals, of capacity snapshots and of the deployment repo."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "ApprovalExpired": Code(
        "An Approval has expired",
        "Consent is to one thing at one time. After its date an Approval allows nothing, whether it was used or not.",
        "Remove the file. If you still mean it, give it a later date, which makes it a new consent.",
        severity=Severity.WARNING,
    ),
    "ApprovalImpossible": Code(
        "An Approval sends a group to a cluster that does not take it",
        "The cluster may not take the group, or has no room for it now. Nothing is moved.",
        "Name another cluster, make room, or remove the file. While it holds, it is tried again with each pass.",
    ),
    "ApprovalTooLong": Code(
        "An Approval would last for more than 30 days",
        "Consent that never ends is a setting that nobody sees. It does not count before its end is 30 days away or less.",
        "Give it a date within 30 days, or write what is to hold for longer into a policy or into the Fleet.",
        severity=Severity.WARNING,
    ),
    "ApprovalNeedsPlan": Code(
        "An Approval reaches further than one may see, and names no plan",
        "A pattern takes in groups that nobody has thought of, and what exceeds the guards may be more tomorrow. Such consent is to one plan, "
        "named by its digest.",
        "Look at the plan, and write the digest that the hint tells as `spec.plan`. Or name the groups one by one; for action Exceed there is "
        "no other way than the digest.",
    ),
    "ApprovalForOtherPlan": Code(
        "An Approval is for another plan",
        "What would become of the groups that it names is not what somebody has agreed to: there is a group more, one less, or one is held for "
        "another reason or has moved since. It does not count.",
        "Look at the plan again. If you agree to it, write the digest that the hint tells as `spec.plan`; else remove the file.",
        severity=Severity.WARNING,
    ),
    "ApprovalsDisagree": Code(
        "Two Approvals send one group to different clusters",
        "It can go to one. While both hold, neither does.",
        "Remove one of them, or take the group out of its list.",
    ),
    "NoSuchCluster": Code(
        "An Approval names a cluster that the source does not have",
        "Nothing can move there; the group stays where it is.",
        "Correct `spec.to`.",
    ),
    "NoSuchGroup": Code(
        "An Approval names a group that there is not",
        "It allows nothing. The id may be misspelt, or the group is gone already.",
        "Correct the id: `gitplacer status` lists all of them. If the group is gone, remove the Approval.",
        severity=Severity.WARNING,
    ),
    "UnknownCluster": Code(
        "A snapshot is of a cluster that the source does not have",
        "It is not used; perhaps the Cluster was removed, or its name is misspelt.",
        "Add the Cluster, or stop sending its snapshots.",
    ),
    "SnapshotName": Code(
        "A snapshot is in a file named after another cluster",
        "A cluster testifies only about itself. The one that the file is named after takes nothing new. From the branch of a cluster only the file that is "
        "named after it is read.",
        "Name the file after the cluster, and let each writer push to the branch of its own cluster.",
    ),
    "SnapshotFromFuture": Code(
        "A snapshot was taken at a time that has not come",
        "Clocks differ by seconds. A snapshot that is more than five minutes ahead would never grow stale, and would count as "
        "evidence of what nobody has seen yet. In a branch of snapshots the last one that was believed counts on, as stale; "
        "else the cluster takes nothing new. Nothing is moved away for it.",
        "Set the clock where the snapshot is taken, and take it again.",
    ),
    "SnapshotJump": Code(
        "A cluster has grown or shrunk beyond belief",
        "A list that was cut off or a mistaken unit looks like this, and would move a fleet for nothing. So the last snapshot that was "
        "believed counts on, as stale: the cluster takes nothing new, and nothing is moved away for it.",
        "If it is true, wait: a jump is believed once later snapshots have said the same for ten minutes "
        "(`spec.capacity.jumps` of the Fleet says how much is a jump, and how long). If not, look at whoever takes the snapshots.",
    ),
    "SnapshotBeyondLimits": Code(
        "A cluster says that it has more than its Cluster allows",
        "`spec.limits` of the Cluster says what there can be at most. Room that is not there would attract apps whose pods then wait, so "
        "nothing in such a snapshot is believed: in a branch of snapshots the last one that was believed counts on, as stale; else the "
        "cluster takes nothing new. Nothing is moved away for it.",
        "If the cluster has grown, raise its limits. If not, find out who writes the snapshot.",
    ),
    "EpochNeverWritten": Code(
        "A cluster has applied what was never written",
        "Each sync unit carries an epoch, and `applied` says which one the cluster has. It makes a snapshot evidence: that a copy is ready, "
        "that another is gone. One that is beyond what the deployment repo ever had is a lie or another fleet's, so nothing in "
        "the snapshot is believed: the cluster takes nothing new, and nothing is moved away for it.",
        "If somebody turned the deployment branch back, wait until the cluster has synced it. Otherwise look at whoever takes the "
        "snapshots, and which deployment repo the cluster syncs.",
    ),
    "SnapshotNotSigned": Code(
        "A snapshot is signed by nobody who may speak for its cluster",
        "`spec.capacity.writers` of the Fleet names the keys that speak for each cluster. What others say, or nobody has signed, is "
        "not believed: the last snapshot that is signed counts on, as stale, or the cluster takes nothing new.",
        "Sign with `gitplacer snapshot --sign KEY`, and list the public half of that key for the cluster. If nobody knows the commit, "
        "somebody else can push to that branch: find out who.",
    ),
    "SourceNotSigned": Code(
        "A commit of the source is signed by nobody who may",
        "`spec.source.signers` of the Fleet lists whose commits count. This one is signed by none of these keys, so neither it nor what came "
        "after it counts, also where that is signed: a merge must not hide it. A pass is made from the newest commit that counts, and "
        "whatever begins or ends without a change of the source goes on. In the plan of a revision or of a work tree it says that this "
        "revision would not count. A commit that changes the keys is judged by those that were listed before it.",
        "Find out who pushed the commit. If it is meant, somebody who may sign writes it and those after it anew: `git rebase "
        "--gpg-sign COUNTS`, from the newest that counts, and pushes that.",
    ),
    "UsedBeyondAllocatable": Code(
        "More is used on a node than it offers",
        "A node's allocatable may shrink below what its pods ask for; a snapshot may also count pods twice. What is used beyond "
        "it is taken for a node with nothing free.",
        "Take the snapshot again. If it stays so, the node is overcommitted.",
        severity=Severity.WARNING,
    ),
    "CapacityTooLarge": Code(
        "A cluster offers more than can be counted",
        "Amounts are counted in whole units in 63 bits, as Kubernetes does. A sum beyond that is a mistake in a unit, such as "
        "memory in bytes written with a suffix as well. No cluster has more than 100,000 nodes or 1,000 groups of machines, nor nodes with more than 200 different "
        "resources, and each of them takes memory and time. The cluster takes nothing new.",
        "Correct the amounts.",
    ),
    "NodeTypeNotCounted": Code(
        "A machine that an autoscaler could add is not counted on",
        "Neither the Cluster nor its snapshot says what one such node offers or how many there may be, or it meets the "
        "requirements of no node pool. Labels of the instance type, such as its family, have to be written on the node type: a "
        "requirement on a label that is not there is not met.",
        "Write `allocatable`, `max` or the missing `labels` into the Cluster's `nodeTypes`, or remove the type.",
        severity=Severity.WARNING,
    ),
    "RecordName": Code(
        "A record is in a file named after another group",
        "Records are written by gitplacer; this one was moved or copied. The group is held.",
        "Restore the file from the deployment repo's history.",
    ),
    "RemovalNeedsApproval": Code(
        "A platform object was removed from the source",
        "Removing an operator or a CRD removes everything that depends on it, so it stays on the clusters.",
        "Put it back. To let it go, write an Approval with `action: Remove` for its group.",
    ),
    "NameTaken": Code(
        "The deployment repo has a folder where a file is to be written, or a file where a folder is",
        "A file and a folder cannot have one name, and what somebody else put there is never displaced; a link is not followed. What was to "
        "be written there is left out, and groups that need it are held.",
        "Move it away in the deployment repo.",
    ),
    "NotOurs": Code(
        "The deployment repo's directories belong to somebody else",
        "Files are there that no sentinel of ours marks, or Flux, another hydrator or another fleet writes there. Or somebody has removed the "
        "whole root, and the records of what is placed are still there. Nothing is touched.",
        "Give gitplacer a root or a branch of its own in `spec.deployment` of the Fleet, and each fleet a repo of its own. A fleet is known by "
        "its clusters and its apps, so to replace all of both takes two commits. What was removed comes back by a revert.",
    ),
    "UntrustedFleet": Code(
        "A revision that is not trusted changes the Fleet",
        "The Fleet says where capacity and the deployment repo are, which files are trusted, and how much may move. `plan "
        "--trust-base REV` takes all of that from REV, so the plan is not made with this change; merging it makes it count.",
        "Let somebody who may decide that look at the change of the Fleet, best in a pull request of its own.",
        severity=Severity.WARNING,
    ),
}
