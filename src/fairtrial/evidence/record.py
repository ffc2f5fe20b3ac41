"""From a finished run and its reports to its record. Pure: same inputs, same bytes. Its models: `record_model`."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from fairtrial.api.base import digest
from fairtrial.api.run import BenchmarkRun, PodStatus
from fairtrial.classify import Facts, classify, facts_of
from fairtrial.documents import AgentReport, Artifact, Consumption, Diff, EvaluationReport, Interaction
from fairtrial.evidence import record_model as r
from fairtrial.evidence.record_model import Record, load_record, record_schema
from fairtrial.evidence.value import INT64_MAX, Value, measured, missing, not_applicable, plain, void
from fairtrial.secrets import stored
from fairtrial.secrets.stored import ArtifactScan
from fairtrial.usage.calls import ARTIFACT as CALLS
from fairtrial.usage.calls import ModelCalls
from fairtrial.usage.conflicts import Conflict, as_counts, compare, contradictions
from fairtrial.usage.counters import NOT_IN_WIRE, Counters
from fairtrial.usage.course import NO_ANSWER, TOO_FEW

__all__ = ["Record", "assemble", "load_record", "record_schema"]
_NOT_ALIKE = {"refused_calls", "conflicts", "calls", "course", "leaks"}  # fields of usage in a run without a model


def assemble(
    run: BenchmarkRun,
    agent: AgentReport | None,
    evaluation: EvaluationReport | None,
    reports: tuple[Artifact, ...] = (),
    calls: ModelCalls | None = None,
    scans: tuple[ArtifactScan, ...] = (),
) -> Record:
    """The record of a run whose last pod has ended. `reports` are the reports and the list of calls, as stored.

    A report that names another run or pod decides the classification, and nothing of it enters the record.
    """
    facts = facts_of(run, agent, evaluation, calls, scans)
    list_of_calls = next((one for one in reports if one.name == CALLS), None)
    ours = agent if facts.agent_report == "present" else None
    judgement = evaluation if facts.evaluation not in ("missing", "foreign") else None
    stored = [*(ours.artifacts if ours else ()), *(judgement.artifacts if judgement else ()), *reports]
    return Record(
        identity=_identity(run),
        configuration=_configuration(run),
        environment=_environment(run, ours, judgement),
        usage=_usage(run, calls, list_of_calls, ours, scans),
        consumption=_consumption(ours),
        interaction=_interaction(ours),
        patch=_patch(ours),
        evaluation=_evaluation(judgement),
        isolation=_isolation(ours),
        leftovers=measured(ours.leftovers) if ours and ours.leftovers else missing(_why(ours)),
        classification=_classification(facts),
        timings=_timings(run, ours, judgement),
        pods=r.Pods(agent=run.status.agent_pod, evaluator=run.status.evaluator_pod),
        artifacts=tuple(sorted(set(stored), key=lambda one: (one.name, one.sha256, one.size))),
        lineage=_lineage(run),
    )


def _identity(run: BenchmarkRun) -> r.Identity:
    task = run.status.task
    return r.Identity(
        namespace=run.metadata.namespace,
        run=run.metadata.name,
        uid=run.metadata.uid,
        task=r.RecordedTask(
            name=run.spec.task_ref.name,
            version=_or_missing(task and task.version, "not_accepted"),
            uid=_or_missing(task and task.uid, "not_accepted"),
            public_sha256=_or_missing(task and task.public_sha256, "not_accepted"),
            sealed_sha256=_or_missing(task and task.sealed_sha256, "not_accepted"),
        ),
        candidate=run.spec.candidate.name,
        repetition=run.spec.repetition,
        block=run.spec.block,
    )


def _configuration(run: BenchmarkRun) -> r.Configuration:
    candidate, limits, task = run.spec.candidate, run.spec.limits, run.status.task
    as_json = candidate.as_json()
    return r.Configuration(
        name=candidate.name,
        version=candidate.version,
        image=candidate.image,
        argv=candidate.argv,
        stdin=candidate.stdin,
        configuration_sha256=digest(as_json),
        argv_sha256=digest(as_json["argv"]),
        env_sha256=digest(as_json["env"]),
        file_sha256={name: digest(text) for name, text in candidate.files.items()},
        prompt_sha256=_or_missing((task and task.prompts) or None, "not_accepted"),
        provider=measured(run.status.provider) if run.status.provider else not_applicable("no_model_provider"),
        wall_seconds=measured(limits.wall_seconds) if limits.wall_seconds else not_applicable("no_cap"),
        grace_seconds=limits.grace_seconds,
    )


def _environment(run: BenchmarkRun, agent: AgentReport | None, evaluation: EvaluationReport | None) -> r.Environment:
    status = run.status
    provider = run.spec.network.model_provider_ref
    return r.Environment(
        candidate_image=run.spec.candidate.image,
        evaluator_image=_or_missing(status.task and status.task.evaluator_image, "not_accepted"),
        resolved_images=_images("agent", status.agent_pod) | _images("evaluator", status.evaluator_pod),
        resource_class=run.spec.resource_class_name,
        resources=_or_missing(status.resource_class, "not_accepted"),
        network_policy=f"modelProvider/{provider.name}" if provider else "none",
        initial_state_sha256=_or_missing(agent and agent.initial_state_sha256, _why(agent)),
        agent=plain(agent.environment) if agent else {},
        evaluator=plain(evaluation.environment) if evaluation else {},
    )


def _images(role: str, pod: PodStatus | None) -> dict[str, str]:
    found = pod.facts.image_ids if pod and pod.facts else {}
    return {f"{role}/{container}": image for container, image in found.items()}


def _usage(
    run: BenchmarkRun,
    calls: ModelCalls | None,
    artifact: Artifact | None,
    agent: AgentReport | None,
    scans: tuple[ArtifactScan, ...],
) -> r.Usage:
    """Inapplicable without a provider; with one, what its calls say, and where they say nothing, why."""
    if calls is None or run.status.provider is None:
        given = run.spec.network.model_provider_ref is not None
        nothing: Value[Any] = missing("not_collected") if given else not_applicable("no_model_provider")
        return r.Usage(
            **dict.fromkeys(r.Usage.model_fields.keys() - _NOT_ALIKE, nothing),
            leaks=nothing if given or (calls is None and not scans) else _leaks(calls, scans),
            course=r.CallCourse(
                **dict.fromkeys(r.CallCourse.model_fields.keys() - {"faults_by"}, nothing), faults_by={}
            ),
            refused_calls=calls.refused if calls else {},
            calls=artifact,
        )
    counters, cost = calls.total.counters, calls.cost

    def count(name: str) -> Value[Any]:
        value = counters.get(name)
        if value is not None:
            return measured(value)
        reason = counters.reason(name)
        return not_applicable(reason) if reason == NOT_IN_WIRE else missing(reason)

    return r.Usage(
        all_input_tokens=count("all_input"),
        uncached_input_tokens=count("uncached_input"),
        cached_input_tokens=count("cached_input"),
        cache_write_tokens=count("cache_write"),
        output_tokens=count("output"),
        reasoning_tokens=count("reasoning"),
        total_tokens=count("total"),
        model_calls=measured(calls.forwarded),
        answered_calls=measured(calls.answered),
        refused_calls=calls.refused,
        answered_models=measured(tuple(calls.answered_models)),
        outage=measured(f"{calls.outage}: {calls.outage_cause}") if calls.outage else not_applicable("none"),
        cost=missing(cost.reason) if cost.amount is None else measured(cost.amount),
        currency=measured(cost.currency) if cost.currency else missing("no_pricing_snapshot"),
        pricing_snapshot=measured(cost.snapshot) if cost.snapshot else missing("no_pricing_snapshot"),
        leaks=_leaks(calls, scans),
        course=_course(calls),
        conflicts=tuple(r.UsageConflict(**vars(one)) for one in _conflicts(counters, agent)),
        calls=artifact,
    )


def _leaks(calls: ModelCalls | None, scans: tuple[ArtifactScan, ...]) -> Value[int]:
    """In calls and artifacts together; unknown while anything was not searched."""
    if stored.unscanned(scans) or (calls is not None and calls.unscanned):
        return missing("not_scanned")
    return measured(len(stored.found_in(scans)) + (len(calls.leaks) if calls is not None else 0))


def _course(calls: ModelCalls) -> r.CallCourse:
    """What the calls came to over the time of the run; too few of them have no start and no tail."""
    found = calls.course

    def told(value: int | None, reason: str) -> Value[int]:
        if value is not None:
            return measured(value)
        return not_applicable(reason) if reason in (TOO_FEW, NO_ANSWER) else missing(reason)

    waited, inputs = found.first_tokens_ms, found.inputs
    return r.CallCourse(
        unfinished_calls=measured(len(calls.unfinished)),
        faults=measured(sum(found.faults.values())),
        faults_by=found.faults,
        recovered_faults=measured(found.recovered),
        first_token_ms=told(found.first_token_ms, found.first_token_reason),
        start_first_token_ms=told(waited.start, waited.reason),
        tail_first_token_ms=told(waited.tail, waited.reason),
        largest_input_tokens=told(found.largest_input, found.largest_input_reason),
        start_input_tokens=told(inputs.start, inputs.reason),
        tail_input_tokens=told(inputs.tail, inputs.reason),
    )


def _conflicts(counters: Counters, agent: AgentReport | None) -> list[Conflict]:
    """The gateway's sums against what the harness tells of itself."""
    told = (agent.interaction.summary.get("agentUsage") or {}).get("value") or {} if agent else {}
    own = told.get("reported") or told.get("summed") or {}
    names = {"cachedInput": "cached_input", "cacheWrite": "cache_write", "output": "output", "reasoning": "reasoning"}
    inside = {"yes": "all_input", "no": "uncached_input"}.get(own.get("inputIncludesCached", ""))
    names |= {"input": inside} if inside else {}
    # An agent prints what it likes, and may print it often: a count that no record can hold says nothing.
    said = {ours: own[theirs] for theirs, ours in names.items() if _fits(own.get(theirs))}
    found = [*compare({"gateway": as_counts(counters), "agent": said}), *contradictions(counters)]
    return [replace(one, counts={name: min(value, INT64_MAX) for name, value in one.counts.items()}) for one in found]


