"""
The manifests that need no Helm, made of the chart: `python deploy/generate.py`.

There is one truth, the chart. What it renders for a few sets of values is written as plain files, comments included: folders here that
`kubectl apply -k` takes, and one in the example fleet, which an engine syncs. A test holds them together.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHART = HERE / "chart" / "gitplacer"
NAMESPACE = "gitplacer"
FLEET = "https://git.example.com/platform/fleet.git"
DEPLOYMENT = "https://git.example.com/platform/fleet-deployment.git"

SETS: dict[str, dict[str, Any]] = {
    "deploy/manifests": {"controller": {"source": FLEET}},
    "deploy/several-replicas": {
        "controller": {"source": FLEET, "replicas": 2},
        "hooks": {"enabled": True, "providers": ["github"]},
        "metrics": {"serviceMonitor": True},
    },
    "deploy/snapshot": {
        "controller": {"enabled": False},
        "snapshot": {"enabled": True, "cluster": "my-cluster", "push": FLEET, "deployment": DEPLOYMENT},
    },
    "fleet-repo-example/management/gitplacer": {
        "controller": {"source": FLEET},
        "image": {"repository": "registry.example.com/gitplacer"},
    },
}
"""By folder: the values that are not the chart's own."""
SYNCED = {"fleet-repo-example/management/gitplacer"}
"""Folders that an engine reads as they are: without a kustomization."""
_NAMES = {"snapshot": "deployment.yaml", "snapshot-rbac": "rbac.yaml"}
_KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{resources}
# Where you pushed what deploy/Containerfile builds.
images:
- {{name: gitplacer, newName: gitplacer, newTag: "{version}"}}
"""
_NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: gitplacer
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""


def rendered(values: dict[str, Any]) -> dict[str, str]:
    """The files of a set: what the chart renders, its namespace, and what `kubectl apply -k` needs beside them."""
    import helm_python

    with helm_python.Chart.load(CHART) as chart:
        version = str(chart.metadata["appVersion"])
        templates = chart.render(values, name="gitplacer", namespace=NAMESPACE)
    files = {"namespace.yaml": _NAMESPACE}
    for path, text in sorted(templates.items()):
        stem = Path(path).stem
        if path.endswith(".yaml") and text.strip():
            files[_NAMES.get(stem, f"{stem}.yaml")] = f"{text.strip()}\n"
    resources = "\n".join(f"- {name}" for name in sorted(files))
    return files | {"kustomization.yaml": _KUSTOMIZATION.format(resources=resources, version=version)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent, help="the root of the repository")
    into = parser.parse_args().output
    for name, values in SETS.items():
        folder = into / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in rendered(values).items():
            if file != "kustomization.yaml" or name not in SYNCED:
                (folder / file).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
