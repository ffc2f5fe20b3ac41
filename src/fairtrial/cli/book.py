"""A cohort's documents in the store, as commands read them: ledger, corrections, records."""

from dataclasses import dataclass
from typing import Any

from fairtrial import documents
from fairtrial.cli.kubectl import Kubectl
from fairtrial.cohort.ledger import Ledger
from fairtrial.errors import InvalidInput, NotStored
from fairtrial.evidence.layout import CohortLayout, Layout
from fairtrial.evidence.objects import ObjectStore

LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Book:
    """A cohort's documents in the store."""

    store: ObjectStore
    layout: Layout
    namespace: str
    cohort: str
    uid: str
    preregistration_sha256: str

    @property
    def keys(self) -> CohortLayout:
        """Where the cohort's own documents lie."""
        return self.layout.cohort(self.namespace, self.cohort, self.uid)

    def ledger(self) -> Ledger:
        """The cohort's ledger, page after page."""
        made = Ledger(self.cohort, self.uid)
        while (data := _found(self.store, self.keys.ledger_page(made.size + 1))) is not None:
            made.take(data)
        return made

    def corrections(self) -> list[bytes]:
        """Those that lie there already, in their order."""
        made = list[bytes]()
        while (data := _found(self.store, self.keys.correction(len(made) + 1))) is not None:
            made.append(data)
        return made

    def record(self, run: str, uid: str) -> dict[str, Any]:
        """A record as JSON."""
        key = self.layout.run(self.namespace, run, uid, self.cohort).record()
        parsed: dict[str, Any] = documents.load(dict[str, Any], self.store.get(key, limit=LIMIT), name=key)
        return parsed


def book_of(name: str, namespace: str, context: str | None) -> Book:
    """The documents of a sealed cohort on a cluster, in the store that the environment names."""
    from fairtrial.evidence.store import S3Settings, S3Store

    cohort = Kubectl(context, namespace).get("benchmarkcohorts.fairtrial.dev", name)
    sealed = (cohort.get("status") or {}).get("preregistrationSha256")
    if not sealed:
        raise InvalidInput(f"BenchmarkCohort {name}: is not sealed.", next_move="Set spec.seal to true first.")
    settings = S3Settings.from_env()
    return Book(S3Store(settings), Layout(settings.prefix), namespace, name, cohort["metadata"]["uid"], sealed)


def _found(store: ObjectStore, key: str) -> bytes | None:
    try:
        return store.get(key, limit=LIMIT)
    except NotStored:
        return None
