"""Policies that govern nothing, and expressions about plans."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import POLICY

_EXPECTING = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Scenario
metadata: {{name: placed}}
spec:
  title: Everything is placed
  given:
    now: "2026-01-02T03:05:00Z"
    write:
      fleet.yaml: |
        {{apiVersion: gitplacer.dev/v1alpha1, kind: Fleet, metadata: {{name: fleet}}, spec: {{}}}}
  steps:
  - title: As it is
    expect:
      that:
      - cel: {}
"""

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "OverrideTouchesNothing": (
        Example(
            (
                (
                    "policies/more-workers.yaml",
                    "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata:\n  name: more-workers\nspec:\n"
                    "  select:\n    kinds: [RayServices]\n  overrides:\n  - {path: /metadata/labels/size, op: add, value: large}\n",
                ),
            ),
            "The kind is called `RayService`:",
        ),
    ),
    "PolicySelectsNothing": (
        Example(
            (
                (
                    "policies/research.yaml",
                    POLICY.format("research", '  precedence: 1\n  select:\n    namespaces: ["research-*"]\n'),
                ),
            ),
            "There is one namespace, `hello`:",
        ),
        Example(
            (
                (
                    "policies/large.yaml",
                    POLICY.format(
                        "large",
                        "  precedence: 1\n  select:\n    labelSelector:\n      matchLabels: {size: large}\n      matchExpressions:\n"
                        "      - {key: size, operator: NotIn, values: [large, huge]}\n",
                    ),
                ),
            ),
            "A selection that nothing can meet:",
        ),
    ),
    "PolicyShadowed": (
        Example(
            (
                (
                    "policies/hello.yaml",
                    POLICY.format("hello", '  precedence: -1\n  select:\n    paths: ["workloads/hello/*.yaml"]\n'),
                ),
            ),
            "`policies/general.yaml` selects everything under `workloads/`, and comes first:",
        ),
    ),
    "ScenarioExpression": (
        Example((("tests/placed.yaml", _EXPECTING.format("groups.all(g, g.action != 'Waits')")),)),
        Example((("tests/placed.yaml", _EXPECTING.format("groups.all(g, g.polcy != '')")),)),
    ),
    "SelectsNoCluster": (
        Example(
            (
                (
                    "policies/general.yaml",
                    POLICY.format(
                        "general",
                        '  select:\n    paths: ["workloads/**"]\n  placement:\n    type: Ordered\n    order:\n'
                        "    - names: [my-clutser]\n    - {}\n",
                    ),
                ),
            ),
        ),
    ),
}
"""Examples of policies and of their tests."""
