"""What every API model stands on: strict models, bounded field types, rules for Python and the API server alike.

A `Rule` is written once and used twice: as a pydantic check, for the command line and the tests, and as a CEL rule in
the generated CRD, so that `kubectl apply` refuses the same input with the same sentence.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from fairtrial import documents
from fairtrial.documents import camel

CEL_KEY = "x-kubernetes-validations"


@dataclass(frozen=True)
class Rule:
    """One rule with its sentence. Without `check` only the API server can see it: it compares with the old object."""

    cel: str
    message: str
    check: Callable[[Any], bool] | None = None
    field: str = ""  # the field that an object's rule is about, such as ".cancel"

    def validation(self) -> dict[str, str]:
        """The rule as an entry of `x-kubernetes-validations`."""
        entry = {"rule": self.cel, "message": self.message}
        return entry | ({"fieldPath": self.field} if self.field else {})

    def enforce(self, value: Any) -> Any:
        """Give `value` back, or refuse it with the rule's sentence."""
        if self.check is not None and not self.check(value):
            raise PydanticCustomError("rule", "{sentence}", {"sentence": self.message})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.enforce, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(schema)
        made[CEL_KEY] = [*made.get(CEL_KEY, []), self.validation()]
        return made


def matching(pattern: str, message: str) -> Rule:
    """A rule that a whole string matches `pattern` (the syntax common to RE2 and Python)."""
    compiled = re.compile(pattern)
    return Rule(f"self.matches(r'^(?:{pattern})$')", message, lambda text: compiled.fullmatch(text) is not None)


def unique_names(what: str) -> Rule:
    """A rule that no two items of a list share a name.

    Not `x-kubernetes-list-type: map`: the API server compares such lists without their order, so that an immutable
    list could still be reordered.
    """
    return Rule(
        "self.all(x, self.exists_one(y, y.name == x.name))",
        f"{what} share a name; give each its own.",
        lambda items: len({item.name for item in items}) == len(items),
    )


class Model(BaseModel):
    """What a person writes: unknown fields are refused, nothing changes once it is read."""

    model_config = ConfigDict(
        alias_generator=camel,
        validate_by_name=True,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )
    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _keep_the_rules(self) -> Self:
        broken = [rule for rule in self.rules if rule.check is not None and not rule.check(self)]
        if broken:
            sentences = " ".join(rule.message for rule in broken)
            each = [(rule.field, rule.message) for rule in broken]
            raise PydanticCustomError("rule", "{sentences}", {"sentences": sentences, "each": each})
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        made = handler.resolve_ref_schema(handler(schema))
        if cls.rules:
            made[CEL_KEY] = [rule.validation() for rule in cls.rules]
        return made

    def as_json(self) -> dict[str, Any]:
        """The object as the API server holds it: camelCase keys, unset fields left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Observation(Model):
    """What the operator writes: a newer operator's unknown fields are read over, so that a downgrade works."""

    model_config = ConfigDict(extra="ignore")


def digest(value: Any) -> str:
    """SHA-256 of a text's UTF-8 bytes, or of anything else's canonical JSON."""
    return hashlib.sha256(value.encode() if isinstance(value, str) else documents.dump(value)).hexdigest()


# --- quantities -------------------------------------------------------------------------------------------------------
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")
_FACTORS = {"m": Decimal("0.001")} | {
    unit: Decimal(10 ** (3 * n)) for n, unit in enumerate(("", "k", "M", "G", "T", "P"))
}
_FACTORS |= {unit: Decimal(1024**n) for n, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), start=1)}


