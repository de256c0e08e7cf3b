"""`gitplacer room`: what a fleet has left, and what it lacks."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import files, groups
from gitplacer.cli.options import choice, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitplacer.accounts import Accounts
    from gitplacer.explain import PlanView
    from gitplacer.hydrate import Hydration
    from gitplacer.passes.looking import Looked
    from gitplacer.passes.opening import Progress
    from gitplacer.room import Tried


@click.command("room", cls=Taught)
@choice(["text", "json"], "For people, or for programs.")
@click.option(
    "--like",
    metavar="GROUP",
    shell_complete=groups,
    help="Try gangs like this group, with more or fewer of its largest pods.",
)
@click.option(
    "--gang", "shapes", metavar="TEXT", multiple=True,
    help='Try gangs of such pods, like "nvidia.com/gpu=1,cpu=4,memory=16Gi". May be given several times.',
)  # fmt: skip
@click.option("--tolerate", metavar="KEY", multiple=True, help="Taints that the pods of --gang tolerate.")
@click.option(
    "--catalogue", metavar="FILE", shell_complete=files, type=click.Path(exists=True, dir_okay=False),
    help="Machines that can be bought, as `nodeTypes` of a Cluster. Default: those that autoscalers know.",
)  # fmt: skip
@fleet()
def command(
    output: str,
    like: str | None,
    shapes: tuple[str, ...],
    tolerate: tuple[str, ...],
    catalogue: str | None,
    **where: Any,
) -> None:
    """
    Show stranded devices, the largest gang that still fits, and the cheapest machines for what waits.

    All of it is counted after the plan: with everything in place that is placed now. SOURCE is a directory or an address; a local
    work tree is read as it lies.
    """

    from msgspec.structs import replace

    from gitplacer.accounts import Accounts, freshness
    from gitplacer.cli.files import read_file
    from gitplacer.formats.room import room_json, room_text
    from gitplacer.model.room import ClusterRoom, Largest, Room
    from gitplacer.room import as_asked, largest, let_in, read_catalogue, shop, stranded

    offered = read_catalogue(catalogue, read_file(catalogue)) if catalogue else None
    with _looking(where, like) as (looked, hydration, say):
        view, accounts = hydration.view, Accounts(hydration.view, looked.ledgers)
        say("counting what is left")
        tried = _tried(view, accounts, like, shapes, tolerate)
        pods = [set_ for one in tried for set_ in (*one.others, one.pods)] if like or shapes else _pods(view)
        profiles, alike = view.snapshot.profiles, list({set_.shape: set_ for set_ in pods}.values())
        books, clusters = accounts.after, []
        for name in accounts.names:
            if view.clusters[name].spec.role == "Workload":
                asking = [let_in(set_, profiles[name]).shape for set_ in alike]
                one = ClusterRoom(
                    cluster=name,
                    stranded=stranded(books[name], asking) if name in books else (),
                    largest=(Largest(now=0),) * len(tried),
                    state=accounts.state(name),
                    snapshot=str(freshness(view, view.clusters[name])),
                    queues=accounts.queues(name),
                )
                if one.takes_new and name in books:
                    one = replace(one, largest=tuple(largest(books[name], each.on(profiles[name])) for each in tried))
                clusters.append(one)
        say("looking for the cheapest machines")
        shopping = shop(looked.inputs, hydration, looked.memo, catalogue=offered, accounts=accounts)
    room = Room(asked=tuple(map(as_asked, tried)), clusters=tuple(clusters), shopping=shopping)
    click.echo(room_json(room, view) if output == "json" else room_text(room, view), nl=False)


@contextlib.contextmanager
def _looking(where: Mapping[str, Any], like: str | None) -> Iterator[tuple[Looked, Hydration, Progress]]:
    """Plan, if there is a group that gangs are to be like."""
    from gitplacer.cli.looking import looking
    from gitplacer.explain import NoSuchGroup
    from gitplacer.model.verdicts import OF_UNSPREAD
    from gitplacer.settings import UsageError

    try:
        with looking(where, OF_UNSPREAD, about=like) as found:
            yield found
    except NoSuchGroup as error:
        raise UsageError(f"--like: {error}", error.hint) from None


def _pods(view: PlanView) -> list[Any]:
    """All pods of the fleet's groups."""
    return [pods for decision in view.plan.decisions for pods in view.gang(decision)]


def _tried(
    view: PlanView, accounts: Accounts, like: str | None, shapes: tuple[str, ...], tolerate: tuple[str, ...]
) -> list[Tried]:
    """The gangs that were asked for, or such as are in use."""
    from gitplacer.room import NotAGang, in_use, like_group, written
    from gitplacer.settings import UsageError

    known = {name for cluster in accounts.after.names for name in accounts.after[cluster].columns.names}
    try:
        asked = [like_group(view, like)] if like else []
    except NotAGang as error:
        raise UsageError(f"--like: {error}", error.hint) from None
    try:
        asked += [written(text, known, tolerate) for text in shapes]
    except NotAGang as error:
        raise UsageError(f"--gang: {error}", error.hint) from None
    return asked or in_use(view)
