"""`gitplacer snapshot`: what a live cluster has, as a CapacitySnapshot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import clusters, contexts, files, folders
from gitplacer.cli.options import OneOf
from gitplacer.cli.sending import sending
from gitplacer.cli.streams import print_bytes
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from datetime import datetime

    from gitplacer.capacity.access import Access
    from gitplacer.kinds.capacity import CapacitySnapshot
    from gitplacer.model.podrules import PodTerm
    from gitplacer.settings import Settings


@click.command("snapshot", cls=Taught)
@click.option(
    "--context",
    metavar="NAME",
    shell_complete=contexts,
    help="The context of the kubeconfig; by default the current one.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    shell_complete=files,
    help="The kubeconfig; by default those of KUBECONFIG, else ~/.kube/config.",
)
@click.option("--in-cluster", is_flag=True, help="Read the cluster of the pod that this runs in.")
@click.option(
    "--cluster",
    metavar="NAME",
    shell_complete=clusters,
    help="What the fleet calls the cluster; by default the context's name.",
)
@click.option(
    "--deployment",
    metavar="REPO",
    shell_complete=folders,
    help="The deployment repo, whose records tell which pods are gitplacer's. Also GITPLACER_DEPLOYMENT.",
)
@click.option(
    "--branch", metavar="BRANCH", default="main", show_default=True, help="The branch of the deployment repo."
)
@click.option(
    "--system-namespace",
    metavar="NAME",
    default="gitplacer",
    show_default=True,
    help="The Fleet's systemNamespace, which has the ConfigMaps that tell how far the cluster has synced.",
)
@click.option(
    "--list-pods",
    "selectors",
    metavar="SELECTOR",
    multiple=True,
    help="List pods of others with these labels, because rules of new pods ask for them: app=cache,tier!=test.",
)
@click.option(
    "--from",
    "given",
    metavar="FILE",
    shell_complete=files,
    help="Take a snapshot that was written already, instead of a look.",
)
@click.option(
    "--hub",
    type=OneOf(["karmada", "ocm", "clusterprofile"]),
    help="Read what this hub knows of its clusters, instead of a cluster.",
)
@click.option(
    "--from-dump",
    "dump",
    metavar="FILE",
    shell_complete=files,
    help="With --hub: what `kubectl get CLUSTERS -A -o json` prints there; - is stdin.",
)
@click.option("--insecure", is_flag=True, help="Go on where the kubeconfig says not to check the server's certificate.")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    shell_complete=files,
    default="-",
    help="Where to write it; - is stdout (default).",
)
@sending
def command(
    context: str | None,
    kubeconfig: str | None,
    in_cluster: bool,
    cluster: str | None,
    deployment: str | None,
    branch: str,
    system_namespace: str,
    selectors: tuple[str, ...],
    given: str | None,
    hub: str | None,
    dump: str | None,
    insecure: bool,
    target: str,
    **options: Any,
) -> int:
    """
    Read a live cluster, and write what it has and what runs there as a CapacitySnapshot.

    It only reads. Which pods are gitplacer's is told by the records of the deployment repo; a cluster where gitplacer has put nothing
    yet needs none. What the credentials may not read is left out and told on stderr, with the rule that is missing; without
    nodes, pods and namespaces there is no snapshot. An existing FILE is replaced, whole or not at all.

    With --hub it reads what a hub knows of its clusters, one snapshot for each, and -o is a directory. They are coarse: no gang is
    promised more than a tight fit on them.

    With --push it is committed to a branch of a repo instead, where it says something new, and else when a heartbeat is due. With
    --every it goes on until it is told to stop.
    """
    from gitplacer.cli.files import writable, write_whole
    from gitplacer.cli.hubs import write_all
    from gitplacer.cli.progress import note
    from gitplacer.cli.sending import refuse_without_push, send, written
    from gitplacer.settings import settings

    _refuse_what_does_not_go_together(
        of_cluster=bool(context or kubeconfig or in_cluster),
        named=cluster is not None,
        deployment=deployment is not None,
        given=given is not None,
        hub=hub is not None,
        dump=dump is not None,
    )
    asked = tuple(_term(selector) for selector in selectors)

    def look(now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
        if given is not None:
            return [written(given, cluster)]
        if hub is not None:
            access = None if dump is not None else _reached(context, kubeconfig, in_cluster, "hub", insecure)[0]
            return _of_hub(hub, dump, access, now)
        access, name = _reached(context, kubeconfig, in_cluster, cluster, insecure)
        chosen = settings(".", deployment=deployment, credentials=options["credentials"])
        return [_of_cluster(access, name, chosen, branch, system_namespace, asked, now)]

    if options["push"] is not None:
        if target != "-":
            raise click.UsageError("--push commits the snapshot, and -o writes it: give one of them")
        return send(look, options)
    refuse_without_push(options)
    if hub is not None:
        return write_all(look(settings(".", now=options["now"]).now), target)
    file = None if target == "-" else writable(Path(target), "my-cluster.yaml")
    ((found, data),) = look(settings(".", now=options["now"]).now)
    if file is None:
        print_bytes(data)
        return 0
    write_whole(file, data)
    note(f"wrote {target}: {_counted(found)}")
    return 0


def _refuse_what_does_not_go_together(
    *, of_cluster: bool, named: bool, deployment: bool, given: bool, hub: bool, dump: bool
) -> None:
    """Raises UsageError. `of_cluster`: an option says which cluster to read; `named`: --cluster is given; the others are those options."""
    from gitplacer.settings import UsageError

    if dump and not hub:
        raise UsageError(
            "--from-dump is for --hub: say which hub it is of",
            "of a dump of a cluster no snapshot is made; --context reads the cluster, and `gitplacer fit --from` judges manifests on the dump",
        )
    if hub and (given or named or deployment):
        raise click.UsageError(
            "--hub reads all clusters that a hub knows: leave out --from, --cluster and --deployment"
        )
    if given and of_cluster:
        raise click.UsageError(
            "--from takes a file, and no cluster: leave out --context, --kubeconfig and --in-cluster"
        )


def _of_hub(hub: str, dump: str | None, access: Access | None, now: datetime) -> list[tuple[CapacitySnapshot, bytes]]:
    """What a hub knows of each of its clusters, as snapshots and as their files."""
    from gitplacer.cli.hubs import told_by_hub
    from gitplacer.cli.progress import note
    from gitplacer.observing.writing import snapshot_file

    return [(found, snapshot_file(found)) for found in told_by_hub(hub, dump, access, now, note)]


def _of_cluster(
    access: Access,
    name: str,
    chosen: Settings,
    branch: str,
    system_namespace: str,
    asked: tuple[PodTerm, ...],
    now: datetime,
) -> tuple[CapacitySnapshot, bytes]:
    """What a live cluster has, as a snapshot and as its file. The records in the `branch` tell which pods are gitplacer's."""
    from gitplacer.capacity.live import observe
    from gitplacer.capacity.records import placed_on
    from gitplacer.cli.progress import note, progress
    from gitplacer.observing.writing import snapshot_file

    with progress() as say:
        placed = None
        if chosen.deployment is not None:
            say(f"reading the deployment repo {chosen.deployment.redacted}")
            placed = placed_on(name, chosen.deployment, branch, chosen.cache_dir)
        say(f"reading {name}")
        found = observe(
            access, cluster=name, system_namespace=system_namespace, now=now, say=note, placed=placed, asked=asked
        )
    return found, snapshot_file(found)


