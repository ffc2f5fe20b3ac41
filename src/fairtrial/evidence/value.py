"""A measured value, or the reason why there is none. Null never becomes zero, and a reason is never left out. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from fairtrial import documents
from fairtrial.api.base import Model
from fairtrial.api.schema import inlined

T = TypeVar("T")

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
Integer = Annotated[int, Field(strict=True, ge=INT64_MIN, le=INT64_MAX)]


class Value(Model, Generic[T]):
    """One value in one of four states; only `measured` has a value, and every other state has a reason."""

    state: Literal["measured", "missing", "not_applicable", "void"]
    """Whether there is a value; void means that a rule was broken, so that it may not be used."""
    value: T | None = None
    """The value, if it was measured."""
    reason: str | None = None
    """Why there is none, as one snake_case word or a sentence."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        measured = self.state == "measured"
        if measured != (self.value is not None) or measured == bool(self.reason):
            raise ValueError("a measured value has a value and no reason; any other has a reason and no value")
        return self


def measured(value: T) -> Value[T]:
    """It was observed."""
    return Value(state="measured", value=value)


def missing(reason: str) -> Value[Any]:
    """It exists, but was not observed."""
    return Value(state="missing", reason=reason)


def not_applicable(reason: str) -> Value[Any]:
    """There is no such thing here."""
    return Value(state="not_applicable", reason=reason)


def void(reason: str) -> Value[Any]:
    """It was observed, and may not be used."""
    return Value(state="void", reason=reason)


# --- what pods say about themselves -----------------------------------------------------------------------------------
def plain(value: Any) -> Any:
    """`value` with what JSON readers disagree about as text: floating point, and integers that 64 bits do not hold."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) or (isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX):
        return str(value)
    return value


def _is_plain(value: dict[str, Any]) -> dict[str, Any]:
    if plain(value) != value:
        raise ValueError("holds floating point or an integer that 64 bits do not hold; write those as text")
    return value


Plain = Annotated[dict[str, Any], AfterValidator(_is_plain)]


class _Document:
    """Lets a record hold one of `fairtrial.documents` in the very form that pods upload."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(raw: Any) -> Any:
            return raw if isinstance(raw, source) else documents.from_json(source, raw, source.__name__)

        written = core_schema.plain_serializer_function_ser_schema(documents.to_json)
        metadata = {"pydantic_js_functions": [lambda _schema, _handler: inlined(source)]}
        return core_schema.no_info_plain_validator_function(read, serialization=written, metadata=metadata)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema)


DOCUMENT = _Document()
