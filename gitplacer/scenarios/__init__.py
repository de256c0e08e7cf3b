"""
Scenarios told: what each step does to the source and the snapshots, what the pass does then, and whether it is as expected.

The story goes on in `telling`, on a stage. One stage is made of trees in memory and is pure; another, with real repositories, can be
made by whoever has git. What is wrong with a scenario, or does not come out, is a Problem at its place in the scenario's file.
"""

from gitplacer.scenarios.claims import LibraryMissing, compiled
from gitplacer.scenarios.scene import changes_of
from gitplacer.scenarios.script import Script, read_script, scripts_in
from gitplacer.scenarios.telling import OnTrees, Stage, Told, tell
from gitplacer.scenarios.verdict import Difference

__all__ = [
    "Difference",
    "LibraryMissing",
    "OnTrees",
    "Script",
    "Stage",
    "Told",
    "changes_of",
    "compiled",
    "read_script",
    "scripts_in",
    "tell",
]
