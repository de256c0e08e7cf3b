"""`gitplacer comment`: a plan as a comment on a pull request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitplacer.cli.completing import files, folders
from gitplacer.cli.hosting import comment_id, host
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitplacer.hosts.host import Pull


@click.command("comment", cls=Taught)
@host("The repository with the pull request.")
@click.option("--pull", "number", metavar="N", type=click.IntRange(1), help="The number of the pull or merge request.")
@click.option(
    "--head-sha", metavar="SHA", help="The commit that the plan is of: its pull request is found, or checked."
)
@click.option("--head-repo", metavar="OWNER/NAME", help="The repository that the commit is in; a fork, perhaps.")
@click.option(
    "--pages",
    "folder",
    required=True,
    metavar="DIR",
    shell_complete=folders,
    type=click.Path(path_type=Path),
    help="The directory with the comment's pages, as `plan` writes them: plan-1.md and so on.",
)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    shell_complete=files,
    type=click.Path(path_type=Path),
    help="The same plan as JSON, to be remembered in the comment for `gitplacer tell`.",
)
@comment_id
def command(
    host_name: str | None, repo: str | None, number: int | None, head_sha: str | None, head_repo: str | None,
    folder: Path, plan_file: Path | None, comment_id: str,
) -> None:  # fmt: skip
    """
    Put a plan on a pull request as a comment, and keep it up to date there.

    The comment of an earlier run is edited in place; only comments of the token's own user are ever touched. The token comes from
    GITPLACER_HOST_TOKEN, else GITHUB_TOKEN or GITLAB_TOKEN; the API's address from GITPLACER_HOST_URL, else as the CI job says.
    """
    from gitplacer.cli.hosting import reached
    from gitplacer.cli.progress import note
    from gitplacer.hosts.comments import upsert
    from gitplacer.hosts.finding import checked_sha, with_head
    from gitplacer.hosts.pagefiles import read_pages
    from gitplacer.settings import UsageError

    if number is None and (head_sha is None or head_repo is None):
        raise UsageError("nobody said which pull request it is", "give --pull, or --head-sha with --head-repo")
    sha = checked_sha(head_sha) if head_sha is not None else None
    pages = read_pages(folder)
    with reached(host_name, repo) as there:
        if number is None:
            assert sha is not None and head_repo is not None
            pull = with_head(there, sha, head_repo)
        else:
            pull = there.pull(number)
            if _is_late(pull, sha, head_repo):
                note(f"the head of #{number} is {pull.head_sha[:12]} by now, so this plan is not shown there")
                return
        if plan_file is not None:
            pages = _remembering(pages, plan_file, there.longest_body)
        done = upsert(there, pull.number, pages, comment_id)
    words = (("made", done.made), ("edited", done.edited), ("unchanged", done.kept), ("deleted", done.deleted))
    told = ", ".join(f"{count} {word}" for word, count in words if count)
    click.echo(f"Commented  #{pull.number}: {told}  {done.url}")


def _is_late(pull: Pull, sha: str | None, head_repo: str | None) -> bool:
    is_other = head_repo is not None and (pull.head_repo or "").casefold() != head_repo.casefold()
    return is_other or (sha is not None and pull.head_sha != sha)


def _remembering(pages: Sequence[str], plan_file: Path, longest: int) -> list[str]:
    """The pages, one of which hides what the plan promises. A plan that is too large for all of them is not remembered."""
    from gitplacer.cli.progress import note
    from gitplacer.formats.outcome import remembered
    from gitplacer.passes.telling import read_plan
    from gitplacer.review.outcomes import promise_of

    line = remembered(promise_of(read_plan(plan_file)))
    for index, page in enumerate(pages):
        if len(page) + len(line) + 200 <= longest:
            return [*pages[:index], f"{page.rstrip()}\n\n{line}\n", *pages[index + 1 :]]
    note("the plan is too large to be remembered in the comment; give it to `gitplacer tell` with --plan")
    return list(pages)
