"""
Passes that plan nothing, because only the text of manifests was edited, do what a whole pass does: the same commit, the same words.

The whole pass is the oracle. A table of edits goes through real git twice, on copies of one fleet, and Hypothesis edits manifests in memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from gitplacer.atrest import rewritables
from gitplacer.controller.doubts import Doubt, Undoubted
from gitplacer.controller.turns import Turn
from gitplacer.explain import standing
from gitplacer.git.program import Git
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.parsecache import ParseCache
from gitplacer.passes import reconcile as reconciling
from gitplacer.passes.opening import at_work
from gitplacer.passes.quiet import quiet
from gitplacer.passes.reconcile import Outcome, Rewritten, Spared, reconcile_unless_quiet
from gitplacer.passes.touching import Touch, rest_of, touched
from gitplacer.rewriting import Edited, needed, rewritten
from gitplacer.settings import Settings
from gitplacer.source.files import MAX_FILE, InMemory, read_file
from gitplacer.source.shares import Share
from gitplacer.telemetry.logs import Logs
from gitplacer.tree import Changes
from gitplacer.units import METADATA
from tests.commands import run
from tests.fleetrepos import Fleet, copied, made, silently
from tests.gitservers import git
from tests.histories import LookedAt
from tests.stories import ANYWHERE, FLEET, Story, cluster, policy, rayjob, rayservice, snapshot
from tests.test_quiet_passes import Counted
from tests.watchedcontrollers import Watched

ROOM = {f"capacity/{path}": text for name in "abc" for path, text in snapshot(name, "n1 64 256Gi 8").items()}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {x: '1'}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1', memory: 1Gi}}ENV}]}\n"


def pod(name: str, config: str = "") -> str:
    env = f", envFrom: [{{configMapRef: {{name: {config}}}}}]" if config else ""
    return POD.replace("NAME", name).replace("ENV", env)


API = "workloads/prod/api.yaml"
FILES: dict[str, str] = {
    "fleet.yaml": FLEET.replace("spec: {}", "spec: {platform: {paths: ['platform/**']}}"),
    "README.md": "ours\n",
    "notes/about.txt": "more\n",
    **cluster(
        "a",
        labels="{luna: 'yes'}",
        autoscaler='{type: Luna, podLabels: {elotl-luna: "true"}}',
    ),
    **cluster("b"),
    **cluster("c", labels="{over: 'yes'}"),
    **ANYWHERE,
    **policy("twice", "select: {namespaces: [twice]}\nprecedence: 10\nplacement: {copies: 2}"),
    **policy("luna", "select: {namespaces: [luna]}\nprecedence: 11\nclusters: {names: [a]}"),
    **policy("over", "select: {namespaces: [over]}\nprecedence: 12\nclusters: {names: [c]}"),
    **policy("own", "select: {namespaces: [own]}\nprecedence: 16\nclusters: {names: [b]}"),
    **policy("nowhere", "select: {namespaces: [nowhere]}\nprecedence: 13\nclusters: {names: [none]}"),
    **policy("divided", "select: {namespaces: [divided]}\nprecedence: 14\nplacement: {type: Divide}"),
    **policy("system", "select: {paths: ['platform/**']}\nprecedence: 15\nplacement: {copies: All}"),
    "policies/override.yaml": (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: tag}\nspec:\n  select: {namespaces: [over], kinds: [RayJob]}\n"
        "  overrides: [{path: /spec/entrypoint, op: replace, value: python other.py}]\n"
        "---\napiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: data}\nspec:\n"
        "  select: {namespaces: [over], kinds: [ConfigMap]}\n  overrides: [{path: /data/y, op: add, value: '1'}]\n"
    ),
    **ROOM,
    "platform/system/config.yaml": CONFIG.replace("{name: NAME}", "{name: system, namespace: system}"),
    **rayservice("prod", "api"),
    **rayjob("prod", "train"),
    **rayservice("twice", "web"),
    **rayjob("luna", "job"),
    **rayjob("over", "job"),
    **rayjob("nowhere", "job"),
    "workloads/divided/web.yaml": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 4\n  selector: {matchLabels: {app: web}}\n"
        "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1', memory: 1Gi}}}]}}\n"
    ),
    "workloads/own/both.yaml": f"{CONFIG.replace('NAME', 'mine')}---\n{pod('both', 'mine')}",
    "workloads/own/fixed.yaml": f"{CONFIG.replace('NAME', 'fixed')}immutable: true\n---\n{pod('fixed', 'fixed')}",
    "workloads/luna/pod.yaml": f"{CONFIG.replace('NAME', 'mine')}---\n{pod('config', 'mine')}",
    "workloads/over/pod.yaml": f"{CONFIG.replace('NAME', 'mine')}---\n{pod('config', 'mine')}",
    "workloads/own/list.yaml": (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: listed}\n"
        "  spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1', memory: 1Gi}}}]}\n"
    ),
    "workloads/two/groups.yaml": f"{pod('one')}---\n{pod('other')}",
    "workloads/use/shared.yaml": CONFIG.replace("NAME", "shared"),
    "workloads/use/one.yaml": pod("first", "shared"),
    "workloads/use/two.yaml": pod("second", "shared"),
    "workloads/broken/pod.yaml": pod("broken").replace("cpu: '1'", "cpu: lots"),
}


@dataclass
class Repo:
    """A work tree that is to be edited."""

    folder: Path

    def add(self, path: str, text: str = "# a comment\n") -> None:
        file = self.folder / path
        file.write_text(file.read_text() + text)

    def new(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def put(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))


Edit = Callable[[Repo], object]


def several(*edits: Edit) -> Edit:
    return lambda repo: [edit(repo) for edit in edits]


def comment(path: str) -> Edit:
    return lambda repo: repo.add(path)


def put(path: str, old: str, new: str) -> Edit:
    return lambda repo: repo.put(path, old, new)


REWRITTEN: dict[str, Edit] = {
    "a comment at the end": comment(API),
    "a comment at the beginning": put(API, "# Served by the team of prod.", "# Served by whom?\n#\n# By nobody."),
    "no comment any more": put(API, "# Served by the team of prod.\n", ""),
    "a comment amid the lines": put(API, "  rayClusterConfig:\n", "  rayClusterConfig:  # what runs\n\n"),
    "other quotes": put(API, 'nvidia.com/gpu: "1"', "nvidia.com/gpu: '1'"),
    "a flow as a block": put(API, "metadata: {name: api, labels: {}}", "metadata:\n  name: api\n  labels: {}"),
    "a marker before it": put(API, "apiVersion: ray.io/v1", "---\napiVersion: ray.io/v1"),
    "line ends of Windows": lambda repo: (repo.folder / API).write_bytes(
        (repo.folder / API).read_bytes().replace(b"\n", b"\r\n")
    ),
    "a RayJob": comment("workloads/prod/train.yaml"),
    "copies on two clusters": comment("workloads/twice/web.yaml"),
    "labels that a cluster adds": comment("workloads/luna/job.yaml"),
    "an override": put("workloads/over/job.yaml", "python train.py", '"python train.py"  # not here'),
    "what is warned about, in the same lines": put(
        "workloads/prod/train.yaml", "  name: train", "  name: train  # or not"
    ),
    "two objects of one group in a file": comment("workloads/own/both.yaml"),
    "what a ConfigMap holds": put("workloads/own/both.yaml", "{x: '1'}", "{x: '2', z: more}"),
    "a ConfigMap that holds nothing any more": put("workloads/own/both.yaml", "data: {x: '1'}\n", ""),
    "a ConfigMap with bytes": put("workloads/own/both.yaml", "data: {x: '1'}\n", "binaryData: {x: AAAA}\n"),
    "amid a List": put("workloads/own/list.yaml", "  spec: {", "  # a comment\n  spec: {"),
    "who shares a ConfigMap": comment("workloads/use/one.yaml"),
    "who waits beside who does not": several(
        comment(API), put("workloads/nowhere/job.yaml", "  name: job", "  name: job  # and waits")
    ),
    "a comment, and files that are not read": several(
        comment(API),
        lambda repo: repo.new("workloads/prod/api.md", "ours\n"),
        lambda repo: (repo.folder / "README.md").unlink(),
    ),
    "several groups, and text that is not read": several(
        comment(API), comment("workloads/twice/web.yaml"), comment("README.md"), comment("workloads/own/both.yaml")
    ),
}
SPARED: dict[str, Edit] = {
    "who waits": put("workloads/nowhere/job.yaml", "  name: job", "  name: job  # and waits"),
    "who is held": comment("workloads/broken/pod.yaml"),
    "text that is not read": several(comment("README.md"), comment("notes/about.txt")),
    "a file more that is not read": lambda repo: repo.new("docs/pictures/more.svg", "<svg/>\n"),
    "a file less that is not read": lambda repo: (repo.folder / "README.md").unlink(),
    "another name of a file that is not read": lambda repo: (repo.folder / "README.md").rename(repo.folder / "README"),
    "a workflow": lambda repo: repo.new(".github/workflows/plan.yml", "on: push\n"),
    "behind a List, of which the items alone are deployed": comment("workloads/own/list.yaml"),
}
WHOLE: dict[str, Edit] = {
    "more workers": put(API, "replicas: 1", "replicas: 2"),
    "another image": put("workloads/prod/train.yaml", "image: ray", "image: ray:2"),
    "a ConfigMap with another label": put("workloads/own/both.yaml", "{name: mine}", "{name: mine, labels: {a: b}}"),
    "a ConfigMap that becomes immutable": put("workloads/own/both.yaml", "data: {x", "immutable: true\ndata: {x"),
    "a ConfigMap that is immutable": put("workloads/own/fixed.yaml", "{x: '1'}", "{x: '2'}"),
    "a ConfigMap that an override changes": put("workloads/over/pod.yaml", "{x: '1'}", "{x: '2'}"),
    "a ConfigMap and its pod": several(
        put("workloads/own/both.yaml", "{x: '1'}", "{x: '2'}"), put("workloads/own/both.yaml", "image: x", "image: y")
    ),
    "another order": put("workloads/own/both.yaml", "apiVersion: v1\nkind: ConfigMap", "kind: ConfigMap\napiVersion: v1"),
    "another label": put(API, "labels: {}", "labels: {tier: front}"),
    "an annotation": put(API, "labels: {}", "annotations: {gitplacer.dev/cluster: b}"),
    "another name": put(API, "name: api", "name: ipa"),
    "a comment to Argo CD": lambda repo: repo.add(API, "# +argocd:skip-file-rendering\n"),
    "one object less": put("workloads/own/both.yaml", f"{CONFIG.replace('NAME', 'mine')}---\n", ""),
    "one object more": lambda repo: repo.add(API, f"---\n{CONFIG.replace('NAME', 'more')}"),
    "no YAML any more": lambda repo: repo.add(API, "}\n"),
    "more than is read of a file": lambda repo: repo.add(API, f"# {'x' * MAX_FILE}\n"),
    "nothing left of it": lambda repo: (repo.folder / API).write_text("# nothing\n"),
    "what a group shares with another": comment("workloads/use/shared.yaml"),
    "a file of two groups": comment("workloads/two/groups.yaml"),
    "who waits, and asks for less": put("workloads/nowhere/job.yaml", "replicas: 2", "replicas: 1"),
    "who is divided": comment("workloads/divided/web.yaml"),
    "who is held, one line further down": put("workloads/broken/pod.yaml", "kind: Pod", "# a comment\nkind: Pod"),
    "what is warned about, one line further down": put("workloads/prod/train.yaml", "kind: RayJob", "# a comment\nkind: RayJob"),
    "the platform": comment("platform/system/config.yaml"),
    "the Fleet": comment("fleet.yaml"),
    "a Cluster": comment("clusters/a.yaml"),
    "a policy": comment("policies/anywhere.yaml"),
    "a snapshot": comment("capacity/a.yaml"),
    "a manifest more": lambda repo: repo.new("more.yaml", CONFIG.replace("NAME", "more")),
    "what keeps a folder from being read": lambda repo: repo.new("workloads/prod/Kustomization", "resources: []\n"),
    "a manifest for its name in capitals": lambda repo: repo.new("workloads/prod/more.YAML", "kind: Pod\n"),
    "a new link": lambda repo: (repo.folder / "workloads/prod/more.md").symlink_to("train.yaml"),
    "a manifest less": lambda repo: (repo.folder / API).unlink(),
    "a manifest elsewhere": lambda repo: (repo.folder / API).rename(repo.folder / "workloads/prod/moved.yaml"),
    "a manifest that may be run": lambda repo: (repo.folder / API).chmod(0o755),
    "a manifest that is a link": lambda repo: (
        (repo.folder / API).unlink(), (repo.folder / API).symlink_to("train.yaml"),
    ),
    "a comment, and a policy": several(comment(API), comment("policies/anywhere.yaml")),
    "a comment, and more workers": several(comment("workloads/prod/train.yaml"), put(API, "replicas: 1", "replicas: 2")),
}  # fmt: skip


@dataclass
class Rested:
    """A fleet at rest, and the cache that knows it to be."""

    fleet: Fleet
    cache: Path

    def settings(self, minute: int) -> Settings:
        return structs.replace(self.fleet.settings(minute), cache_dir=self.cache)

    def passed(self, minute: int) -> Outcome | Spared | Rewritten:
        return reconcile_unless_quiet(self.settings(minute), progress=silently)

    def touched(self, minute: int = 21) -> tuple[Touch | None, Inputs, InMemory]:
        """What a pass would write again, and all that it depends on."""
        chosen = self.settings(minute)
        memo = ParseCache(chosen.cache_dir)
        with at_work(chosen, memo, silently) as work:
            rest = rest_of(memo, work, chosen.folder)
            found = touched(memo, work, chosen.folder, rest) if rest is not None else None
            return found, work.inputs.in_memory(), InMemory(memo)


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Rested:
    folder = tmp_path_factory.mktemp("rested")
    source, bare = folder / "source", folder / "deployment.git"
    source.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=source)
    git("init", "-q", "--bare", "-b", "main", str(bare), cwd=folder)
    found = Rested(Fleet(source, str(bare), bare), folder / "cache")
    found.fleet.commit(FILES, "start")
    assert isinstance(found.passed(5), Outcome)
    for minute in range(6, 12):
        done = found.passed(minute)
        if isinstance(done, Outcome) and done.tip is None:
            break
    assert isinstance(found.passed(20), Spared)
    git("tag", "rest", cwd=source)
    return found


@pytest.fixture
def rested(placed: Rested) -> Iterator[Rested]:
    """Edits are taken back."""
    yield placed
    git("reset", "-q", "--hard", "rest", cwd=placed.fleet.source)
    git("clean", "-q", "-fd", cwd=placed.fleet.source)


def edited(rested: Rested, edit: Edit) -> None:
    edit(Repo(rested.fleet.source))
    rested.fleet.commit({}, "An edit\n\nCo-authored-by: B <b@example.com>")


@pytest.mark.parametrize("edit", REWRITTEN.values(), ids=REWRITTEN)
def test_an_edit_comes_to_what_a_whole_pass_makes_of_it(rested: Rested, edit: Edit) -> None:
    edited(rested, edit)
    found, inputs, memo = rested.touched()
    whole = hydrate(inputs, memo=memo, with_candidates=False)
    assert found is not None
    (step,) = whole.steps
    assert (step.message, step.changes.removed) == (found.message, frozenset())
    assert step.changes.written == found.changes.written
    assert (whole.problems, standing(whole.view.plan)) == (found.quiet.problems, found.quiet.standing)
    assert not whole.proposals


@pytest.mark.parametrize("edit", WHOLE.values(), ids=WHOLE)
def test_whatever_may_mean_more_is_planned(rested: Rested, edit: Edit) -> None:
    edited(rested, edit)
    assert rested.touched()[0] is None


@pytest.mark.parametrize("edit", SPARED.values(), ids=SPARED)
def test_text_that_nobody_reads_changes_nothing(rested: Rested, edit: Edit) -> None:
    edited(rested, edit)
    found, inputs, memo = rested.touched()
    assert found is not None and not found.changes
    assert not hydrate(inputs, memo=memo, with_candidates=False).steps


def test_more_files_than_a_person_edits_are_planned(rested: Rested, monkeypatch: pytest.MonkeyPatch) -> None:
    edited(rested, several(comment(API), comment("workloads/own/both.yaml")))
    assert rested.touched()[0] is not None
    monkeypatch.setattr("gitplacer.source.edited.MOST_FILES", 1)
    assert rested.touched()[0] is None


def test_what_may_fill_the_fleet_is_planned(rested: Rested, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose files are too large together is asked of the whole source."""
    edited(rested, comment(API))
    monkeypatch.setattr("gitplacer.source.edited.MOST", Share(1, 1, 1000))
    assert rested.touched()[0] is None


