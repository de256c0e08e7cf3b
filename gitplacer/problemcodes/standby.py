"""Problems of clusters that may sleep, and of clusters that are made."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "StandbyManifests": Code(
        "A cluster's standby manifests cannot be used",
        "They make and delete clusters, so they have to lie below the platform paths, where only trusted people write; and an empty "
        "directory would remove whatever stands for the cluster. The cluster stays as it is, and one that sleeps is not woken.",
        "Write both directories, below the platform paths of the Fleet, each with the manifests of one state.",
    ),
    "StandbyTarget": Code(
        "A cluster's standby manifests are rendered into a cluster that cannot have them",
        "Whoever wakes a cluster has to be awake. So it is another cluster of the fleet, and one without `standby`; usually it is a "
        "Management cluster. The cluster stays as it is.",
        "Name such a cluster in `renderInto`.",
    ),
    "StandbyChanged": Code(
        "Somebody else wrote the state or the manifests of a cluster in the deployment repo",
        "What somebody did by hand is not written over. The cluster stays as it is, and one that sleeps is not woken.",
        "Undo the change, or remove the file; what a cluster should be is said in the source.",
    ),
    "StandbyLeftOver": Code(
        "Manifests of a cluster stay in the deployment repo though nobody wants them there any more",
        "The Cluster was removed, or its manifests are rendered into another cluster now. With the old manifests whoever owns "
        "clusters may delete the cluster itself, so they stay until somebody removes them.",
        "Remove them by hand when nothing of the cluster is needed any more.",
        severity=Severity.WARNING,
    ),
    "StateName": Code(
        "The state of a cluster is in a file named after another",
        "States are written by gitplacer; this one was moved or copied. Both clusters stay as they are.",
        "Restore the file from the deployment repo's history.",
    ),
    "CloneModel": Code(
        "Clusters are to be made after one that cannot be copied",
        "A clone is like the Cluster that `spec.clone.from` names: it has its labels, and the `nodes` and `renderInto` of its "
        "`standby`. Without them nobody knows what a clone would have. A clone that has groups needs its model for as long.",
        "Name a Cluster that has a `standby` with `nodes` and `manifests`.",
    ),
    "CloneTemplate": Code(
        "An object of a clone has the same name in every clone",
        "The manifests of all clones are applied to one cluster, where two objects of one name would be one object.",
        "Write `${name}` into the object's name.",
    ),
}
