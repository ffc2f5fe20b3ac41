"""The agent's standard input and output as the package's transport; every line of both sides goes to `write`."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from fairtrial.acp import lines
from fairtrial.acp.lines import Asked, Message, Said, Splitter

_CHUNK = 64 * 1024
_OPEN_MOST = 1000  # requests of the agent's that wait for an answer


class Wire:
    """Implements `acp._transport.Transport`: messages as dicts, None at the end."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, write: Callable[[bytes], None]
    ) -> None:
        self._writer, self._write = writer, write
        self._said = self._lines(reader)
        self._asked: dict[int | str | None, Asked] = {}
        self.ended = asyncio.Event()  # the agent's output has
        self.no_messages = 0  # lines that are none
        self.unanswered = 0  # requests that came when nothing more was said

    async def receive(self) -> Message | None:
        """The agent's next message; lines that are none are written down and counted."""
        async for said in self._said:
            self._write(said.written)
            if said.message is None:
                self.no_messages += 1
                continue
            if "method" in said.message and "id" in said.message:
                self._remember(said.message)
            # What answers has a turn after every message: thousands of them may have come at once.
            await asyncio.sleep(0)
            return said.message
        self.ended.set()
        return None

    async def send(self, message: dict[str, Any]) -> None:
        """Say something to the agent; OSError if it listens no more."""
        asked = None if "method" in message else self._asked.pop(message["id"], None)
        if self._writer.is_closing():
            self.unanswered += 1
            return
        self._write(lines.sent(message, asked))
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def close(self) -> None:
        """Say no more."""
        self._writer.close()

    def _remember(self, request: Message) -> None:
        self._asked[request["id"]] = Asked.by(request)
        if len(self._asked) > _OPEN_MOST:
            self._asked.pop(next(iter(self._asked)))

    @staticmethod
    async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[Said]:
        splitter = Splitter()
        while data := await reader.read(_CHUNK):
            for line in splitter.feed(data):
                if said := lines.said(line):
                    yield said
        for line in splitter.rest():
            if said := lines.said(line):
                yield said
