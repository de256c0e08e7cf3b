"""
Whose turn it is: tables for the order, a law for fairness, and stories in which nobody starves.

The judge of fairness is a second, slow way to say it: whoever is next has the smallest share of all who could be.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.grouping import holder
from gitplacer.placement.order import PATIENCE, Shares, Waiting, turns
from tests.stories import ANYWHERE, START, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

GPU = "nvidia.com/gpu"
NOW = START


def waiting(text: str) -> Waiting:
    """`alpha/one`, `alpha/one priority 2`, `alpha/one since 10m`, in any mix."""
    group, *more = text.split()
    fields = dict(zip(more[::2], more[1::2], strict=True))
    since = NOW - timedelta(minutes=int(fields.get("since", "0m").removesuffix("m")))
    return Waiting(group=group, holder=holder(group), priority=int(fields.get("priority", 0)), since=since)


def served(lines: list[str], gets: Mapping[str, Mapping[str, int]], held: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Who is served, one after another; each gets what `gets` says of it, one cpu if it says nothing."""
    shares = Shares({"cpu": 100, GPU: 10})
    for who, amounts in held.items():
        shares.take(who, amounts)
    order = []
    for one in turns([waiting(line) for line in lines], NOW, lambda: shares):
        order.append(one.group)
        shares.take(one.holder, gets.get(one.group, {"cpu": 1}))
    return order


@pytest.mark.parametrize(
    ("lines", "held", "order"),
    [
        pytest.param(["b/x", "a/x priority 1", "c/x priority 2"], {}, "c/x a/x b/x", id="priority is first"),
        pytest.param(["a/y", "a/x", "a/z since 5m"], {}, "a/z a/x a/y", id="of one holder the longest waiting, then the name"),
        pytest.param(["a/x", "b/x"], {"a": {"cpu": 1}}, "b/x a/x", id="who has nothing is before who has something"),
        pytest.param(["a/x", "b/x"], {"a": {"cpu": 60}, "b": {GPU: 7}}, "a/x b/x", id="the largest share counts"),
        pytest.param(["a/x", "b/x"], {"a": {"cpu": 60}, "b": {GPU: 1, "cpu": 59}}, "b/x a/x", id="whatever it is of"),
        pytest.param(["a/x", "b/x"], {"a": {"tpu": 60}}, "a/x b/x", id="of what nobody offers nobody has a share"),
        pytest.param(["a/1", "a/2", "a/3", "b/1", "b/2"], {}, "a/1 b/1 a/2 b/2 a/3", id="equals take turns"),
        pytest.param(["a/1", "a/2", "b/1", "b/2"], {"a": {"cpu": 2}}, "b/1 b/2 a/1 a/2", id="until they are equal"),
        pytest.param(["b/x since 3m", "a/x"], {}, "b/x a/x", id="equal shares: the longest waiting"),
        pytest.param(
            ["a/x since 60m", "b/x since 59m"], {"a": {"cpu": 99}}, "a/x b/x", id="who has waited an hour is first"
        ),
        pytest.param(
            ["a/1 since 300m", "a/2 since 200m", "b/1 since 61m", "b/2 since 60m"], {"b": {"cpu": 99}}, "a/1 b/1 a/2 b/2",
            id="and so is the first of another, whatever else waits for longer",
        ),
        pytest.param(
            ["a/1 since 3000m", "a/2 since 2000m", "b/1 since 61m"], {}, "a/1 a/2 b/1", id="but for who waited days longer"
        ),
        pytest.param(
            ["a/x since 90m", "b/x priority 1"], {}, "b/x a/x", id="but not before a higher priority"
        ),
    ],
)  # fmt: skip
def test_who_is_next(lines: list[str], held: dict[str, dict[str, int]], order: str) -> None:
    assert served(lines, {}, held) == order.split()


def test_a_large_turn_makes_its_holder_wait_for_several_small_ones() -> None:
    lines = ["a/big", "a/next", "b/1", "b/2", "b/3", "b/4"]
    gets = {"a/big": {"cpu": 3}}
    assert served(lines, gets, {}) == ["a/big", "b/1", "b/2", "b/3", "a/next", "b/4"]


