"""What the deployment repo says of a cluster: the objects that gitplacer put there, and their groups."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gitplacer.git.address import Address
from gitplacer.git.publishing import Deployment
from gitplacer.kept import read_records
from gitplacer.observing.placed import Placed
from gitplacer.problems import Problem, Rejected, Severity
from gitplacer.source.files import NoMemo
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.tree import Tree
from gitplacer.units import epoch_in


def placed_on(cluster: str, address: Address, branch: str, cache_dir: Path) -> Placed:
    """
    The records at the tip of a branch, as `observe` wants them: read them after the time of the snapshot was taken. Raises GitError,
    and Rejected where a record cannot be read: its group's pods would be taken for somebody else's.
    """
    problems: list[Problem] = []
    with Deployment.open(address, branch, cache_dir) as deployment:
        records, broken = read_records(deployment.tree, NoMemo(), problems)
        epochs = _epochs(cluster, deployment.tree)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if broken or errors:
        raise Rejected(errors)
    return replace(Placed.on(cluster, records.values()), epochs=epochs)


def _epochs(cluster: str, tree: Tree) -> dict[str, int]:
    """The epochs in the sentinels of a cluster, whatever the root of the clusters is."""
    found: dict[str, int] = {}
    for unit in (PLATFORM, WORKLOADS):
        inside = f"/{cluster}/{unit}/{SENTINEL}"
        found[unit] = max((epoch_in(tree.read(path)) for path in tree if f"/{path}".endswith(inside)), default=0)
    return found
