"""
What else stands in a folder of Karmada's: quotas, records of what is where, and kinds that do what is not done here.

A quota of a namespace over all clusters is a Tenant. As soon as there is one, every workload file has to belong to one, so each other
namespace gets its own without bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitplacer.documents import Document
from gitplacer.importers.fleetrepo import FleetRepo
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.selectors import read_metadata

LEFT_OUT: Mapping[str, str] = {
    "Work": "what Karmada sends to one cluster; gitplacer writes each cluster's files into the deployment repo",
    "ResourceInterpreterWebhookConfiguration": "how Karmada asks a server about kinds; nothing is asked here",
}
NO_EQUAL: Mapping[str, tuple[str, str]] = {
    "WorkloadRebalancer": (
        "a plan keeps what runs where it is, and nothing places everything anew",
        "move a group: gitplacer move GROUP --to CLUSTER",
    ),
    "ClusterTaintPolicy": (
        "nothing here sets taints of clusters by their conditions",
        "write `taints` into the Cluster, or `state: Cordoned`",
    ),
    "Remedy": ("nothing here acts on a cluster's condition", "write `state: Cordoned` or `Draining` into the Cluster"),
    "ResourceInterpreterCustomization": (
        "how many pods a kind makes is not read from scripts",
        "write a WorkloadKind for the kind: docs/kinds/WorkloadKind.md",
    ),
    "FederatedHPA": (
        "nothing here scales while it runs",
        "write a HorizontalPodAutoscaler beside the app; `type: Divide` divides its bounds",
    ),
    "CronFederatedHPA": ("nothing here scales by the clock", "write a CronJob or KEDA's cron scaler beside the app"),
    "MultiClusterService": (
        "services over several clusters are a matter of the mesh",
        "with Cilium, annotate the Service as global",
    ),
    "MultiClusterIngress": ("traffic over clusters is not steered here", "use your gateway or DNS"),
}
"""Kinds of Karmada's, whatever their group, with why there is nothing to make of them and what to do."""


def tell(document: Document, kind: str, notes: Notes) -> None:
    """A line for an object of Karmada's that nothing is made of."""
    if kind in ("ResourceBinding", "ClusterResourceBinding"):
        notes.add(
            Outcome.LEFT_OUT,
            document,
            (),
            f"Karmada's record: {_where(document)}; the first plan says where it goes here",
        )
    elif kind in LEFT_OUT:
        notes.add(Outcome.LEFT_OUT, document, (), LEFT_OUT[kind])
    elif kind in NO_EQUAL:
        notes.add(Outcome.NO_EQUAL, document, ("kind",), f"{kind}: {NO_EQUAL[kind][0]}", NO_EQUAL[kind][1])
    else:
        what = f"Karmada's {kind} has no equal here"
        notes.add(Outcome.NO_EQUAL, document, ("kind",), what, "see docs/from-karmada.md for what does its work")


def _where(document: Document) -> str:
    """Where a binding has its object: `Deployment shop/web is on a (2) and b (1)`."""
    spec = document.cursor().mapping("spec")
    resource = spec.mapping("resource")
    name = "/".join(filter(None, (resource.text("namespace"), resource.text("name"))))
    found = []
    for item in spec.items("clusters"):
        replicas = item.integer("replicas")
        found.append(item.text("name") + (f" ({replicas})" if replicas else ""))
    return f"{resource.text('kind') or 'an object'} {name} is on {', '.join(found) or 'no cluster'}"


def write_quotas(documents: Iterable[Document], namespaces: Iterable[str], default: str, repo: FleetRepo) -> None:
    """A Tenant for each FederatedResourceQuota, and one for each other namespace where there is any."""
    bounded: set[str] = set()
    for document in documents:
        root = Reader.of(document)
        metadata = read_metadata(root, repo.notes)
        namespace = root.mapping("metadata").text("namespace") or default
        spec = root.mapping("spec")
        overall = _bounds(spec, "overall", repo.notes)
        if spec.has("staticAssignments"):
            for item in spec.items("staticAssignments"):
                item.text("clusterName")
                item.value("hard")
            what = "a quota of one cluster in Karmada; a Tenant has one bound for each of its clusters"
            repo.notes.about(
                Outcome.NO_EQUAL,
                spec,
                "staticAssignments",
                what,
                "write a ResourceQuota for that cluster, or `clusterQuota`",
            )
        if root.has("status"):
            root.value("status")
            repo.notes.about(Outcome.LEFT_OUT, root, "status", "what is used of it")
        repo.notes.unread(root)
        if root.problems:
            repo.problems += root.problems
            continue
        if namespace in bounded:
            what = f"namespace {namespace} has a quota already, and the first counts"
            repo.notes.about(Outcome.CHOSEN, root, None, what, "write the smaller of both into its Tenant")
            continue
        comment = f"Imported from the FederatedResourceQuota {metadata.name} at {document.locate()}."
        tenant = {**_tenant(namespace), **({"quota": overall} if overall else {})}
        if repo.own("tenants", "Tenant", namespace, tenant, document, comment) is None:
            continue
        bounded.add(namespace)
        what = f"the quota of {namespace} over all clusters: tenants/{namespace}.yaml"
        repo.notes.about(Outcome.CONVERTED, root, None, what)
        rest = sorted({*namespaces} - bounded)
        for other in rest if len(bounded) == 1 else ():
            repo.own(
                "tenants",
                "Tenant",
                other,
                _tenant(other),
                document,
                "Without bounds: where there is one Tenant, every namespace needs one.",
            )
        if rest and len(bounded) == 1:
            what = "where there is one Tenant, every workload file needs one, so each other namespace got one without bounds"
            repo.notes.about(
                Outcome.CHANGED, root, None, what, "read docs/tenants.md, and join those that belong together"
            )


def _tenant(namespace: str) -> dict[str, Any]:
    return {"paths": [f"workloads/{namespace}/**"], "namespaces": [namespace]}


def _bounds(spec: Reader, key: str, notes: Notes) -> dict[str, str]:
    """Bounds by our names of resources: `requests.cpu` is `cpu`, and limits are not counted."""
    found: dict[str, str] = {}
    amounts = spec.mapping(key)
    for name in amounts.fields:
        value = amounts.value(name)
        resource = name.removeprefix("requests.")
        if name.startswith(("limits.", "count/")) or ("." in resource and "/" not in resource):
            notes.about(
                Outcome.NO_EQUAL,
                amounts,
                name,
                f"only what pods ask for is bounded here, not {name}",
                "write a ResourceQuota for the clusters",
            )
        elif value is not None:
            found[resource] = str(value)
    return found
