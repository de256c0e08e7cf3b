"""Problems of scenarios: what they tell cannot happen, or something else does."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code

CODES: Mapping[str, Code] = {
    "ScenarioStep": Code(
        "A step of a scenario cannot be carried out",
        "It edits or removes what is not there, or tells of a cluster without a snapshot; the story would be another one without it.",
        "Correct the path or the words; words to replace have to stand in the file exactly once.",
    ),
    "ScenarioExpression": Code(
        "An expression of a scenario cannot be evaluated",
        "It is no CEL, names what no plan has, or combines values that cannot be combined. A test that fails to ask its question must "
        "not pass.",
        "Correct the expression; [policy tests](../policy-tests.md) says what it may speak of, and `gitplacer schema Plan` prints the "
        "document it is about.",
    ),
    "ScenarioDiffers": Code(
        "A scenario does not come out as it expects",
        "A pass made other commits, decided otherwise or reported other problems than the scenario says, something is not true of its "
        "plan, or it was not at rest: one more pass would have gone on.",
        "If what happens is right, correct the expectation; if not, a policy or a cluster has changed its meaning since it was "
        "written.",
    ),
}
