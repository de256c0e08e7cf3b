"""What users install: the wheel, in an environment of its own, with no checkout in sight; and that whoever builds it gets the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def built(source: Path, out: Path, *options: str) -> dict[str, Path]:
    """The wheel and the sdist of a source, by their kind."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *options, str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return {"wheel" if path.suffix == ".whl" else "sdist": path for path in out.iterdir()}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Built as a release is: the sdist, and of it the wheel."""
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(dist: dict[str, Path]) -> Path:
    return dist["wheel"]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_sdist_is_what_the_wheel_is_made_of(dist: dict[str, Path]) -> None:
    with tarfile.open(dist["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("schemas", "man"):
        assert {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).iterdir()} <= names
    assert {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "gitplacer/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/")) or "__pycache__" in name]


def test_other_hands_at_another_time_build_the_same_bytes(dist: dict[str, Path], tmp_path: Path) -> None:
    """From a copy elsewhere, with other times and other modes, and the wheel not by way of the sdist."""
    kept = ("gitplacer", "fleet-repo-example", "schemas", "man")
    for name in kept:
        shutil.copytree(ROOT / name, tmp_path / "copy" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", ".gitignore"):
        shutil.copyfile(ROOT / name, tmp_path / "copy" / name)
    for path in (tmp_path / "copy").rglob("*"):
        os.utime(path, (1, 1_000_000_000))
        path.chmod(0o700 if path.is_dir() else 0o600)
    again = built(tmp_path / "copy", tmp_path / "out", "--sdist", "--wheel")
    assert {kind: sha256(path) for kind, path in again.items()} == {kind: sha256(path) for kind, path in dist.items()}


def test_the_wheel_holds_the_example_the_starter_and_the_schemas(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("fleet-repo-example", "schemas"):
        ours = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert ours <= {name.removeprefix("gitplacer/data/") for name in names}
    assert "gitplacer/data/starter/fleet.yaml" in names
    assert "gitplacer/data/workloadkinds/jobset.yaml" in names
    assert "gitplacer/py.typed" in names
    pages = {name.rpartition("/")[2] for name in names if ".data/data/share/man/man1/" in name}
    assert pages == {path.name for path in (ROOT / "man").iterdir()}
    assert not [name for name in names if name.startswith("tests/") or "__pycache__" in name]


def test_the_demo_runs_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv")
    bin_dir = tmp_path / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(bin_dir / "python"), "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    (tmp_path / "elsewhere").mkdir()

    def gitplacer(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(bin_dir / "gitplacer"), *args],
            cwd=tmp_path / "elsewhere", env=environment, check=True, capture_output=True, text=True,
        )  # fmt: skip

    told = gitplacer("demo")
    assert told.stderr == ""
    assert "13 placed" in told.stdout
    assert "Relocate production/text-summarizer from static-cluster to standby-cluster" in told.stdout
    gitplacer("init", "fleet")
    assert gitplacer("validate", "fleet").stdout == ""
    for kind in ("Fleet", "Plan"):
        assert gitplacer("schema", kind).stdout == (ROOT / "schemas" / f"{kind}.json").read_text("utf-8")
    assert gitplacer("schema").stdout == (ROOT / "schemas/gitplacer.json").read_text("utf-8")
    assert (tmp_path / "venv/share/man/man1/gitplacer-plan.1").is_file(), "where man looks beside bin/"
