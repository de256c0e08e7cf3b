"""Folders of clusters as somebody keeps them by hand, and what an engine reads there; nothing of how they are adopted."""

from __future__ import annotations

from collections.abc import Mapping

from tests.judges import Identity, Object, argocd

Files = Mapping[str, str]


def deployment(name: str, namespace: str = "web", *, replicas: int = 1, more: str = "") -> str:
    return (
        f"# {name}, by hand\n"
        "apiVersion: apps/v1\n"
        "kind: Deployment\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\n"
        "spec:\n"
        f"  replicas: {replicas}  # how many\n"
        f"  selector: {{matchLabels: {{app: {name}}}}}\n"
        "  template:\n"
        f"    metadata: {{labels: {{app: {name}}}}}\n"
        "    spec:\n"
        "      containers:\n"
        f"      - {{name: main, image: example.com/{name}:1, resources: {{requests: {{cpu: 1, memory: 1Gi}}}}}}\n{more}"
    )


def service(name: str, namespace: str = "web") -> str:
    return (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{selector: {{app: {name}}}, ports: [{{port: 80}}]}}\n"
    )


def configmap(name: str, namespace: str = "web", value: str = "a") -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{key: {value}}}\n"
    )


def raycluster(name: str, namespace: str = "ray", *, workers: int = 2) -> str:
    pod = (
        "{spec: {containers: [{name: ray, image: 'rayproject/ray:2.9.0', resources: {limits: {cpu: 1, memory: 2G}}}]}}"
    )
    return (
        f"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec:\n  headGroupSpec:\n    rayStartParams: {{}}\n    template: {pod}\n"
        f"  workerGroupSpecs:\n  - groupName: small\n    replicas: {workers}\n    minReplicas: 0\n    maxReplicas: 10\n"
        f"    rayStartParams: {{}}\n    template: {pod}\n"
    )


def rayjob(name: str, namespace: str = "ray") -> str:
    pod = (
        "{spec: {containers: [{name: ray, image: 'rayproject/ray:2.9.0', resources: {limits: {cpu: 1, memory: 2G}}}]}}"
    )
    return (
        f"apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec:\n  entrypoint: python train.py\n  rayClusterSpec:\n    headGroupSpec:\n      rayStartParams: {{}}\n      template: {pod}\n"
    )


def documents(*texts: str) -> str:
    return "---\n".join(texts)


def in_folders(files: Files, parent: str = "clusters") -> dict[str, dict[Identity, Object]]:
    """What an engine applies of each folder in a parent, by who it is."""
    found: dict[str, dict[str, bytes]] = {}
    for path, text in files.items():
        if path.startswith(f"{parent}/"):
            cluster, _, below = path[len(parent) + 1 :].partition("/")
            found.setdefault(cluster, {})[below] = text.encode()
    return {
        cluster: {item.identity: item for item in argocd(f"{parent}/{cluster}", there, [])}
        for cluster, there in found.items()
    }
