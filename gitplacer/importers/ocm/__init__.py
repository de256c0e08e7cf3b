"""
Coming from Open Cluster Management: its Placements, the manifests that they place, its clusters and scores as this project's files.

A Placement chooses clusters and knows nothing of workloads; what goes there is said by a ManifestWorkReplicaSet. Both together are a policy
and the files it governs. `docs/from-ocm.md` has the table of fields.
Sources: open-cluster-management.io/api cluster/v1, cluster/v1beta1, cluster/v1beta2, cluster/v1alpha1, work/v1, work/v1alpha1.
"""

from gitplacer.importers.ocm.importing import imported

__all__ = ["imported"]
