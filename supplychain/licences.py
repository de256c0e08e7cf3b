"""
Whether everything that the image installs has a licence that may be passed on with it: one of those in licences.txt.

    python supplychain/licences.py .venv/bin/python    # an environment into which requirements.lock was installed

Several licences that all apply (`AND`) must all be there; of several to choose from (`OR`), one. Ends with 1, and names what does not fit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

ACCEPTED = frozenset((Path(__file__).parent / "licences.txt").read_text("utf-8").splitlines())


def refused(licences: Mapping[str, str], accepted: Collection[str] = ACCEPTED) -> list[str]:
    """The packages, `name: licence`, whose licence is none of those accepted."""
    return [f"{name}: {licence}" for name, licence in sorted(licences.items()) if not _fits(licence, accepted)]


def _fits(licence: str, accepted: Collection[str]) -> bool:
    if licence in accepted:
        return True
    ways = re.split(r" OR ", licence.strip("()"))
    return any(all(part.strip("() ") in accepted for part in re.split(r" AND |; ", way)) for way in ways)


def main(arguments: Sequence[str]) -> int:
    command = ["pip-licenses", "--python", *arguments, "--from=mixed", "--format=json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    licences = {str(row["Name"]): str(row["License"]) for row in json.loads(done.stdout)}
    found = refused(licences)
    print("\n".join(found) or f"{len(licences)} packages, all with a licence that is accepted")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
