"""
Every problem code: what it means, why the input is refused, and what to do.

Codes are names that users may search for, allow-list and link to, so one that was released keeps its meaning.
The reference pages in `docs/problems/` are made from this table, and a test holds it against the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Code:
    """One code: a title, why such an input is refused, and the remedy. Sentences of Markdown."""

    title: str
    why: str
    remedy: str


def _table() -> dict[str, Code]:
    return {
        # files
        "NotAFile": Code(
            "A path is a symbolic link or a submodule",
            "The source is read as Git objects and never checked out, so there is nothing behind such a path; following "
            "links is how files outside a repository leak into it.",
            "Commit the files themselves.",
        ),
        "CaseTwin": Code(
            "Two paths differ only in upper and lower case",
            "Some file systems cannot hold both, so a clone of the repo may silently lack one.",
            "Rename one of them.",
        ),
        "FileTooLarge": Code(
            "A file is larger than any manifest",
            "Kubernetes itself refuses objects beyond 1.5 MiB; a file of many megabytes is a mistake or an attack.",
            "Split the file, or keep data where the workload can fetch it.",
        ),
        "NotRendered": Code(
            "A directory is input of Kustomize or Helm",
            "gitplacer places finished manifests. Running Kustomize or Helm would execute what the source says.",
            "Render it in CI and commit the result, or point `--path` at the rendered copy. For example: "
            "`helm template my-release ./chart > workloads/my-namespace/my-release.yaml`.",
        ),
        # YAML
        "InvalidYAML": Code(
            "A file is not YAML",
            "What cannot be parsed cannot be placed, and guessing at it could lose objects.",
            "Correct the syntax at the position given; nothing of this file is used until then.",
        ),
        "InvalidCharacter": Code(
            "A file holds bytes or characters that YAML does not allow",
            "Kubernetes reads UTF-8; other encodings and control characters are refused by it or change meaning on the way.",
            "Save the file as UTF-8 without a byte order mark inside, and remove control characters.",
        ),
        "NotUTF8": Code(
            "A file is not UTF-8",
            "Kubernetes reads UTF-8; UTF-16 and other encodings look like something else to it, or like nothing.",
            "Save the file as UTF-8.",
        ),
        "TooManyFaults": Code(
            "A file has more faults than are listed",
            "After a hundred faults the list would help nobody.",
            "Mend the first ones; the rest is listed then.",
        ),
        "TabIndentation": Code(
            "A line is indented by a tab",
            "YAML does not allow tabs for indentation.",
            "Indent with spaces.",
        ),
        "ConflictMarkers": Code(
            "A merge conflict was committed",
            "Both sides of the conflict are in the file, so nobody knows which is meant.",
            "Resolve the conflict and remove the `<<<<<<<`, `=======` and `>>>>>>>` lines.",
        ),
        "UnrenderedTemplate": Code(
            "A file is a template",
            "`{{ … }}` where it makes the file invalid YAML means that a template engine was to run first; gitplacer runs none.",
            "Render it in CI and commit the result.",
        ),
        "DuplicateKey": Code(
            "A mapping has the same key twice",
            "YAML readers keep one of the two and do not agree on which; what is reviewed would not be what runs.",
            "Keep one of them.",
        ),
        "InvalidMerge": Code(
            "A merge key does not name a mapping",
            "`<<` takes the entries of another mapping, or of a list of them.",
            "Give it an alias of a mapping, or write the entries out.",
        ),
        "NonStringKey": Code(
            "A key is not a string",
            "Kubernetes objects are JSON, whose keys are strings; `1:` or `true:` would become something else on the way.",
            "Put the key in quotes.",
        ),
        "CustomTag": Code(
            "A value has a YAML tag",
            "Tags such as `!!python/object` or `!Ref` make a reader construct things; Kubernetes has no use for them.",
            "Write the value without its tag.",
        ),
        "NotJSON": Code(
            "A value does not exist in JSON",
            "Infinities, not-a-number and integers beyond 64 bits are lost or refused on the way to the API server.",
            "Write a finite number, or put it in quotes.",
        ),
        "UndefinedAlias": Code(
            "An alias names no anchor",
            "`*name` repeats what `&name` marked earlier in the same document, and there is no such mark.",
            "Define the anchor before it is used, or write the value out.",
        ),
        "RecursiveAlias": Code(
            "An alias contains itself",
            "The value would never end.",
            "Write the value out.",
        ),
        "TooDeep": Code(
            "Values are nested too deeply",
            "No Kubernetes object comes near the limit; deep nesting is used to crash parsers.",
            "Flatten the value.",
        ),
        "TooManyAliases": Code(
            "Aliases expand to too much",
            "A few hundred bytes of nested aliases can expand to gigabytes.",
            "Write values out, or repeat less.",
        ),
        "TooManyDocuments": Code(
            "A file holds too many documents",
            "Files of thousands of documents are slow to review and to read.",
            "Split the file.",
        ),
        "TooLarge": Code(
            "A file or a value is too large",
            "Budgets keep one file from stopping everybody's placements.",
            "Split the file, or keep data where the workload can fetch it.",
        ),
        "NotAMapping": Code(
            "A document is not an object",
            "A Kubernetes object is a mapping with apiVersion, kind and metadata; an item of a List is one too.",
            "Correct the indentation, or remove the document.",
        ),
        "NotOneDocument": Code(
            "A file that must hold one document holds none or several",
            "A capacity snapshot and a record are one document each, in a file named after them.",
            "Split the file.",
        ),
        # fields
        "UnknownKind": Code(
            "There is no such kind",
            "A misspelt kind must not be passed over: the cluster or policy it was meant to be would seem not to exist.",
            "Correct `kind` and `apiVersion`.",
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
            "A number is not a string and a string is not a number: YAML's guesses (`1.10`, `on`, `0123`) are where mistakes hide.",
            "Write the type that the message names; put strings in quotes.",
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
            "cluster's name and says nothing. Were the cluster taken for gone, everything on it would move; so the run stops.",
            "Mend the file. To give the cluster up, remove its file.",
        ),
        "NotOneFleet": Code(
            "The source has no Fleet, or several",
            "The Fleet says what is read and written; with none or two, that is not known, and the run stops.",
            "Keep exactly one; `spec: {}` is a valid one.",
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
        # Kubernetes objects
        "InvalidObject": Code(
            "A document is not a complete Kubernetes object",
            "apiVersion, kind, metadata.name and, where written, metadata.namespace say which object it is.",
            "Complete it. `generateName` cannot be applied from Git: give the object a name.",
        ),
        "NotAllowed": Code(
            "An object does not belong in the workload paths",
            "Cluster-scoped objects, RBAC and objects that steer Argo CD or Flux would let a workload change the cluster.",
            "Move it under the Fleet's platform paths. Namespaces that groups need are made by gitplacer.",
        ),
        "MissingNamespace": Code(
            "An object has no namespace",
            "Neither the manifest nor its path says which namespace it is in.",
            "Write metadata.namespace, or put the file where `spec.source.namespaces.fromPath` of the Fleet gives one.",
        ),
        "DuplicateObject": Code(
            "One object is in the source twice",
            "Only one of the two can exist on a cluster, and which would be luck. The groups of both are held.",
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
            "A request above its limit, a part of a device, or a device whose request is not its limit.",
            "Let requests fit limits; ask for whole devices, as limits.",
        ),
        "NotCounted": Code(
            "A scheduling constraint is not counted yet",
            "Required pod affinity, spread constraints, host ports, scheduling gates and resource claims narrow where pods "
            "may run. The fit does not look at them yet, so it may be too optimistic. Nothing is held.",
            "Leave room, or choose nodes by selector.",
        ),
        # groups and policies
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
            "Two groups would have one id",
            "A group's id is its directory in the deployment repo. Both are held.",
            "Rename one of the objects, or join them with `groupBy`.",
        ),
        "InTwoGroups": Code(
            "An object belongs with two groups",
            "A Service or route that points at two groups would have to be on two clusters at once. Both are held.",
            "Join the groups with `groupBy`, or split the object.",
        ),
        "NotInAGroup": Code(
            "An object belongs to no group",
            "Nothing that is placed refers to it and no policy's `groupBy` joins it with something that is, so it is not placed.",
            "Refer to it, give it the label its group is joined by, or remove it.",
        ),
        "InvalidGroupName": Code(
            "A group's name cannot be a directory",
            "The name, taken from an object, a label or a directory, becomes a path in the deployment repo.",
            "Use letters, digits, dashes, dots and underscores.",
        ),
        "ContradictoryAnnotation": Code(
            "Members of one group ask for different clusters",
            "A group goes to one place.",
            "Let the annotations agree.",
        ),
        "CopiesOfARayJob": Code(
            "A policy asks for copies of a RayJob",
            "Each copy would run the job once more.",
            "Let a policy with `copies: 1` govern it.",
        ),
        "CannotEdit": Code(
            "An override cannot be made",
            "The field it names is not there, or is written once and used twice through an anchor.",
            "Change the override's path, or write the field out in the manifest.",
        ),
        # capacity and the deployment repo
        "UnknownCluster": Code(
            "A snapshot is of a cluster that the source does not have",
            "It is not used; perhaps the Cluster was removed, or its name is misspelt.",
            "Add the Cluster, or stop sending its snapshots.",
        ),
        "SnapshotName": Code(
            "A snapshot is in a file named after another cluster",
            "A cluster testifies only about itself. Neither of the two takes anything new.",
            "Name the file after the cluster.",
        ),
        "RecordName": Code(
            "A record is in a file named after another group",
            "Records are written by gitplacer; this one was moved or copied. The group is held.",
            "Restore the file from the deployment repo's history.",
        ),
        "RemovalNeedsApproval": Code(
            "A platform object was removed from the source",
            "Removing an operator or a CRD removes everything that depends on it, so it stays on the clusters.",
            "Put it back, or remove its file from the platform directories of the deployment repo by hand.",
        ),
        "NotOurs": Code(
            "The deployment repo's directories belong to somebody else",
            "Files are there that no sentinel of ours marks, or Flux or another hydrator writes there. Nothing is touched.",
            "Give gitplacer a root or a branch of its own in `spec.deployment` of the Fleet.",
        ),
    }


CODES: Mapping[str, Code] = MappingProxyType(dict(sorted(_table().items())))
"""Code to its meaning, sorted."""
