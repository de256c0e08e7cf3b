"""Custom resources held against the CRDs beside them: what the API server would refuse, drop or let be."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.crds import CustomKind, cel_problem, not_checked, objects, read_crd, violations
from gitplacer.crds.admission import MAX_FINDINGS, Node, Pruned, admitted
from gitplacer.crds.structural import examine, schema_of
from gitplacer.documents import Document, parse
from gitplacer.problems import Problem, Severity

TEXT = {"type": "string"}
COUNT = {"type": "integer"}
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
RULES = "x-kubernetes-validations"


def document(value: Any) -> Document:
    data = json.dumps(value).encode()
    [parsed] = parse(data).documents
    return Document("x.json", parsed, 0, lambda: data)


def written(text: str) -> Document:
    data = text.encode()
    [parsed] = parse(data).documents
    return Document("x.yaml", parsed, 0, lambda: data)


def version(schema: Any, name: str = "v1", *, served: Any = True, storage: Any = True) -> dict[str, Any]:
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def definition(*versions: Any, **more: Any) -> dict[str, Any]:
    spec = {
        "group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
        "versions": list(versions), **more,
    }  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }


def struct(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def listed(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def kinds(spec: Any, **root: Any) -> tuple[CustomKind, ...]:
    found = read_crd(document(definition(version(struct({"spec": spec}, **root)))))
    assert isinstance(found, tuple), found
    return found


def widget(spec: Any, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec, **more}


def problems(spec: Any, value: Any, **more: Any) -> list[Problem]:
    return violations(kinds(spec), document(widget(value, **more)))


def said(spec: Any, value: Any) -> list[str]:
    """What is said of a widget with this spec; what is dropped has a minus before its path."""
    return sorted(
        f"-{p.message.partition(' ')[0]}" if p.code == "PrunedField" else p.message for p in problems(spec, value)
    )


# definitions


def test_a_crd_defines_a_kind_in_each_of_its_versions() -> None:
    old, new = struct({}), struct({"spec": {"type": "object", PRESERVE: True}})
    crd = definition(version(old, "v1alpha1", served=False, storage=False), version(new), scope="Cluster")
    found = read_crd(document(crd))
    assert isinstance(found, tuple)
    assert [(k.group, k.kind, k.version, k.scope, k.served, k.storage) for k in found] == [
        ("example.com", "Widget", "v1alpha1", "Cluster", False, False),
        ("example.com", "Widget", "v1", "Cluster", True, True),
    ]
    assert found[1].schema.value == new


@pytest.mark.parametrize(
    "value",
    [
        {**definition(version(struct({}))), "apiVersion": "apiextensions.k8s.io/v1beta1"},
        {**definition(version(struct({}))), "kind": "Widget"},
        {"apiVersion": ["apiextensions.k8s.io/v1"], "kind": None},
        {"kind": "ConfigMap"},
    ],
)
def test_what_is_no_crd_of_v1_defines_nothing(value: Any) -> None:
    assert read_crd(document(value)) == ()
    assert cel_problem(document(value)) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": None}, "needs a spec"),
        ({"spec": {"group": None}}, "needs spec.group"),
        ({"spec": {"names": []}}, "needs spec.names.kind"),
        ({"spec": {"scope": "namespaced"}}, "spec.scope must be Namespaced or Cluster"),
        ({"spec": {"versions": {}}}, "spec.versions must list at least one version"),
        ({"spec": {"versions": []}}, "spec.versions must list at least one version"),
        ({"spec": {"versions": ["v1"]}}, "a version is a mapping"),
        ({"spec": {"versions": [version(struct({}), served="yes")]}}, "served must be true or false"),
        ({"spec": {"versions": [version(struct({}), storage=False)]}}, "exactly one version must have storage: true"),
        ({"spec": {"versions": [version(struct({})), version(struct({}), "v2")]}}, "exactly one version must have"),
        ({"spec": {"versions": [version(struct({})), version(struct({}), storage=False)]}}, "has the same name twice"),
        ({"spec": {"versions": [{"name": "v1", "served": True, "storage": True}]}}, "needs schema.openAPIV3Schema"),
        ({"spec": {"versions": [version([])]}}, "needs schema.openAPIV3Schema"),
        ({"spec": {"preserveUnknownFields": True}}, "preserveUnknownFields cannot be true"),
        ({"metadata": {"name": "widget.example.com"}}, "its name must be widgets.example.com"),
    ],
)
def test_a_crd_that_no_cluster_takes_is_told_and_defines_nothing(change: dict[str, Any], says: str) -> None:
    crd = definition(version(struct({})))
    for key, value in change.items():
        crd[key] = {**crd[key], **value} if isinstance(value, dict) else value
    found = read_crd(document(crd))
    assert isinstance(found, list)
    assert {p.code for p in found} == {"InvalidCRD"}
    assert says in " ".join(p.message for p in found)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        # read by Go into typed fields
        ("text", "a schema is a mapping"),
        ({"type": ["string", "null"]}, "type must be text"),
        ({"type": "integer", "minimum": "1"}, "minimum must be a number"),
        ({"type": "string", "maxLength": 1.5}, "maxLength must be a whole number"),
        ({"type": "string", "nullable": "yes"}, "nullable must be true or false"),
        ({"type": "string", "enum": "a"}, "enum must be a list"),
        ({"type": "object", "required": [1]}, "required must be a list of texts"),
        ({"type": "object", "properties": []}, "properties must be a mapping"),
        # what structure is
        ({}, "type is missing"),
        ({"description": "anything"}, "type is missing"),
        ({"type": "null"}, 'there is no type "null"'),
        ({"type": "array"}, "items is missing"),
        ({"type": "array", "items": [TEXT]}, "items must be one schema"),
        ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}, "not both"),
        ({"type": "object", PRESERVE: False}, "must be true, or left out"),
        ({"type": "string", EMBEDDED: True, PRESERVE: True}, "type must be object where"),
        ({"type": "object", EMBEDDED: True}, "properties must be given where"),
        ({INT_OR_STRING: True, PRESERVE: True}, "goes with neither"),
        (listed(TEXT, **{LIST_TYPE: "bag"}), "must be atomic, set or map"),
        ({"type": "object", LIST_TYPE: "set"}, "type must be array where"),
        (listed(struct({"a": TEXT}), **{LIST_TYPE: "map"}), "go together"),
        ({"type": "object", RULES: [{"message": "no rule"}]}, "needs the text of its rule"),
        # what OpenAPI has and CRDs have not
        ({"$ref": "https://example.com/schema.json"}, "$ref is not supported"),
        ({"type": "object", "$ref": "#/definitions/a", "definitions": {"a": TEXT}}, "definitions is not supported"),
        ({"type": "object", "patternProperties": {"^a": TEXT}}, "patternProperties is not supported"),
        ({"type": "array", "items": TEXT, "uniqueItems": True}, "uniqueItems is not supported"),
        # inside allOf, anyOf, oneOf and not
        ({"type": "string", "anyOf": [{"type": "string"}]}, "type is not allowed inside"),
        ({"type": "string", "oneOf": [{"nullable": True}]}, "nullable is not allowed inside"),
        ({"type": "integer", "allOf": [{"default": 0}]}, "default is not allowed inside"),
        ({"type": "object", "not": {"additionalProperties": False}}, "additionalProperties is not allowed inside"),
        ({"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]}, "restricts a field that the schema"),
        ({"type": "object", "allOf": [{"properties": {"metadata": {}}}]}, "metadata cannot be restricted"),
    ],
)
def test_a_schema_that_is_not_structural_is_told_and_its_objects_are_not_judged(schema: Any, says: str) -> None:
    found = read_crd(document(definition(version(struct({"spec": schema})))))
    assert isinstance(found, list)
    assert {p.code for p in found} == {"InvalidCRD"}
    assert says in " ".join(p.message for p in found)
    assert cel_problem(document(definition(version(struct({"spec": schema}))))) is None
    alone = schema_of(struct({"spec": schema}))
    assert alone is not None
    by_hand = CustomKind("example.com", "Widget", "v1", "Namespaced", True, True, alone)
    assert violations([by_hand], document(widget({"any": "thing"}))) == []


def test_the_top_of_a_schema_is_an_object_without_fields_of_any_name() -> None:
    for schema in ({"type": "string"}, {"type": "object", "additionalProperties": TEXT}):
        found = read_crd(document(definition(version(schema))))
        assert isinstance(found, list) and found


def test_a_fault_of_a_schema_stands_where_it_is() -> None:
    found = read_crd(written(CRD.replace("type: integer", "type: int")))
    assert [str(p.location) for p in found if isinstance(p, Problem)] == ["x.yaml:21:17"]


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
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
              replicas:
                type: integer
              mode:
                type: string
"""


