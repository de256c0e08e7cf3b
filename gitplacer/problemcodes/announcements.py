"""Problems of telling other tools what is decided."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "DecisionsTarget": Code(
        "Decisions are to be told where nobody can read them",
        "`spec.decisions.into` of the Fleet names the cluster whose directory gets a PlacementDecision for each group. Without such a "
        "cluster nothing is told, and what was told before stays; on one that sleeps nobody could read it.",
        "Name a Cluster of the fleet that is always awake, usually a Management cluster.",
    ),
    "DecisionNotOurs": Code(
        "Somebody else wrote a decision's file in the deployment repo",
        "What somebody did by hand is not written over. A file of ours begins with a line that says so.",
        "Take the change back, or remove the file: it is made anew.",
        severity=Severity.WARNING,
    ),
}
