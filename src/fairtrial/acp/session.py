"""One agent, one session, one prompt: start it, talk, and leave nothing of it running.

The end is one of `End`: the agent's own stop reason, or why there is none. After it the agent has a moment to end by
itself; what it still says is written down, what it still asks is refused.
"""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation
from pydantic import ValidationError

from fairtrial.acp import lines
from fairtrial.acp.answers import Answers, Policy
from fairtrial.acp.files import Files
from fairtrial.acp.wire import Wire
from fairtrial.process import tree

CLIENT = "fairtrial-acp"
_LEAVE_SECONDS = 3.0  # for an agent that is told to cancel, to end, or that it is over
EXIT_CODES = {
    "end_turn": 0,
    "max_tokens": 10,
    "max_turn_requests": 11,
    "refusal": 12,
    "cancelled": 13,
    "agent_failed": 1,
    "not_started": 127,
    "deadline": 124,
}
SIGNALLED = "signal"  # the exit code is 128 and the signal's number, as a shell has it


@dataclass(frozen=True)
class Settings:
    """What to start, and how to treat it."""

    argv: list[str]
    cwd: Path
    permissions: Policy = "allow"
    offer_files: bool = False
    authenticate: str = ""  # one of the agent's methods, by ID
    mode: str = ""  # one of the session's, by ID; the agent's own choice otherwise
    start_seconds: float = 120.0  # for each answer before the prompt
    seconds: float | None = None  # for everything


@dataclass(frozen=True)
class End:
    """Why it is over."""

    reason: str
    told: str = ""
    number: int = 0  # of the signal

    @property
    def exit_code(self) -> int:
        """What whoever started this gets to see."""
        return 128 + self.number if self.reason == SIGNALLED else EXIT_CODES[self.reason]


class Failed(Exception):
    """The agent did not do what the protocol wants of it."""


async def run(settings: Settings, prompt: str, write: Callable[[bytes], None]) -> End:
    """Drive the agent to its end. `write` takes every line, without its line end."""
    write(lines.ran("start", **_told(settings)))
    tree.become_subreaper()
    spare, signalled = tree.children(), _signals()
    try:
        process = await _started(settings)
    except (OSError, ValueError) as error:
        end, counts = End("not_started", f"{settings.argv[0]}: {error}"), {}
    else:
        talk = Talk(settings, process, write)
        async with _until_swept(process, spare):
            end = await talk.held(prompt, signalled)
            await talk.over()
        await talk.closed()
        counts = {
            "agentExit": process.returncode,
            "noMessages": talk.wire.no_messages,
            "unanswered": talk.wire.unanswered,
        }
    write(lines.ran("end", reason=end.reason, told=end.told, exitCode=end.exit_code, **counts))
    return end


def _told(settings: Settings) -> dict[str, Any]:
    return {
        "client": f"{CLIENT} {metadata.version('fairtrial')}",
        "package": f"agent-client-protocol {metadata.version('agent-client-protocol')}",
        "argv": settings.argv,
        "cwd": os.fspath(settings.cwd),
        "permissions": settings.permissions,
        "files": settings.offer_files,
        "mode": settings.mode,
    }


async def _started(settings: Settings) -> Process:
    # What it says on standard error goes where ours goes. A session of its own: a terminal's Ctrl-C is ours to pass on.
    return await asyncio.create_subprocess_exec(
        *settings.argv, cwd=settings.cwd, stdin=PIPE, stdout=PIPE, stderr=None, start_new_session=True
    )


