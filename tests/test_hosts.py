"""Hosts behind one protocol, each against its stand-in: what is asked of them, and what their refusals become."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitplacer.formats.markdown import marker
from gitplacer.hosts import HOSTS, opened
from gitplacer.hosts.access import Access, access
from gitplacer.hosts.comments import upsert
from gitplacer.hosts.host import Comment, Host, HostError, State, Status
from gitplacer.hosts.patience import LONGEST_WAIT, TRIES
from gitplacer.settings import UsageError
from tests.hoststandin import EPOCH, ME, OTHER, TOKEN, StandIn, Trouble, api_of, serving

pytestmark = pytest.mark.server

SHA = "a" * 40


class Site:
    """A stand-in, the host that talks to it, and how long that would have waited."""

    def __init__(self, name: str, state: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name = name
        self.state = state
        self.waited: list[float] = []
        monkeypatch.setattr("time.sleep", self.waited.append)
        self.access = Access(host=name, repo=state.repo, url=api_of(name, state), token=TOKEN)
        self.host: Host = opened(self.access)

    @classmethod
    def served(cls, name: str, state: StandIn, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
        found = cls(name, state, monkeypatch)
        with contextlib.closing(found.host):
            yield found


@pytest.fixture(params=sorted(HOSTS))
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with serving(request.param, StandIn()) as state:
        yield from Site.served(request.param, state, monkeypatch)


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with serving("github", StandIn()) as state:
        yield from Site.served("github", state, monkeypatch)


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with serving("gitlab", StandIn()) as state:
        yield from Site.served("gitlab", state, monkeypatch)


# pulls


def test_a_pull_is_what_the_host_says(site: Site) -> None:
    site.state.opened("feature", title="Add `$(touch x)`", body="text", sha=SHA)
    found = site.host.pull(1)
    assert (found.number, found.title, found.body) == (1, "Add `$(touch x)`", "text")
    assert (found.is_open, found.is_merged, found.commit) == (True, False, None)
    assert (found.head_sha, found.head_branch, found.head_repo, found.base_branch) == (
        SHA,
        "feature",
        "acme/fleet",
        "main",
    )
    assert found.url.endswith("/1")


def test_open_pulls_are_read_page_by_page_with_forks_and_without_what_is_closed(site: Site) -> None:
    for number in range(1, 6):
        site.state.opened(f"b{number}", head_repo="mallory/fleet" if number == 4 else "acme/fleet")
    site.state.opened("gone", head_repo=None)
    site.state.opened("shut", state="closed")
    site.state.largest_page = 2
    found = {pull.head_branch: pull.head_repo for pull in site.host.open_pulls()}
    assert found == {
        "gone": None,
        "b5": "acme/fleet",
        "b4": "mallory/fleet",
        "b3": "acme/fleet",
        "b2": "acme/fleet",
        "b1": "acme/fleet",
    }
    assert len([call for call in site.state.calls if "page" in call.query]) >= 2


def test_a_fork_that_may_not_be_seen_has_no_name(gitlab: Site) -> None:
    gitlab.state.opened("theirs", head_repo="secret/fleet")
    assert gitlab.host.pull(1).head_repo is None


def test_the_pulls_of_a_branch_are_its_own_and_not_those_of_a_fork_with_the_same_branch(site: Site) -> None:
    site.state.opened("x", state="closed")
    site.state.opened("x", head_repo="mallory/fleet")
    site.state.opened("x", base="other")
    site.state.opened("x")
    assert [pull.number for pull in site.host.pulls_from("x", "main")] == [4, 1]


def test_a_pull_is_opened_edited_and_closed(site: Site) -> None:
    made = site.host.open_pull("next", "main", "Place a", "body")
    assert (made.number, made.head_branch, made.base_branch, made.is_open) == (1, "next", "main", True)
    edited = site.host.edit_pull(1, "Place b", "other")
    assert (edited.title, edited.body) == ("Place b", "other")
    site.host.close_pull(1)
    assert not site.host.pull(1).is_open


def test_the_pull_that_brought_a_commit_is_found(site: Site) -> None:
    site.state.opened("other")
    merged = site.state.opened("feature", state="closed", merged_as=SHA)
    (found,) = site.host.pulls_with(SHA)
    assert (found.number, found.is_merged, found.commit) == (merged.number, True, SHA)


# statuses


def test_the_last_status_of_a_context_counts(site: Site) -> None:
    def set_to(state: State, context: str = "gitplacer/placement") -> None:
        site.host.set_status(SHA, Status(context=context, state=state, description=f"it {state}", url="https://x/y"))

    assert site.host.status(SHA, "gitplacer/placement") is None
    set_to(State.PENDING)
    set_to(State.FAILURE)
    set_to(State.SUCCESS, "other")
    found = site.host.status(SHA, "gitplacer/placement")
    assert found is not None
    assert (found.state, found.description, found.url) == (State.FAILURE, "it failure", "https://x/y")


def test_a_status_that_stays_pending_is_no_failure(gitlab: Site) -> None:
    for _ in range(2):
        gitlab.host.set_status(SHA, Status(context="c", state=State.PENDING, description="waits"))
    assert len(gitlab.state.statuses) == 1


# comments


def test_a_comment_is_made_once_and_then_edited_in_place(site: Site) -> None:
    site.state.opened()
    first = upsert(site.host, 1, ["one"])
    assert (first.made, first.edited, first.kept, first.deleted) == (1, 0, 0, 0)
    assert site.state.bodies() == [f"{marker()}\none"]
    second = upsert(site.host, 1, ["two"])
    assert (second.made, second.edited, second.url) == (0, 1, first.url)
    assert site.state.bodies() == [f"{marker()}\ntwo"]
    before = len(site.state.writes())
    assert upsert(site.host, 1, ["two"]).kept == 1
    assert len(site.state.writes()) == before


def test_pages_are_comments_in_order_and_surplus_ones_go(site: Site) -> None:
    site.state.opened()
    site.state.largest_page = 2
    upsert(site.host, 1, ["1", "2", "3"])
    site.state.commented(1, "a remark")
    done = upsert(site.host, 1, ["1", "zwei"])
    assert (done.made, done.edited, done.kept, done.deleted) == (0, 1, 1, 1)
    assert site.state.bodies() == [f"{marker()}\n1", f"{marker()}\nzwei", "a remark"]
    upsert(site.host, 1, [])
    assert site.state.bodies() == ["a remark"]


def test_what_others_write_with_our_marker_is_never_touched(site: Site) -> None:
    site.state.opened()
    theirs = [f"{marker()}\nmine now", f"> {marker()}\nquoted"]
    site.state.commented(1, theirs[0], OTHER)
    site.state.commented(1, theirs[1], ME)  # ours, and about something else
    site.state.commented(
        1, f"{marker()}\nchanged the title", ME, system=site.name == "gitlab"
    ) if site.name == "gitlab" else None
    upsert(site.host, 1, ["ours"])
    assert site.state.bodies()[:2] == theirs
    assert site.state.bodies()[-1] == f"{marker()}\nours"


def test_two_fleets_have_comments_of_their_own(site: Site) -> None:
    site.state.opened()
    for fleet in ("east", "west", "east.2", ""):
        upsert(site.host, 1, [fleet or "default"], fleet)
    upsert(site.host, 1, ["new"], "west")
    assert [body.partition("\n")[2] for body in site.state.bodies()] == ["east", "new", "east.2", "default"]


def test_a_page_that_has_a_marker_already_gets_ours_in_its_place(github: Site) -> None:
    github.state.opened()
    upsert(
        github.host,
        1,
        ["<!-- gitplacer:plan:east -->\n### one", "<!-- gitplacer:plan page=2 -->\ntwo\n<!-- gitplacer:plan -->"],
        "west",
    )
    first = marker("west")
    assert github.state.bodies() == [f"{first}\n### one", f"{first}\ntwo\n<!-- gitplacer:plan -->"]


def test_an_app_learns_who_it_is_another_way(github: Site) -> None:
    github.state.is_app = True
    github.state.opened()
    upsert(github.host, 1, ["one"])
    upsert(github.host, 1, ["two"])
    assert github.state.bodies() == [f"{marker()}\ntwo"]
    assert [call.path for call in github.state.calls].count("/api/graphql") == 1


def test_line_ends_of_the_host_are_no_change(github: Site) -> None:
    github.state.opened()
    upsert(github.host, 1, ["a\nb"])
    github.state.notes[0].body = github.state.notes[0].body.replace("\n", "\r\n")
    assert upsert(github.host, 1, ["a\nb\n"]).kept == 1


def test_a_page_that_is_too_long_is_refused_before_anything_is_written(github: Site) -> None:
    github.state.opened()
    with pytest.raises(UsageError, match="page 2 has 65567 characters, and a comment may have 65536"):
        upsert(github.host, 1, ["short", "x" * 65_543])
    assert github.state.writes() == []


@pytest.mark.parametrize("status", [0, 500, 502])
def test_a_comment_whose_answer_got_lost_is_not_made_twice(site: Site, status: int) -> None:
    site.state.opened()
    site.state.troubles.append(Trouble(status, method="POST", path="(comments|notes)$", after=True))
    done = upsert(site.host, 1, ["one"])
    assert site.state.bodies() == [f"{marker()}\none"]
    assert done.url


def test_two_runs_at_the_same_time_leave_one_comment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.state.opened()
    add, others = site.host.add_comment, iter([f"{marker()}\nof the other run", f"{marker()}\nits second page"])

    def beside(number: int, body: str) -> Comment:
        site.state.commented(number, next(others), ME)
        return add(number, body)

    monkeypatch.setattr(site.host, "add_comment", beside)
    done = upsert(site.host, 1, ["one", "two"])
    assert site.state.bodies() == [f"{marker()}\none", f"{marker()}\ntwo"]
    assert (done.made, done.deleted) == (2, 2)
    assert done.url.endswith(str(site.state.notes[0].id))


def test_a_comment_that_is_there_is_no_failure_where_nobody_can_look_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.state.opened()
    add = site.host.add_comment

    def last(number: int, body: str) -> Comment:
        site.state.troubles.append(Trouble(403, method="GET", path="(comments|notes)$"))
        return add(number, body)

    monkeypatch.setattr(site.host, "add_comment", last)
    assert upsert(site.host, 1, ["one"]).made == 1
    assert site.state.bodies() == [f"{marker()}\none"]
    assert site.state.troubles == []


def test_a_comment_that_somebody_deleted_meanwhile_is_gone_already(site: Site) -> None:
    site.state.opened()
    upsert(site.host, 1, ["1", "2"])
    site.state.troubles.append(Trouble(404, method="DELETE"))
    assert upsert(site.host, 1, ["1"]).deleted == 1


# patience


@pytest.mark.parametrize(
    ("status", "headers", "pause"),
    [
        (429, {"Retry-After": "7"}, 7),
        (403, {"Retry-After": "9"}, 9),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(EPOCH + 20)}, 21),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": str(EPOCH + 20)}, 21),
        (429, {}, 60),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, 60),
    ],
)
def test_a_limit_is_waited_for_as_long_as_the_host_says(
    site: Site, status: int, headers: dict[str, str], pause: float
) -> None:
    site.state.opened()
    site.state.troubles.append(Trouble(status, headers, path="/pulls/1|/merge_requests/1"))
    assert site.host.pull(1).number == 1
    assert site.waited == [pause]


def test_a_comment_is_made_after_a_limit_because_it_was_not_before(site: Site) -> None:
    site.state.opened()
    site.state.troubles.append(Trouble(429, {"Retry-After": "1"}, method="POST", path="(comments|notes)$"))
    upsert(site.host, 1, ["one"])
    assert len(site.state.bodies()) == 1
    assert site.waited == [1]


def test_nobody_waits_for_an_hour(site: Site) -> None:
    site.state.troubles.append(Trouble(429, {"Retry-After": str(int(LONGEST_WAIT) + 1)}))
    with pytest.raises(HostError, match="429") as caught:
        site.host.pull(1)
    assert "asked too often" in caught.value.hint
    assert site.waited == []


def test_a_host_that_is_not_well_is_asked_a_few_times(site: Site) -> None:
    site.state.troubles += [Trouble(503)] * (TRIES + 2)
    with pytest.raises(HostError, match="503") as caught:
        site.host.pull(1)
    assert "not well" in caught.value.hint
    assert len(site.state.calls) == TRIES
    assert site.waited == sorted(site.waited)
    assert sum(site.waited) < 30


def test_what_is_forbidden_is_asked_once(site: Site) -> None:
    site.state.troubles.append(Trouble(403, body={"message": "Resource not accessible"}))
    with pytest.raises(HostError, match="Resource not accessible") as caught:
        site.host.pull(1)
    assert "the token may not do that" in caught.value.hint
    assert len(site.state.calls) == 1


# refusals


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "the token is wrong"), (404, "check --repo"), (422, "its answer says why"), (409, "its answer says why")],
)
def test_each_refusal_has_a_remedy_and_no_token(site: Site, status: int, hint: str) -> None:
    said = {"message": f"no \x1b[31m{TOKEN}\n::error::x", "errors": [{"message": "because"}, {"code": "invalid"}]}
    site.state.troubles.append(Trouble(status, body=said))
    with pytest.raises(HostError) as caught:
        site.host.pull(1)
    assert f"({status})" in caught.value.message
    assert hint in caught.value.hint
    for text in (str(caught.value), caught.value.hint, repr(caught.value), repr(site.access)):
        assert TOKEN not in text
        assert "\x1b" not in text
        assert "\n" not in text


@pytest.mark.parametrize("body", [[1, 2], {"number": None, "head": 5}, {"head": {"sha": []}}, "<html>log in</html>"])
def test_an_answer_that_is_no_answer_is_told_as_such(site: Site, body: object) -> None:
    site.state.troubles.append(Trouble(200, body=body))
    with pytest.raises(HostError, match="no usable answer") as caught:
        site.host.pull(1)
    for jargon in ("NoneType", "attribute", "BadAttribute"):
        assert jargon not in caught.value.message


@pytest.mark.parametrize("wrong", [{"id": None}, {"body": 5}, {"body": {"a": 1}}])
def test_what_is_no_comment_is_told_as_such(site: Site, wrong: dict[str, object]) -> None:
    site.state.opened()
    about = {"id": 7, "body": "x", "system": False, "user": {"id": ME}, "author": {"id": ME}, "html_url": "u", **wrong}
    site.state.troubles.append(Trouble(200, body=[about], method="GET", path="(comments|notes)$"))
    with pytest.raises(HostError, match="no usable answer"):
        upsert(site.host, 1, ["one"])
    assert site.state.writes() == []


def test_who_does_not_know_who_it_is_does_not_comment(site: Site) -> None:
    """Its own comment would be somebody else's, and a second one stand beside it."""
    site.state.opened()
    site.state.commented(1, f"{marker()}\nours", ME)
    site.state.troubles.append(Trouble(200, body={"login": "x"}, path="/user$"))
    with pytest.raises(HostError, match="no usable answer"):
        upsert(site.host, 1, ["one"])
    assert site.state.writes() == []


