"""
A small Flux on one cluster: Kustomizations to what is on the cluster.

It knows Flux's rules and nothing of gitplacer. A Kustomization builds its path as `judges.flux` reads it, applies everything, and puts its
name on what it applied, whoever had it. What is in its inventory and not in what was built is pruned, if it prunes, and if the object still
has its name; a path that is not there is an error, and nothing is pruned. One that is deleted takes its inventory with it, if it prunes and its
deletionPolicy does not say Orphan. One that is suspended does nothing, and leaves what it applied when it is deleted. A Kustomization
that another one applies is there from then on. An object that is deleted and made again is another one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.argocdengine import Live
from tests.judges import Identity, Object, flux

Trees = Mapping[str, Mapping[str, bytes]]
"""What each GitRepository has, by its name."""


@dataclass
class Flux:
    """One cluster. `reconcile` is what its kustomize-controller does about a commit."""

    kustomizations: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    objects: dict[Identity, Live] = field(default_factory=dict)
    inventories: dict[str, set[Identity]] = field(default_factory=dict)
    _uids: Iterator[int] = field(default_factory=itertools.count)

    def apply(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """`kubectl apply` of Kustomizations."""
        for document in documents:
            if document["kind"] == "Kustomization":
                self.kustomizations[document["metadata"]["name"]] = document

    def reconcile(self, trees: Trees) -> None:
        """Everything, until there is nothing more to do: what applies Kustomizations is followed by these."""
        for _ in range(3):
            for name in sorted(self.kustomizations):
                if name in self.kustomizations:
                    self._reconcile(name, trees)

    def _reconcile(self, name: str, trees: Trees) -> None:
        spec = self.kustomizations[name]["spec"]
        if spec.get("suspend"):
            return
        folder = spec["path"].removeprefix("./").rstrip("/")
        tree = trees[spec["sourceRef"]["name"]]
        files = {path[len(folder) + 1 :]: data for path, data in tree.items() if path.startswith(f"{folder}/")}
        if not files:
            return
        built: dict[Identity, Object] = {item.identity: item for item in flux(folder, files, [])}
        for who, item in built.items():
            known = self.objects.get(who)
            self.objects[who] = Live(known.uid if known else next(self._uids), name, item.canonical)
            if item.value["kind"] == "Kustomization":
                self.apply([item.value])
        gone = self.inventories.get(name, set()) - built.keys()
        self.inventories[name] = set(built)
        if self.kustomizations[name]["spec"].get("prune"):
            self._prune(name, gone)

    def _prune(self, name: str, gone: Iterable[Identity]) -> None:
        for who in sorted(gone):
            if who in self.objects and self.objects[who].owner == name:
                del self.objects[who]
                if who[1] == "Kustomization" and who[3] in self.kustomizations:
                    self.delete(who[3])

    def delete(self, name: str) -> None:
        """A Kustomization is deleted, and its finalizer runs."""
        spec = self.kustomizations.pop(name)["spec"]
        had = self.inventories.pop(name, set())
        policy = spec.get("deletionPolicy", "MirrorPrune")
        if not spec.get("suspend") and policy != "Orphan" and (policy != "MirrorPrune" or spec.get("prune")):
            self._prune(name, had)
