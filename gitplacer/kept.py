"""
What the deployment repo remembers for the next pass: a record of each group, the states of clusters that may sleep, and removals.

Each is a file of ours that nothing syncs. One that cannot be read is not taken for one that is not there, or a group would be placed a
second time.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gitplacer.kinds.clusterstate import CLUSTER_STATES, ClusterState
from gitplacer.kinds.record import RECORDS, PlacementRecord
from gitplacer.kinds.removals import GUARDS, REMOVALS, Removal, Removals
from gitplacer.problems import Problem
from gitplacer.singles import Kind, single_objects
from gitplacer.source.files import Memo, read_documents
from gitplacer.tree import Tree

REMOVALS_FILE = f"{GUARDS}/{REMOVALS}.yaml"
"""Where the deployment repo remembers removals."""


_RESTORE = "it is in the deployment repo: restore it from the history there"
"""Nobody mends by hand what gitplacer writes, and it is not in the repo in which whoever reads this is at work."""


def read_records(tree: Tree, memo: Memo, problems: list[Problem]) -> tuple[dict[str, PlacementRecord], frozenset[str]]:
    """The records of a deployment tree, and the ids of those that cannot be read. What is wrong is added to `problems`."""
    misnamed = "RecordName", "the record of {} is in a file called {}"
    return _read_named(PlacementRecord, tree, RECORDS, lambda record: record.id, misnamed, memo, problems)


def read_states(tree: Tree, memo: Memo, problems: list[Problem]) -> tuple[dict[str, ClusterState], frozenset[str]]:
    """The states of clusters in the deployment repo, and the clusters whose state cannot be read."""
    misnamed = "StateName", "the state of cluster {} is in a file called {}"
    return _read_named(ClusterState, tree, CLUSTER_STATES, lambda state: state.name, misnamed, memo, problems)


def read_removals(tree: Tree, memo: Memo, problems: list[Problem]) -> tuple[Removal, ...] | None:
    """What the deployment repo remembers of removals, None where that cannot be read."""
    if REMOVALS_FILE not in tree:
        return ()
    reading = read_documents(tree, [REMOVALS_FILE], memo)
    told = list(reading.problems)
    found = [item[1].removed for _, item in single_objects(Removals, reading, "", told) if item is not None]
    problems.extend(replace(problem, hint=_RESTORE) for problem in told)
    return found[0] if found else None


def _read_named(
    kind: type[Kind],
    tree: Tree,
    directory: str,
    name_of: Callable[[Kind], str],
    misnamed: tuple[str, str],
    memo: Memo,
    problems: list[Problem],
) -> tuple[dict[str, Kind], frozenset[str]]:
    """
    What we keep in a directory of the deployment repo, sorted by the names of its files, and the names of those that cannot be
    read. `misnamed` is the code and message about an object in a file that is called otherwise.
    """
    folder, below = directory + "/", tree.under(directory)
    reading = read_documents(below, [path for path in below if path.endswith(".yaml")], memo, folder=folder)
    told = list(reading.problems)
    broken = {path.removesuffix(".yaml") for path in reading.broken}
    found: dict[str, Kind] = {}
    for path, item in single_objects(kind, reading, folder, told):
        name = path.removesuffix(".yaml")
        if item is None:
            broken.add(name)
            continue
        document, parsed = item
        if name_of(parsed) == name:
            found[name] = parsed
        else:
            broken.add(name)
            code, message = misnamed
            told.append(document.problem(code, message.format(name_of(parsed), name), path=("metadata",)))
    problems.extend(replace(problem, hint=_RESTORE) for problem in told)
    return dict(sorted(found.items())), frozenset(broken)
