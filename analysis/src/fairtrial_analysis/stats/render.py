"""Where exact numbers are written down: rationals beside their decimal, floats to a fixed number of digits. Pure.

The only way from a statistic to JSON. A NaN or an infinity that got this far is an error in the statistic, and stops.
"""

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairtrial_analysis.stats.conventions import CONVENTIONS, Conventions


def plain(result: Any, conventions: Conventions = CONVENTIONS) -> Any:
    """A named result as JSON: a dataclass is an object, a rational `{"rational": "37/50", "value": 0.74}`."""
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        names = [field.name for field in dataclasses.fields(result)]
        return {_camel(name): plain(getattr(result, name), conventions) for name in names}
    if isinstance(result, Mapping):
        return {str(key): plain(item, conventions) for key, item in result.items()}
    if isinstance(result, list | tuple):
        return [plain(item, conventions) for item in result]
    if isinstance(result, Fraction):
        return {"rational": str(result), "value": rounded(_float(result), conventions)}
    if isinstance(result, float):
        return rounded(result, conventions)
    if result is None or isinstance(result, str | int):
        return result
    raise TypeError(f"{type(result).__name__} is not a result")


def rounded(value: float, conventions: Conventions = CONVENTIONS) -> float:
    """To the digits that are published; what remains below them is rounding noise and differs between machines."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is no result: a statistic without a value is None with a reason")
    shortened = float(f"{value:.{conventions.significant_digits - 1}e}")
    return shortened or 0.0  # never -0.0


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError("a rational number beyond floating point can't be written down") from error


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)
