"""Whoever misspells a name is told the one that is near, whatever it is the name of, on the command line and in files."""

from __future__ import annotations

import difflib
import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs import sessions
from gitplacer.grouping import CLUSTER_ANNOTATION, RELOCATION_ANNOTATION
from gitplacer.kinds.nearlabels import near_label
from gitplacer.model.labels import Requirement
from gitplacer.policies.selection import POLICY_ANNOTATION
from gitplacer.problems import meant, near, nearest
from gitplacer.rules.autoscaling import AUTOSCALED
from gitplacer.source.misspelt import ANNOTATIONS
from gitplacer.workloads.pointers import SEALING_KEY
from tests.commands import run, write

Capture = pytest.CaptureFixture[str]
NOW = ["--now", "2026-01-02T04:05:00Z"]
GROUP = "rayjob1/rayjob-train"
REPO = "https://example.com/deployment.git"

MISSPELT = [
    ("command", "paln", '"plan"'),
    ("option", "plan --basse main", "--base"),
    ("format", "plan --format jsn", '"json"'),
    ("word", "plan --fail-on waitin", '"waiting"'),
    ("engine", "bootstrap agocd", '"argocd"'),
    ("engine", "adopt . -o new --engine agocd", '"argocd"'),
    ("source of policies", "import nvoa", '"nova"'),
    ("directory", "adopt ../flet -o new", '"fleet"'),
    ("runner", "simulate --runner proceses", '"processes"'),
    ("shell", "completion bsh", '"bash"'),
    ("topic", "help enviroment", '"environment"'),
    ("kind", "schema Flet", '"Fleet"'),
    ("revision", "plan --rev mian", '"main"'),
    ("revision", "plan --base mian", '"main"'),
    ("revision", "plan --trust-base mian", '"main"'),
    ("revision", "blast --base mian", '"main"'),
    ("revision", "verify --commit mian", '"main"'),
    ("revision", "verify --since mian", '"main"'),
    ("directory", "plan --path workload", '"workloads"'),
    ("directory", "plan ../flet", '"fleet"'),
    ("file", "size workloads/rayjob1/rayjob-trian.yaml", '"rayjob-train.yaml"'),
    ("file", "size workloads/rayjop1/rayjob-train.yaml", '"rayjob1"'),
    ("file", "simulate --remove policies/trainin.yaml", '"policies/training.yaml"'),
    ("group", "explain rayjob1/rayjob-trian", GROUP),
    ("group", "history rayjob1/rayjob-trian", GROUP),
    ("group", "move rayjob1/rayjob-trian --to static-cluster", GROUP),
    ("group", "return rayjob1/rayjob-trian", GROUP),
    ("group", "suspend rayjob1/rayjob-trian", GROUP),
    ("group", "resume rayjob1/rayjob-trian", GROUP),
    ("group", "room --like rayjob1/rayjob-trian", GROUP),
    ("group", "simulate --replicas production/text-sumarizer=2", '"production/text-summarizer"'),
    ("worker group", "simulate --replicas production/text-summarizer:gpuu=2", '"gpu"'),
    ("policy", "suspend */* --policy trainng", '"training"'),
    ("namespace", "suspend */* --namespace rayjop1", '"rayjob'),
    ("label", "suspend */* --selector app.kubernetes.io/instnce=x", '"app.kubernetes.io/instance"'),
    ("label", "suspend */* --selector app.kubernetes.io/instance=rayjob-trian", '"rayjob-train"'),
    ("label", "simulate --every-cluster --among cluster.tpe=training", '"cluster.type"'),
    ("label", "simulate --every-cluster --among cluster.type=trainng", '"training"'),
    ("cluster", "move rayjob1/rayjob-train --to statik-cluster", '"static-cluster"'),
    ("cluster", "drain statik-cluster", '"static-cluster"'),
    ("cluster", "simulate --lose statik-cluster", '"static-cluster"'),
    ("cluster", "simulate --drain statik-cluster", '"static-cluster"'),
    ("cluster", "simulate --cordon statik-cluster", '"static-cluster"'),
    ("cluster", "simulate --price statik-cluster/x=1", '"static-cluster"'),
    ("cluster", f"bootstrap flux --cluster statik-cluster --deployment {REPO}", '"static-cluster"'),
    ("node type", "simulate --price dynamic-cluster/g4dn.2xlage=1", '"g4dn.2xlarge"'),
    ("resource", "room --gang nvidia.com/gup=1", '"nvidia.com/gpu"'),
    ("scenario", "test -k trainng", '"training-fills"'),
    ("context", "snapshot --kubeconfig ../kubeconfig --context kind-x", '"kind-a"'),
    ("context", "init ../new --kubeconfig ../kubeconfig --context kind-x", '"kind-a"'),
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = sessions.make_demo(tmp_path_factory.mktemp("near"))
    (made / "kubeconfig").write_text("contexts: [{name: kind-a, context: {}}]\n")
    return made


@pytest.mark.parametrize(("what", "line", "near"), MISSPELT, ids=[line for _, line, _ in MISSPELT])
def test_a_misspelt_name_on_the_command_line(
    capfd: Capture, demo: Path, monkeypatch: pytest.MonkeyPatch, what: str, line: str, near: str
) -> None:
    monkeypatch.chdir(demo / "fleet")
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", "../deployment.git")
    monkeypatch.setenv("GITPLACER_CACHE", str(demo / "cache"))
    command, *args = line.split(" ")
    dated = command in sessions._DATED and command != "snapshot"
    ran = run(capfd, command, *args, *(NOW if dated else []))
    assert (ran.code, ran.out) == (1, ""), what
    assert ran.err.lower().count("did you mean") == 1, ran.err
    assert near in ran.err[ran.err.lower().index("did you mean") :]


POLICY = """\
apiVersion: gitplacer.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: near}
spec:
"""
IN_FILES = [
    ("unknown field", "validate", f"{POLICY}  selekt: {{}}\n", '"select"'),
    ("kind", "validate", POLICY.replace("PlacementPolicy", "PlacmentPolicy") + "  select: {}\n", '"PlacementPolicy"'),
    ("word", "validate", f"{POLICY}  placement: {{type: Orderd}}\n", '"Ordered"'),
    (
        "cluster",
        "test",
        f"{POLICY}  select: {{kinds: [Nothing]}}\n  clusters: {{names: [statik-cluster]}}\n",
        '"static-cluster"',
    ),
    (
        "label of clusters",
        "test",
        f"{POLICY}  select: {{kinds: [Nothing]}}\n  clusters: {{matchLabels: {{cluster.tpe: llm}}}}\n",
        '"cluster.type"',
    ),
    (
        "its value",
        "test",
        f"{POLICY}  select: {{kinds: [Nothing]}}\n  clusters: {{matchLabels: {{cluster.type: trainng}}}}\n",
        '"training"',
    ),
    ("namespace", "test", f"{POLICY}  precedence: 500\n  select: {{namespaces: [productoin]}}\n", '"production"'),
    ("kind of objects", "test", f"{POLICY}  precedence: 500\n  select: {{kinds: [RayServce]}}\n", '"RayService"'),
    (
        "label of objects",
        "test",
        f"{POLICY}  precedence: 500\n  select: {{labelSelector: {{matchLabels: {{app.kubernetes.io/instnce: x}}}}}}\n",
        '"app.kubernetes.io/instance"',
    ),
    (
        "annotation",
        "validate",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {gitplacer.dev/clustr: static-cluster}}\n"
        "spec: {containers: [{name: x, image: x}]}\n",
        '"gitplacer.dev/cluster"',
    ),
    (
        "cluster of a snapshot",
        "validate",
        "apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {name: statik-cluster}\n"
        'observedAt: "2026-01-01T00:00:00Z"\nnodes: []\n',
        '"static-cluster"',
    ),
]


