"""What webhooks say, in the shapes that hosts send, and what of it is worth a look."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.listeners.payloads import Branch, Interest, Unreadable, Watched, concerned, repo_path, said

FLEET = Watched("acme/fleet", frozenset({None}))
DEPLOYMENT = Watched("acme/deployment", frozenset({"main"}))
CAPACITY = Watched("acme/fleet", frozenset({"capacity"}))
INTEREST = Interest((FLEET, DEPLOYMENT), frozenset({"k" * 40}))


def github(
    ref: str = "refs/heads/main", repo: str = "acme/fleet", after: str = "a" * 40, default: str = "main"
) -> dict[str, Any]:
    urls = {
        "clone_url": f"https://github.com/{repo}.git",
        "ssh_url": f"git@github.com:{repo}.git",
        "html_url": f"https://github.com/{repo}",
    }
    return {"ref": ref, "after": after, "repository": {"full_name": repo, "default_branch": default, **urls}}


def gitlab(repo: str = "acme/fleet") -> dict[str, Any]:
    urls = {"git_http_url": f"https://gitlab.example/{repo}.git", "git_ssh_url": f"git@gitlab.example:{repo}.git"}
    return {
        "object_kind": "push",
        "ref": "refs/heads/main",
        "after": "b" * 40,
        "project": {"default_branch": "main", **urls},
        "repository": urls,
    }


def bitbucket_cloud(name: str = "main", kind: str = "branch") -> dict[str, Any]:
    new = {"type": kind, "name": name, "target": {"hash": "c" * 40}}
    return {
        "push": {"changes": [{"new": None, "old": {"name": "gone"}}, {"new": new}]},
        "repository": {"full_name": "acme/fleet", "links": {"html": {"href": "https://bitbucket.org/acme/fleet"}}},
    }


def bitbucket_data_center(project: str = "ACME") -> dict[str, Any]:
    return {
        "eventKey": "repo:refs_changed",
        "repository": {"slug": "fleet", "project": {"key": project}},
        "changes": [{"ref": {"id": "refs/heads/main"}, "toHash": "d" * 40}],
    }


FLUX = {
    "involvedObject": {"kind": "GitRepository", "name": "fleet"},
    "severity": "info",
    "reason": "NewArtifact",
    "metadata": {"revision": "main@sha1:…"},
}


def looked_at(payload: Any, interest: Interest = INTEREST) -> str | None:
    branch = concerned(said(json.dumps(payload).encode()), interest)
    return branch.ref if branch is not None else None


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (github(), "refs/heads/main"),
        (github(ref="refs/heads/feature"), None),
        (github(repo="acme/other"), None),
        (github(repo="evil/acme/fleet"), "refs/heads/main"),  # it may be served below a directory; the worst is a look
        (github(repo="fleet"), None),
        (github(repo="Acme/Fleet"), "refs/heads/main"),
        (github(default="trunk"), None),
        (github(ref="refs/heads/trunk", default="trunk"), "refs/heads/trunk"),
        (github(repo="acme/deployment"), "refs/heads/main"),
        (github(repo="acme/deployment", ref="refs/heads/gitplacer-inputs"), None),
        (github(repo="acme/deployment", after="k" * 40), None),  # what we have just pushed
        ({"zen": "Design for failure.", "repository": github()["repository"]}, ""),  # GitHub's ping
        (gitlab(), "refs/heads/main"),
        (gitlab("acme/other"), None),
        (bitbucket_cloud(), "refs/heads/main"),
        (bitbucket_data_center(), "refs/heads/main"),
        (bitbucket_data_center("OTHER"), None),
        (FLUX, ""),
        ({}, ""),
        ({"ref": "main", "repository": "https://git.example/acme/fleet"}, "refs/heads/main"),
        ({"ref": 7, "repository": ["x"], "push": 3, "changes": {"a": 1}}, ""),
    ],
)  # fmt: skip
def test_only_what_is_about_our_repos_and_branches_is_looked_at(payload: Any, expected: str | None) -> None:
    assert looked_at(payload) == expected


def test_branches_that_are_named_are_told_from_the_default_one() -> None:
    interest = Interest((CAPACITY,))
    assert looked_at(github(ref="refs/heads/capacity"), interest) == "refs/heads/capacity"
    assert looked_at(github(), interest) is None
    each = Interest((Watched("acme/fleet", frozenset({"capacity/{cluster}"})),))
    assert looked_at(github(ref="refs/heads/capacity/a"), each) == "refs/heads/capacity/a"
    assert looked_at(github(ref="refs/heads/capa"), each) is None
    tagged = Interest((Watched("acme/fleet", frozenset({"v1"})),))
    assert looked_at(github(ref="refs/tags/v1"), tagged) == "refs/tags/v1"
    assert looked_at(bitbucket_cloud("v1", "tag"), tagged) == "refs/tags/v1"


def test_before_the_first_pass_everything_that_is_signed_matters() -> None:
    assert looked_at(github(repo="acme/other"), Interest()) == "refs/heads/main"
    assert looked_at(FLUX, Interest()) == ""


def test_a_directory_may_be_any_repo() -> None:
    assert looked_at(github(), Interest((Watched("", frozenset({None})),))) == "refs/heads/main"


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"{", b"\xff", b"[" * 200_000, b'{"a":' * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(Unreadable):
        said(body)


@pytest.mark.parametrize(
    "address",
    ["https://git.example/acme/fleet.git", "ssh://git@git.example:2222/acme/fleet", "git@git.example:acme/fleet.git", "https://git.example//acme/fleet/?x#y", "acme/Fleet"],
)  # fmt: skip
def test_one_repo_has_one_path(address: str) -> None:
    assert repo_path(address) == "acme/fleet"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["ref", "after", "repository", "project", "push", "changes", "new", "name", "links", "href", "html", "default_branch", "target", "id", "key", "slug", "clone_url"]), inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["ref", "after", "repository", "project", "push", "changes"]), _JSON))
def test_no_payload_is_too_odd(payload: dict[str, Any]) -> None:
    found = concerned(said(json.dumps(payload).encode()), INTEREST)
    assert found is None or isinstance(found, Branch)
