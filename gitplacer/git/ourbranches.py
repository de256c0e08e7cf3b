"""
The branches of ours beside the deployment branch, and how commits of ours are known from those of others.

A proposal is a branch with one commit on top of the tip; a pass that is proposed as a whole is another. A commit is known by what its
trailers say of it: its id changes with the time at which it was made.
"""

from __future__ import annotations

import hashlib
import re

from gitplacer.git.program import GitError
from gitplacer.git.reading import Commit, check_branch

INPUTS = "gitplacer-inputs"
"""The branch that keeps the capacity trees passes were computed from."""

PROPOSALS = "gitplacer/proposed/"
"""Branches with proposed commits begin with this; the id of a group follows."""

NEXT = "gitplacer/next/"
"""The branch with the commits of a pass that is proposed as a whole begins with this; the deployment branch follows."""

SQUASHED = "gitplacer/squashed/"
"""The branch that keeps the commits of a proposed pass which somebody squashed begins with this; the deployment branch follows."""

_DATED = ("Gitplacer-Now:", "Gitplacer-Capacity:", "Gitplacer-Base:")
"""Trailers that differ with every pass."""


def is_of_a_pass(commit: Commit) -> bool:
    """Whether a pass made it, by its trailers. The proposal of one group is no pass."""
    return commit.trailer("Gitplacer-Version") is not None and commit.trailer("Gitplacer-Proposed") is None


def undated(message: str) -> str:
    """A message's subject and trailers, without those that differ with every pass; what is told between may differ as well."""
    subject, *lines = message.strip().split("\n")
    trailers = message.strip().rpartition("\n\n")[2].split("\n") if lines else []
    return "\n".join([subject, *(line for line in trailers if not line.startswith(_DATED))])


def proposal_branch(group_id: str) -> str:
    """The branch of a group's proposal. What git does not allow in a name is replaced, and told apart by a digest."""
    name = f"{PROPOSALS}{group_id}"
    try:
        return check_branch(name)
    except GitError:
        digest = hashlib.sha256(group_id.encode()).hexdigest()[:8]
        return f"{PROPOSALS}{re.sub(r'[^A-Za-z0-9_/-]', '-', group_id)}-{digest}"