@pytest.mark.parametrize("reset", ["inf", "nan", "soon", "-1", "1e400"])
def test_a_limit_that_ends_at_no_time_is_no_crash(site: Site, reset: str) -> None:
    limit = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset, "RateLimit-Reset": reset}
    site.state.troubles += [Trouble(403, limit)] * TRIES
    with pytest.raises(HostError):
        site.host.pull(1)
    assert all(0 <= pause <= LONGEST_WAIT for pause in site.waited)


def test_a_redirect_to_another_host_gets_no_token(site: Site) -> None:
    with serving(site.name, StandIn()) as elsewhere:
        target = elsewhere.url.replace("127.0.0.1", "localhost")
        site.state.troubles.append(Trouble(301, {"Location": f"{target}/x"}))
        with pytest.raises(HostError, match="no usable answer"):
            site.host.pull(1)
        assert elsewhere.calls == []


# access


def test_flags_and_environment_say_where_and_who() -> None:
    found = access("github", "a/b", {"GITHUB_TOKEN": "t"})
    assert (found.url, found.token, "token" in repr(found)) == ("https://api.github.com", "t", False)
    environment = {
        "GITPLACER_HOST_TOKEN": "mine",
        "GITHUB_TOKEN": "t",
        "GITHUB_API_URL": "https://git.example.com/api/v3/",
    }
    found = access("github", "a/b", environment)
    assert (found.url, found.token) == ("https://git.example.com/api/v3", "mine")
    found = access(
        "gitlab",
        "a/b/c",
        {"GITLAB_TOKEN": "t", "CI_API_V4_URL": "https://x/api/v4", "GITPLACER_HOST_URL": "http://localhost:1"},
    )
    assert (found.repo, found.url) == ("a/b/c", "http://localhost:1")


