"""Counting model calls. Labels are wires, endings and refusals, which are ours; nothing that a caller chooses."""

import functools

from fairtrial.journal.summary import Exchange
from fairtrial_gateway.metrics import Metrics

_TOKENS = ("uncached_input", "cached_input", "cache_write", "output", "reasoning")


class Measures:
    """The metrics of model calls."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._calls = functools.cache(metrics.model_calls.labels)
        self._tokens = functools.cache(metrics.model_tokens.labels)
        self._request_bytes = metrics.journal_bytes.labels("request")
        self._response_bytes = metrics.journal_bytes.labels("response")

    def begun(self) -> None:
        """A call has begun."""
        self._metrics.model_open.inc()

    def ended(self, page: Exchange, seconds: float) -> None:
        """A call has ended."""
        metrics = self._metrics
        metrics.model_open.dec()
        self._calls(page.wire, page.ending).inc()
        metrics.model_seconds.observe(seconds)
        self._request_bytes.inc(page.request_bytes)
        self._response_bytes.inc(page.response_bytes)
        if page.refusal:
            metrics.model_refusals.labels(page.refusal).inc()
        for name in _TOKENS:
            if count := page.usage.counters.get(name):
                self._tokens(page.wire, name).inc(count)

    def unrecorded(self, refusal: str) -> None:
        """A call was refused without a journal."""
        self._metrics.model_refusals.labels(refusal).inc()

    def spool(self, size: int, waiting: int) -> None:
        """How full the spool is."""
        self._metrics.spool_bytes.set(size)
        self._metrics.journals_waiting.set(waiting)

    def leaked(self) -> None:
        """A credential was found in a journal."""
        self._metrics.leaks.inc()
