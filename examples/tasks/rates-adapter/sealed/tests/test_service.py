"""The source against a service that answers as it is told, over real HTTP on this machine."""

import json
import threading
import time
import traceback
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from invoices.http_rates import HttpRates
from invoices.invoice import Position, total
from invoices.rates import RatesUnavailable, UnknownCurrency

KEY = "key-7f3a"


class Service:
    """Answers one after the other; the last for ever. `asked` are the paths and keys of all requests."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                service.asked.append((self.path, self.headers.get("X-Api-Key")))
                answer = service.answers.pop(0) if len(service.answers) > 1 else service.answers[0]
                answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def rates(self, **more):
        return HttpRates(f"http://127.0.0.1:{self.server.server_port}", key=KEY, **more)


@pytest.fixture
def serve():
    made = []

    def start(*answers):
        made.append(Service(*answers))
        return made[-1]

    yield start
    for one in made:
        one.server.shutdown()
        one.server.server_close()


def says(status, body=b"", **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler):
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def hangs(handler):
    time.sleep(1.5)


def breaks_off(handler):
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\n{\"rate\"")


GOOD = says(200, {"from": "EUR", "to": "USD", "rate": "1.08450000000000000001"})
BUSY = says(429, b"", Retry_After="7")


def test_it_asks_as_described_and_loses_no_digit(serve):
    service = serve(GOOD)
    rate = service.rates().rate("EUR", "USD")
    assert isinstance(rate, Decimal)
    assert rate == Decimal("1.08450000000000000001")
    assert service.asked == [("/v1/rates/EUR/USD", KEY)]


def test_an_invoice_can_use_it(serve):
    rates = serve(says(200, {"rate": "0.9"})).rates()
    assert total([Position("flight", Decimal("250.00"), "USD")], "EUR", rates) == Decimal("225.00")


def test_a_foreign_code_is_told_apart(serve):
    service = serve(says(404, {"error": "unknown_currency", "currency": "XTS"}))
    with pytest.raises(UnknownCurrency) as caught:
        service.rates().rate("EUR", "XTS")
    assert caught.value.currency == "XTS"
    assert len(service.asked) == 1


ODD = {
    "html-404": says(404, b"<html>no such page</html>"),
    "other-404": says(404, {"error": "no_route"}),
    "html-200": says(200, b"<html>log in</html>"),
    "list": says(200, ["1.5"]),
    "no-rate": says(200, {}),
    "zero": says(200, {"rate": "0"}),
    "nan": says(200, {"rate": "NaN"}),
    "words": says(200, {"rate": "about one"}),
    "wrong-key": says(401),
    "out-of-order": says(503),
    "breaks-off": breaks_off,
}


@pytest.mark.parametrize("name", ODD)
def test_no_sensible_answer_is_unavailable_and_asked_for_once(serve, name):
    service = serve(ODD[name])
    waits = []
    with pytest.raises(RatesUnavailable) as caught:
        service.rates(sleep=waits.append).rate("EUR", "USD")
    assert (len(service.asked), waits) == (1, [])
    assert KEY not in "".join(traceback.format_exception_only(caught.value))


def test_no_answer_in_time_is_unavailable(serve):
    service = serve(hangs)
    with pytest.raises(RatesUnavailable):
        service.rates(timeout=0.2).rate("EUR", "USD")


def test_nobody_there_is_unavailable(serve):
    service = serve(GOOD)
    rates = service.rates()
    service.server.shutdown()
    service.server.server_close()
    with pytest.raises(RatesUnavailable):
        rates.rate("EUR", "USD")


def test_busy_is_asked_again_when_it_says(serve):
    service, waits = serve(BUSY, says(429, b"", Retry_After="2"), GOOD), []
    assert service.rates(sleep=waits.append).rate("EUR", "USD") > 1
    assert waits == [7, 2]


def test_busy_three_times_is_unavailable(serve):
    service, waits = serve(BUSY), []
    with pytest.raises(RatesUnavailable):
        service.rates(sleep=waits.append).rate("EUR", "USD")
    assert (len(service.asked), waits) == (3, [7, 7])
