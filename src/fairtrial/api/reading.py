"""Objects from JSON or YAML data: strict, with the path of whatever does not fit."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fairtrial.api.base import Model
from fairtrial.api.cohort import BenchmarkCohort
from fairtrial.api.provider import ModelProvider
from fairtrial.api.resource_class import ResourceClass
from fairtrial.api.run import BenchmarkRun
from fairtrial.api.task import BenchmarkTask
from fairtrial.errors import InvalidInput

M = TypeVar("M", bound=Model)

KINDS: dict[str, type[Model]] = {
    "BenchmarkRun": BenchmarkRun,
    "BenchmarkCohort": BenchmarkCohort,
    "BenchmarkTask": BenchmarkTask,
    "ResourceClass": ResourceClass,
    "ModelProvider": ModelProvider,
}


def parse(kind: type[M], raw: Mapping[str, Any], *, name: str = "") -> M:
    """Read `raw` as `kind`; refuse it with one sentence per field that does not fit, after the `name` of its source."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise InvalidInput(f"{name or kind.__name__}: {'; '.join(sentences(error))}") from error


def sentences(error: ValidationError) -> list[str]:
    """What does not fit, a sentence each, after the path of its field."""
    return [told for one in error.errors(include_url=False, include_input=False) for told in _sentences(one)]


def _sentences(error: ErrorDetails) -> list[str]:
    where = _path(error["loc"])
    if error["type"] == "extra_forbidden":
        return [f"{where}: there is no such field; check its spelling against `kubectl explain`."]
    each = error.get("ctx", {}).get("each", [("", error["msg"])])
    return [f"{where}{field}: {message}" for field, message in each]


def _path(location: tuple[int | str, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).lstrip(".") or "object"