# values


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        # types; a whole number is a number, and no float is whole unless it is
        (COUNT, "three", "spec.x is text, not a whole number"),
        (COUNT, 1.5, "spec.x is the number 1.5, not a whole number"),
        (COUNT, 2.0, ""),
        ({"type": "number"}, 3, ""),
        ({"type": "number"}, True, "spec.x is true, not a number"),
        ({"type": "boolean"}, "true", "spec.x is text, not true or false"),
        (TEXT, 8080, "spec.x is the number 8080, not text"),
        (listed(TEXT), {}, "spec.x is a mapping, not a list"),
        (struct({}), [], "spec.x is a list, not a mapping"),
        (listed(COUNT), [1, "2"], "spec.x[1] is text, not a whole number"),
        ({"type": "object", "additionalProperties": TEXT}, {"a": "b", "c": 1}, "spec.x.c is the number 1, not text"),
        ({INT_OR_STRING: True}, 80, ""),
        ({INT_OR_STRING: True}, "80%", ""),
        ({INT_OR_STRING: True, "anyOf": [COUNT, TEXT]}, 1.5, "spec.x is the number 1.5, not a whole number or text"),
        ({INT_OR_STRING: True, "allOf": [{"anyOf": [COUNT, TEXT]}], "pattern": "%$"}, "8", 'spec.x is "8", which does not match %$'),
        ({PRESERVE: True}, "anything", ""),
        # values
        ({"type": "string", "enum": ["A", "B"]}, "C", 'spec.x must be one of A, B, not "C"'),
        ({"type": "integer", "enum": [1]}, 2, "spec.x must be 1, not 2"),
        ({"type": "integer", "enum": [1, 2]}, "a", "spec.x is text, not a whole number"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "aB", 'spec.x is "aB", which does not match ^[a-z]+$'),
        ({"type": "integer", "minimum": 1}, 0, "spec.x must be at least 1, not 0"),
        ({"type": "integer", "minimum": 1}, 1, ""),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "spec.x must be more than 1, not 1"),
        ({"type": "number", "maximum": 1.5}, 1.6, "spec.x must be at most 1.5, not 1.6"),
        ({"type": "number", "maximum": 2, "exclusiveMaximum": True}, 2, "spec.x must be less than 2, not 2"),
        ({"type": "integer", "multipleOf": 4}, 6, "spec.x must be a multiple of 4, not 6"),
        ({"type": "integer", "exclusiveMaximum": True}, 10**9, ""),
        ({"type": "integer", "format": "int32"}, 2**40, ""),  # the API server does not look, nor do we
        ({"type": "string", "minLength": 2}, "a", "spec.x has 1 character; at least 2 are allowed"),
        ({"type": "string", "maxLength": 2}, "äöü", "spec.x has 3 characters; at most 2 are allowed"),
        (listed(TEXT, minItems=1), [], "spec.x has no items; at least 1 is allowed"),
        (listed(TEXT, maxItems=1), ["a", "b"], "spec.x has 2 items; at most 1 is allowed"),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 1}, {"a": "", "b": ""}, "spec.x has 2 fields; at most 1 is allowed"),
        ({"type": "object", "additionalProperties": TEXT, "minProperties": 1}, {}, "spec.x has no fields; at least 1 is allowed"),
        (struct({"a": TEXT}, required=["a"]), {}, "spec.x.a is missing"),
        (struct({"a": TEXT}, required=["a", "a"]), {"a": ""}, ""),
        ({"type": "object", "additionalProperties": False}, {"a": 1}, "spec.x has 1 field; at most 0 are allowed"),
        # forms
        (struct({"a": TEXT, "b": TEXT}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]), {}, "spec.x must have exactly one of a, b"),
        (struct({"a": TEXT, "b": TEXT}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]), {"a": "", "b": ""}, "spec.x must have only one of a, b"),
        (struct({"a": TEXT, "b": TEXT}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]), {"b": ""}, ""),
        (struct({"a": TEXT, "b": TEXT}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]), {}, "spec.x must have one of a, b"),
        (struct({"a": TEXT, "b": TEXT}, **{"not": {"required": ["a", "b"]}}), {"a": "", "b": ""}, "spec.x.a and spec.x.b together are not allowed here"),
        (struct({"a": TEXT, "b": TEXT}, nullable=True, oneOf=[{"required": ["a"]}, {"required": ["b"]}]), {}, "spec.x must have exactly one of a, b"),
        ({"type": "string", "not": {"pattern": "^x"}}, "xy", 'spec.x must not be "xy"'),
        ({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]}, 4, "spec.x must be at most 3, not 4"),
        ({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 3}]}, 4, "spec.x fits none of the forms that it may have: spec.x must be at least 5, not 4; or spec.x must be at most 3, not 4"),
        ({"type": "integer", "oneOf": [{"minimum": 5}, {"minimum": 3}]}, 6, "spec.x fits 2 of the 2 forms that it may have, and must fit only one"),
        (struct({"kind": TEXT, "a": TEXT}, anyOf=[{"properties": {"kind": {"enum": ["B"]}}}, {"required": ["a"]}]), {"kind": "A"}, 'spec.x fits none of the forms that it may have: spec.x.kind must be B, not "A"; or spec.x.a is missing'),
    ],
)  # fmt: skip
def test_a_value_that_the_schema_does_not_allow_is_told_in_plain_words(schema: Any, value: Any, says: str) -> None:
    assert said(struct({"x": schema}), {"x": value}) == ([says] if says else [])
    for problem in problems(struct({"x": schema}), {"x": value}):
        assert (problem.code, problem.severity) == ("SchemaViolation", Severity.ERROR)


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        (TEXT, 1, "put it in quotes"),
        (COUNT, "12", "write it without quotes"),
        ({"type": "boolean"}, "true", "write it without quotes"),
        (COUNT, "twelve", ""),
        ({"type": "string", "enum": ["HTTPMode", "K8sJobMode"]}, "HttpMode", 'did you mean "HTTPMode"?'),
        ({"type": "string", "enum": ["HTTPMode", "K8sJobMode"]}, "x", ""),
    ],
)
def test_a_hint_says_how_to_mend_it(schema: Any, value: Any, hint: str) -> None:
    assert [p.hint for p in problems(struct({"x": schema}), {"x": value})] == [hint]


