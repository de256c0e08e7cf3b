"""Problems of CustomResourceDefinitions, and of the objects that are held against them."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "InvalidCRD": Code(
        "A CustomResourceDefinition would be refused by the API server",
        "Its schema is not structural, or a name, a scope or its versions are wrong. No cluster would take it, and the "
        "objects of its kind are not held against it.",
        "Mend what the message names; CRDs are best generated, with controller-gen for example, and committed as they are.",
    ),
    "SchemaViolation": Code(
        "An object does not fit the schema of its kind",
        "The CRD in the source says which fields the kind has and what they may hold. The API server refuses an object "
        "that does not fit, minutes after the merge, and the GitOps engine keeps trying.",
        "Write the value that the message asks for. If the CRD in the source is older than the cluster's, update it.",
    ),
    "VersionNotServed": Code(
        "An object is of a version that its CRD does not serve",
        "An API server knows only the versions that are marked `served: true`; it has no place to put another.",
        "Change `apiVersion` to a version that the hint lists, and its fields with it.",
    ),
    "PrunedField": Code(
        "A field is not in the schema of its kind",
        "The API server drops such a field without a word: the object is applied, and does not do what its author "
        "thinks it does. Mostly it is misspelt, at the wrong depth, or of another version.",
        "Correct the name; the hint gives the nearest one. If the CRD in the source is older than the cluster's, update it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "CELNotChecked": Code(
        "Some rules of a CRD are not checked",
        "Rules in CEL (`x-kubernetes-validations`), formats of text and some regular expressions need the API server's "
        "own interpreter. Everything else in the schema is checked.",
        "Nothing to do. What these rules refuse is found when the object is applied; "
        "`kubectl apply --dry-run=server` asks beforehand. Allow it on the CRD to be told no more.",
        severity=Severity.WARNING,
        allowable=True,
    ),
}