def _reached(
    context: str | None, kubeconfig: str | None, in_cluster: bool, cluster: str | None, insecure: bool
) -> tuple[Access, str]:
    """The API server, and what the fleet calls its cluster."""
    import os

    from gitplacer.capacity import kubeconfig as files

    if in_cluster:
        if context or kubeconfig or insecure:
            raise click.UsageError("--in-cluster needs no --context, --kubeconfig or --insecure")
        if not cluster:
            raise click.UsageError("a pod does not know what the fleet calls its cluster: give --cluster")
        return files.access_in_cluster(), files.cluster_name(cluster)
    found = files.kubeconfig(kubeconfig, os.environ)
    name = found.context(context)
    called = files.cluster_name(cluster or name, given=cluster is not None)
    return files.access_to(found, name, insecure=insecure), called


def _term(selector: str) -> PodTerm:
    from gitplacer.observing.listing import selector_term

    try:
        return selector_term(selector)
    except ValueError as error:
        raise click.UsageError(f"--list-pods {selector}: {error}") from None


def _counted(snapshot: CapacitySnapshot) -> str:
    nodes = sum(node.count for node in snapshot.nodes)
    return f"nodes {nodes}, on {len(snapshot.nodes)} lines; groups of gitplacer's {len(snapshot.groups)}"