def test_a_violation_stands_at_its_value_or_at_the_key_of_what_lacks_it() -> None:
    crd = read_crd(written(CRD))
    assert isinstance(crd, tuple)
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n  replicas: x\n  replcias: 1\n"
    found = [(str(p.location), p.code, p.message) for p in violations(crd, written(text))]
    assert found == [
        ("x.yaml:4:1", "SchemaViolation", "spec.mode is missing"),
        ("x.yaml:5:13", "SchemaViolation", "spec.replicas is text, not a whole number"),
        ("x.yaml:6:3", "PrunedField", "spec.replcias is not in the schema; the API server drops it"),
    ]


# nulls and defaults


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        # a null in a field that is not nullable was never written
        (struct({"a": TEXT}), {"a": None}, ""),
        (struct({"a": TEXT}, required=["a"]), {"a": None}, "spec.x.a is missing"),
        (struct({"a": {"type": "string", "default": "d"}}, required=["a"]), {"a": None}, ""),
        ({"type": "object", "additionalProperties": TEXT, "minProperties": 1}, {"a": None}, "spec.x has no fields; at least 1 is allowed"),
        # a null in one that is stays
        (struct({"a": {"type": "string", "nullable": True}}, required=["a"]), {"a": None}, ""),
        (struct({"a": {"type": "string", "nullable": True, "default": "d", "maxLength": 0}}), {"a": None}, ""),
        (struct({"a": {"type": "object", PRESERVE: True, "nullable": True, "not": {"required": ["z"]}}}), {"a": None}, ""),
        (struct({"a": {"type": "string", "nullable": True, "enum": ["v", None]}}), {"a": None}, "spec.x.a must be v, not null"),
        # in a list it stays too, and is no text, but for a default
        (listed(TEXT), ["a", None], "spec.x[1] is null, not text"),
        (listed({"type": "string", "default": "d"}), ["a", None], ""),
        (listed({"type": "string", "nullable": True}), ["a", None], ""),
        # defaults come before what is required, and inside each other
        (struct({"a": {"type": "integer", "default": 1}}, required=["a"]), {}, ""),
        (struct({"a": struct({"b": {"type": "integer", "default": 1}}, default={}, required=["b"])}, required=["a"]), {}, ""),
        (struct({"a": struct({"b": {"type": "integer", "default": 1}}, required=["b"])}, required=["a"]), {}, "spec.x.a is missing"),
        (struct({"a": struct({"b": {"type": "integer", "default": 0}}, required=["b"])}), {"a": {}}, ""),
        (struct({"a": {"type": "string", "default": "d"}, "b": TEXT}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]), {"b": ""}, "spec.x must have only one of a, b"),
        (struct({"a": {"type": "string", "default": "d"}}, maxProperties=0), {}, "spec.x has 1 field; at most 0 are allowed"),
        ({"type": "object", "additionalProperties": {"type": "string", "default": "d"}, "minProperties": 1}, {"a": None}, ""),
    ],
)  # fmt: skip
def test_nulls_and_defaults_are_dealt_with_before_values_are_judged(schema: Any, value: Any, says: str) -> None:
    assert said(struct({"x": schema}), {"x": value}) == ([says] if says else [])


