"""
What identifies a problem from one run to the next: code, file and message, not the line, which moves with every edit above.

Of several that are equal in all of these each has its number, in the order of their lines.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

from gitplacer.problems import Problem


def fingerprinted(problems: Sequence[Problem]) -> Iterator[tuple[Problem, str]]:
    """Each problem with a fingerprint that no other of them has."""
    numbers: Counter[bytes] = Counter()
    for problem in problems:
        said = "\0".join((problem.code, problem.location.file, problem.message))
        digest = hashlib.sha256(said.encode("utf-8", "backslashreplace")).digest()
        numbers[digest] += 1
        yield problem, f"{digest[:16].hex()}:{numbers[digest]}"
