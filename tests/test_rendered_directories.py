"""
What is written reads well: to Argo CD, to Flux, and to the next pass.

The judge comes first, because a judge that cannot fail proves nothing: each of its rules is shown a tree that breaks
it. Then it reads what `hydrate` makes of the example fleet, and of small random fleets through a random history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings

from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.source.files import InMemory
from gitplacer.tree import Tree
from tests.fleets import Edit, histories, new_world, records_in
from tests.judges import Finding, judge, judge_change, objects_on

ROOT = "clusters"

Identity = tuple[str, str, str, str]
"""API group, kind, namespace and name."""


def sentinel(unit: str, epoch: int = 1) -> str:
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: gitplacer-{unit}, namespace: gitplacer}}
data: {{epoch: "{epoch}"}}
"""


def namespace(name: str) -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"


def config_map(name: str, in_namespace: str = "ns", **data: str) -> str:
    body = "".join(f"  {key}: '{value}'\n" for key, value in data.items()) or "  a: b\n"
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {in_namespace}}}\ndata:\n{body}"


def cluster(name: str) -> dict[str, str]:
    return {
        f"clusters/{name}/platform/gitplacer.yaml": sentinel("platform"),
        f"clusters/{name}/platform/namespaces/ns.yaml": namespace("ns"),
        f"clusters/{name}/platform/namespaces/gitplacer.yaml": namespace("gitplacer"),
        f"clusters/{name}/workloads/gitplacer.yaml": sentinel("workloads"),
        f"clusters/{name}/workloads/ns/app/app.yaml": config_map("app"),
    }


GOOD = {
    **cluster("a"),
    **cluster("b"),
    "placements/ns/app.yaml": "kind: not judged\n",
    "moving/ns/job/kustomization.yaml": "nor this",
    "README.md": "nor this",
}


def encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {path: text.encode() for path, text in files.items()}


def rules(findings: list[Finding]) -> set[str]:
    return {finding.rule for finding in findings}


def test_the_judge_has_nothing_to_say_about_a_good_tree() -> None:
    assert judge(encoded(GOOD), ROOT) == []


