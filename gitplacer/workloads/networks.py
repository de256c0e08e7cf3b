"""
The further networks of a pod, which Multus gives it as its annotation says.

A list of names, `name`, `namespace/name` or `name@interface` with commas between them, or JSON: a list of `{"name": …, "namespace": …}`. A
NetworkAttachmentDefinition of the namespace goes along where the source has it, and is not missed where it has not: many are made by an operator.
Source: the multi-net-spec of the Kubernetes Network Plumbing Working Group.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.documents.parse import load
from gitplacer.workloads.facts import Reference

NETWORKS = "k8s.v1.cni.cncf.io/networks"
"""The annotation of a pod."""
API_GROUP, KIND = "k8s.cni.cncf.io", "NetworkAttachmentDefinition"


def attached(metadata: Cursor) -> Iterator[Reference]:
    """The definitions of the networks of a pod with such metadata."""
    annotations = metadata.value.get("annotations")
    text = annotations.get(NETWORKS) if isinstance(annotations, dict) else None
    path = (*metadata.path, "annotations", NETWORKS)
    for namespace, name in _told(text) if isinstance(text, str) else ():
        if name:
            yield Reference(API_GROUP, KIND, name, optional=True, namespace=namespace, path=path)


def _told(text: str) -> Iterator[tuple[str, str]]:
    """Namespace, which is '' for that of the pod, and name of each."""
    if text.lstrip()[:1] in ("[", "{"):
        documents, _ = load(text)
        value = documents[0].value if documents and documents[0].sound else None
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict) and isinstance(name := each.get("name"), str):
                namespace = each.get("namespace")
                yield namespace if isinstance(namespace, str) else "", name
    else:
        for each in text.split(","):
            namespace, _, name = each.strip().partition("@")[0].rpartition("/")
            yield namespace, name
