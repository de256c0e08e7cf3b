"""
Stand-ins for GitHub and GitLab on this machine: the part of their REST APIs that gitplacer uses, with state.

They hold every request against what the APIs document, and note whatever is wrong with one: a path or method that there is not,
a missing or foreign token, a field that is unknown, missing, too long or of another type, a query that is not documented. A test
that uses one fails if anything was noted. Where a `bare` repository is given, pulls follow its branches, as on a host: a head is
what the branch is now, and a pull whose branch is gone is closed.

Written from these pages:

- GitHub REST, version 2022-11-28: Pulls (list, create, get, update), Issues / Comments (list, create, get, update, delete), Commits
  (get; list pull requests associated with a commit), Commit statuses (create; list for a reference, here at its older path
  `statuses/{sha}`, which PyGithub uses), Users (get the authenticated user), Apps (create an installation access token;
  "Generating a JSON Web Token (JWT) for a GitHub App"), "Using pagination in the REST API", "Rate limits for
  the REST API"; GraphQL: the query `viewer`.
- GitLab REST v4: Merge requests (list project's, single, create, update), Notes (merge requests: list, create, modify, delete),
  Commits (statuses of a commit, set the status, merge requests of a commit), Projects (single), Users (current user), "REST API: Pagination",
  "Rate limit response headers".
"""

from __future__ import annotations

import contextlib
import datetime
import http.server
import json
import re
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt

ME, OTHER = 41_898_282, 1
TOKEN = "ghs_SeCrEtSeCrEt0123456789"
WHEN = "Fri, 02 Jan 2026 03:04:05 GMT"
STAMP = "2026-01-02T03:04:05Z"
EPOCH = 1_767_323_045


@dataclass
class Note:
    id: int
    pull: int
    author: int
    body: str
    system: bool = False


@dataclass
class Request:
    """A pull or merge request as the host keeps it."""

    number: int
    title: str
    body: str
    head: str
    base: str
    head_repo: str | None
    sha: str = "0" * 40
    state: str = "open"
    merged_as: str | None = None
    commits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trouble:
    """
    An answer that a host gives instead of doing what it is asked, or, `after`, although it has done it. Status 0 is a connection that is
    closed without an answer.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    method: str = ""
    path: str = ""
    after: bool = False


class Answer(Exception):
    """Ends a request with an answer that is an error."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(str(status))
        self.status = status
        self.body = body


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


@dataclass
class StandIn:
    """The state of a host, and what was asked of it. `largest_page` is how many entries it puts on a page at most."""

    repo: str = "acme/fleet"
    bare: Path | None = None
    is_app: bool = False
    largest_page: int = 100
    url: str = ""
    pulls: dict[int, Request] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    projects: dict[int, str] = field(default_factory=lambda: {7: "acme/fleet", 8: "mallory/fleet"})
    made: int = 100
    app: int = 0
    app_key: str = ""
    installation: int = 0
    permissions: dict[str, str] = field(default_factory=lambda: {"contents": "write", "pull_requests": "write"})
    made_tokens: dict[str, dict[str, str]] = field(default_factory=dict)
    now: Callable[[], float] = time.time

    # what tests do by hand

    def opened(self, head: str = "feature", **fields: Any) -> Request:
        number = max(self.pulls, default=0) + 1
        about = {"title": "A change", "body": "", "base": "main", "head_repo": self.repo, "sha": f"{number:040x}"}
        self.pulls[number] = Request(number=number, head=head, **{**about, **fields})
        return self.pulls[number]

    def commented(self, pull: int, body: str, author: int = OTHER, system: bool = False) -> Note:
        self.made += 1
        note = Note(self.made, pull, author, body, system)
        self.notes.append(note)
        return note

    def bodies(self, pull: int = 1) -> list[str]:
        return [note.body for note in self.notes if note.pull == pull]

    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET" and not call.path.endswith("/graphql")]

    def last_status(self, sha: str) -> tuple[str, str, str]:
        found = [each for each in self.statuses if each["sha"] == sha]
        return (found[-1]["context"], found[-1]["state"], found[-1]["description"]) if found else ("", "", "")

    # what both hosts do

    def current(self) -> list[Request]:
        for pull in self.pulls.values():
            if self.bare is not None and pull.state == "open" and pull.head_repo == self.repo:
                found = branch_tip(self.bare, pull.head)
                if found is None:
                    pull.state = "closed"
                else:
                    pull.sha = found
        return sorted(self.pulls.values(), key=lambda pull: -pull.number)

    def request(self, number: str) -> Request:
        self.current()
        if int(number) not in self.pulls:
            raise Answer(404, {"message": "Not Found"})
        return self.pulls[int(number)]

    def note(self, identity: str) -> Note:
        for note in self.notes:
            if note.id == int(identity):
                return note
        raise Answer(404, {"message": "Not Found"})

    def has_branch(self, name: str) -> bool:
        return self.bare is None or branch_tip(self.bare, name) is not None

    def expect(self, holds: bool, said: str) -> None:
        if not holds:
            self.wrong.append(said)