@contextlib.asynccontextmanager
async def _until_swept(process: Process, spare: frozenset[int]) -> AsyncIterator[None]:
    """End the agent and all that it started, however the block ends."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _LEAVE_SECONDS)
        await asyncio.to_thread(tree.sweep, alone=False, spare=spare)
        await process.wait()


class Talk:
    """The conversation with a started agent."""

    def __init__(self, settings: Settings, process: Process, write: Callable[[bytes], None]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._settings, self._process = settings, process
        self._answers = Answers(settings.permissions, Files(settings.cwd) if settings.offer_files else None)
        self.wire = Wire(process.stdout, process.stdin, write)
        client: Any = self._answers  # the package's protocol asks for more names of arguments than are used
        self._agent = connect_to_agent(client, self.wire)
        self._session = ""

    async def held(self, prompt: str, signalled: "asyncio.Future[int]") -> End:
        """Hold it until the agent stops, time is up or a signal comes."""
        talking = asyncio.create_task(self._prompted(prompt))
        both: set[asyncio.Future[Any]] = {talking, signalled}
        await asyncio.wait(both, timeout=self._settings.seconds, return_when=asyncio.FIRST_COMPLETED)
        if talking.done():
            return talking.result()
        if signalled.done():
            end = End(SIGNALLED, signal.Signals(signalled.result()).name, signalled.result())
        else:
            end = End("deadline", f"no end within {self._settings.seconds:g} s")
        await self._cancelled(talking)
        return end

    async def over(self) -> None:
        """Tell the agent that it is, and let it end by itself."""
        self._answers.over = True
        await self.wire.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LEAVE_SECONDS)

    async def closed(self) -> None:
        """Write down what is left, now that nobody is left to say more."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wire.ended.wait(), _LEAVE_SECONDS)
        await self._agent.close()

    async def _prompted(self, prompt: str) -> End:
        try:
            await self._begun()
            answer = await self._agent.prompt(session_id=self._session, prompt=[text_block(prompt)])
        except Failed as failed:
            return End("agent_failed", str(failed))
        except RequestError as error:
            return End("agent_failed", f"it answered with error {error.code}: {error}"[:2000])
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            return End("agent_failed", f"its answer is no {error.title}: {field}: {first['msg']}"[:2000])
        except OSError:
            return End("agent_failed", "it ended, or closed its output, before it answered")
        return End(answer.stop_reason)

    async def _begun(self) -> None:
        """Up to a session."""
        files = FileSystemCapabilities(
            read_text_file=self._settings.offer_files, write_text_file=self._settings.offer_files
        )
        first = await self._soon(
            "initialize",
            self._agent.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(fs=files, terminal=False),
                client_info=Implementation(name=CLIENT, version=metadata.version("fairtrial")),
            ),
        )
        if first.protocol_version != PROTOCOL_VERSION:
            raise Failed(
                f"it speaks version {first.protocol_version} of the protocol, and this client {PROTOCOL_VERSION}"
            )
        if method := self._settings.authenticate:
            await self._soon("authenticate", self._agent.authenticate(method_id=method))
        cwd = os.fspath(self._settings.cwd)
        made = await self._soon("session/new", self._agent.new_session(cwd=cwd, mcp_servers=[]))
        self._session = made.session_id
        if mode := self._settings.mode:
            await self._soon("session/set_mode", self._agent.set_session_mode(session_id=self._session, mode_id=mode))

    async def _soon(self, method: str, answer: Any) -> Any:
        seconds = self._settings.start_seconds
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise Failed(f"it did not answer {method} within {seconds:g} s") from None

    async def _cancelled(self, talking: "asyncio.Task[End]") -> None:
        """Ask the agent to stop; it has a moment to say that it did."""
        if self._session:
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(self._agent.cancel(session_id=self._session), _LEAVE_SECONDS)
            await asyncio.wait({talking}, timeout=_LEAVE_SECONDS)
        talking.cancel()
        await asyncio.wait({talking})


def _signals() -> "asyncio.Future[int]":
    """Will hold the first signal that asks for the end. Later ones change nothing: it is on its way, and bounded."""
    loop = asyncio.get_running_loop()
    first: asyncio.Future[int] = loop.create_future()

    def came(number: int) -> None:
        if not first.done():
            first.set_result(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, came, number)
    return first
