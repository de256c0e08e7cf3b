"""Plans that are kept in files: nothing differs that did not change, whatever changed is found, and hostile files are refused."""

from __future__ import annotations

import copy
import json
import os
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.formats import savedplan
from gitplacer.formats.planjson import plan_document
from gitplacer.formats.planschema import plan_schema
from gitplacer.formats.savedplan import (
    BadPlan,
    Fate,
    SavedPlan,
    differences,
    fate_text,
    load,
    moved,
    plan_of,
    refusal,
    saved_text,
)
from tests.commands import git, make_bare, make_repo, run
from tests.planviews import crowded, unchanged, view
from tests.stories import ANYWHERE, FLEET, Story, cluster, rayservice, snapshot

VIEWS = {"everything": view, "crowded": crowded, "unchanged": unchanged}
FIRST, LATER = "2026-01-02T03:05:00Z", "2026-01-02T03:15:00Z"
Capture = pytest.CaptureFixture[str]


@cache
def document(name: str) -> dict[str, Any]:
    return json.loads(saved_text(plan_document(VIEWS[name]()), changes=True))


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def with_digest(changed: dict[str, Any]) -> bytes:
    """A document that somebody changed and who knows how the digest is made."""
    digest = savedplan._read(changed).digest
    return text({**changed, "saved": {**changed["saved"], "digest": digest}})


# laws


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_saved_is_loaded_and_does_not_differ(name: str) -> None:
    made = VIEWS[name]()
    loaded = load(saved_text(plan_document(made), changes=False).encode(), "p.json")
    assert loaded == plan_of(made) and loaded.groups
    assert differences(loaded, plan_of(made)) == () and moved(loaded, plan_of(made)) == ()


def test_a_saved_plan_is_a_plan_to_whoever_reads_plans() -> None:
    jsonschema.Draft202012Validator(plan_schema()).validate(document("everything"))


CLUSTERS = st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(lambda names: tuple(sorted(names)))
COPIES = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from(["Copy", "Home"]), st.sampled_from(["Placed", "Adding"]),
        st.lists(st.tuples(st.sampled_from(["head", "worker/gpu"]), st.integers(1, 4)), max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)  # fmt: skip
FATES = st.builds(
    Fate, st.sampled_from(["Place", "Keep", "Update", "Relocate", "Wait", "Remove"]), CLUSTERS, CLUSTERS, COPIES
)
PLANS = st.builds(
    SavedPlan,
    st.fixed_dictionaries({name: st.sampled_from(["1", "2", None]) for name in savedplan.INPUTS}),
    st.dictionaries(st.sampled_from(["a/a", "a/b", "b/a"]), FATES),
    st.dictionaries(
        st.sampled_from(["x", "y"]), st.builds(Fate, st.sampled_from(["Keep", "Change"]), CLUSTERS, CLUSTERS)
    ),
)


@given(PLANS, PLANS)
def test_a_decision_differs_exactly_if_it_is_another_that_was_not_carried_out(one: SavedPlan, other: SavedPlan) -> None:
    found = {(each.name, each.planned, each.now) for each in differences(one, other)}
    for part in ("groups", "clusters"):
        planned, now = getattr(one, part), getattr(other, part)
        for name in planned.keys() | now.keys():
            was, is_ = planned.get(name), now.get(name)
            done = (
                was is not None
                and is_ is not None
                and is_.action == "Keep"
                and is_.before == was.after
                and is_.copies == was.copies
            ) or (was is not None and is_ is None and was.action == "Remove" and was.after == ())
            assert ((name, was, is_) in found) == (was != is_ and not done)


@given(PLANS, PLANS)
def test_digests_are_equal_exactly_if_plans_are(one: SavedPlan, other: SavedPlan) -> None:
    assert (one.digest == other.digest) == (one == other)
    assert one.digest == replace(one, groups=dict(reversed(one.groups.items()))).digest


