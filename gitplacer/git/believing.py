"""Commits whose signatures were looked at once, and need not be looked at again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from gitplacer.git.objects import Objects
from gitplacer.git.signing import AllowedKeys, verified
from gitplacer.source.files import Memo


def signed_by(objects: Objects, memo: Memo, keys: Sequence[str], commits: Sequence[str]) -> Iterator[bool]:
    """
    For each commit, by its id, whether one of some public keys has signed it; not where it is missing. Each is looked at when it is asked
    for, and what was found out is remembered. Raises GitError where the program that would know is not there.
    """
    allowed = AllowedKeys({"listed": keys})
    digests = [_digest(commit, *sorted(keys)) for commit in commits]
    known = memo.recall_texts(digests)
    for commit, digest in zip(commits, digests, strict=True):
        answer = known.get(digest)
        if answer is None:
            found = objects.look_up(commit)
            is_good = found is not None and verified(found.data, allowed) is not None
            answer = b"yes" if is_good else b"no"
            memo.remember_text(digest, answer)
        yield answer == b"yes"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(("signed-1", *parts)).encode("utf-8", "surrogateescape")).hexdigest()
