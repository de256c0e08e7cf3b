"""
Commits that fast-import has made, signed one after the other; and rows of commits compared but for their signatures.

A signature changes the id of a commit, and so what the next one says it follows. So parents are signed first, and whether two rows
are the same is asked without signatures: those of OpenPGP hold the time, and are never the same twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from gitplacer.git.objects import Objects
from gitplacer.git.program import Git
from gitplacer.git.signing import SigningKey, is_signed, signed, unsigned

_PARENT = re.compile(rb"\nparent ([0-9a-f]{40})(?=\n)")


def sign_all(
    git: Git, objects: Objects, tips: Mapping[str, str], known: Iterable[str], key: SigningKey
) -> dict[str, str]:
    """
    The commits behind some tips which nobody had before, signed: the new tips, by the same names. `known` are commits that stay as they
    are, with all before them.
    """
    without = [f"^{oid}" for oid in known]
    fresh = (
        git.run("rev-list", "--topo-order", "--reverse", "--end-of-options", *tips.values(), *without, "--")
        .decode()
        .split()
    )
    ids: dict[str, str] = {}
    for oid, found in zip(fresh, objects.look_up_all(fresh), strict=True):
        assert found is not None
        commit = signed(_with_parents(found.data, ids), key)
        ids[oid] = git.run("hash-object", "-t", "commit", "-w", "--stdin", input=commit).decode().strip()
    return {name: ids.get(oid, oid) for name, oid in tips.items()}


def same_but_signatures(objects: Objects, row: str, other: str, lets_stand: Callable[[bool], bool]) -> bool:
    """
    Whether two rows of commits, given by their tips, say and hold the same down to where they meet. `lets_stand` is asked for each commit
    of the second whether it can stay, given whether it has a signature.
    """
    mine: str | None = row
    theirs: str | None = other
    while mine is not None and theirs is not None and mine != theirs:
        here, there = objects.look_up(mine), objects.look_up(theirs)
        if here is None or there is None or not lets_stand(is_signed(there.data)):
            return False
        (content, parents), (same, others) = _lineage(unsigned(here.data)), _lineage(unsigned(there.data))
        if content != same or len(others) > 1:
            return False
        mine, theirs = (ids[0].decode() if ids else None for ids in (parents, others))
    return mine == theirs


def _lineage(commit: bytes) -> tuple[bytes, list[bytes]]:
    """What a commit is but for whom it follows, and the ids of whom it follows."""
    head, gap, message = commit.partition(b"\n\n")
    return _PARENT.sub(b"", head) + gap + message, _PARENT.findall(head)


def _with_parents(commit: bytes, ids: Mapping[str, str]) -> bytes:
    """A commit whose parents have other ids."""
    head, gap, message = commit.partition(b"\n\n")
    named = _PARENT.sub(lambda line: b"\nparent " + ids.get(line[1].decode(), line[1].decode()).encode(), head)
    return named + gap + message
