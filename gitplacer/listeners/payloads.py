"""
What a webhook says, as far as it matters: which repo, and which branch.

It was signed, and still it is only a hint: the most that it can do is let a pass begin that would have begun by itself a little later. So what it says is
held against the repos and branches that a pass reads, and whatever is about something else is ignored. Pure.

Repos are compared by the path in their address. Their hosts are not: one repo is reached under several (`ssh.github.com`, a name inside a
cluster), and a wrong guess costs one look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from gitplacer.capacity.reading import PLACEHOLDER

_MOST_TEXT = 1000
_MOST_CHANGES = 100
_ADDRESSES = (
    "clone_url",
    "ssh_url",
    "html_url",
    "git_http_url",
    "git_ssh_url",
    "git_url",
    "http_url",
    "web_url",
    "homepage",
    "url",
)


class Unreadable(ValueError):
    """The body is not a JSON object."""


class Branch(Struct, frozen=True):
    """A branch that moved: its full ref, and the commit that it is at, '' where that is not said."""

    ref: str
    commit: str = ""


class Said(Struct, frozen=True, kw_only=True):
    """The paths of the repo that a payload names, the repo's default branch, and the branches that have moved. All may be empty."""

    repos: frozenset[str] = frozenset()
    default_branch: str = ""
    moved: tuple[Branch, ...] = ()


class Watched(Struct, frozen=True):
    """
    One repo that passes read: the path in its address, and the revisions that matter; None is its default branch. A directory of this machine has
    no path that a host would know: then it is '', and may be any repo.
    """

    path: str
    revs: frozenset[str | None]


class Interest(Struct, frozen=True):
    """
    What passes read. `known` are commits that have been read or written already, so that our own pushes wake nobody. Before the first pass nobody
    knows what matters, and `repos` is None.
    """

    repos: tuple[Watched, ...] | None = None
    known: frozenset[str] = field(default_factory=frozenset)


def said(body: bytes) -> Said:
    """What a payload says. Raises Unreadable."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        raise Unreadable("the body is no JSON") from None
    if not isinstance(payload, dict):
        raise Unreadable("the body is no JSON object")
    repos = [found for name in ("repository", "project") if isinstance(found := payload.get(name), dict)]
    default = next((text for repo in repos if (text := _text(repo.get("default_branch")))), "")
    named = payload.get("repository")
    paths = {repo_path(text) for repo in repos for text in _addresses(repo)}
    if isinstance(named, str):
        paths.add(repo_path(_text(named)))
    return Said(repos=frozenset(paths - {""}), default_branch=default, moved=tuple(_moved(payload)))


def concerned(found: Said, interest: Interest) -> Branch | None:
    """
    The branch to look at; one without a ref where none was named and the repo matters. None where the payload is about something else, or
    about what is known.
    """
    if interest.repos is None:
        return found.moved[0] if found.moved else Branch("")
    repos = interest.repos
    if found.repos:
        repos = tuple(each for each in repos if not each.path or any(_same_path(each.path, p) for p in found.repos))
    if not repos:
        return None
    if not found.moved:
        return Branch("")
    return next(
        (branch for branch in found.moved if _matters(branch, repos, found.default_branch, interest.known)), None
    )


def _matters(branch: Branch, repos: tuple[Watched, ...], default: str, known: frozenset[str]) -> bool:
    if branch.commit and branch.commit in known:
        return False
    for watched in repos:
        for rev in watched.revs:
            if rev is None and default in ("", branch.ref.removeprefix("refs/heads/")):
                return True
            if rev is not None and _is_named(branch.ref, rev):
                return True
    return False


def _is_named(ref: str, rev: str) -> bool:
    """Whether a ref is what a revision names: itself, a branch, a tag, or one of the branches of clusters."""
    if rev.endswith(PLACEHOLDER):
        return ref.startswith(f"refs/heads/{rev.removesuffix(PLACEHOLDER)}")
    return ref in (rev, f"refs/heads/{rev}", f"refs/tags/{rev}")


def repo_path(address: str) -> str:
    """The path in the address of a repo, in small letters and without `.git`: `acme/fleet`."""
    found = re.fullmatch(r"[A-Za-z][\w+.-]*://[^/]*(/.*)", address) or re.fullmatch(r"[^/:]+:(?!//)(.*)", address)
    path = found[1] if found else address
    return re.sub(r"/+", "/", path.split("?")[0].split("#")[0]).strip("/").removesuffix(".git").lower()


def _same_path(ours: str, theirs: str) -> bool:
    """Whether two paths are of one repo; a host may serve it below a directory over one protocol and not over another."""
    shorter, longer = sorted((ours, theirs), key=len)
    return longer == shorter or (longer.endswith(f"/{shorter}") and "/" in shorter)


def _addresses(repo: Mapping[str, Any]) -> Iterator[str]:
    """All spellings of its address that a host gives."""
    for name in _ADDRESSES:
        if text := _text(repo.get(name)):
            yield text
    links = repo.get("links")
    for link in links.values() if isinstance(links, dict) else ():
        for each in link if isinstance(link, list) else [link]:
            if isinstance(each, dict) and (text := _text(each.get("href"))):
                yield text.removesuffix("/browse")
    project = repo.get("project")
    if isinstance(project, dict) and (key := _text(project.get("key"))) and (slug := _text(repo.get("slug"))):
        yield f"{key}/{slug}"  # Bitbucket Data Center


def _moved(payload: Mapping[str, Any]) -> Iterator[Branch]:
    if ref := _text(payload.get("ref")):
        yield Branch(ref if ref.startswith("refs/") else f"refs/heads/{ref}", _text(payload.get("after")))
    push = payload.get("push")
    changes = push.get("changes") if isinstance(push, dict) else payload.get("changes")
    for change in changes[:_MOST_CHANGES] if isinstance(changes, list) else ():
        if not isinstance(change, dict):
            continue
        new, ref_of = change.get("new"), change.get("ref")
        if isinstance(new, dict) and (name := _text(new.get("name"))):  # Bitbucket Cloud
            target = new.get("target")
            kind = "tags" if new.get("type") == "tag" else "heads"
            yield Branch(f"refs/{kind}/{name}", _text(target.get("hash")) if isinstance(target, dict) else "")
        elif isinstance(ref_of, dict) and (ref := _text(ref_of.get("id"))):  # Bitbucket Data Center
            yield Branch(ref, _text(change.get("toHash")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _MOST_TEXT else ""
