"""The native sidecar's entry: the proof of isolation waits for answers that must not come, so it begins first of all.

What the recorder needs takes a tenth of a second to import, and is imported meanwhile.
"""

import functools
import os
import signal
import threading

from fairtrial import documents, failure, names
from fairtrial.documents import AgentPlan
from fairtrial.errors import FairtrialError
from fairtrial_runner.isolation import Proof
from fairtrial_runner.places import Places
from fairtrial_runner.setup import Setup, SetupFailed

ENV_POD_UID = "FAIRTRIAL_POD_UID"


def main() -> int:
    """Run as the pod's sidecar; a setup that failed is told apart in the termination message."""
    places, terminating = Places.in_pod(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: terminating.set())
    done = places.spool / "done"
    try:
        if not done.exists():
            plan = documents.load(AgentPlan, os.environ.get(names.ENV_PLAN, ""), name=names.ENV_PLAN)
            _record(places, plan, Proof(plan.probes, plan.probe_attempts), terminating)
            done.touch()
        terminating.wait()  # a sidecar that ends early would only be started again
    except SetupFailed as failed:
        failure.report(failed.cause, places.termination_log, during=failure.SETUP)
        return failure.FINAL
    except (FairtrialError, OSError) as error:
        failure.report(error, places.termination_log)
        return failure.FINAL
    return 0


def _record(places: Places, plan: AgentPlan, proof: Proof, terminating: threading.Event) -> None:
    from fairtrial.gateway_client import GatewayClient
    from fairtrial_runner.fetch import fetch
    from fairtrial_runner.recorder import Recorder

    fetching = GatewayClient.from_env(deadline_seconds=plan.fetch_seconds)
    client = GatewayClient.from_env(deadline_seconds=plan.upload_seconds)
    setup = Setup(proof, functools.partial(fetch, places, plan, fetching), plan.setup_seconds)
    pod_uid = os.environ.get(ENV_POD_UID, "")
    Recorder(places, plan, client, pod_uid, terminating, setup, client.begin_step).run()


if __name__ == "__main__":
    failure.leave(main())