def test_shares_are_not_asked_for_where_nobody_competes() -> None:
    def nobody() -> Shares:
        raise AssertionError

    lines = ["a/x", "a/y", "b/x priority 1", "c/z since 99m", "d/z since 98m"]
    assert [one.group for one in turns(map(waiting, lines), NOW, nobody)] == ["b/x", "c/z", "d/z", "a/x", "a/y"]


LINES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.sampled_from([0, 5, 30, 70]), st.integers(0, 1)),
    max_size=12, unique_by=lambda one: one[:2],
)  # fmt: skip
GETS = st.fixed_dictionaries({"cpu": st.integers(0, 9), GPU: st.integers(0, 2)})


@given(lines=LINES, gets=st.lists(GETS, min_size=12, max_size=12), held=st.dictionaries(st.sampled_from("abc"), GETS))
def test_nobody_is_served_before_one_of_its_equals_who_has_a_smaller_share(
    lines: list[tuple[str, int, int, int]], gets: list[dict[str, int]], held: dict[str, dict[str, int]]
) -> None:
    texts = [f"{who}/{number:02} since {since}m priority {priority}" for who, number, since, priority in lines]
    by_group = {waiting(text).group: waiting(text) for text in texts}
    amounts = dict(zip(by_group, gets, strict=False))
    order = served(texts, amounts, held)
    assert sorted(order) == sorted(by_group)
    has = {who: {name: held.get(who, {}).get(name, 0) for name in ("cpu", GPU)} for who in "abc"}

    def before(one: Waiting) -> int:
        """How many of the same holder, that have waited long too, are before one."""
        same = [o for o in by_group.values() if (o.holder, o.priority) == (one.holder, one.priority)]
        return sum((o.since, o.group) < (one.since, one.group) for o in same)

    def place(one: Waiting) -> tuple[object, ...]:
        mine = has[one.group[0]]
        share = max(Fraction(mine["cpu"], 100), Fraction(mine[GPU], 10))
        aged = NOW - one.since >= PATIENCE
        by_age = one.since + timedelta(days=before(one)) if aged else NOW
        return -one.priority, not aged, by_age, 0 if aged else share, one.since, one.group

    left = dict(by_group)
    for group in order:
        assert place(left[group]) == min(map(place, left.values()))
        del left[group]
        for name, amount in amounts[group].items():
            has[group[0]][name] += amount


# stories


def test_namespaces_that_compete_take_turns_and_who_runs_much_is_last() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, rayservice("rich", "first", workers=2), capacity=snapshot("a", "n1 64 256Gi 4")
    )
    story.run()
    for name in ("a-one", "a-two"):
        story.source |= rayservice("rich", name, workers=1)
    story.source |= rayservice("zoo", "late", workers=1)
    assert outcome(story.run()) == {
        "rich/a-one": "Place a Fits", "rich/a-two": "Wait  NoClusterFits", "rich/first": "Keep a Kept", "zoo/late": "Place a Fits",
    }  # fmt: skip
    assert story.plan().steps == ()


ROOM = "n1 64 256Gi 4"


def job(name: str, gpus: int, cpu: str = "1") -> dict[str, str]:
    """A job that gives its room back when it ends. Its head and submitter ask for little."""
    made = rayjob("jobs", name, workers=gpus, cpu=cpu)
    return {
        path: text.replace("  entrypoint", "  shutdownAfterJobFinishes: true\n  entrypoint")
        for path, text in made.items()
    }


def reported(story: Story, phases: Mapping[str, str], *room: str) -> None:
    """Cluster a reports the phase of each group, having applied everything."""
    text = story.deployment.read("clusters/a/workloads/gitplacer.yaml").decode()
    epoch = text.partition('epoch: "')[2].partition('"')[0]
    groups = "".join(f"- {{name: {name}, phase: {phase}}}\n" for name, phase in phases.items())
    story.capacity |= snapshot(
        "a",
        *(room or (ROOM,)),
        at=story.now,
        more=f"applied: {{workloads: {epoch}}}\n" + (f"groups:\n{groups}" if groups else ""),
    )


