"""What an agent's own output says that it did, as one schema whatever the harness.

A harness is described by an adapter: rules as data (`rules`), applied to the recorded bytes (`normalize`), which gives
the events of `model`; `derive` counts them. Standard library only, since the recorder does this in the agent's pod.
"""

from fairtrial.events.derive import Interactions, derive
from fairtrial.events.measures import Interaction
from fairtrial.events.model import NOT_APPLICABLE, Detail, Event, Trial, line
from fairtrial.events.normalize import Limits, Normalizer
from fairtrial.events.rules import Adapter, Rule, Source, load

__all__ = [
    "NOT_APPLICABLE",
    "Adapter",
    "Detail",
    "Event",
    "Interaction",
    "Interactions",
    "Limits",
    "Normalizer",
    "Rule",
    "Source",
    "Trial",
    "derive",
    "line",
    "load",
]