def branch_tip(bare: Path, name: str) -> str | None:
    done = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{name}"], cwd=bare, capture_output=True, check=False
    )
    return done.stdout.decode().strip() if done.returncode == 0 else None


Shape = Mapping[str, tuple[type | tuple[type, ...], int]]
"""Fields that a body may have: their type, and how many characters a text may have."""
Handler = Callable[..., tuple[int, Any]]


class Dialect:
    """How one host speaks: its routes, and what its answers look like."""

    prefix = ""

    def __init__(self, state: StandIn) -> None:
        self.state = state

    def routes(self) -> Sequence[tuple[str, str, Handler]]:
        raise NotImplementedError

    def check_head(self, call: Call) -> None:
        raise NotImplementedError

    def page(self, rows: list[Any], call: Call) -> tuple[list[Any], dict[str, str]]:
        raise NotImplementedError

    def refusal(self, status: int, body: Any) -> Any:
        return body

    # what is held against the documents

    def body(self, call: Call, shape: Shape, required: Sequence[str]) -> dict[str, Any]:
        self.state.expect(isinstance(call.body, dict), f"{call.method} {call.path}: the body is no JSON object")
        body = call.body if isinstance(call.body, dict) else {}
        for name in required:
            self.state.expect(name in body, f"{call.method} {call.path}: {name} is missing")
        for name, value in body.items():
            known = shape.get(name)
            if known is None:
                self.state.wrong.append(f"{call.method} {call.path}: there is no field {name}")
            elif not isinstance(value, known[0]):
                self.state.wrong.append(f"{call.method} {call.path}: {name} is {type(value).__name__}")
            elif isinstance(value, str) and len(value) > known[1]:
                self.state.wrong.append(f"{call.method} {call.path}: {name} has {len(value)} characters")
        return body

    def query(self, call: Call, *names: str) -> Mapping[str, str]:
        for name in call.query:
            known = name in (*names, "per_page", "page")
            self.state.expect(known, f"{call.method} {call.path}: there is no parameter {name}")
        return call.query

    def answered(self, call: Call) -> tuple[int, Any, dict[str, str]]:
        state = self.state
        trouble = next(
            (t for t in state.troubles if t.method in ("", call.method) and re.search(t.path, call.path)), None
        )
        if trouble is not None:
            state.troubles.remove(trouble)
            if not trouble.after:
                return trouble.status, trouble.body or {"message": "trouble"}, dict(trouble.headers)
        self.check_head(call)
        try:
            status, body, headers = self._routed(call)
        except Answer as answer:
            status, body, headers = answer.status, answer.body, {}
        if trouble is not None:
            return trouble.status, trouble.body or {"message": "trouble"}, dict(trouble.headers)
        return status, body, headers

    def _routed(self, call: Call) -> tuple[int, Any, dict[str, str]]:
        path = call.path.removeprefix(self.prefix)
        for method, pattern, handler in self.routes():
            found = re.fullmatch(pattern, path)
            if found and method == call.method:
                status, body = handler(call, *found.groups())
                if isinstance(body, list):
                    body, headers = self.page(body, call)
                    return status, body, headers
                return status, body, {}
        self.state.wrong.append(f"there is no {call.method} {call.path}")
        raise Answer(404, {"message": "Not Found"})


