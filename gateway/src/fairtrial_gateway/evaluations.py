"""Signs, with the evaluator's key, what an evaluator's report says, once the report is stored.

Whatever its pod says of itself is checked against whom the cluster says it is: a signature is only given to the report
of this run, by this pod, on this task's sealed tests. The key never enters a pod that runs a task's code.
"""

import logging

from fairtrial import documents, names
from fairtrial.documents import EvaluationReport
from fairtrial.errors import InvalidInput, SigningFailed
from fairtrial.evidence import statements
from fairtrial.evidence.layout import Layout
from fairtrial.signing import storing
from fairtrial.signing.keys import SigningKey
from fairtrial_gateway.access import Admitted, Refused
from fairtrial_gateway.logs import say
from fairtrial_gateway.parts import StoreThreads

REPORT_LIMIT = 32 * 1024 * 1024  # as the operator reads it
AGAIN_SECONDS = 5


class Evaluations:
    """Signs evaluators' reports; without a key, nothing."""

    def __init__(self, threads: StoreThreads, layout: Layout, key: SigningKey | None) -> None:
        self._threads, self._layout, self._key = threads, layout, key

    async def stored(self, admitted: Admitted, name: str) -> None:
        """An artifact is stored. Its sender is answered after this, and asks again where the signature failed."""
        if self._key is None or admitted.role != names.EVALUATOR or name != statements.REPORT_FILE:
            return
        try:
            await self._threads.run(self._sign, admitted, self._key)
        except SigningFailed as error:
            say("not signed", logging.ERROR, reason=error.reason, message=str(error), run=admitted.run.name)
            message = "The report is stored, but could not be signed; send it again."
            raise Refused(503, error.reason, message, retry_after=AGAIN_SECONDS) from error

    def _sign(self, admitted: Admitted, key: SigningKey) -> None:
        run = admitted.run
        keys = self._layout.run(run.namespace, run.name, run.uid, run.cohort)
        data = self._threads.store.get(keys.artifact(statements.REPORT_FILE), limit=REPORT_LIMIT)
        try:
            report: EvaluationReport = documents.load(EvaluationReport, data, name=statements.REPORT_FILE)
            made = statements.evaluation(report, data)
        except InvalidInput as error:
            say("not signed", logging.WARNING, reason="Malformed", message=str(error), run=run.name)
            return
        why = foreign(report, admitted)
        if why:
            say("not signed", logging.WARNING, reason="Foreign", message=why, run=run.name)
            return
        storing.keep_statement(self._threads.store, keys.evaluation_statement(), made, key)


def foreign(report: EvaluationReport, admitted: Admitted) -> str:
    """Why a report is not this pod's about this run and its tests; empty if it is. Pure."""
    run, caller = admitted.run, admitted.caller
    told = (report.run.namespace, report.run.name, report.run.uid)
    if told != (run.namespace, run.name, run.uid):
        return f"The report is of run {'/'.join(told)}."
    if report.pod_uid != caller.pod_uid:
        return f"The report is of pod {report.pod_uid}, and came from {caller.pod_uid}."
    if report.sealed_sha256 not in ("", run.sealed_sha256):
        return f"The report used sealed tests {report.sealed_sha256}; the task's are {run.sealed_sha256}."
    if report.verdict != "error" and not report.sealed_sha256:
        return "The report judges, and does not say by which sealed tests."
    return ""
