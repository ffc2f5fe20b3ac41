"""What goes wrong on purpose: its declaration, and which fault an attempt meets.

Faults of one step strike one after another, each `times` times; then the step is answered as written. Attempts are
counted by the server for each step, so this is the one thing that a restart of the server forgets.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fairtrial.task.model import Model

Kind = Literal[
    "truncated_tool_json",
    "extra_arguments",
    "wrong_types",
    "status",
    "empty_body",
    "empty_answer",
    "malformed_body",
    "truncated_stream",
    "silence",
    "wrong_model",
    "no_usage",
    "echo",
    "endless",
    "long",
    "gzip",
    "gzip_bomb",
    "huge_header",
    "split_utf8",
]
NEED_CALL = {"truncated_tool_json", "extra_arguments", "wrong_types"}
# Which of the fields below mean something for which kind.
FIELDS: dict[str, set[str]] = {
    "status": {"status", "retry_after", "message"},
    "truncated_stream": {"after_events"},
    "silence": {"after_events", "seconds"},
    "wrong_model": {"model"},
    "echo": {"header", "text", "form"},
    "endless": {"ms"},
    "long": {"bytes", "ms"},
    "gzip_bomb": {"bytes"},
    "huge_header": {"bytes"},
}
DEFAULTS: dict[str, dict[str, object]] = {
    "status": {"status": 500},
    "silence": {"seconds": 3600},
    "wrong_model": {"model": "another-model"},
    "echo": {"form": "plain"},
    "long": {"bytes": 50_000_000},
    "gzip_bomb": {"bytes": 100_000_000},
    "huge_header": {"bytes": 10_000_000},
}


def _step(value: int | str | None) -> int | str | None:
    if value is None or value == "plain" or (isinstance(value, int) and value >= 1):
        return value
    raise ValueError("must be the number of a step, from 1, or plain")


def _times(value: int | str) -> int | str:
    if value == "always" or (isinstance(value, int) and value >= 1):
        return value
    raise ValueError("must be a number from 1, or always")


def _retry_after(value: int | str | None) -> int | str | None:
    if value is not None and not re.fullmatch(r"[ -~]{1,100}", str(value)):
        raise ValueError("must be seconds or a date")
    return value


class Fault(Model):
    """One fault. `step` is a number from 1, or `plain` for requests without tools; left out, it is every step."""

    kind: Kind
    step: Annotated[int | str | None, AfterValidator(_step)] = None
    times: Annotated[int | str, AfterValidator(_times)] = 1
    status: Annotated[int, Field(ge=300, le=599)] | None = None
    retry_after: Annotated[int | str | None, AfterValidator(_retry_after)] = None
    message: Annotated[str, Field(max_length=10_000)] | None = None
    after_events: Annotated[int, Field(ge=0)] | None = None
    seconds: Annotated[int | float, Field(ge=0, le=86_400)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    header: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    text: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    form: Literal["plain", "base64", "percent", "split"] | None = None
    bytes: Annotated[int, Field(ge=1, le=10_000_000_000)] | None = None
    ms: Annotated[int, Field(ge=0, le=600_000)] | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        written = self.model_fields_set - {"kind", "step", "times"}
        if strange := sorted(written - FIELDS.get(self.kind, set())):
            raise ValueError(f"{', '.join(strange)} means nothing for {self.kind}")
        if self.kind == "echo" and (self.header is None) == (self.text is None):
            raise ValueError("echo needs either `header` or `text`")
        for name, value in DEFAULTS.get(self.kind, {}).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)  # a frozen model: this is still its construction
        return self

    @property
    def needs_call(self) -> bool:
        """Whether the fault is one of a tool call."""
        return self.kind in NEED_CALL


def fault_of(faults: Sequence[Fault], step: int | Literal["plain"], attempt: int) -> Fault | None:
    """The fault that attempt number `attempt` (from 1) at `step` meets."""
    for fault in faults:
        everywhere = fault.step is None and step != "plain"
        if fault.step != step and not everywhere:
            continue
        if not isinstance(fault.times, int) or attempt <= fault.times:
            return fault
        attempt -= fault.times
    return None
