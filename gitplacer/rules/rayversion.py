"""
The Ray version that is written in a Ray cluster spec, where a feature asks for one.

KubeRay does not look at the image: `rayVersion` must say it, and KubeRay reads it generously: two or more
numbers with dots between them, after an optional "v", and anything after them. Without one it refuses what needs one.
Source: ParseGeneric of k8s.io/apimachinery/pkg/util/version, as validation.go of KubeRay's ray-operator uses it.
"""

from __future__ import annotations

import re

from gitplacer.documents import Cursor
from gitplacer.rules.manifest import tell

_FORM = re.compile(r"\s*v?(0|[1-9][0-9]{0,8})\.([0-9]{1,9})")


def parsed(text: str) -> tuple[int, int] | None:
    """Major and minor of a Ray version: "2.52.0-py311" is (2, 52). None for what is no version, such as "nightly"."""
    found = _FORM.match(text)
    return None if found is None else (int(found[1]), int(found[2]))


def tell_older(cluster: Cursor, least: tuple[int, int], feature: str, at: Cursor, key: str) -> None:
    """A feature, at its key, needs a `rayVersion` that is written and not older than `least`."""
    text = cluster.text("rayVersion")
    if not text and cluster.has("rayVersion"):
        return  # a wrong type, which is told
    version = parsed(text)
    if version is not None and version >= least:
        return
    wanted = f"{least[0]}.{least[1]}"
    said = f'and rayVersion is "{text}"' if text else "and rayVersion is not written"
    hint = f'write the version of the image: rayVersion: "{wanted}.0" or newer'
    tell(at, "NeedsRayVersion", f"{feature} needs Ray {wanted} or newer, {said}", hint, key=key)
