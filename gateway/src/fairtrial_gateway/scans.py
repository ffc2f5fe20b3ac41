"""Has a pod's artifacts searched for secrets when the pod's report comes, and writes down what was found.

The scan is stored before the report is: whoever finds a report finds the scan too, so nobody has to wait for it or to
decide when it is late. Where there is nothing to look for, neither a provider's credential nor a canary, there is none.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from fairtrial import documents
from fairtrial.documents import RunIdentity
from fairtrial.errors import Conflict, FairtrialError
from fairtrial.evidence.layout import Layout
from fairtrial.secrets.scan import scan
from fairtrial.secrets.stored import BY_FOLDER, LEAKS_MAX, ArtifactScan, StoredLeak
from fairtrial_gateway.access import Admitted
from fairtrial_gateway.artifact_scan import Asked
from fairtrial_gateway.kubernetes import ApiUnavailable
from fairtrial_gateway.logs import say
from fairtrial_gateway.models.canaries import Canaries
from fairtrial_gateway.models.providers import Providers
from fairtrial_gateway.parts import StoreThreads
from fairtrial_gateway.policy import WRITES_UNDER, Run

REPORT_LIMIT = 32 * 1024 * 1024  # as the operator reads it


class Calls(Protocol):
    """What is needed of the parts that know secrets, and of whoever works beside them."""

    canaries: Canaries
    providers: Providers

    async def scan(self, asked: Asked) -> ArtifactScan:
        """Search a pod's artifacts."""

    def scanned(self, leaks: int) -> None:
        """Count it."""


class Kept:
    """The bytes of a report on its way, as far as anybody will read them."""

    def __init__(self) -> None:
        self.data: bytearray | None = bytearray()

    def take(self, chunk: bytes) -> None:
        """The next bytes."""
        if self.data is not None:
            self.data += chunk
            if len(self.data) > REPORT_LIMIT:
                self.data = None


@dataclass(frozen=True)
class Scans:
    """Searches what a pod stored, once its report is there and not yet visible."""

    calls: Calls
    threads: StoreThreads
    layout: Layout
    seconds: float

    async def before(self, admitted: Admitted, name: str, report: Kept) -> None:
        """Search, and store what was found; a first scan stands, as a first report does."""
        run, folder = admitted.run, WRITES_UNDER[admitted.role]
        secrets = await self._secrets(run)
        if secrets == {}:
            return
        identity = RunIdentity(run.namespace, run.name, run.uid)
        if secrets is None:
            found = ArtifactScan(identity, "failed", "secrets_unreadable")
        else:
            until = time.monotonic() + self.seconds
            others = await self.calls.scan(Asked(identity, run.cohort, folder, secrets, until))
            found = await self.threads.run(with_report, others, name, report.data, secrets)
        if await self.threads.run(self._put, run, BY_FOLDER[folder], found):
            self.calls.scanned(len(found.leaks))
        if found.leaks or found.state == "failed":
            names = sorted({leak.name for leak in found.leaks})
            say("artifacts scanned", logging.WARNING, run=run.name, found=names, state=found.state, why=found.reason)

    async def _secrets(self, run: Run) -> Mapping[str, bytes] | None:
        """All that must not be found; None where nobody can say what that is."""
        try:
            canaries = await self.calls.canaries.get(run.namespace)
            if not run.provider:
                return canaries
            credential = (await self.calls.providers.get(run.namespace, run.provider)).secrets
        except ApiUnavailable:
            raise  # it passes, and the pod asks again
        except FairtrialError as error:
            say("secrets unknown", logging.WARNING, run=run.name, reason=error.reason, message=str(error))
            return None
        return None if credential is None else {**credential, **canaries}

    def _put(self, run: Run, name: str, found: ArtifactScan) -> bool:
        key = self.layout.run(run.namespace, run.name, run.uid, run.cohort).artifact(name)
        try:
            return self.threads.store.put(key, documents.dump(found), media_type="application/json").created
        except Conflict:
            return False


def is_report(admitted: Admitted, name: str) -> bool:
    """Whether an artifact is the last that its pod stores. Pure."""
    return name == f"{WRITES_UNDER[admitted.role]}report.json"


def with_report(
    others: ArtifactScan, name: str, report: bytes | bytearray | None, secrets: Mapping[str, bytes]
) -> ArtifactScan:
    """The scan of a pod's other artifacts, and of its report. Pure."""
    if report is None:
        return replace(others, state="failed", reason=others.reason or "too_large")
    leaks = [StoredLeak(one.name, one.encoding, name, one.offset) for one in scan([bytes(report)], secrets)]
    return replace(
        others,
        artifacts=others.artifacts + 1,
        bytes=others.bytes + len(report),
        leaks=[*leaks, *others.leaks][:LEAKS_MAX],
    )
