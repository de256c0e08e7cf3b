"""`gitplacer fit`: would these manifests fit this cluster now? Needs no fleet; a cluster is what `kubectl get` says of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import files
from gitplacer.cli.options import choice
from gitplacer.cli.streams import naming
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from gitplacer.problems import Problem
    from gitplacer.scheduler import Answer, Fit
    from gitplacer.scheduler.dump import Dump, Manifest
    from gitplacer.workloads import Declared

MOST_PODS = 5000
"""A larger gang is refused: its answer would be worth little and take long."""
MOST_BYTES = 1 << 30
"""Of a dump, or of cases, when they are unpacked. 150,000 pods and 5,000 nodes of 6 KB each, the most that Kubernetes is made for, are less."""
_DUMP = "give what `kubectl get nodes,pods,namespaces -A -o json` prints"


@click.command("fit", cls=Taught)
@choice(["text", "json"], "For people or for programs.")
@click.option(
    "--from",
    "dump",
    metavar="DUMP",
    shell_complete=files,
    help="The cluster: what kubectl get nodes,pods,namespaces,… -A -o json printed.",
)
@click.option(
    "--slice-topology",
    metavar="LABEL",
    default="",
    help="The label of nodes whose values are the domains of slices: all hosts of a multi-host replica go to one.",
)
@click.option(
    "--cases",
    metavar="FILE",
    shell_complete=files,
    help="Judge many clusters and gangs of plain pods, one in each line of JSON.",
)
@click.option("--exit-code", "coded", is_flag=True, help="Exit with 2 for TightFit and with 3 for No.")
@click.argument("files", nargs=-1, metavar="FILE...", shell_complete=files)
def command(
    output: str, dump: str | None, slice_topology: str, cases: str | None, coded: bool, files: tuple[str, ...]
) -> int:
    """
    Tell whether all pods that the manifests in FILE become would find a node, on what is free in the cluster of DUMP.

    Fits means that every order of the pods and every scoring that was tried places them all. TightFit means that all of
    them can be placed, and this is how, but that kube-scheduler may leave one out. No means that no placement was found; then it
    says what is short, and on how many nodes; or what keeps pods from being created or looked at at all.

    DUMP may also be lists as the API server has them (NodeList, PodList, …), one behind the other. It may have more than nodes, pods and namespaces, and what it has is looked at: volumes (pvc, pv, storageclass, csinodes, csidrivers, csistoragecapacities, volumeattachments),
    what is done to pods when they are created (limitranges, runtimeclasses, priorityclasses, resourcequotas), and Services. Claims,
    Services and the labels of Namespaces in FILE count as if they were there.

    Pods that there may be later, such as workers of a group at zero, are no part of the answer. If no node there could ever run one,
    that is told.

    FILE and DUMP may be `-` for stdin. With `--cases` each line is an object with nodes, existingPods, namespaces and pods, as
    Kubernetes has them, and an id; the answer to each is a line of JSON.
    """
    if cases is not None:
        if files or dump or slice_topology:
            raise click.UsageError("--cases stands alone: it has clusters and pods of its own")
        return _judge_cases(cases, output, coded)
    if not files:
        raise click.UsageError("give the manifests to place: gitplacer fit FILE... --from DUMP")
    if dump is None:
        raise click.UsageError(
            "give the cluster: --from DUMP, with what `kubectl get nodes,pods,namespaces -A -o json` printed"
        )
    if "-" in files and dump == "-":
        raise click.UsageError("only one of FILE and DUMP can be stdin")
    return _judge_files(files, dump, slice_topology, output, coded)


def _judge_files(names: tuple[str, ...], dump: str, slice_topology: str, output: str, coded: bool) -> int:
    from gitplacer.cli.failures import report
    from gitplacer.cli.progress import show_problems, style
    from gitplacer.cli.size import contents
    from gitplacer.formats.fit import FIT_FORMATS, FitView
    from gitplacer.formats.options import Options
    from gitplacer.problems import Severity
    from gitplacer.scheduler.answer import pod_names
    from gitplacer.scheduler.dump import Manifest, judge_manifests
    from gitplacer.settings import UsageError
    from gitplacer.sizing import sizes

    cluster = _cluster(dump)
    files, unread = contents(names)
    for failure in unread:
        report(failure)
    found = sizes(files, cluster.around)
    problems = [problem for problem in found.problems if problem.code != "NotCounted"]
    not_counted = [problem for problem in found.problems if problem.code == "NotCounted"]
    show_problems(problems)
    if unread or any(problem.severity is Severity.ERROR for problem in found.problems):
        return 1  # part of a gang is no gang
    number = sum(role.count for sized in found.objects for role in sized.facts.roles)
    if number > MOST_PODS:
        raise UsageError(
            f"the manifests become {number} pods; at most {MOST_PODS} are judged together",
            "give some of them at a time",
        )
    sized, beside = ([Manifest(each.document, each.facts) for each in some] for some in (found.objects, found.beside))
    judged = judge_manifests(cluster, sized, beside, slice_topology)
    gang = judged.members
    if not gang.pods:
        show_problems(not_counted)
        raise UsageError("nothing there makes pods", "`gitplacer size` shows what manifests become, and why")
    roles = dict(zip(pod_names(gang.pods), gang.roles, strict=True))
    left_out = (*judged.left_out, *(f"{problem.location}: {problem.message}" for problem in not_counted))
    if not cluster.cluster.pods:
        left_out = (*left_out, f"what runs there already: {dump} has no pods that run, so all nodes count as empty")
    never = list(_never_to_run(cluster, sized, beside, slice_topology, found.declared))
    show_problems(never)
    view = FitView(
        answer=judged.answer, roles=roles, left_out=left_out, notes=judged.notes, problems=(*problems, *never)
    )  # fmt: skip
    click.echo(FIT_FORMATS[output](view, Options(style=style())), nl=False)
    return _code(view.answer.fit) if coded else 0


def _never_to_run(
    cluster: Dump, sized: list[Manifest], beside: list[Manifest], slice_topology: str, declared: Declared
) -> Iterator[Problem]:
    """What is to be said of pods that objects may have later, and that no node there could ever run."""
    from gitplacer.explain import never_to_run_there
    from gitplacer.placement.idle import Idle, in_vain_on
    from gitplacer.scheduler.dump import shape_with_volumes

    for each in sized:
        for role in (role for role in each.facts.roles if role.idles("Desired")):
            shape = shape_with_volumes(cluster, each, role, beside)
            why = in_vain_on(cluster.cluster.nodes, Idle(shape, role.slice_size), slice_topology)
            if why is not None:
                yield from never_to_run_there(each.document, role, why, declared)


def _cluster(dump: str) -> Dump:
    """The cluster of a dump. A dump without nodes is none."""
    from gitplacer.scheduler.dump import WANTED, read_dump
    from gitplacer.settings import UsageError

    try:
        value = list(
            _documents(_bytes(dump, f"ask for nothing that is not looked at: kubectl get {WANTED} -A -o json"))
        )
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{dump} is not JSON: {error}", _DUMP) from None
    found = read_dump(value[0] if len(value) == 1 else value)
    if not found.cluster.nodes:
        raise UsageError(f"{dump} has no nodes", _DUMP)
    return found


def _documents(data: bytes) -> Iterator[Any]:
    """The JSON values that stand behind each other, as when answers of the API server are put into one file. Raises ValueError, also for none."""
    import json

    text = data.decode(json.detect_encoding(data)).lstrip()
    while True:
        value, end = json.JSONDecoder().raw_decode(text)
        yield value
        text = text[end:].lstrip()
        if not text:
            return


def _bytes(name: str, instead: str) -> bytes:
    """A file or stdin, unpacked where it is packed with gzip. Raises UsageError for more than may be, with what to do `instead`."""
    import gzip
    import io
    import sys
    import zlib

    with naming("stdin" if name == "-" else name), contextlib.ExitStack() as open_files:
        source = sys.stdin.buffer if name == "-" else open_files.enter_context(Path(name).open("rb"))
        data = source.read(MOST_BYTES + 1)
        if data.startswith(b"\x1f\x8b"):
            try:
                data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES + 1)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                raise click.ClickException(f"{name} is packed with gzip and broken") from None
    if len(data) > MOST_BYTES:
        from gitplacer.settings import UsageError

        raise UsageError(f"{name} holds more than {MOST_BYTES:,} bytes", instead)
    return data


def _judge_cases(name: str, output: str, coded: bool) -> int:
    """The worst answer counts for the exit code; a line that cannot be read is an error, and the others are judged."""
    from gitplacer.cli.failures import report
    from gitplacer.formats.fit import case_json
    from gitplacer.scheduler import Fit

    worst, failed = Fit.FITS, False
    for line, identity, answer in _cases(_bytes(name, "split it")):
        if answer is None:
            failed = True
            report(click.ClickException(f"{name}:{line}: {identity}"))
            continue
        worst = max(worst, answer.fit, key=_code)
        if output == "json":
            click.echo(case_json(identity, answer), nl=False)
        else:
            from gitplacer.plaintext import printable

            click.echo(f"{printable(str(identity))}  {answer.fit}  {printable(answer.why.message, 2000)}")
    if failed:
        return 1
    return _code(worst) if coded else 0


def _cases(data: bytes) -> Iterator[tuple[int, Any, Answer | None]]:
    """Each case's line, id and answer; None with what is wrong instead of the id."""
    import json

    from gitplacer.scheduler import judge, read_cluster, read_pod
    from gitplacer.scheduler.reading import mappings

    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"not JSON: {error}", None
            continue
        if not isinstance(case, dict) or not isinstance(case.get("pods"), list):
            yield number, "not a case: an object with nodes, existingPods, namespaces and pods", None
            continue
        cluster = read_cluster(case.get("nodes"), case.get("existingPods"), case.get("namespaces"))
        yield number, case.get("id"), judge(cluster, tuple(read_pod(pod) for pod in mappings(case["pods"])))


def _code(fit: Fit) -> int:
    return {"Fits": 0, "TightFit": 2, "No": 3}[fit.value]