@pytest.mark.parametrize(("what", "command", "text", "near"), IN_FILES, ids=[what for what, *_ in IN_FILES])
def test_a_misspelt_name_in_a_file(
    capfd: Capture,
    demo: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    what: str,
    command: str,
    text: str,
    near: str,
) -> None:
    monkeypatch.setenv("GITPLACER_CACHE", str(demo / "cache"))
    fleet = shutil.copytree(demo / "fleet", tmp_path / "fleet")
    places = {"cluster of a snapshot": "capacity/statik-cluster.yaml", "annotation": "workloads/production/near.yaml"}
    path = places.get(what, "policies/near.yaml")
    write(fleet, {path: text})
    told = run(capfd, command, fleet, *(["-k", "training-fills"] if command == "test" else [])).out.splitlines()
    hints = [hint for line, hint in itertools.pairwise(told) if line.startswith(f"{path}:")]
    assert any("did you mean" in hint and near in hint for hint in hints), "\n".join(told)


@pytest.mark.parametrize(
    ("key", "operator", "values", "said"),
    [
        ("zone", "In", ("a",), ""),
        ("zone", "In", ("c", "a"), ""),
        ("zoen", "In", ("a",), 'nothing has the label zoen; did you mean "zone"?'),
        ("zoen", "Exists", (), 'nothing has the label zoen; did you mean "zone"?'),
        ("zoen", "DoesNotExist", (), ""),
        ("zone", "NotIn", ("a", "b"), ""),
        ("zone", "In", ("c",), "nothing has zone=c; known here: a, b"),
    ],
)
def test_a_label_that_nothing_has(key: str, operator: str, values: tuple[str, ...], said: str) -> None:
    asked = Requirement(key, operator, values)  # type: ignore[arg-type]
    assert near_label([asked], [{"zone": "a"}, {"zone": "b"}]) == said


