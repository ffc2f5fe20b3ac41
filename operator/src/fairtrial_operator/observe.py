"""Gathers what a decision looks at: the caches, the API server where a cache proves no absence, the store's reports."""

import asyncio
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from fairtrial.api import BenchmarkCohort, BenchmarkRun, BenchmarkTask, ModelProvider, ResourceClass, is_true, parse
from fairtrial.api.base import Model
from fairtrial.api.conditions import ACCEPTED
from fairtrial.documents import AgentReport, Artifact, EvaluationReport, load
from fairtrial.errors import FairtrialError, InvalidInput, NotStored
from fairtrial.evidence.layout import Layout, RunLayout
from fairtrial.evidence.objects import ObjectStore
from fairtrial.secrets import stored
from fairtrial.usage import calls
from fairtrial_operator import pods, policies
from fairtrial_operator.accept import NamespaceView, References, Ticket
from fairtrial_operator.cache import Cache, Key, Object
from fairtrial_operator.cohorts.members import owner_of
from fairtrial_operator.kube import CLASSES, COHORTS, NODES, PODS, PROVIDERS, TASKS, Kube, NotFound, Resource
from fairtrial_operator.metrics import STORE_ERRORS
from fairtrial_operator.seen import Refused, Report, Role, Seen, Stored
from fairtrial_operator.settings import Settings
from fairtrial_operator.stages import agent_over, evaluation_over, has_agent_report, has_evaluation_report
from fairtrial_operator.state import State
from fairtrial_operator.surroundings import Surroundings

M = TypeVar("M", bound=Model)
AGENT_REPORT, EVALUATION_REPORT = "agent/report.json", "evaluation/report.json"
REPORT_LIMIT = 32 * 1024 * 1024


@dataclass
class Notes:
    """What one reconciliation has learned so far and need not ask again."""

    refused: dict[Role, Refused] = field(default_factory=dict)
    stored: Stored | None = None
    reports: dict[str, Report] = field(default_factory=dict)