# fields that are dropped


@pytest.mark.parametrize(
    ("schema", "value", "dropped"),
    [
        (struct({"a": TEXT}), {"b": 1, "c": {"d": 2}}, ["-spec.x.b", "-spec.x.c"]),
        (struct({}), {"b": 1}, ["-spec.x.b"]),
        (listed(struct({"a": TEXT})), [{"a": ""}, {"b": 1}], ["-spec.x[1].b"]),
        ({"type": "object", "additionalProperties": struct({"a": TEXT})}, {"k": {"b": 1}}, ["-spec.x.k.b"]),
        # true says nothing of what is inside the fields that it allows
        ({"type": "object", "additionalProperties": True}, {"k": 1, "l": {"b": 1}, "m": [{"c": 1}]}, ["-spec.x.l.b", "-spec.x.m[0].c"]),
        # kept, until a schema below says what there is
        ({"type": "object", PRESERVE: True}, {"b": {"c": [1, {"d": None}]}}, []),
        (struct({"a": struct({"k": TEXT})}, **{PRESERVE: True}), {"b": {"c": 1}, "a": {"b": 1}}, ["-spec.x.a.b"]),
        (struct({"a": struct({}, **{PRESERVE: True})}), {"a": {"b": 1}, "b": 1}, ["-spec.x.b"]),
        (listed(struct({"k": struct({})}), **{PRESERVE: True}), [{"b": 1, "k": {"c": 1}}], ["-spec.x[0].k.c"]),
        # an object inside the object has its own three fields
        (struct({"spec": struct({})}, **{EMBEDDED: True}), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}, "b": 1}, ["-spec.x.b"]),
        (struct({"metadata": struct({})}), {"apiVersion": "v1", "metadata": {"labels": {}}}, ["-spec.x.apiVersion", "-spec.x.metadata.labels"]),
    ],
)  # fmt: skip
def test_fields_that_the_schema_does_not_know_are_dropped_and_told(schema: Any, value: Any, dropped: list[str]) -> None:
    assert said(struct({"x": schema}), {"x": value}) == dropped
    for problem in problems(struct({"x": schema}), {"x": value}):
        assert problem.severity is Severity.WARNING


def test_what_is_dropped_is_not_judged() -> None:
    assert said(struct({}, maxProperties=0), {"x": 1}) == ["-spec.x"]
    assert said(struct({"a": TEXT}, minProperties=1), {"b": 1}) == [
        "-spec.b",
        "spec has no fields; at least 1 is allowed",
    ]


