"""
Pin every dependency, with the hashes of its files, in the lock files beside pyproject.toml.

    python supplychain/lock.py              # only what pyproject.toml has newly asked for
    python supplychain/lock.py --upgrade    # everything to its newest release

One resolution is for all Pythons and platforms that we support; markers tell them apart. Needs uv (the extra `supply`), and the network.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS: Mapping[str, Sequence[str]] = {
    "requirements.lock": ("clusters", "hosts", "watch"),
    "requirements-ci.lock": ("fuzz", "mutation", "supply", "test"),
}
"""Each lock file, and the extras of ours that it is for."""
BUILD = "requirements-build.lock"
"""What builds the wheel."""


def main(options: Sequence[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    always = [
        *("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header"),
        *("--python-version", oldest, *options),
    ]
    build = "\n".join([*project["build-system"]["requires"], "editables"])  # hatchling wants it to install in place
    for name, extras in EXTRAS.items():
        chosen = [part for extra in extras for part in ("--extra", extra)]
        files = ["pyproject.toml", *(["-"] if "test" in extras else [])]  # tests build the wheel
        subprocess.run([*always, *chosen, "--output-file", name, *files], cwd=ROOT, input=build, text=True, check=True)
    subprocess.run([*always, "--output-file", BUILD, "-"], cwd=ROOT, input=build, text=True, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