@pytest.mark.parametrize(
    ("host", "repo", "environment", "message"),
    [
        ("gitub", "a/b", {}, 'there is no host "gitub"'),
        ("github", "a", {}, "is no repository"),
        ("github", "a/b/c", {}, "is no repository"),
        ("github", "a/..", {}, "is no repository"),
        ("gitlab", "a/b?x=1", {}, "is no repository"),
        ("github", "a/b", {}, "no token"),
        ("gitlab", "a/b", {"CI_JOB_TOKEN": "x"}, "no token"),
        ("github", "a/b", {"GITHUB_TOKEN": "a\nb"}, "characters that no token has"),
        ("github", "a/b", {"GITHUB_TOKEN": "t", "GITPLACER_HOST_URL": "http://example.com"}, "not encrypted"),
        (
            "github",
            "a/b",
            {"GITHUB_TOKEN": "t", "GITPLACER_HOST_URL": "https://u:secret@example.com"},
            "carries a user name",
        ),
        ("github", "a/b", {"GITHUB_TOKEN": "t", "GITPLACER_HOST_URL": "ftp://example.com"}, "no address of an API"),
        ("github", "a/b", {"GITHUB_TOKEN": "t", "GITPLACER_HOST_URL": "https://[secret"}, "the host or the port"),
        (
            "github",
            "a/b",
            {"GITHUB_TOKEN": "t", "GITPLACER_HOST_URL": "https://u:sec/ret@x:99999"},
            "the host or the port",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_hint(
    host: str, repo: str, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        access(host, repo, environment)
    assert caught.value.hint
    assert "secret" not in f"{caught.value}{caught.value.hint}"


def test_a_job_token_of_gitlab_is_told_to_be_too_little() -> None:
    with pytest.raises(UsageError) as caught:
        access("gitlab", "a/b", {"CI_JOB_TOKEN": "x"})
    assert "may not write comments" in caught.value.hint


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "gitplacer.hosts.github", raising=False)
    monkeypatch.setitem(sys.modules, "github", None)
    with pytest.raises(UsageError, match="not installed") as caught:
        opened(Access(host="github", repo="a/b", url="https://api.github.com", token="t"))
    assert caught.value.hint == "pip install 'gitplacer[hosts]'"
