"""
A run of a target for some seconds, in a process of its own, and what came of it.

What breaks the target ends the run: it is written to `found/TARGET/`, named after its bytes, and stays there as a test. A planted bug is
looked for in the same way, from the same corpus, and what finds it is not kept.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_PROGRESS = re.compile(r"^#(\d+)\s.*?cov: (\d+)(?:.*?corp: (\d+))?", re.MULTILINE)
_HUNG = 10
"""Seconds after which libFuzzer itself ends the run: an input that not even `Target.hold` can interrupt."""
_EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)", re.MULTILINE)
_LOOKED = re.compile(r"^Done \d+ runs in (\d+) second", re.MULTILINE)
_MEGABYTES = 2048
_GRACE = 300
"""Seconds for the start, which instruments every module, and the end. They take eight of the processor; a busy machine made ninety of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    `executions` inputs tried in `looked` seconds, if nothing was found, `started` seconds before these and after: what is imported is instrumented.
    `edges` of the code seen, `fresh` the inputs that showed new ones; `breaking` is the input that broke the target, and `said` what the run said of it.
    """

    executions: int
    looked: int
    started: float
    edges: int
    fresh: tuple[bytes, ...]
    breaking: bytes | None
    said: str


def corpus(name: str) -> dict[str, bytes]:
    """The committed inputs that a run begins with, by file."""
    return _files(HERE / "corpus" / name)


def found(name: str) -> dict[str, bytes]:
    """The inputs that broke a target once, by file."""
    return _files(HERE / "found" / name)


def keep(where: str, name: str, data: bytes) -> Path:
    """Write an input to the `corpus` of a target, or among what was `found`. It is tried there from now on."""
    place = HERE / where / name / hashlib.sha256(data).hexdigest()[:16]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def run(name: str, seconds: int, *, planted: bool = False, seed: int = 0) -> Outcome:
    """Let atheris look for `seconds`; `seed` 0 is another one each time. Raises RuntimeError where it fails by itself."""
    with tempfile.TemporaryDirectory() as folder:
        new, broken = Path(folder) / "new", Path(folder) / "broken"
        new.mkdir()
        broken.mkdir()
        known = [place for place in (HERE / "corpus" / name, HERE / "found" / name) if place.is_dir()]
        command = [
            sys.executable, "-m", "fuzzing.engine", name, "planted" if planted else "plain",
            f"-max_total_time={seconds}", f"-timeout={_HUNG}", f"-rss_limit_mb={_MEGABYTES}", f"-seed={seed}", "-print_final_stats=1",
            f"-artifact_prefix={broken}/", str(new), *map(str, known),
        ]  # fmt: skip
        begun = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=HERE.parent,
                capture_output=True,
                check=False,
                timeout=seconds + _GRACE,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"the run of {name} did not end within {_GRACE} s of its time") from error
        said = (done.stderr + done.stdout).decode("utf-8", "replace")
        progress = _PROGRESS.findall(said)
        breaking = next((file.read_bytes() for file in sorted(broken.iterdir())), None)
        if done.returncode and breaking is None:
            raise RuntimeError(f"the run of {name} ended by itself with {done.returncode}:\n{said[-4000:]}")
        executed = [*(row[0] for row in progress), *_EXECUTED.findall(said)]
        looked = max(map(int, _LOOKED.findall(said)), default=0)
        return Outcome(
            executions=max(map(int, executed), default=0),
            looked=looked,
            started=time.monotonic() - begun - looked,
            edges=max((int(row[1]) for row in progress), default=0),
            fresh=tuple(_files(new).values()),
            breaking=breaking,
            said=said,
        )


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*")) if file.is_file()}