def test_a_dropped_field_comes_with_the_name_that_was_meant() -> None:
    assert [p.hint for p in problems(struct({"replicas": COUNT}), {"replcias": 1})] == ['did you mean "replicas"?']
    many = {f"field{i}": TEXT for i in range(40)}
    assert [p.hint for p in problems(struct(many), {"z": 1})] == [""], "forty names are no hint"


def test_metadata_and_status_are_not_looked_at() -> None:
    status = struct({"phase": TEXT}, required=["phase"])
    custom = kinds(struct({}), required=["spec", "status"])
    found = read_crd(document(definition(version(struct({"spec": struct({}), "status": status}, required=["status"])))))
    assert isinstance(found, tuple)
    for one in (custom, found):
        thing = {**widget({}, status={"phase": 1, "more": 2}), "metadata": {"name": "w", "anything": 1}}
        assert violations(one, document(thing)) == []
        assert violations(one, document(widget({}))) == []


def test_a_schema_may_restrict_an_objects_name() -> None:
    named = struct({"name": {"type": "string", "maxLength": 2, "pattern": "^[a-z]+$"}})
    found = read_crd(document(definition(version(struct({"metadata": named, "spec": struct({})})))))
    assert isinstance(found, tuple)
    assert violations(found, document(widget({}))) == []
    [problem] = violations(found, document({**widget({}), "metadata": {"name": "www", "labels": {"a": "b"}}}))
    assert problem.message == "metadata.name has 3 characters; at most 2 are allowed"


# lists and objects inside


PORTS = struct({"port": COUNT, "protocol": {"type": "string", "default": "TCP"}, "name": TEXT})


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        (listed(TEXT, **{LIST_TYPE: "set"}), ["a", "b", "a"], "spec.x[2] repeats spec.x[0]"),
        (listed({PRESERVE: True}, **{LIST_TYPE: "set"}), [1, "1", True, 1.5, {"a": 1}, {"a": "1"}], ""),
        (listed({PRESERVE: True}, **{LIST_TYPE: "set"}), [{"a": 1, "b": 2}, {"b": 2, "a": 1}], "spec.x[1] repeats spec.x[0]"),
        (listed(TEXT, **{LIST_TYPE: "atomic"}), ["a", "a"], ""),
        (listed(TEXT), ["a", "a"], ""),
        (listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["name"]}), [{"name": "a"}, {"name": "b"}], ""),
        (listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["name"]}), [{"name": "a"}, {"name": "a", "port": 1}], 'spec.x[1] repeats the name "a" of spec.x[0]'),
        (listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["name"]}), [{"port": 1}, {"port": 2}], "spec.x[1] lacks name, as does spec.x[0], and they must differ"),
        # 80/TCP and 80/UDP differ; 80 and 80/TCP do not, because TCP is the default
        (listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["port", "protocol"]}), [{"port": 80}, {"port": 80, "protocol": "UDP"}], ""),
        (listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["port", "protocol"]}), [{"port": 80}, {"port": 80, "protocol": "TCP"}], 'spec.x[1] repeats the port 80 and protocol "TCP" of spec.x[0]'),
        (listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["name"]}), [{"name": "a"}, "a"], "spec.x[1] is text, not a mapping"),
        # objects inside the object
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": "v1", "kind": "Pod"}, ""),
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": "v1", "kind": "Pod", "metadata": None}, ""),
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": "v1"}, "spec.x.kind is missing: an object is expected at spec.x"),
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": 1, "kind": "Pod"}, "spec.x.apiVersion must be text"),
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": "a/b/c", "kind": "Pod"}, 'spec.x.apiVersion must be like apps/v1, not "a/b/c"'),
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": "v1", "kind": "Po.d"}, 'spec.x.kind must be the name of a kind, not "Po.d"'),
        ({"type": "object", EMBEDDED: True, PRESERVE: True}, {"apiVersion": "v1", "kind": "Pod", "metadata": []}, "spec.x.metadata must be a mapping"),
    ],
)  # fmt: skip
def test_lists_with_keys_and_objects_inside_keep_their_own_rules(schema: Any, value: Any, says: str) -> None:
    assert said(struct({"x": schema}), {"x": value}) == ([says] if says else [])


# versions and kinds


def test_an_object_of_a_version_that_is_not_served_cannot_be_applied() -> None:
    crd = definition(version(struct({}), "v1alpha1", served=False, storage=False), version(struct({})),
                     version(struct({}), "v2", storage=False))  # fmt: skip
    custom = read_crd(document(crd))
    assert isinstance(custom, tuple)
    told = {}
    for name in ("v1alpha1", "v1", "v2", "v3"):
        text = f"kind: Widget\napiVersion: example.com/{name}\nmetadata: {{name: w}}\n"
        told[name] = [(p.code, str(p.location), p.message, p.hint) for p in violations(custom, written(text))]
    where = ("VersionNotServed", "x.yaml:2:13")
    assert told == {
        "v1alpha1": [(*where, "v1alpha1 of Widget is not served", "its CRD serves v1, v2")],
        "v1": [],
        "v2": [],
        "v3": [(*where, "Widget has no version v3", "its CRD serves v1, v2")],
    }


def test_a_kind_without_a_served_version_says_so() -> None:
    found = read_crd(document(definition(version(struct({}), served=False))))
    assert isinstance(found, tuple)
    [problem] = violations(found, document(widget({})))
    assert problem.hint == "its CRD serves no version"


