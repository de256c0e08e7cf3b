"""
What kubectl and Kustomize make of manifests is what we read in them, or we refuse them.

Argo CD and kubectl read with one library, Flux with Kustomize, which has another; a manifest that one of them takes for something else, or that stops it, must not
be deployed. kubectl is both, and judges.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitplacer.documents import parse
from gitplacer.source.files import MAX_FILE, read_file

KUBECTL = shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl, which has kustomize in it")

Json = dict[str, Any]
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"
SMUGGLED = f"{MAP}---#x:\n  apiVersion: rbac.authorization.k8s.io/v1\n  kind: ClusterRole\n  metadata: {{name: b}}\n"


def kubectl(home: Path, *arguments: str, given: str = "") -> str | None:
    """What it prints; None where it refuses what it is given."""
    ran = subprocess.run(
        [str(KUBECTL), *arguments], input=given.encode(), capture_output=True, check=False, env={"HOME": str(home)}
    )
    return ran.stdout.decode() if ran.returncode == 0 else None


def applied(text: str, home: Path) -> list[Json] | None:
    """The objects that kubectl would apply, by name; None where it refuses the file."""
    said = kubectl(home, "label", "--local", "--filename", "-", "--output", "json", "judged=yes", given=text)
    if said is None:
        return None
    found, at = [], 0
    while said[at:].strip():
        value, at = json.JSONDecoder().raw_decode(said, at + len(said[at:]) - len(said[at:].lstrip()))
        del value["metadata"]["labels"]["judged"]
        found.append(without_empty(value))
    return sorted(found, key=str)


def without_empty(value: Json) -> Json:
    """An object without labels and annotations that are none: kubectl leaves them behind, or takes them away."""
    metadata = {k: v for k, v in value["metadata"].items() if v or k not in ("labels", "annotations")}
    return {**value, "metadata": metadata}


def is_object(value: Json) -> bool:
    metadata = value.get("metadata")
    return bool(value.get("apiVersion") and value.get("kind") and isinstance(metadata, dict) and metadata.get("name"))


# documents

PARTS = st.sampled_from(
    ["---", "---", "--- ", "#", "a: b", "c: 'd", "e'", "  f: g", ":", "?", "- h", "{", "}", "...", *["\n"] * 4, "\r\n", "\r", "\u2028", "\x85", "NEXT"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PARTS, max_size=16).map("".join))
@example(SMUGGLED.removeprefix(MAP))
@example("\r---\rNEXT")
@example("--- # c\nNEXT")
@example("\n---\n---\n# c\n---\nNEXT\n...\n")
def test_kubectl_finds_the_same_documents(tmp_path: Path, between: str) -> None:
    text = (MAP.replace("NAME", "a") + between).replace("NEXT", MAP.replace("NAME", "b"))
    parsed = parse(text.encode())
    ours = [one.value for one in parsed.documents]
    if not parsed.faults and all(map(is_object, ours)):
        assert applied(text, tmp_path) == sorted(map(without_empty, ours), key=str)


def test_kubectl_would_apply_what_is_hidden_behind_a_marker(tmp_path: Path) -> None:
    """The judge sees what we refuse."""
    text = SMUGGLED.replace("NAME", "a")
    assert {found["kind"] for found in applied(text, tmp_path) or ()} == {"ConfigMap", "ClusterRole"}
    assert [fault.code for fault in parse(text.encode()).faults] == ["InvalidYAML"]


# values

SCALARS = st.sampled_from([
    "a", "'b'", '"c"', "yes", "No", "on", "y", "N", "~", "null", "true", "FALSE", "tRUE", "1", "-1", "+1", "0", "-0", "00", "007", "08", "0777",
    "0o17", "0x1F", "0b11", "1_0", "_1", "1.0", ".5", "1.", "1e3", "1E3", "1.5e-7", "12:30", "190:20:30", "=", "<<", "2026-01-02", "2026-1-2",
    "2026-01-02T03:04:05Z", "2026-01-02t03:04:05Z", "2026-01-02T03:04:05.120Z", "2026-02-02T03:04Z", "2026-01", "!!str", "!!bool", "!!int",
    "!!float", '"\\x7f"', '"\\u0080"', '"\\e\\0"', '"\\N"', '"\\L\\P"', '"\\U0001f600"', "😀", "é", "[]", "{}", "&A", "*A", "&B", "*B",
])  # fmt: skip
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, min_size=2, max_size=2).map(" ".join),
    st.just("|\n    x\n    y"),
    st.just("'a\n\n    b'"),
)
KEYS = st.sampled_from(
    ["k", "k", "k", "'k'", "k k", "<<", "2026-01-02", "no", "1", "&K k", "!!str k", "? k\n ", '"k\\x7f"']
)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]))
@example([("k", "yes")], "\n")
@example([("k", "2026-01-02")], "\n")
def test_kubectl_and_kustomize_read_the_same_values(tmp_path: Path, entries: list[tuple[str, str]], end: str) -> None:
    lines = [f"  {key.replace('k', f'k{number}', 1)}: {value}\n" for number, (key, value) in enumerate(entries)]
    text = MAP.replace("NAME", "a, labels: {l: &A b}, annotations: &B {c: d}") + "data:\n" + "".join(lines)
    text = text.replace("v1", "ray.io/v1", 1).replace("ConfigMap", "RayCluster").replace("\n", end)
    read = read_file(text.encode(), MAX_FILE)
    refused = [problem for problems in read.problems for problem in problems if problem.code == "EnginesDisagree"]
    if read.parsed.faults or refused:
        return
    ours = [without_empty(document.value) for document in read.parsed.documents]
    assert applied(text, tmp_path) == ours
    (tmp_path / "a.yaml").write_bytes(text.encode())
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    built = kubectl(tmp_path, "kustomize", str(tmp_path))
    assert built is not None and applied(built, tmp_path) == ours


# annotations


def test_kustomize_fails_for_notes_that_it_did_not_write(tmp_path: Path) -> None:
    text = MAP.replace("NAME", "a, annotations: {internal.config.kubernetes.io/previousNames: 'b,c'}")
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    assert kubectl(tmp_path, "kustomize", str(tmp_path)) is None
    ((problem,),) = read_file(text.encode(), MAX_FILE).problems
    assert (problem.code, problem.location.line, problem.location.column) == ("EnginesDisagree", 3, 35)
