"""A drain is told before it begins: the passes, who cannot leave, and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitplacer.formats.drain import drain_lines, drain_markdown, verdict
from gitplacer.formats.markdown import LIMIT
from gitplacer.model.drains import Drain, DrainPass, DrainStep, Return, Stuck
from gitplacer.source.files import InMemory
from gitplacer.whatif import Unsupposable
from gitplacer.whatif.draining import drain
from gitplacer.whatif.following import MOST, follow
from gitplacer.whatif.ground import Ground
from tests.commands import run
from tests.fleetrepos import Fleet, made
from tests.gitservers import git
from tests.planviews import assert_golden
from tests.stories import FLEET, Story, cluster, policy, rayjob, rayservice, snapshot

SURGE = policy("anywhere", "select: {}\nrelocation: {strategy: Surge}")
REMOVE_FIRST = policy("anywhere", "select: {}\nrelocation: {strategy: RemoveFirst}")
RECREATE = policy("anywhere", "select: {}\nrelocation: {strategy: Recreate}")


def two(*files: dict[str, str], gpus: int = 4) -> Story:
    story = Story.of(
        cluster("a"), cluster("b"), *files,
        capacity={**snapshot("a", "n1 64 256Gi 4"), **snapshot("b", f"n1 64 256Gi {gpus}")},
    )  # fmt: skip
    story.run()
    return story


def drained(story: Story, name: str = "a") -> Drain:
    return drain(Ground.of(story.inputs(), InMemory()), name)


@pytest.mark.parametrize(
    ("rules", "passes"),
    [
        (RECREATE, [["a → b"]]),
        (SURGE, [["a → a,b"], ["a,b → b"]]),
        (REMOVE_FIRST, [["a → "], [" → b"]]),
    ],
)
def test_a_drain_takes_as_many_passes_as_its_strategy(rules: dict[str, str], passes: list[list[str]]) -> None:
    found = drained(two(rules, rayservice("web", "shop")))
    ways = [[f"{','.join(s.before)} → {','.join(s.after)}" for s in each.steps] for each in found.passes]
    assert ways == passes
    assert found.is_empty
    assert [each.left for each in found.passes][-1] == 0
    assert all(each.needs for each in found.passes[1:])


def test_a_guard_spreads_a_drain_over_passes() -> None:
    story = two(RECREATE, *(rayservice("web", f"s{i}", gpus=0, workers=0) for i in range(3)))
    guards = "spec: {guards: {evacuations: {max: 1, per: 2h, exceed: Throttle}}}"
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", guards)
    where = {p.split("/")[4] for p in story.deployment if p.startswith("clusters/a/workloads/web/")}
    found = drained(story)
    assert len(found.passes) == len(where) == 3
    assert [len(each.steps) for each in found.passes] == [1, 1, 1]
    assert found.passes[1].needs == ("the guard lets 1 more go, after 2h",)
    assert verdict(found) == "a is empty after 3 passes"


def test_who_cannot_leave_is_named_with_who_does_not_take_it() -> None:
    story = two(RECREATE, rayservice("web", "shop", workers=4), rayjob("jobs", "train", workers=1), gpus=3)
    found = drained(story)
    assert not found.is_empty
    [shop] = [stuck for stuck in found.stuck if stuck.group == "web/shop"]
    assert shop.code == "NowhereToGo"
    assert [(name, code) for name, code, _ in shop.refused][-1][0] == "b"


def test_the_way_back_is_what_the_policy_says() -> None:
    ordered = "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}\nrelocation: {when: {PreferredAvailable: %s}}"
    for mode, way in (("Automatic", Return.BY_ITSELF), ("Manual", Return.PROPOSED), ("Never", Return.BY_HAND)):
        found = drained(two(policy("anywhere", ordered % mode), rayservice("web", "shop")))
        assert found.back == (("web/shop", way),)


def test_an_empty_cluster_is_empty_already() -> None:
    story = two(RECREATE, rayservice("web", "shop"))
    assert verdict(drained(story, "b")) == "b has no groups"
    with pytest.raises(Unsupposable, match='there is no cluster "c"'):
        drained(story, "c")


def test_passes_come_to_an_end_where_nothing_can_become_ready() -> None:
    story = two(
        policy("anywhere", "select: {}\nrelocation: {strategy: Surge, surge: {approval: Required}}"),
        rayservice("web", "shop"),
    )
    story.source |= cluster("a", state="Draining")
    seen = [made for _, made in follow(story.inputs(), InMemory())]
    assert 2 < len(seen) <= MOST


def test_a_drain_reads_as_a_story() -> None:
    first_a = (
        "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}\nrelocation: {strategy: Surge}"
    )
    story = two(
        policy("anywhere", first_a), rayservice("web", "big", workers=3), rayservice("web", "shop"),
        rayjob("jobs", "train", workers=0), gpus=2,
    )  # fmt: skip
    found = drained(story)
    assert_golden("drain.txt", "\n".join(drain_lines(found)) + "\n")
    assert_golden("drain.md", drain_markdown(found))


def test_the_body_of_a_pull_request_has_a_largest_size_and_no_markup_of_others() -> None:
    step = DrainStep(group="a/@team<b>", before=("a",), after=("b",), what="x" * 900)
    many = tuple(DrainPass(needs=(), steps=(step,) * 20, left=1) for _ in range(20))
    stuck = tuple(Stuck(group=f"a/g{i}", code="C", why="y" * 300) for i in range(90))
    text = drain_markdown(Drain(cluster="a", passes=many, stuck=stuck, platform=(), back=()))
    assert len(text.encode()) <= LIMIT
    assert "more passes are left out here; `gitplacer drain` shows all" in text
    assert "and 40 more" in text
    assert "@team<b>" not in text


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ada@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / "cache"))
    fleet = made(tmp_path)
    fleet.reconcile(5)
    return fleet


def test_drain_commits_one_line_and_writes_the_story(
    fleet: Fleet, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    where = ("--deployment", fleet.deployment, "--now", "2026-01-02T03:10:00Z")
    ran = run(capfd, "drain", "a", "--body", tmp_path / "body.md", "--reason", "New kernel", fleet.source, *where)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Draining a\n\nPass 1\n  prod/api moves from a to b:")
    assert "a is empty after one pass" in ran.out
    assert (tmp_path / "body.md").read_text().startswith("### Drain a\n\n**a is empty after one pass")
    assert git("log", "-1", "--format=%s%n%b", cwd=fleet.source).split("\n")[:3] == ["Drain a", "New kernel", ""]
    changed = git("show", "--format=", "--unified=0", cwd=fleet.source).splitlines()
    assert [line for line in changed if line[:1] == "+" and line[:3] != "+++"] == ["+  state: Draining"]
    again = run(capfd, "drain", "a", fleet.source, *where)
    assert (again.code, again.out) == (1, "")
    assert "error: cluster a is draining already" in again.err


def test_drain_prints_a_patch_and_refuses_what_is_not_there(fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    where = ("--deployment", fleet.deployment, "--now", "2026-01-02T03:10:00Z")
    ran = run(capfd, "drain", "a", "--diff", fleet.source, *where)
    assert ran.out.startswith("diff --git a/clusters/a.yaml b/clusters/a.yaml")
    assert "a is empty after one pass" in ran.err
    assert git("status", "--porcelain", cwd=fleet.source) == ""
    ran = run(capfd, "drain", "aa", "--diff", fleet.source, *where)
    assert ran.err.splitlines()[-2:] == ['error: there is no cluster "aa"', '  hint: did you mean "a"?']