def test_a_time_before_it_was_found_at_rest_is_planned(rested: Rested) -> None:
    edited(rested, comment(API))
    assert rested.touched(4)[0] is None


# through git


@pytest.fixture
def own(tmp_path: Path) -> Rested:
    """A smaller one, for whoever publishes to it."""
    found = Rested(made(tmp_path), tmp_path / "cache")
    assert isinstance(found.passed(5), Outcome)
    assert isinstance(found.passed(6), Outcome)
    assert isinstance(found.passed(7), Spared)
    return found


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def add(own: Rested, text: str = "# a comment\n") -> None:
    edited(own, lambda repo: repo.add(API, text))


def test_one_edit_after_another_is_written_and_nothing_is_planned(own: Rested, computed: Counted) -> None:
    before = computed.number
    for minute in range(8, 12):
        add(own, f"# edit {minute}\n")
        done = own.passed(minute)
        assert isinstance(done, Rewritten)
        assert (done.tip, done.subject) == (own.fleet.git("rev-parse", "main").strip(), "Update prod/api")
        assert isinstance(own.passed(minute), Spared)
    assert computed.since(before) == 0
    assert own.fleet.git("show", f"main:clusters/a/{API.replace('api', 'api/api')}").endswith("# edit 11")
    whole = own.fleet.reconcile(12)
    assert whole.tip is None, "a whole pass has nothing to add"


