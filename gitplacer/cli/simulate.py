"""`gitplacer simulate`: what if something were otherwise, and who would not survive it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import clusters, files, groups
from gitplacer.cli.options import FAILED_ON, OneOf, choice, failing_on, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gitplacer.hydrate import Inputs
    from gitplacer.model.fates import Given, Supposed
    from gitplacer.passes.looking import Looked
    from gitplacer.whatif import Supposition
    from gitplacer.whatif.asking import Asking, Question
    from gitplacer.whatif.losses import Loss

CONCERNS = ("stranded", "held", "part", "waiting", "services")
"""The words of --fail-on: who is stranded, held, keeps a part, is new and waits; services that are stranded."""
_MANY = 1_000
"""Losses that take so long that somebody should hear it before."""


@click.command("simulate", cls=Taught)
@click.option("--lose", metavar="CLUSTER", shell_complete=clusters, multiple=True, help="A cluster is lost.")
@click.option("--drain", metavar="CLUSTER", shell_complete=clusters, multiple=True, help="A cluster is drained.")
@click.option(
    "--cordon", metavar="CLUSTER", shell_complete=clusters, multiple=True, help="A cluster takes nothing new."
)
@click.option(
    "--add", metavar="[PATH=]FILE", shell_complete=files, multiple=True,
    help="Manifests, a Cluster or a CapacitySnapshot more. PATH is where the file would be in the source.",
)  # fmt: skip
@click.option("--remove", metavar="PATH", multiple=True, help="A file of the source goes.")
@click.option(
    "--replicas",
    metavar="GROUP[:WORKER]=N",
    shell_complete=groups,
    multiple=True,
    help="So many replicas, or 2x as many. GROUP is <namespace>/<name>.",
)
@click.option("--price", metavar="CLUSTER/TYPE=PRICE", multiple=True, help="What a node type costs in an hour.")
@click.option(
    "--scenario",
    "scenario_files",
    metavar="FILE",
    shell_complete=files,
    multiple=True,
    help="What the WhatIf documents of a file suppose.",
)
@click.option("--every-cluster", is_flag=True, help="Lose every cluster, one at a time (N−1).")
@click.option("--pairs", is_flag=True, help="Lose every two clusters (N−2).")
@click.option("--among", metavar="LABELS", help="Of --every-cluster and --pairs: only clusters with such labels.")
@click.option(
    "--runner",
    type=OneOf(["processes", "local", "ray"]),
    help="Where many suppositions are worked out: in processes of this machine, which is what is done where nothing is said, in this "
    "process alone, or on a Ray cluster.",
)
@click.option(
    "--processes", metavar="N", type=click.IntRange(1, 512), help="How many processes; as many as there are cores."
)
@click.option(
    "--ray-address",
    metavar="ADDRESS",
    help="The Ray cluster: host:port, ray://host:port, auto for RAY_ADDRESS or the one on this machine, or local to start one. "
    "Means --runner ray.",
)
@click.option("--all", "everything", is_flag=True, help="Of many suppositions, tell all in full.")
@failing_on(CONCERNS, "Exit with 3 if anybody is: {}.")
@choice(["text", "json"], "For a terminal, or for programs.")
@fleet()
def command(
    output: str, everything: bool, fail_on: list[str], every_cluster: bool, pairs: bool, among: str | None,
    runner: str | None, processes: int | None, ray_address: str | None, scenario_files: tuple[str, ...], lose: tuple[str, ...],
    drain: tuple[str, ...], cordon: tuple[str, ...], add: tuple[str, ...], remove: tuple[str, ...],
    replicas: tuple[str, ...], price: tuple[str, ...], **where: Any,
) -> int:  # fmt: skip
    """
    Tell what would happen if something were otherwise, and who would not survive it.

    The fleet is taken as it is after the pass that is due, and what is supposed is planned on top of it; nothing is changed. What
    options suppose holds together. With --every-cluster or --pairs it is the fleet that clusters are lost of. Exits with 0 unless
    --fail-on asks for something else; 1 is an error.
    """
    from gitplacer.cli.looking import FIRST_PASS, note_unplaced
    from gitplacer.cli.progress import note, note_work_tree, progress, style
    from gitplacer.cli.running import runner as chosen_runner
    from gitplacer.formats.options import Options
    from gitplacer.formats.simulation import many_text, one_text, simulation_json
    from gitplacer.passes.looking import looked_at
    from gitplacer.settings import settings

    sweeps = every_cluster or pairs
    ways = {"--runner": runner, "--processes": processes, "--ray-address": ray_address}
    _refuse_what_does_not_go_together(sweeps, bool(scenario_files), among, ways)
    run = chosen_runner(runner, processes, ray_address)
    chosen = settings(**where)
    note_work_tree(chosen)
    with contextlib.ExitStack() as stack:
        with progress() as say:
            looked = stack.enter_context(looked_at(chosen, work_tree=True, progress=say))
            note_unplaced(chosen, looked, FIRST_PASS)
            with _refusing_unsupposable():
                supposed = _given(looked, lose, drain, cordon, add, remove, replicas, price)
                if sweeps:
                    asking, given = _on_top(looked, supposed)
                    questions: Sequence[Question] = _losses(asking, among, every_cluster, pairs)
                else:
                    questions = _cases(looked, supposed, scenario_files)
                    asking, given = _on_top(looked, None)
        with _refusing_unsupposable():
            found = run(asking, questions, "losing clusters" if sweeps else "planning what is supposed")
        inputs = _inputs_told(looked.inputs)
    options = Options(verbose=everything, style=style())
    if output == "json":
        click.echo(simulation_json(found, inputs, given), nl=False)
    elif sweeps or len(found) > 1:
        click.echo(many_text(found, options, given), nl=False)
    else:
        click.echo(one_text(found[0], options), nl=False)
    failed = [word for word in fail_on if any(_has(item, word) for item in found)]
    if failed:
        note(f"failed on: {', '.join(failed)}")
    return FAILED_ON if failed else 0


def _refuse_what_does_not_go_together(
    sweeps: bool, has_scenarios: bool, among: str | None, ways: Mapping[str, object]
) -> None:
    """Raises UsageError. `ways` are the options that say where suppositions are worked out, None where they are not given."""
    from gitplacer.settings import UsageError

    if among is not None and not sweeps:
        raise UsageError("--among is for --every-cluster and --pairs", "add one of them")
    for name, value in ways.items():
        if value is not None and not sweeps and not has_scenarios:
            raise UsageError(f"{name} is for --every-cluster, --pairs and --scenario", "add one of them")
    if sweeps and has_scenarios:
        raise UsageError("--scenario is asked by itself", "leave out --every-cluster and --pairs")


@contextlib.contextmanager
def _refusing_unsupposable() -> Iterator[None]:
    """Raises UsageError for what cannot be supposed."""
    from gitplacer.settings import UsageError
    from gitplacer.whatif import Unsupposable

    try:
        yield
    except Unsupposable as error:
        raise UsageError(str(error), error.hint) from None


def _has(found: Supposed, word: str) -> bool:
    from gitplacer.model.fates import Fate

    if word == "services":
        return found.count(Fate.STRANDED, serves=True) > 0
    fates = {"stranded": Fate.STRANDED, "held": Fate.HELD, "part": Fate.LESS, "waiting": Fate.WAITS}
    return found.count(fates[word]) > 0


def _inputs_told(inputs: Inputs) -> dict[str, Any]:
    return {
        "source": {"commit": inputs.commit.id if inputs.commit else None},
        "capacity": {"tree": inputs.capacity_id},
        "deployment": {"commit": inputs.deployment_commit},
        "now": f"{inputs.now:%Y-%m-%dT%H:%M:%SZ}",
        "version": inputs.version,
    }


def _given(
    looked: Looked, lose: Sequence[str], drain: Sequence[str], cordon: Sequence[str], add: Sequence[str],
    remove: Sequence[str], replicas: Sequence[str], price: Sequence[str],
) -> Supposition | None:  # fmt: skip
    """What the options suppose, all together; None for nothing."""
    from gitplacer.whatif import CordonCluster, DrainCluster, LoseCluster, RemoveFiles, Together

    parts: list[Supposition] = [_added(looked, item) for item in add]
    parts += [RemoveFiles((path,)) for path in remove]
    parts += [_replicas(item) for item in replicas]
    parts += [_price(item) for item in price]
    for names, kind in ((cordon, CordonCluster), (drain, DrainCluster), (lose, LoseCluster)):
        parts += [kind(name) for name in names]
    return Together(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None


def _added(looked: Looked, item: str) -> Supposition:
    from gitplacer.whatif.reading import added

    path, equals, file = item.rpartition("=")
    return added(file, _bytes(file), looked.source.spec, path if equals else None)


def _bytes(file: str) -> bytes:
    from gitplacer.settings import UsageError
    from gitplacer.source.files import MAX_SNAPSHOT

    place = Path(file)
    try:
        if place.stat().st_size > MAX_SNAPSHOT:
            raise UsageError(f"{file} is larger than {MAX_SNAPSHOT:,} bytes", "split it")
        return place.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", "give a file with manifests") from None


def _replicas(item: str) -> Supposition:
    import re

    from gitplacer.settings import UsageError
    from gitplacer.whatif import RaiseReplicas

    found = re.fullmatch(r"([^/:=\s]+/[^/:=\s]+)(?::([^=\s]+))?=(\d{1,6})(?:\.(\d{1,3}))?(x?)", item)
    if found is None or (found[4] and not found[5]):
        hint = "write it like research/train=8, research/train:gpu=8 or research/train=1.5x"
        raise UsageError(f"--replicas {item} is no replica count", hint)
    group, worker, number, rest, factor = found.groups()
    if factor:
        return RaiseReplicas(group=group, worker=worker or "", times=float(f"{number}.{rest or 0}"))
    return RaiseReplicas(group=group, worker=worker or "", to=int(number))


def _price(item: str) -> Supposition:
    import re

    from gitplacer.settings import UsageError
    from gitplacer.whatif import SetPrice

    found = re.fullmatch(r"([^/=\s]+)/([^=\s]+)=(\d{1,8}(?:\.\d{1,6})?)", item)
    if found is None:
        raise UsageError(f"--price {item} is no price", "write it like dynamic-cluster/g4dn.2xlarge=0.5")
    return SetPrice(found[1], found[2], float(found[3]))


def _scenarios(looked: Looked, files: Sequence[str]) -> list[Supposition]:
    from gitplacer.whatif.reading import scenarios

    return [found for file in files for found in scenarios(file, _bytes(file), looked.source.spec)]


def _cases(looked: Looked, given: Supposition | None, files: Sequence[str]) -> list[Supposition]:
    """What the options suppose together, and then each WhatIf by itself."""
    from gitplacer.settings import UsageError

    cases = [*([given] if given is not None else []), *_scenarios(looked, files)]
    if not cases:
        hint = "give --lose, --drain, --cordon, --add, --remove, --replicas, --price, --scenario, --every-cluster or --pairs"
        raise UsageError("nothing is supposed", hint)
    return cases


def _on_top(looked: Looked, supposed: Supposition | None) -> tuple[Asking, Given | None]:
    """Who is asked about the fleet as it is, or as the options suppose it; and then what that is."""
    from gitplacer.hydrate import hydrate
    from gitplacer.model.fates import Given
    from gitplacer.source.files import InMemory
    from gitplacer.whatif.asking import Asking
    from gitplacer.whatif.ground import Ground, brought

    memo = InMemory(looked.memo)
    inputs = looked.inputs.in_memory()  # processes cannot share the pipe to git, nor the cache
    if supposed is None:
        asking, given = Asking(Ground.of(inputs, memo)), None
    else:
        before = hydrate(inputs, memo=memo, with_candidates=False)
        asking = Asking(Ground.of(supposed.applied(inputs, before.snapshot), memo))
        given = Given(title=supposed.title, problems=tuple(brought(before.problems, asking.ground.due.problems)))
    memo.alone()
    return asking, given


def _clusters_wanted(among: str | None) -> Callable[[Mapping[str, str]], bool]:
    """Which clusters a selector takes, by their labels."""
    from gitplacer.cli.switching import label_selector

    selector = label_selector(among, "--among")
    return lambda labels: selector.unmet(labels) is None


def _losses(asking: Asking, among: str | None, singles: bool, pairs: bool) -> list[Loss]:
    """The losses in question."""
    from itertools import combinations

    from gitplacer.cli.progress import note
    from gitplacer.settings import UsageError

    wanted = _clusters_wanted(among)
    names = [
        name
        for name, cluster in sorted(asking.ground.snapshot.source.own.clusters.items())
        if cluster.spec.role == "Workload" and cluster.spec.state != "Lost" and wanted(cluster.labels())
    ]
    if not names:
        if among is None:
            raise UsageError(
                "there is no cluster to lose", "a Cluster counts that is of role Workload and not lost already"
            )
        from gitplacer.cli.switching import label_selector
        from gitplacer.kinds.nearlabels import near_label

        labels = (cluster.labels() for cluster in asking.ground.snapshot.source.own.clusters.values())
        near = near_label(label_selector(among, "--among").requirements(), labels)
        hint = f"--among takes labels of Clusters{f': {near}' if near else ', such as cluster.class=production'}"
        raise UsageError("no cluster is selected", hint)
    if len(names) == 1 and not singles:
        raise UsageError(f"there is no pair to lose: only {names[0]} is there", "--every-cluster loses one at a time")
    found = [*((name,) for name in names if singles), *(combinations(names, 2) if pairs else ())]
    if len(found) > _MANY:
        note(
            f"{len(found):,} losses are to be planned, each in a part of a second to some seconds; --among with labels asks for fewer"
        )
    return found
