"""HTTP/2 to providers: `h2` does the protocol, this moves its bytes.

A stream's bytes are acknowledged when they are taken, so a slow agent stops its own stream and no other; a call that is
given up resets its stream and leaves the connection to the others.
"""

import asyncio
from collections import deque

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from fairtrial_gateway.models.failures import Cut, ProviderFailure, Unreachable

RawHeaders = list[tuple[bytes, bytes]]
STREAM_WINDOW = 256 * 1024
STREAMS = 64  # of one connection
CONNECTION_WINDOW = STREAMS * STREAM_WINDOW  # no stream can use up another's
IDLE_SECONDS = 30.0  # an idle connection older than this is not trusted with a call
_FRAME_HEAD, _GOAWAY = 9, 7


class Stream:
    """One call: its answer's head, and bytes as they come."""

    def __init__(self, connection: "Connection", number: int) -> None:
        self._connection, self.number = connection, number
        self.head: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.status, self.reason, self.http_version = 0, "", "2"
        self.headers: RawHeaders = []
        self.window_open = asyncio.Event()
        self._chunks: deque[tuple[bytes, int]] = deque()
        self._changed = asyncio.Event()
        self._ended = False
        self._failure: ProviderFailure | None = None

    @property
    def ended(self) -> bool:
        """Whether the body has come to its end and was read."""
        return self._ended and not self._chunks

    def ready(self) -> bytes:
        """What has come already."""
        return self._take() if self._chunks else b""

    async def read(self) -> bytes:
        """The next bytes of the body; none at its end."""
        while not self._chunks:
            if self._ended:
                return b""
            if self._failure:
                raise self._failure
            self._changed.clear()
            await self._changed.wait()
        return self._take()

    def close(self) -> None:
        """Want no more of it."""
        self._take()  # what nobody reads must not narrow the connection for the others
        self._connection.forget(self, reset=not self._ended and self._failure is None)

    def _take(self) -> bytes:
        taken = list(self._chunks)
        self._chunks.clear()
        self._connection.acknowledge(self.number, sum(size for _, size in taken))
        return b"".join(chunk for chunk, _ in taken)

    def on_head(self, headers: RawHeaders) -> None:
        """The answer's head has come."""
        self.status = int(dict(headers)[b":status"])
        self.headers = [(name, value) for name, value in headers if not name.startswith(b":")]
        if not self.head.done():
            self.head.set_result(None)

    def on_data(self, chunk: bytes, flow: int) -> None:
        """Bytes have come; `flow` counts against the window, padding included."""
        self._chunks.append((chunk, flow))
        self._changed.set()

    def on_end(self) -> None:
        """The answer has come to its end."""
        self._ended = True
        self._changed.set()

    def on_failure(self, why: str) -> None:
        """Nothing more will come."""
        if not self.head.done():
            self.head.set_exception(Unreachable(why))
            self.head.exception()  # seen: its reader may be gone
        self._failure = self._failure or Cut(why)
        self._changed.set()
        self.window_open.set()

    @property
    def failed(self) -> ProviderFailure | None:
        """Why nothing more will come."""
        return self._failure


