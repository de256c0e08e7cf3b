"""
The chart, rendered by Helm's own engine (`helm-python-sdk` brings it).

It is written in Go, with threads and signal handlers of its own, so it runs in a process of its own; one such process
answers many questions.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
CHART = ROOT / "deploy/chart/gitplacer"
needs_helm = pytest.mark.skipif(
    importlib.util.find_spec("helm_python") is None, reason="there is no Helm here: pip install helm-python-sdk"
)

_CHILD = """
import json, sys, helm_python
asked = json.load(sys.stdin)
answers = []
with helm_python.Chart.load(asked["chart"]) as chart:
    for values in asked["values"]:
        try:
            answers.append(chart.render(values, name="a-release", namespace="a-namespace"))
        except helm_python.HelmError as error:
            answers.append(str(error))
linted = helm_python.lint(asked["chart"], asked["values"][0] if asked["values"] else {}, strict=True)
json.dump({"answers": answers, "linted": linted}, sys.stdout)
"""


@dataclass(frozen=True)
class Rendered:
    """What came out: files by template, or what Helm said instead."""

    files: dict[str, str]
    error: str = ""

    @property
    def objects(self) -> list[dict[str, Any]]:
        texts = [text for name, text in self.files.items() if name.endswith(".yaml")]
        return [found for text in texts for found in yaml.safe_load_all(text) if found]


def render(*values: dict[str, Any]) -> list[Rendered]:
    """The chart with each of these values, in the namespace a-namespace."""
    return [
        Rendered({}, found) if isinstance(found, str) else Rendered(found) for found in _ask(list(values))["answers"]
    ]


def lint(values: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """What `helm lint --strict` says."""
    found: Sequence[dict[str, Any]] = _ask([values])["linted"]["messages"]
    return found


def _ask(values: list[dict[str, Any]]) -> dict[str, Any]:
    asked = json.dumps({"chart": str(CHART), "values": values})
    done = subprocess.run([sys.executable, "-c", _CHILD], input=asked, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
