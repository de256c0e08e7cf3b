"""What all tests share: an environment without the caller's git, and Hypothesis profiles without deadlines."""

from __future__ import annotations

import gc
import itertools
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitplacer.redactor import _Hidden
from tests import compiling, provenance

pytest_plugins = ["tests.browsers"]

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck))
settings.register_profile(
    "quick", deadline=None, max_examples=15, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: a fifth of the time of many tests is waiting for git, servers and the disk."""
    return (os.cpu_count() or 1) + 1


_LONG = frozenset({"test_world.py"})
"""Where tests are that take seconds each, though they are not slow ones."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, so that no process is left alone with one at the end."""
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, item.path.name not in _LONG))


@given(st.none())
@settings(max_examples=1, database=None)
def _begin(_: None) -> None:
    """Nothing but a first run of Hypothesis, which registers a generator of random numbers of its own."""


def pytest_collection_finish() -> None:
    """
    What was imported and collected stays until the end: the collector of garbage need not look at it again and again. Hypothesis asks the collector whether
    somebody holds what it registers, and on Python 3.14 warns if all who do are frozen. So it does that before. And no process compiles what another does.
    """
    _begin()
    compiling.in_turn()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


_CACHES = itertools.count()
"""Numbers of directories, few of which are ever made: whoever needs a cache makes it."""


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests use a cache of their own, nothing of the caller's git configuration, and no secret of another test."""
    monkeypatch.setattr("gitplacer.redactor._HIDDEN", _Hidden())
    for name in list(os.environ):
        if name.startswith(("GIT_", "GITPLACER_")) and name != "GITPLACER_UPDATE_GOLDEN":
            monkeypatch.delenv(name)
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path_factory.getbasetemp() / f"cache-{next(_CACHES)}"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TEMPLATE_DIR", "")  # no samples of hooks, a dozen files for each repo
    if os.environ.get(
        "PYTHONDONTWRITEBYTECODE"
    ):  # what tests start is compiled once all the same, and not beside the sources
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))


@pytest.fixture(autouse=True)
def _proved(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Every commit that a test publishes verifies. The mark `unproved` says why a test's do not."""
    if request.node.get_closest_marker("unproved") is None:
        provenance.watch(monkeypatch)
