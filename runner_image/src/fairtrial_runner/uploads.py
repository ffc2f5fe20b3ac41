"""Store artifacts one after another in a thread of its own, so that a slow store never slows the recording down."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fairtrial import documents
from fairtrial.documents import Artifact
from fairtrial.errors import FairtrialError, InvalidInput


class ArtifactStore(Protocol):
    """Where artifacts go: the gateway in a pod, a folder in a local try."""

    def put_artifact(self, name: str, content: bytes | Path, *, media_type: str = ...) -> Artifact:
        """Store one artifact, create-only; an equal one that is already there is as good."""


@dataclass
class Uploads:
    """A queue of files to store. What was stored, and what failed, is known once `finish` has returned.

    The journal outlives a restart of the container: what an earlier life stored is known to the next.
    """

    store: ArtifactStore
    journal: Path
    stored: list[Artifact] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _queue: "queue.SimpleQueue[Callable[[], None] | None]" = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

    def earlier(self) -> Iterable[Artifact]:
        """What was stored before a restart; it counts as stored from now on. A torn last line is left out."""
        if self.journal.exists():
            for line in self.journal.read_bytes().splitlines():
                with contextlib.suppress(InvalidInput):
                    self.stored.append(documents.load(Artifact, line, name="journal"))
        return tuple(self.stored)

    def put(self, name: str, file: Path, *, media_type: str, then: Callable[[Artifact], None]) -> None:
        """Store a file that is complete; it is removed afterwards, and `then` is told what was stored."""

        def work() -> None:
            try:
                artifact = self.store.put_artifact(name, file, media_type=media_type)
            except (FairtrialError, OSError) as error:
                self.failures.append(f"{name}: {error}")
            else:
                self.note(artifact)
                then(artifact)
            finally:
                file.unlink(missing_ok=True)

        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._queue.put(work)

    def finish(self) -> None:
        """Wait until everything that was put is stored or has failed."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def note(self, artifact: Artifact) -> None:
        """Something is stored, by whomever: it is one of the run's artifacts."""
        if artifact not in self.stored:
            self.stored.append(artifact)
            with self.journal.open("ab") as file:
                file.write(documents.dump(artifact) + b"\n")

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
