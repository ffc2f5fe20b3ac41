"""What the API server is given: bounded, described, structural, and small."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fairtrial.api.crd import definitions

DEFINITIONS = definitions()
Schema = dict[str, Any]


def schema_of(name: str) -> Schema:
    schema: Schema = DEFINITIONS[name]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every field below a schema, by its path; items and map values count as fields."""
    for key, one in schema.get("properties", {}).items():
        yield f"{path}.{key}", one
        yield from fields(one, f"{path}.{key}")
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if key in schema:
            yield f"{path}{mark}", schema[key]
            yield from fields(schema[key], f"{path}{mark}")


ALL_FIELDS = [(name, path, field) for name in DEFINITIONS for path, field in fields(schema_of(name))]
OWN_FIELDS = [(name, path, field) for name, path, field in ALL_FIELDS if path != ".metadata"]


def bounded(field: Schema) -> bool:
    if field["type"] == "string":
        return "maxLength" in field or "enum" in field
    if field["type"] == "integer":
        return "minimum" in field and "maximum" in field
    if field["type"] == "array":
        return "maxItems" in field
    if field["type"] == "object" and "additionalProperties" in field:
        return "maxProperties" in field
    return field["type"] in ("object", "boolean")


def test_there_is_one_definition_per_kind():
    assert sorted(made["spec"]["names"]["kind"] for made in DEFINITIONS.values()) == [
        "BenchmarkCohort",
        "BenchmarkRun",
        "BenchmarkTask",
        "ModelProvider",
        "ResourceClass",
    ]


def test_every_field_is_bounded():
    assert len(OWN_FIELDS) > 200
    assert [f"{name} {path}" for name, path, field in OWN_FIELDS if not bounded(field)] == []


def test_every_field_is_described():
    named = [(name, path, field) for name, path, field in OWN_FIELDS if not path.endswith(("[]", "{}"))]
    assert [f"{name} {path}" for name, path, field in named if not field.get("description", "").strip()] == []


def test_descriptions_read_as_sentences():
    texts = {field["description"] for _, _, field in OWN_FIELDS if "description" in field}
    texts |= {schema_of(name)["description"] for name in DEFINITIONS}
    assert [text for text in texts if not text.endswith(".") or "\n" in text or "`self" in text] == []


def test_there_is_no_floating_point_anywhere():
    assert [path for _, path, field in OWN_FIELDS if field["type"] == "number"] == []


def test_schemas_are_structural():
    forbidden = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "const", "title", "propertyNames", "additionalItems"}
    assert [(path, forbidden & field.keys()) for _, path, field in ALL_FIELDS if forbidden & field.keys()] == []
    assert [path for _, path, field in ALL_FIELDS if field.get("additionalProperties") is False] == []


def test_only_conditions_are_lists_by_key():
    """The API server compares such lists without their order: an immutable list could still be reordered."""
    keyed = {path for _, path, field in ALL_FIELDS if field.get("x-kubernetes-list-type") == "map"}
    assert keyed == {".status.conditions"}
    assert all("x-kubernetes-list-type" in field for _, _, field in ALL_FIELDS if field["type"] == "array")


def test_a_status_is_owned_as_one():
    atomic = {path for _, path, field in ALL_FIELDS if field.get("x-kubernetes-map-type") == "atomic"}
    assert atomic == {".status"}
    assert [name for name in DEFINITIONS if "status" in schema_of(name)["properties"]] == [
        "benchmarkruns.fairtrial.dev",
        "benchmarkcohorts.fairtrial.dev",
    ]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_small(name: str):
    assert len(json.dumps(DEFINITIONS[name], indent=1)) < 200_000


def test_every_rule_says_what_to_do():
    rules = [rule for _, _, field in ALL_FIELDS for rule in field.get("x-kubernetes-validations", [])]
    rules += [rule for name in DEFINITIONS for rule in schema_of(name)["x-kubernetes-validations"]]
    assert len(rules) > 50
    assert [rule for rule in rules if len(rule["message"]) < 30 or not rule["message"].endswith(".")] == []


def test_a_run_can_be_selected_and_listed_by_what_people_look_for():
    spec = DEFINITIONS["benchmarkruns.fairtrial.dev"]["spec"]
    version = spec["versions"][0]
    assert spec["names"]["shortNames"] == ["brun"]
    assert spec["names"]["categories"] == ["fairtrial"]
    assert version["subresources"] == {"status": {}}
    assert {field["jsonPath"] for field in version["selectableFields"]} == {
        ".spec.taskRef.name",
        ".spec.candidate.name",
        ".spec.cohortRef.name",
        ".status.outcome",
        ".status.phase",
    }
    shown = [column["name"] for column in version["additionalPrinterColumns"] if "priority" not in column]
    assert shown == ["Task", "Candidate", "Phase", "Outcome", "Reason", "Age"]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_columns_and_selectable_fields_name_real_fields(name: str):
    version = DEFINITIONS[name]["spec"]["versions"][0]
    known = {path for path, _ in fields(schema_of(name))} | {".metadata.creationTimestamp"}
    paths = [one["jsonPath"] for one in version["additionalPrinterColumns"] + version.get("selectableFields", [])]
    # A filter names one of a list's items: `conditions[?(@.type=="Sealed")]`.
    plain = [re.sub(r"\[\?\(.*?\)\]", "[]", path) for path in paths]
    assert [path for path in plain if path not in known] == []


def test_people_see_how_far_a_cohort_is():
    version = DEFINITIONS["benchmarkcohorts.fairtrial.dev"]["spec"]["versions"][0]
    shown = [column["name"] for column in version["additionalPrinterColumns"] if "priority" not in column]
    counts = ["Passed", "Failed", "Invalid"]
    assert shown == ["Stage", "Sealed", "Phase", "Progress", *counts, "ETA", "Verdict", "Age"]


def test_everything_but_suspend_and_cancel_of_a_run_is_immutable():
    spec = schema_of("benchmarkruns.fairtrial.dev")["properties"]["spec"]
    guarded = {rule["fieldPath"].lstrip(".") for rule in spec["x-kubernetes-validations"] if "oldSelf" in rule["rule"]}
    assert guarded == spec["properties"].keys() - {"suspend"}
