"""The process that stores exchanges for a gateway: one JSON object a line in, one a line out.

It ends with its standard input. Signals that end a gateway are left to it: what has ended is still stored.
"""

import base64
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fairtrial import documents
from fairtrial.documents import RunIdentity
from fairtrial.errors import FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.journal import summary
from fairtrial.journal.exchange import Started
from fairtrial.process.garbage import collect_seldom
from fairtrial_gateway.artifact_scan import ArtifactScanning, Asked
from fairtrial_gateway.logs import LOG, set_up
from fairtrial_gateway.models.storing import Ended, Storing

NICE = 5  # streams that pass come first
SCANS = 2  # of pods' artifacts at once: one may wait for the store while the other works


def main() -> int:
    """Work until there is no more."""
    set_up()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICE)
    with contextlib.suppress(OSError):  # where a sandbox forbids it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # work that comes does not interrupt what serves
    settings = S3Settings.from_env()
    store, layout = S3Store(settings), Layout(settings.prefix)
    storing, scanning = Storing(store, layout), ArtifactScanning(store, layout)
    large, small, long = ThreadPoolExecutor(int(sys.argv[1])), ThreadPoolExecutor(1), ThreadPoolExecutor(SCANS)
    writing = threading.Lock()

    def work(asked: dict[str, Any]) -> None:
        answer = {"number": asked["number"]} | do(storing, scanning, asked)
        with writing:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    collect_seldom()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        (long if "scan" in asked else large if "path" in asked else small).submit(work, asked)
    for pool in (small, large, long):
        pool.shutdown(wait=False, cancel_futures=True)
    os._exit(0)  # whoever asked is gone; an upload that was cut is made again from the spool


def do(storing: Storing, scanning: ArtifactScanning, asked: dict[str, Any]) -> dict[str, Any]:
    """One piece of work: its result, or why it failed."""
    try:
        if "scan" in asked:
            return {"scan": documents.to_json(scanning.scan(asked_of(asked)))}
        started = documents.from_json(Started, asked["started"], "started") if "started" in asked else None
        if started and "path" not in asked:
            storing.started(started)
            return {"leaks": 0}
        secrets = None if asked["secrets"] is None else decoded(asked["secrets"])
        page = summary.load(asked["page"]) if "page" in asked else None
        return {"leaks": storing.ended(Ended(Path(asked["path"]), secrets, started, page))}
    except FairtrialError as error:
        return {"reason": error.reason, "message": str(error)}
    except Exception as error:  # noqa: BLE001 — the gateway is told, and tries again
        LOG.exception("unexpected error")
        return {"reason": "Unexpected", "message": type(error).__name__}


def asked_of(asked: dict[str, Any]) -> Asked:
    """What is to be searched for what."""
    what = asked["scan"]
    run = documents.from_json(RunIdentity, what["run"], "run")
    return Asked(run, what["cohort"], what["folder"], decoded(asked["secrets"]), what["until"])


def decoded(secrets: dict[str, str]) -> dict[str, bytes]:
    """Secrets as they are."""
    return {name: base64.b64decode(value) for name, value in secrets.items()}


if __name__ == "__main__":
    logging.captureWarnings(True)
    sys.exit(main())
