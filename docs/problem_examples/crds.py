"""Examples of custom resources beside their definitions."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import PLATFORM

WIDGETS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [mode]
            properties:
              mode: {type: string, enum: [Fast, Safe]}
              replicas: {type: integer, minimum: 0}
"""
WIDGET = """\
apiVersion: example.com/v1
kind: Widget
metadata:
  name: blue
spec:
  mode: Safe
  replicas: 2
"""
_BESIDE = {**PLATFORM, "platform/widgets/crd.yaml": WIDGETS}


def widget(text: str) -> Example:
    """A custom resource beside its definition."""
    return Example((("workloads/hello/widget.yaml", text),), beside=_BESIDE)


def crd(text: str) -> Example:
    return Example((("platform/widgets/crd.yaml", text),), beside=PLATFORM)


EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "SchemaViolation": (widget(WIDGET.replace("Safe", "safe").replace("2", "two")),),
    "PrunedField": (widget(WIDGET.replace("replicas", "replcias")),),
    "VersionNotServed": (widget(WIDGET.replace("com/v1", "com/v1beta1")),),
    "InvalidCRD": (crd(WIDGETS.replace("type: integer, minimum", "minimum")),),
    "CELNotChecked": (
        crd(
            WIDGETS.replace(
                "            required: [mode]\n",
                "            required: [mode]\n            x-kubernetes-validations:\n"
                "            - rule: self.mode != 'Safe' || self.replicas > 1\n",
            )
        ),
    ),
}
