"""What users install: the wheel, in an environment of its own, with no checkout in sight."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (found,) = out.glob("*.whl")
    return found


def test_the_wheel_holds_the_example_the_starter_and_the_schemas(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("fleet-repo-example", "schemas"):
        ours = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert ours <= {name.removeprefix("gitplacer/data/") for name in names}
    assert "gitplacer/data/starter/fleet.yaml" in names
    assert "gitplacer/data/workloadkinds/jobset.yaml" in names
    assert "gitplacer/py.typed" in names
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