class Observer:
    """Reads the cluster and the store for one run at a time."""

    def __init__(self, kube: Kube, store: ObjectStore, layout: Layout, state: State, settings: Settings) -> None:
        self._kube, self._store, self._layout = kube, store, layout
        self._state, self._settings = state, settings
        self._surroundings = Surroundings(kube, settings)
        self._parsed: dict[tuple[str, Key], tuple[Object, Model]] = {}

    async def observe(self, run: BenchmarkRun, raw: Object, notes: Notes, now: datetime) -> Seen:
        """Everything that `decide` needs to know about this run now."""
        agent = await self._pod(run, "agent")
        evaluator = await self._pod(run, "evaluator")
        agent_lost = agent is not None and await self._node_lost(agent, now)
        evaluator_lost = evaluator is not None and await self._node_lost(evaluator, now)
        agent_at_end = agent is None or agent_lost or pods.ended(agent)
        evaluator_at_end = evaluator is None or evaluator_lost or pods.ended(evaluator)
        agent_report = evaluation_report = Report()
        if _needs_agent_report(run, at_end=agent_at_end):
            agent_report = await self._report(run, AGENT_REPORT, notes)
        if _needs_evaluation_report(run, at_end=evaluator_at_end):
            evaluation_report = await self._report(run, EVALUATION_REPORT, notes)
        model_calls = Report()
        if _needs_model_calls(run):
            model_calls = await self._report(run, calls.ARTIFACT, notes)
        return Seen(
            references=await self._references(run, raw),
            settings=await self._surroundings.pods(),
            agent=agent,
            evaluator=evaluator,
            agent_node_lost=agent_lost,
            evaluator_node_lost=evaluator_lost,
            agent_report=agent_report,
            evaluation_report=evaluation_report,
            model_calls=model_calls,
            agent_scan=await self._scan(run, has_agent_report(run.status), stored.AGENT, notes),
            evaluation_scan=await self._scan(run, has_evaluation_report(run.status), stored.EVALUATION, notes),
            refused=notes.refused,
            stored=notes.stored,
            finalizers=tuple(raw["metadata"].get("finalizers") or ()),
            release_after_seconds=self._settings.release_after_seconds,
        )

    def keys_of(self, run: BenchmarkRun) -> RunLayout:
        """Where this run's evidence lies."""
        cohort = run.spec.cohort_ref.name if run.spec.cohort_ref else ""
        return self._layout.run(run.metadata.namespace, run.metadata.name, run.metadata.uid, cohort)

    # --- references ---------------------------------------------------------------------------------------------------
    async def _references(self, run: BenchmarkRun, raw: Object) -> References:
        spec, namespace, state = run.spec, run.metadata.namespace, self._state
        if run.recorded or evaluation_over(run.status):
            return References(None, None, None)
        view = namespace_view(state, self._settings, namespace)
        task = await self.find(BenchmarkTask, TASKS, state.tasks, Key(namespace, spec.task_ref.name))
        found = await self.find(ResourceClass, CLASSES, state.classes, Key("", spec.resource_class_name))
        if is_true(run.status.conditions, ACCEPTED):
            return References(view, task, found)
        provider = spec.network.model_provider_ref
        cohort = ticket = None
        if spec.cohort_ref is not None:
            key = Key(namespace, spec.cohort_ref.name)
            cohort = await self.find(BenchmarkCohort, COHORTS, state.cohorts, key)
            ticket = self._ticket(run, raw, cohort) if cohort is not None else None
        return References(
            namespace=view,
            task=task,
            resource_class=found,
            provider=await self.find(ModelProvider, PROVIDERS, state.providers, Key(namespace, provider.name))
            if provider
            else None,
            cohort=cohort,
            ticket=ticket,
        )

    def _ticket(self, run: BenchmarkRun, raw: Object, cohort: BenchmarkCohort) -> Ticket:
        """What its cohort's ledger says about a run."""
        owner, book = owner_of(raw), self._state.books.get(cohort.metadata.uid)
        return Ticket(
            owned=owner is not None and owner.uid == cohort.metadata.uid,
            given=book.ticketed(run.metadata.name) if book else None,
            spec=book.spec_of(cohort, run.metadata.name) if book else None,
            sealed=book.sealed if book else None,
        )

    async def find(self, kind: type[M], resource: Resource, cache: Cache, key: Key) -> M | None:
        """An object that something refers to, or None."""
        raw = await self._raw(resource, cache, key)
        if raw is None:
            self._parsed.pop((resource.kind, key), None)
            return None
        known = self._parsed.get((resource.kind, key))
        if known is not None and known[0] is raw and isinstance(known[1], kind):
            return known[1]  # thousands of runs ask for the same few
        made = parse(kind, raw, name=f"{resource.kind} {key.name}")
        self._parsed[resource.kind, key] = (raw, made)
        return made

    async def _raw(self, resource: Resource, cache: Cache, key: Key) -> Object | None:
        """From the cache; absence is believed only from the API server, since a watch may lag or not have begun."""
        known = cache.get(key)
        if known is not None:
            return known
        try:
            live = await self._kube.get(resource, key.name, key.namespace or None)
        except NotFound:
            return None
        cache.put(live)
        return live

    # --- pods ---------------------------------------------------------------------------------------------------------
    async def _pod(self, run: BenchmarkRun, role: Role) -> Object | None:
        """The run's own pod: controlled by this run's UID, and the one that the status names if it names one.

        What is not known is asked for while its end is not written down; an agent's always, for it may carry our
        finalizer whatever its labels say, by which a start leaves it out.
        """
        status = run.status.agent_pod if role == "agent" else run.status.evaluator_pod
        key = Key(run.metadata.namespace, f"{run.metadata.name}-{role}")
        pod = self._state.pods.get(key)
        if pod is None and status is not None and (status.facts is None or role == "agent"):
            pod = await self._raw(PODS, self._state.pods, key)
        if pod is None or pods.owner_uid(pod) != run.metadata.uid:
            return None
        return pod if status is None or status.uid == pods.uid(pod) else None

    async def _node_lost(self, pod: Object, now: datetime) -> bool:
        name = pods.node(pod)
        if name is None or not pods.overstayed(pod, now):
            return False
        try:
            live = await self._kube.get(NODES, name)
        except NotFound:
            return True
        conditions = live.get("status", {}).get("conditions") or []
        return not any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    # --- reports ------------------------------------------------------------------------------------------------------
    async def _report(self, run: BenchmarkRun, name: str, notes: Notes) -> Report:
        if name not in notes.reports:
            notes.reports[name] = await asyncio.to_thread(self._read_report, run, name)
        return notes.reports[name]

    async def _scan(self, run: BenchmarkRun, reported: bool, name: str, notes: Notes) -> Report:
        """What was found in a pod's artifacts; it was stored before the pod's report, or never will be."""
        needed = reported and not run.recorded and agent_over(run.status) and evaluation_over(run.status)
        return await self._report(run, name, notes) if needed else Report()

    def _read_report(self, run: BenchmarkRun, name: str) -> Report:
        try:
            data = self._store.get(self.keys_of(run).artifact(name), limit=REPORT_LIMIT)
        except NotStored:
            return Report("absent")
        except FairtrialError as error:
            STORE_ERRORS.labels(error.reason).inc()
            return Report("unavailable", message=str(error))
        artifact = Artifact(name, len(data), hashlib.sha256(data).hexdigest())
        try:
            if name == AGENT_REPORT:
                return Report("present", agent=load(AgentReport, data, name=name), artifact=artifact)
            if name == calls.ARTIFACT:
                return Report("present", calls=load(calls.ModelCalls, data, name=name), artifact=artifact)
            if name in stored.BY_FOLDER.values():
                return Report("present", scan=load(stored.ArtifactScan, data, name=name), artifact=artifact)
            return Report("present", evaluation=load(EvaluationReport, data, name=name), artifact=artifact)
        except InvalidInput as error:
            return Report("malformed", message=str(error), artifact=artifact)


