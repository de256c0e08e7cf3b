"""Examples of decisions that cannot be told to other tools."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example

_FLEET = (
    "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\nspec:\n  decisions: {{into: {}}}\n"
)
_FILE = "clusters/my-cluster/platform/decisions/hello/hello.yaml"

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "DecisionsTarget": (Example((("fleet.yaml", _FLEET.format("my-clutser")),)),),
    "DecisionNotOurs": (
        Example(
            (("fleet.yaml", _FLEET.format("my-cluster")),),
            f"Somebody wrote `{_FILE}` into the deployment repo:",
            deployment={_FILE: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: default}\n"},
            first={
                "fleet.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: fleet}\nspec: {}\n"
            },
        ),
    ),
}
