"""
GitLab, on gitlab.com or a server of one's own, through python-gitlab.

A merge request's own number in its project, the one in its address, is what we call its number. No redirect is followed: the
token stands in a header that would go along to wherever a redirect leads.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import gitlab
import requests
import urllib3

from gitplacer.deadlines import Deadline, adapter
from gitplacer.hosts.access import Access
from gitplacer.hosts.failures import refused, unreached
from gitplacer.hosts.host import Comment, HostError, Pull, State, Status, but_for
from gitplacer.hosts.patience import LONGEST_ANSWER, Patience, Wait

_TIMEOUT = 30.0
_TO_GITLAB = {State.PENDING: "pending", State.SUCCESS: "success", State.FAILURE: "failed"}
_FROM_GITLAB = {
    "created": State.PENDING,
    "pending": State.PENDING,
    "running": State.PENDING,
    "success": State.SUCCESS,
}


class _Client(gitlab.Gitlab):
    """Leaves asking again to the rule that the session has."""

    def http_request(self, *args: Any, **kwargs: Any) -> requests.Response:
        return super().http_request(*args, **{"obey_rate_limit": False, "retry_transient_errors": False, **kwargs})


class GitLab:
    """A project on GitLab: a Host."""

    name = "gitlab"
    longest_body = 1_000_000

    def __init__(self, access: Access, wait: Wait) -> None:
        self._access = access
        self.repo = access.repo
        self._deadline = Deadline(LONGEST_ANSWER)
        session = self._session = requests.Session()
        session.max_redirects = 0
        for scheme in ("https://", "http://"):
            session.mount(scheme, adapter(self._deadline, max_retries=Patience(wait, self._deadline)))
        self._client = _Client(
            access.url.removesuffix("/api/v4"),
            private_token=access.token,
            session=session,
            timeout=_TIMEOUT,
            per_page=100,
            user_agent="gitplacer",
            keep_base_url=True,
        )
        self._project = self._client.projects.get(access.repo, lazy=True)

    def close(self) -> None:
        self._session.close()

    def pull(self, number: int) -> Pull:
        with self._asking(f"read merge request !{number}"):
            return self._pull(self._project.mergerequests.get(number))

    def open_pulls(self) -> Iterator[Pull]:
        yield from self._listed("list the open merge requests", state="opened")

    def pulls_from(self, branch: str, base: str) -> Iterator[Pull]:
        doing = f"list the merge requests of {branch}"
        for pull in self._listed(doing, state="all", source_branch=branch, target_branch=base):
            if (pull.head_branch, pull.base_branch, pull.head_repo) == (branch, base, self.repo):
                yield pull

    def _listed(self, doing: str, **which: str) -> Iterator[Pull]:
        with self._asking(doing):
            for found in self._project.mergerequests.list(
                iterator=True, order_by="created_at", sort="desc", scope="all", **which
            ):
                yield self._pull(found)

    def pulls_with(self, commit: str) -> Sequence[Pull]:
        with self._asking(f"list the merge requests with {commit[:12]}"):
            path = f"/projects/{self._project.encoded_id}/repository/commits/{commit}/merge_requests"
            listed = self._client.http_list(path, iterator=True)
            return [self.pull(int(each["iid"])) for each in listed]

    def open_pull(self, branch: str, base: str, title: str, body: str) -> Pull:
        with self._asking(f"open a merge request from {branch} to {base}", writes=True):
            made = self._project.mergerequests.create(
                {"source_branch": branch, "target_branch": base, "title": title, "description": body}
            )
            return self._pull(made)

    def edit_pull(self, number: int, title: str, body: str) -> Pull:
        with self._asking(f"edit merge request !{number}"):
            self._project.mergerequests.update(number, {"title": title, "description": body})
        return self.pull(number)

    def close_pull(self, number: int) -> None:
        with self._asking(f"close merge request !{number}"):
            self._project.mergerequests.update(number, {"state_event": "close"})

    def comments(self, number: int) -> Sequence[Comment]:
        with self._asking(f"list the notes of !{number}"):
            notes = self._notes(number).list(iterator=True, order_by="created_at", sort="asc")
            return [
                Comment(
                    id=note.id,
                    body=note.body,
                    is_ours=note.author["id"] == self._me,
                    url=self._note_url(number, note.id),
                )
                for note in notes
                if not note.system
            ]

    def add_comment(self, number: int, body: str) -> Comment:
        with self._asking(f"comment on !{number}", writes=True):
            made = self._notes(number).create({"body": body})
            return Comment(id=made.id, body=body, is_ours=True, url=self._note_url(number, made.id))

    def edit_comment(self, number: int, comment: int, body: str) -> None:
        with self._asking(f"edit a note of !{number}"):
            self._notes(number).update(comment, {"body": body})

    def delete_comment(self, number: int, comment: int) -> None:
        with but_for(404), self._asking(f"delete a note of !{number}"):
            self._notes(number).delete(comment)

    def status(self, commit: str, context: str) -> Status | None:
        with self._asking(f"read the statuses of {commit[:12]}"):
            # Without `all` these are the newest of each name.
            found = self._project.commits.get(commit, lazy=True).statuses.list(name=context, iterator=True)
            for each in found:
                return Status(
                    context=context,
                    state=_FROM_GITLAB.get(each.status, State.FAILURE),
                    description=each.description or "",
                    url=each.target_url or "",
                )
        return None

    def set_status(self, commit: str, status: Status) -> None:
        fields = {"state": _TO_GITLAB[status.state], "name": status.context, "description": status.description}
        if status.url and len(status.url) <= 255:
            fields["target_url"] = status.url
        try:
            with self._asking(f"set the status {status.context} of {commit[:12]}"):
                self._project.commits.get(commit, lazy=True).statuses.create(fields)
        except HostError as error:
            # A status that is pending cannot be made pending again; it stands as it was.
            if error.status != 400 or "Cannot transition status" not in error.message:
                raise

    @property
    def _web(self) -> str:
        return f"{self._access.url.removesuffix('/api/v4')}/{self.repo}"

    @functools.cached_property
    def _me(self) -> int:
        """The number of the user whose token we have."""
        return int(self._client.http_get("/user")["id"])  # type: ignore[index]

    def _notes(self, number: int) -> Any:
        return self._project.mergerequests.get(number, lazy=True).notes

    def _note_url(self, number: int, note: int) -> str:
        return f"{self._web}/-/merge_requests/{number}#note_{note}"

    def _pull(self, found: Any) -> Pull:
        is_own = found.source_project_id == found.target_project_id
        return Pull(
            number=found.iid,
            url=found.web_url,
            title=found.title,
            body=found.description or "",
            is_open=found.state == "opened",
            is_merged=found.state == "merged",
            head_sha=found.sha,
            head_branch=found.source_branch,
            head_repo=self.repo if is_own else self._name_of(found.source_project_id),
            base_branch=found.target_branch,
            commit=found.merge_commit_sha or found.squash_commit_sha,
        )

    def _name_of(self, project: int | None) -> str | None:
        """The path of a project; None if it is gone, or not for us to see."""
        if project is None:
            return None
        if project not in self._names:
            name: str | None = None
            with but_for(403, 404), self._asking("look up a fork"):
                name = self._client.projects.get(project).path_with_namespace
            self._names[project] = name
        return self._names[project]

    @functools.cached_property
    def _names(self) -> dict[int, str | None]:
        return {}

    @contextlib.contextmanager
    def _asking(self, doing: str, *, writes: bool = False) -> Iterator[None]:
        """Raises HostError for whatever goes wrong meanwhile."""
        self._deadline.was_missed = False
        try:
            yield
        except gitlab.GitlabError as error:
            if not error.response_code:
                raise unreached(self._access, doing, error, self._deadline, writes=writes) from None
            said = error.error_message
            said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
            raise refused(self._access, doing, error.response_code, said, writes=writes) from None
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise unreached(self._access, doing, error, self._deadline, writes=writes) from None
