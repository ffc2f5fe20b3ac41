"""A report in which names are others: hostile ones, long ones, ones that are written from right to left."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from fairtrial_analysis.report.model import Report

# Markup, a scheme, what turns the direction of writing, right-to-left letters, and no place to break a line.
MARKUP = "<script>alert(1)</script>"
ATTRIBUTE = '" onmouseover="alert(1)'
TURNING = "gpj.\u202eexe\u2066"
HEBREW = "בדיקת נגישות"
LONG = "x" * 253


def renamed(report: Report, names: Mapping[str, str]) -> Report:
    """The report with every text that is one of these names replaced, wherever it stands."""
    changed: Report = _renamed(report, names)
    return changed


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: _renamed(getattr(value, each.name), names) for each in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value
