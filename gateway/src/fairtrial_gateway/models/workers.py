"""Who stores exchanges: threads of this process, or a process of its own.

Scanning and S3 take several times the processor time of passing a call on. In the gateway's own process they would hold
up every stream, because only one thread of Python runs at a time; so a gateway in a cluster has a second process.
"""

import asyncio
import base64
import json
import logging
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from fairtrial import documents
from fairtrial.errors import FairtrialError
from fairtrial.journal import summary
from fairtrial.journal.exchange import Started
from fairtrial.secrets.stored import ArtifactScan
from fairtrial_gateway.artifact_scan import ArtifactScanning, Asked
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.storing import Ended, Storing

MODULE = "fairtrial_gateway.models.storing_process"
LINE_MAX = 1 << 20


class NotStoredNow(FairtrialError):
    """An exchange could not be stored; its journal stays in the spool."""

    reason = "NotStoredNow"


class Worker(Protocol):
    """Stores exchanges. A failure that may pass is a `FairtrialError`."""

    async def started(self, started: Started) -> None:
        """Tell that an exchange has begun."""

    async def ended(self, ended: Ended) -> int:
        """Store an exchange; how many leaks were found in it."""

    async def scan(self, asked: Asked) -> ArtifactScan:
        """Search a pod's artifacts."""

    async def close(self) -> None:
        """No more work comes."""


class Threads:
    """Stores in threads of this process."""

    def __init__(self, storing: Storing, at_once: int, scanning: ArtifactScanning | None = None) -> None:
        self._storing, self._scanning = storing, scanning
        self._pool = ThreadPoolExecutor(at_once + 1, thread_name_prefix="journal")

    async def started(self, started: Started) -> None:
        """Tell that an exchange has begun."""
        await asyncio.get_running_loop().run_in_executor(self._pool, self._storing.started, started)

    async def ended(self, ended: Ended) -> int:
        """Store an exchange."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._storing.ended, ended)

    async def scan(self, asked: Asked) -> ArtifactScan:
        """Search a pod's artifacts."""
        assert self._scanning is not None, "where there are no pods, nothing is asked for"
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._scanning.scan, asked)

    async def close(self) -> None:
        """No more work comes."""
        self._pool.shutdown(cancel_futures=True)


class Process:
    """Stores in a process that reads its environment for the store, as this one did. It is started again if it ends."""

    def __init__(self, at_once: int) -> None:
        self._command = (sys.executable, "-m", MODULE, str(at_once))
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0

    async def started(self, started: Started) -> None:
        """Tell that an exchange has begun."""
        await self._ask({"started": documents.to_json(started)})

    async def ended(self, ended: Ended) -> int:
        """Store an exchange."""
        encoded = None if ended.secrets is None else _encoded(ended.secrets)
        work: dict[str, Any] = {"path": str(ended.path), "secrets": encoded}
        if ended.started:
            work["started"] = documents.to_json(ended.started)
        if ended.page:
            work["page"] = summary.dump(ended.page).decode()
        return int((await self._ask(work))["leaks"])

    async def scan(self, asked: Asked) -> ArtifactScan:
        """Search a pod's artifacts."""
        what = {"run": documents.to_json(asked.run), "cohort": asked.cohort, "folder": asked.folder}
        answer = await self._ask({"scan": what | {"until": asked.until}, "secrets": _encoded(asked.secrets)})
        found: ArtifactScan = documents.from_json(ArtifactScan, answer["scan"], "scan")
        return found

    async def close(self) -> None:
        """Let the process end; what it has not stored stays in the spool."""
        process, self._process = self._process, None
        if process and process.stdin:
            process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await process.wait()
            if process.returncode is None:
                process.kill()
        if self._reader:
            await self._reader

    async def _ask(self, work: dict[str, Any]) -> dict[str, Any]:
        process = await self._running()
        self._count += 1
        number = self._count
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"number": number} | work).encode() + b"\n")
            await process.stdin.drain()
            return await answer
        except ConnectionError as error:
            raise NotStoredNow("The storing process has ended.") from error
        finally:
            self._waiting.pop(number, None)

    async def _running(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=LINE_MAX,
                )
                self._reader = asyncio.create_task(self._read(self._process))
            return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            answer = json.loads(line)
            waiting = self._waiting.get(answer["number"])
            if waiting and not waiting.done():
                if "reason" in answer:
                    waiting.set_exception(NotStoredNow(f"{answer['reason']}: {answer['message']}"))
                else:
                    waiting.set_result(answer)
        await process.wait()
        if self._process is process:
            say("storing process ended", logging.ERROR, code=process.returncode)
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(NotStoredNow("The storing process has ended."))


def _encoded(secrets: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in secrets.items()}
