"""JSON Schema of report.json, for readers in other languages. Pure."""

from typing import Any

from pydantic import TypeAdapter

from fairtrial.documents import camel
from fairtrial_analysis.report.model import Report

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def report_schema() -> dict[str, Any]:
    """The schema of a report as `canonical` writes it: camelCase keys, no others, none that is null."""
    made: dict[str, Any] = _published(TypeAdapter(Report).json_schema())
    return {"$schema": _DRAFT} | made


def _published(raw: Any) -> Any:
    if isinstance(raw, list):
        return [_published(item) for item in raw if item != {"type": "null"}]
    if not isinstance(raw, dict):
        return raw
    made = {key: _published(value) for key, value in raw.items() if key not in ("title", "default", "properties")}
    if "properties" in raw:
        made["properties"] = {camel(key): _published(value) for key, value in raw["properties"].items()}
        optional = {key for key, value in raw["properties"].items() if _may_be_null(value)}
        made["required"] = sorted(camel(key) for key in raw["properties"] if key not in optional)
        made["additionalProperties"] = False
    return made


def _may_be_null(value: Any) -> bool:
    return {"type": "null"} in value.get("anyOf", ())
