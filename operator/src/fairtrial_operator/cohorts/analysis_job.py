"""The Job that analyses a cohort, as a plain dict, and what a Job and its pods tell. Pure.

The chart gives the Job as an administrator wants it: account, store, signing key, resources, limits. Here it gets what
differs between two analyses: its name, the image that the cohort was sealed with, and which records it reads. The Job
lies in the operator's namespace, because the credentials that it needs lie there and nobody's runs do.
"""

import copy
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairtrial import names
from fairtrial.api import BenchmarkCohort, CohortAnalysis
from fairtrial_operator import pods

Object = dict[str, Any]
NAME_PART_MAX = 36  # of the cohort's name: with 14 digits and what is between, 63 are not reached
DIGITS = 14
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class AnalysisSettings:
    """What the administrator decided about analyses."""

    job: Mapping[str, Any]  # the Job, without name and image
    images: frozenset[str]  # that may be given the store's credentials and the signing key
    versions: Mapping[str, str] = field(default_factory=dict)  # of the analysis, by image, where it is known


@dataclass(frozen=True)
class Outcome:
    """What an analysis ended with: a package, or why there is none."""

    package_uri: str = ""
    package_sha256: str = ""
    report_sha256: str = ""
    verdict: str = ""
    error: str = ""


def job_name(cohort: BenchmarkCohort, request: str, ledger_entries: int) -> str:
    """The Job's name: the same question about the same records finds the Job that answers it."""
    asked = f"{cohort.metadata.uid}\n{request}\n{ledger_entries}"
    part = cohort.metadata.name[:NAME_PART_MAX].rstrip("-")
    return f"analysis-{part}-{hashlib.sha256(asked.encode()).hexdigest()[:DIGITS]}"


def job(cohort: BenchmarkCohort, asked: CohortAnalysis, settings: AnalysisSettings) -> Object:
    """The Job that carries out what was asked."""
    assert cohort.spec.analysis is not None
    assert asked.job is not None
    made: Object = copy.deepcopy(dict(settings.job))
    metadata = cohort.metadata
    labels = {
        names.MANAGED_BY_LABEL: names.MANAGED_BY,
        names.ROLE_LABEL: names.ANALYSIS,
        names.COHORT_LABEL: metadata.name,
        names.COHORT_NAMESPACE_LABEL: metadata.namespace,
    }
    pod = made["spec"]["template"]
    for place in (made, pod):
        place.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
    made["metadata"]["name"] = asked.job
    (container,) = pod["spec"]["containers"]
    container["image"] = cohort.spec.analysis.image
    told = {
        "FAIRTRIAL_COHORT_NAMESPACE": metadata.namespace,
        "FAIRTRIAL_COHORT": metadata.name,
        "FAIRTRIAL_COHORT_UID": metadata.uid,
        "FAIRTRIAL_LEDGER_SIZE": str(asked.ledger_entries),
        "FAIRTRIAL_ANALYSIS_IMAGE": cohort.spec.analysis.image,
    }
    container["env"] = [*container.get("env", ()), *({"name": key, "value": value} for key, value in told.items())]
    return made


# --- what a Job and its pods tell -------------------------------------------------------------------------------------
def ended(live: Object) -> str:
    """`Complete` or `Failed` where the Job is over; empty while it is under way."""
    over = (one["type"] for one in _conditions(live) if one["status"] == "True")
    return next((kind for kind in over if kind in {"Complete", "Failed"}), "")


def why_failed(live: Object) -> tuple[str, str]:
    """Reason and message of a Job that failed, such as DeadlineExceeded."""
    found = next((one for one in _conditions(live) if one["type"] == "Failed"), {})
    return found.get("reason") or "Failed", found.get("message") or ""


def outcome(of: Sequence[Object]) -> Outcome | None:
    """What the newest pod that has ended says; None while none has, or it said nothing."""
    return next((told for pod in _newest(of) if (told := _outcome(pod)) is not None), None)


def failures(of: Sequence[Object]) -> int:
    """How many attempts have failed."""
    return sum((pod.get("status") or {}).get("phase") == "Failed" for pod in of)


def held(of: Sequence[Object]) -> pods.Held | None:
    """Why the newest pod does not get on."""
    return next((pods.held(pod) for pod in _newest(of) if not pods.ended(pod)), None)


def _newest(of: Sequence[Object]) -> list[Object]:
    return sorted(of, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]), reverse=True)


def _outcome(pod: Object) -> Outcome | None:
    for over in _terminated(pod):
        text = (over.get("message") or "").strip()
        told = _parsed(text)
        if over.get("exitCode") == 0:
            result = Outcome(
                *(str(told.get(k) or "") for k in ("packageUri", "packageSha256", "reportSha256", "verdict"))
            )
            whole = result.package_uri and all(map(_DIGEST.fullmatch, (result.package_sha256, result.report_sha256)))
            return result if whole else Outcome(error=f"It ended well and did not say what it made: {text!r:.200}")
        if "error" in told:
            return Outcome(error=f"{told['error']} {told.get('nextMove') or ''}".strip())
        why = f"{over.get('reason') or 'Error'}, exit code {over.get('exitCode')}"
        last = text.splitlines()[-1] if text else "it said nothing"
        return Outcome(error=f"{why}: {last}")
    status = pod.get("status") or {}
    if status.get("phase") == "Failed":  # evicted, or its node is gone: no container tells
        return Outcome(error=f"{status.get('reason') or 'Failed'}: {status.get('message') or 'the pod failed'}")
    return None


def _terminated(pod: Object) -> Iterator[Object]:
    for status in (pod.get("status") or {}).get("containerStatuses") or []:
        over = (status.get("state") or {}).get("terminated")
        if over is not None:
            yield over


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        told = json.loads(text.splitlines()[-1]) if text else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _conditions(live: Object) -> list[Object]:
    return (live.get("status") or {}).get("conditions") or []
