"""Prints from a saved plan whether it changes anything, and the state of the check, for the shell that called it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

STATES = ("Pass", "NeedsALook", "Fail")

plan = json.loads(Path(sys.argv[1]).read_text("utf-8"))
check = plan.get("review", {}).get("check")
if sys.argv[2] == "3":  # what the caller asked to fail on
    check = "Fail"
changes = {"0": False, "2": True}.get(sys.argv[2], plan["saved"]["changes"])
print("true" if changes else "false", check if check in STATES else "Pass")
