"""Problems of groups and of the policies that govern them."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "NoPolicy": Code(
        "No policy governs an object",
        "Without a policy nobody knows where it may go; it is not placed, and stays where it is if it was.",
        "Write a PlacementPolicy whose `select` matches it.",
    ),
    "AmbiguousPolicy": Code(
        "Two policies govern one object with equal precedence",
        "Choosing one would be luck.",
        "Give one of them a higher `precedence`, or set the annotation `gitplacer.dev/policy` on the object.",
    ),
    "NoSuchPolicy": Code(
        "An annotation names a policy that does not match",
        "`gitplacer.dev/policy` chooses among the policies that select the object; it cannot reach others.",
        "Name one that matches, or remove the annotation.",
    ),
    "EnginesDisagree": Code(
        "Argo CD and Flux would not read an object alike",
        "Each engine has inputs that it passes over, unpacks or fails for and the other does not; then what was reviewed "
        "is not what runs, or one object stops the whole directory.",
        "Do what the hint says; an object that must not be applied does not belong in the source paths.",
    ),
    "MixedPolicies": Code(
        "Objects that belong together are governed by different policies",
        "They must be on the same cluster, and two policies may send them to different ones.",
        "Let one policy select all of them.",
    ),
    "GroupIdTaken": Code(
        "Two groups would have one id, or two that differ only in upper and lower case",
        "A group's id is its directory in the deployment repo, and some file systems cannot hold two that differ only in case. Both are held.",
        "Rename one of the objects, or join them with `groupBy`.",
    ),
    "InTwoGroups": Code(
        "An object belongs with two groups",
        "A Service or route that points at two groups would have to be on two clusters at once. Both are held.",
        "Join the groups with `groupBy`, or split the object.",
    ),
    "SharedTooWidely": Code(
        "The groups of a namespace share too much with one another",
        "Each group lists in its record what it shares with others. A thousand objects that a thousand groups share each are a million "
        "entries, and everybody would wait while these are written. The groups of one namespace may have 100,000 entries together, and 100 each "
        "where they are more than 1,000. What few groups share counts first; groups that share one of the objects beyond are held, and what was placed "
        "of them stays as it is.",
        "Let each object select the pods of one app, make one NetworkPolicy or PodMonitor of those that select the same pods, or join the apps with "
        "`groupBy`. What is for a whole namespace goes under the platform paths.",
    ),
    "NotInAGroup": Code(
        "An object belongs to no group",
        "Nothing that is placed refers to it and no policy's `groupBy` joins it with something that is, so it is not placed; and if it was, it is "
        "removed from the clusters when its group is updated. It is not reported while a file that may be the one to refer to it cannot be read.",
        "Refer to it, give it the label its group is joined by, or remove it. A custom resource that becomes pods needs a "
        "[WorkloadKind](../kinds/WorkloadKind.md); what is for a whole namespace or cluster goes under the platform paths.",
    ),
    "InvalidGroupName": Code(
        "A group's name cannot be a directory",
        "The name, taken from an object, a label or a directory, becomes a path in the deployment repo.",
        "Use letters, digits, dashes, dots and underscores, at most 250 of them.",
    ),
    "ContradictoryAnnotation": Code(
        "Members of one group ask for different clusters",
        "A group goes to one place.",
        "Let the annotations agree.",
    ),
    "CopiesOfAJob": Code(
        "A policy asks for copies of a job",
        "Each copy would run the job once more.",
        "Let a policy with `copies: 1` govern it.",
    ),
    "ClaimForOnePod": Code(
        "Several pods of a group have a volume that is for one",
        "A claim that is `ReadWriteOncePod` keeps all pods but one off every node, so that the group never runs as a whole.",
        "Use `ReadWriteMany`, or give each pod a claim of its own: an `ephemeral` volume, or the `volumeClaimTemplates` of a StatefulSet.",
    ),
    "ClaimForOneNode": Code(
        "Several pods of a group have a volume that is for one node",
        "kube-scheduler does not mind that a claim is `ReadWriteOnce`, and places the pods on several nodes. A driver that attaches volumes to nodes, as those "
        "of cloud disks do, attaches it to one of them, and the pods on others wait for ever: the group fits and never runs. Where a driver attaches nothing, "
        "as those of network file systems, all start.",
        "Use `ReadWriteMany`, give each pod a claim of its own (an `ephemeral` volume, or the `volumeClaimTemplates` of a StatefulSet), or keep the pods "
        "on one node by required `podAffinity` with `topologyKey: kubernetes.io/hostname`. Where the driver attaches nothing, allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "DividedSingleton": Code(
        "A policy divides what there can be but one of",
        "A divided group runs on several clusters at once. A job would run on each of them, and data in a volume that one node at "
        "a time may mount, or in a fixed place of its own, would be in one of them.",
        "Let a policy of another type govern it.",
    ),
    "WeightedClusterMissing": Code(
        "A weight is for a cluster that the fleet does not have",
        "The name may be misspelt. Its share goes to the others.",
        "Correct the name, add the Cluster, or remove the weight.",
        severity=Severity.WARNING,
    ),
    "WishedClusterMissing": Code(
        "An annotation asks for a cluster that the fleet does not have",
        "`gitplacer.dev/cluster` names the one cluster that its group may be on, so the group waits for one of that name, or is held where it is. "
        "The name may be misspelt.",
        "Correct the name, add the Cluster, or remove the annotation.",
        severity=Severity.WARNING,
    ),
    "ScoresMissing": Code(
        "A policy weighs scores that there are not",
        "There is no ClusterScores of that name, so every cluster counts as 0. The name may be misspelt.",
        "Correct the name, add the ClusterScores, or remove the term.",
        severity=Severity.WARNING,
    ),
    "ScoresExpired": Code(
        "Scores are no longer valid",
        "Their `validUntil` has passed, so every cluster counts as 0 until somebody writes new ones. What runs is not moved for that.",
        "Look at what writes them; raise `validUntil`, or remove it if the numbers hold for good.",
        severity=Severity.WARNING,
    ),
    "ScoredClusterMissing": Code(
        "A score is for a cluster that the fleet does not have",
        "The name may be misspelt. The number counts nothing.",
        "Correct the name, add the Cluster, or remove the number.",
        severity=Severity.WARNING,
    ),
    "ClusterNotScored": Code(
        "A cluster has no score",
        "A policy weighs the scores and allows the cluster. It counts as 0, which is better than every negative number.",
        "Give the cluster a number, from -100 to 100.",
        severity=Severity.WARNING,
    ),
    "TopologyKeyMissing": Code(
        "Copies are to be spread over a label that no cluster has",
        "A cluster without the label gets no copy, so nothing that the policy governs can be placed. The key may be misspelt. Every cluster with "
        "a `region`, `zone`, `provider` or `kubernetesVersion` has a label for each, and one with its name.",
        "Correct the key, or give the clusters the label.",
        severity=Severity.WARNING,
    ),
    "DomainsMissing": Code(
        "Copies are to be in more domains than there are",
        "The clusters that the policy allows have fewer values of the label than `minDomains`, so what it governs waits until a "
        "cluster with another value is added.",
        "Lower `minDomains`, let the policy allow more clusters, or correct their labels.",
        severity=Severity.WARNING,
    ),
    "PolicySelectsNothing": Code(
        "A policy selects nothing",
        "No object of the source meets all its conditions, or, where they contradict each other, none ever could. `gitplacer test` "
        "says so; it holds nothing.",
        "Correct the selection; a policy for what is still to come may stay.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "PolicyShadowed": Code(
        "A policy governs nothing of what it selects",
        "Of several policies that select one object the highest precedence governs. Where another selects all that this one does, it "
        "can govern only an object that chooses it by annotation; that is proved from the two selections. Otherwise it is counted over "
        "the objects there are. `gitplacer test` says so; it holds nothing.",
        "Give it a higher `precedence`, narrow the other, or remove it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "SelectsNoCluster": Code(
        "A policy selects no cluster",
        "Nothing can be placed by a policy whose `clusters` select none; a term of an order that selects none is never taken; an override "
        "for no cluster changes nothing. `gitplacer test` says so. A name of no cluster is likely to be misspelt, and is passed over; that every command "
        "says, of policies, overrides and Tenants, but not where the Fleet has `clone`: there a cluster is made when it is named. It holds nothing.",
        "Correct the names or labels, or add the cluster.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "OverrideTouchesNothing": Code(
        "An override changes nothing",
        "No object of the source meets the conditions of its `select`. `gitplacer test` says so; it holds nothing.",
        "Correct the selection, or remove the override.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "MissingReference": Code(
        "An object needs another that nobody brings",
        "What a manifest names (a ConfigMap, a Secret, a claim, a ServiceAccount, a RayCluster …) travels with it when it is among the "
        "workloads of the source; an object of the platform goes where its own policy brings it. This one is in neither, or is not brought to a cluster "
        "that the group may go to, and that is not known to have it, so its pods would wait for it there. Where a policy brings fewer copies than "
        "it allows clusters, only those count that have one already.",
        "Add it to the source, or let the policy of the platform bring it to all clusters of the group. If the clusters have it from elsewhere, list it under `present` in their snapshots or in "
        "`spec.profile.present` of the Cluster. An optional reference is none of this.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "NamesakesCollide": Code(
        "Two objects of one name make the same object",
        "KubeRay names a Service `<name>-head-svc` after a RayCluster, a RayJob and a RayService, and the submitter's Job after "
        "the RayJob. Two of one name in one namespace fight over it if they are on one cluster. Nor may the source have a Service that KubeRay makes "
        "itself, `<name>-serve-svc` of a RayService included: a RayCluster that finds one of its name that is not its own makes no pods.",
        "Give one of them another name. A Service of your own for the head selects `ray.io/node-type: head` under another name.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "NoNodeToGrow": Code(
        "A cluster has no node for pods that an app there may have",
        "A worker group at zero asks for no room, so its app may be placed where no node could ever run one of its workers: none has the device, or "
        "all have a taint or lack a label. When Ray's autoscaler or a person wants the first one, it waits for ever. The nodes "
        "count as empty, and so do all machines that the cluster can add; cordons, and nodes that are not ready, do not count against them. Of "
        "clusters that the policy likes equally the app goes to one that could run such workers, if one takes it now. A plan tells this, and so does "
        "`gitplacer fit`, which knows no machines that can be added; it holds nothing. It is the same with the pods of a DaemonSet, of which there is one "
        "on each node that admits it, where no cluster has such a node to which it comes.",
        "Let the policy select clusters that have such nodes. List machines that an autoscaler can add in `nodeTypes` of the Cluster. A group that is "
        "never to have workers says `maxReplicas: 0`. What else needs them, such as a toleration, may be missing in the manifest.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "QuotaNotCounted": Code(
        "A quota bounds something of which nobody knows how much an object brings",
        "A ResourceQuota without scopes counts objects and storage too. What an object is, and what its controller makes of it by a plain rule, is held against it: "
        "the object itself, the RayCluster of a RayJob or RayService, the Service of a head, claims that are made for pods. Of other things nobody knows: what a "
        "controller makes in some versions only, or as often as it likes, what an operator makes of a kind of which a WorkloadKind names the pods, and "
        "the class of a claim that names none, where the default of the cluster is not known. The group is placed all the same. This is told of groups that come to a cluster.",
        "See that the quota has some left. A claim may name its class, and a snapshot tells the default one.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "ServedNowhere": Code(
        "No cluster can serve a feature that an object uses",
        "Every cluster that its policy allows is known to lack it: its KubeRay is older, a feature gate is off, an API is not "
        "served. The group waits.",
        "Leave the feature out, let the policy allow other clusters, or correct the profile of the Cluster.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "ServiceElsewhere": Code(
        "An app calls a Service that is on other clusters than it",
        "A variable or a command line of its pods, or what Ray is to run in them, names a Service of the source, or one that KubeRay makes for a Ray object, such as `http://llm-serve-svc:8000` or `redis:6379`, and the name "
        "means nothing on a cluster where that Service is not. Naming it joins nothing: a model may have many callers, each with a policy of its own. Read are "
        "literal values of `env`, the words of `command` and `args`, and `entrypoint`, `runtimeEnvYAML` and `serveConfigV2` of a Ray object; what a ConfigMap says is not. Nothing is said where a Cilium Cluster Mesh joins the clusters (`mesh` of the "
        "Cluster), and where the Service is nowhere yet. A plan tells this; it holds nothing.",
        "Join the two in one group: `groupBy` in their policy. Or let the policies of both choose the same clusters. If the Service is reached in another way, allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "VolumesApart": Code(
        "Apps that share a claim are on different clusters",
        "A PersistentVolumeClaim that several apps mount goes to each cluster where one of them is, and each cluster makes a volume of its own. A model that a "
        "RayJob writes there is not found by the RayService on another cluster, which waits for it or fails. Naming the same claim joins nothing, for it may "
        "be a cache. Nothing is said of a claim with a `volumeName` or a `selector`: whoever made that volume may have made all of one file system. A plan tells "
        "this; it holds nothing.",
        "Join the apps in one group: `groupBy` in their policy. Or let their policies choose one cluster, or use a volume that all clusters reach. If each may have its own, allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "UnknownSealingKey": Code(
        "A SealedSecret does not say which key it was sealed for",
        "The clusters that its group may go to open secrets with different keys (`profile.sealingKey`), and a SealedSecret "
        "for another key never becomes a Secret.",
        "Annotate it with `gitplacer.dev/sealing-key`; the group then goes only where that key is.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "SopsFileEdited": Code(
        "A file that SOPS signed would be edited",
        "SOPS signs the whole document. A namespace given by the path, an override or a cluster's pod labels would change it, "
        "and it could not be decrypted any more.",
        "Write `metadata.namespace` before encrypting, and let no override select it.",
    ),
    "UnboundedMaximum": Code(
        "A policy reserves a maximum that nobody has written",
        "With `reserve: Maximum` there must be room for all workers that the autoscaler may ask for. Without `maxReplicas` "
        "KubeRay lets it ask for two billion.",
        "Write `maxReplicas` in the worker group, or let the policy reserve `Desired`.",
    ),
    "SpanWithoutMesh": Code(
        "A policy may span clusters, and has none of one mesh",
        "With `span: IfNeeded` a Ray app may have its head on one cluster and workers on others. They reach each other only within "
        "a Cluster Mesh, and no two of the clusters that the policy allows have the same `spec.mesh`. Its groups are held.",
        "Write `mesh` in the Clusters that share one, or set `span: Never`.",
    ),
    "HeadNameUnknown": Code(
        "Nobody knows the name of a head's Service",
        "Workers on other clusters find the head by the name of its Service. The Ray cluster of a RayJob, and the Service that "
        "KubeRay makes for its head, get a random name. The app is placed where one cluster takes it, and waits otherwise.",
        "Set `headService.metadata.name`, or add a global Service to the app that selects its head pod.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "HeadNotGlobal": Code(
        "The Service of a head is not global",
        'Cilium joins Services of one name on the clusters of a mesh if they have the annotation `service.cilium.io/global: "true"`. '
        "Without it workers elsewhere do not find the head. The app is placed where one cluster takes it, and waits otherwise.",
        "Set it in `headServiceAnnotations`; for a RayService, in `headService`, or on a Service of the app that selects the head pod. "
        "Do it from the start: in a running RayService it is a change that makes a second Ray cluster.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "HeadHeadless": Code(
        "The Service of a head has no address of its own",
        "KubeRay makes it headless unless it is told otherwise, and a Cluster Mesh leads to addresses of Services. The app is placed "
        "where one cluster takes it, and waits otherwise.",
        "Give the head a `headService` or `serviceType: NodePort`; or start KubeRay with `ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE=true`, and "
        "say so in `profile.kuberay.headClusterIPService` of the Cluster.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "HeadComesLate": Code(
        "The Service of a head comes when the app runs already",
        "KubeRay makes `<name>-head-svc` of a RayService when all its Serve applications run. If they need workers elsewhere to run, "
        "both would wait for each other. So the app can be extended to other clusters, and not placed over several.",
        "Add a global Service to the app that selects its head pod.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "WorkersStayHome": Code(
        "Workers cannot run on another cluster than their head",
        "What they need is only where the head is: certificates or a token that KubeRay makes there, a network that it closes, a volume, "
        "the other hosts of a slice. The app is placed where one cluster takes it, and waits otherwise.",
        "Do what the hint says, or set `span: Never` in its policy.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "CannotEdit": Code(
        "An override cannot be made",
        "The field it names is not there, or is written once and used twice through an anchor. A plan tells it of the clusters that an object "
        "goes to; `gitplacer validate`, which does not know them, does not.",
        "Change the override's path, or write the field out in the manifest.",
    ),
    "MisspeltAnnotation": Code(
        "An annotation of ours is misspelt",
        "Keys that begin with `gitplacer.dev/` say where an object wants to be, or how it is handled. One that is not known is read by nobody, and "
        "this one is near one that is.",
        "Write the one that the hint names, or remove it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "InvalidAllowance": Code(
        "An annotation allows what it cannot",
        "`allow.gitplacer.dev/<code>: <reason>` lets one object have a problem that its author has thought about. The code "
        "must be one that may be allowed, and the reason must say something.",
        "Correct the code, give a reason, or remove the annotation.",
    ),
}
