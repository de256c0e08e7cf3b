"""
An object of any kind, as the rules about workloads of strangers look at it: its root, and every mapping in it.

Pods are made of more than is counted: of Workflows, of what an operator adds, of kinds nobody here has heard of. So what must not be in
a pod is looked for by the names of Kubernetes' fields wherever they stand, and not only where a template is known to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from gitplacer.documents import Cursor, Path
from gitplacer.problemcodes import CODES


class Anything(Struct, frozen=True):
    """One object: the cursor at its root, and each mapping in it with its path."""

    root: Cursor
    mappings: tuple[tuple[Path, Mapping[str, Any]], ...]

    @staticmethod
    def of(root: Cursor) -> Anything:
        return Anything(root, tuple(_mappings(root.value)))

    @property
    def group(self) -> str:
        """The API group of the object; '' for Kubernetes' core, and for what says none."""
        return str(self.root.value.get("apiVersion")).rpartition("/")[0]

    @property
    def kind(self) -> str:
        return str(self.root.value.get("kind"))

    @property
    def is_data(self) -> bool:
        """Whether it holds texts under keys of its author's choice, and nothing that Kubernetes reads."""
        return self.group == "" and self.kind in ("ConfigMap", "Secret")

    @property
    def metadata(self) -> Mapping[str, Any]:
        found = self.root.value.get("metadata")
        return found if isinstance(found, dict) else {}

    def marks(self) -> Iterator[tuple[Path, str, str]]:
        """The object's own annotations and labels: path, key, value. What is no text is another rule's matter."""
        for field in ("annotations", "labels"):
            found = self.metadata.get(field)
            for key, value in found.items() if isinstance(found, dict) else ():
                if isinstance(value, str):
                    yield ("metadata", field, key), key, value

    def tell(self, code: str, message: str, hint: str, path: Path, *, key: bool = False) -> None:
        """Report a problem at a path, as severe as the table of codes says."""
        self.root.problems.report(code, message, hint, path=path, key=key, severity=CODES[code].severity)


ObjectRule = Callable[[Anything], None]
"""Looks at an object of any kind and tells what is wrong with it."""

_COLLECTIONS = (dict, list)


def _mappings(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, found = waiting.pop()
        if isinstance(found, dict):
            yield path, found
            waiting += [((*path, key), below) for key, below in found.items() if isinstance(below, _COLLECTIONS)]
        else:
            waiting += [((*path, index), below) for index, below in enumerate(found) if isinstance(below, _COLLECTIONS)]
