"""`gitplacer plan`: what a pass would change and why, without changing it."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from gitplacer.cli.completing import files, folders, revisions
from gitplacer.cli.hosting import comment_id
from gitplacer.cli.options import FAILED_ON, choice, failing_on, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitplacer.formats.options import Options
    from gitplacer.hydrate import Hydration
    from gitplacer.model.decision import Decision
    from gitplacer.model.remedy import Remedy
    from gitplacer.passes.looking import Against, Looked
    from gitplacer.passes.opening import Progress
    from gitplacer.review import Base, Review

WOULD_CHANGE = 2

CONCERNS = ("waiting", "relocated", "removed", "stale", "problems")
"""The words of --fail-on; what they mean is in `_concerns`."""

LINK_BASE_VARIABLE = "GITPLACER_LINK_BASE"

_PAGE = re.compile(r"plan-[1-9][0-9]*\.md")
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`\\|?#\x00-\x1f\x7f]+")


def _address(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    if value and not _ADDRESS.fullmatch(value):
        hint = "give the address of a directory, such as https://github.com/acme/fleet/blob/main"
        raise click.BadParameter(f'"{value}" is no address to link to; {hint}', ctx, param)
    return value or ""


@click.command("plan", cls=Taught)
@choice(["text", "markdown", "json"], "For a terminal, for a pull request, or for programs.")
@click.option(
    "--base",
    metavar="REV",
    shell_complete=revisions,
    help="Tell what happens because of the change since this branch, tag or commit apart from what would happen anyway.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Show also what stays, all clusters, and every file that changes."
)
@click.option(
    "--diff", "diffs", is_flag=True, help="Show in text also what changes in the files. Markdown has it anyway."
)
@click.option(
    "--pages",
    metavar="DIR",
    shell_complete=folders,
    type=click.Path(path_type=Path, file_okay=False),
    help="With --format markdown: write the comment to plan-1.md, plan-2.md … in DIR, and print their names.",
)
@comment_id
@click.option(
    "--link-base",
    metavar="URL",
    envvar=LINK_BASE_VARIABLE,
    callback=_address,
    help=f"Link to lines of the source below this address, that of the repository's files at a commit. Also {LINK_BASE_VARIABLE}.",
)
@click.option(
    "--redact",
    is_flag=True,
    help="With --base, for a public pull request: no nodes, amounts, prices, or groups that the change does not decide.",
)
@click.option(
    "--exit-code", is_flag=True, help="Exit with 2 if something would change; with --base, because of the change."
)
@failing_on(CONCERNS, "Exit with 3 if the plan has any of: {}. With --base only what the change brings counts.")
@click.option(
    "--out", metavar="FILE", shell_complete=files, help="Save the plan as JSON, for `gitplacer reconcile --plan FILE`."
)
@click.option(
    "--trials", metavar="N", type=click.IntRange(0, 100_000), default=None,
    help="How many plans may be made to find what would place a group that waits, for 3 groups at most; 0 makes none. Default: 10, fewer for a large fleet.",
)  # fmt: skip
@click.option(
    "--trust-base",
    metavar="REV",
    shell_complete=revisions,
    help="Take the Fleet and the capacity from this revision: where repos are, what may move.",
)
@fleet()
def command(
    output: str, base: str | None, everything: bool, diffs: bool, pages: Path | None, comment_id: str, link_base: str,
    redact: bool, exit_code: bool, fail_on: list[str], out: str | None, trials: int | None, **where: Any,
) -> int:  # fmt: skip
    """
    Show what would change and why, without changing it.

    SOURCE is a directory or an address. A local work tree is read as it lies. Without --deployment, nothing is placed
    yet. Exits with 0 unless --exit-code or --fail-on ask for something else; 1 is an error.
    """
    from gitplacer.cli.looking import opened
    from gitplacer.cli.progress import note, style
    from gitplacer.formats.options import Options
    from gitplacer.formats.planjson import plan_document
    from gitplacer.remedies import few_remedies
    from gitplacer.review import Review
    from gitplacer.settings import settings

    if out is not None:
        from gitplacer.cli.planfile import refuse_place, save_plan
    _refuse_what_does_not_go_together(output, base, pages, redact)
    if out is not None:
        refuse_place(out, where["source"] if where["rev"] is None else None, where["path"])
    with contextlib.ExitStack() as stack:
        stack.enter_context(_told_to_strangers(redact))
        looked, say = stack.enter_context(opened(where))
        against = stack.enter_context(_base(where, looked, base, say)) if base is not None else None
        hydration, planned_base = _planned(looked, against, output, out, whole=everything)
        held_against = _told(planned_base) if planned_base is not None else None

        sought: dict[str, Remedy | None] = {}

        def seek(groups: Sequence[str]) -> Mapping[str, Remedy]:
            return few_remedies(
                looked.inputs, hydration, groups, looked.memo, trials,
                accounts=whole.accounts, ledgers=looked.ledgers, known=sought,
            )  # fmt: skip

        whole = Review(hydration.view, held_against, seek=seek, ledgers=looked.ledgers)
        review = Review(hydration.view, held_against, redact=True) if redact else whole
        options = Options(
            verbose=everything, style=style(), diffs=diffs, link_base=_below(link_base, settings(**where).folder), comment_id=comment_id,
            paged=pages is not None,
        )  # fmt: skip
        shown = list(_written(review, output, options, pages))
        document = plan_document(hydration.view, whole, link_base=options.link_base) if out is not None else None
        concerns = _concerns()
        found = [word for word in fail_on if concerns[word](hydration, review)]
        changes = bool(hydration.steps) if held_against is None else not review.brings_nothing
    for part in shown:
        click.echo(part, nl=False)
    if out is not None and document is not None:
        save_plan(out, document, changes=bool(hydration.steps))
    if found:
        note(f"failed on: {', '.join(found)}{' because of the change' if base is not None else ''}")
        return FAILED_ON
    return WOULD_CHANGE if exit_code and changes else 0


def _planned(
    looked: Looked, against: Against | None, output: str, out: str | None, *, whole: bool
) -> tuple[Hydration, Base | None]:
    """The plan, with every cluster's verdict on the groups of which it is printed or saved, and what it is held against. `whole`: what stays is told too."""
    from gitplacer.hydrate import hydrate
    from gitplacer.model.verdicts import EVERY, OF_ALL_WAITING, OF_MANY, OF_WAITING
    from gitplacer.passes.looking import hydrated_against

    told_to_people = output != "json" and out is None
    if told_to_people and against is not None:
        return hydrated_against(looked, against, whole=whole)
    few, all_ = (OF_WAITING, OF_ALL_WAITING) if told_to_people else (OF_MANY, EVERY)
    asked = all_ if whole else few
    made = hydrate(looked.inputs, memo=looked.memo, ledgers=looked.ledgers, with_candidates=asked)
    return made, against.base if against is not None else None


