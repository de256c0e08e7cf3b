"""
Annotations of ours that somebody has misspelt: nobody reads them, so a wish would be lost in silence.

Only what is near one of ours is told. Others may have keys below our name, and a later version may know more of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitplacer.documents import Document
from gitplacer.problems import Problem, Severity, meant
from gitplacer.rules.autoscaling import AUTOSCALED
from gitplacer.workloads.pointers import SEALING_KEY

_OURS = "gitplacer.dev/"
ANNOTATIONS = frozenset({f"{_OURS}cluster", f"{_OURS}policy", f"{_OURS}relocation", AUTOSCALED, SEALING_KEY})
"""What a workload can be annotated with, but for `allow.gitplacer.dev/`."""
_NAMES = tuple(name.removeprefix(_OURS) for name in sorted(ANNOTATIONS))


def about_misspelt(document: Document, annotations: Mapping[str, str]) -> Iterator[Problem]:
    """Each annotation that is none of ours and near one."""
    for key in annotations:
        if key.startswith(_OURS) and key not in ANNOTATIONS:
            near = meant(
                key.removeprefix(_OURS), _NAMES
            )  # without what all have in common, which would bring any two near
            if near:
                hint = near.replace('"', f'"{_OURS}', 1)
                path = ("metadata", "annotations", key)
                message = f"nothing reads the annotation {key}"
                yield document.problem(
                    "MisspeltAnnotation", message, hint, path=path, key=True, severity=Severity.WARNING
                )