APP = "clusters/a/workloads/ns/app/app.yaml"
BESIDE = "clusters/a/workloads/ns/app/"
JOB = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ns}}"


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        pytest.param(BESIDE + "x.yaml", "just: data\n", "incomplete", id="a document that is no object"),
        pytest.param(BESIDE + "x.yaml", "- 1\n", "incomplete", id="a list"),
        pytest.param(BESIDE + "x.yaml", "text\n", "incomplete", id="a text"),
        pytest.param(BESIDE + "x.yaml", config_map("x") + "---\nkind: X\n", "incomplete", id="a second document"),
        pytest.param(BESIDE + "x.yaml", "apiVersion: v1\nkind: X\nmetadata: {}\n", "incomplete", id="no name"),
        pytest.param(
            BESIDE + "x.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {generateName: x-}\n",
            "incomplete",
            id="generateName",
        ),
        pytest.param(BESIDE + "x.yaml", config_map("no"), "incomplete", id="a name that YAML takes for false"),
        pytest.param(BESIDE + "x.yaml", config_map("1"), "incomplete", id="a name that YAML takes for a number"),
        pytest.param(
            BESIDE + "x.yaml",
            "apiVersion: v1\nkind: X\nmetadata: {name: x, namespace: ns, labels: {a: 1}}\n",
            "incomplete",
            id="a label that is a number",
        ),
        pytest.param(
            BESIDE + "x.yaml",
            config_map("x") + "list: [null]\n",
            "incomplete",
            id="an empty item, which kustomize refuses",
        ),
        pytest.param(BESIDE + "x.yaml", "a: [", "unreadable", id="no YAML"),
        pytest.param(BESIDE + "x.yaml", config_map("x") + "kind: ConfigMap\n", "unreadable", id="a key twice"),
        pytest.param(BESIDE + "x.json", config_map("x"), "engine", id="JSON, which Flux does not read"),
        pytest.param(BESIDE + "x.json", "{", "unreadable", id="broken JSON, which stops Argo CD"),
        pytest.param(
            BESIDE + "x.json",
            '{"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "namespace": "ns"}}',
            "disagree",
            id="an object that only Argo CD applies",
        ),
        pytest.param(BESIDE + "x.jsonnet", "{}", "engine", id="jsonnet"),
        pytest.param(BESIDE + "kustomization.yaml", "resources: []", "engine", id="a kustomization below"),
        pytest.param("clusters/a/workloads/kustomization.yml", config_map("x"), "engine", id="a kustomization on top"),
        pytest.param("clusters/a/workloads/Kustomization", "", "engine", id="a kustomization without extension"),
        pytest.param("clusters/a/workloads/Chart.yaml", "name: x", "engine", id="a chart"),
        pytest.param("clusters/a/workloads/.argocd-source.yaml", "{}", "engine", id="Argo CD's side file"),
        pytest.param("clusters/a/workloads/.argocd-source-a.yaml", "{}", "engine", id="its side file for one app"),
        pytest.param(BESIDE + ".sourceignore", "*", "engine", id="Flux's side file"),
        pytest.param(BESIDE + "README.md", "hello", "stray", id="a file that is no manifest"),
        pytest.param(BESIDE + "cloudbuild.yaml", config_map("x"), "disagree", id="a name that Flux leaves out"),
        pytest.param(BESIDE + ".sops.yaml", config_map("x"), "disagree", id="another one"),
        pytest.param(
            BESIDE + "x.yaml",
            "# +argocd:skip-file-rendering\n" + config_map("x"),
            "disagree",
            id="Argo CD's skip marker",
        ),
        pytest.param(
            BESIDE + "x.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  namespace: ns\n"
            "  annotations: {config.kubernetes.io/local-config: 'true'}\n",
            "disagree",
            id="an object that kustomize drops",
        ),
        pytest.param(
            BESIDE + "x.yaml", config_map("x") + f"items: [{JOB}]\n", "disagree", id="items that only Argo CD expands"
        ),
        pytest.param(BESIDE + "x.yaml", config_map("app"), "twice", id="an object twice in a unit"),
        pytest.param(BESIDE + "x.yaml", config_map("x") + "---\n" + config_map("x"), "twice", id="twice in a file"),
        pytest.param(
            BESIDE + "x.yaml",
            f"apiVersion: v1\nkind: List\nitems: [{JOB}, {JOB}]\n",
            "twice",
            id="twice in a List",
        ),
        pytest.param("clusters/a/platform/app.yaml", config_map("app"), "twice", id="an object in both units"),
        pytest.param(BESIDE + "x.yaml", config_map("x", "other"), "namespace", id="a namespace that nothing makes"),
        pytest.param(
            BESIDE + "x.yaml",
            "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: x}\n",
            "namespace",
            id="no namespace",
        ),
        pytest.param(BESIDE + "x.yaml", namespace("other"), "scope", id="a cluster-scoped object among workloads"),
        pytest.param(
            "clusters/a/workloads/ns/old/app.yaml", config_map("old"), None, id="a group that b does not have"
        ),
        pytest.param("clusters/a/workloads/ns/_shared/s.yaml", config_map("s"), None, id="shared, not needed on b"),
        pytest.param(BESIDE + "more.yaml", config_map("more"), "path", id="a file that the group lacks on b"),
        pytest.param(BESIDE + "App.yaml", config_map("more"), "case", id="two paths that differ by case"),
        pytest.param(BESIDE + "x" * 252 + ".yaml", config_map("x"), "name", id="a name that is too long"),
        pytest.param("clusters/a/x.yaml", config_map("x"), "unsynced", id="a file in no unit"),
        pytest.param("clusters/x.yaml", config_map("x"), "unsynced", id="a file in no cluster"),
        pytest.param("clusters/a/more/x.yaml", config_map("x"), "unit", id="a unit that no engine was told of"),
        pytest.param("clusters/a/workloads/gitplacer.yaml", config_map("x"), "sentinel", id="another sentinel"),
        pytest.param(
            "clusters/a/workloads/gitplacer.yaml", sentinel("workloads", 0), "sentinel", id="a sentinel without epoch"
        ),
        pytest.param(
            "clusters/c/workloads/gitplacer.yaml", sentinel("workloads"), "missing", id="a unit without the other"
        ),
        pytest.param(APP, None, None, id="a group that a does not have"),
        pytest.param("clusters/a/workloads/gitplacer.yaml", None, "sentinel", id="no sentinel"),
        pytest.param("clusters/a/platform/namespaces/ns.yaml", None, "namespace", id="a namespace is gone"),
    ],
)
def test_the_judge_finds_what_an_engine_would_stumble_over(path: str, text: str | None, rule: str | None) -> None:
    tree = dict(GOOD)
    if text is None:
        del tree[path]
    else:
        tree[path] = text
    found = rules(judge(encoded(tree), ROOT))
    assert found == set() if rule is None else rule in found


def test_the_judge_finds_an_object_that_has_another_path_on_another_cluster() -> None:
    tree = {**GOOD, "clusters/b/workloads/ns/app/other.yaml": GOOD[APP]}
    del tree["clusters/b/workloads/ns/app/app.yaml"]
    assert "path" in rules(judge(encoded(tree), ROOT))