def test_every_annotation_that_is_read_is_known() -> None:
    read = {CLUSTER_ANNOTATION, RELOCATION_ANNOTATION, POLICY_ANNOTATION, AUTOSCALED, SEALING_KEY}
    assert read == ANNOTATIONS
    assert {meant(name.partition("/")[2], {other.partition("/")[2] for other in read - {name}}) for name in read} == {
        ""
    }


def test_what_is_not_near_is_not_meant() -> None:
    assert meant("plan", ["plan"]) == 'did you mean "plan"?'
    assert meant("xyz", ["plan"]) == ""


def test_a_mistake_that_many_make_is_held_against_the_names_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    class Counting(difflib.SequenceMatcher[str]):
        def set_seq2(self, b: Sequence[str]) -> None:
            asked.append(str(b))
            super().set_seq2(b)

    monkeypatch.setattr(difflib, "SequenceMatcher", Counting)
    names = [f"once-asked-{at}" for at in range(100)]
    hints = {meant("once-askd-7", names) for _ in range(50)} | {nearest("once-askd-7", names) for _ in range(50)}
    assert (hints, asked) == ({'did you mean "once-asked-7"?'}, ["once-askd-7"])


def test_many_words_look_once_at_the_case_of_many_names() -> None:
    looked = list[str]()

    class Name(str):
        __slots__ = ()

        def casefold(self) -> str:
            looked.append(self)
            return super().casefold()

    names = [Name(f"Looked-at-{at}") for at in range(300)]
    hints = [nearest(f"looked-at-{at}", names) for at in range(300)]
    assert hints == [f'did you mean "{name}"?' for name in names]
    assert len(looked) == len(names)


NAMES = st.text("ab-1", max_size=8)


@given(word=NAMES, known=st.lists(NAMES, max_size=8, unique=True))
def test_the_nearest_is_that_of_difflib(word: str, known: list[str]) -> None:
    close = difflib.get_close_matches(word, sorted(known), n=1)
    assert near(word, known) == (word if word in known else next(iter(close), ""))


def test_few_of_many_names_are_compared_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a fleet of many clusters where somebody has renamed them all, each of the old names is misspelt in its own way."""
    known = [f"gpu-cluster-{number:03}-europe-west{number % 7}" for number in range(200)]
    compared: list[int] = []
    ratio = difflib.SequenceMatcher.ratio

    def counted(self: difflib.SequenceMatcher[str]) -> float:
        compared.append(1)
        return ratio(self)

    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", counted)
    for number in range(0, 200, 10):
        assert near(f"gpv-cluster-{number:03}-europe-west{number % 7}", known) == known[number]
    assert len(compared) < 20 * 200 / 4
