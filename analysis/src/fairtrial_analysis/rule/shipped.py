"""The rules that ship with the analysis, each a document beside this module."""

from dataclasses import replace
from importlib import resources

from fairtrial_analysis.rule.model import DecisionRule, load_rule


def paired_rule(treatment: str, control: str) -> DecisionRule:
    """The rule of a paired experiment of ten tasks, until a cohort freezes its own."""
    text = resources.files(__package__).joinpath("rules/paired.json").read_bytes()
    return replace(load_rule(text, name="paired.json"), treatment=treatment, control=control)