def test_the_judge_finds_a_unit_that_is_too_large_for_argo_cd() -> None:
    tree = {**GOOD, APP: GOOD[APP] + "  b: " + "x" * (10 * 1024 * 1024) + "\n"}
    assert "size" in rules(judge(encoded(tree), ROOT))


def test_the_judge_finds_a_unit_without_manifests() -> None:
    tree = {path: text for path, text in GOOD.items() if not path.startswith("clusters/a/workloads/")}
    assert "missing" in rules(judge(encoded(tree), ROOT))
    tree["clusters/a/workloads/x.yaml"] = "---\n"
    assert "empty" in rules(judge(encoded(tree), ROOT))


def test_a_file_of_somebody_else_may_be_of_a_type_that_both_engines_leave_alone() -> None:
    tree = encoded({**GOOD, BESIDE + "README.md": "hello", BESIDE + "x.json": "{}"})
    assert rules(judge(tree, ROOT, foreign=[BESIDE + "README.md", BESIDE + "x.json"])) == {"engine"}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({APP: config_map("app", a="c")}, "epoch", id="a change that the epoch does not tell"),
        pytest.param({BESIDE + "b.yaml": config_map("b")}, "epoch", id="a file that the epoch does not tell"),
        pytest.param({APP: None}, "epoch", id="a file gone that the epoch does not tell"),
        pytest.param(
            {APP: None, "clusters/a/workloads/gitplacer.yaml": sentinel("workloads", 2)}, None, id="an epoch that tells"
        ),
        pytest.param({APP: None, "clusters/a/workloads/gitplacer.yaml": None}, "vanished", id="a unit gone"),
        pytest.param(
            {APP: None, "clusters/a/platform/gitplacer.yaml": sentinel("platform", 2)}, "epoch", id="the other's epoch"
        ),
        pytest.param(
            {"clusters/a/workloads/gitplacer.yaml": sentinel("workloads", 2)},
            "epoch",
            id="an epoch that tells of nothing",
        ),
        pytest.param({"README.md": "else", "placements/ns/app.yaml": "x"}, None, id="what is not synced"),
        pytest.param({"clusters/c/workloads/gitplacer.yaml": sentinel("workloads")}, None, id="a new unit"),
        pytest.param({"clusters/c/workloads/x.yaml": config_map("x")}, "sentinel", id="a new unit without sentinel"),
    ],
)
def test_the_judge_finds_changes_that_epochs_do_not_tell(changes: dict[str, str | None], rule: str | None) -> None:
    after = {path: text for path, text in {**GOOD, **changes}.items() if text is not None}
    found = rules(judge_change(encoded(GOOD), encoded(after), ROOT))
    assert found == (set() if rule is None else {rule})


# what hydrate makes of the example


EXAMPLE = Path(__file__).parent.parent / "fleet-repo-example"


def inputs(
    source: Mapping[str, bytes], capacity: Mapping[str, bytes], deployment: Tree, now: datetime, **more: Any
) -> Inputs:
    commit = SourceCommit(id="a" * 40, author="A <a@example.com>", date="2026-01-02T03:04:05+00:00", subject="s")
    return Inputs(
        source=Tree.of(source), commit=commit, capacity=Tree.of(capacity), deployment=deployment, now=now, version="1", **more
    )  # fmt: skip


def contents(tree: Tree) -> dict[str, bytes]:
    return tree.read_all(tree)


def test_both_engines_read_the_same_objects_from_the_example() -> None:
    source = {p.relative_to(EXAMPLE).as_posix(): p.read_bytes() for p in sorted(EXAMPLE.rglob("*")) if p.is_file()}
    capacity = {p.removeprefix("capacity/"): data for p, data in source.items() if p.startswith("capacity/")}
    now = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
    first = hydrate(inputs(source, capacity, Tree(), now))
    tree = contents(first.tree)
    assert judge(tree) == []
    placed = sum(len(items) for items in objects_on(tree).values())
    assert placed > 50
    active = source["clusters/static-cluster.yaml"]
    drained = active.replace(b"state: Active", b"state: Draining")
    assert drained != active
    second = hydrate(inputs({**source, "clusters/static-cluster.yaml": drained}, capacity, first.tree, now))
    assert second.steps
    assert judge(contents(second.tree)) == []
    assert judge_change(tree, contents(second.tree)) == []


# laws over random histories


