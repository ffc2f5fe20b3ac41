"""A loopback HTTP server that misbehaves on order: what a test's stand-in for a store is made of."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Order:
    """One misbehaviour of one call whose path contains `where`: an error `what` with a status, or a named fault."""

    operation: str
    what: str
    status: int = 0
    where: str = ""


@dataclass
class Orders:
    """What a server was told to do wrong, and what of it is done."""

    url: str = ""
    orders: list[Order] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def order(self, operation: str, what: str, status: int = 0, times: int = 1, where: str = "") -> None:
        self.orders += [Order(operation, what, status, where)] * times

    def take(self, operation: str, path: str = "") -> Order | None:
        with self.lock:
            for order in self.orders:
                if order.operation == operation and order.where in path:
                    self.orders.remove(order)
                    self.done.append(order.what)
                    return order
        return None


class RudeHandler(BaseHTTPRequestHandler):
    """Answers every method by `do`; `fault` is "", "drop" (no answer, a closed connection) or "cut" (half of one)."""

    protocol_version = "HTTP/1.1"
    fault = ""

    def do(self) -> None:
        raise NotImplementedError

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass

    def handle_one_request(self) -> None:
        self.fault = ""
        try:
            super().handle_one_request()
        except (ConnectionError, ValueError):
            self.close_connection = True

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def error(self, status: int, code: str) -> None:
        self.answer(status, f"<Error><Code>{code}</Code><Message>on order</Message></Error>".encode())

    def answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        if self.fault == "drop":
            return self.drop()
        self.send_response_only(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            return self.drop()
        if self.command != "HEAD":
            self.wfile.write(body)
        return None

    def drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
    setattr(RudeHandler, f"do_{method}", lambda self: self.do())


@contextmanager
def serving(handler: type[RudeHandler], **attributes: object) -> Iterator[str]:
    """The address of a server whose handlers have these attributes; it ends with the context."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (handler,), attributes))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