@settings(max_examples=20)
@given(st.data())
def test_any_decision_that_is_changed_in_a_file_is_found(data: st.DataObject) -> None:
    changed = copy.deepcopy(document("everything"))
    group = data.draw(st.sampled_from(changed["groups"]))
    part = data.draw(st.sampled_from(["action", "from", "to", "assignments"]))
    others = [g[part] for g in changed["groups"] if g[part] != group[part]]
    group[part] = data.draw(st.sampled_from(others))
    with pytest.raises(BadPlan, match="not as it was written"):
        load(text(changed), "p.json")
    forged, now = load(with_digest(changed), "p.json"), plan_of(view())
    kept = now.groups[group["group"]].action == "Keep"
    assert kept or [each.name for each in differences(forged, now)] == [group["group"]]


def test_a_plan_that_was_carried_out_may_be_carried_out_again() -> None:
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        rayservice("prod", "api"),
        rayservice("prod", "old"),
        capacity=snapshot("a", "n1 32 64Gi 4"),
    )
    story.run()
    del story.source["workloads/prod/old.yaml"]
    story.source |= rayservice("prod", "new")
    planned = plan_of(story.run().view)
    assert {name: fate.action for name, fate in planned.groups.items()} == {
        "prod/api": "Keep", "prod/new": "Place", "prod/old": "Remove",
    }  # fmt: skip
    assert differences(planned, plan_of(story.plan().view)) == ()


def test_a_group_that_the_plan_does_not_have_differs() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("prod", "api"), capacity=snapshot("a", "n1 32 64Gi 4"))
    planned = plan_of(story.plan().view)
    story.source |= rayservice("prod", "new")
    (found,) = differences(planned, plan_of(story.plan().view))
    assert (found.name, found.planned) == ("prod/new", None)


def test_words_bytes_and_ages_are_no_decisions() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("prod", "api"), capacity=snapshot("a", "n1 32 64Gi 4"))
    planned = plan_of(story.plan().view)
    story.source["workloads/prod/api.yaml"] += "# a word more\n"
    story.capacity |= snapshot("a", "n1 31 64Gi 4")
    story.now += timedelta(minutes=9)
    assert differences(planned, plan_of(story.plan().view)) == ()


# what a file may be

PARTS = document("unchanged")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "p.json:1:1: is no JSON"),
        (b'{"kind":\n "Plan";}', "p.json:2:8: is no JSON"),
        (b"\xff\xfe{}", "is no JSON: 'utf-8' codec"),
        (b"[" * 200_000, "is nested too deep"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is no JSON"),
        (b'{"a": 1, "a": 2}', "has a key twice"),
        (b"[]", "the whole: "),
        (b"{}", '"apiVersion" is a required property'),
        (b'{"kind": "Plan"}', "was not saved to be carried out"),
        (text({**PARTS, "formatVersion": "2.0"}), "formatVersion: "),
        (text({**PARTS, "saved": {"digest": "sha256:1", "changes": True}}), "saved/digest: "),
        (text({**PARTS, "groups": PARTS["groups"] * 2}), "has something twice"),
        (text({**PARTS, "inputs": {**PARTS["inputs"], "now": "2026-13-02T03:05:00Z"}}), "is no time"),
        (text({**PARTS, "inputs": {**PARTS["inputs"], "version": "other"}}), "not as it was written"),
        (text({**PARTS, "groups": [{**PARTS["groups"][0], "action": "\x1b[31mPlace"}]}), "groups/0/action: "),
    ],
)  # fmt: skip
def test_a_file_that_is_no_saved_plan_is_refused_with_what_to_do(data: bytes, said: str) -> None:
    with pytest.raises(BadPlan) as caught:
        load(data, "p.json")
    assert said in str(caught.value) and str(caught.value).startswith("p.json")
    assert "\x1b" not in str(caught.value) and len(str(caught.value)) < 1500
    assert "gitplacer plan --out FILE" in caught.value.hint


def test_a_file_beyond_all_plans_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savedplan, "MAX_SAVED", 100)
    with pytest.raises(BadPlan, match="so it is no plan"):
        load(b" " * 101, "p.json")


# side by side


