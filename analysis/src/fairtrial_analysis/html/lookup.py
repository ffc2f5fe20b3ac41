"""The report by what a page asks of it: candidates with their looks, runs by cell, where evidence stands. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fairtrial_analysis.html import numbers
from fairtrial_analysis.html.markup import Element, identifier, name_of, tag
from fairtrial_analysis.html.plots.arms import Arm, arms_of
from fairtrial_analysis.html.svg.marks import outline
from fairtrial_analysis.report.accounts import Flow
from fairtrial_analysis.report.model import Report, Run
from fairtrial_analysis.report.values import Number, Of

# What no run is behind, by what it is of: where it lies from data/analysis/report.html.
DOCUMENTS = {"sessions": "../construction.json", "samples": "../runtime.json"}
LISTED = 2000  # runs beyond which the appendix counts them instead
_NAMED = 12  # runs that are linked by name in a sentence


@dataclass(frozen=True)
class Lookup:
    """A report with its indexes, each made once."""

    report: Report

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """Every candidate; one that only a run names comes after those of the design."""
        names = dict.fromkeys([*self.report.design.arms, *(run.arm for run in self.report.runs)])
        return arms_of(tuple(names))

    @cached_property
    def _arms(self) -> dict[str, Arm]:
        return {arm.name: arm for arm in self.arms}

    def arm(self, name: str) -> Arm:
        """A candidate by its name."""
        return self._arms[name]

    @property
    def paired(self) -> bool:
        """Whether there are a treatment and a control to compare."""
        return self.report.design.treatment is not None and self.report.design.control is not None

    @property
    def sides(self) -> tuple[str, str]:
        """Names of treatment and control, or words for them."""
        return (self.report.design.treatment or "treatment", self.report.design.control or "control")

    @cached_property
    def runs(self) -> dict[str, Run]:
        """Runs by name; of several records under one name the first."""
        found: dict[str, Run] = {}
        for run in self.report.runs:
            found.setdefault(run.run, run)
        return found

    @cached_property
    def cells(self) -> dict[tuple[str, str], list[Run]]:
        """Runs by task and candidate, in the order of the schedule."""
        found: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in sorted(self.report.runs, key=lambda run: (run.index, run.run)):
            found[run.task, run.arm].append(run)
        return found

    @property
    def listed(self) -> bool:
        """Whether the appendix lists every run."""
        return len(self.report.runs) <= LISTED

    @cached_property
    def flows(self) -> dict[str, Flow]:
        """What became of the runs, by candidate."""
        return {flow.arm: flow for flow in self.report.flow if flow.arm is not None}

    def behind(self, of: Of) -> str:
        """Where the runs stand that a number was computed of, or the document that it was read from."""
        if of.among in DOCUMENTS:
            return DOCUMENTS[of.among]
        if of.task is not None and of.arm is not None and (of.task, of.arm) in self.cells:
            return "#" + identifier("runs-of", of.task, of.arm)
        if of.task is not None and any(task == of.task for task, _ in self.cells):
            return "#" + identifier("runs-of-task", of.task)
        if of.arm is not None and of.arm in self._arms:
            return "#" + identifier("runs-of-arm", of.arm)
        return "#runs"

    def evidence(self, number: Number, words: str) -> Element:
        """A number that leads to its runs."""
        if number.runs is not None and len(number.runs) == 1:
            return self.run(number.runs[0], words)
        return self._to(number.of, words)

    def count(self, count: int, arm: str | None = None, runs: Sequence[str] = ()) -> Element | str:
        """A count of runs that leads to them: to the one, to all of its candidate, or to all. None lead nowhere."""
        if not count:
            return "0"
        if len(runs) == 1:
            return self.run(runs[0], numbers.integer(count))
        return self._to(Of("scheduled", arm=arm), numbers.integer(count))

    def share(self, passed: int, valid: int, arm: str) -> Element | str:
        """So many of so many runs of a candidate, leading to them."""
        return self._to(Of("valid", arm=arm), f"{passed}/{valid}") if valid else f"{passed}/{valid}"

    def _to(self, of: Of, words: str) -> Element:
        return tag("a", words, href=self.behind(of), class_="ev")

    def run(self, name: str, words: str | None = None) -> Element:
        """A run that leads to its line in the appendix, or to its cell where the appendix only counts."""
        known = self.runs.get(name)
        shown = name_of(words or name)
        if known is None:
            return shown
        anchor = identifier("run", name) if self.listed else identifier("runs-of", known.task, known.arm)
        return tag("a", shown, href=f"#{anchor}", class_="ev")

    def named(self, names: list[str]) -> Element:
        """Runs in a sentence: the first dozen, then how many more."""
        parts: list[Element | str] = []
        for number, name in enumerate(names[:_NAMED]):
            parts += [", ", self.run(name)] if number else [self.run(name)]
        if len(names) > _NAMED:
            parts.append(f" and {len(names) - _NAMED} more")
        return tag("span", *parts)

    def key(self, name: str) -> Element:
        """A candidate's name with its marker."""
        arm = self.arm(name) if name in self._arms else None
        return tag("span", mark(arm) if arm else None, name_of(name), class_="who")


def mark(arm: Arm) -> Element:
    """A candidate's marker within text."""
    drawn = tag("path", d=outline(arm.shape, 6, 6, 4.4), class_=f"mark {arm.colour}")
    return tag("svg", drawn, viewBox="0 0 12 12", class_="key-mark", aria_hidden="true")