def test_it_is_printed_as_a_whole_pass_is(own: Rested, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own.fleet.commit({**rayservice("prod", "huge", cpu="4000"), "workloads/prod/broken.yaml": "kind: ["})
    own.passed(8)
    own.passed(9)
    add(own)
    other = copied(own.fleet, tmp_path / "other")
    told = []
    for fleet, more in ((own.fleet, ()), (other, ("--full",))):
        at = ("--deployment", fleet.bare, "--now", "2026-01-02T03:10:00Z")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GITPLACER_CACHE", str(own.cache))
            done = run(capfd, "reconcile", fleet.source, *at, *more)
        refs = fleet.git("for-each-ref", "--format=%(refname) %(objectname)")
        told.append((done.code, refs, *(text.replace(str(fleet.bare), "BARE") for text in (done.out, done.err))))
    assert told[0] == told[1]
    assert "Update prod/api" in told[0][2]
    assert "prod/huge" in told[0][3] and "broken.yaml:1:" in told[0][3]


def test_a_snapshot_that_becomes_stale_is_planned(own: Rested, computed: Counted) -> None:
    """That of 03:05 is stale after fifty minutes, and somebody waits for what it will say."""
    own.fleet.commit({**cluster("a", maxAge="50m"), **rayservice("prod", "huge", cpu="4000")})
    own.passed(8)
    own.passed(9)
    before = computed.number
    add(own)
    assert isinstance(own.passed(54), Rewritten)
    add(own)
    assert isinstance(own.passed(56), Outcome)
    assert computed.since(before) == 1


def overtaken(own: Rested, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Somebody else pushes before the next pass does; comes to hold the commit."""
    publish, raced = reconciling._publish, list[str]()

    def pushed(*args: Any) -> str:
        if not raced:
            tree = own.fleet.git("rev-parse", "main^{tree}").strip()
            raced.append(git("commit-tree", tree, "-p", "main", "-m", "by hand", cwd=own.fleet.bare).strip())
            own.fleet.git("update-ref", "refs/heads/main", raced[0])
        return publish(*args)

    monkeypatch.setattr(reconciling, "_publish", pushed)
    return raced


def test_whoever_pushes_first_is_read_again(own: Rested, monkeypatch: pytest.MonkeyPatch) -> None:
    add(own)
    raced = overtaken(own, monkeypatch)
    done = own.passed(8)
    assert isinstance(done, Outcome) and done.attempts == 2
    assert own.fleet.git("rev-parse", "main~1").strip() == raced[0]


def by_hand(own: Rested, path: str, text: str, folder: Path) -> None:
    git("clone", "-q", str(own.fleet.bare), str(folder), cwd=own.fleet.source)
    (folder / path).write_text(text)
    git("add", "--all", cwd=folder)
    git("commit", "-q", "-m", "by hand", cwd=folder)
    git("push", "-q", "origin", "HEAD:main", cwd=folder)


def test_a_hand_in_the_deployment_repo_is_planned_with(own: Rested, tmp_path: Path) -> None:
    by_hand(own, "clusters/a/workloads/prod/api/api.yaml", "by hand\n", tmp_path / "clone")
    own.passed(8)
    add(own)
    assert isinstance(own.passed(9), Outcome)


def test_an_open_proposal_is_planned_with(own: Rested) -> None:
    own.fleet.git("update-ref", "refs/heads/gitplacer/proposed/prod/api", "main")
    add(own)
    assert isinstance(own.passed(8), Outcome)


def test_a_source_that_lost_commits_is_doubted(own: Rested) -> None:
    add(own)
    assert isinstance(own.passed(8), Rewritten)
    git("reset", "-q", "--hard", "HEAD~1", cwd=own.fleet.source)
    add(own, "# another\n")
    doubted = Undoubted(own.settings(9), (), lambda doubt: None, at_a_time=True)
    with pytest.raises(Doubt, match="is not behind it"):
        reconcile_unless_quiet(
            own.settings(9), progress=silently, before_push=doubted, before_quick_push=doubted.of_unplanned
        )


def test_promoters_are_told_of_it(own: Rested) -> None:
    own.fleet.commit({"fleet.yaml": FLEET.replace("spec: {}", "spec: {deployment: {hydrator: {notes: true}}}")})
    own.passed(8)
    own.passed(9)
    add(own)
    assert isinstance(own.passed(10), Rewritten)
    told = own.fleet.git("notes", "--ref=hydrator.metadata", "show", "main")
    assert git("rev-parse", "HEAD", cwd=own.fleet.source).strip() in told


@pytest.mark.unproved("verifying lists trees")
def test_it_lists_no_tree_but_the_source(own: Rested, monkeypatch: pytest.MonkeyPatch) -> None:
    add(own)
    listed: list[str] = []
    listing = Git.run

    def noted(self: Git, *args: str, **kwargs: Any) -> bytes:
        listed.extend(str(self.git_dir) for _ in args[:1] if args[0] == "ls-tree")
        return listing(self, *args, **kwargs)

    monkeypatch.setattr(Git, "run", noted)
    assert isinstance(own.passed(8), Rewritten)
    assert [Path(place).name for place in listed] == [".git"]


def test_it_imports_no_planner(own: Rested) -> None:
    add(own)
    code = (
        "import sys; from gitplacer.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as ended: assert not ended.code\n"
        "print(*sorted(sys.modules))"
    )
    command = ["reconcile", own.fleet.source, "--deployment", own.fleet.bare, "--now", "2026-01-02T03:08:00Z"]
    environment = {**os.environ, "GITPLACER_CACHE": str(own.cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith("Published")
    assert "gitplacer.passes.touching" in done.stdout.split()
    assert not set(done.stdout.split()) & {"numpy", "gitplacer.hydrate", "gitplacer.explain", "gitplacer.placement"}


# the controller


def turns_with_two_edits(watched: Watched, first: Callable[[str], str], second: Callable[[str], str]) -> list[Turn]:
    """The passes of a controller that writes an app again for each of two edits between whole ones, as it tells in its log too."""
    lines: list[str] = []
    watched.controller = watched.new(Logs(lines.append, watched.clock.wall))
    path = watched.fleet.source / API
    for at, edit in ((310, first), (470, second)):
        watched.at(at, lambda edit=edit: watched.fleet.commit({API: edit(path.read_text())}))  # type: ignore[misc]
    turns = [turn for turn in watched.until(700) if not turn.is_look]
    assert [(turn.outcome, bool(turn.hydration), turn.rewrote) for turn in turns] == [
        ("Published", True, ""),
        ("Unchanged", True, ""),
        ("Unchanged", True, ""),
        ("Published", False, "Update prod/api"),
        ("Published", False, "Update prod/api"),
        ("Unchanged", True, ""),
    ]
    assert sum("Published  → " in line and line.rstrip().endswith("Update prod/api") for line in lines) == 2
    return turns


def test_the_controller_writes_it_between_whole_passes_and_tells(tmp_path: Path) -> None:
    watched = Watched(made(tmp_path))
    turns = turns_with_two_edits(watched, lambda text: f"{text}# a comment\n", lambda text: f"{text}# another\n")
    assert turns[4].tip == watched.fleet.git("rev-parse", "main").strip()
    assert turns[4].source == git("rev-parse", "HEAD", cwd=watched.fleet.source).strip()


# the law


def settled(*files: Mapping[str, str]) -> tuple[Story, Hydration]:
    """A story in which nothing happens any more, and the pass that says so."""
    story = Story.of(*files, ANYWHERE, cluster("a"), capacity=snapshot("a", "n1 64 256Gi 8"))
    for _ in range(5):
        done = story.run()
        if not done.steps:
            return story, done
    raise AssertionError("it does not come to rest")


LAW, LAW_DONE = settled(
    rayservice("prod", "api"), {"workloads/own/both.yaml": FILES["workloads/own/both.yaml"]}, rayjob("prod", "train")
)
LAW_FILES = rewritables(LAW.inputs(), LAW_DONE)
LINES = st.sampled_from(
    ["", "# a comment", "  # another", "---", "    - x", "metadata: {}", "x: 1", "spec:", " ", "..."]
)
MOVES = st.one_of(
    st.tuples(st.just("insert"), st.integers(0, 40), LINES),
    st.tuples(st.just("append"), st.integers(0, 40), st.sampled_from([" # said", " ", "x", ": 1", "'"])),
    st.tuples(st.just("drop"), st.integers(0, 40), st.just("")),
    st.tuples(st.just("swap"), st.integers(0, 40), st.sampled_from(["1 2", "'", '"', "x", "true false", "{ [", ": ,"])),
)


def bent(text: str, moves: list[tuple[str, int, str]]) -> str:
    """A text with some of its lines otherwise."""
    lines = text.split("\n")
    for sort, at, word in moves:
        at %= len(lines)
        if sort == "insert":
            lines.insert(at, word)
        elif sort == "append":
            lines[at] += word
        elif sort == "drop" and len(lines) > 1:
            del lines[at]
        elif sort == "swap":
            old, _, new = word.partition(" ")
            lines[at] = lines[at].replace(old, new, 1)
    return "\n".join(lines)


def written_again(path: str, after: str) -> dict[str, bytes] | None:
    """What comes of a text of the story without planning."""
    texts = [text.encode() for text in (LAW.source[path], after)]
    deployed = {place: LAW.deployment.read(place) for place in needed([LAW_FILES[path]])}
    edit = Edited(LAW_FILES[path], *texts, *(read_file(data, MAX_FILE) for data in texts))
    return rewritten([edit], deployed, LAW_DONE.snapshot.source.own.fleet.spec)


KNOWN = (
    (API, [("append", 0, " # said"), ("insert", 0, "# a comment")]),
    ("workloads/own/both.yaml", [("insert", 3, "# a comment")]),
    ("workloads/own/both.yaml", [("swap", 3, "1 2")]),
    ("workloads/prod/train.yaml", [("insert", 30, "")]),
)


@pytest.mark.parametrize(("path", "moves"), KNOWN)
def test_the_law_has_something_to_say(path: str, moves: list[tuple[str, int, str]]) -> None:
    assert written_again(path, bent(LAW.source[path], moves))


@given(st.sampled_from(sorted(LAW_FILES)), st.lists(MOVES, min_size=1, max_size=3))
@example(*KNOWN[0])
@example(*KNOWN[1])
@example(*KNOWN[2])
@example(*KNOWN[3])
def test_what_is_written_without_planning_is_what_planning_comes_to(
    path: str, moves: list[tuple[str, int, str]]
) -> None:
    after = bent(LAW.source[path], moves)
    found = written_again(path, after)
    if found is None:
        return
    story = replace(LAW, source={**LAW.source, path: after})
    done = story.plan()
    written = [{p: data for p, data in step.changes.written.items() if p != METADATA} for step in done.steps]
    assert written == ([found] if found else [])
    assert not any(step.changes.removed for step in done.steps)
    same_places = all(p.location.file != path for p in LAW_DONE.problems)
    assert not same_places or done.problems == LAW_DONE.problems
    assert done.proposals == ()


def test_where_a_cluster_overrides_data_is_planned() -> None:
    """Its override is made where an object has the field, so other data may be another object there, or anywhere it may go."""
    overridden = cluster("b", overrides="[{path: /data/z, op: replace, value: '1'}]")
    story, done = settled({"workloads/own/both.yaml": FILES["workloads/own/both.yaml"]}, overridden)
    found = rewritables(story.inputs(), done)
    assert [each.plain for each in found.values()] == [False]
    assert [each.plain for each in LAW_FILES.values()] == [True, True, True]


@pytest.mark.parametrize(("bound", "known"), [(f", plan: 'sha256:{'0' * 64}'", False), ("", True)], ids=["one", "any"])
def test_whom_somebody_consents_about_to_one_plan_is_planned(bound: str, known: bool) -> None:
    """An edit makes another plan of it, which is to be told."""
    path = "workloads/own/both.yaml"
    text = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
        f"spec: {{groups: [own/both], action: Return, expires: 2026-01-03T00:00:00Z{bound}}}\n"
    )
    story, done = settled({path: FILES[path], "approvals/ok.yaml": text})
    assert (path in rewritables(story.inputs(), done)) is known


def test_what_is_not_deployed_as_it_was_written_is_planned() -> None:
    path, text = API, LAW.source[API].encode()
    after = text + b"# a comment\n"
    edit = Edited(LAW_FILES[path], text, after, read_file(text, MAX_FILE), read_file(after, MAX_FILE))
    deployed = {place: LAW.deployment.read(place) for place in needed([LAW_FILES[path]])}
    spec = LAW_DONE.snapshot.source.own.fleet.spec
    assert rewritten([edit], deployed, spec) is not None
    for place in deployed:
        for other in (None, deployed[place] + b"\n", b"{}"):
            bad = {p: data for p, data in deployed.items() if p != place} | (
                {place: other} if other is not None else {}
            )
            assert rewritten([edit], bad, spec) is None, (place, other)
    ahead = structs.replace(
        edit.rewritable, places=tuple(structs.replace(p, epoch=p.epoch + 9) for p in edit.rewritable.places)
    )
    assert rewritten([structs.replace(edit, rewritable=ahead)], deployed, spec) is None, (
        "an epoch was reached that it does not tell"
    )


class Retold(LookedAt):
    """A life in which, now and then, the text of a manifest is edited where nothing else happens, and nobody has to know."""

    def _witness(self, capacity: Mapping[str, str], now: datetime, plain: Hydration) -> None:
        if plain.steps or self.dice.random() >= 0.3:
            return
        inputs, horizon, done = self._noted(capacity, now)
        known = rewritables(inputs, done)
        rest = quiet(done, horizon)
        if rest is None or not known:
            return
        nowhere = [path for path in sorted(known) if not known[path].places]
        path = self.dice.choice(nowhere or sorted(known))
        text = inputs.source.read(path)
        after = text + b"# a comment\n"
        edit = Edited(known[path], text, after, read_file(text, MAX_FILE), read_file(after, MAX_FILE))
        deployed = inputs.deployment.read_all(needed([known[path]]))
        found = rewritten([edit], deployed, done.snapshot.source.own.fleet.spec)
        if found is None:
            self.counts["planned"] += 1
            return
        source = inputs.source.apply(Changes({path: after}))
        whole = hydrate(structs.replace(inputs, source=source), memo=self.memory, with_candidates=False)
        written = [{p: data for p, data in step.changes.written.items() if p != METADATA} for step in whole.steps]
        assert written == ([found] if found else []), (self.seed, now, path)
        later = structs.replace(inputs, source=source, deployment=whole.tree)
        end = rest.until or now + timedelta(days=40)
        for at in (now, now + (end - now) * self.dice.random()):
            again = hydrate(structs.replace(later, now=at), memo=self.memory, with_candidates=False)
            assert (again.steps, again.problems) == ((), rest.problems), (self.seed, now, at, path)
            assert (standing(again.view.plan), again.proposals) == (rest.standing, ())
        self.counts["rewritten" if found else "nothing to write"] += 1


def test_a_fleet_at_rest_is_at_rest_when_texts_were_edited() -> None:
    lives = [Retold(seed).live(events=20) for seed in range(4)]
    assert not [life.wrong for life in lives if life.wrong]
    assert sum(life.counts["rewritten"] for life in lives) >= 10, [life.counts for life in lives]