class Connection(asyncio.Protocol):
    """One connection with its streams."""

    def __init__(self) -> None:
        # Outgoing headers are the agent's, as they are; incoming ones are checked.
        config = h2.config.H2Configuration(client_side=True, header_encoding=None, validate_outbound_headers=False)
        self._h2 = h2.connection.H2Connection(config)
        self._transport: asyncio.Transport | None = None
        self._streams: dict[int, Stream] = {}
        self._received = bytearray()
        self._writable = asyncio.Event()
        self._writable.set()
        self._last_used = asyncio.get_running_loop().time()
        self.usable = True

    # --- the pool's side ----------------------------------------------------------------------------------------------
    @property
    def free(self) -> bool:
        """Whether another call may go this way."""
        limit = min(STREAMS, int(self._h2.remote_settings.max_concurrent_streams))
        fresh = bool(self._streams) or asyncio.get_running_loop().time() - self._last_used < IDLE_SECONDS
        return self.usable and fresh and len(self._streams) < limit

    @property
    def idle(self) -> bool:
        """Whether nothing goes this way now."""
        return not self._streams

    def close(self) -> None:
        """End the connection."""
        self.usable = False
        if self._transport:
            self._transport.close()

    async def send(self, headers: RawHeaders, body: bytes) -> Stream:
        """Send a request and wait for the head of its answer."""
        number = self._h2.get_next_available_stream_id()
        stream = self._streams[number] = Stream(self, number)
        try:
            self._h2.send_headers(number, headers, end_stream=not body)
            self._flush()
            await self._send_body(stream, body)
            await stream.head
        except h2.exceptions.ProtocolError as error:
            self.forget(stream, reset=False)
            raise Unreachable(f"HTTP/2 does not allow this request ({type(error).__name__}).") from error
        except BaseException:
            stream.close()
            raise
        return stream

    async def _send_body(self, stream: Stream, body: bytes) -> None:
        rest = memoryview(body)
        while rest and not stream.head.done():  # a refusal may come before the whole request is out
            room = min(self._h2.local_flow_control_window(stream.number), self._h2.max_outbound_frame_size, len(rest))
            if room <= 0:
                stream.window_open.clear()
                await stream.window_open.wait()
                continue
            self._h2.send_data(stream.number, bytes(rest[:room]), end_stream=room == len(rest))
            rest = rest[room:]
            self._flush()
            await self._writable.wait()
        if stream.failed:
            raise Unreachable(str(stream.failed))

    # --- the streams' side --------------------------------------------------------------------------------------------
    def acknowledge(self, number: int, size: int) -> None:
        """Let the provider send as many bytes more."""
        if not self.usable and self._transport is None:
            return
        try:
            self._h2.acknowledge_received_data(size, number)
            self._flush()
        except h2.exceptions.ProtocolError:
            pass  # the connection is over; its streams were told

    def forget(self, stream: Stream, *, reset: bool) -> None:
        """A call is over; `reset` tells the provider that no more is wanted."""
        if self._streams.pop(stream.number, None) is None:
            return
        self._last_used = asyncio.get_running_loop().time()
        if reset and self._transport:
            try:
                self._h2.reset_stream(stream.number, h2.errors.ErrorCodes.CANCEL)
                self._flush()
            except h2.exceptions.ProtocolError:
                pass
        if not self._streams and not self.usable:
            self.close()

    # --- the socket's side --------------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._h2.initiate_connection()
        self._h2.update_settings(
            {
                h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
                h2.settings.SettingCodes.ENABLE_PUSH: 0,
            }
        )
        self._h2.increment_flow_control_window(CONNECTION_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Bytes from the provider, given to `h2` frame by frame but for GOAWAY, after which it would take no more."""
        self._received += data
        try:
            while frame := self._next_frame():
                if frame[3] == _GOAWAY:
                    self._going_away(frame[_FRAME_HEAD:])
                    continue
                for event in self._h2.receive_data(frame):
                    self._handle(event)
        except h2.exceptions.ProtocolError as error:
            self._over(f"The provider broke HTTP/2 ({type(error).__name__}).")
        self._flush()

    def _next_frame(self) -> bytes:
        """The next whole frame; none if there is none yet."""
        if len(self._received) < _FRAME_HEAD:
            return b""
        length = int.from_bytes(self._received[:3], "big")
        if length > self._h2.max_inbound_frame_size:
            raise h2.exceptions.FrameTooLargeError
        size = _FRAME_HEAD + length
        if len(self._received) < size:
            return b""
        frame = bytes(self._received[:size])
        del self._received[:size]
        return frame

    def connection_lost(self, exc: Exception | None) -> None:
        """No more bytes."""
        self._transport = None
        self._over("The connection to the provider ended." if exc is None else f"{type(exc).__name__}.")

    def pause_writing(self) -> None:
        """The socket takes no more for now."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._writable.set()

    def _handle(self, event: h2.events.Event) -> None:
        stream = self._streams.get(getattr(event, "stream_id", 0) or 0)
        if isinstance(event, h2.events.DataReceived):
            flow = event.flow_controlled_length or 0
            if stream:
                stream.on_data(event.data or b"", flow)
            else:
                self.acknowledge(event.stream_id or 0, flow)  # of a call that was given up
        elif isinstance(event, h2.events.ResponseReceived) and stream:
            stream.on_head([(bytes(name), bytes(value)) for name, value in event.headers or []])
        elif isinstance(event, h2.events.StreamEnded) and stream:
            stream.on_end()
        elif isinstance(event, h2.events.StreamReset) and stream:
            stream.on_failure("The provider reset the stream.")
        elif isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
            for each in self._streams.values():
                each.window_open.set()

    def _going_away(self, payload: bytes) -> None:
        """No new calls; those that the provider has begun still get their answers."""
        self.usable = False
        last, error = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF, int.from_bytes(payload[4:8], "big")
        for number, stream in list(self._streams.items()):
            if number > last or error:
                stream.on_failure("The provider closed the connection.")
        if not self._streams:
            self.close()

    def _over(self, why: str) -> None:
        self.usable = False
        for stream in list(self._streams.values()):
            stream.on_failure(why)
        self._writable.set()
        if self._transport:
            self._transport.close()

    def _flush(self) -> None:
        if self._transport and (data := self._h2.data_to_send()):
            self._transport.write(data)
