"""
`docs/examples/kubectl/sync.sh`: a cluster is brought to what the deployment repo says by git and kubectl alone.

The script, git and kubectl are the real ones; the API server is a stand-in (`tests/kubestandin.py`).
"""

from __future__ import annotations

import contextlib
import copy
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import Ran, commit, git, make_repo, write
from tests.kubestandin import KubeApi, kubeconfig, serving

SCRIPT = Path(__file__).parent.parent / "docs/examples/kubectl/sync.sh"
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

pytestmark = [pytest.mark.server, pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")]

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rayclusters.ray.io}
spec:
  group: ray.io
  scope: Namespaced
  names: {plural: rayclusters, kind: RayCluster}
  versions: [{name: v1, served: true, storage: true}]
"""


def namespace(name: str) -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"


def thing(kind: str, where: str, value: str = "1") -> str:
    api = {"RayCluster": "ray.io/v1"}.get(kind, "v1")
    ns, name = where.split("/")
    return f'apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: {ns}}}\ndata: {{value: "{value}"}}\n'


def sentinel(cluster: str, unit: str, epoch: int) -> str:
    told = f'{{cluster: {cluster}, unit: {unit}, epoch: "{epoch}"}}'
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: gitplacer-{unit}, namespace: gitplacer}}\ndata: {told}\n"
    )


def directory(cluster: str, epoch: int, files: Mapping[str, str]) -> dict[str, str]:
    """The directory of a cluster, as gitplacer writes it."""
    own = {
        "platform/namespaces/gitplacer.yaml": namespace("gitplacer"),
        "platform/namespaces/ml.yaml": namespace("ml"),
        **{f"{unit}/gitplacer.yaml": sentinel(cluster, unit, epoch) for unit in ("platform", "workloads")},
    }
    return {f"clusters/{cluster}/{path}": text for path, text in {**own, **files}.items()}


OPERATOR = {
    "platform/kuberay/crds.yaml": CRD,
    "platform/kuberay/an-example.yaml": thing("RayCluster", "ml/example"),
    "platform/a-setting.yaml": thing("ConfigMap", "ml/setting"),
}
FIRST = {
    **OPERATOR,
    "workloads/ml/leaves/leaves.yaml": thing("RayCluster", "ml/leaves") + "---\n" + thing("ConfigMap", "ml/with-it"),
    "workloads/ml/stays/stays.yaml": thing("RayCluster", "ml/stays"),
    "workloads/ml/edited/odd name\t1.yaml": thing("RayCluster", "ml/edited"),
    "workloads/ml/renamed/before.yaml": thing("Service", "ml/renamed"),
}
SECOND = {
    **OPERATOR,
    "workloads/ml/stays/stays.yaml": thing("RayCluster", "ml/stays"),
    "workloads/ml/edited/odd name\t1.yaml": thing("RayCluster", "ml/edited", "2"),
    "workloads/ml/renamed/after.yaml": thing("Service", "ml/renamed"),
    "workloads/ml/comes/comes.yaml": thing("RayCluster", "ml/comes"),
}
PLACED = {"namespaces /ml", "configmaps ml/setting", "rayclusters ml/example", "rayclusters ml/stays",
          "rayclusters ml/edited", "services ml/renamed"}  # fmt: skip
AFTER_FIRST = {*PLACED, "rayclusters ml/leaves", "configmaps ml/with-it"}
AFTER_SECOND = {*PLACED, "rayclusters ml/comes"}
OURS = {
    "namespaces /default", "namespaces /gitplacer", "customresourcedefinitions /rayclusters.ray.io",
    *(f"configmaps gitplacer/gitplacer-{name}" for name in ("platform", "workloads", "sync")),
}  # fmt: skip


@dataclass
class Scene:
    """A deployment repo, a cluster, and the script between them."""

    folder: Path
    api: KubeApi
    url: str
    repo: Path

    def __post_init__(self) -> None:
        (self.folder / "config").write_text(kubeconfig({"east": self.url, "other": self.url}))

    def push(self, epoch: int, files: Mapping[str, str], cluster: str = "east") -> str:
        git(self.repo, "rm", "-rq", ".")
        write(self.repo, directory(cluster, epoch, files))
        commit(self.repo, "Next")
        return self.tip

    @property
    def tip(self) -> str:
        return git(self.repo, "rev-parse", "HEAD").strip()

    def start(self, *args: str) -> subprocess.Popen[str]:
        for name in ("tmp", "home"):
            (self.folder / name).mkdir(exist_ok=True)
        env = {
            **os.environ, "KUBECONFIG": str(self.folder / "config"), "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
        }  # fmt: skip
        return subprocess.Popen(
            [SCRIPT, *args], env=env, cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def sync(self, *args: str) -> Ran:
        process = self.start(*(args or (str(self.repo), "east")))
        out, err = process.communicate()
        assert list((self.folder / "tmp").iterdir()) == [], "it tidies up"
        return Ran(process.returncode, out, err)

    def changes(self) -> list[str]:
        """What was changed since this was asked last, but for what the script notes."""
        found, self.api.changes[:] = [c for c in self.api.changes if not c.endswith("/gitplacer-sync")], []
        return found

    @property
    def remembered(self) -> str:
        data: dict[str, str] = self.api.objects["v1", "configmaps", "gitplacer", "gitplacer-sync"]["data"]
        return data["commits"]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A cluster that has nothing yet."""
    api = KubeApi()
    with serving(api) as url:
        yield Scene(tmp_path, api, url, make_repo(tmp_path / "deployment", directory("east", 1, FIRST)))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A cluster that was synced once, to begin from; nobody serves it any more."""
    folder, api = tmp_path_factory.mktemp("first"), KubeApi()
    with serving(api) as url:
        scene = Scene(folder, api, url, make_repo(folder / "deployment", directory("east", 1, FIRST)))
        assert scene.sync().code == 0
    return scene


@pytest.fixture
def synced(first: Scene, tmp_path: Path) -> Iterator[Scene]:
    api = KubeApi()
    api.objects = copy.deepcopy(first.api.objects)
    shutil.copytree(first.repo, tmp_path / "deployment")
    with serving(api) as url:
        yield Scene(tmp_path, api, url, tmp_path / "deployment")


def test_a_new_cluster_gets_what_comes_first_first_and_is_said_to_be_there_last(scene: Scene) -> None:
    ran = scene.sync()
    assert (ran.code, ran.err.splitlines()[-1]) == (0, f"east: is at {scene.tip}"), ran.err
    assert scene.api.names() == OURS | AFTER_FIRST
    assert scene.remembered == scene.tip
    changes = scene.changes()
    assert changes[0] == "patch namespaces /gitplacer"
    assert changes[-2:] == [
        "patch configmaps gitplacer/gitplacer-platform",
        "patch configmaps gitplacer/gitplacer-workloads",
    ]
    of_platform = changes.index("patch rayclusters ml/example")
    assert changes.index("patch customresourcedefinitions /rayclusters.ray.io") < of_platform
    assert of_platform < changes.index("patch rayclusters ml/stays")

    again = scene.sync()
    assert (again.code, again.out, again.err) == (0, "", f"east: is at {scene.tip}\n")
    assert scene.changes() == []


def test_what_moved_away_is_deleted_and_what_has_not_changed_is_left_alone(synced: Scene) -> None:
    kept = synced.api.objects["v1", "services", "ml", "renamed"]["metadata"]["uid"]
    # What KubeRay makes of a RayService or a RayJob is no file's.
    synced.api.serve("ray.io/v1", "rayclusters", "a-child", "ml")
    synced.changes()
    tip = synced.push(2, SECOND)

    seen = synced.sync("-n", str(synced.repo), "east")
    assert (seen.code, synced.changes()) == (0, [])
    assert seen.out.splitlines() == [
        "  apply  workloads/ml/comes/comes.yaml",
        "  apply  workloads/ml/edited/odd name\t1.yaml",
        "  apply  workloads/ml/renamed/after.yaml",
        *(
            f'  delete {{"apiVersion":"{api}","kind":"{kind}","metadata":{{"name":"{name}","namespace":"ml"}}}}'
            for api, kind, name in sorted([("ray.io/v1", "RayCluster", "leaves"), ("v1", "ConfigMap", "with-it")],
                                          key=lambda o: _uid(synced, o[2]))
        ),
    ]  # fmt: skip

    ran = synced.sync()
    assert ran.code == 0, ran.err
    assert synced.api.names() == OURS | AFTER_SECOND | {"rayclusters ml/a-child"}
    assert synced.remembered == tip
    assert synced.api.objects["v1", "services", "ml", "renamed"]["metadata"]["uid"] == kept
    changes = synced.changes()
    assert sorted(changes[:3]) == [
        "patch rayclusters ml/comes",
        "patch rayclusters ml/edited",
        "patch services ml/renamed",
    ]
    assert sorted(changes[3:5]) == ["delete configmaps ml/with-it", "delete rayclusters ml/leaves"]
    assert len(changes) == 7, "and the two ConfigMaps that tell of it"

    del synced.api.objects["ray.io/v1", "rayclusters", "ml", "stays"]  # by hand
    assert synced.sync().code == 0
    assert synced.changes() == []
    assert synced.sync("-a", str(synced.repo), "east").code == 0
    assert synced.api.names() == OURS | AFTER_SECOND | {"rayclusters ml/a-child"}


def _uid(scene: Scene, name: str) -> str:
    return next(str(i["metadata"]["uid"]) for (_, _, _, n), i in scene.api.objects.items() if n == name)


@pytest.mark.parametrize("change", [4, 8])
def test_a_run_that_was_killed_is_made_good_by_the_next_one(synced: Scene, change: int) -> None:
    """Also where the next one has another commit, which knows nothing of what the killed one began."""
    began = synced.push(2, {**SECOND, "workloads/ml/brief/brief.yaml": thing("RayCluster", "ml/brief")})
    synced.api.changes.clear()
    process = synced.start(str(synced.repo), "east")

    def kill() -> None:
        if len(synced.api.changes) == change:
            os.killpg(process.pid, signal.SIGKILL)

    synced.api.told = kill
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    synced.api.told = lambda: None
    assert synced.remembered.split()[-1] == began and len(synced.remembered.split()) == 2
    shutil.rmtree(synced.folder / "tmp")

    tip = synced.push(
        3, {**SECOND, "workloads/ml/edited/odd name\t1.yaml": FIRST["workloads/ml/edited/odd name\t1.yaml"]}
    )
    ran = synced.sync()
    assert ran.code == 0, ran.err
    assert synced.api.names() == OURS | AFTER_SECOND
    assert synced.api.objects["ray.io/v1", "rayclusters", "ml", "edited"]["data"] == {"value": "1"}
    assert synced.remembered == tip


def test_where_something_cannot_be_applied_nothing_is_deleted(synced: Scene) -> None:
    synced.push(2, SECOND)
    synced.changes()
    synced.api.refused = {"patch rayclusters ml/comes"}
    ran = synced.sync()
    assert ran.code == 1
    assert "east: error: not everything could be applied, and nothing was deleted\n  hint: mend what kubectl" in ran.err
    assert not [change for change in synced.changes() if "delete" in change or "gitplacer-workloads" in change]
    synced.api.refused = set()
    assert synced.sync().code == 0
    assert synced.api.names() == OURS | AFTER_SECOND


def test_namespaces_and_definitions_are_never_deleted(synced: Scene) -> None:
    synced.push(2, {})
    git(synced.repo, "rm", "-q", "clusters/east/platform/namespaces/ml.yaml")
    commit(synced.repo, "Less")
    assert synced.sync().code == 0
    assert synced.api.names() == OURS | {"namespaces /ml"}


def test_two_at_once_are_noticed(synced: Scene) -> None:
    synced.push(2, SECOND)

    def another() -> None:
        if synced.api.changes[-1] == "patch configmaps gitplacer/gitplacer-workloads":
            synced.api.objects["v1", "configmaps", "gitplacer", "gitplacer-sync"]["data"]["commits"] += " and-more"

    synced.api.told = another
    ran = synced.sync()
    assert (ran.code, "somebody else has begun to sync it meanwhile" in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("{repo}", "east", "other"), "error: context other is cluster west\n  hint: give the context of this cluster"),
        (("{repo}", "esat"), "error: there is no clusters/esat/platform/gitplacer.yaml in commit {tip}\n  hint: clusters there: east "),
        (("-r", "fleets", "{repo}", "east"), "error: there is no fleets/east/platform/gitplacer.yaml"),
        (("-b", "mian", "{repo}", "east"), "error: cannot read branch mian of the deployment repo"),
        (("{repo}/nowhere", "east"), "error: cannot read branch main of the deployment repo"),
        (("{repo}", ".."), "usage: sync.sh"),
        (("{repo}",), "usage: sync.sh"),
        (("{repo}", "east", "nowhere"), 'error: context "nowhere" does not exist'),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_not_touched(scene: Scene, args: tuple[str, ...], told: str) -> None:
    scene.api.serve("v1", "namespaces", "gitplacer")
    west = {"cluster": "west", "unit": "workloads", "epoch": "4"}
    scene.api.serve("v1", "configmaps", "gitplacer-workloads", "gitplacer", data=west)
    ran = scene.sync(*(arg.format(repo=scene.repo) for arg in args))
    assert ran.code == 1
    assert told.format(tip=scene.tip) in ran.err
    assert scene.api.changes == []


def test_a_cluster_that_was_only_begun_is_known_too(synced: Scene) -> None:
    """The ConfigMaps that tell whose it is come last; a run for another cluster must not take it for a new one."""
    del synced.api.objects["v1", "configmaps", "gitplacer", "gitplacer-workloads"]
    write(synced.repo, directory("west", 1, {}))
    commit(synced.repo, "West")
    ran = synced.sync(str(synced.repo), "west", "east")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "west: error: context east is cluster east")
    assert synced.changes() == []


@pytest.mark.parametrize(
    "how",
    [
        ("rm", "-rq", "clusters/east"),
        ("rm", "-rq", "--", "clusters/east/workloads"),
        ("commit", "-q", "--amend", "-m", "Other"),
    ],
)
def test_a_directory_that_is_gone_and_a_history_that_is_another_delete_nothing(
    synced: Scene, how: tuple[str, ...]
) -> None:
    git(synced.repo, *how)
    with contextlib.suppress(subprocess.CalledProcessError):  # amended, so there is nothing more to commit
        commit(synced.repo, "Away")
    ran = synced.sync()
    assert ran.code == 1
    assert (
        "error: there is no clusters/east/" in ran.err
        or "does not come after it\n  hint: is it the right repo" in ran.err
    )
    assert synced.changes() == []


def test_shellcheck_finds_nothing() -> None:
    if SHELLCHECK is None:
        pytest.skip("there is no shellcheck")
    done = subprocess.run([SHELLCHECK, "--shell=sh", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
