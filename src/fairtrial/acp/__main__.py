"""`fairtrial-acp [options] -- PROGRAM [ARGUMENT...]`: drive an agent that speaks the Agent Client Protocol."""

import argparse
import asyncio
import datetime as dt
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from fairtrial.acp.answers import POLICIES
from fairtrial.acp.session import CLIENT, EXIT_CODES, Settings, run

PROMPT_BYTES = 4 * 1024 * 1024
_USAGE = 2
# Whoever set the deadline ends everything at it, and says so in the record; this client would only be second.
_AFTER_DEADLINE = 2.0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    codes = ", ".join(f"{code} {reason}" for reason, code in EXIT_CODES.items())
    made = argparse.ArgumentParser(
        prog=CLIENT,
        usage="%(prog)s [OPTION...] -- PROGRAM [ARGUMENT...]",
        description="Start an agent that speaks the Agent Client Protocol on standard input and output, give it the "
        "prompt that is on standard input here, in a session in the current folder, and print what both say as JSON "
        "lines for the adapter `acp`.",
        epilog=f"Exit codes: {codes}, {_USAGE} wrong usage, 128 and the number of the signal that ended it.",
    )
    made.add_argument(
        "--permissions",
        choices=POLICIES,
        default="allow",
        help="what the agent is told when it asks for permission; once, each time (default: allow)",
    )
    made.add_argument("--files", action="store_true", help="offer to read and write files below the current folder")
    made.add_argument(
        "--authenticate", metavar="METHOD", default="", help="ID of the agent's method to authenticate by"
    )
    made.add_argument(
        "--mode", metavar="MODE", default="", help="ID of the session's mode, if not the agent's own choice"
    )
    made.add_argument(
        "--start-seconds", type=_seconds, default=120.0, metavar="N", help="for each answer before the prompt (120)"
    )
    made.add_argument(
        "--seconds",
        type=_seconds,
        metavar="N",
        help="for everything; by default what FAIRTRIAL_DEADLINE leaves, if set",
    )
    made.add_argument("argv", nargs="+", metavar="PROGRAM", help="the agent and its arguments, after --")
    return made


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 10**7:
        raise argparse.ArgumentTypeError("must be more than 0 seconds")
    return value


def left(environment: Mapping[str, str], now: dt.datetime) -> float | None:
    """The seconds until the deadline that the environment names, and a little; None if it names none."""
    try:
        deadline = dt.datetime.fromisoformat(environment.get("FAIRTRIAL_DEADLINE", ""))
        return max((deadline - now).total_seconds(), 0.0) + _AFTER_DEADLINE
    except (ValueError, TypeError):
        return None


def main() -> None:
    """Run the command line."""
    wanted = parser().parse_args()
    # The package tells of messages that it can't use; they are in the output, so one line each is enough.
    logging.basicConfig(level=logging.ERROR, format=f"{CLIENT}: %(message)s", stream=sys.stderr)
    logging.getLogger().handlers[0].setFormatter(_Short(f"{CLIENT}: %(message)s"))
    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(PROMPT_BYTES + 1)
    prompt = data.decode("utf-8", "replace").strip()
    if not prompt or len(data) > PROMPT_BYTES:
        what = f"more than {PROMPT_BYTES} bytes" if prompt else "no prompt"
        sys.stderr.write(f"{CLIENT}: error: {what} on standard input; in a bundle, set `stdin: prompt`.\n")
        sys.exit(_USAGE)
    settings = Settings(
        argv=wanted.argv,
        cwd=Path.cwd(),
        permissions=wanted.permissions,
        offer_files=wanted.files,
        authenticate=wanted.authenticate,
        mode=wanted.mode,
        start_seconds=wanted.start_seconds,
        seconds=wanted.seconds or left(os.environ, dt.datetime.now(dt.UTC)),
    )
    end = asyncio.run(run(settings, prompt, _write))
    if end.told:
        sys.stderr.write(f"{CLIENT}: {end.reason}: {end.told}\n")
    sys.exit(end.exit_code)


class _Short(logging.Formatter):
    """Without tracebacks: what went wrong is the agent's message."""

    def formatException(self, ei: object) -> str:  # noqa: N802 — the name is logging's
        """The kind of error only."""
        kind = ei[0] if isinstance(ei, tuple) else None
        return kind.__name__ if isinstance(kind, type) else ""


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
