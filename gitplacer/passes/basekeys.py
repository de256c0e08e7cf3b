"""
Where the plan of a base is kept, and for which inputs it stands (`baselines`).

Here it is but bytes: a pass that plans nothing gets by without whoever can read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gitplacer.inputs import Inputs, SourceCommit
from gitplacer.passes.quiet import digest_of, key_of
from gitplacer.source.files import Memo

if TYPE_CHECKING:
    from gitplacer.git.publishing import Deployment


def place_of(deployment: Deployment, folder: str) -> str:
    """Where passes on a deployment repo keep what they find at rest. It is of the last alone, so that it does not grow with every one."""
    return digest_of("base", deployment.address.normalised, deployment.branch, folder)


def base_key(inputs: Inputs, tree: str) -> str | None:
    """
    The digest of all that the plan of a base depends on but its time; None where that is not told by ids. Its commit is not among it: what
    that says of itself is written with what is done, and at rest nothing is.
    """
    nobodys = SourceCommit(id="", author="", date="", subject="")
    trusted = inputs.trusted.model_dump_json() if inputs.trusted is not None else ""
    return key_of(replace(inputs, commit=nobodys, trusted=None, uncounted=None), repr(("base", tree, trusted)))


def base_at(memo: Memo, place: str, key: str) -> bytes | None:
    """What is kept at a place, if it stands for these inputs."""
    kept = memo.recall_text(place)
    return kept[len(key) :] if kept is not None and kept.startswith(key.encode()) else None


def keep_base(memo: Memo, place: str, key: str, text: bytes) -> None:
    """Keep it there instead of what was."""
    memo.remember_text(place, key.encode() + text)
