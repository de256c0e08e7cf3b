"""
What `move`, `return`, `suspend` and `resume` have in common: they change the source, as a commit or as a patch.

Before anything is written the fleet is planned with the change. A commit goes to a local repository and is pushed by whoever
wants it; a patch goes to stdout and is applied by `git apply`.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from gitplacer.cli.streams import print_bytes

if TYPE_CHECKING:
    from gitplacer.hydrate import Hydration
    from gitplacer.passes.looking import Looked, Rehearsal
    from gitplacer.passes.opening import Progress
    from gitplacer.settings import Settings
    from gitplacer.snapshot import Snapshot
    from gitplacer.tree import Changes

Command = TypeVar("Command", bound=Callable[..., Any])


def _told(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A text that is committed, for good, without secrets."""
    from gitplacer.redactor import redact

    return redact(value)


_OPTIONS = (
    click.option("--branch", metavar="NAME", help="Commit to this branch of SOURCE instead of the one checked out."),
    click.option("--diff", "as_patch", is_flag=True, help="Print a patch for `git apply` instead of committing."),
    click.option("--reason", metavar="TEXT", default="", callback=_told, help="Why, for whoever reads the history."),
)


def written(command: Command) -> Command:
    """The options that say where a change goes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _lasting(ctx: click.Context, param: click.Parameter, value: str) -> timedelta:
    found = re.fullmatch(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?", value)
    if not value or found is None or not any(found.groups()):
        raise click.BadParameter(f'"{value}" is not a time such as 90m, 24h or 7d', ctx, param)
    days, hours, minutes = (int(part or 0) for part in found.groups())
    if not days + hours + minutes:
        raise click.BadParameter("consent that has ended already allows nothing", ctx, param)
    from gitplacer.kinds.approval import LONGEST

    lasting = timedelta(days=days, hours=hours, minutes=minutes)
    if lasting > LONGEST:
        raise click.BadParameter(f"consent for more than {LONGEST.days} days does not count", ctx, param)
    return lasting


def expiring(command: Command) -> Command:
    """`--expires-in`, for Approvals."""
    return click.option(
        "--expires-in", "lasting", metavar="TIME", default="24h", show_default=True, callback=_lasting,
        help="How long the consent lasts, such as 90m, 24h or 7d; at most 30d.",
    )(command)  # fmt: skip


class Intent:
    """A change of the source that is planned and then written."""

    def __init__(self, where: dict[str, Any], *, branch: str | None, as_patch: bool) -> None:
        from gitplacer.git.committing import SourceBranch
        from gitplacer.settings import UsageError, settings

        chosen = settings(**where)
        self._as_patch = as_patch
        self._branch: SourceBranch | None = None
        if as_patch and branch is not None:
            raise UsageError("--diff prints a patch, which goes to no branch", "leave out --branch or --diff")
        if not as_patch:
            if chosen.rev is not None:
                raise UsageError("--rev is for --diff; a commit follows the tip of its branch", "use --branch")
            self._branch = SourceBranch(chosen.source, branch)
            chosen = replace(chosen, rev=self._branch.base)
        self.settings: Settings = chosen

    @contextlib.contextmanager
    def looking(self, say: Progress) -> Iterator[Looked]:
        """All that a pass on the source depends on, for who plans otherwise than by `rehearse`."""
        from gitplacer.cli.looking import note_unplaced
        from gitplacer.passes.looking import looked_at

        with looked_at(self.settings, work_tree=self._as_patch, progress=say) as looked:
            note_unplaced(self.settings, looked)
            yield looked

    def rehearse(
        self,
        change: Callable[[Hydration], Changes],
        about: Collection[str] = (),
        once_read: Callable[[Snapshot], object] | None = None,
    ) -> Rehearsal:
        """
        Plan without the change and with it; then with every cluster's verdict on the groups that it is `about`. `once_read` may refuse what was read
        before it is planned.
        """
        from gitplacer.cli.progress import progress
        from gitplacer.passes.looking import rehearse

        with progress() as say, self.looking(say) as looked:
            return rehearse(looked, change, about=about, once_read=once_read)

    def write(self, done: Rehearsal, subject: str, body: str, *, told: list[str]) -> None:
        """Print the patch, or commit; tell what it does, and what comes next."""
        from gitplacer.cli.progress import note
        from gitplacer.intents.patch import patch
        from gitplacer.plaintext import printable
        from gitplacer.tree import Changes

        folder = self.settings.folder
        if self._branch is None:
            for line in told:
                note(line)
            print_bytes(patch(done.source, done.changes, folder))
            note("Next: git apply, commit and push it; gitplacer reconcile carries it out")
            return
        prefix = f"{folder}/" if folder else ""
        changes = Changes({f"{prefix}{path}": data for path, data in done.changes.written.items()})
        message = "\n\n".join(part for part in (subject, body) if part)
        commit = self._branch.commit(changes, message, author=self._branch.author(), when=self.settings.now)
        for line in told:
            click.echo(line)
        click.echo(f"Committed  {commit} on branch {printable(self._branch.name)}: {printable(subject)}")
        for path in sorted(changes.written):
            click.echo(f"  {printable(path)}")
        note(f"Next: git push origin {shlex.quote(self._branch.name)}; gitplacer reconcile carries it out")
