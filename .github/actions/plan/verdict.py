"""Prints from a saved plan whether it changes anything, and the state of the check, for the shell that called it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

STATES = ("Pass", "NeedsALook", "Fail")

plan = json.loads(Path(sys.argv[1]).read_text("utf-8"))
check = plan.get("review", {}).get("check", plan.get("check"))
if sys.argv[2] == "3":  # what the caller asked to fail on
    check = "Fail"
print("true" if plan["saved"]["changes"] else "false", check if check in STATES else "Pass")
