"""
One run of atheris on one target, in this process, which libFuzzer ends. `python -m fuzzing` starts it and reads what it prints.

    python -m fuzzing.engine TARGET plain|planted [options and folders of libFuzzer]
"""

from __future__ import annotations

import contextlib
import re
import sys

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

from fuzzing import running, targets

_WORD = re.compile(r'^"([\w./-]+)"$', re.MULTILINE)


def _bytewise(data: bytes, most: int) -> bytes:
    """libFuzzer's own mutation. It is that of the core, which may not be loaded before the run; `atheris.Mutate` knows no run."""
    from atheris import core_with_libfuzzer

    changed: bytes = core_with_libfuzzer.Mutate(data, most)
    return changed


def main(name: str, way: str, *rest: str) -> None:
    with atheris.instrument_imports(include=["gitplacer"]):
        target = targets.target(name)
        from fuzzing.mutating import mutator  # it reads documents, as the target does
    words = running.HERE / "dictionaries" / f"{name}.dict"
    keys, seeds = _WORD.findall(words.read_text("utf-8")), list(running.corpus(name).values())
    mutates = {"custom_mutator": mutator(keys, seeds, _bytewise)}
    options = [f"fuzzing {name}", f"-max_len={target.longest}", f"-dict={words}", *rest]
    with target.planted() if way == "planted" else contextlib.nullcontext():
        atheris.Setup(options, target.hold, **(mutates if target.structured else {}))
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
