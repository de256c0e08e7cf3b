"""Problems of fields and of Kubernetes objects, whatever their kind."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    # fields
    "UnknownKind": Code(
        "There is no such kind",
        "A misspelt kind of gitplacer or of Ray must not be passed over: the cluster, policy or Ray cluster that it was meant to be "
        "would seem not to exist.",
        "Correct `kind` and `apiVersion`; the hint gives the nearest one.",
    ),
    "UnsupportedVersion": Code(
        "This version of the kind cannot be read",
        "Fields of an unknown version cannot be interpreted without guessing.",
        "Use a version that the hint lists.",
    ),
    "UnknownField": Code(
        "There is no such field",
        "A misspelt field that is passed over means something else than its author thinks.",
        "Correct the name; the hint gives the nearest one. A field of a newer gitplacer needs a newer gitplacer.",
    ),
    "MissingField": Code(
        "A required field is missing",
        "Without it the object has no meaning, or its pods cannot be counted, and nothing is guessed.",
        "Add the field that the message names.",
    ),
    "NullValue": Code(
        "A field has no value",
        "`clusters:` with its items commented out would quietly mean every cluster.",
        "Give the field a value, or remove its key.",
    ),
    "WrongType": Code(
        "A value has the wrong type",
        "A number is not a string and a string is not a number: YAML's guesses (`1.10`, `on`, `0123`) are where mistakes hide. Of a Ray "
        "object the API server refuses the whole: `rayVersion: 2.10` is a number, `serveConfigV2` is a text with YAML in it, and an amount with "
        "a fraction, `cpu: 0.5`, is in quotes, although a Pod or a Deployment may have it without.",
        "Write the type that the message names; put strings in quotes, and YAML that is to be a text into a block, `serveConfigV2: |`.",
    ),
    "InvalidValue": Code(
        "A value is not one of those allowed",
        "The field takes only what its reference page lists.",
        "Use one of the values that the message or the hint lists.",
    ),
    "InvalidQuantity": Code(
        "A text is not a Kubernetes quantity",
        "Capacity is counted exactly, so every amount must be one.",
        "Write quantities like `500m`, `2`, `12Gi`.",
    ),
    "DuplicateName": Code(
        "Two objects of one kind have one name",
        "Nobody can tell which of the two is meant, so neither is used.",
        "Rename or remove one of them.",
    ),
    "ClusterMissing": Code(
        "A file that may have described a cluster cannot be read",
        "Groups are on a cluster that the source no longer describes, and a file cannot be read, or bears the "
        "cluster's name and says nothing, or the source has a submodule, or a symbolic link out of it, behind which it may be. Were the cluster taken for "
        "gone, everything on it would move; so the run stops.",
        "Mend the file. To give the cluster up, remove its file. A link or a submodule that is nothing of the fleet can be named in "
        "`spec.source.exclude` of the Fleet.",
    ),
    "NotOneFleet": Code(
        "The source has no Fleet, or several",
        "The Fleet says what is read and written; with none or two, that is not known, and the run stops.",
        "Keep exactly one; `spec: {}` is a valid one.",
    ),
    "FleetNotOnTop": Code(
        "The Fleet is in a folder",
        "A Fleet at the top of the source goes before all others. One in a folder does not: whoever may write workloads could add another "
        "that calls this one a workload. Nobody could tell which is right, and the run would stop ([NotOneFleet](NotOneFleet.md)).",
        "Move its file to the top of the source.",
        severity=Severity.WARNING,
    ),
    "MisplacedKind": Code(
        "An object is in a place where it is not used",
        "Snapshots are read from the capacity directory and records from the deployment repo; elsewhere they would "
        "seem to count and do not.",
        "Move it, or remove it.",
    ),
    "OwnKindInWorkloads": Code(
        "A gitplacer kind is among the workloads",
        "Whoever may write workloads may not thereby write policies or clusters.",
        "Move the file out of the Fleet's workload paths.",
    ),
    # sizes
    "CannotBeSized": Code(
        "An object of a declared kind cannot be sized",
        "Its WorkloadKind names this case: how many pods it has, or what they ask for, is decided where nobody here can look. "
        "It is not placed with a guess.",
        "Do what the message says, or declare the kind in a WorkloadKind of your own.",
    ),
    "BrokenWorkloadKind": Code(
        "The WorkloadKind that declares an object's kind cannot be used",
        "Without it the object would seem to have no pods, or those of the declaration that comes with gitplacer. Its group "
        "is held until then.",
        "Mend the WorkloadKind; what is wrong with it is reported where it stands.",
    ),
    # Kubernetes objects
    "InvalidObject": Code(
        "A document is not a complete Kubernetes object",
        "apiVersion, kind, metadata.name and, where written, metadata.namespace say which object it is, so each must be such as "
        "Kubernetes takes.",
        "Complete it. `generateName` cannot be applied from Git: give the object a name.",
    ),
    "NotAllowed": Code(
        "An object does not belong in the workload paths",
        "Cluster-scoped objects, RBAC and objects that steer Argo CD or Flux would let a workload change the cluster; so would a Secret "
        "that Argo CD takes for one of its clusters, or into which Kubernetes writes a token. Of a kind that nobody here knows it "
        "cannot be said whether it is one of them.",
        "Move it under the Fleet's platform paths. Namespaces that groups need are made by gitplacer. A kind of your own is known when its "
        "CustomResourceDefinition is under the platform paths, a WorkloadKind declares it, or a Tenant names it in full in `kinds`.",
    ),
    "NoTenant": Code(
        "A workload file belongs to no Tenant",
        "Where there are Tenants, they say whose each workload file is and what it may do. What is nobody's may do nothing: it is "
        "not placed, and what is deployed of it stays as it is.",
        "Move the file into the paths of a Tenant, or add its path to one. If a Tenant cannot be read, mend it.",
    ),
    "NotTheTenants": Code(
        "An object is not one that its tenant may write",
        "A Tenant says which namespaces and kinds its files may use. Anything else is not an object of the fleet: it joins no group, "
        "and nothing that somebody else has is held because of it.",
        "Use what the hint names, or widen the Tenant, which is a change outside the tenant's own paths.",
    ),
    "TenantsOverlap": Code(
        "Two Tenants claim the same paths or namespaces",
        "What one of them writes could be taken for the other's: a Service of one would select pods of the other, and nobody could "
        "tell whose quota a group counts against. Decided on the patterns, upper and lower case taken for the same; no file need be "
        "there yet. Nothing of either is touched until they differ.",
        "Make the paths and namespaces of the two differ.",
    ),
    "QuotaOfNothing": Code(
        "A Tenant's quota is of something that no container can ask for",
        "It limits nothing: a quota counts what containers ask for, under the names that they ask by, such as `cpu` or `nvidia.com/gpu`. Numbers of "
        "pods or objects are for a ResourceQuota in the cluster.",
        "Correct the name, or remove it.",
        severity=Severity.WARNING,
    ),
    "MissingNamespace": Code(
        "An object has no namespace",
        "Neither the manifest nor its path says which namespace it is in.",
        "Write metadata.namespace, or put the file where `spec.source.namespaces.fromPath` of the Fleet gives one.",
    ),
    "DuplicateObject": Code(
        "One object is in the source twice",
        "Only one of the two can exist on a cluster, and which would be luck. The groups of both are held; but what a workload file has of an "
        "object of the platform is none of the fleet's objects, so that nobody stops the platform by writing it again.",
        "Keep one of them; two groups that need the same object can share it.",
    ),
    "DuplicateGroupName": Code(
        "Two worker groups have one name",
        "KubeRay finds a group's pods by its name, so the two groups would undo each other.",
        "Give each worker group its own name.",
    ),
    "InvalidReplicas": Code(
        "A number of pods is impossible",
        "Negative, too large, or a minimum above the maximum: KubeRay or the API server refuses it and no pods appear.",
        "Correct the count or the bounds.",
    ),
    "InvalidResources": Code(
        "The API server would refuse these resources",
        "A request above its limit, a part of a device, a device whose request is not its limit, huge pages without cpu or memory beside them or no whole number of them, or a resource of a name that is none, such as `gpu`. Or a pod that has less as a whole "
        "(`resources` beside `containers`) than its containers ask for, those that KubeRay adds among them, or that asks as a whole for "
        "something else than cpu, memory and huge pages. Or an overhead without a RuntimeClass.",
        "Let requests fit limits; ask for whole devices and pages, as limits of a container. Let the resources of a pod as a whole have room for all "
        "of its containers, or leave them out. Leave the overhead to the RuntimeClass.",
    ),
    "InvalidImage": Code(
        "An image has a name that no node can read",
        "The API server takes any text, and a pod is placed and gets its room. The kubelet then says InvalidImageName, and the pod "
        "waits for ever. `<your-image>` and `$IMAGE` are such names: somebody was to replace them.",
        "Write the name of the image. What stands for another text has to be replaced before it is committed, since manifests are deployed as they "
        "are.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "FractionalBytes": Code(
        "An amount of memory is a part of a byte",
        "`4096m` is 4.096 bytes, not 4096 MiB: in Kubernetes `m` is a thousandth. The API server takes it and warns, the "
        "scheduler rounds it up to whole bytes, and the container has next to no memory, or a request of none.",
        "Write `Mi` or `M`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "TooManyParts": Code(
        "An object is more than one object may be",
        "What a fit costs grows with the kinds of pods, their containers and what each asks of its node. An object far beyond what "
        "anybody runs would take the time of everybody else's, so it is held, alone.",
        "Make several objects of it, or leave out what the message counts.",
    ),
    "UnknownDevices": Code(
        "Nobody knows how many devices a pod asks for",
        "Devices claimed through a ResourceClaimTemplate are counted in the template. One that is not in the source, or that "
        "leaves the number to the allocation, gives the pod no size, and nothing is guessed. The group is held.",
        "Put the template beside the object, in its namespace, and ask for an exact count of one device class.",
    ),
    "NotCounted": Code(
        "A scheduling constraint, or some of the pods, is not counted",
        "Scheduling gates, shared resource claims, disks that a pod names itself, another scheduler (`schedulerName`) and the hosts of a replica that belong on nodes nobody names narrow where pods "
        "may run, as do the selectors, capacity and constraints of a ResourceClaimTemplate: all devices of its class are counted, and none where it only watches them (`adminAccess`). The part of a GPU that an annotation asks KAI Scheduler or Run:ai for (`gpu-fraction`, `gpu-memory`) stands in no resource, nor does what webhooks add to pods that ask for it by an annotation or a label: the sidecars of Cloud Storage FUSE on GKE, Vault, Istio, Linkerd and Dapr. And a WorkloadKind may name pods that it does not count, such as those of a database that an operator "
        "installs. `gitplacer size` and `gitplacer fit` count nothing of a kind that they do not know, which may be a misspelt one. The fit does not look at them, so it may be too optimistic. Nothing is held.",
        "Leave room, or choose nodes by selector; for replicas of several hosts say in the Cluster what joins their nodes "
        "(`spec.profile.sliceTopology`). What a kind makes a WorkloadKind says.",
        allowable=True,
    ),
}
