"""From complete to analysed. Pure; one step at a time, as all of a cohort's life is:

    ledger: corrections and a release made since → status: what is asked, of how many entries → Job created →
    Job ended → ledger: analysis → status: analysed

What is analysed is fixed in the status before the Job exists: entries of the ledger up to the last one that is not
itself an analysis. So every attempt, a retry of the Job or a request a year later, reads the same and makes the same
package, until a correction or a release changes what there is to read.
"""

import hashlib
from dataclasses import replace
from datetime import datetime

from fairtrial import names
from fairtrial.api import BenchmarkCohort, CohortAnalysis, Reason, find_condition
from fairtrial.api.conditions import ANALYSED, COMPLETE
from fairtrial.cohort.ledger import LedgerEntry
from fairtrial_operator.cohorts import analysis_job
from fairtrial_operator.cohorts.analysis_job import Outcome
from fairtrial_operator.cohorts.draft import CohortDraft
from fairtrial_operator.cohorts.seen import (
    Append,
    CohortDecision,
    CohortSeen,
    CreateAnalysis,
    DeleteAnalysis,
    WriteCohort,
)
from fairtrial_operator.seen import Event

LOOK_AGAIN_SECONDS = 10.0  # pods are watched, Jobs are not
SETTLE_SECONDS = 1.0  # until a pod's last words, which a Job counted already, are read
REQUEST_MAX = 64
WHY_MAX = 500  # so that what to do next is not cut off
AGAIN = (
    f"Ask again: kubectl annotate --overwrite bcohort {{name}} -n {{namespace}} {names.ANALYSE_ANNOTATION}=$(date +%s)"
)


def wanted(cohort: BenchmarkCohort) -> str | None:
    """The request for an analysis that holds now; None where nobody asks. The end of a cohort asks once, by itself."""
    if cohort.spec.analysis is None or cohort.status.preregistration_sha256 is None:
        return None
    token = cohort.metadata.annotations.get(names.ANALYSE_ANNOTATION, "")
    if token:
        return token if len(token) <= REQUEST_MAX else hashlib.sha256(token.encode()).hexdigest()
    told = find_condition(cohort.status.conditions, COMPLETE)
    by_itself = cohort.spec.stage != "smoke" and told is not None and told.reason != Reason.CANCELLED
    return "" if by_itself else None


def due(cohort: BenchmarkCohort) -> bool:
    """Whether there is anything to do, or to look at, for the analysis of a complete cohort."""
    asked, request = cohort.status.analysis, wanted(cohort)
    if cohort.metadata.deletion_timestamp is not None or request is None:
        return False
    return asked is None or asked.job is not None or asked.request != request


def begins(cohort: BenchmarkCohort) -> bool:
    """Whether an analysis is asked for that the status does not tell of yet."""
    asked = cohort.status.analysis
    return due(cohort) and (asked is None or asked.request != wanted(cohort))


def decide_analysis(cohort: BenchmarkCohort, seen: CohortSeen, now: datetime) -> CohortDecision:
    """Choose the next step of the analysis of a complete cohort."""
    request = wanted(cohort)
    if not due(cohort) or request is None:
        return CohortDecision()
    draft = CohortDraft(cohort, now)
    refused = _refused(cohort, seen)
    if refused is not None:
        return _write_or(cohort, draft.say(ANALYSED, "False", *refused), CohortDecision())
    if seen.ledger is None:
        trouble = seen.ledger_trouble
        why = (trouble.reason, trouble.message) if trouble else (Reason.STORE_UNAVAILABLE, "The ledger was not read.")
        return _write_or(cohort, draft.say(ANALYSED, "False", *why), CohortDecision(retry=True))
    asked = cohort.status.analysis
    if asked is None or asked.request != request:
        if seen.later:
            return CohortDecision(Append(list(seen.later)))
        return _begin(cohort, seen, draft, request)
    if seen.job is None:
        return _create(cohort, seen, draft, asked)
    return _under_way(cohort, seen, draft, asked)


def _refused(cohort: BenchmarkCohort, seen: CohortSeen) -> tuple[str, str] | None:
    assert cohort.spec.analysis is not None
    if seen.analysis is None:
        message = "This operator has no Job to analyse with. Install Fairtrial's chart with images.analysis."
        return Reason.ANALYSIS_NOT_CONFIGURED, message
    return image_refused(cohort, seen)


def image_refused(cohort: BenchmarkCohort, seen: CohortSeen) -> tuple[str, str] | None:
    """An image that is not the administrator's would be given the store's credentials and the signing key."""
    if seen.analysis is None or cohort.spec.analysis is None or cohort.spec.analysis.image in seen.analysis.images:
        return None
    message = (
        f"spec.analysis.image is {cohort.spec.analysis.image}, which may not analyse here. Name one of "
        f"{', '.join(sorted(seen.analysis.images))}; or let an administrator add it to the chart's analysis.images."
    )
    return Reason.ANALYSIS_IMAGE_NOT_ALLOWED, message


def version_refused(cohort: BenchmarkCohort, seen: CohortSeen) -> tuple[str, str] | None:
    """What is sealed must be what will be done: a verifier compares the version with the package's."""
    asked = cohort.spec.analysis
    known = seen.analysis.versions.get(asked.image) if seen.analysis is not None and asked is not None else None
    if asked is None or known is None or asked.version == known:
        return None
    message = f"spec.analysis.version is {asked.version!r}, but the analysis in that image is {known!r}: write that."
    return Reason.NOT_ACCEPTABLE, message


