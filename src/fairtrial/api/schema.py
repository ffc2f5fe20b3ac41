"""JSON Schemas of the documents that leave the system, for readers in other languages. Pure."""

from typing import Any

from pydantic import TypeAdapter

from fairtrial import documents
from fairtrial.documents import camel

JsonObject = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS = {
    "agent-plan": documents.AgentPlan,
    "agent-report": documents.AgentReport,
    "evaluation-plan": documents.EvaluationPlan,
    "evaluation-report": documents.EvaluationReport,
}


def document_schemas() -> dict[str, JsonObject]:
    """The schema of each plan and report, by name."""
    return {name: document_schema(kind) for name, kind in DOCUMENTS.items()}


def document_schema(kind: type) -> JsonObject:
    """The schema of a document as `documents.dump` writes it: camelCase keys, no others."""
    return {"$schema": _DRAFT} | _camel_cased(TypeAdapter(kind).json_schema())


def inlined(kind: type) -> JsonObject:
    """The schema of a document without references, to stand inside another schema."""
    schema = _camel_cased(TypeAdapter(kind).json_schema())
    known = schema.pop("$defs", {})
    made: JsonObject = _without_references(schema, known)
    return made


def _without_references(value: Any, known: JsonObject) -> Any:
    if isinstance(value, dict) and "$ref" in value:
        return _without_references(known[value["$ref"].rsplit("/", 1)[-1]], known)
    if isinstance(value, dict):
        return {key: _without_references(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_references(item, known) for item in value]
    return value


def _camel_cased(raw: JsonObject) -> JsonObject:
    made = {key: _inner(value) for key, value in raw.items() if key != "title"}
    if "properties" in raw:
        made["properties"] = {camel(key): _inner(value) for key, value in raw["properties"].items()}
        made["required"] = sorted(made["properties"])  # the writer leaves nothing out
        made["additionalProperties"] = False
    made.pop("default", None)
    return made


def _inner(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _inner(item) for key, item in value.items()} if _is_map_of_schemas(value) else _camel_cased(value)
    if isinstance(value, list):
        return [_inner(item) for item in value]
    return value


def _is_map_of_schemas(value: JsonObject) -> bool:
    return bool(value) and all(isinstance(item, dict) for item in value.values())
