"""
Build what is published, with a bill of materials (SBOM) beside it:

    python supplychain/release.py
    python supplychain/release.py --check v0.1.0    # says why that tag would be no release of what is here, and exits with 1

`dist/` gets the wheel, the sdist and `gitplacer-<version>.cdx.json`, a CycloneDX document with every package that the image installs, its version and the
hashes of its files, as they stand in requirements.lock. The same sources give the same document.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_ISOLATED = ("--outdir", "dist")


def main(options: Sequence[str]) -> None:
    """`options` are those of `python -m build`, or `--check` and a tag."""
    if options[:1] == ["--check"]:
        sys.exit("\n".join(against(options[1])) or 0)
    subprocess.run([sys.executable, "-m", "build", *_ISOLATED, *options], cwd=ROOT, check=True)
    place = ROOT / "dist" / f"gitplacer-{version()}.cdx.json"
    place.write_text(json.dumps(bill_of_materials(), indent=2, ensure_ascii=False) + "\n", "utf-8")


def version() -> str:
    """The version that the wheel gets."""
    place = ROOT / tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["version"]["path"]
    (line,) = [line for line in place.read_text("utf-8").splitlines() if line.startswith("__version__")]
    return line.partition("=")[2].strip(" \"'")


def against(tag: str) -> list[str]:
    """What keeps a tag from being a release of what is here."""
    found = []
    if tag != f"v{version()}":
        found.append(f"the tag is {tag}, and gitplacer/__init__.py says {version()}")
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## {re.escape(version())} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.MULTILINE):
        found.append(
            f"CHANGELOG.md has no section about {version()} with a date: towncrier build --version {version()}"
        )
    if left := sorted(path.name for path in (ROOT / "changelog.d").glob("*.*.md")):
        found.append(f"changelog.d/ has fragments that are in no release: {', '.join(left)}")
    return found


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