def sliced(rows: list[Any], call: Call, largest: int, default: int) -> tuple[list[Any], int, int]:
    """The rows of the page that is asked for, its number, and how many pages there are."""
    size = min(int(call.query.get("per_page", default)), largest)
    page = int(call.query.get("page", 1))
    return rows[(page - 1) * size : page * size], page, max(1, -(-len(rows) // size))


def linked(url: str, call: Call, page: int, pages: int) -> str:
    def to(number: int) -> str:
        query = urllib.parse.urlencode({**call.query, "page": number})
        return f"{url}{urllib.parse.quote(call.path, safe='/%')}?{query}"

    links = [f'<{to(page + 1)}>; rel="next"', f'<{to(pages)}>; rel="last"'] if page < pages else []
    return ", ".join(links)


class GitHubDialect(Dialect):
    prefix = "/api/v3"

    def routes(self) -> Sequence[tuple[str, str, Handler]]:
        repo = f"/repos/{re.escape(self.state.repo)}"
        return (
            ("GET", "/user", self.user),
            ("POST", "/app/installations/([0-9]+)/access_tokens", self.make_token),
            ("POST", "/api/graphql", self.graphql),
            ("GET", repo, self.repository),
            ("GET", f"{repo}/pulls", self.pulls),
            ("POST", f"{repo}/pulls", self.make_pull),
            ("GET", f"{repo}/pulls/([0-9]+)", lambda call, number: (200, self.pull(self.state.request(number)))),
            ("PATCH", f"{repo}/pulls/([0-9]+)", self.edit_pull),
            ("GET", f"{repo}/issues/([0-9]+)/comments", self.comments),
            ("POST", f"{repo}/issues/([0-9]+)/comments", self.add_comment),
            ("GET", f"{repo}/issues/comments/([0-9]+)", lambda call, note: (200, self.comment(self.state.note(note)))),
            ("PATCH", f"{repo}/issues/comments/([0-9]+)", self.edit_comment),
            ("DELETE", f"{repo}/issues/comments/([0-9]+)", self.delete_comment),
            ("GET", f"{repo}/commits/([0-9a-f]{{40}})", self.commit),
            ("GET", f"{repo}/commits/([0-9a-f]{{40}})/pulls", self.pulls_with),
            ("GET", f"{repo}/statuses/([0-9a-f]{{40}})", self.statuses),
            ("POST", f"{repo}/statuses/([0-9a-f]{{40}})", self.set_status),
        )

    def check_head(self, call: Call) -> None:
        said = call.headers.get("authorization", "")
        if not call.path.startswith(f"{self.prefix}/app/"):
            known = (TOKEN, *self.state.made_tokens)
            self.state.expect(said.removeprefix("token ").removeprefix("Bearer ") in known, f"{call.path}: no token")
        self.state.expect(bool(call.headers.get("user-agent")), f"{call.path}: GitHub wants a User-Agent")
        if call.body is not None:
            self.state.expect("json" in call.headers.get("content-type", ""), f"{call.path}: the body is not JSON")

    def page(self, rows: list[Any], call: Call) -> tuple[list[Any], dict[str, str]]:
        found, page, pages = sliced(rows, call, self.state.largest_page, 30)
        link = linked(self.state.url, call, page, pages)
        return found, {"Link": link} if link else {}

    @property
    def api(self) -> str:
        return f"{self.state.url}{self.prefix}/repos/{self.state.repo}"

    def user(self, call: Call) -> tuple[int, Any]:
        if self.state.is_app:
            raise Answer(403, {"message": "Resource not accessible by integration"})
        return 200, person(ME)

    def make_token(self, call: Call, installation: str) -> tuple[int, Any]:
        """A token for an installation, for whoever has signed with the app's key that it is the app, now."""
        state = self.state
        body = self.body(call, {"permissions": (dict, 0), "repositories": (list, 0), "repository_ids": (list, 0)}, [])
        try:
            claims = jwt.decode(
                call.headers.get("authorization", "").removeprefix("Bearer "), state.app_key, algorithms=["RS256"],
                issuer=str(state.app), options={"require": ["iat", "exp", "iss"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            raise Answer(401, {"message": f"A JSON web token could not be decoded: {error}"}) from None
        state.expect(claims["exp"] - claims["iat"] <= 660, "a JWT may be good for ten minutes")
        if int(installation) != state.installation:
            raise Answer(404, {"message": "Not Found"})
        permissions = body.get("permissions") or state.permissions
        levels = ("read", "write")
        for name, level in permissions.items():
            state.expect(level in levels, f"there is no permission {level}")
            if name not in state.permissions or levels.index(level) > levels.index(state.permissions[name]):
                raise Answer(422, {"message": "The permissions requested are not granted to this installation."})
        token = f"ghs_installation{len(state.made_tokens):04}{'-'.join(f'{k}.{v}' for k, v in permissions.items())}"
        state.made_tokens[token] = dict(permissions)
        ends = datetime.datetime.fromtimestamp(state.now() + 3600, datetime.UTC)
        return 201, {"token": token, "expires_at": f"{ends:%Y-%m-%dT%H:%M:%SZ}", "permissions": permissions}

    def graphql(self, call: Call) -> tuple[int, Any]:
        body = self.body(call, {"query": (str, 1000), "variables": (dict, 0)}, ["query"])
        asked = re.sub(r"\s+", "", body.get("query", ""))
        self.state.expect(asked == "query{viewer{databaseId}}", f"an unknown query: {asked}")
        return 200, {"data": {"viewer": {"databaseId": ME}}}

    def repository(self, call: Call) -> tuple[int, Any]:
        return 200, {"id": 7, "full_name": self.state.repo, "url": self.api}

    def pulls(self, call: Call) -> tuple[int, Any]:
        asked = self.query(call, "state", "sort", "direction", "head", "base")
        self.state.expect(asked.get("state", "open") in ("open", "closed", "all"), "no such state")
        self.state.expect(
            asked.get("sort", "created") in ("created", "updated", "popularity", "long-running"), "no sort"
        )
        found = [p for p in self.state.current() if asked.get("state", "open") in ("all", p.state)]
        if "head" in asked:
            owner, _, branch = asked["head"].partition(":")
            found = [p for p in found if p.head == branch and (p.head_repo or "").startswith(f"{owner}/")]
        if "base" in asked:
            found = [p for p in found if p.base == asked["base"]]
        return 200, [self.pull(each) for each in (found if asked.get("direction") == "desc" else found[::-1])]

    def make_pull(self, call: Call) -> tuple[int, Any]:
        shape: Shape = {
            "title": (str, 256), "head": (str, 255), "head_repo": (str, 255), "base": (str, 255), "body": (str, 65_536),
            "maintainer_can_modify": (bool, 0), "draft": (bool, 0), "issue": (int, 0),
        }  # fmt: skip
        body = self.body(call, shape, ["title", "head", "base"])
        if not self.state.has_branch(body["head"]) or not self.state.has_branch(body["base"]):
            raise Answer(
                422,
                {
                    "message": "Validation Failed",
                    "errors": [{"resource": "PullRequest", "field": "head", "code": "invalid"}],
                },
            )
        if any(
            (p.head, p.base, p.state, p.head_repo) == (body["head"], body["base"], "open", self.state.repo)
            for p in self.state.current()
        ):
            raise Answer(
                422, {"message": "Validation Failed", "errors": [{"message": "A pull request already exists"}]}
            )
        made = self.state.opened(body["head"], title=body["title"], body=body.get("body") or "", base=body["base"])
        self.state.current()
        return 201, self.pull(made)

    def edit_pull(self, call: Call, number: str) -> tuple[int, Any]:
        shape: Shape = {
            "title": (str, 256),
            "body": (str, 65_536),
            "state": (str, 6),
            "base": (str, 255),
            "maintainer_can_modify": (bool, 0),
        }
        body = self.body(call, shape, [])
        pull = self.state.request(number)
        self.state.expect(body.get("state", "open") in ("open", "closed"), "no such state")
        pull.title, pull.body = body.get("title", pull.title), body.get("body", pull.body)
        pull.state = body.get("state", pull.state)
        return 200, self.pull(pull)

    def comments(self, call: Call, number: str) -> tuple[int, Any]:
        self.query(call, "since")
        self.state.request(number)
        return 200, [self.comment(note) for note in self.state.notes if note.pull == int(number)]

    def add_comment(self, call: Call, number: str) -> tuple[int, Any]:
        body = self.body(call, {"body": (str, 65_536)}, ["body"])
        self.state.request(number)
        return 201, self.comment(self.state.commented(int(number), body["body"], ME))

    def edit_comment(self, call: Call, identity: str) -> tuple[int, Any]:
        body = self.body(call, {"body": (str, 65_536)}, ["body"])
        note = self.state.note(identity)
        self.state.expect(note.author == ME, f"a comment of somebody else was edited: {note.body!r}")
        note.body = body["body"]
        return 200, self.comment(note)

    def delete_comment(self, call: Call, identity: str) -> tuple[int, Any]:
        note = self.state.note(identity)
        self.state.expect(note.author == ME, f"a comment of somebody else was deleted: {note.body!r}")
        self.state.notes.remove(note)
        return 204, None

    def commit(self, call: Call, sha: str) -> tuple[int, Any]:
        return 200, {"sha": sha, "url": f"{self.api}/commits/{sha}"}

    def pulls_with(self, call: Call, sha: str) -> tuple[int, Any]:
        found = [
            p for p in self.state.current() if sha in (p.merged_as, *p.commits) or (p.state == "open" and p.sha == sha)
        ]
        return 200, [self.pull(each) for each in found]

    def statuses(self, call: Call, sha: str) -> tuple[int, Any]:
        found = [each for each in self.state.statuses if each["sha"] == sha]
        return 200, [{**each, "url": f"{self.api}/statuses/{sha}"} for each in found[::-1]]

    def set_status(self, call: Call, sha: str) -> tuple[int, Any]:
        shape: Shape = {"state": (str, 10), "target_url": (str, 2000), "description": (str, 140), "context": (str, 255)}
        body = self.body(call, shape, ["state"])
        self.state.expect(body.get("state") in ("error", "failure", "pending", "success"), "no such state")
        self.state.statuses.append({"target_url": None, "description": None, "context": "default", **body, "sha": sha})
        return 201, {**body, "url": f"{self.api}/statuses/{sha}"}

    def pull(self, pull: Request) -> dict[str, Any]:
        repo = (
            None
            if pull.head_repo is None
            else {"full_name": pull.head_repo, "url": f"{self.state.url}{self.prefix}/repos/{pull.head_repo}"}
        )
        return {
            "url": f"{self.api}/pulls/{pull.number}",
            "issue_url": f"{self.api}/issues/{pull.number}",
            "html_url": f"https://github.com/{self.state.repo}/pull/{pull.number}",
            "number": pull.number, "state": pull.state, "title": pull.title, "body": pull.body or None,
            "merged_at": STAMP if pull.merged_as else None,
            "merge_commit_sha": pull.merged_as or "f" * 40,  # of an open one: the trial merge
            "head": {"ref": pull.head, "sha": pull.sha, "repo": repo, "label": f"x:{pull.head}"},
            "base": {"ref": pull.base, "sha": "0" * 40, "repo": {"full_name": self.state.repo}},
        }  # fmt: skip

    def comment(self, note: Note) -> dict[str, Any]:
        return {
            "id": note.id, "body": note.body, "user": person(note.author), "url": f"{self.api}/issues/comments/{note.id}",
            "html_url": f"https://github.com/{self.state.repo}/pull/{note.pull}#issuecomment-{note.id}",
        }  # fmt: skip


def person(identity: int) -> dict[str, Any]:
    name = "gitplacer[bot]" if identity == ME else "mallory"
    return {"id": identity, "login": name, "username": name, "type": "Bot" if identity == ME else "User"}


class GitLabDialect(Dialect):
    prefix = "/api/v4"

    def routes(self) -> Sequence[tuple[str, str, Handler]]:
        project = f"/projects/(?:7|{re.escape(urllib.parse.quote(self.state.repo, safe=''))})"
        sha = "([0-9a-f]{40})"
        return (
            ("GET", "/user", lambda call: (200, person(ME))),
            ("GET", "/projects/([0-9]+)", self.project),
            ("GET", f"{project}/merge_requests", self.pulls),
            ("POST", f"{project}/merge_requests", self.make_pull),
            (
                "GET",
                f"{project}/merge_requests/([0-9]+)",
                lambda call, number: (200, self.pull(self.state.request(number))),
            ),
            ("PUT", f"{project}/merge_requests/([0-9]+)", self.edit_pull),
            ("GET", f"{project}/merge_requests/([0-9]+)/notes", self.notes),
            ("POST", f"{project}/merge_requests/([0-9]+)/notes", self.add_note),
            ("PUT", f"{project}/merge_requests/([0-9]+)/notes/([0-9]+)", self.edit_note),
            ("DELETE", f"{project}/merge_requests/([0-9]+)/notes/([0-9]+)", self.delete_note),
            ("GET", f"{project}/repository/commits/{sha}/merge_requests", self.pulls_with),
            ("GET", f"{project}/repository/commits/{sha}/statuses", self.statuses),
            ("POST", f"{project}/statuses/{sha}", self.set_status),
        )

    def check_head(self, call: Call) -> None:
        self.state.expect(call.headers.get("private-token") == TOKEN, f"{call.path}: no token")
        if call.body is not None:
            self.state.expect("json" in call.headers.get("content-type", ""), f"{call.path}: the body is not JSON")

    def page(self, rows: list[Any], call: Call) -> tuple[list[Any], dict[str, str]]:
        found, page, pages = sliced(rows, call, self.state.largest_page, 20)
        link = linked(self.state.url, call, page, pages)
        following = str(page + 1) if page < pages else ""
        headers = {
            "X-Page": str(page),
            "X-Next-Page": following,
            "X-Total-Pages": str(pages),
            "X-Total": str(len(rows)),
        }
        return found, {**headers, **({"Link": link} if link else {})}

    def project(self, call: Call, number: str) -> tuple[int, Any]:
        if int(number) not in self.state.projects:
            raise Answer(404, {"message": "404 Project Not Found"})
        return 200, {"id": int(number), "path_with_namespace": self.state.projects[int(number)]}

    def pulls(self, call: Call) -> tuple[int, Any]:
        asked = self.query(call, "state", "source_branch", "target_branch", "order_by", "sort", "scope")
        self.state.expect(asked.get("state", "all") in ("opened", "closed", "locked", "merged", "all"), "no such state")
        self.state.expect(asked.get("scope", "all") in ("created_by_me", "assigned_to_me", "all"), "no such scope")
        found = [p for p in self.state.current() if asked.get("state", "all") in ("all", self.state_of(p))]
        for name, attribute in (("source_branch", "head"), ("target_branch", "base")):
            found = [p for p in found if name not in asked or getattr(p, attribute) == asked[name]]
        return 200, [self.pull(each) for each in (found if asked.get("sort", "desc") == "desc" else found[::-1])]

    def make_pull(self, call: Call) -> tuple[int, Any]:
        shape: Shape = {
            "source_branch": (str, 255), "target_branch": (str, 255), "title": (str, 255), "description": (str, 1_048_576),
            "remove_source_branch": (bool, 0), "squash": (bool, 0), "labels": (str, 255),
        }  # fmt: skip
        body = self.body(call, shape, ["source_branch", "target_branch", "title"])
        if not self.state.has_branch(body["source_branch"]):
            raise Answer(400, {"message": {"source_branch": ["does not exist"]}})
        if any(
            (p.head, p.base, p.state, p.head_repo)
            == (body["source_branch"], body["target_branch"], "open", self.state.repo)
            for p in self.state.current()
        ):
            raise Answer(409, {"message": ["Another open merge request already exists for this source branch"]})
        made = self.state.opened(
            body["source_branch"], title=body["title"], body=body.get("description") or "", base=body["target_branch"]
        )
        self.state.current()
        return 201, self.pull(made)

    def edit_pull(self, call: Call, number: str) -> tuple[int, Any]:
        shape: Shape = {
            "title": (str, 255), "description": (str, 1_048_576), "state_event": (str, 10), "target_branch": (str, 255),
            "remove_source_branch": (bool, 0), "squash": (bool, 0),
        }  # fmt: skip
        body = self.body(call, shape, [])
        pull = self.state.request(number)
        self.state.expect(body.get("state_event", "close") in ("close", "reopen"), "no such event")
        pull.title, pull.body = body.get("title", pull.title), body.get("description", pull.body)
        if "state_event" in body:
            pull.state = {"close": "closed", "reopen": "open"}[body["state_event"]]
        return 200, self.pull(pull)

    def notes(self, call: Call, number: str) -> tuple[int, Any]:
        asked = self.query(call, "sort", "order_by")
        self.state.request(number)
        found = [note_value(note) for note in self.state.notes if note.pull == int(number)]
        return 200, found if asked.get("sort") == "asc" else found[::-1]

    def add_note(self, call: Call, number: str) -> tuple[int, Any]:
        body = self.body(call, {"body": (str, 1_000_000), "created_at": (str, 40)}, ["body"])
        self.state.request(number)
        return 201, note_value(self.state.commented(int(number), body["body"], ME))

    def edit_note(self, call: Call, number: str, identity: str) -> tuple[int, Any]:
        body = self.body(call, {"body": (str, 1_000_000)}, ["body"])
        note = self.state.note(identity)
        self.state.expect(note.pull == int(number), "a note of another merge request")
        self.state.expect(note.author == ME, f"a note of somebody else was edited: {note.body!r}")
        note.body = body["body"]
        return 200, note_value(note)

    def delete_note(self, call: Call, number: str, identity: str) -> tuple[int, Any]:
        note = self.state.note(identity)
        self.state.expect(note.author == ME, f"a note of somebody else was deleted: {note.body!r}")
        self.state.notes.remove(note)
        return 204, None

    def pulls_with(self, call: Call, sha: str) -> tuple[int, Any]:
        self.query(call, "state")
        found = [p for p in self.state.current() if sha in (p.merged_as, p.sha, *p.commits)]
        return 200, [self.pull(each) for each in found]

    def statuses(self, call: Call, sha: str) -> tuple[int, Any]:
        asked = self.query(call, "ref", "stage", "name", "all", "pipeline_id", "order_by", "sort")
        newest = {each["context"]: each for each in self.state.statuses if each["sha"] == sha}
        found = [each for name, each in newest.items() if asked.get("name", name) == name]
        return 200, [{**each, "id": 1, "name": each["context"], "status": each["state"]} for each in found]

    def set_status(self, call: Call, sha: str) -> tuple[int, Any]:
        shape: Shape = {
            "state": (str, 10), "name": (str, 255), "context": (str, 255), "target_url": (str, 255), "description": (str, 255),
            "ref": (str, 255), "coverage": (float, 0), "pipeline_id": (int, 0),
        }  # fmt: skip
        body = self.body(call, shape, ["state"])
        self.state.expect(
            body.get("state") in ("pending", "running", "success", "failed", "canceled", "skipped"), "no such state"
        )
        name = body.get("name") or body.get("context") or "default"
        before = [each["state"] for each in self.state.statuses if (each["sha"], each["context"]) == (sha, name)]
        if before and before[-1] == body["state"] == "pending":
            raise Answer(
                400,
                {
                    "message": 'Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via "enqueue")'
                },
            )
        status = {
            "sha": sha,
            "context": name,
            "state": body["state"],
            "description": body.get("description"),
            "target_url": body.get("target_url"),
        }
        self.state.statuses.append(status)
        return 201, {**status, "id": 1, "name": name, "status": body["state"]}

    def state_of(self, pull: Request) -> str:
        return "merged" if pull.merged_as else {"open": "opened", "closed": "closed"}[pull.state]

    def pull(self, pull: Request) -> dict[str, Any]:
        numbers = {name: number for number, name in self.state.projects.items()}
        return {
            "id": 1000 + pull.number, "iid": pull.number, "project_id": 7, "title": pull.title, "description": pull.body,
            "state": self.state_of(pull), "sha": pull.sha, "source_branch": pull.head, "target_branch": pull.base,
            "source_project_id": numbers.get(pull.head_repo or "", None if pull.head_repo is None else 99),
            "target_project_id": 7, "merge_commit_sha": pull.merged_as, "squash_commit_sha": None,
            "web_url": f"https://gitlab.com/{self.state.repo}/-/merge_requests/{pull.number}",
        }  # fmt: skip


def note_value(note: Note) -> dict[str, Any]:
    return {"id": note.id, "body": note.body, "system": note.system, "author": person(note.author)}


DIALECTS: Mapping[str, type[Dialect]] = {"github": GitHubDialect, "gitlab": GitLabDialect}


@contextlib.contextmanager
def serving(host: str, state: StandIn) -> Iterator[StandIn]:
    """Serve a host. At the end nothing may have been wrong with any request."""
    dialect = DIALECTS[host](state)
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # in one piece: a head by itself makes the client wait for an acknowledgement

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            parts = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = raw
            call = Call(self.command, parts.path, query, body, headers)
            with lock:
                state.calls.append(call)
                try:
                    status, content, more = dialect.answered(call)
                except Exception as error:
                    state.wrong.append(f"{call.method} {call.path}: {error!r}")
                    status, content, more = 500, {"message": repr(error)}, {}
            if status == 0:
                self.close_connection = True
                return
            data = b"" if content is None else json.dumps(content).encode()
            self.send_response_only(status)
            for name, value in {"Date": WHEN, "Content-Type": "application/json; charset=utf-8", **more}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
    assert state.wrong == []


def api_of(host: str, state: StandIn) -> str:
    return f"{state.url}{DIALECTS[host].prefix}"
