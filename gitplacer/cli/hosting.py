"""
The options of commands that talk to a host.

In a CI job the host and the repository are known from its environment; the token always comes from there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitplacer.cli.options import OneOf

if TYPE_CHECKING:
    from gitplacer.git.credentials import Credentials
    from gitplacer.hosts.host import Host

Command = TypeVar("Command", bound=Callable[..., Any])

_HOSTS = ("github", "gitlab")
_CI = {"github": ("GITHUB_ACTIONS", "GITHUB_REPOSITORY"), "gitlab": ("GITLAB_CI", "CI_PROJECT_PATH")}
"""For each host the variable that its CI sets to `true`, and the one with the repository."""


def host(what: str, *, in_job: bool = True) -> Callable[[Command], Command]:
    """
    `--host` and `--repo`. Their parameters are `host_name` and `repo`. `in_job`: it is the repository that a CI job is about.
    """
    repo_help = f"{what} In a CI job of the host: the job's repository." if in_job else what
    host_help = "Where it is. In a CI job of the host: that one." if in_job else "Where that is."

    def with_options(command: Command) -> Command:
        named = click.option("--repo", metavar="OWNER/NAME", help=repo_help)
        which = click.option("--host", "host_name", type=OneOf(_HOSTS), help=host_help)
        return which(named(command))

    return with_options


def _comment_id(ctx: click.Context, param: click.Parameter, value: str) -> str:
    from gitplacer.formats.markdown import COMMENT_ID
    from gitplacer.plaintext import printable
    from gitplacer.settings import UsageError

    if value and not COMMENT_ID.fullmatch(value):
        raise UsageError(
            f'"{printable(value, 64)}" cannot be the id of a comment',
            "take letters, digits, dots, dashes and underscores, 63 at most, a letter or digit first",
        )
    return value


def comment_id(command: Command) -> Command:
    """`--comment-id`, for several fleets on one pull request."""
    help = "Tells the comments of several fleets on one pull request apart: a part of their hidden marker."
    return click.option("--comment-id", default="", metavar="NAME", callback=_comment_id, help=help)(command)


@contextlib.contextmanager
def reached(
    host_name: str | None, repo: str | None, *, in_job: bool = True, credentials: Credentials | None = None
) -> Iterator[Host]:
    """
    The repository on its host, while the context lasts. `credentials` are those that the environment names, where none are given.
    Raises UsageError.
    """
    from gitplacer.hosts import opened
    from gitplacer.hosts.access import access
    from gitplacer.settings import UsageError, credentials_in

    if host_name is None:
        known = _HOSTS if in_job else ()
        host_name = next((name for name in known if os.environ.get(_CI[name][0]) == "true"), None)
        if host_name is None:
            raise UsageError("nobody said which host it is", "give --host github or --host gitlab")
    if repo is None:
        is_its_ci = in_job and os.environ.get(_CI[host_name][0]) == "true"
        repo = os.environ.get(_CI[host_name][1]) if is_its_ci else None
        if not repo:
            raise UsageError("nobody said which repository it is", "give --repo OWNER/NAME")
    with contextlib.closing(opened(access(host_name, repo, credentials=credentials or credentials_in()))) as found:
        yield found
