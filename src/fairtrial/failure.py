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
_BYTES = 3500  # the kubelet keeps 4096 bytes of a termination message


def report(error: BaseException, log: Path = TERMINATION_LOG) -> None:
    """Write `{"reason", "message"}` to the termination log, and a line to standard error."""
    reason = error.reason if isinstance(error, FairtrialError) else type(error).__name__
    message = (str(error) or type(error).__name__).encode("utf-8", "replace")[:_BYTES].decode("utf-8", "ignore")
    sys.stderr.write(f"{reason}: {message}\n")
    with contextlib.suppress(OSError):  # outside a pod there may be none
        log.write_text(json.dumps({"reason": reason, "message": message}), encoding="utf-8")


def leave(code: int) -> NoReturn:
    """End this process at once: threads that wait for signals or messages are not waited for."""
    sys.stderr.flush()
    os._exit(code)