def _fits(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= INT64_MAX


def _consumption(agent: AgentReport | None) -> r.Consumption:
    """What launch has read of its cgroup once the steps were over; where it had no last word, nobody knows."""
    told = agent.consumption if agent else None

    def count(value: int | None, per: int = 1) -> Value[int]:
        if told is None:
            return missing(_why(agent))
        return missing("not_told_by_the_kernel") if value is None else measured(value // per)

    used = told or Consumption()
    return r.Consumption(
        cpu_ms=count(used.cpu_us, 1000),
        cpu_periods=count(used.periods),
        throttled_periods=count(used.throttled_periods),
        throttled_ms=count(used.throttled_us, 1000),
        memory_peak_bytes=count(used.memory_peak_bytes),
    )


def _interaction(agent: AgentReport | None) -> r.Interaction:
    told = agent.interaction if agent else Interaction("missing", reason=_why(agent))

    def metric(name: str, inner: str = "") -> Value[Any]:
        found = told.summary.get(name) or {"state": told.state, "reason": told.reason or "not_told"}
        value = found.get("value")
        value = value.get(inner) if inner and isinstance(value, dict) else value
        if found["state"] == "measured" and isinstance(value, int):
            return measured(value)
        reason = found.get("reason") or "not_told"
        return not_applicable(reason) if found["state"] == "not_applicable" else missing(reason)

    ran = [step.duration_ms for step in agent.steps if step.end != "not_started"] if agent else []
    return r.Interaction(
        ending=_or_missing(agent and agent.ending, _why(agent)),
        message=agent.message if agent else "",
        wall_ms=measured(sum(ran)) if ran else missing("no_step_ran" if agent else _why(agent)),
        assistant_turns=metric("turns"),
        tool_calls=metric("toolCalls", "total"),
        metrics=plain(told.summary),
        events=told.events,
        counts=told.counts,
        steps=tuple(agent.steps) if agent else (),
        streams=tuple(agent.streams) if agent else (),
    )


def _patch(agent: AgentReport | None) -> r.Patch:
    diff = agent.diff if agent else Diff("missing", reason=_why(agent))

    def count(value: Any) -> Value[Any]:
        return measured(value) if diff.state == "measured" else missing(diff.reason or "not_reached")

    return r.Patch(
        files_added=count(diff.files_added),
        files_modified=count(diff.files_modified),
        files_deleted=count(diff.files_deleted),
        lines_added=count(diff.lines_added),
        lines_deleted=count(diff.lines_deleted),
        binary_files=count(diff.binary_files),
        generated_files=count(diff.generated_files),
        paths=count(tuple(diff.paths)),
        diff=diff.artifact,
        snapshot=agent.snapshot if agent else None,
    )


def _evaluation(evaluation: EvaluationReport | None) -> r.Evaluation:
    if evaluation is None:
        no: Value[Any] = missing("no_evaluation")
        return r.Evaluation(
            verdict=no,
            reason="",
            negative_control=no,
            protected_touched=no,
            snapshot_sha256=no,
            launcher=(),
            checks=(),
        )
    control = evaluation.negative_control
    return r.Evaluation(
        verdict=measured(evaluation.verdict) if evaluation.verdict != "error" else void("evaluator_error"),
        reason=evaluation.reason,
        negative_control=not_applicable("no_check_asks_for_it") if control == "not_applicable" else measured(control),
        protected_touched=measured(tuple(evaluation.protected_touched)),
        snapshot_sha256=_or_missing(evaluation.snapshot_sha256 or None, "not_reached"),
        launcher=tuple(evaluation.launcher),
        checks=tuple(evaluation.checks),
    )


def _isolation(agent: AgentReport | None) -> r.Isolation:
    if agent is None:
        return r.Isolation(state="not_reached", probes=(), preflight=(), leaks=())
    return r.Isolation(
        state=agent.isolation,
        probes=tuple(agent.probes),
        preflight=tuple(agent.preflight),
        leaks=tuple(agent.leaks),
    )


def _classification(facts: Facts) -> r.RecordedClassification:
    found = classify(facts)
    return r.RecordedClassification(
        outcome=found.outcome,
        cause=found.cause,
        reason=found.reason,
        message=found.message,
        row=found.row,
        invalidity=found.invalidity,
        category=found.category,
        tags=found.tags,
    )


def _timings(run: BenchmarkRun, agent: AgentReport | None, evaluation: EvaluationReport | None) -> r.Timings:
    at = run.status.timestamps
    observed = {key: text for key, text in at.as_json().items() if key != "recorded"}
    return r.Timings(
        queued_ms=_between(at.accepted, at.agent_created),
        scheduling_ms=_between(at.agent_created, at.agent_scheduled),
        starting_ms=_between(at.agent_scheduled, at.agent_started),
        agent_pod_ms=_between(at.agent_started, at.agent_finished),
        evaluation_ms=_between(at.evaluator_created, at.evaluated),
        agent_phases_ms=agent.timings_ms if agent else {},
        evaluation_phases_ms=evaluation.timings_ms if evaluation else {},
        timestamps=observed,
    )


def _between(start: str | None, end: str | None) -> Value[int]:
    if start is None or end is None:
        return missing("not_observed")
    milliseconds = round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000)
    return measured(milliseconds) if milliseconds >= 0 else void("clock_went_backwards")


def _lineage(run: BenchmarkRun) -> r.Lineage:
    spec = run.spec
    return r.Lineage(
        cohort=spec.cohort_ref.name if spec.cohort_ref else None,
        preregistration_sha256=spec.cohort_ref.preregistration_sha256 if spec.cohort_ref else None,
        schedule_index=spec.cohort_ref.index if spec.cohort_ref else None,
        replaces=spec.replaces,
        # What is asked for after the end is no part of the run.
        cancel_reason=spec.cancel.reason if spec.cancel and run.status.timestamps.cancelled else None,
    )


def _or_missing(value: Any, reason: str) -> Value[Any]:
    return missing(reason) if value is None else measured(value)


def _why(agent: AgentReport | None) -> str:
    return "no_agent_report" if agent is None else "not_reached"
