"""
Clusters that may sleep as files: the state of each, which is not synced, and the manifests that its owner acts on.

The manifests are in the platform unit of the cluster that owns it. With them the cluster itself would go, so what is there for a cluster
that nobody keeps any more stays, and is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.kinds.clusterstate import CLUSTER_STATES, RenderedManifests
from gitplacer.layout.draft import Draft
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.problems import Location, Problem, Severity
from gitplacer.render import state_file
from gitplacer.sleepers import Sleepers
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM
from gitplacer.tree import Content


def keep_cluster(draft: Draft, sleepers: Sleepers, outcome: ClusterOutcome) -> None:
    """Write the state of a cluster that may sleep, and its manifests as that state wants them."""
    name, state = outcome.cluster, outcome.after
    known = outcome.before.manifests if outcome.before is not None else None
    wanted = sleepers.files(name, asleep=state.state == "Standby")
    place = f"{CLUSTER_STATES}/{name}.yaml"
    rows = [] if wanted is None else [draft.units.path(wanted[0], PLATFORM, file) for file in wanted[1]]
    if draft.tells_of_clash([place, *rows]):
        return
    rendered = known if wanted is None else _put_manifests(draft, wanted[0], wanted[1], known)
    state = state.model_copy(update={"manifests": rendered})
    if state != outcome.before:
        draft.write(place, state_file(state))


def _put_manifests(
    draft: Draft, into: str, files: Mapping[str, Content], known: RenderedManifests | None
) -> RenderedManifests:
    """Make the manifests of a cluster in the directory of another what they should be."""
    same = known is not None and known.into == into
    before = draft.pending
    for file in known.files if known is not None and same else ():
        if file not in files:
            draft.remove(draft.units.path(into, PLATFORM, file))
    for file, content in files.items():
        draft.put(draft.units.path(into, PLATFORM, file), content)
    changed = not same or draft.pending != before
    epoch = draft.epoch_of_commit(into, PLATFORM) if changed or known is None else known.epoch
    return RenderedManifests(into=into, epoch=epoch, files=tuple(sorted(files)))


def leave_clusters(snapshot: Snapshot, draft: Draft) -> None:
    """
    Tell of manifests that stay though nobody wants them: with them their cluster would go, and nobody has said that it may.
    The state of a cluster that has none any more is forgotten.
    """
    for name, state in snapshot.left_states.items():
        sleeps, rendered = snapshot.standby_of(name), state.manifests
        into = sleeps.manifests.render_into if sleeps is not None and sleeps.manifests is not None else None
        paths = [draft.units.path(rendered.into, PLATFORM, file) for file in rendered.files] if rendered else []
        left = [path for path in paths if path in draft.oids]
        if left and rendered is not None and rendered.into != into:
            draft.problems.append(_left_over(name, left[0]))
        elif sleeps is None and not left:
            draft.remove(f"{CLUSTER_STATES}/{name}.yaml")


def _left_over(cluster: str, path: str) -> Problem:
    message = f"it belongs to cluster {cluster}, which is not kept by it any more, and stays"
    hint = "remove it by hand when nothing of the cluster is needed any more"
    return Problem(Location(path), "StandbyLeftOver", message, hint, severity=Severity.WARNING)