# --- steps ------------------------------------------------------------------------------------------------------------
def _begin(cohort: BenchmarkCohort, seen: CohortSeen, draft: CohortDraft, request: str) -> CohortDecision:
    """Write down what is asked; what the last analysis gave stays until there is something else."""
    old = cohort.status.analysis
    if old is not None and old.job is not None and seen.job is not None:
        return CohortDecision(DeleteAnalysis(old.job))
    assert seen.ledger is not None
    entries = seen.ledger.analysable
    job = analysis_job.job_name(cohort, request, entries)
    fields = {"request": request, "ledger_entries": entries, "job": job}
    asked = old.model_copy(update=fields) if old is not None else CohortAnalysis(**fields)
    draft.set(analysis=asked).say(ANALYSED, "Unknown", Reason.ANALYSING, f"Job {job} is to be created.")
    return CohortDecision(WriteCohort(draft.done()))


def _create(cohort: BenchmarkCohort, seen: CohortSeen, draft: CohortDraft, asked: CohortAnalysis) -> CohortDecision:
    if seen.refused is not None:
        draft.say(ANALYSED, "False", seen.refused.reason, seen.refused.message)
        return _write_or(cohort, draft, CohortDecision(retry=True))
    assert seen.analysis is not None
    return CohortDecision(CreateAnalysis(analysis_job.job(cohort, asked, seen.analysis)))


def _under_way(cohort: BenchmarkCohort, seen: CohortSeen, draft: CohortDraft, asked: CohortAnalysis) -> CohortDecision:
    assert seen.job is not None
    over, outcome = analysis_job.ended(seen.job), analysis_job.outcome(seen.job_pods)
    if outcome is not None and not outcome.error:
        return _analysed(seen, draft, asked, outcome)  # whatever the Job says of it, or will say
    if over == "Failed":
        return _failed(cohort, seen, draft, asked, outcome)
    if over == "Complete":
        if outcome is None and seen.job_pods:
            return CohortDecision(again_after=SETTLE_SECONDS)
        gone = Outcome(error="The pod that ended well is gone before it was read; the package it made is in the store.")
        return _failed(cohort, seen, draft, asked, outcome or gone)
    held = analysis_job.held(seen.job_pods)
    if held is not None:
        reason = Reason.CONTAINER_NOT_CREATED if held.container else Reason.WAITING_FOR_CAPACITY
        reason = Reason.IMAGE_PULL_FAILED if held.pull else reason
        draft.say(ANALYSED, "False", reason, f"Job {asked.job} waits: {held.reason}: {held.message}")
    elif outcome is not None:
        attempts = analysis_job.failures(seen.job_pods)
        draft.say(ANALYSED, "False", Reason.RETRYING, f"Attempt {attempts} failed and is repeated. {outcome.error}")
    else:
        draft.say(ANALYSED, "Unknown", Reason.ANALYSING, f"Job {asked.job} is under way.")
    return _write_or(cohort, draft, CohortDecision(again_after=LOOK_AGAIN_SECONDS))


def _analysed(seen: CohortSeen, draft: CohortDraft, asked: CohortAnalysis, outcome: Outcome) -> CohortDecision:
    assert seen.ledger is not None
    if all(entry.sha256 != outcome.package_sha256 for entry in seen.ledger.analyses):
        entry = LedgerEntry("analysis", sha256=outcome.package_sha256, outcome=outcome.verdict)
        return CohortDecision(Append([entry]))
    result = asked.model_copy(
        update={
            "job": None,
            "package_uri": outcome.package_uri,
            "package_sha256": outcome.package_sha256,
            "report_sha256": outcome.report_sha256,
            "verdict": outcome.verdict or None,
            "analysed_at": draft.now,
        }
    )
    message = f"{outcome.verdict or 'No verdict'}: {outcome.package_uri} sha256:{outcome.package_sha256}"
    draft.set(analysis=result, ledger_entries=seen.ledger.size)
    draft.say(ANALYSED, "True", _word(outcome.verdict), message)
    return CohortDecision(WriteCohort(draft.done()), event=Event("Analysed", message), warning=False)


def _failed(
    cohort: BenchmarkCohort, seen: CohortSeen, draft: CohortDraft, asked: CohortAnalysis, outcome: Outcome | None
) -> CohortDecision:
    assert seen.job is not None
    reason, message = analysis_job.why_failed(seen.job)
    deadline = reason == "DeadlineExceeded"
    if outcome is not None:
        message = outcome.error
    elif deadline:  # its pods are gone with it: what held them up was told before
        before = find_condition(cohort.status.conditions, ANALYSED)
        message = f"{message}. Before that: {before.message}" if before is not None else message
    again = AGAIN.format(name=cohort.metadata.name, namespace=cohort.metadata.namespace)
    draft.set(analysis=asked.model_copy(update={"job": None}))
    log = f"Log: kubectl -n {seen.job['metadata']['namespace']} logs job/{asked.job}"
    told = f"{message[:WHY_MAX]} {log} {again}"
    draft.say(ANALYSED, "False", Reason.DEADLINE if deadline else Reason.ANALYSIS_FAILED, told)
    return CohortDecision(WriteCohort(draft.done()), event=Event("AnalysisFailed", told))


def _word(verdict: str) -> str:
    """A verdict as a condition's reason: NOT SUPPORTED → NotSupported."""
    return "".join(word.capitalize() for word in verdict.split() if word.isalnum()) or "NoVerdict"


def _write_or(cohort: BenchmarkCohort, draft: CohortDraft, otherwise: CohortDecision) -> CohortDecision:
    status = draft.done()
    if status == cohort.status:
        return otherwise
    return replace(otherwise, action=WriteCohort(status), again_after=None, retry=False)