@pytest.mark.parametrize(
    "other",
    [{"kind": "Gadget"}, {"apiVersion": "example.org/v1"}, {"apiVersion": "v1"}, {"apiVersion": None}, {"kind": []}],
)
def test_objects_of_other_kinds_are_nobodys(other: dict[str, Any]) -> None:
    custom = kinds(struct({}))
    assert violations(custom, document({**widget({"b": 1}), **other})) == []
    assert violations([], document(widget({"b": 1}))) == []


# what only an API server checks


def test_what_is_not_checked_is_named_once_for_a_crd() -> None:
    spec = struct(
        {
            "groups": listed(struct({"name": {"type": "string", "pattern": "(?i)^gpu"}}, **{RULES: [{"rule": "has(self.name)"}]})),
            "labels": {"type": "object", "additionalProperties": {"type": "string", "format": "hostname"}},
            "when": {"type": "string", "format": "made-up"},
            "ip": {"type": "integer", "format": "ipv4"},
        },
        **{RULES: [{"rule": "self == oldSelf", "message": "immutable"}, {"rule": "self.a >\n  self.b", "message": "m"}]},
    )  # fmt: skip
    status = struct({}, **{RULES: [{"rule": "true"}]})
    crd = definition(version(struct({"spec": spec, "status": status})))
    custom = read_crd(document(crd))
    assert isinstance(custom, tuple)
    assert not_checked(custom[0]) == (
        "spec: CEL rule self == oldSelf",
        "spec: CEL rule self.a > self.b",
        "spec.groups[]: CEL rule has(self.name)",
        "spec.groups[].name: pattern (?i)^gpu",
        "spec.labels.*: format hostname",
    )
    assert [rule.path for rule in custom[0].rules] == ["spec", "spec", "spec.groups[]"]
    problem = cel_problem(document(crd))
    assert problem == cel_problem(document(crd), custom)
    assert problem is not None
    assert (problem.code, problem.severity) == ("CELNotChecked", Severity.WARNING)
    assert problem.message == (
        "3 CEL rules, 1 pattern and 1 format of Widget are not checked here (spec, spec.groups[], spec.groups[].name …)"
    )
    assert violations(custom, document(widget({"groups": [{"name": "nothing like it"}]}))) == []


def test_the_warning_stands_at_the_first_line_of_the_crd() -> None:
    crd = CRD.replace("required: [mode]", f"{RULES}: [{{rule: self.replicas > 0}}]")
    data = f"# widgets\n---\n# of the example\n\n{crd}---\napiVersion: v1\nkind: ConfigMap\n".encode()
    parsed = parse(data).documents
    problem = cel_problem(Document("x.yaml", parsed[0], 0, lambda: data))
    assert problem is not None
    assert str(problem.location) == "x.yaml:5:1"
    assert problem.message == "1 CEL rule of Widget is not checked here (spec)"


def test_a_crd_without_rules_is_no_news() -> None:
    assert cel_problem(written(CRD)) is None


# hostile schemas and objects


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y", "^(a?){60}a{60}$"]
)
def test_no_pattern_is_a_bomb(pattern: str) -> None:
    custom = kinds(struct({"x": {"type": "string", "pattern": pattern}}))
    thing = document(widget({"x": "a" * 20_000 + "!"}))
    before = time.process_time()
    violations(custom, thing)
    assert time.process_time() - before < 5


@pytest.mark.parametrize("pattern", [r"(?=a)", "a{999}{999}{999}", "(", "[[:alpha:]]", r"\z", "a" * 5000])
def test_a_pattern_that_cannot_be_matched_safely_is_left_out_and_named(pattern: str) -> None:
    custom = kinds(struct({"x": {"type": "string", "pattern": pattern}}))
    assert not_checked(custom[0]) == (f"spec.x: pattern {pattern}",)
    assert violations(custom, document(widget({"x": "anything"}))) == []


def test_only_so_many_patterns_are_compiled() -> None:
    custom = kinds(struct({f"x{i}": {"type": "string", "pattern": f"^{i}$"} for i in range(300)}))
    assert len(not_checked(custom[0])) == 300 - 256


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = struct({"a": inner})
    return inner


def test_a_schema_may_be_as_deep_as_a_file() -> None:
    levels = 27  # each a schema and its properties; those around it and the object take the rest of the 64
    custom = kinds(nested(levels, TEXT))
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    [problem] = violations(custom, document(widget(value)))
    assert problem.message.endswith(".a is the number 1, not text")


@pytest.mark.parametrize(
    "schema", [TEXT, {PRESERVE: True, "enum": ["a"]}, listed({PRESERVE: True}, **{LIST_TYPE: "set"})]
)
def test_an_object_may_be_as_deep_as_a_file(schema: Any) -> None:
    value: Any = {}
    for _ in range(60):
        value = {"a": value}
    found = violations(kinds(struct({"x": schema})), document(widget({"x": [value] if "items" in schema else value})))
    assert [p.code for p in found] == ([] if "items" in schema else ["SchemaViolation"])


