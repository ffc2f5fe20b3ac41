"""Makes the list of a run's calls of models and tools from what the gateway stored, and puts it beside the reports.

If another replica was first, the store refuses a second list that differs; the first one is read at the next look.
"""

import hashlib

from fairtrial.api import BenchmarkRun
from fairtrial.documents import Artifact, dump
from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.evidence.layout import RunLayout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.journal import summary
from fairtrial.usage import calls
from fairtrial_operator.metrics import STORE_ERRORS
from fairtrial_operator.seen import Report

PAGE, STARTED = "exchange.json", "started.json"
PAGE_LIMIT = 1 << 20


def collect(store: ObjectStore, keys: RunLayout, run: BenchmarkRun, *, final: bool) -> Report:
    """The stored list; `incomplete` while calls that began have no page yet and `final` does not say to go on."""
    try:
        return _collect(store, keys, run, final=final)
    except FairtrialError as error:
        STORE_ERRORS.labels(error.reason).inc()
        return Report("unavailable", message=str(error))


def _collect(store: ObjectStore, keys: RunLayout, run: BenchmarkRun, *, final: bool) -> Report:
    pages: dict[str, tuple[summary.Exchange, int, str]] = {}
    unfinished = []
    for tool in (False, True):
        ended, open_ended = exchanges(store.keys(keys.exchanges(tool=tool)), keys.exchanges(tool=tool))
        unfinished += open_ended
        for name in ended:
            data = store.get(keys.exchange(name, PAGE, tool=tool), limit=PAGE_LIMIT)
            try:
                page = summary.load(data, name=f"{name}/{PAGE}")
                pages[name] = (page, len(data), hashlib.sha256(data).hexdigest())
            except InvalidInput:
                unfinished.append(name)  # nobody can say how it ended
    if unfinished and not final:
        return Report("incomplete", message=f"Calls without a page: {', '.join(unfinished[:3])}")
    provider, ref = run.status.provider, run.spec.network.model_provider_ref
    name, model = ref.name if ref else "", provider.model.id if provider else ""
    prices = provider.pricing.prices_of(name, model) if provider and provider.pricing else None
    made = calls.summarise(pages, unfinished, provider=name, model=model, prices=prices)
    data = dump(made)
    store.put(keys.artifact(calls.ARTIFACT), data, media_type="application/json")
    artifact = Artifact(calls.ARTIFACT, len(data), hashlib.sha256(data).hexdigest())
    return Report("present", calls=made, artifact=artifact)


def exchanges(keys: list[str], prefix: str) -> tuple[list[str], list[str]]:
    """The exchanges that have their page, and those that only began. Pure."""
    files: dict[str, set[str]] = {}
    for key in keys:
        name, _, file = key.removeprefix(prefix).partition("/")
        files.setdefault(name, set()).add(file)
    ended = sorted(name for name, found in files.items() if PAGE in found)
    return ended, sorted(name for name, found in files.items() if PAGE not in found)
