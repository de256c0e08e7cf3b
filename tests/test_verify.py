"""
`verify`, with real git: honest commits of every sort are proved, and a lie is named, wherever in a commit it is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gitplacer.audit.verifying import verify_history, verify_one
from gitplacer.commits import PassTrailers
from gitplacer.formats.verification import sentence
from gitplacer.git.objects import Object
from gitplacer.git.program import GitError
from gitplacer.git.reading import parse_commit
from gitplacer.model.audit import Answer, Checked, Mismatch
from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.passes.reconcile import reconcile
from gitplacer.settings import UsageError, settings
from gitplacer.trailers import ProvenanceClaim, read_claim
from tests.commands import run
from tests.fleetrepos import Fleet, copied, edit_by_hand, made, silently
from tests.gitservers import git, https_server
from tests.stories import FLEET, cluster, rayjob, rayservice, snapshot
from tests.test_proposals import MANUAL, fast_forwarded, merged, rebased, squashed

API = "clusters/b/workloads/prod/api/api.yaml"
LATER = "2026-01-03T00:00:00Z"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """A fleet with two passes; the second moved a service and placed another."""
    fleet = made(tmp_path_factory.mktemp("told"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITPLACER_CACHE", str(tmp_path_factory.mktemp("cache")))
        fleet.reconcile(5)
        fleet.commit(cluster("a", state="Draining") | rayservice("prod", "new"), "drain a")
        fleet.reconcile(10)
    return fleet


@pytest.fixture
def fleet(told: Fleet, tmp_path: Path) -> Fleet:
    """A copy of that fleet."""
    return copied(told, tmp_path)


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """A fleet that proposes to move a service."""
    fleet = made(tmp_path_factory.mktemp("offered"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITPLACER_CACHE", str(tmp_path_factory.mktemp("cache")))
        fleet.commit(MANUAL)
        fleet.reconcile(5)
        fleet.commit(cluster("a", state="Draining"), "drain a")
        fleet.reconcile(10)
    return fleet


def one(fleet: Fleet, rev: str | None = None, **where: str) -> Checked:
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now=LATER, **where)
    (checked,) = verify_one(chosen, rev, silently)
    return checked


def everything(fleet: Fleet, since: str | None = None, jobs: int = 1) -> list[Checked]:
    return verify_history(settings(str(fleet.source), deployment=fleet.deployment, now=LATER), since, jobs, silently)


def clone_of(fleet: Fleet, tmp_path: Path, *options: str) -> Path:
    git("clone", "-q", *options, f"file://{fleet.bare}", str(tmp_path / "clone"), cwd=tmp_path)
    return tmp_path / "clone"


# what is honest


def test_every_commit_of_a_pass_is_proved_and_each_by_itself(fleet: Fleet) -> None:
    found = everything(fleet)
    assert [(c.answer, c.step, c.subject) for c in found] == [
        ("Verified", "1/1", "Place prod/api"),
        ("Verified", "1/2", "Relocate prod/api from a to b"),
        ("Verified", "2/2", "Place prod/new"),
    ]
    assert [one(fleet, c.commit) for c in found] == found
    assert one(fleet) == found[-1]
    assert everything(fleet, since="main~1") == found[-1:]


@pytest.mark.slow
def test_many_processes_find_what_one_finds(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitplacer.audit.verifying._AT_ONCE", 1)
    assert everything(fleet, jobs=2) == everything(fleet)


@pytest.mark.parametrize("kind", ["directory", "repo"])
def test_a_capacity_with_links_and_programs_is_kept_as_it_was(tmp_path: Path, kind: str) -> None:
    fleet, apart = made(tmp_path), tmp_path / "apart"
    apart.mkdir()
    for name, text in {**snapshot("a", "n1 32 128Gi 4"), **snapshot("b", "n1 32 128Gi 4")}.items():
        (apart / name).write_text(text)
    (apart / "a.yaml").chmod(0o755)
    (apart / "c.yaml").symlink_to("a.yaml")
    if kind == "repo":
        git("init", "-q", cwd=apart)
        git("add", ".", cwd=apart)
        git("commit", "-q", "-m", "capacity", cwd=apart)
        git("clone", "-q", "--bare", str(apart), str(tmp_path / "apart.git"), cwd=tmp_path)
        apart = tmp_path / "apart.git"
    chosen = settings(str(fleet.source), deployment=fleet.deployment, capacity=str(apart), now="2026-01-02T03:05:00Z")
    reconcile(chosen, progress=silently)
    assert one(fleet).answer is Answer.VERIFIED
    assert one(fleet).capacity == fleet.git("rev-parse", "gitplacer-inputs^{tree}").strip()
    kept = fleet.git("ls-tree", "gitplacer-inputs").splitlines()
    assert [line.partition(" ")[0] for line in kept] == ["100755", "100644", "120000"]


@pytest.mark.parametrize(
    ("way", "answers"),
    [
        (merged, {"Move the api": "Verified"}),
        (fast_forwarded, {"Relocate prod/api from a to b": "Verified"}),
        (rebased, {"hello": "Foreign", "Relocate prod/api from a to b": "Verified"}),
        (squashed, {"Move the api (#1)": "Foreign"}),
    ],
)
def test_a_proposal_that_somebody_merged_is_as_good_as_its_bytes(
    offered: Fleet, way: Callable[[Fleet, Path], None], answers: dict[str, str], tmp_path: Path
) -> None:
    fleet = copied(offered, tmp_path)
    clone = clone_of(fleet, tmp_path)
    way(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    before = [c.commit for c in everything(fleet)]
    fleet.reconcile(16)
    found = everything(fleet)
    assert [c.commit for c in found][: len(before)] == before
    said = {c.subject: (c.answer, c.consent) for c in found}
    for subject, answer in answers.items():
        key = next((k for k in said if k == subject), None) or next(k for k in said if k.startswith("Merge"))
        assert said[key] == (answer, "prod/api" if answer == "Verified" else "")
    rest = [c.answer for c in found if c.answer != "Foreign"]
    assert set(rest) == {Answer.VERIFIED}


def test_a_merge_that_brings_more_than_its_proposal_is_foreign(offered: Fleet, tmp_path: Path) -> None:
    fleet = copied(offered, tmp_path)
    clone = clone_of(fleet, tmp_path)
    git("merge", "-q", "--no-ff", "--no-commit", "origin/gitplacer/proposed/prod/api", cwd=clone)
    (clone / API).write_text("kind: Surprise\n")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "Merge it", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    assert (one(fleet).answer, one(fleet).consent) == (Answer.FOREIGN, "prod/api")


def test_half_a_proposal_is_not_what_was_proposed(offered: Fleet, tmp_path: Path) -> None:
    fleet = copied(offered, tmp_path)
    clone = clone_of(fleet, tmp_path)
    fast_forwarded(fleet, clone)
    (clone / API).unlink()
    git("commit", "-q", "--all", "--amend", "--no-edit", cwd=clone, at="2026-01-02T03:15:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    checked = one(fleet)
    assert checked.discrepancy is not None
    assert (checked.answer, checked.discrepancy.where, checked.consent) == (Answer.DIFFERS, API, "")


def test_a_revert_is_foreign_and_what_it_reverts_is_named(fleet: Fleet, tmp_path: Path) -> None:
    fleet.commit(cluster("a") | cluster("b", state="Draining"), "drain b")
    fleet.reconcile(11)
    moved = fleet.git("rev-parse", "main").strip()
    clone = clone_of(fleet, tmp_path)
    git("revert", "--no-edit", moved, cwd=clone, at="2026-01-02T03:12:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    assert (one(fleet).answer, one(fleet).reverts) == (Answer.FOREIGN, moved)
    fleet.reconcile(13)
    assert [c.answer for c in everything(fleet)][-1] is Answer.VERIFIED


NAMES = ["a\nGitplacer-Version: 9.9.9", 'say "hi"', '"quoted"', " around ", "\u202eback", "tab\there"]


def test_foreign_files_cannot_speak_in_our_name(fleet: Fleet, tmp_path: Path) -> None:
    clone = clone_of(fleet, tmp_path)
    folder = clone / "clusters/b/workloads/prod/api"
    for name in NAMES:
        (folder / name).write_text("mine\n")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "by hand", cwd=clone)
    git("push", "-q", cwd=clone)
    fleet.commit(rayservice("prod", "third"))
    fleet.reconcile(12)
    fleet.commit(rayservice("prod", "fourth"))
    done = fleet.reconcile(13)  # what is foreign is carried on by the trailers of the pass before
    assert len(done.hydration.snapshot.foreign_paths) == len(NAMES)
    assert [c.answer for c in everything(fleet)][-3:] == ["Foreign", "Verified", "Verified"]


@pytest.mark.server
def test_repos_that_are_elsewhere_are_fetched_whole(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("clone", "-q", "--bare", str(fleet.source), str(tmp_path / "served/source.git"), cwd=tmp_path)
    with https_server(tmp_path / "served", tmp_path) as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        chosen = settings(f"{url}/source.git", deployment=f"{url}/deployment.git", now=LATER)
        assert {c.answer for c in verify_history(chosen, None, 1, silently)} == {Answer.VERIFIED}


# what is not


Forge = Callable[[bytes], bytes]


def forgery(fleet: Fleet, change: Forge, tree: str = "") -> str:
    """A commit like the tip, with its bytes changed, or its tree."""
    data = git("cat-file", "commit", "main", cwd=fleet.bare).encode() + b"\n"
    if tree:
        data = re.sub(rb"^tree [0-9a-f]{40}", b"tree " + tree.encode(), data)
    return git("hash-object", "-t", "commit", "-w", "--stdin", cwd=fleet.bare, input=change(data)).strip()


def forged(fleet: Fleet, change: Forge, tree: str = "") -> None:
    """Make the tip another commit, on the branch that everybody reads."""
    git("update-ref", "refs/heads/main", forgery(fleet, change, tree), cwd=fleet.bare)


def as_it_is(data: bytes) -> bytes:
    return data


def put(pattern: bytes, by: bytes) -> Forge:
    def change(data: bytes) -> bytes:
        made_, count = re.subn(pattern, by, data, count=1, flags=re.MULTILINE)
        assert count == 1
        return made_

    return change


@pytest.mark.parametrize(
    ("change", "answer", "mismatch", "said"),
    [
        (put(b"^Place prod/new$", b"Place prod/old"), "Differs", "Message", "its message is not what the pass says"),
        (put(b"fits$", b"fits well"), "Differs", "Message", "its message"),
        (put(b"^Gitplacer-Base: .*$", b"Gitplacer-Base: " + b"1" * 40), "Differs", "Parent", "1111111111"),
        (put(b"^Gitplacer-Base: .*\n", b""), "Differs", "Parent", "says that it stands on none"),
        (put(b"2/2", b"1/2"), "Differs", "Parent", "says that it stands on"),
        (put(b"2/2", b"3/2"), "Differs", "Trailer", "Gitplacer-Step: 3/2"),
        (put(b"2/2", b"2/99999"), "Differs", "Steps", "makes 2 commits, and it says 99999"),
        (put(b"2/2", b"2/99999999999"), "Differs", "Trailer", "Gitplacer-Step"),
        (put(b"^Gitplacer-Now: .*$", b"Gitplacer-Now: 2026-01-02T03:11:00Z"), "Differs", "Date", "03:10:00Z"),
        (put(b"^Gitplacer-Now: .*$", b"Gitplacer-Now: yesterday"), "Differs", "Trailer", "yesterday"),
        (put(b"^Gitplacer-Now: .*\n", b""), "Differs", "Trailer", "no trailer Gitplacer-Now"),
        (put(b"^Gitplacer-Source: .*\n", b""), "Differs", "Trailer", "no trailer Gitplacer-Source"),
        (put(b"^Gitplacer-Source: .*$", b"Gitplacer-Source: main"), "Differs", "Trailer", "Gitplacer-Source: main"),
        (put(b"^Gitplacer-Source: .*$", b"Gitplacer-Source: " + b"1" * 40), "InputMissing", "SourceGone", "is not in"),
        (put(b"^Gitplacer-Capacity: .*$", b"Gitplacer-Capacity: " + b"1" * 40), "InputMissing", "CapacityGone", "neither"),
        (put(b"^Gitplacer-Capacity: .*\n", b""), "Differs", "File", ""),
        (put(b"^(Gitplacer-Version: .*)$", rb"\1\nGitplacer-Foreign: none clusters/x"), "Differs", "ByHand", "clusters/x"),
        (put(b"^(Gitplacer-Version: .*)$", rb"\1\nGitplacer-Reverted: prod/api commit=x at=y left="), "Differs", "Trailer", "="),
        (put(b"^(Gitplacer-Version: .*)$", rb"\1\n  and more"), "Differs", "Trailer", "and more"),
        (put(b"^(Gitplacer-Version: .*)$", rb"\1\n\1"), "Differs", "Trailer", "Gitplacer-Version"),
        (put(b"^(Gitplacer-Base: .*)$", rb"\1\n\1"), "Differs", "Trailer", "Gitplacer-Base"),
        (put(b"^Gitplacer-Version: .*$", b"Gitplacer-Version: 1; rm -rf /"), "Differs", "Trailer", "rm -rf"),
        (put(b"^(parent .*)$", rb"\1\n\1"), "Differs", "Parent", "2 parents"),
        (put(b"^(Gitplacer-Version: .*)$", rb"\1\nGitplacer-Nonsense: 1"), "Differs", "Trailer", "Nonsense"),
    ],
)  # fmt: skip
def test_a_forged_message_is_named_and_not_believed(
    told: Fleet, change: Forge, answer: str, mismatch: str, said: str
) -> None:
    checked = one(told, forgery(told, change))
    assert checked.discrepancy is not None, checked
    if mismatch == "File":  # without the capacity another plan comes out, which may show in the message first
        assert checked.discrepancy.mismatch in (Mismatch.FILE, Mismatch.MESSAGE, Mismatch.STEPS)
    else:
        assert (checked.answer, checked.discrepancy.mismatch) == (answer, mismatch)
        assert said in sentence(checked.discrepancy)


def test_a_pass_in_the_future_is_named(fleet: Fleet) -> None:
    def later(data: bytes) -> bytes:
        at = b"%d" % datetime(2026, 2, 1, tzinfo=UTC).timestamp()
        return re.sub(
            rb"> [0-9]+ \+0000",
            b"> " + at + b" +0000",
            put(b"^Gitplacer-Now: .*$", b"Gitplacer-Now: 2026-02-01T00:00:00Z")(data),
        )

    forged(fleet, later)
    checked = one(fleet)
    assert checked.discrepancy is not None
    assert (checked.answer, checked.discrepancy.mismatch) == (Answer.DIFFERS, Mismatch.FUTURE)


def test_a_list_without_end_is_named_without_delay(fleet: Fleet) -> None:
    paths = b"".join(b"\nGitplacer-Foreign: none clusters/b/workloads/x/%06d" % number for number in range(20_000))
    forged(fleet, put(b"^(Gitplacer-Version: .*)$", rb"\1" + paths))
    checked = one(fleet)
    assert checked.discrepancy is not None
    assert (checked.answer, checked.discrepancy.mismatch) == (Answer.DIFFERS, Mismatch.BY_HAND)


def test_a_foreign_change_that_is_not_told_is_named(fleet: Fleet, tmp_path: Path) -> None:
    clone = clone_of(fleet, tmp_path)
    edit_by_hand(clone, API)
    git("push", "-q", cwd=clone)
    fleet.commit(rayservice("prod", "third"))
    fleet.reconcile(12)
    assert one(fleet).answer is Answer.VERIFIED
    forged(fleet, put(b"^Gitplacer-Foreign: .*\n", b""))
    checked = one(fleet)
    assert checked.discrepancy is not None
    assert (checked.discrepancy.mismatch, checked.discrepancy.where) == (Mismatch.BY_HAND, API)


def test_what_was_foreign_then_is_judged_by_the_root_of_then(fleet: Fleet, tmp_path: Path) -> None:
    clone = clone_of(fleet, tmp_path)
    edit_by_hand(clone, API)
    git("push", "-q", cwd=clone)
    fleet.commit(rayservice("prod", "third"))
    fleet.reconcile(12)
    fleet.commit({"fleet.yaml": FLEET.replace("spec: {}", "spec: {deployment: {root: elsewhere}}")}, "another root")
    assert one(fleet).answer is Answer.VERIFIED


def rewritten(fleet: Fleet, tmp_path: Path, edit: Callable[[Path], None]) -> None:
    """The tip with other files, and everything else as it was."""
    clone = clone_of(fleet, tmp_path)
    edit(clone)
    git("add", "--all", cwd=clone)
    tree = git("write-tree", cwd=clone).strip()
    git("push", "-q", "origin", f"{git('commit-tree', '-m', 'x', tree, cwd=clone).strip()}:refs/heads/x", cwd=clone)
    forged(fleet, as_it_is, tree=tree)


def scaled(clone: Path) -> None:
    (clone / API).write_text((clone / API).read_text().replace("replicas: 1", "replicas: 9"))


def added(clone: Path) -> None:
    (clone / "clusters/b/workloads/prod/api/miner.yaml").write_text("kind: Job\n")


def removed(clone: Path) -> None:
    (clone / API).unlink()


def executable(clone: Path) -> None:
    (clone / API).chmod(0o755)


@pytest.mark.parametrize(
    ("edit", "where", "said"),
    [
        (scaled, API, "is not what the pass wrote"),
        (added, "clusters/b/workloads/prod/api/miner.yaml", "is one that the pass did not leave there"),
        (removed, API, "is missing"),
        (executable, API, "has mode 100755 instead of 100644"),
    ],
)
def test_a_commit_rewritten_by_hand_is_named_with_its_first_file(
    fleet: Fleet, tmp_path: Path, edit: Callable[[Path], None], where: str, said: str
) -> None:
    rewritten(fleet, tmp_path, edit)
    checked = one(fleet)
    assert checked.answer is Answer.DIFFERS
    assert checked.discrepancy is not None
    assert (checked.discrepancy.mismatch, checked.discrepancy.where) == (Mismatch.FILE, where)
    assert sentence(checked.discrepancy) == f"{where} {said}"
    if edit is scaled:
        assert {"-      replicas: 1", "+      replicas: 9"} <= set(checked.discrepancy.excerpt)
    assert [c.answer for c in everything(fleet)] == ["Verified", "Verified", "Differs"]


def test_another_version_is_only_blamed_for_what_this_one_computes_otherwise(fleet: Fleet, tmp_path: Path) -> None:
    forged(fleet, put(b"^Gitplacer-Version: .*$", b"Gitplacer-Version: 9.9.9"))
    assert (one(fleet).answer, one(fleet).version) == (Answer.VERIFIED, "9.9.9")  # the outputs agree
    rewritten(fleet, tmp_path, scaled)
    assert (one(fleet).answer, one(fleet).version) == (Answer.OTHER_VERSION, "9.9.9")


@hypothesis_settings(max_examples=12)
@given(where=st.integers(0, 10_000), by=st.sampled_from([b"x", b"0", b"\n", b" ", b":", b"\xff"]))
def test_no_byte_of_a_message_can_be_changed_unnoticed(where: int, by: bytes) -> None:
    fleet, data, head = _prepared()
    at = head + where % (len(data) - head - 1)
    if data[at : at + 1] == by or data.rfind(b"\nGitplacer-Version", 0, at) > data.rfind(b"\n", 0, at) - 1 >= 0:
        return  # nothing changed; or the version, which another release may truly be
    oid = git("hash-object", "-t", "commit", "-w", "--stdin", cwd=fleet.bare, input=data[:at] + by + data[at + 1 :])
    checked = one(fleet, oid.strip())
    assert checked.answer is not Answer.VERIFIED, data[:at] + by + data[at + 1 :]


_KEPT: list[tuple[Fleet, bytes, int]] = []


def _prepared() -> tuple[Fleet, bytes, int]:
    return _KEPT[0]


@pytest.fixture(autouse=True)
def _keep_one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One fleet for all the changed bytes: a fixture of Hypothesis' test would be made anew for none of them."""
    if request.node.name.startswith("test_no_byte") and not _KEPT:
        fleet = made(tmp_path_factory.mktemp("bytes"))
        fleet.reconcile(5)
        data = git("cat-file", "commit", "main", cwd=fleet.bare).encode() + b"\n"
        _KEPT.append((fleet, data, data.index(b"\n\n") + 2))