def _below(link_base: str, folder: str) -> str:
    """The address of the fleet's directory: that of the repository is given, as hosts name it."""
    return f"{link_base.rstrip('/')}/{quote(folder)}" if link_base and folder else link_base


@contextlib.contextmanager
def _told_to_strangers(redact: bool) -> Iterator[None]:
    """Redacted, what stops the run is told as any problem is then: what it is and where. Of warnings nobody knows whose they are."""
    from gitplacer.problems import Rejected, Severity
    from gitplacer.review import redacted_problem

    try:
        yield
    except Rejected as rejected:
        if not redact:
            raise
        raise Rejected(redacted_problem(p) for p in rejected.problems if p.severity is Severity.ERROR) from None


@contextlib.contextmanager
def _base(where: Mapping[str, Any], looked: Looked, rev: str, say: Progress) -> Iterator[Against]:
    """What the plan is held against. Its files can be read while the context lasts."""
    from gitplacer.passes.looking import base_of
    from gitplacer.settings import settings

    say(f"planning {rev}")
    with base_of(settings(**where), looked, rev) as found:
        yield found


def _told(base: Base) -> Base:
    """A base; of one that cannot be planned it is said."""
    from gitplacer.cli.progress import note

    if base.plan is None:
        note(
            f"there is no plan of {base.name}, because it has no readable fleet; everything counts as part of the change"
        )
    return base


def _refuse_what_does_not_go_together(output: str, base: str | None, pages: Path | None, redact: bool) -> None:
    from gitplacer.settings import UsageError

    if pages is not None and output != "markdown":
        raise UsageError(f"--pages is for --format markdown, not {output}", "add --format markdown")
    if redact and base is None:
        hint = "add --base with the branch that the change is to be merged into"
        raise UsageError("--redact needs --base: without it nobody knows which groups the change decides", hint)


def _written(review: Review, output: str, options: Options, pages: Path | None) -> Iterable[str]:
    """What goes to stdout."""
    from gitplacer.cli.files import write_text
    from gitplacer.formats import FORMATS
    from gitplacer.formats.markdown import plan_pages
    from gitplacer.formats.planjson import json_lines

    if pages is not None:
        pages.mkdir(parents=True, exist_ok=True)
        texts = plan_pages(review, options)
        for stale in pages.iterdir():
            if _PAGE.fullmatch(stale.name):
                stale.unlink()  # a page of an earlier, longer comment is none of this one
        for number, text in enumerate(texts, 1):
            path = pages / f"plan-{number}.md"
            write_text(path, text)
            yield f"{path}\n"
    elif output == "json" and options.verbose:
        yield from json_lines(review.view, review, link_base=options.link_base)
    else:
        yield FORMATS[output](review.view, options, review)


def _concerns() -> Mapping[str, Callable[[Hydration, Review], bool]]:
    from gitplacer.comparison import stale_clusters
    from gitplacer.model.decision import Action
    from gitplacer.problems import Severity

    def ours(hydration: Hydration, review: Review) -> Iterable[Decision]:
        if review.base is None:
            return hydration.view.plan.decisions
        return (row.decision for row in review.ours)

    def is_in_plan(*actions: Action) -> Callable[[Hydration, Review], bool]:
        return lambda hydration, review: any(d.action in actions for d in ours(hydration, review))

    def has_stale(hydration: Hydration, review: Review) -> bool:
        stale = stale_clusters(hydration.view)
        if review.base is not None and review.base.plan is not None:
            stale -= review.base.plan.stale
        return bool(stale)

    def has_removed(hydration: Hydration, review: Review) -> bool:
        return is_in_plan(Action.REMOVE)(hydration, review) or bool(review.withdrawn)

    return {
        # also a group of which some copies are placed and others wait
        "waiting": lambda hydration, review: any(
            d.waiting_since is not None or d.action is Action.WAIT for d in ours(hydration, review)
        ),
        "relocated": is_in_plan(Action.RELOCATE),
        "removed": has_removed,
        "stale": has_stale,
        "problems": lambda hydration, review: any(p.severity is Severity.ERROR for p in review.problems),
    }
