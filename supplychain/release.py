"""
Build what is published, with a bill of materials (SBOM) beside it:

    python supplychain/release.py

`dist/` gets the wheel, the sdist and `gitplacer-<version>.cdx.json`, a CycloneDX document with every package that the image installs, its version and the
hashes of its files, as they stand in requirements.lock. The same sources give the same document.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_ISOLATED = ("--outdir", "dist")


def main(options: Sequence[str]) -> None:
    """`options` are those of `python -m build`."""
    subprocess.run([sys.executable, "-m", "build", *_ISOLATED, *options], cwd=ROOT, check=True)
    place = ROOT / "dist" / f"gitplacer-{version()}.cdx.json"
    place.write_text(json.dumps(bill_of_materials(), indent=2, ensure_ascii=False) + "\n", "utf-8")


def version() -> str:
    """The version that the wheel gets."""
    place = ROOT / tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["version"]["path"]
    (line,) = [line for line in place.read_text("utf-8").splitlines() if line.startswith("__version__")]
    return line.partition("=")[2].strip(" \"'")


def bill_of_materials() -> dict[str, Any]:
    """The SBOM of the lock file, of gitplacer in its version."""
    command = [
        "cyclonedx_py",
        "requirements",
        "requirements.lock",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
    ]
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", *command], cwd=ROOT, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    found["metadata"]["component"]["version"] = version()  # pyproject.toml leaves it to hatchling
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
