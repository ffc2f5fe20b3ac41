"""Tell a container's failure where the kubelet reads it: the operator sees it in the pod's status."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from fairtrial.errors import FairtrialError

TERMINATION_LOG = Path("/dev/termination-log")
FINAL, TEMPORARY = 1, 75  # exit codes: nothing changes by waiting; the gateway or store was not there in time
SETUP = "setup"  # a recorder's failure to lay out the workspace, before there was any agent
_CHARACTERS = 1000  # a run's status keeps 1,024 of a termination message, and the kubelet 4,096 bytes


def report(error: BaseException, log: Path = TERMINATION_LOG, *, during: str = "") -> None:
    """Write `{"reason", "message"}`, and `during` if given, to the termination log, and a line to standard error."""
    reason = error.reason if isinstance(error, FairtrialError) else type(error).__name__
    message = (str(error) or type(error).__name__).encode("utf-8", "replace").decode("utf-8")
    sys.stderr.write(f"{reason}: {message}\n")
    with contextlib.suppress(OSError):  # outside a pod there may be none
        log.write_text(_bounded(reason, message, during), encoding="utf-8")


def _bounded(reason: str, message: str, during: str) -> str:
    """The JSON, short enough that nobody cuts it: what is left of a cut one could not be read."""
    told = {"reason": reason} | ({"during": during} if during else {})
    while len(text := json.dumps(told | {"message": message})) > _CHARACTERS:
        message = message[: len(message) * 3 // 4]
    return text


def leave(code: int) -> NoReturn:
    """End this process at once: threads that wait for signals or messages are not waited for."""
    sys.stderr.flush()
    os._exit(code)
