"""What is compiled is kept on disk, and whatever has become of it there, the next run computes the same."""

from __future__ import annotations

import importlib
import importlib.util
import resource
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

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