@pytest.mark.parametrize(
    ("fate", "beside", "said"),
    [
        (None, None, "not there"),
        (Fate("Wait"), None, "Wait"),
        (Fate("Place", (), ("a",)), None, "Place on a"),
        (Fate("Remove", ("a", "b"), ()), None, "Remove from a, b"),
        (Fate("Keep", ("a",), ("a",)), None, "Keep on a"),
        (Fate("Relocate", ("a",), ("b",)), None, "Relocate a → b"),
        (
            Fate("Keep", ("a",), ("a",), (("a", "Home", "Adding", (("head", 1), ("worker/gpu", 3))),)),
            Fate("Keep", ("a",), ("a",), (("a", "Copy", "Placed", (("head", 1),)),)),
            "Keep on a: a Home Adding 1 × head, 3 × worker/gpu",
        ),
    ],
)
def test_fates_are_told_in_a_few_words(fate: Fate | None, beside: Fate | None, said: str) -> None:
    assert fate_text(fate, beside) == said


def test_many_differences_are_cut_and_hostile_names_are_one_line() -> None:
    hostile = "ns/\x1b[2J\n::error::x"
    one = SavedPlan(
        dict.fromkeys(savedplan.INPUTS), {hostile: Fate("Wait"), **{f"ns/{i}": Fate("Wait") for i in range(60)}}, {}
    )
    other = SavedPlan({**one.inputs, "now": LATER}, {}, {})
    told = refusal(differences(one, other), {}, moved(one, other))
    assert "  and 11 more\n" in told and "\x1b" not in told
    assert told.endswith(f"  now  none  →  {LATER}\n")


# the commands


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_bare(tmp_path / "deployment.git")
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", str(tmp_path / "deployment.git"))
    room = {
        f"capacity/{path}": data
        for path, data in (snapshot("a", "n1 16 64Gi 2") | snapshot("b", "n1 16 64Gi 2")).items()
    }
    files = {
        "fleet.yaml": FLEET,
        **cluster("a"),
        **cluster("b", maxAge="30m"),
        **ANYWHERE,
        **room,
        **rayservice("prod", "api"),
    }
    return make_repo(tmp_path / "fleet", files)


def commit(source: Path, files: dict[str, str]) -> None:
    for path, data in files.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(data)
    git(source, "add", "--all")
    git(source, "commit", "-q", "-m", "edit")


def save(capfd: Capture, source: Path, now: str = FIRST) -> None:
    ran = run(capfd, "plan", source, "--rev", "main", "--out", "p.json", "--now", now)
    assert ran.code == 0
    assert "saved as p.json; `gitplacer reconcile --plan p.json` carries it out" in ran.err


def test_a_saved_plan_whose_name_has_a_space_is_named_as_a_shell_takes_it(capfd: Capture, source: Path) -> None:
    ran = run(capfd, "plan", source, "--rev", "main", "--out", "our plan.json", "--now", FIRST)
    assert "`gitplacer reconcile --plan 'our plan.json'` carries it out" in ran.err


def carry_out(capfd: Capture, source: Path, now: str = LATER) -> tuple[int, str, str]:
    ran = run(capfd, "reconcile", source, "--plan", "p.json", "--now", now)
    return ran.code, ran.out, ran.err


def test_a_plan_is_carried_out_once_and_then_nothing_is_left_to_do(capfd: Capture, source: Path) -> None:
    save(capfd, source)
    code, out, _ = carry_out(capfd, source)
    assert code == 0 and out.startswith("Published  ")
    code, out, _ = carry_out(capfd, source)
    assert code == 0 and out.startswith("Unchanged  ")


def test_an_input_that_moves_no_decision_stops_nothing(capfd: Capture, source: Path) -> None:
    save(capfd, source)
    commit(source, {"README.md": "hello\n", "capacity/b.yaml": (source / "capacity/b.yaml").read_text() + "# later\n"})
    assert carry_out(capfd, source)[0] == 0


