"""
Which pull a CI job is about.

A job that was started for a pull from a fork knows only a commit and the repository it is in; titles and branches come from whoever
made the pull, and are not asked. A job may also be late: when the pull has a newer commit, what the job has to say is about
something else.
"""

from __future__ import annotations

import re

from gitplacer.hosts.host import Host, HostError, Pull
from gitplacer.plaintext import few, printable
from gitplacer.settings import UsageError

_MOST = 3000
"""Open pulls that are looked at."""


def checked_sha(sha: str) -> str:
    """The id of a commit, whole. Raises UsageError."""
    if not re.fullmatch(r"[0-9a-f]{40}", sha):
        raise UsageError(f'"{printable(sha, 60)}" is not the id of a commit', "give all its 40 digits")
    return sha


def with_head(host: Host, sha: str, repo: str) -> Pull:
    """The open pull whose head is a commit of a repository. Raises HostError where there is none or several."""
    found: list[Pull] = []
    for seen, pull in enumerate(host.open_pulls()):
        if pull.head_sha == sha and (pull.head_repo or "").casefold() == repo.casefold():
            found.append(pull)
        if seen >= _MOST:
            break
    if not found:
        raise HostError(
            f"{host.repo} has no open pull request whose head is {sha[:12]} of {printable(repo)}",
            "it may be closed, or have a newer commit, which has a run of its own",
        )
    if len(found) > 1:
        numbers = few([str(pull.number) for pull in found])
        raise HostError(
            f"{sha[:12]} is the head of several pull requests of {host.repo}: {numbers}", "name one with --pull"
        )
    return found[0]


def merged_with(host: Host, commit: str) -> Pull | None:
    """The pull that brought a commit, if one did; of several the one that was merged as this commit, or the newest."""
    merged = [pull for pull in host.pulls_with(commit) if pull.is_merged]
    exact = [pull for pull in merged if pull.commit == commit]
    return max(exact or merged, key=lambda pull: pull.number, default=None)
