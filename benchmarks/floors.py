"""
What somebody has to do in any case, measured beside what we do: machines differ, ratios hold.

Git's own tools move the same bytes; the C YAML loader and `json` read the same files; numpy looks once at every node. Each floor is in seconds
by the clock, as what stands above it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import yaml

from benchmarks import generate
from benchmarks.passes import Fleet, run, timed

RESOURCES = 5
"""Columns of the table of nodes."""


def reading(fleet: Fleet) -> float:
    """`git cat-file --batch` prints every file of the source."""
    oids = generate.git(fleet.source, "ls-tree", "-r", "--format=%(objectname)", "HEAD").encode()
    return timed(lambda: run(["git", "-C", str(fleet.source), "cat-file", "--batch"], fleet.environment, oids))


def listing(fleet: Fleet) -> float:
    """`git ls-tree` lists both repos: what is there has to be known before it can be said that nothing has changed."""

    def both() -> None:
        for repo in (fleet.source, fleet.deployment):
            run(["git", "-C", str(repo), "ls-tree", "-r", "main"], fleet.environment)

    return timed(both)


def parsing(fleet: Fleet) -> float:
    """The C YAML loader loads every manifest, `json` every snapshot."""
    manifests = [path.read_bytes() for path in fleet.source.rglob("*.yaml")]
    snapshots = [path.read_bytes() for path in fleet.source.rglob("*.json")]

    def load() -> None:
        for text in manifests:
            yaml.load(text, Loader=yaml.CSafeLoader)
        for text in snapshots:
            json.loads(text)

    return timed(load)


def arithmetic(nodes: int, shapes: int = 1) -> float:
    """numpy compares what a pod asks for with what every node has, once for each shape of pods."""
    free = [np.random.default_rng(column).integers(0, 1 << 40, nodes) for column in range(RESOURCES)]

    def compare() -> None:
        for _ in range(shapes):
            fits = free[0] >= 1 << 39
            for column in free[1:]:
                fits &= column >= 1 << 39

    return timed(compare)


def writing(fleet: Fleet, since: str = "") -> float:
    """`git fast-import` writes what the deployment repo holds, or what came to it since a commit, into a repo that has the rest."""
    command = [
        "git",
        "-C",
        str(fleet.deployment),
        "fast-export",
        *(["--reference-excluded-parents", f"{since}..main"] if since else ["main"]),
    ]
    stream = run(command, fleet.environment)
    with tempfile.TemporaryDirectory(dir=fleet.folder) as name:
        folder = Path(name) / "floor.git"
        if since:
            generate.git(
                fleet.folder, "clone", "--quiet", "--bare", "--no-hardlinks", str(fleet.deployment), str(folder)
            )
            generate.git(folder, "update-ref", "refs/heads/main", since)
        else:
            generate.git(fleet.folder, "init", "--quiet", "--bare", str(folder))
        return timed(
            lambda: run(["git", "-C", str(folder), "fast-import", "--quiet", "--force"], fleet.environment, stream)
        )
