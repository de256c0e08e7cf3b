"""
The blast radius of an edit: which groups it touches, also those that stay where they are for now.

An edit of a policy may move a group at once, or only allow that it moves at the next occasion; who reviews it wants to know both. The
edit is taken apart from what else is on its branch: only files count that are neither workloads nor platform, put on top of
the source as it was. Both are planned, on the fleet as it is after the pass that is due.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gitplacer.explain import LONGEST_SENTENCE, why
from gitplacer.grouping import Group
from gitplacer.hydrate import Inputs, hydrate
from gitplacer.model.blasts import Blast, Touched
from gitplacer.model.decision import Action, Decision
from gitplacer.placement.eligibility import may_not_stay
from gitplacer.plaintext import printable
from gitplacer.snapshot import Snapshot
from gitplacer.source.files import is_read, is_read_but_for_case
from gitplacer.source.manifests import unit_of
from gitplacer.tree import Changes, Tree, differing_paths
from gitplacer.whatif.ground import Ground, brought, fates, out_of_service, unguarded


def policy_edit(before: Tree, after: Tree, snapshot: Snapshot) -> Changes:
    """What differs between two sources in files that are read, apart from workloads, platform and snapshots."""
    spec = snapshot.source.own.fleet.spec
    paths = [
        path
        for path in differing_paths(before, after)
        if is_read(path) or is_read_but_for_case(path)
        if unit_of(spec, path) is None and not path.startswith(spec.capacity.path + "/")
    ]
    written = after.read_all(path for path in paths if path in after and after.entries[path].is_text)
    return Changes(written, frozenset(path for path in paths if path not in after))


def blast(ground: Ground, edit: Changes) -> Blast:
    """What an edit of the source touches. Raises Rejected where the fleet could not be planned with it."""
    made = hydrate(_edited(ground.inputs, edit), memo=ground.memo, with_candidates=False)
    old, new = ground.snapshot, made.snapshot
    gone = out_of_service(old, new)
    view, later = unguarded(ground, made.view, gone)
    found = {fate.group: fate for fate in fates(ground, view, gone, later)}
    decisions = {decision.group: decision for decision in view.plan.decisions}
    allowed, allows = _Allowed(old), _Allowed(new)
    touched = []
    for group_id in sorted(old.groups.keys() | new.groups.keys() | found.keys()):
        was, now, fate = old.groups.get(group_id), new.groups.get(group_id), found.get(group_id)
        could, can = allowed.by(was), allows.by(now)
        decision = decisions.get(group_id)
        held = _held(ground.decisions.get(group_id), decision)
        told = fate.why if fate is not None else ""
        if held and decision is not None and not told:
            told = printable(why(decision, view), LONGEST_SENTENCE)
        one = Touched(
            group=group_id,
            policy=_policy(now),
            governed=_policy(was),
            gains=tuple(sorted(can - could)),
            loses=tuple(sorted(could - can)),
            rules=_policy(was) == _policy(now) and _rules(was) != _rules(now),
            fate=fate.fate if fate is not None else None,
            before=fate.before if fate is not None else (),
            after=fate.after if fate is not None else (),
            why=told,
            held=held,
        )
        if (
            one.policy != one.governed
            or one.gains
            or one.loses
            or one.rules
            or one.fate is not None
            or held is not None
        ):
            touched.append(one)
    return Blast(
        touched=tuple(touched),
        total=len(old.groups.keys() | new.groups.keys()),
        places={**_places(old), **_places(new)},
        edited=tuple(sorted({*edit.written, *edit.removed})),
        problems=tuple(brought(ground.problems, made.problems)),
    )


def _held(before: Decision | None, now: Decision | None) -> bool | None:
    """Whether a group comes to be held, or is held no longer; None where that is as it was."""
    was, is_ = (each is not None and each.action is Action.HOLD for each in (before, now))
    return None if was is is_ else is_


def _edited(inputs: Inputs, edit: Changes) -> Inputs:
    return replace(inputs, source=inputs.source.apply(edit), commit=None) if edit else inputs


def _policy(group: Group | None) -> str:
    return group.policy.name if group is not None and group.policy is not None else ""


def _rules(group: Group | None) -> Mapping[str, object]:
    """What the policy of a group says, apart from whom it governs and where that may be."""
    if group is None or group.policy is None:
        return {}
    apart = {"select", "precedence", "clusters", "tolerations"}
    rules: Mapping[str, object] = group.policy.spec.model_dump(exclude=apart)
    return rules


class _Allowed:
    """
    The clusters that groups may be on, whatever their room. All groups of one policy and one tenant share the answer, if they wish for the same
    cluster or for none: each of them would ask all clusters.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._clusters = snapshot.source.own.clusters.values()
        self._found: dict[tuple[str, str | None, str | None], frozenset[str]] = {}

    def by(self, group: Group | None) -> frozenset[str]:
        if group is None or group.policy is None:
            return frozenset()
        key = (group.policy.name, group.tenant.name if group.tenant is not None else None, group.wished_cluster)
        if key not in self._found:
            names = (c.name for c in self._clusters if may_not_stay(group, group.policy, c) is None)
            self._found[key] = frozenset(names)
        return self._found[key]


def _places(snapshot: Snapshot) -> dict[str, str]:
    return {
        key.removeprefix("PlacementPolicy/"): str(place)
        for key, place in snapshot.source.own.places.items()
        if key.startswith("PlacementPolicy/")
    }
