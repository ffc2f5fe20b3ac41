"""Whether a request keeps to the model and the parameters that a cohort pins. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from fairtrial.wires.base import RequestFacts

UNSET = "unset"  # as a pinned value: calls must leave the parameter out


@dataclass(frozen=True)
class Violation:
    """One way in which a request breaks the pin."""

    kind: Literal["wrong_model", "wrong_parameter"]
    message: str


def violations(model: str, parameters: Mapping[str, str], request: RequestFacts) -> list[Violation]:
    """Every violation, the model's first. A token count generates nothing, so only its model matters."""
    found = []
    if request.model != model:
        found.append(Violation("wrong_model", f"this run may only call the model {model}, not {request.model!r}"))
    if request.call.kind != "generate":
        return found
    for name, pinned in sorted(parameters.items()):
        said = request.parameters.get(name)
        if said is None and pinned != UNSET:
            message = f"this run must set {name} to {pinned}; the call leaves it out"
        elif said is not None and not _same(said, pinned):
            must = "leave it out" if pinned == UNSET else f"be {pinned}"
            message = f"{name} is {said}; in this run it must {must}"
        elif cased := [each for each in request.parameters if each != name and each.casefold() == name.casefold()]:
            message = f"the call has {cased[0]!r}, which some readers take for {name!r}"
        else:
            continue
        found.append(Violation("wrong_parameter", message))
    return found


def _same(said: str, pinned: str) -> bool:
    """Equal as text, or as numbers: 1 and 1.0 ask for the same."""
    if said == pinned:
        return True
    try:
        return Decimal(said) == Decimal(pinned)
    except InvalidOperation:
        return False
