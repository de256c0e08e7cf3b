"""
What a step supposes, as the passes that have to be made: one, or one for each cluster that is lost in turn.

A selection that selects nobody is refused. A test of every cluster of a class should fail on the day the class is renamed, and not
hold because there is nothing left to lose.
"""

from __future__ import annotations

from msgspec import Struct

from gitplacer.kinds.scenario import Supposition as Supposed
from gitplacer.plaintext import few
from gitplacer.problems import nearest
from gitplacer.scenarios.script import Script
from gitplacer.source.files import Memo
from gitplacer.source.reading import read_source
from gitplacer.tree import Tree
from gitplacer.whatif import DrainCluster, LoseCluster, Supposition


class Case(Struct, frozen=True):
    """One pass: the clusters that are lost and those that are to be emptied."""

    lost: tuple[str, ...]
    drained: tuple[str, ...]

    @property
    def parts(self) -> tuple[Supposition, ...]:
        return (*(LoseCluster(name) for name in self.lost), *(DrainCluster(name) for name in self.drained))

    @property
    def title(self) -> str:
        """What is supposed, in a few words."""
        lost = f"without {few(self.lost, 5)}" if self.lost else ""
        drained = f"draining {few(self.drained, 5)}" if self.drained else ""
        return " and ".join(part for part in (lost, drained) if part)


def cases(script: Script, index: int, source: Tree, memo: Memo) -> tuple[Case, ...]:
    """The passes of a step. Raises Rejected where it supposes something of clusters that there are not."""
    wanted = script.spec.steps[index].suppose
    assert wanted is not None
    path = ("spec", "steps", index, "suppose")
    clusters = read_source(source, memo).own.clusters
    for key, names in (("lose", wanted.lose), ("drain", wanted.drain)):
        for number, name in enumerate(names or ()):
            if name not in clusters:
                raise script.fault((*path, key, number), f"there is no cluster {name}", nearest(name, clusters))
    lost, drained = wanted.lose or (), wanted.drain or ()
    if wanted.lose_each is None:
        return (Case(lost, drained),)
    selected = {name: cluster for name, cluster in sorted(clusters.items()) if cluster.spec.role == "Workload"}
    each = [
        name
        for name, cluster in selected.items()
        if wanted.lose_each.unmet(cluster.labels()) is None and name not in (*lost, *drained)
    ]
    if not each:
        hint = _hint(wanted, sorted(selected))
        raise script.fault((*path, "loseEach"), "selects no cluster that could be lost", hint)
    return tuple(Case((*lost, name), drained) for name in each)


def _hint(wanted: Supposed, clusters: list[str]) -> str:
    assert wanted.lose_each is not None
    named = wanted.lose_each.names or ()
    return nearest(named[0], clusters) if named else f"the fleet has {few(clusters, 10) or 'none'}"