def a_stream_of_small_jobs(hours: int, *, arrive_first: bool) -> int:
    """
    Four GPUs, and every half hour two new jobs of one GPU, which run for an hour; in the middle a gang that needs all
    four. In which half hour it is placed, or 0.
    """
    story = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", ROOM))
    started: dict[str, int] = {}
    big = "jobs/big" if not arrive_first else "jobs/zz-big"
    for tick in range(1, 2 * hours):
        for name, since in list(started.items()):
            if tick - since >= 4:
                del story.source[f"workloads/{name}.yaml"]
                del started[name]
        for number in (0, 1):
            story.source |= job(f"small-{tick:03}-{number}", 1)
        if tick == 4:
            story.source |= job(big.removeprefix("jobs/"), 4)
        at = story.now
        done = story.run()
        story.now = at
        assert story.plan().steps == ()
        placed = {name for name, d in decisions(done).items() if d.after}
        if big in placed:
            return tick
        started |= dict.fromkeys(placed - started.keys(), tick)
        story.now = START + timedelta(minutes=30 * tick)
        reported(story, {name: "Succeeded" if tick - since >= 2 else "Running" for name, since in started.items()})
    return 0


@pytest.mark.parametrize("arrive_first", [False, True])
def test_a_big_gang_is_not_overtaken_for_ever_by_small_ones(arrive_first: bool) -> None:
    tick = a_stream_of_small_jobs(12, arrive_first=arrive_first)
    # An hour of patience, and another in which those end that run.
    assert 0 < tick <= 4 + 5


def aged(*, services: int = 0, jobs: int = 2, room: str = ROOM) -> Story:
    """Cluster a with services and jobs of one GPU each, and a gang of three GPUs that has waited for an hour."""
    story = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", room))
    for number in range(services):
        story.source |= rayservice("jobs", f"service-{number}", workers=1)
    for number in range(jobs):
        story.source |= job(f"job-{number}", 1)
    story.run()
    story.source |= job("big", 3)
    story.run()
    story.now += timedelta(hours=1)
    reported(story, {f"jobs/job-{number}": "Running" for number in range(jobs)}, room)
    return story


def test_room_is_kept_for_who_has_waited_long_where_that_can_ever_help() -> None:
    story = aged()
    story.source |= job("late", 1)
    done = story.run()
    told = decisions(done)
    assert outcome(done)["jobs/big"] == "Wait  RoomReserved"
    assert told["jobs/big"].finding.subject == "a"
    assert outcome(done)["jobs/late"] == "Place a Fits"  # three of four GPUs are kept, two of them are in use still
    story.source |= job("later", 1)
    done = story.run()
    (there,) = decisions(done)["jobs/later"].candidates
    assert (outcome(done)["jobs/later"], there.finding.code, there.finding.subject) == (
        "Wait  NoClusterFits", "ReservedFor", "jobs/big",
    )  # fmt: skip
    assert story.plan().steps == ()
    reported(story, {"jobs/job-0": "Succeeded", "jobs/job-1": "Succeeded"})
    assert outcome(story.run())["jobs/big"] == "Place a Fits"


def test_room_beside_what_is_kept_that_only_luck_would_leave_is_told_as_kept() -> None:
    room = ("n1 8 64Gi 2", "n2 8 64Gi 2", "n3 6 64Gi 1")
    story = Story.of(cluster("a"), ANYWHERE, job("first", 1), capacity=snapshot("a", *room))
    story.run()
    story.source |= job("big", 4, cpu="3")
    story.run()
    story.now += timedelta(hours=1)
    reported(story, {"jobs/first": "Running"}, *room)
    story.source |= job("late", 1)
    told = decisions(story.run())
    (there,) = told["jobs/late"].candidates
    assert told["jobs/big"].finding.code == "RoomReserved" and not told["jobs/late"].after
    assert (there.verdict, there.finding.code, there.finding.subject) == ("Rejected", "ReservedFor", "jobs/big")
    assert told["jobs/late"].finding == there.finding and story.plan().steps == ()


def test_no_room_is_kept_where_what_runs_does_not_end() -> None:
    story = aged(services=2, jobs=0)
    story.source |= job("late", 1)
    done = story.run()
    assert outcome(done)["jobs/big"] == "Wait  NoClusterFits"
    assert outcome(done)["jobs/late"] == "Place a Fits"


def test_a_higher_priority_is_not_kept_out() -> None:
    story = aged()
    story.source |= policy("urgent", "select: {namespaces: [urgent]}\nprecedence: 1\npriority: 9")
    story.source |= rayservice("urgent", "fix", workers=2)
    assert outcome(story.run())["urgent/fix"] == "Place a Fits"
