"""Structured logs: one JSON object a line. Headers, and with them tokens, never get here."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LOG = logging.getLogger("fairtrial.gateway")


class JsonLines(logging.Formatter):
    """A record as one line of JSON; the facts of an event are its `facts`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class NoContent(logging.Filter):
    """Of aiohttp's own records only the kind of error is kept: their texts quote what a client sent."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the text."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else "notice"
        record.msg, record.args, record.exc_info, record.exc_text = f"http server: {kind}", (), None, None
        return True


def set_up(level: int = logging.INFO) -> None:
    """Log to standard error, for the whole process. Nothing is looked up for a line that no line shows."""
    logging._srcfile = None  # noqa: SLF001 — the documented way to leave out file and line of the caller
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("boto3", "botocore", "urllib3", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("aiohttp.server", "aiohttp.web", "aiohttp.client", "aiohttp.internal", "aiohttp.access"):
        logging.getLogger(name).addFilter(NoContent())


def say(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Log one event with its facts."""
    LOG.log(level, event, extra={"facts": facts})
