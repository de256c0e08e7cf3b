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
