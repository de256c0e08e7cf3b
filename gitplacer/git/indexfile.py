"""
The index of a work tree, where what git lists by it cannot be.

Git does not check the index when it reads it. Of one that was cut off, by a full disk or a machine that went down, it lists names that are empty,
or says that an entry has an unknown format; neither says what is damaged, nor that nothing is lost: an index is made anew of the last commit.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from gitplacer.git.program import Git, GitError
from gitplacer.plaintext import pasted

_DIGEST = 20
_NOT_TOLD = bytes(_DIGEST)
"""In the place of the digest where git was told to make none (index.skipHash)."""


def refuse_damaged(git: Git, work_tree: Path) -> None:
    """Raise DamagedRepository where the index is not what git has written: it ends with the digest of what is before."""
    place = Path(
        git.run("rev-parse", "--path-format=absolute", "--git-path", "index").decode("utf-8", "surrogateescape")[:-1]
    )
    try:
        data = place.read_bytes()
    except OSError:
        return  # one that is not there lists nothing, and of one that cannot be read git tells
    told = data[-_DIGEST:]
    if told == _NOT_TOLD or (
        len(data) > _DIGEST and hashlib.sha1(data[:-_DIGEST], usedforsecurity=False).digest() == told
    ):
        return
    raise GitError(
        f"the index of the work tree {work_tree} is damaged: {place}",
        "DamagedRepository",
        f"delete it, and make it anew: rm {pasted(place)} && git -C {pasted(work_tree)} reset; what was staged is to be staged again",
    )
