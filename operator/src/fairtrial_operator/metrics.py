"""The operator's metrics: names are a contract, listed here and nowhere else."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()

API_WRITES = Counter("fairtrial_api_writes", "Write requests to the API server", ["verb"], registry=REGISTRY)
RECONCILES = Counter("fairtrial_reconciles", "Reconciliations by how they ended", ["result"], registry=REGISTRY)
RECONCILE_SECONDS = Histogram("fairtrial_reconcile_seconds", "Duration of a reconciliation", registry=REGISTRY)
QUEUE_DEPTH = Gauge("fairtrial_queue_depth", "Keys that are due", registry=REGISTRY)
QUEUE_OLDEST = Gauge("fairtrial_queue_oldest_seconds", "Age of the oldest key that is due", registry=REGISTRY)
INFORMER_AGE = Gauge("fairtrial_informer_age_seconds", "Since the last word of a watch", ["kind"], registry=REGISTRY)
LOOP_LAG = Gauge("fairtrial_loop_lag_seconds", "How late the event loop runs", registry=REGISTRY)
LEADING = Gauge("fairtrial_leading", "1 while this replica holds the Lease", registry=REGISTRY)
ADOPTED = Counter("fairtrial_pods_adopted", "Creates that found the pod there already", registry=REGISTRY)
CREATED = Counter("fairtrial_pods_created", "Pods created", ["role"], registry=REGISTRY)
REPAIRS = Counter("fairtrial_resync_repairs", "Work found by a resync that no event had announced", registry=REGISTRY)
OUTCOMES = Counter("fairtrial_runs", "Runs recorded, by outcome and cause", ["outcome", "cause"], registry=REGISTRY)
STORE_ERRORS = Counter("fairtrial_store_errors", "Failed calls to the object store", ["reason"], registry=REGISTRY)
RELEASED = Counter("fairtrial_released_unrecorded", "Deleted runs let go without a record", registry=REGISTRY)
COHORT_RUNS = Gauge(
    "fairtrial_cohort_runs", "Runs of a cohort, by where they are", ["namespace", "cohort", "place"], registry=REGISTRY
)
COHORT_RUNS_CREATED = Counter("fairtrial_cohort_runs_created", "Runs created for cohorts", registry=REGISTRY)
COHORT_RUNS_ADOPTED = Counter(
    "fairtrial_cohort_runs_adopted", "Creates that found the cohort's run there already", registry=REGISTRY
)
REPLACEMENTS = Counter("fairtrial_replacements", "Decisions about invalid runs, by code", ["code"], registry=REGISTRY)
ANALYSES = Counter("fairtrial_analyses", "Jobs created that analyse cohorts", registry=REGISTRY)
LEDGER_PAGES = Counter("fairtrial_ledger_pages", "Objects written to ledgers", registry=REGISTRY)
CHECKPOINTS = Counter("fairtrial_ledger_checkpoints", "Roots of ledgers signed", registry=REGISTRY)
UNSTAMPED = Counter("fairtrial_checkpoints_unstamped", "Checkpoints that no authority stamped", registry=REGISTRY)
LEDGER_ENTRIES = Counter("fairtrial_ledger_entries", "Entries written to ledgers", registry=REGISTRY)

_PLACES = ("pending", "waiting", "running", "passed", "failed", "invalid", "void", "cancelled", "notRun")


def show_cohort(namespace: str, cohort: str, counts: Mapping[str, int]) -> None:
    """Where a cohort's runs are, as its status counts them."""
    for place in _PLACES:
        COHORT_RUNS.labels(namespace, cohort, place).set(counts.get(place, 0))


def forget_cohort(namespace: str, cohort: str) -> None:
    """Show a cohort that is gone no more: its last counts would stand there for ever."""
    COHORT_RUNS.remove_by_labels({"namespace": namespace, "cohort": cohort})