def quantity_value(text: str) -> Decimal:
    """The number that a Kubernetes quantity stands for; `ValueError` if it stands for none."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m, 2, 1G or 1Gi")
    return Decimal(found.group(1)) * _FACTORS[found.group(2) or ""]


def _is_quantity(text: str) -> bool:
    return _QUANTITY.fullmatch(text) is not None and quantity_value(text) > 0


# --- field types, each with its bounds --------------------------------------------------------------------------------
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"

Name = Annotated[
    str,
    Field(min_length=1, max_length=63),
    matching(_LABEL, "name must hold lower-case letters, digits and '-', and start and end with a letter or digit."),
]
ObjectName = Annotated[
    str,
    Field(min_length=1, max_length=253),
    matching(
        r"[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?",
        "name must be that of an object: lower-case letters, digits, '-' and '.', as `kubectl get` shows it.",
    ),
]
Uid = Annotated[str, Field(min_length=1, max_length=64)]
Sha256 = Annotated[
    str,
    Field(max_length=64),
    matching("[0-9a-f]{64}", "a SHA-256 must be 64 lower-case hex digits, without the prefix 'sha256:'."),
]
Image = Annotated[
    str,
    Field(max_length=512),
    matching(
        r"[a-z0-9][a-zA-Z0-9._:/-]*@sha256:[0-9a-f]{64}",
        "image must end in @sha256:<64 hex digits>, because a tag can be moved to other content; "
        "find the digest with `crane digest IMAGE` or `docker buildx imagetools inspect IMAGE`.",
    ),
]
Quantity = Annotated[
    str,
    Field(min_length=1, max_length=24),
    Rule(
        "self.matches(r'^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$') && isQuantity(self) "
        "&& quantity(self).isGreaterThan(quantity('0'))",
        'quantity must be a positive number with at most one unit, such as "500m", "2", "1G" or "1Gi"; '
        "1GB is not one: use 1G or 1Gi.",
        _is_quantity,
    ),
]
Seconds = Annotated[int, Field(strict=True, ge=1, le=604800)]
ExitCode = Annotated[int, Field(strict=True, ge=0, le=255)]
Timestamp = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
Word = Annotated[str, Field(max_length=63)]
Line = Annotated[str, Field(max_length=256)]
Sentence = Annotated[str, Field(max_length=1024)]
Paragraph = Annotated[str, Field(max_length=8192)]
Argument = Annotated[str, Field(max_length=8192)]
Argv = Annotated[
    tuple[Argument, ...],
    Field(max_length=256),
    Rule(
        "self.size() > 0 && self[0] != ''",
        "argv must not be empty; name the program first, then its arguments, one list item each.",
        lambda argv: bool(argv) and argv[0] != "",
    ),
]
Glob = Annotated[str, Field(min_length=1, max_length=512)]


def immutable(model: type[BaseModel], *, besides: tuple[str, ...] = (), when: str = "") -> tuple[Rule, ...]:
    """One rule per field that it can't change after creation; `when` narrows them by a CEL condition on `oldSelf`.

    They stand on the parent, because the API server skips a field's own transition rule where the field is added or
    removed.
    """
    rules = []
    for name, info in model.model_fields.items():
        key = info.alias or name
        if name in besides:
            continue
        same = f"self.{key} == oldSelf.{key}"
        if not info.is_required():
            same = f"has(self.{key}) == has(oldSelf.{key}) && (!has(self.{key}) || {same})"
        moment = "once it is sealed" if when else "after it is created"
        message = f"{key} can't change {moment}; make a new object with another name."
        rules.append(Rule(f"!({when}) || ({same})" if when else same, message, field=f".{key}"))
    return tuple(rules)


# --- the envelope of every object -------------------------------------------------------------------------------------
class ObjectMeta(Observation):
    """The part of an object's metadata that Fairtrial reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: tuple[str, ...] = ()


def named(limit: int, why: str) -> tuple[Rule, Rule]:
    """The rules for an object's own name; they stand on the object, where CEL can see `metadata.name`."""
    label = re.compile(_LABEL)
    return (
        Rule(
            f"self.metadata.name.size() <= {limit}",
            f"metadata.name must have at most {limit} characters, {why}; choose a shorter name.",
            lambda made: len(made.metadata.name) <= limit,
        ),
        Rule(
            f"self.metadata.name.matches(r'^{_LABEL}$')",
            "metadata.name must hold lower-case letters, digits and '-' only, because it becomes part of a label and "
            "of a host name; replace dots.",
            lambda made: not made.metadata.name or label.fullmatch(made.metadata.name) is not None,
        ),
    )