class Life:
    """A world under gitplacer: every pass is checked against what came before it."""

    def __init__(self) -> None:
        self.world = new_world()
        self.memory = InMemory()
        self.ledgers = LedgerCache()
        self.running: dict[Identity, str] = {}
        """RayJobs that a snapshot has shown running, and where."""

    def live(self, edits: list[Edit]) -> None:
        for edit in edits:
            self.world.apply(edit)
        self.ledgers.forget_unused()
        before = dict(self.world.deployment)
        done = self._pass(before)
        after = contents(done.tree)
        findings = judge(after, foreign=self.world.foreign) + judge_change(before, after)
        assert not findings, findings
        self._steps_add_up(before, done, after)
        self._what_is_not_ours_is_left_alone(before, after)
        self._records_tell_where_groups_are(after)
        self._jobs_run_once(before, after)
        self._nothing_is_removed_unread(before, after)
        self._new_gangs_have_room(before, done, after)
        self._input_order_does_not_count(before, done)
        self._planning_again_changes_nothing(after)
        self.world.publish(after)

    def _pass(self, deployment: Mapping[str, bytes], *, backwards: bool = False) -> Hydration:
        def ordered(files: Mapping[str, bytes]) -> dict[str, bytes]:
            return dict(sorted(files.items(), reverse=backwards))

        tree = Tree.of(deployment)
        if backwards:
            tree = Tree(dict(reversed(tree.entries.items())), tree.blobs)
        source, capacity = ordered(self.world.source()), ordered(self.world.capacity())
        given_ = inputs(source, capacity, tree, self.world.now, foreign=dict.fromkeys(self.world.foreign, ""))
        if backwards:
            source_tree = Tree(dict(reversed(given_.source.entries.items())), given_.source.blobs)
            given_ = Inputs(**{f: getattr(given_, f) for f in Inputs.__struct_fields__} | {"source": source_tree})
            return hydrate(given_)  # and without what is remembered: it must make no difference either
        return hydrate(given_, memo=self.memory, ledgers=self.ledgers)

    @staticmethod
    def _steps_add_up(before: Mapping[str, bytes], done: Hydration, after: Mapping[str, bytes]) -> None:
        tree = dict(before)
        for step in done.steps:
            assert step.changes, step.message
            assert not step.changes.removed & step.changes.written.keys()
            assert step.changes.removed <= tree.keys()
            assert all(tree.get(path) != data for path, data in step.changes.written.items())
            tree = {p: d for p, d in tree.items() if p not in step.changes.removed} | dict(step.changes.written)
            assert not judge_change(before, tree), judge_change(before, tree)
        assert tree == after

    def _what_is_not_ours_is_left_alone(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        for path in before.keys() | after.keys():
            if not path.startswith(("clusters/", "moving/", "placements/", "guards/")) and path != "hydrator.metadata":
                assert before.get(path) == after.get(path), path
        for path, data in self.world.foreign.items():
            assert after.get(path) == data, path

    def _records_tell_where_groups_are(self, after: Mapping[str, bytes]) -> None:
        """Each group whole on the clusters that its record names, unless it is between two of them, and nothing of it elsewhere."""
        found = {cluster: set(items) for cluster, items in objects_on(after).items()}
        between = {"/".join(path.split("/")[1:3]) for path in after if path.startswith("moving/")}
        told: dict[str, set[Any]] = {cluster: set() for cluster in found}
        for group, record in records_in(after).items():
            members = {
                (m["apiVersion"].rpartition("/")[0], m["kind"], m.get("namespace", ""), m["name"])
                for m in record.get("members", ())
            }
            assert group not in between or record["move"]["strategy"] == "RemoveFirst", group
            for entry in record.get("clusters", ()) if group not in between else ():
                gone = entry["name"] not in self.world.clusters and group.startswith("_cluster/")
                missing = members - found[entry["name"]]
                assert gone or not missing, (group, entry["name"], missing)
                told[entry["name"]] |= members
        for cluster, items in found.items():
            generated = {
                i for i in items if i[1] == "Namespace" or i[3] in ("gitplacer-platform", "gitplacer-workloads")
            }
            foreign = {i for i in items if i[3].startswith("theirs-")}
            assert items - told[cluster] <= generated | foreign, cluster

    def _jobs_run_once(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        was, now = objects_on(before), objects_on(after)
        for identity in {i for items in now.values() for i in items if i[1] == "RayJob"}:
            places = [cluster for cluster, items in now.items() if identity in items]
            assert len(places) == 1, (identity, places)
        for identity, cluster in self._jobs_in_phase("Running", before=before):
            if identity in was.get(cluster, {}):
                self.running.setdefault(identity, cluster)
        ended = set(self._jobs_in_phase("Succeeded", "Failed", before=before))
        for identity, cluster in list(self.running.items()):
            places = [name for name, items in now.items() if identity in items]
            assert places in ([], [cluster]), (identity, cluster, places)
            if not places:  # a job that has run to its end need not be moved from a cluster that is left
                assert (
                    (identity, cluster) in ended
                    or identity[1:] not in self.world.manifests
                    or self._unreadable(identity)
                ), identity
                del self.running[identity]

    def _jobs_in_phase(self, *phases: str, before: Mapping[str, bytes]) -> Iterator[tuple[Identity, str]]:
        """RayJobs of the records that a cluster was last seen to have in one of these phases, and the cluster."""
        records = records_in(before)
        for cluster, group in self.world.in_phase(*phases):
            for m in records.get(group, {}).get("members", ()):
                if m["kind"] == "RayJob":
                    yield ("ray.io", m["kind"], m.get("namespace", ""), m["name"]), cluster

    def _unreadable(self, identity: Identity) -> bool:
        return self.world.manifests[identity[1:]].file in self.world.torn

    def _nothing_is_removed_unread(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        """What a file holds that cannot be read now stays, wherever that file has come from."""
        was, now = objects_on(before), objects_on(after)
        torn = {m.key for m in self.world.manifests.values() if m.file in self.world.torn}
        for cluster, items in was.items():
            for identity in items:
                assert identity[1:] not in torn or identity in now[cluster], identity
        for record in records_in(before).values():
            if {m["source"] for m in record.get("members", ())} & (self.world.torn & self.world.source().keys()):
                for entry in record.get("clusters", ()):
                    for m in record["members"]:
                        identity = (m["apiVersion"].rpartition("/")[0], m["kind"], m.get("namespace", ""), m["name"])
                        assert now[entry["name"]][identity].value == was[entry["name"]][identity].value, identity

    def _new_gangs_have_room(self, before: Mapping[str, bytes], done: Hydration, after: Mapping[str, bytes]) -> None:
        """What this pass newly promised on a cluster is not more than all of it, per resource."""
        asked: dict[str, list[int]] = {}
        for decision in done.view.plan.decisions:
            for cluster, finding in decision.reasons.items():
                if finding.code in ("Fits", "FitsByScaleUp"):
                    for m in records_in(after)[decision.group]["members"]:
                        if (
                            manifest := self.world.manifests.get((m["kind"], m.get("namespace", ""), m["name"]))
                        ) is not None:
                            total = asked.setdefault(cluster, [0, 0])
                            for index, amount in enumerate(manifest.requests()):
                                total[index] += amount
        for cluster, total in asked.items():
            room = self.world.clusters[cluster].capacity()
            assert total[0] <= room[0] and total[1] <= room[1], (cluster, total, room)

    def _input_order_does_not_count(self, before: Mapping[str, bytes], done: Hydration) -> None:
        again = self._pass(before, backwards=True)
        assert [(s.message, s.changes.written, s.changes.removed) for s in again.steps] == [
            (s.message, s.changes.written, s.changes.removed) for s in done.steps
        ]
        assert (again.tree, again.problems) == (done.tree, done.problems)

    def _planning_again_changes_nothing(self, after: Mapping[str, bytes]) -> None:
        again = self._pass(after)
        assert not again.steps, [(s.message, sorted(s.changes.written), sorted(s.changes.removed)) for s in again.steps]


IMMUTABLE = [
    [
        Edit("add", (6, 0, 15, 105)),
        Edit("add", (7, 0, 20, 13)),
        Edit("add", (1, 0, 9, 1)),
        Edit("add", (6, 0, 18, 102)),
        Edit("add", (3, 0, 20, 90)),
        Edit("add", (7, 3, 0, 80)),
    ],
    [Edit("tear", (0,))],
    [Edit("mend", ()), Edit("move_file", (5, 5))],
    [Edit("relabel_object", (1, 1)), Edit("resize", (2, 11))],
    [Edit("add", (2, 4, 12, 100))],
    [Edit("relabel_object", (5, 2)), Edit("add", (2, 2, 8, 17)), Edit("state", (3, 5))],
]
"""An edit that cannot be written where it runs, and comes to find no room there either."""

THOROUGH = settings().max_examples > 100


# A history that fails is only shrunk when asked to be thorough: that takes minutes.
@settings(
    max_examples=1000 if THOROUGH else 25, phases=[phase for phase in Phase if THOROUGH or phase is not Phase.shrink]
)
@given(histories())
@example(IMMUTABLE)
def test_every_pass_of_a_random_history_keeps_the_laws(history: list[list[Edit]]) -> None:
    life = Life()
    for edits in history:
        life.live(edits)
