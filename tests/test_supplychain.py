"""
What gitplacer is made of: locks that are for what pyproject.toml asks, with a hash for every file; a bill of materials that names what the wheel
needs; licences that may be passed on.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gitplacer import __version__
from supplychain import lock, release
from supplychain.licences import ACCEPTED, refused

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = [
    name.rpartition(" ")[2]
    for name in PROJECT["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
]
LOCKS = (*lock.EXTRAS, lock.BUILD)


def environment(python: str) -> dict[str, str]:
    """A Linux machine, as markers see it."""
    return {
        "python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
        "platform_machine": "x86_64", "platform_python_implementation": "CPython", "implementation_name": "cpython", "extra": "",
    }  # fmt: skip


def pinned(name: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a lock file with its hashes."""
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            requirement, *hashes = line.split(" --hash=")
            yield Requirement(requirement), [found.strip() for found in hashes]


def versions(name: str, python: str) -> dict[str, Version]:
    """What a lock file installs on a Python."""
    found = {}
    for one, _ in pinned(name):
        if one.marker is None or one.marker.evaluate(environment(python)):
            (only,) = one.specifier
            found[canonicalize_name(one.name)] = Version(only.version)
    return found


def asked_for(extras: Sequence[str]) -> Iterator[Requirement]:
    """What pyproject.toml asks for with these extras, those that an extra names included."""
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in PROJECT["optional-dependencies"][extra])]
    for text in texts:
        one = Requirement(text)
        if one.name == PROJECT["name"]:
            yield from asked_for(sorted(one.extras))
        else:
            yield one


@pytest.mark.parametrize("name", LOCKS)
def test_every_file_that_may_be_installed_has_a_hash(name: str) -> None:
    rows = list(pinned(name))
    assert rows
    for one, hashes in rows:
        assert [found.operator for found in one.specifier] == ["=="], one
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", found) for found in hashes), one


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", sorted(lock.EXTRAS))
def test_a_lock_is_for_what_is_asked(name: str, python: str) -> None:
    locked = versions(name, python)
    for one in asked_for(lock.EXTRAS[name]):
        if one.marker is None or one.marker.evaluate(environment(python)):
            version = locked.get(canonicalize_name(one.name))
            assert version is not None, f"{name} lacks {one}: python supplychain/lock.py"
            assert one.specifier.contains(version), f"{name} has {one.name} {version}, asked is {one}"


def test_what_builds_the_wheel_is_locked() -> None:
    locked = versions(lock.BUILD, PYTHONS[0])
    system = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
    assert all(Requirement(text).specifier.contains(locked[Requirement(text).name]) for text in system["requires"])


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("cyclonedx_py") is None, reason="there is no cyclonedx-bom: pip install -e '.[supply]'"
)
def test_the_bill_of_materials_names_what_the_wheel_needs() -> None:
    bill = release.bill_of_materials()
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "gitplacer")
    assert bill["metadata"]["component"]["version"] == __version__ == release.version()
    listed = {canonicalize_name(row["name"]): row for row in bill["components"]}
    for one in asked_for(lock.EXTRAS["requirements.lock"]):
        row = listed[canonicalize_name(one.name)]
        assert one.specifier.contains(row["version"])
        assert [found["alg"] for reference in row["externalReferences"] for found in reference["hashes"]]


@pytest.mark.parametrize(
    ("licence", "accepted"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", True),
        ("MIT License; Apache Software License", True),
        ("UNKNOWN", False),
        ("", False),
    ],
)
def test_a_licence_is_accepted_by_all_of_its_parts(licence: str, accepted: bool) -> None:
    assert refused({"some": licence}) == ([] if accepted else [f"some: {licence}"])
    assert not {"GPL-3.0-only", "AGPL-3.0-only"} & ACCEPTED


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_ci_installs_nothing_but_what_is_locked(workflow: Path) -> None:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "pip install" in step.get("run", "")]
    assert commands
    for line in "\n".join(commands).splitlines():
        if "pip install" in line:
            assert "--require-hashes -r requirements" in line or "--no-deps" in line, line


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_the_actions_of_ci_are_those_commits_and_no_others(workflow: Path) -> None:
    """A tag can be moved; the comment says which one it was."""
    used = re.findall(r"uses: (.*)", workflow.read_text("utf-8"))
    assert used
    for action in used:
        assert action.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[0-9.]+", action), action


# releases


def test_only_the_job_that_publishes_may_and_it_runs_none_of_our_code() -> None:
    """Who can write to the repository or to PyPI runs actions alone, on files that an earlier job has built and tested."""
    text = (ROOT / ".github/workflows/release.yaml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert yaml.safe_load(text)["permissions"] == {}
    rights = {name: job["permissions"] for name, job in jobs.items()}
    assert rights == {
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"id-token": "write"},
        "announce": {"contents": "write"},
    }
    for name in ("attest", "publish", "announce"):
        said = str(jobs[name])
        assert "checkout" not in said and "pip" not in said.replace("pypi", "") and "python" not in said, name
    assert [jobs[name].get("needs") for name in jobs] == [None, "build", "attest", "publish"]
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert "password" not in text and "secrets." not in text
    for job in jobs.values():
        assert not any("${{" in step.get("run", "") for step in job["steps"]), "names reach the shell as variables"


@pytest.mark.parametrize(
    ("tag", "changelog", "fragments", "said"),
    [
        ("v{}", "## {} (2026-01-02)\n", [], []),
        ("v9.9", "## {} (2026-01-02)\n", [], ["the tag is v9.9"]),
        ("{}", "## {} (2026-01-02)\n", [], ["the tag is "]),
        ("v{}", "## {} (unreleased)\n", [], ["CHANGELOG.md has no section about"]),
        ("v{}", "## {} (2026-01-02)\n", ["+x.added.md"], ["changelog.d/ has fragments that are in no release: +x.added.md"]),
    ],
)  # fmt: skip
def test_a_tag_is_a_release_of_what_it_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tag: str, changelog: str, fragments: list[str], said: list[str]
) -> None:
    for path in ("pyproject.toml", "gitplacer/__init__.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes((ROOT / path).read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(changelog.format(__version__))
    (tmp_path / "changelog.d").mkdir()
    for name in ("README.md", *fragments):
        (tmp_path / "changelog.d" / name).write_text("x\n")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    found = release.against(tag.format(__version__))
    assert len(found) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(found, said, strict=True))


def test_every_fragment_of_the_changelog_has_a_known_type() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    types = "|".join(row["directory"] for row in config["type"])
    for path in (ROOT / config["directory"]).iterdir():
        if path.name not in config["ignore"]:
            assert re.fullmatch(rf"(\d+|\+[a-z0-9-]+)\.({types})(\.\d+)?\.md", path.name), path.name
            assert path.read_text("utf-8").strip(), f"{path.name} says nothing"


def test_the_changelog_has_a_place_for_the_next_release() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert (
        text.index("<!-- generated: unreleased -->")
        < text.index("<!-- end -->")
        < text.index("<!-- towncrier release notes start -->")
    )
