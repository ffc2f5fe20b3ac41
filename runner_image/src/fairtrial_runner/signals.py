"""Signals to launch: told apart by who sent them. Only one from outside the pod's processes stops the agent.

All are held back and taken one by one with their origin. The kernel names sender 0 for a process of another PID
namespace (the kubelet's runtime), and does not let a process inside claim that: a forged origin has a negative code.
"""

import signal
import threading
from collections import Counter

from fairtrial.process import Stop

_SI_USER = 0  # sent by kill(2): the one way in which container runtimes stop a container
# A fault of our own must kill us; SIGCHLD is of no interest here, children are waited for.
_NEVER_HELD = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGCHLD}
_STOPPING = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}


def from_outside(info: signal.struct_siginfo) -> bool:
    """Whether a signal came from outside this PID namespace. Pure."""
    return info.si_pid == 0 and info.si_code == _SI_USER


class Watch:
    """Takes every signal to this process from now on. Begin it before any other thread."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self.ignored: Counter[str] = Counter()  # by name, of signals that came from inside
        held = signal.valid_signals() - _NEVER_HELD - {signal.SIGKILL, signal.SIGSTOP}
        signal.pthread_sigmask(signal.SIG_BLOCK, held)
        self._held = held
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            info = signal.sigwaitinfo(self._held)
            if info.si_signo in _STOPPING and from_outside(info):
                self._stop.set("outside")
            elif len(self.ignored) < 100:  # noqa: PLR2004
                self.ignored[signal.Signals(info.si_signo).name if info.si_signo < signal.SIGRTMIN else "SIGRT"] += 1