def test_a_plan_that_comes_out_otherwise_is_shown_beside_it_with_its_cause(capfd: Capture, source: Path) -> None:
    save(capfd, source)
    commit(source, rayservice("prod", "second"))
    code, out, err = carry_out(capfd, source)
    assert code == 1
    lines = out.splitlines()
    assert lines[0].split() == ["PLANNED", "NOW", "BECAUSE", "OF"]
    assert lines[1].split() == ["prod/second", "not", "there", "Place", "on", "a", "source"]
    assert lines[3] == "Inputs that have moved since" and [line.split()[0] for line in lines[4:]] == ["source", "now"]
    assert "error: 1 of 2 decisions would not be as in p.json; nothing was published" in err
    assert git(source.parent / "deployment.git", "for-each-ref") == ""


@pytest.mark.parametrize(
    ("cause", "files", "now"),
    [
        ("capacity", {"capacity/a.yaml": snapshot("a", "n1 1 1Gi")["a.yaml"], "capacity/b.yaml": snapshot("b", "n1 1 1Gi")["b.yaml"]}, FIRST),
        ("source", {**rayservice("prod", "api", workers=9)}, FIRST),
        ("now", {"README.md": "hello\n"}, "2026-01-02T09:00:00Z"),
    ],
)  # fmt: skip
def test_a_difference_is_because_of_the_input_that_makes_it(
    capfd: Capture, source: Path, cause: str, files: dict[str, str], now: str
) -> None:
    commit(source, {"policies/b.yaml": "", **_only_on_b()})
    save(capfd, source)
    commit(source, files)
    code, out, _ = carry_out(capfd, source, now)
    assert code == 1
    (row,) = [line for line in out.splitlines() if line.startswith("  prod/api")]
    assert "Place on b" in row and row.endswith(f" {cause}")


def _only_on_b() -> dict[str, str]:
    path, data = next(iter(ANYWHERE.items()))
    return {path: data.rstrip("\n") + "\n  clusters: {names: [b]}\n"}


def test_what_somebody_placed_meanwhile_is_because_of_the_deployment(capfd: Capture, source: Path) -> None:
    save(capfd, source)
    assert run(capfd, "reconcile", source, "--now", FIRST).code == 0
    commit(source, cluster("a", state="Draining"))
    assert run(capfd, "reconcile", source, "--now", FIRST).code == 0
    commit(source, cluster("a"))
    code, out, _ = carry_out(capfd, source, FIRST)
    rows = [line for line in out.splitlines() if line.startswith("  prod/api")]
    assert (code, len(rows)) == (1, 1) and rows[0].endswith(" deployment")


def test_a_file_that_cannot_be_read_is_told_like_any_other(capfd: Capture, source: Path) -> None:
    Path("p.json").write_text("{}")
    ran = run(capfd, "reconcile", source, "--plan", "p.json")
    assert (ran.code, ran.out) == (1, "") and ran.err.startswith("error: p.json is no saved plan")
    assert run(capfd, "reconcile", source, "--plan", "none.json").err == (
        "error: none.json cannot be read: No such file or directory\n"
    )
    os.mkfifo("pipe.json")
    Path("link.json").symlink_to("p.json")
    for no_file in ("pipe.json", "link.json"):
        said = run(capfd, "reconcile", source, "--plan", no_file).err
        assert (
            said == f"error: {no_file} is no plain file\n  hint: links and pipes are not read; give the file itself\n"
        )
    assert "is a directory" in run(capfd, "plan", source, "--out", source).err


def test_a_plan_is_not_saved_where_it_would_be_read_as_a_manifest(capfd: Capture, source: Path) -> None:
    ran = run(capfd, "plan", source, "--out", source / "plan.json")
    assert (ran.code, ran.out) == (1, "") and "hint: write it beside the source, or give it another ending" in ran.err
    assert run(capfd, "plan", source, "--out", source / "plan.saved").code == 0
    assert run(capfd, "validate", source).code == 0
    assert run(capfd, "plan", source, "--rev", "main", "--out", source / "plan.json").code == 0
    assert "gitplacer has printed it, and it is no part of a source" in run(capfd, "validate", source).out
