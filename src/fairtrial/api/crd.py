"""The models as CustomResourceDefinitions. Pure: `definitions()` gives data, `python -m fairtrial.generate` writes it.

The API server wants structural schemas: no references, no `null` alternatives, no closed objects. CEL rules come with
the models (see `base.Rule`).
"""

from dataclasses import dataclass
from typing import Any

from fairtrial import names
from fairtrial.api.base import CEL_KEY, Model
from fairtrial.api.cohort import BenchmarkCohort
from fairtrial.api.provider import ModelProvider
from fairtrial.api.resource_class import ResourceClass
from fairtrial.api.run import BenchmarkRun
from fairtrial.api.task import BenchmarkTask

JsonObject = dict[str, Any]

INT32_MAX = 2**31 - 1
# What a structural schema may hold, of what pydantic makes.
_KEPT = (
    "description", "type", "format", "enum", "default", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "maxProperties", "minimum", "maximum", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", CEL_KEY,
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One column of `kubectl get`; those with a priority above 0 only show with `-o wide`."""

    name: str
    path: str
    description: str
    kind: str = "string"
    priority: int = 0

    def as_json(self) -> JsonObject:
        """The column as the API server wants it."""
        made = {"name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.description}
        return made | ({"priority": self.priority} if self.priority else {})


@dataclass(frozen=True)
class Kind:
    """How one model appears in the API."""

    model: type[Model]
    plural: str
    short: str
    columns: tuple[Column, ...]
    selectable: tuple[str, ...] = ()
    scope: str = "Namespaced"

    @property
    def crd_name(self) -> str:
        """Name of the CustomResourceDefinition."""
        return f"{self.plural}.{names.GROUP}"


_AGE = Column("Age", ".metadata.creationTimestamp", "Time since creation", "date")

KINDS = (
    Kind(
        BenchmarkRun,
        "benchmarkruns",
        "brun",
        (
            Column("Task", ".spec.taskRef.name", "Task to do"),
            Column("Candidate", ".spec.candidate.name", "What does it"),
            Column("Phase", ".status.phase", "Where the run is"),
            Column("Outcome", ".status.outcome", "How the run ended"),
            Column("Reason", ".status.reason", "Why it ended so"),
            Column("Cause", ".status.cause", "Whose doing it was", priority=1),
            Column("Node", ".status.agentPod.node", "Node of the agent pod", priority=1),
            Column("Record", ".status.record.uri", "Where the record lies", priority=1),
        ),
        (".spec.taskRef.name", ".spec.candidate.name", ".spec.cohortRef.name", ".status.outcome", ".status.phase"),
    ),
    Kind(
        BenchmarkCohort,
        "benchmarkcohorts",
        "bcohort",
        (
            Column("Stage", ".spec.stage", "What the results may be used for"),
            Column("Sealed", '.status.conditions[?(@.type=="Sealed")].status', "Whether it can't change any more"),
            Column("Phase", ".status.phase", "Where the cohort is"),
            Column("Progress", ".status.progress", "Runs that are done, of all"),
            Column("Passed", ".status.counts.passed", "Runs that passed", "integer"),
            Column("Failed", ".status.counts.failed", "Runs that failed", "integer"),
            Column("Invalid", ".status.counts.invalid", "Runs that can't be judged", "integer"),
            Column("ETA", ".status.eta", "About how long the rest will take"),
            Column("Verdict", ".status.analysis.verdict", "What the decision rule says"),
            Column("Mode", ".spec.mode", "What is compared", priority=1),
            Column("Replaced", ".status.counts.replacements", "Runs that replace invalid ones", "integer", priority=1),
            Column("Preregistration", ".status.preregistrationUri", "Where the preregistration lies", priority=1),
            Column("Package", ".status.analysis.packageUri", "Where the evidence package lies", priority=1),
        ),
        (".spec.stage", ".status.phase"),
    ),
    Kind(
        BenchmarkTask,
        "benchmarktasks",
        "btask",
        (
            Column("Version", ".spec.version", "Version of the task", "integer"),
            Column("Family", ".spec.family", "Kind of work"),
            Column("Language", ".spec.language", "Main programming language"),
            Column("Title", ".spec.title", "What the task is about"),
            Column("Public", ".spec.publicArchive.sha256", "Digest of the public archive", priority=1),
        ),
        (".spec.family", ".spec.language"),
    ),
    Kind(
        ResourceClass,
        "resourceclasses",
        "rclass",
        (
            Column("CPU", ".spec.limits.cpu", "CPU limit"),
            Column("Memory", ".spec.limits.memory", "Memory limit"),
            Column("Disk", ".spec.limits.ephemeralStorage", "Local disk limit"),
            Column("Runtime", ".spec.runtimeClassName", "RuntimeClass of the pods"),
        ),
        scope="Cluster",
    ),
    Kind(
        ModelProvider,
        "modelproviders",
        "mprov",
        (
            Column("Wire", ".spec.wire", "Wire protocol"),
            Column("Model", ".spec.model.id", "Pinned model"),
            Column("URL", ".spec.url", "Base address"),
        ),
    ),
)


def definitions() -> dict[str, JsonObject]:
    """Every CustomResourceDefinition by name."""
    return {kind.crd_name: definition(kind) for kind in KINDS}


def definition(kind: Kind) -> JsonObject:
    """One CustomResourceDefinition."""
    name = kind.model.__name__
    schema = structural_schema(kind.model)
    version: JsonObject = {
        "name": names.VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column.as_json() for column in (*kind.columns, _AGE)],
    }
    if "status" in schema["properties"]:
        version["subresources"] = {"status": {}}
        # Written whole, by the operator alone. Who owns each single field of it was a third of a run's size, kept,
        # checked and sent with every write.
        schema["properties"]["status"]["x-kubernetes-map-type"] = "atomic"
    if kind.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in kind.selectable]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": names.GROUP,
            "scope": kind.scope,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": kind.plural,
                "singular": name.lower(),
                "shortNames": [kind.short],
                "categories": ["fairtrial"],
            },
            "versions": [version],
        },
    }


def structural_schema(model: type[Model]) -> JsonObject:
    """The model's JSON Schema in the form that the API server accepts."""
    raw = model.model_json_schema(by_alias=True)
    made = _structural(raw, raw.get("$defs", {}))
    # The envelope is the API server's own; a schema may not repeat or default it.
    made["properties"]["metadata"] = {"type": "object"}
    for key, meaning in (("apiVersion", "Version of the API"), ("kind", "Kind of the object")):
        made["properties"][key] = {"type": "string", "description": f"{meaning}.", "maxLength": names.NAME_MAX}
    made["properties"].get("status", {}).pop("default", None)
    return made


def _structural(raw: JsonObject, known: JsonObject) -> JsonObject:
    raw = _resolved(raw, known)
    made = {key: raw[key] for key in _KEPT if key in raw and raw[key] is not None}
    if "const" in raw:
        made["enum"] = [raw["const"]]
    if "description" in made:
        made["description"] = " ".join(made["description"].split())
    if raw.get("type") == "integer":
        made["format"] = "int32" if raw.get("maximum", INT32_MAX + 1) <= INT32_MAX else "int64"
    if raw.get("type") == "object":
        made |= _object(raw, known)
    if raw.get("type") == "array":
        made["items"] = _structural(raw["items"], known)
        made.setdefault("x-kubernetes-list-type", "atomic")
    return made


def _object(raw: JsonObject, known: JsonObject) -> JsonObject:
    if "properties" not in raw:
        return {"additionalProperties": _structural(raw["additionalProperties"], known)}
    made: JsonObject = {"properties": {key: _structural(one, known) for key, one in raw["properties"].items()}}
    for key, one in made["properties"].items():
        # An object whose every field has a default appears with its defaults, so that `kubectl get` shows them.
        if one["type"] == "object" and "required" not in one and _has_default(raw, key) and "properties" in one:
            one["default"] = {}
    return made


def _has_default(raw: JsonObject, key: str) -> bool:
    field = raw["properties"][key]
    return key not in raw.get("required", []) and "anyOf" not in field


def _resolved(raw: JsonObject, known: JsonObject) -> JsonObject:
    """Replace a reference, or an alternative to null, by what it stands for; what stands beside it wins."""
    beside = {key: value for key, value in raw.items() if key not in ("$ref", "anyOf")}
    if "anyOf" in raw:
        inner = next(one for one in raw["anyOf"] if one.get("type") != "null")
    elif "$ref" in raw:
        inner = known[raw["$ref"].rsplit("/", 1)[-1]]
    else:
        return raw
    resolved = _resolved(inner, known)
    rules = [*resolved.get(CEL_KEY, []), *beside.get(CEL_KEY, [])]
    return resolved | beside | ({CEL_KEY: rules} if rules else {})
