"""An agent's run on somebody's own machine: launch and recorder as in a pod, in one process, without its isolation."""

import queue
import threading

from fairtrial import archive, documents
from fairtrial.channel import connect
from fairtrial.documents import AgentPlan, AgentReport
from fairtrial.process import Stop
from fairtrial_runner.isolation import Proof
from fairtrial_runner.launch import launch
from fairtrial_runner.places import Places
from fairtrial_runner.recorder import Recorder
from fairtrial_runner.setup import Setup
from fairtrial_runner.uploads import ArtifactStore


def lay_out(places: Places, plan: AgentPlan, bundle: bytes) -> None:
    """What the recorder does in a pod, from a bundle that is at hand."""
    archive.extract([bundle], places.workspace, sha256=plan.bundle_sha256)
    places.bundle.write_bytes(bundle)
    places.project.mkdir(exist_ok=True)
    places.candidate.mkdir(exist_ok=True)
    for name, text in plan.candidate_files.items():
        (places.candidate / name).write_text(text, encoding="utf-8")
    places.plan.write_bytes(documents.dump(plan))


def run_here(places: Places, plan: AgentPlan, store: ArtifactStore, stop: Stop) -> AgentReport:
    """Run the plan in folders that were laid out; what the recorder reports is returned, or its error raised."""
    results: queue.SimpleQueue[AgentReport | Exception | None] = queue.SimpleQueue()
    terminating = threading.Event()

    def record() -> None:
        try:
            setup = Setup(Proof(plan.probes, plan.probe_attempts), lambda: None, plan.setup_seconds)
            results.put(Recorder(places, plan, store, "local", terminating, setup).run())
        except Exception as error:  # noqa: BLE001 — raised again below, in the caller's thread
            results.put(error)

    recorder = threading.Thread(target=record, daemon=True)
    recorder.start()
    try:
        with connect(places.channel, timeout=10) as channel:
            launch(places, channel, stop)
    finally:
        terminating.set()
        recorder.join()
    result = results.get()
    if isinstance(result, Exception):
        raise result
    assert result is not None, "launch had connected"
    return result
