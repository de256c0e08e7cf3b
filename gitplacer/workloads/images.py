"""
Names of images, as a kubelet reads them: `registry.example:5000/team/ray:2.52.0@sha256:…`.

The API server takes any text. A kubelet that cannot read it says InvalidImageName, and the pod holds its room and waits for ever. That
is what becomes of `<your-image>` and `$IMAGE`, which somebody was to replace.
Source: ParseNormalizedNamed of github.com/distribution/reference, which pkg/util/parsers of Kubernetes 1.34 uses.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 255 + 128 + 140
"""Characters: a name, a tag and a digest."""
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/)?"
    rf"{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,})?"
)


@lru_cache(maxsize=4096)
def is_image(text: str) -> bool:
    """Whether a kubelet can read it as the name of an image."""
    return len(text) <= LONGEST and _IMAGE.fullmatch(text) is not None