# trailers


_IDS = st.from_regex(r"[0-9a-f]{40}", fullmatch=True)
_TIMES = st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1)).map(lambda t: t.replace(microsecond=0, tzinfo=UTC))
_PATHS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)
_GROUPS = st.from_regex(r"[a-z]{1,5}/[a-z.]{1,5}", fullmatch=True)
_CLUSTERS = st.from_regex(r"[a-z][a-z0-9-]{0,5}", fullmatch=True)


@given(
    inputs=st.builds(
        PassTrailers,
        source=_IDS,
        capacity=st.one_of(st.just(""), _IDS),
        base=st.one_of(st.just(""), _IDS),
        now=_TIMES,
        version=st.sampled_from(["0.1.0", "1!2.0rc1+local", "test"]),
        foreign=st.dictionaries(_PATHS, st.one_of(st.just(""), _IDS), max_size=4),
        reverted=st.dictionaries(
            _GROUPS,
            st.builds(
                RevertedMove,
                commit=_IDS,
                at=_TIMES,
                left=st.lists(_CLUSTERS, unique=True, max_size=3).map(tuple),
                epochs=st.lists(st.tuples(_CLUSTERS, st.sampled_from(["platform", "workloads"]), st.integers(0, 99)), max_size=3).map(tuple),
                approvals=st.lists(st.sampled_from(["go.0f3a5c7e", "go.b.12345678"]), unique=True).map(tuple),
            ),
            max_size=3,
        ),
        merged=st.dictionaries(_GROUPS, st.builds(MergedMove, commit=_IDS, at=_TIMES, proposed_at=_TIMES), max_size=3),
    ),
    steps=st.integers(1, 99),
)  # fmt: skip
def test_what_a_pass_says_of_itself_is_read_back_as_it_was(inputs: PassTrailers, steps: int) -> None:
    message = "Subject\n\nBody\n\n" + "\n".join(inputs.lines(1, steps)) + "\n"
    commit = parse_commit(Object("0" * 40, "commit", b"\n\n" + message.encode()))
    assert read_claim(commit.trailers) == ProvenanceClaim(inputs=inputs, step=1, steps=steps)


