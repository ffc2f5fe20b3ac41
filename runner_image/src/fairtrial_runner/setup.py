"""What goes on in an agent pod before its agent may start: the proof of isolation and the layout, side by side."""

import threading
import time
from collections.abc import Callable

from fairtrial_runner.isolation import Proof

_TICK_SECONDS = 1.0


class SetupFailed(Exception):
    """The workspace could not be laid out."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Setup:
    """A proof that has begun, and a layout that begins now and may take `seconds`."""

    def __init__(self, proof: Proof, lay_out: Callable[[], None], seconds: float) -> None:
        self.proof, self.milliseconds = proof, 0
        self.failure: Exception | None = None
        self._seconds, self._began = seconds, time.monotonic()
        self._layout = threading.Thread(target=self._lay_out, args=(lay_out,), daemon=True)
        self._layout.start()

    def wait(self, terminating: threading.Event) -> bool:
        """Until the layout is there, or `failure` says why not; False where the pod's end comes before either."""
        while self._layout.is_alive() and not terminating.is_set():
            self._layout.join(_TICK_SECONDS)
            if self._layout.is_alive() and time.monotonic() - self._began > self._seconds:
                self.failure = TimeoutError(f"The workspace was not laid out within {self._seconds:.0f} s.")
                return True
        return not self._layout.is_alive()

    def _lay_out(self, lay_out: Callable[[], None]) -> None:
        try:
            lay_out()
        except Exception as error:  # noqa: BLE001 — whatever it is, launch and the operator must be told
            self.failure = error
        self.milliseconds = int((time.monotonic() - self._began) * 1000)
