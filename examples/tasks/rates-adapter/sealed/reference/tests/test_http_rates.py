"""The rates service, played by a server of this process."""

import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer

from invoices.http_rates import HttpRates


def test_a_rate_is_exact():
    class Service(BaseHTTPRequestHandler):
        def do_GET(self):
            assert (self.path, self.headers["X-Api-Key"]) == ("/v1/rates/EUR/USD", "k")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"from": "EUR", "to": "USD", "rate": "1.08450"}')

    server = HTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.handle_request, daemon=True).start()
    assert str(HttpRates(f"http://127.0.0.1:{server.server_port}", key="k").rate("EUR", "USD")) == "1.08450"
    server.server_close()


def test_it_is_used_like_any_source():
    assert HttpRates("http://127.0.0.1:9", key="k").rate.__annotations__["return"] is Decimal
