"""
GitHub and GitHub Enterprise Server, through PyGithub.

The token may be a person's or an app's, such as the one of a workflow. Who an app is, the REST API does not tell it; GraphQL does.
Whose a comment is goes by the user's number, because names can be changed and given away.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence

import github
import github.PullRequest
import requests
import urllib3

from gitplacer.deadlines import Deadline, in_pygithub
from gitplacer.git.program import one_line
from gitplacer.hosts.access import Access
from gitplacer.hosts.failures import refused, unreached
from gitplacer.hosts.host import Comment, Pull, State, Status, but_for
from gitplacer.hosts.patience import LONGEST_ANSWER, Patience, Wait

_TIMEOUT = 30
_STATES = {"pending": State.PENDING, "success": State.SUCCESS, "failure": State.FAILURE, "error": State.FAILURE}


class GitHub:
    """A repository on GitHub: a Host."""

    name = "github"
    longest_body = 65_536

    def __init__(self, access: Access, wait: Wait) -> None:
        self._access = access
        self.repo = access.repo
        self._deadline = Deadline(LONGEST_ANSWER)
        with in_pygithub(self._deadline):
            self._client = github.Github(
                auth=github.Auth.Token(access.token),
                base_url=access.url,
                timeout=_TIMEOUT,
                per_page=100,
                retry=Patience(wait, self._deadline),
                user_agent="gitplacer",
                lazy=True,
                # The host says when it is asked too often; to pause after each request would make every command slow.
                seconds_between_requests=None,
                seconds_between_writes=None,
            )
        self._repository = self._client.get_repo(access.repo)

    def close(self) -> None:
        self._client.close()

    def pull(self, number: int) -> Pull:
        with self._asking(f"read pull request #{number}"):
            return self._pull(self._repository.get_pull(number))

    def open_pulls(self) -> Iterator[Pull]:
        with self._asking("list the open pull requests"):
            for found in self._repository.get_pulls(state="open", sort="created", direction="desc"):
                yield self._pull(found)

    def pulls_from(self, branch: str, base: str) -> Iterator[Pull]:
        head = f"{self.repo.partition('/')[0]}:{branch}"
        with self._asking(f"list the pull requests of {branch}"):
            for found in self._repository.get_pulls(
                state="all", sort="created", direction="desc", head=head, base=base
            ):
                pull = self._pull(found)
                # A filter that the host does not understand lists all.
                if (pull.head_branch, pull.base_branch, pull.head_repo) == (branch, base, self.repo):
                    yield pull

    def pulls_with(self, commit: str) -> Sequence[Pull]:
        with self._asking(f"list the pull requests with {commit[:12]}"):
            return [self._pull(found) for found in self._repository.get_commit(commit).get_pulls()]

    def open_pull(self, branch: str, base: str, title: str, body: str) -> Pull:
        with self._asking(f"open a pull request from {branch} to {base}", writes=True):
            return self._pull(self._repository.create_pull(base=base, head=branch, title=title, body=body))

    def edit_pull(self, number: int, title: str, body: str) -> Pull:
        with self._asking(f"edit pull request #{number}"):
            found = self._repository.get_pull(number)
            found.edit(title=title, body=body)
            return self._pull(found)

    def close_pull(self, number: int) -> None:
        with self._asking(f"close pull request #{number}"):
            self._repository.get_pull(number).edit(state="closed")

    def comments(self, number: int) -> Sequence[Comment]:
        with self._asking(f"list the comments of #{number}"):
            return [
                Comment(
                    id=found.id,
                    body=found.body or "",
                    is_ours=found.user is not None and found.user.id == self._me,
                    url=found.html_url,
                )
                for found in self._repository.get_pull(number).get_issue_comments()
            ]

    def add_comment(self, number: int, body: str) -> Comment:
        with self._asking(f"comment on #{number}", writes=True):
            made = self._repository.get_pull(number).create_issue_comment(body)
            return Comment(id=made.id, body=body, is_ours=True, url=made.html_url)

    def edit_comment(self, number: int, comment: int, body: str) -> None:
        with self._asking(f"edit a comment of #{number}"):
            self._repository.get_pull(number).get_issue_comment(comment).edit(body)

    def delete_comment(self, number: int, comment: int) -> None:
        with but_for(404), self._asking(f"delete a comment of #{number}"):
            self._repository.get_pull(number).get_issue_comment(comment).delete()

    def status(self, commit: str, context: str) -> Status | None:
        with self._asking(f"read the statuses of {commit[:12]}"):
            for found in self._repository.get_commit(commit).get_statuses():  # the newest first
                if found.context == context:
                    return Status(
                        context=context,
                        state=_STATES.get(found.state, State.FAILURE),
                        description=found.description or "",
                        url=found.target_url or "",
                    )
        return None

    def set_status(self, commit: str, status: Status) -> None:
        fields = {"target_url": status.url} if status.url else {}
        with self._asking(f"set the status {status.context} of {commit[:12]}"):
            self._repository.get_commit(commit).create_status(
                str(status.state), description=status.description, context=status.context, **fields
            )

    @functools.cached_property
    def _me(self) -> int:
        """The number of the user whose token we have."""
        try:
            return int(self._client.get_user().id)  # an answer without one would make all comments somebody else's
        except github.GithubException as error:
            if error.status != 403:
                raise
        _, answer = self._client.requester.graphql_query("query { viewer { databaseId } }", {})
        return int(answer["data"]["viewer"]["databaseId"])

    def _pull(self, found: github.PullRequest.PullRequest) -> Pull:
        return Pull(
            number=found.number,
            url=found.html_url,
            title=found.title,
            body=found.body or "",
            is_open=found.state == "open",
            is_merged=found.merged_at is not None,
            head_sha=found.head.sha,
            head_branch=found.head.ref,
            head_repo=found.head.repo.full_name if found.head.repo is not None else None,
            base_branch=found.base.ref,
            commit=found.merge_commit_sha if found.merged_at is not None else None,
        )

    @contextlib.contextmanager
    def _asking(self, doing: str, *, writes: bool = False) -> Iterator[None]:
        """Raises HostError for whatever goes wrong meanwhile."""
        self._deadline.was_missed = False
        try:
            yield
        except github.RateLimitExceededException as error:
            raise refused(self._access, doing, error.status, _said(error), writes=writes, limited=True) from None
        except github.GithubException as error:
            if not error.status:
                raise unreached(self._access, doing, error, self._deadline, writes=writes) from None
            raise refused(self._access, doing, error.status, _said(error), writes=writes) from None
        except github.BadAttributeException:  # which is no GithubException
            raise unreached(self._access, doing, TypeError(), self._deadline, writes=writes) from None
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            ArithmeticError,
            AssertionError,
            AttributeError,
            RuntimeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise unreached(self._access, doing, error, self._deadline, writes=writes) from None


def _said(error: github.GithubException) -> str:
    """What GitHub says: a message, and what is wrong with which field."""
    data = error.data if isinstance(error.data, dict) else {}
    parts = [str(data.get("message") or error.message or "")]
    errors = data.get("errors")
    for each in errors if isinstance(errors, list) else ():
        parts.append(str(each.get("message") or each.get("code") or "") if isinstance(each, dict) else str(each))
    return one_line("; ".join(part for part in parts if part))
