"""One metric as the page shows it: its name in words, and the unit of all of its numbers."""

from dataclasses import dataclass
from functools import cached_property

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.numbers import Unit
from fairtrial_analysis.report.measured import Amount


@dataclass(frozen=True)
class Metric:
    """An amount of the report with what is printed of it everywhere."""

    amount: Amount

    @property
    def name(self) -> str:
        """As the report calls it."""
        return self.amount.metric

    @property
    def slug(self) -> str:
        """For ids, in which an underscore parts names; no metric has a hyphen."""
        return self.name.replace("_", "-")

    @cached_property
    def title(self) -> str:
        """In words."""
        words = numbers.metric(self.name)
        return words[:1].upper() + words[1:]

    @cached_property
    def unit(self) -> Unit:
        """One for all of its numbers."""
        medians = [arm.valid.median.value for arm in self.amount.arms if arm.valid.median is not None]
        return numbers.unit_of(self.amount.unit, max(medians, default=None))

    def labelled(self, title: str) -> str:
        """A title with the unit, if it does not say it."""
        label = self.unit.label
        return f"{title}, {label}" if label and label not in title else title

    @property
    def measured(self) -> bool:
        """Whether any valid run has it."""
        return any(arm.valid.n for arm in self.amount.arms)
