"""The one connection between the process that starts untrusted code and the recorder in the next container.

A unix socket that accepts exactly one connection and then no longer exists: who comes later finds nothing. Frames are
one byte of type, four bytes of length and a payload: a JSON object, or raw bytes of a named stream. Sending blocks
while the other side is slow, which is the back-pressure that keeps memory bounded on both sides.

    channel = Listener(path).accept(timeout=60)      # recorder: socket closed and unlinked before this returns
    channel = connect(path, timeout=60)              # launch, before it starts anything untrusted
    channel.send({"type": "step", "name": "main"})   # any thread may send
    channel.send_raw("stdout", data)                 # split into bounded frames
    while (message := channel.receive()) is not None: ...   # dict, Raw(stream, data), or None at the end of file
    answer = channel.receive(timeout=300)            # TimeoutError past it; ChannelBroken on garbage or a cut frame
"""

import contextlib
import json
import os
import re
import select
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fairtrial.errors import ChannelBroken

FRAME_MAX = 8 * 1024 * 1024
RAW_MAX = 64 * 1024
_HEAD, _READ = 5, 256 * 1024
_JSON, _RAW = b"J", b"R"
_STREAM_NAME = re.compile(r"[a-z0-9][a-z0-9._/-]{0,99}")


@dataclass(frozen=True, slots=True)
class Raw:
    """A piece of a stream, as its bytes were."""

    stream: str
    data: bytes


class Listener:
    """The recorder's side before anybody has come."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(os.fspath(path))
        path.chmod(0o600)
        self._socket.listen(1)

    def accept(self, timeout: float | None) -> "Channel":
        """The first connection; nobody can connect after it. TimeoutError while nobody has come."""
        self._socket.settimeout(timeout)
        connection, _ = self._socket.accept()
        self.close()
        return Channel(connection)

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self._socket.close()
        self._path.unlink(missing_ok=True)


def connect(path: Path, timeout: float) -> "Channel":
    """Connect to a listener that may not be there yet."""
    deadline = time.monotonic() + timeout
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(os.fspath(path))
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                raise ChannelBroken(f"No recorder listens at {path}: {error.strerror}.") from error
            time.sleep(0.05)
        else:
            return Channel(connection)


class Channel:
    """A connected channel. Sending is safe from any thread; one thread receives."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.settimeout(None)
        self._sending = threading.Lock()
        self._received = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def send(self, message: dict[str, Any]) -> None:
        """Send one JSON object."""
        payload = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
        if len(payload) > FRAME_MAX:
            raise ValueError(f"a message of {len(payload)} bytes does not fit a frame")
        self._send(_JSON, payload)

    def send_raw(self, stream: str, data: bytes) -> None:
        """Send bytes of a stream, in frames of bounded size."""
        if not _STREAM_NAME.fullmatch(stream):
            raise ValueError(f"{stream!r} is not a stream name")
        name = bytes([len(stream)]) + stream.encode()
        for start in range(0, len(data), RAW_MAX):
            self._send(_RAW, name + data[start : start + RAW_MAX])

    def receive(self, timeout: float | None = None) -> dict[str, Any] | Raw | None:
        """The next message; None when the other side has closed between frames. A timeout loses nothing."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            length = self._announced()
            if length is not None and len(self._received) >= _HEAD + length:
                kind, payload = self._received[:1], bytes(self._received[_HEAD : _HEAD + length])
                del self._received[: _HEAD + length]
                return _raw(payload) if kind == _RAW else _json(payload)
            if not self._more(deadline):
                return None

    def close(self) -> None:
        """Close this side; a receiver that is blocked on the other side sees the end."""
        with contextlib.suppress(OSError):  # the other side was first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _send(self, kind: bytes, payload: bytes) -> None:
        try:
            with self._sending:
                self._socket.sendall(kind + len(payload).to_bytes(4, "big") + payload)
        except OSError as error:
            raise ChannelBroken(f"The other side of the channel is gone: {error.strerror}.") from error

    def _announced(self) -> int | None:
        """The length of the frame that the buffer begins with, once it is known; garbage is refused at once."""
        if not self._received:
            return None
        if bytes(self._received[:1]) not in (_JSON, _RAW):
            raise ChannelBroken("The other side of the channel sent what is not a frame.")
        if len(self._received) < _HEAD:
            return None
        length = int.from_bytes(self._received[1:_HEAD], "big")
        if length > FRAME_MAX:
            raise ChannelBroken(f"The other side of the channel announced a frame of {length} bytes.")
        return length

    def _more(self, deadline: float | None) -> bool:
        """Read what is there; False at a clean end."""
        try:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._socket], [], [], wait)[0]:
                raise TimeoutError("nothing came over the channel in time")
            data = self._socket.recv(_READ)
        except (OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            data = b""  # a reset, or closed on this side: an end like any other
        if not data and self._received:
            raise ChannelBroken("The channel ended in the middle of a frame.")
        self._received += data
        return bool(data)


def _raw(payload: bytes) -> Raw:
    name = payload[1 : 1 + payload[0]].decode("ascii", "replace") if payload else ""
    if not _STREAM_NAME.fullmatch(name) or len(name) != payload[0]:
        raise ChannelBroken("The other side of the channel sent a stream without a proper name.")
    return Raw(name, payload[1 + payload[0] :])


def _json(payload: bytes) -> dict[str, Any]:
    try:
        message = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise ChannelBroken("The other side of the channel sent what is not JSON.") from error
    if not isinstance(message, dict):
        raise ChannelBroken("The other side of the channel sent JSON that is not an object.")
    return message