# what is missing


def test_a_shallow_clone_says_how_to_be_whole(fleet: Fleet, tmp_path: Path) -> None:
    shallow = clone_of(fleet, tmp_path, "--depth=1")
    chosen = settings(str(fleet.source), deployment=str(shallow), now=LATER)
    (checked,) = verify_one(chosen, None, silently)
    assert checked.answer is Answer.INPUT_MISSING
    assert checked.discrepancy is not None
    assert "fetch --unshallow" in checked.discrepancy.hint


def test_a_part_of_the_past_is_not_told_for_all_of_it(
    fleet: Fleet, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shallow = clone_of(fleet, tmp_path, "--depth=2")
    for command in (
        ["verify", "--all"],
        ["verify", "--since", "HEAD~9"],
        ["history", "prod/api"],
        ["status", "--promises"],
    ):
        ran = run(capfd, *command, "--deployment", str(shallow), str(fleet.source))
        assert (ran.code, ran.out) == (1, "")
        assert "shallow" in ran.err
        assert "fetch --unshallow" in ran.err
    chosen = settings(str(fleet.source), deployment=str(shallow), now=LATER)
    assert len(verify_history(chosen, "HEAD~1", 1, silently)) == 1


def test_a_fleet_in_a_directory_that_is_not_named_is_a_slip_and_the_hint_says_so(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    git("rm", "-rq", "--cached", ".", cwd=fleet.source)
    (fleet.source / "one").mkdir()
    for path in [p for p in fleet.source.iterdir() if p.name not in (".git", "one")]:
        path.rename(fleet.source / "one" / path.name)
    git("add", ".", cwd=fleet.source)
    git("commit", "-q", "-m", "into a directory", cwd=fleet.source, at="2026-01-02T03:00:00Z")
    where = {"deployment": fleet.deployment, "now": "2026-01-02T03:05:00Z"}
    reconcile(settings(str(fleet.source), path="one", **where), progress=silently)
    assert one(fleet, path="one").answer is Answer.VERIFIED
    wrong = one(fleet).discrepancy
    assert wrong is not None
    assert wrong.mismatch is Mismatch.MESSAGE
    assert "--path" in wrong.hint


def test_a_capacity_tree_that_is_nowhere_is_named_with_its_branch(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.commit({}, remove=("capacity/a.yaml", "capacity/b.yaml"))
    apart = tmp_path / "apart"
    apart.mkdir()
    for name, text in snapshot("a", "n1 32 128Gi 4").items():
        (apart / name).write_text(text + "# kept apart\n")
    chosen = settings(str(fleet.source), deployment=fleet.deployment, capacity=str(apart), now="2026-01-02T03:05:00Z")
    reconcile(chosen, progress=silently)
    assert one(fleet).answer is Answer.VERIFIED
    fleet.git("update-ref", "-d", "refs/heads/gitplacer-inputs")
    fleet.git("gc", "-q", "--prune=now")
    checked = one(fleet)
    assert (checked.answer, checked.discrepancy and checked.discrepancy.mismatch) == ("InputMissing", "CapacityGone")
    assert checked.discrepancy is not None
    assert "gitplacer-inputs:gitplacer-inputs" in checked.discrepancy.hint


def test_a_capacity_tree_beside_the_source_is_the_same_tree(fleet: Fleet) -> None:
    fleet.git("update-ref", "-d", "refs/heads/gitplacer-inputs")
    fleet.git("gc", "-q", "--prune=now")
    assert one(fleet).answer is Answer.VERIFIED


def test_a_source_that_is_another_is_named(fleet: Fleet, tmp_path: Path) -> None:
    other = made(tmp_path, "other")
    other.commit({"README.md": "other\n"})
    checked = one(Fleet(other.source, fleet.deployment, fleet.bare))
    assert checked.answer is Answer.INPUT_MISSING
    assert checked.discrepancy is not None
    assert checked.discrepancy.mismatch is Mismatch.SOURCE_GONE


# the command


def verify(capfd: pytest.CaptureFixture[str], fleet: Fleet, *args: str) -> tuple[int, str, str]:
    done = run(capfd, "verify", "--deployment", fleet.deployment, "--now", LATER, *args, fleet.source)
    return done.code, done.out, done.err


def test_the_command_says_what_is_proved_and_from_what(fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = verify(capfd, fleet)
    assert code == 0
    assert re.fullmatch(
        r"Verified  [0-9a-f]{12}  2026-01-02T03:10:00Z  step 2/2  Place prod/new\n"
        r"  from source [0-9a-f]{12}, capacity [0-9a-f]{12} and deployment [0-9a-f]{12}, byte for byte\n",
        out,
    ), out
    assert verify(capfd, fleet, "--all")[:2] == (0, "3 commits: 3 Verified\n")
    assert len(verify(capfd, fleet, "--all", "--verbose")[1].splitlines()) == 5


def test_the_command_fails_for_what_differs_and_shows_how(
    fleet: Fleet, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rewritten(fleet, tmp_path, scaled)
    code, out, _ = verify(capfd, fleet, "--all")
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("Differs  ")
    assert lines[1] == f"  {API} is not what the pass wrote"
    assert "      -      replicas: 1" in lines
    assert lines[-1] == "3 commits: 2 Verified, 1 Differs"


def test_what_nobody_computed_fails_only_where_that_is_asked_for(
    fleet: Fleet, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    clone = clone_of(fleet, tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "::error::by hand \x1b[31m", cwd=clone)
    git("push", "-q", cwd=clone)
    code, out, err = verify(capfd, fleet)
    assert (code, err) == (0, "")
    assert "by Ada" in out
    assert "\x1b" not in out
    code, out, err = verify(capfd, fleet, "--strict")
    assert (code, err) == (1, "failed on 1 foreign commit, because of --strict\n")


def test_another_version_is_named_with_how_to_run_it(
    fleet: Fleet, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    forged(fleet, put(b"^Gitplacer-Version: .*$", b"Gitplacer-Version: 9.9.9"))
    rewritten(fleet, tmp_path, scaled)
    code, out, _ = verify(capfd, fleet)
    assert code == 1
    assert out.startswith("OtherVersion  ")
    assert "pipx run gitplacer==9.9.9 verify --commit" in out


def test_json_has_every_commit_with_its_answer(fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    forged(fleet, put(b"^Place prod/new$", b"Place prod/old"))
    code, out, _ = verify(capfd, fleet, "--all", "--format", "json")
    document = json.loads(out)
    assert code == 1
    assert document["summary"] == {"Verified": 2, "Foreign": 0, "OtherVersion": 0, "InputMissing": 0, "Differs": 1}
    last = document["commits"][-1]
    assert (last["answer"], last["reason"]["code"]) == ("Differs", "Message")
    assert last["reason"]["excerpt"] == ["@@ -1,2 +1,2 @@", "-Place prod/new", "+Place prod/old", " "]


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["--commit", "mian"], "has no revision mian", 'did you mean "main"?'),
        (["--since", "gitplacer-inputs"], "is not in the history", "leads back to"),
        (["--commit", "main", "--all"], "--commit is one commit", "give one of them"),
        (["--since", "main", "--all"], "--all begins with the first", "give one of them"),
        (["--path", "nowhere"], "no folder nowhere", ""),
    ],
)
def test_what_cannot_be_verified_says_why(
    fleet: Fleet, capfd: pytest.CaptureFixture[str], args: list[str], message: str, hint: str
) -> None:
    code, _, err = verify(capfd, fleet, *args)
    assert code == 1
    assert message in err
    assert hint in err


def test_a_deployment_that_is_empty_or_not_named_is_an_error(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    with pytest.raises(GitError, match="has no branch main"):
        one(fleet)
    with pytest.raises(UsageError, match="nobody said where the deployment repo is"):
        verify_one(settings(str(fleet.source)), None, silently)


@pytest.mark.parametrize("command", [("verify",), ("history", "prod/api")], ids=" ".join)
def test_where_nobody_names_the_deployment_repo_what_the_fleet_names_is_told(
    command: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is not asked: where to connect is for who runs the command to say."""
    fleet = made(tmp_path)
    url = "https://git.example.com/deployment.git"
    fleet.commit({"fleet.yaml": FLEET.replace("spec: {}", f"spec: {{deployment: {{url: '{url}'}}}}")})
    ran = run(capfd, *command, fleet.source)
    assert (ran.code, ran.err.splitlines()) == (
        1,
        [
            "error: nobody said where the deployment repo is",
            f"  hint: the Fleet names {url}: give --deployment {url}, or set GITPLACER_DEPLOYMENT",
        ],
    )


def test_jobs_that_ran_are_proved_too(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    fleet.commit(rayjob("jobs", "train"))
    fleet.reconcile(5)
    fleet.commit({}, remove=("workloads/jobs/train.yaml",))
    fleet.reconcile(6)
    assert {c.answer for c in everything(fleet)} == {Answer.VERIFIED}