def test_nothing_is_fetched_and_keywords_are_free_names_of_fields() -> None:
    names = ("$ref", "id", "$schema", "definitions", "items", "properties", "enum", "not", "required", "type")
    custom = kinds(struct(dict.fromkeys(names, COUNT)))
    assert violations(custom, document(widget(dict.fromkeys(names, 1)))) == []
    told = [p.message for p in violations(custom, document(widget(dict.fromkeys(names, "x"))))]
    assert sorted(told) == sorted(f"spec.{name} is text, not a whole number" for name in names)
    assert said(struct({"x": {"type": "object", PRESERVE: True, "enum": [{"$ref": "file:///etc/passwd"}]}}),
                {"x": {"$ref": "file:///etc/passwd"}}) == []  # fmt: skip


def test_only_so_many_problems_of_one_object_are_told() -> None:
    for value in ({f"b{i}": i for i in range(2000)}, {"l": ["x"] * 2000}):
        found = problems(struct({"l": listed(COUNT)}), value)
        assert len(found) == MAX_FINDINGS + 1
        assert found[-1].code == "TooManyFaults"


def test_a_schema_that_cannot_be_compiled_is_told_at_its_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(schema: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setattr(objects.draft4, "compiled", refuse)
    [problem] = problems(struct({"never": {"type": "string", "title": "compiled before"}}), {})
    assert (problem.code, problem.severity) == ("CELNotChecked", Severity.WARNING)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "string", "x y"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "spec", "type"]), below, max_size=3),
    max_leaves=8,
)  # fmt: skip
KEYWORDS = st.sampled_from([
    "type", "properties", "items", "additionalProperties", "required", "enum", "anyOf", "oneOf", "allOf", "not", "default",
    "nullable", "pattern", "minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength", "maxLength", "minItems",
    "maxProperties", "format", "$ref", "definitions", "uniqueItems", PRESERVE, EMBEDDED, INT_OR_STRING, LIST_TYPE, LIST_KEYS, RULES,
])  # fmt: skip


@given(spec=st.dictionaries(KEYWORDS, JUNK, max_size=6), value=JUNK, data=st.data())
def test_no_schema_and_no_object_is_too_strange(spec: Any, value: Any, data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from([struct({"spec": spec}), struct({"spec": {"type": "object", **spec}}), spec]))
    crd = definition(data.draw(st.sampled_from([version(schema), spec, value])))
    if data.draw(st.booleans()):
        crd["spec"][data.draw(st.sampled_from(sorted(crd["spec"])))] = value
    found = read_crd(document(crd))
    cel_problem(document(crd))
    if isinstance(found, tuple):
        violations(found, document({**widget(value), "status": value, "metadata": value}))


# laws


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """Structural schemas of every kind of value."""
    choices = ["string", "integer", "boolean", "number", "either", "any"]
    kind = draw(st.sampled_from(choices + ["object", "object", "map", "array"] * bool(depth)))
    found: dict[str, Any] = {"type": kind}
    if kind == "string":
        found |= draw(
            st.sampled_from([{}, {"enum": ["a", "b"]}, {"minLength": 1}, {"pattern": "^[ab]+$"}, {"maxLength": 1}])
        )
    elif kind in ("integer", "number"):
        found |= draw(st.sampled_from([{}, {"minimum": 0}, {"maximum": 2, "exclusiveMaximum": True}, {"enum": [0, 1]}]))
    elif kind == "either":
        found = {INT_OR_STRING: True, **draw(st.sampled_from([{}, {"anyOf": [COUNT, TEXT]}]))}
    elif kind == "any":
        found = {PRESERVE: True}
    elif kind == "array":
        found["items"] = draw(schemas(depth=depth - 1))
        found |= draw(st.sampled_from([{}, {"maxItems": 2}]))
    elif kind == "map":
        found = {"type": "object", "additionalProperties": draw(schemas(depth=depth - 1))}
    elif kind == "object":
        below = draw(st.dictionaries(st.sampled_from("abcd"), schemas(depth=depth - 1), max_size=4))
        found["properties"] = below
        found["required"] = draw(st.lists(st.sampled_from(sorted(below)), unique=True)) if below else []
        found |= draw(st.sampled_from([{}, {}, {PRESERVE: True}]))
    if draw(st.integers(0, 4)) == 0:
        found["nullable"] = True
    if kind in ("string", "integer", "boolean") and draw(st.integers(0, 3)) == 0:
        found["default"] = draw(values(found).filter(lambda value: value is not None))  # a null is no default
    return found


@st.composite
def values(draw: st.DrawFn, schema: Any) -> Any:
    """Values that fit a schema of those above."""
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if schema.get("nullable") and draw(st.integers(0, 3)) == 0:
        return None
    if schema.get(INT_OR_STRING):
        return draw(st.integers(-5, 5) | st.sampled_from(["a", "50%"]))
    kind = schema.get("type")
    if kind == "string":
        return draw(st.sampled_from(["a", "b"]))
    if kind == "integer":
        return draw(st.integers(0, 1))
    if kind == "number":
        return draw(st.sampled_from([0, 1, 0.5]))
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "array":
        return draw(st.lists(values(schema["items"]), max_size=2))
    if "additionalProperties" in schema:
        return draw(st.dictionaries(st.sampled_from("xyz"), values(schema["additionalProperties"]), max_size=2))
    if kind == "object":
        written = {}
        for name, below in schema["properties"].items():
            if "default" not in below and (name in schema["required"] or draw(st.booleans())):
                written[name] = draw(values(below))
        return written
    return draw(st.just({"any": [1, "thing"]}) | st.integers(0, 3))


