"""Exchange rates from the rates service; docs/rates-service.md describes it."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from invoices.rates import RatesUnavailable, UnknownCurrency

REQUESTS_MAX = 3
WAIT_DEFAULT = 1.0


class HttpRates:
    """Asks the rates service, each time anew."""

    def __init__(
        self, url: str, key: str, timeout: float = 5.0, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._url = url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._sleep = sleep

    def rate(self, source: str, target: str) -> Decimal:
        """How many units of `target` one unit of `source` is."""
        for remaining in reversed(range(REQUESTS_MAX)):
            status, headers, body = self._ask(f"{self._url}/v1/rates/{source}/{target}")
            if status != 429:
                break
            if remaining:
                self._sleep(WAIT_DEFAULT)
        if status == 404 and body.get("error") == "unknown_currency":
            raise UnknownCurrency(str(body.get("currency")))
        if status != 200:
            raise RatesUnavailable(f"the rates service answers with {status}")
        return _rate(body.get("rate"))

    def _ask(self, url: str) -> tuple[int, http.client.HTTPMessage, dict[str, object]]:
        request = urllib.request.Request(url, headers={"X-Api-Key": self._key})
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                return answer.status, answer.headers, _object(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, _object(error.read())
        except (OSError, http.client.HTTPException) as error:
            raise RatesUnavailable(f"the rates service does not answer: {type(error).__name__}") from None


def _object(body: bytes) -> dict[str, object]:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _rate(text: object) -> Decimal:
    try:
        rate = Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        rate = Decimal("NaN")
    if not rate.is_finite() or rate <= 0:
        raise RatesUnavailable("the rates service answers with no rate")
    return rate


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isdecimal() else WAIT_DEFAULT
