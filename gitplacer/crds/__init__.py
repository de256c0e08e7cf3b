"""
Custom resources held against the definitions (CRDs) that lie beside them in the source.

A RayJob with a misspelt field, a word where a number belongs or a version that is not served is refused by the API
server, or is silently something else, and a GitOps engine tells it minutes after the merge. Where the source holds
the CRD, it can be told before. The answer is the API server's own, by its own order of things: nulls, defaults and
unknown fields first (`admission`), then the structural schema (`structural`, `draft4`), in words that name the field
(`words`). What only a running API server can check, rules in CEL above all, is named as not checked.
"""

from gitplacer.crds.definition import CustomKind, cel_problem, not_checked, read_crd
from gitplacer.crds.objects import violations

__all__ = ["CustomKind", "cel_problem", "not_checked", "read_crd", "violations"]
