"""Runs the operator with a witness at its two exits: each mutating call about a run is written down, or its end.

FAIRTRIAL_TEST_CALLS names the file; FAIRTRIAL_TEST_CRASH is `RUN before N` or `RUN after N`: the process ends at once,
without any clean-up, just before or just after its N-th mutating call about that run, counted from 1. Any run is `*`.
FAIRTRIAL_TEST_KINDS names what counts as such a call to the API server, by plural names; with a slash at its end,
creation does not count.
"""

import json
import os
import runpy
from pathlib import Path
from typing import Any

from fairtrial_operator.kube import Kube

from fairtrial.evidence.store import S3Store

CALLS = Path(os.environ["FAIRTRIAL_TEST_CALLS"])
RUN, MOMENT, NUMBER = os.environ.get("FAIRTRIAL_TEST_CRASH", "- - 0").split()
KINDS = os.environ.get("FAIRTRIAL_TEST_KINDS", "benchmarkruns/ pods events").split()
count = 0


def witness(what: list[str], moment: str) -> None:
    global count  # noqa: PLW0603
    if moment == "after":
        with CALLS.open("a") as file:
            file.write(json.dumps(what) + "\n")
    if RUN != "*" and not any(f"/{RUN}{end}" in f"{what[1]}$" for end in ("$", "/", "-agent", "-evaluator")):
        return
    count += moment == "before"
    if moment == MOMENT and count == int(NUMBER):
        os._exit(86)


def concerns_a_run(path: str) -> bool:
    return any(f"/{kind}" in path for kind in KINDS)


write, put = Kube._write, S3Store.put


async def witnessed_write(self: Kube, verb: str, path: str, body: Any, *rest: Any, **more: Any) -> Any:
    if not concerns_a_run(path):
        return await write(self, verb, path, body, *rest, **more)
    what = [verb, f"{path}/{body['metadata']['name']}" if verb == "POST" else path]
    witness(what, "before")
    answer = await write(self, verb, path, body, *rest, **more)
    witness(what, "after")
    return answer


def witnessed_put(self: S3Store, key: str, *rest: Any, **more: Any) -> Any:
    if "/probe/" in key:
        return put(self, key, *rest, **more)
    witness(["S3", key], "before")
    answer = put(self, key, *rest, **more)
    witness(["S3", key], "after")
    return answer


Kube._write = witnessed_write  # type: ignore[method-assign]
S3Store.put = witnessed_put  # type: ignore[method-assign, assignment]
runpy.run_module("fairtrial_operator", run_name="__main__")
