"""
A plan beside all who stay says what that of the whole says also in crowded fleets: there gangs wait that were tried in vain, and what one was refused is known to
those who come behind it.

The fleets are those of the benchmark, small and with a third of the room for each app.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from msgspec.structs import replace

from benchmarks.fleets import Size, files
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart import beside as beside_module
from gitplacer.inpart.part import Part
from gitplacer.model.decision import Action
from gitplacer.model.verdicts import NONE
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.stage import Tight
from tests.stories import Story
from tests.test_beside import both, holds
from tests.test_inpart import AtRest, settled

CAPACITY = "capacity/"


def crowded(seed: int, *, since: timedelta = timedelta(0)) -> AtRest:
    """A fleet at rest, in which about every tenth app waits, since so long."""
    story = Story(now=datetime(2026, 1, 2, 3, 5, tzinfo=UTC))
    for path, text in files(Size(120, 6, 450), seed=seed, blueprints=40).items():
        folder = story.capacity if path.startswith(CAPACITY) else story.source
        folder[path.removeprefix(CAPACITY)] = text
    rest = settled(story)
    if since:
        story.now += since
        rest = settled(story)
    assert rest is not None
    return rest


def changed(rest: AtRest, kind: str, lot: Random) -> dict[str, str]:
    """An edit of its source."""
    source, name = rest.story.source, lot.choice(sorted(rest.base.states))
    apps = sorted(path for path in source if path.startswith("workloads/"))
    path = lot.choice(apps)
    match kind:
        case "another image":
            return {path: source[path].replace("py311", "py312")}
        case "more pods":
            return {path: re.sub(r"(eplicas: )(\d+)", lambda found: f"{found[1]}{int(found[2]) + 1}", source[path])}
        case "new apps":
            copied = {app: app.rpartition("/")[2].removesuffix(".yaml") for app in lot.sample(apps, lot.choice([1, 3]))}
            return {
                app.replace(old, f"new-{old}"): source[app].replace(old, f"new-{old}") for app, old in copied.items()
            }
        case "lost beside new apps":
            return {**changed(rest, "new apps", lot), **changed(rest, "Lost", lot)}
    return {(file := f"clusters/{name}.yaml"): f"{source[file]}  state: {kind}\n"}


OUT_OF_SERVICE = ["Lost", "Draining", "Cordoned"]
KINDS = [*OUT_OF_SERVICE, "more pods", "another image", "new apps", "new apps", "lost beside new apps"]


def after(made: Hydration) -> dict[str, tuple[str, ...]]:
    """Where every group is then."""
    return {decision.group: decision.after for decision in made.view.plan.decisions}


def places_later(rest: AtRest, beside: Hydration, whole: Hydration) -> set[str]:
    """
    Those who waited and whom only the whole plan places. Where more pods are to come fewer orders are tried, so that maybe none leaves out whom one left out before; who is not asked
    again is placed by the pass behind, on the same cluster.
    """
    ours, theirs = after(beside), after(whole)
    late = {group for group, where in theirs.items() if where and not ours[group]}
    assert late <= {decision.group for decision in rest.base.decisions if decision.action is Action.WAIT}
    assert {group for group in theirs if ours[group] != theirs[group]} == late
    if late:
        behind = replace(rest.before, source=whole.snapshot.source.tree, deployment=beside.tree)
        assert after(hydrate(behind, memo=rest.story.memory, with_candidates=NONE)) == theirs
    return late


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_plan_beside_all_who_stay_tells_what_the_whole_does_in_a_crowd(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, tight = Counter[str](), Ledger.tight

    def tried(*args: object, **more: object) -> Tight | None:
        found = tight(*args, **more)  # type: ignore[arg-type]
        counts["refused"] += found is not None
        return found

    rest, lot = crowded(seed), Random(seed)
    assert sum(not where for where in after(rest.made).values()) >= 4
    monkeypatch.setattr(Ledger, "tight", tried)
    for kind in KINDS:
        edits, read = changed(rest, kind, lot), lot.random() < 0.4
        beside, whole = both(rest, edits, read=read)
        if beside is None:
            continue
        counts["beside"] += 1
        if kind in OUT_OF_SERVICE and not read and places_later(rest, beside, whole):
            counts["later"] += 1
        else:
            holds(rest, beside, whole, read=read)
    assert counts["beside"] >= len(KINDS) - 1, counts
    assert counts["refused"] >= 20, counts
    assert counts["later"] <= 1, counts


def test_where_room_is_kept_for_who_has_waited_long_a_loss_is_told_as_by_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rest, asked, stand = crowded(1, since=timedelta(hours=2)), Counter[str](), beside_module._claims_stand

    def seen(made: Hydration, part: Part) -> bool:
        asked["stands"] += (found := stand(made, part))
        return found

    assert sum(decision.claim is not None for decision in rest.base.decisions) >= 4
    monkeypatch.setattr(beside_module, "_claims_stand", seen)
    for name in sorted(rest.base.states):
        file = f"clusters/{name}.yaml"
        beside, whole = both(rest, {file: f"{rest.story.source[file]}  state: Lost\n"})
        assert beside is not None
        holds(rest, beside, whole)
    assert asked["stands"] >= 3, asked


def test_who_was_left_out_by_an_order_and_may_be_placed_beside_more_pods_is_placed_by_the_next_pass() -> None:
    rest = crowded(37)
    lost = {(file := "clusters/cluster-0005.yaml"): f"{rest.story.source[file]}  state: Lost\n"}
    beside, whole = both(rest, lost)
    assert beside is not None
    assert places_later(rest, beside, whole) == {"team-01-dev/app-000109"}
    shown, whole = both(rest, lost, read=True)  # whoever reads a plan is told at once
    assert shown is not None
    assert holds(rest, shown, whole, read=True)
