"""What was planned: the preregistration, its digests, and the schedule again from its seed."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairtrial.attest import canonical
from fairtrial.audit import schedule
from fairtrial.audit.documents import load, reading
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder

PATH = "data/preregistration.json"
_FIELDS = {
    "schemaVersion", "kind", "cohort", "spec", "tasks", "candidates", "constitutionSha256", "decisionRuleSha256",
    "resolved", "scheduleSha256", "schedule",
}  # fmt: skip

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Slot:
    """One scheduled run, with what it must be made of."""

    index: int
    run: str
    block: str
    task: str
    candidate: str
    repetition: int
    fixture: str  # name of the task as this candidate gets it
    public_sha256: str
    sealed_sha256: str
    evaluator_image: str
    image: str
    configuration_sha256: str


@dataclass(frozen=True)
class Plan:
    """The preregistration, as far as anything is held against it."""

    raw: JsonObject
    sha256: str
    namespace: str
    cohort: str
    uid: str
    slots: tuple[Slot, ...]
    reasons: tuple[str, ...]  # of invalid runs that may be replaced
    max_per_cell: int

    @cached_property
    def by_run(self) -> Mapping[str, Slot]:
        """The slots by the names of their scheduled runs."""
        return {slot.run: slot for slot in self.slots}


def read(folder: Folder) -> Plan | None:
    """The plan; None, with findings, where the document can't be used."""
    raw = load(folder, PATH)
    if raw is None:
        return None
    if not isinstance(raw, dict) or (raw.get("schemaVersion"), raw.get("kind")) != (1, "Preregistration"):
        folder.findings.add("VERSION_UNKNOWN", PATH, "Is no Preregistration of schema version 1.")
        return None
    if set(raw) != _FIELDS:
        folder.findings.add("FIELD_INVALID", PATH, f"Has other fields: {sorted(set(raw) ^ _FIELDS)}.")
    data = folder.read(PATH) or b""
    with reading(folder.findings, PATH):
        _digests(raw, folder.findings)
        _schedule(raw, folder.findings)
        policy, cohort = raw["spec"].get("replacement", {}), raw["cohort"]
        return Plan(
            raw,
            hashlib.sha256(data).hexdigest(),
            str(cohort["namespace"]),
            str(cohort["name"]),
            str(cohort["uid"]),
            _slots(raw),
            tuple(policy.get("reasons", ())),
            int(policy.get("maxPerCell", 1)),
        )
    return None


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes."""
    return hashlib.sha256(canonical.to_bytes(value)).hexdigest()


def _digests(raw: JsonObject, findings: Findings) -> None:
    spec = raw["spec"]
    pairs = [
        ("scheduleSha256", raw["scheduleSha256"], raw["schedule"]),
        ("constitutionSha256", raw["constitutionSha256"], spec["constitution"]),
        ("decisionRuleSha256", raw["decisionRuleSha256"], spec.get("decisionRule")),
        *(
            (f"candidates.{one['name']}.configurationSha256", one["configurationSha256"], one["configuration"])
            for one in raw["candidates"]
        ),
    ]
    for field, said, of in pairs:
        if said != (None if of is None else digest(of)):
            findings.add("PREREG_INVALID", PATH, f"{field} is not the digest of what stands beside it.")


def _schedule(raw: JsonObject, findings: Findings) -> None:
    made, seed = raw["schedule"], raw["spec"]["schedule"]["seed"]
    tasks, candidates = ([one["name"] for one in raw[key]] for key in ("tasks", "candidates"))
    repetitions = raw["spec"]["repetitions"]
    if raw["spec"]["schedule"]["algorithm"] != schedule.ALGORITHM:
        findings.add("VERSION_UNKNOWN", PATH, "Its schedule is made by an algorithm that this verifier does not know.")
    elif len(tasks) * len(candidates) * repetitions > schedule.RUNS_MAX:
        findings.add("PREREG_INVALID", PATH, "Has more runs than any cohort may have.")
    elif made != schedule.expected(raw["cohort"]["name"], seed, tasks, candidates, repetitions):
        findings.add("SCHEDULE_NOT_FROM_SEED", PATH, f"Seed {seed} makes another schedule.")


def _slots(raw: JsonObject) -> tuple[Slot, ...]:
    tasks, candidates = ({one["name"]: one for one in raw[key]} for key in ("tasks", "candidates"))
    entries = raw["schedule"]["entries"]
    return tuple(_slot(raw, one, tasks[one["task"]], candidates[one["candidate"]]) for one in entries)


def _slot(raw: JsonObject, entry: JsonObject, task: JsonObject, candidate: JsonObject) -> Slot:
    variants = [one for one in task.get("variants", ()) if one["candidate"] == entry["candidate"]]
    fixture = variants[0] if variants else task
    return Slot(
        entry["index"],
        entry["run"],
        entry["block"],
        entry["task"],
        entry["candidate"],
        entry["repetition"],
        fixture["name"],
        fixture["publicSha256"],
        fixture["sealedSha256"],
        raw["resolved"]["tasks"][fixture["name"]]["evaluatorImage"],
        candidate["configuration"]["image"],
        candidate["configurationSha256"],
    )
