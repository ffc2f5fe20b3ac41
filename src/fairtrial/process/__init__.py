"""Start one program of somebody else's, bound it in time, account for how it ended, and leave nothing of it running.

No shell, no inherited descriptors, an own session. At the deadline: SIGTERM to all, grace, SIGKILL to all. When the
program has ended by itself, whatever it left running is listed and killed too. Works as PID 1 of a pod's container
(`alone=True`: everything else in this PID namespace is the program's, so all of it is signalled and reaped) and as an
ordinary process on somebody's machine (descendants only, found by walking /proc as a child subreaper).

    ended = run(Command(["pytest", "-q"], cwd=Path("/workspace"), env={...}, deadline_seconds=60), output=take)
    # take(stream, data) is called from a thread per stream ("stdout", "stderr"), never concurrently for one stream;
    # while it blocks, the program blocks. An exception from it stops the program and is raised after the sweep.
    ended.end, ended.exit_code, ended.signal, ended.signal_sender, ended.timed_out, ended.duration_ms, ended.left
    stop = Stop(); stop.set("outside")                  # from another thread: as a deadline, but told apart
    result = run(Command([...], pass_fds=(write_end,)))  # extra descriptors are passed by name only
"""

from fairtrial.process.cause import OomCounter, sender
from fairtrial.process.run import Command, Ended, Stop, run
from fairtrial.process.tree import Proc, become_subreaper, hide_from_peers, processes

__all__ = [
    "Command",
    "Ended",
    "OomCounter",
    "Proc",
    "Stop",
    "become_subreaper",
    "hide_from_peers",
    "processes",
    "run",
    "sender",
]
