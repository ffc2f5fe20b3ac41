"""Whether a run recovered from the faults of its provider (protocol 4 §7 "recovery rate"). Pure.

The unit is the run, since faults of one run come in bursts and are no independent trials. A valid run counts if a fault
was observed in it, injected or not; it has recovered if a usable answer followed every fault and nobody intervened.
Where the harness does not tell interventions, there were none: nobody can reach into an agent's pod.
"""

from collections.abc import Mapping

from fairtrial_analysis.stats.value import Value


def recovered(values: Mapping[str, Value]) -> bool | None:
    """Whether it has; None where there was no fault, or where nobody counted them."""
    faults, ended = (_number(values, name) for name in ("provider_faults", "provider_faults_recovered"))
    if not faults or ended is None:
        return None
    return ended >= faults and not _number(values, "interventions")


def _number(values: Mapping[str, Value], metric: str) -> float | None:
    found = values.get(metric)
    return None if found is None or found.value is None else float(found.value)