def namespace_view(state: State, settings: Settings, name: str) -> NamespaceView | None:
    """A namespace as the caches show it."""
    raw = state.namespaces.get(Key("", name))
    if raw is None:
        return None
    labels = raw["metadata"].get("labels") or {}
    return NamespaceView(
        name=name,
        labels=labels,
        selected=settings.selects(labels),
        prepared=name in state.accounts and not missing_policies(state, settings, name),
        terminating=bool(raw["metadata"].get("deletionTimestamp")),
    )


def missing_policies(state: State, settings: Settings, namespace: str) -> list[Object]:
    """The static policies that are not there as they must be."""
    wanted = policies.static(namespace, settings.gateway_namespace)
    return [one for one in wanted if not _holds(state, one)]


def _holds(state: State, wanted: Object) -> bool:
    live = state.policies.get(Key(wanted["metadata"]["namespace"], wanted["metadata"]["name"]))
    return live is not None and live.get("spec") == wanted["spec"] and not live["metadata"].get("deletionTimestamp")


def _needs_agent_report(run: BenchmarkRun, *, at_end: bool) -> bool:
    status = run.status
    if run.recorded:
        return False
    if not agent_over(status):
        return at_end and status.agent_pod is not None
    return has_agent_report(status) and (evaluation_over(status) or status.evaluator_pod is None)


def _needs_model_calls(run: BenchmarkRun) -> bool:
    status = run.status
    tools = status.task is not None and bool(status.task.tool_servers)
    called = (status.provider is not None or tools) and status.agent_pod is not None
    return called and not run.recorded and agent_over(status) and evaluation_over(status)


def _needs_evaluation_report(run: BenchmarkRun, *, at_end: bool) -> bool:
    status = run.status
    if run.recorded or status.evaluator_pod is None:
        return False
    return has_evaluation_report(status) if evaluation_over(status) else at_end and agent_over(status)