@given(data=st.data())
def test_a_value_made_to_fit_has_no_problems(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    value = data.draw(values(schema))
    before = copy.deepcopy(value)
    assert problems(struct({"x": schema}), {"x": value}) == []
    assert value == before


@given(data=st.data())
def test_one_wrong_value_is_one_problem_at_its_place(data: st.DataObject) -> None:
    schema = data.draw(schemas(depth=2).filter(lambda s: s.get("type") and not s.get(PRESERVE)))
    wrong: Any = [[1.5]] if schema["type"] != "array" else {"z": 1}
    more = data.draw(values(schema))
    for spec, value, path in (
        (struct({"x": schema}), {"x": wrong}, "spec.x"),
        (listed(schema), [more, wrong], "spec[1]"),
        ({"type": "object", "additionalProperties": schema}, {"k": more, "l": wrong}, "spec.l"),
    ):
        [problem] = problems(spec, value)
        assert problem.message.startswith(f"{path} is a ")


@given(data=st.data(), value=JUNK)
def test_what_was_admitted_once_is_admitted_as_it_is(data: st.DataObject, value: Any) -> None:
    schema = data.draw(schemas())
    root = Node(struct({"spec": schema}), root=True)
    thing = widget(data.draw(st.sampled_from([value, {"a": value, "b": {"c": value}}])))
    before = copy.deepcopy(thing)
    once, _ = admitted(root, thing)
    again, findings = admitted(root, once)
    assert thing == before
    assert again == once
    assert not [finding for finding in findings if isinstance(finding, Pruned)]


@given(data=st.data(), value=JUNK)
def test_the_order_of_fields_means_nothing(data: st.DataObject, value: Any) -> None:
    def reversed_(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reversed_(below) for key, below in reversed(value.items())}
        return [reversed_(item) for item in value] if isinstance(value, list) else value

    schema = struct({"x": data.draw(schemas())})
    assert said(schema, {"x": value}) == said(reversed_(schema), reversed_({"x": value}))


# cost


def pod_template(width: int, depth: int) -> dict[str, Any]:
    """A schema about as large as that of a pod template, of fields that mean nothing."""
    leaves = {f"text{i}": {**TEXT, "description": "what it is for, in a line"} for i in range(width)}
    below = pod_template(width, depth - 1) if depth else TEXT
    return struct(
        {
            **leaves,
            "count": {**COUNT, "default": 1},
            "either": {INT_OR_STRING: True, "anyOf": [COUNT, TEXT], "pattern": "^[0-9]+[a-zA-Z]*$"},
            "labels": {"type": "object", "additionalProperties": TEXT},
            **{f"part{i}": copy.deepcopy(below) for i in range(2)},
            "items": listed(copy.deepcopy(below), **{LIST_TYPE: "atomic"}),
            "ports": listed(PORTS, **{LIST_TYPE: "map", LIST_KEYS: ["port", "protocol"]}),
        }
    )


def pod(width: int, depth: int) -> dict[str, Any]:
    """A value for it, of some dozens of fields."""
    below = pod(width, depth - 1) if depth else "text"
    labels, ports = {"app": "a", "tier": "b"}, [{"port": 80}, {"port": 81, "name": "b"}]
    texts = {f"text{i}": "a text" for i in range(0, width, 2)}
    return {**texts, "either": "5Gi", "labels": labels, "part0": below, "items": ["text"][depth:], "ports": ports}


@pytest.mark.slow
def test_an_object_costs_far_less_than_a_millisecond_however_large_its_schema_is() -> None:
    crd = document(definition(version(struct({"spec": struct({f"t{i}": pod_template(12, 5) for i in range(3)})}))))
    custom = read_crd(crd)
    assert isinstance(custom, tuple)
    assert len(json.dumps(custom[0].schema.value)) > 400_000
    thing = document(widget({f"t{i}": pod(12, 5) for i in range(3)}))
    assert 3_000 < len(json.dumps(thing.value)) < 6_000
    assert violations(custom, thing) == []
    rounds = 500
    best = min(_seconds(lambda: [violations(custom, thing) for _ in range(rounds)]) for _ in range(5))
    assert best / rounds < 0.001


def _seconds(what: Any) -> float:
    before = time.process_time()
    what()
    return time.process_time() - before


def test_a_schema_is_examined_and_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    crd, calls = definition(version(struct({"spec": struct({"once": TEXT})}))), []
    compiled = objects.draft4.compiled
    monkeypatch.setattr(objects.draft4, "compiled", lambda schema: calls.append(1) or compiled(schema))
    for _ in range(3):
        custom = read_crd(document(copy.deepcopy(crd)))  # as a new run reads it again
        assert isinstance(custom, tuple)
        assert violations(custom, document(widget({"once": 1}))) != []
    assert len(calls) == 1
    assert examine(custom[0].schema) is examine(custom[0].schema)


def test_the_validator_is_loaded_only_where_there_is_a_crd() -> None:
    code = "import sys, gitplacer.cli, gitplacer.crds; sys.exit('jsonschema_rs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
