"""What is compiled is kept on disk, and whatever has become of it there, the next run computes the same."""

from __future__ import annotations

import importlib
import importlib.util
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from gitplacer.scheduler import machinecode

SOURCE = """
from gitplacer.scheduler.machinecode import compiled


@compiled
def total(numbers):
    found = 0
    for number in numbers:
        found += twice(number)
    return found


@compiled
def twice(number):
    return 2 * number
"""


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """A module as a new process has it."""
    numba = importlib.import_module("numba")
    path = tmp_path / "sums.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))

    def load() -> ModuleType:
        spec = importlib.util.spec_from_file_location("sums", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def sums_up(module: ModuleType) -> bool:
    """Whether it computes what it should, and without compiling."""
    assert module.total((1, 2, 3)) == 12
    return sum(module.total.stats.cache_hits.values()) == 1


def kept(tmp_path: Path, suffix: str) -> list[Path]:
    return sorted((tmp_path / "kept").rglob(f"*{suffix}"))


PARTS = {
    "total": """
from gitplacer.scheduler.machinecode import compiled
from parts.doubling import twice


@compiled
def total(numbers):
    return twice(sum(numbers))
""",
    "doubling": """
from gitplacer.scheduler.machinecode import compiled
from parts.factor import FACTOR


@compiled
def twice(number):
    return FACTOR * number
""",
    "factor": "FACTOR = 2\n",
}


@pytest.mark.parametrize(("part", "old", "new"), [("doubling", "FACTOR *", "5 + 1 *"), ("factor", "2", "9")])
def test_what_was_made_from_other_code_is_compiled_again(
    part: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only what a function calls has changed, or a number there, as its file is what it was."""
    numba = importlib.import_module("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "parts").mkdir()
    for name, text in PARTS.items():
        (tmp_path / "parts" / f"{name}.py").write_text(text)

    def total() -> int:
        for name in ["parts", *(f"parts.{name}" for name in PARTS)]:
            monkeypatch.delitem(sys.modules, name, raising=False)
        machinecode._digest.cache_clear()  # a new process
        found: int = importlib.import_module("parts.total").total((1, 2, 3))
        return found

    assert [total(), total()] == [12, 12]
    changed = tmp_path / "parts" / f"{part}.py"
    changed.write_text(PARTS[part].replace(old, new) + "# longer than it was\n")
    assert total() == (11 if part == "doubling" else 54)


def test_what_is_compiled_names_nothing_of_other_packages() -> None:
    """Of which nobody would notice that it has changed."""
    root = Path(machinecode.__file__).parent.parent
    made = [path for path in root.rglob("*.py") if "scheduler.machinecode import" in path.read_text()]
    assert len(made) > 4
    for path in made:
        named = {line.split()[1] for line in path.read_text().splitlines() if line.startswith("from gitplacer")}
        assert {name.rpartition(".")[0] for name in named} <= {"gitplacer.scheduler", f"gitplacer.{path.parent.name}"}


def test_what_was_compiled_is_found_by_the_next(fresh: Callable[[], ModuleType]) -> None:
    assert [sums_up(fresh()) for _ in range(3)] == [False, True, True]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])  # the list of what there is, and the code itself
@pytest.mark.parametrize("left", [b"", b"\0" * 512, b"\x80\x05\x95"])
def test_what_was_cut_off_is_compiled_again_and_kept(
    fresh: Callable[[], ModuleType], tmp_path: Path, suffix: str, left: bytes
) -> None:
    sums_up(fresh())
    for path in kept(tmp_path, suffix):
        path.write_bytes(left)
    assert [sums_up(fresh()) for _ in range(2)] == [False, True]


@pytest.mark.parametrize("left", [None, b""])
def test_where_nothing_can_be_written_it_is_compiled_each_time(
    fresh: Callable[[], ModuleType], tmp_path: Path, left: bytes | None
) -> None:
    if left is not None:
        sums_up(fresh())
        for path in kept(tmp_path, ".nbi"):
            path.write_bytes(left)
    modules = [fresh() for _ in range(2)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        assert [sums_up(module) for module in modules] == [False, False]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
