"""The load of `model_calls`: requests on bare sockets, so that the measuring takes less time than what it measures."""

import asyncio
import itertools
import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MODEL, NAMESPACE = "model-1", "bench"
TIMEOUT = 120.0
MAX_LATE = 0.005  # a piece that comes later than that is late
PROMPT = "Read the file, find the defect and mend it; the tests are in tests/. " * 8
_LENGTH, _STAMP = re.compile(rb"content-length: *(\d+)", re.I), re.compile(rb"@(\d+) ")


@dataclass(frozen=True)
class Target:
    """Where calls go, and the keys that callers have, one for each run."""

    port: int
    path: str
    keys: tuple[str, ...]

    def request(self, caller: int, what: str = "answer", *, stream: bool = False) -> bytes:
        """A call in bytes."""
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": what}]
        body = json.dumps({"model": MODEL, "messages": messages, "stream": stream}).encode()
        lines = (
            f"POST {self.path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Authorization: Bearer {self.keys[caller % len(self.keys)]}",
            "Content-Type: application/json",
            "Accept: */*",
            f"Content-Length: {len(body)}",
        )
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Told:
    """What one answer was like."""

    status: int
    size: int = 0
    arrived: list[tuple[float, float]] = field(
        default_factory=list
    )  # of stamped pieces: when read, and sent how long ago


class Connection(asyncio.Protocol):
    """One kept connection."""

    def __init__(self) -> None:
        self._on: Callable[[bytes], None] = lambda _: None
        self._done: asyncio.Future[Told] | None = None

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect."""
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    async def call(self, request: bytes) -> Told:
        """Send a request and wait for its whole answer."""
        self._head, self._left, self._tail = b"", -1, b""
        self.told = Told(0)
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._done

    def close(self) -> None:
        """Disconnect."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """The other side has closed."""
        if self._done and not self._done.done():
            self._done.set_exception(error or ConnectionError("closed in the middle of an answer"))

    def data_received(self, data: bytes) -> None:
        """More of the answer."""
        now = time.monotonic_ns()
        told = self.told
        if not told.status:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            head, data = self._head[:end], self._head[end + 4 :]
            told.status = int(head[9:12])
            length = _LENGTH.search(head)
            self._left = int(length[1]) if length else -1
        told.size += len(data)
        for stamp in _STAMP.findall(data):
            told.arrived.append((now / 1e9, (now - int(stamp)) / 1e9))
        self._tail = (self._tail + data)[-5:]
        whole = told.size >= self._left if self._left >= 0 else self._tail == b"0\r\n\r\n"
        if whole and self._done and not self._done.done():
            self._done.set_result(told)


@dataclass(frozen=True)
class Calls:
    """How a number of calls went, in seconds."""

    seconds: float
    latencies: list[float]

    @property
    def per_second(self) -> float:
        """Calls a second."""
        return len(self.latencies) / self.seconds


async def calls(target: Target, connections: int, count: int, per_second: float | None = None) -> Calls:
    """`count` calls over so many connections: as fast as they go, or at a rate that varies by half around its mean."""
    opened = [await Connection.open(target.port) for _ in range(connections)]
    each = max(1, count // connections)
    pause = connections / per_second if per_second else 0.0
    began = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT):
            rows = await asyncio.gather(
                *(_caller(one, target.request(number), each, pause, number) for number, one in enumerate(opened))
            )
        return Calls(time.monotonic() - began, [latency for row in rows for latency in row])
    finally:
        for one in opened:
            one.close()


async def _caller(connection: Connection, request: bytes, count: int, pause: float, number: int) -> list[float]:
    chance, latencies = random.Random(number), []
    due = time.monotonic() + pause * chance.random()
    for _ in range(count):
        start = time.monotonic()
        if pause:
            late = start > due  # the answer before took longer: that is waiting too
            await asyncio.sleep(max(0.0, due - start))
            start = due if late else time.monotonic()
            due += pause * chance.uniform(0.5, 1.5)
        _good(await connection.call(request))
        latencies.append(time.monotonic() - start)
    return latencies


@dataclass(frozen=True)
class Streams:
    """How a number of paced streams went, in seconds."""

    first: list[float]  # from the request to the first piece
    ages: list[float]  # of every piece when it was read
    jitter: list[float]  # how far gaps between pieces were from the pace
    missing: int  # pieces that never came


async def paced_streams(target: Target, streams: int, chunks: int, pause: float) -> Streams:
    """Streams beside each other, each begun a little later than the one before."""
    what = f"paced {chunks} {round(pause * 1000)}"

    async def one(number: int) -> tuple[float, Told]:
        connection = await Connection.open(target.port)
        await asyncio.sleep(number * pause * (1.5 + 1 / streams))  # neither together nor in step
        start = time.monotonic()
        told = _good(await connection.call(target.request(number, what, stream=True)))
        connection.close()
        return start, told

    async with asyncio.timeout(TIMEOUT):
        found = await asyncio.gather(*map(one, range(streams)))
    read = [[at for at, _ in told.arrived] for _, told in found]
    return Streams(
        first=[told.arrived[0][0] - start for start, told in found],
        ages=[age for _, told in found for _, age in told.arrived],
        jitter=[abs(later - at - pause) for row in read for at, later in itertools.pairwise(row)],
        missing=streams * chunks - sum(map(len, read)),
    )


class Bulk:
    """Large streams beside each other, all open until the last has ended or `close`."""

    def __init__(self, target: Target, streams: int, size: int) -> None:
        self._target, self._streams, self._size = target, streams, size
        self._open: list[Connection] = []
        self._tasks: list[asyncio.Task[Told]] = []

    async def begin(self) -> None:
        """Open them all."""
        for number in range(self._streams):
            connection = await Connection.open(self._target.port)
            self._open.append(connection)
            request = self._target.request(number, f"bulk {self._size}", stream=True)
            self._tasks.append(asyncio.create_task(connection.call(request)))

    @property
    def received(self) -> int:
        """Bytes so far."""
        return sum(connection.told.size for connection in self._open)

    @property
    def done(self) -> int:
        """Streams that have come as a whole."""
        whole = [task for task in self._tasks if task.done() and not task.exception()]
        return sum(task.result().status == 200 and task.result().size >= self._size for task in whole)

    @property
    def ended(self) -> int:
        """Streams that have ended."""
        return sum(task.done() for task in self._tasks)

    async def close(self) -> None:
        """End what is still under way."""
        for connection in self._open:
            connection.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _good(told: Told) -> Told:
    if told.status != 200:
        raise RuntimeError(f"a call was answered with {told.status}")
    return told
