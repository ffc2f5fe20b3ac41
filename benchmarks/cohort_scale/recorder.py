"""The simulated recorder: puts into the store what the recorders of real pods would have uploaded through the gateway.

It watches pods and stores each one's report when the pod appears, which is before the simulated end of it. A process
of its own, so that what it uses is not counted as the operator's. `python -m benchmarks.cohort_scale.recorder`.
"""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

from fairtrial_operator.cache import Key, Object
from fairtrial_operator.informer import Informer
from fairtrial_operator.kube import PODS, Kube

from benchmarks.cohort_scale.objects import COHORT
from fairtrial import names
from fairtrial.documents import RunIdentity, dump
from fairtrial.errors import Conflict
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.testing import agent_report, evaluation_report

WRITERS = 8


def report_of(pod: Object) -> tuple[str, bytes] | None:
    """The key and the bytes of a pod's report; None if the pod is nobody's."""
    metadata = pod["metadata"]
    role, owner = metadata["labels"].get(names.ROLE_LABEL), metadata["ownerReferences"][0]
    identity = RunIdentity(metadata["namespace"], owner["name"], owner["uid"])
    keys = Layout("").run(identity.namespace, identity.name, identity.uid, COHORT)
    if role == names.AGENT:
        return keys.artifact("agent/report.json"), dump(agent_report(run=identity, pod_uid=metadata["uid"]))
    made = evaluation_report(run=identity, pod_uid=metadata["uid"])
    return keys.artifact("evaluation/report.json"), dump(made)


async def serve() -> None:
    """Store reports until killed."""
    kube, store = await Kube.connect(), S3Store(S3Settings.from_env())
    done: set[str] = set()
    pool, waiting = ThreadPoolExecutor(WRITERS), asyncio.Queue[Object]()

    def changed(key: Key, pod: Object | None) -> None:  # noqa: ARG001
        if pod is not None and pod["metadata"]["uid"] not in done:
            done.add(pod["metadata"]["uid"])
            waiting.put_nowait(pod)

    def put(pod: Object) -> None:
        found = report_of(pod)
        if found is not None:
            with contextlib.suppress(Conflict):  # stored before
                store.put(*found, media_type="application/json")

    async def write() -> None:
        while True:
            await asyncio.get_running_loop().run_in_executor(pool, put, await waiting.get())

    selector = f"{names.MANAGED_BY_LABEL}={names.MANAGED_BY}"
    async with asyncio.TaskGroup() as group:
        group.create_task(Informer(kube, PODS, changed=changed, selector=selector).run())
        for _ in range(WRITERS):
            group.create_task(write())


if __name__ == "__main__":
    asyncio.run(serve())
