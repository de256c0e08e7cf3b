"""The blast radius of an edit: whom it touches now, whom perhaps later, and whom not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from gitplacer.formats.blast import blast_text
from gitplacer.formats.options import Options
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.blasts import Blast
from gitplacer.model.fates import Fate
from gitplacer.source.files import InMemory
from gitplacer.tree import Tree
from gitplacer.whatif import blasting
from gitplacer.whatif.blasting import blast, policy_edit
from gitplacer.whatif.ground import Ground
from tests.commands import NOW, commit, git, make_repo, run, write
from tests.stories import Story, cluster, policy, rayservice, snapshot

BEFORE = """
select: {namespaces: [web]}
clusters: {names: [a, b]}
"""


def fleet() -> Story:
    story = Story.of(
        cluster("a"), cluster("b"), cluster("c"), policy("web", BEFORE), policy("rest", "select: {}\nprecedence: -1"),
        rayservice("web", "shop"), rayservice("web", "blog"), rayservice("x", "app"),
        capacity={k: v for n in "abc" for k, v in snapshot(n, "n1 32 128Gi 4").items()},
    )  # fmt: skip
    story.run()
    return story


def touched(story: Story, *edits: dict[str, str], without: str = "") -> Blast:
    ground = Ground.of(story.inputs(), InMemory())
    after = dict(story.source)
    for edit in edits:
        after |= edit
    after.pop(without, None)
    tree = Tree.of({path: text.encode() for path, text in after.items()})
    return blast(ground, policy_edit(ground.inputs.source, tree, ground.snapshot))


def test_a_group_that_must_leave_is_touched_now_and_one_that_stays_is_not() -> None:
    found = touched(fleet(), policy("web", BEFORE.replace("[a, b]", "[b, c]")))
    assert {t.group for t in found.touched} == {"web/shop", "web/blog"}
    for item in found.touched:
        assert (item.gains, item.loses, item.policy) == (("c",), ("a",), "web")
    assert {t.fate for t in found.touched} <= {Fate.MOVES, None}
    assert found.moves >= 1
    assert found.total == 3


def test_what_is_supposed_is_supposed_of_the_fleet_that_is_trusted() -> None:
    """Also where a pass is due, after which the fleet is read again."""
    story = fleet()
    story.source |= rayservice("web", "new")
    trusted = FleetSpec(system_namespace="ours")
    ground = Ground.of(replace(story.inputs(), trusted=trusted), InMemory())
    assert ground.due.steps
    assert ground.snapshot.source.own.fleet.spec == trusted


def test_a_wider_choice_moves_nobody_and_is_told_all_the_same() -> None:
    found = touched(fleet(), policy("web", BEFORE.replace("[a, b]", "[a, b, c]")))
    assert [(t.group, t.gains, t.fate) for t in found.touched] == [
        ("web/blog", ("c",), None),
        ("web/shop", ("c",), None),
    ]
    assert found.moves == 0


def test_other_rules_of_the_same_policy_are_told() -> None:
    found = touched(fleet(), policy("web", BEFORE + "priority: 7\n"))
    assert [(t.group, t.rules, t.gains) for t in found.touched] == [("web/blog", True, ()), ("web/shop", True, ())]


def test_a_policy_that_takes_over_is_named_with_the_one_before() -> None:
    found = touched(fleet(), policy("special", "select: {namespaces: [x]}\nprecedence: 9"))
    assert [(t.group, t.governed, t.policy) for t in found.touched] == [("x/app", "rest", "special")]
    assert found.places["special"].startswith("policies/special.yaml:")


def test_a_policy_that_goes_leaves_its_groups_to_the_next() -> None:
    found = touched(fleet(), without="policies/web.yaml")
    assert [(t.governed, t.policy) for t in found.touched] == [("web", "rest")] * 2
    assert found.edited == ("policies/web.yaml",)


def test_an_edit_of_a_comment_or_of_workloads_touches_nobody() -> None:
    story = fleet()
    found = touched(
        story,
        {"policies/web.yaml": story.source["policies/web.yaml"] + "# a word\n"},
        {"workloads/web/shop.yaml": story.source["workloads/web/shop.yaml"].replace("replicas: 1", "replicas: 3")},
    )
    assert found.touched == ()
    assert found.edited == ("policies/web.yaml",)


def test_a_file_that_is_never_read_is_no_edit() -> None:
    found = touched(fleet(), {"README.md": "A fleet.", "fleet.html": "<p>", ".github/workflows/plan.yaml": "on: push"})
    assert found.edited == ()


def test_a_cluster_that_is_cordoned_touches_nobody_who_is_there_and_one_that_drains_does() -> None:
    assert touched(fleet(), cluster("a", state="Cordoned")).touched == ()
    assert {t.fate for t in touched(fleet(), cluster("a", state="Draining")).touched} == {Fate.MOVES}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / "cache"))
    story = fleet()
    folder = make_repo(tmp_path / "fleet", {**story.source, **{f"capacity/{k}": v for k, v in story.capacity.items()}})
    git(folder, "checkout", "-q", "-b", "edit")
    write(folder, policy("web", BEFORE.replace("[a, b]", "[a, b, c]")))
    commit(folder, "Widen")
    return folder


@pytest.mark.parametrize(("limit", "code"), [("2", 0), ("1", 3), ("67%", 0), ("66%", 3)])
def test_a_limit_fails_the_check(repo: Path, capfd: pytest.CaptureFixture[str], limit: str, code: int) -> None:
    ran = run(capfd, "blast", "--base", "main", "--limit", limit, "--now", NOW, repo)
    assert ran.code == code
    assert (
        ran.out.splitlines()[-1]
        == "2 of 3 groups touched by 1 edited file: 0 at the next pass, 2 only later, if at all"
    )
    assert ran.out.startswith("web (policies/web.yaml:1:1)\n")
    assert ("failed on: 2 of 3 groups are touched" in ran.err) == (code == 3)


def test_revisions_are_compared_and_told_to_programs(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ran = run(capfd, "blast", "--base", "main", "--rev", "edit", "--format", "json", "--now", NOW, repo)
    told = json.loads(ran.out)
    assert told["summary"] == {"groups": 3, "touched": 2, "atNextPass": 0}
    assert told["inputs"]["base"]["commit"] == git(repo, "rev-parse", "main").strip()
    assert {group["group"]: group["gains"] for group in told["groups"]} == {"web/blog": ["c"], "web/shop": ["c"]}
    same = json.loads(run(capfd, "blast", "--base", "edit", "--format", "json", "--now", NOW, repo).out)
    assert same["groups"] == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--base", "mian"], 'has no revision mian\n  hint: did you mean "main"?'),
        (["--base", "main", "--limit", "many"], '"many" is neither a number of groups nor a share such as 10%'),
        (["--base", "main", "--limit", "101%"], '"101%" is neither'),
        ([], "Missing option '--base'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    repo: Path, capfd: pytest.CaptureFixture[str], args: list[str], said: str
) -> None:
    ran = run(capfd, "blast", *args, "--now", NOW, repo)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err


def test_a_policy_that_cannot_be_read_is_told_as_an_error_and_its_groups_as_held() -> None:
    found = touched(fleet(), policy("web", BEFORE.replace("clusters:", "klusters:")))
    assert [(t.group, t.held) for t in found.touched] == [("web/blog", True), ("web/shop", True)]
    assert [problem.location.file for problem in found.problems] == ["policies/web.yaml"]
    assert found.moves == 2
    text = blast_text(found, Options())
    assert text.startswith("Errors\n  policies/web.yaml:")
    assert "! web/blog  is held from now on: " in text
    assert text.endswith(
        "2 of 3 groups touched by 1 edited file: 2 at the next pass, 0 only later, if at all; it brings 1 error\n"
    )


def test_groups_of_one_policy_ask_each_cluster_once_whether_they_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many groups as clusters would take the square of the fleet."""
    asked: list[str] = []
    may_not_stay = blasting.may_not_stay
    monkeypatch.setattr(blasting, "may_not_stay", lambda *given: (asked.append(given[2].name), may_not_stay(*given))[1])
    numbers = []
    for more in range(0, 5, 4):
        story = fleet()
        for number in range(more):
            story.source |= rayservice("web", f"more-{number}")
        story.run()
        asked.clear()
        found = touched(story, policy("web", BEFORE.replace("[a, b]", "[a, b, c]")))
        assert len(found.touched) == 2 + more
        numbers.append(len(asked))
    assert numbers[0] == numbers[1]


def test_a_group_that_wishes_for_a_cluster_is_told_apart_from_those_that_do_not() -> None:
    story = fleet()
    wish = rayservice("web", "wish")
    [(path, text)] = wish.items()
    story.source[path] = text.replace("metadata: {", "metadata: {annotations: {gitplacer.dev/cluster: b}, ", 1)
    found = touched(story, policy("web", BEFORE.replace("[a, b]", "[a]")))
    assert {t.group: t.loses for t in found.touched if t.group.startswith("web/")} == {
        "web/blog": ("b",), "web/shop": ("b",), "web/wish": ("b",),
    }  # fmt: skip
    found = touched(story, policy("web", BEFORE.replace("[a, b]", "[a, b, c]")))
    assert {t.group: t.gains for t in found.touched} == {"web/blog": ("c",), "web/shop": ("c",)}
