"""Every name that two parts must agree on: labels, objects, containers, paths in pods, audiences; with length limits.

Standard library only: this module is imported inside untrusted pods.
"""

GROUP = "fairtrial.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

# --- names of runs and of what they own -------------------------------------------------------------------------------
# A pod's hostname and most label values hold 63 characters. The longest child is `<run>-evaluator` (10 more), so a run
# may have 52, with one to spare.
RUN_NAME_MAX = 52
NAME_MAX = 63

AGENT, EVALUATOR, ANALYSIS = "agent", "evaluator", "analysis"


def agent_pod(run: str) -> str:
    """The agent pod's name: deterministic, so that a second create finds the first."""
    return f"{run}-{AGENT}"


def evaluator_pod(run: str) -> str:
    """The evaluator pod's name: deterministic, so that a second create finds the first."""
    return f"{run}-{EVALUATOR}"


# --- labels, finalizers, objects in a run namespace -------------------------------------------------------------------
NAMESPACE_LABEL = f"{GROUP}/enabled"  # a namespace opts in with the value "true"
MANAGED_BY_LABEL, MANAGED_BY = "app.kubernetes.io/managed-by", "fairtrial-operator"
ROLE_LABEL = f"{GROUP}/role"  # AGENT, EVALUATOR or ANALYSIS, on pods
RUN_LABEL = f"{GROUP}/run"
RELEASED_LABEL = f"{GROUP}/released"  # "true" on agent pods whose end is written down: nothing waits for them
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"  # on pods that Kueue admits
COHORT_LABEL = f"{GROUP}/cohort"  # on runs, with the name of the cohort that scheduled them; on a Job that analyses it
COHORT_NAMESPACE_LABEL = f"{GROUP}/cohort-namespace"  # on such a Job, which is in the operator's own namespace
ANALYSE_ANNOTATION = f"{GROUP}/analyse"  # on a cohort: a new value asks for its analysis again
GATEWAY_LABEL = f"{GROUP}/gateway"  # "true" on the gateway's pods: what the network policies allow
RUN_FINALIZER = f"{GROUP}/record"  # on a run until its record is stored
POD_FINALIZER = f"{GROUP}/result"  # on an agent pod until what it ended with is in the run's status
SERVICE_ACCOUNT = "fairtrial-run"  # has no rights and mounts no API token
POLICY_DENY_ALL = "fairtrial-deny-all"
POLICY_ALLOW_GATEWAY = "fairtrial-allow-gateway"
FIELD_MANAGER = "fairtrial-operator"

# --- identity: one audience per capability ----------------------------------------------------------------------------
AUDIENCE_RECORD = "fairtrial/record"
AUDIENCE_EVALUATE = "fairtrial/evaluate"
AUDIENCE_PROVIDER = "fairtrial/provider"
# Not below CHANNEL_DIR: /var/run is a link to /run in most images, and one mount would hide the other.
TOKEN_FILE = "/var/run/secrets/fairtrial/token"  # noqa: S105 — a path; each container mounts its own audience here

# --- containers and paths inside a pod --------------------------------------------------------------------------------
CONTAINER_FETCH, CONTAINER_RECORD = "fetch", "record"
CONTAINER_AGENT, CONTAINER_CHECKS = "agent", "checks"
USER_ID = 10001  # agent, recorder and evaluator; another container's processes are out of reach all the same

SHARED_DIR = "/fairtrial"  # written before anything untrusted runs, read-only for that
RUNTIME_DIR = f"{SHARED_DIR}/runtime"
RUNTIME_IN_IMAGE = "/opt/fairtrial/runtime"  # of runner and evaluator, from where it is copied
PLAN_FILE = f"{SHARED_DIR}/plan.json"
CANDIDATE_DIR = f"{SHARED_DIR}/candidate"
WORKSPACE_DIR = "/workspace"  # TASK.md and project/
PROJECT_DIR = f"{WORKSPACE_DIR}/project"
TASK_FILE = f"{WORKSPACE_DIR}/TASK.md"
HOME_DIR = "/home/agent"
CHANNEL_DIR = "/run/fairtrial"
CHANNEL_SOCKET = f"{CHANNEL_DIR}/record.sock"
SPOOL_DIR = "/spool"  # the recorder's own
SEALED_DIR = "/sealed"  # evaluator pods only
BASE_DIR = "/base"  # evaluator pods only: the untouched fixture, for protected paths and the negative control

MODEL_PATH = "/model"  # of the gateway; what follows is the provider's own path
TOOL_PATH = "/tool"  # what follows is a tool server's name and its own path
# A candidate writes these where its program wants them. The token is filled in by launch, so that no record holds it.
MODEL_URL, MODEL_NAME, MODEL_TOKEN, TOOL_URL = "{modelUrl}", "{model}", "{modelToken}", "{toolUrl}"

ENV_GATEWAY = "FAIRTRIAL_GATEWAY_URL"
ENV_PLAN = "FAIRTRIAL_PLAN"


def runtime_command(module: str) -> list[str]:
    """The argv that runs `module` with the self-contained runtime in any Linux image, whatever libc it has or lacks.

    -I: nothing that the image sets (PYTHONPATH, PYTHONHOME …) reaches the interpreter; it finds its library beside it.
    """
    library = f"{RUNTIME_DIR}/lib"
    return [f"{library}/ld-linux-x86-64.so.2", "--library-path", library, f"{RUNTIME_DIR}/bin/python3", "-IBm", module]


# The loader obeys these whatever it is told, and an image's libraries do not fit the runtime: they are emptied for the
# container, and launch does not pass them on. Everything else of the image's environment reaches the candidate.
RUNTIME_ENV = {"LD_PRELOAD": "", "LD_AUDIT": ""}

# --- the sealed part's canary -----------------------------------------------------------------------------------------
# Every sealed part holds one. The pattern is public, the value is not: whatever matches in an agent's pod is a leak.
CANARY_PATTERN = r"fairtrial-canary-[0-9a-f]{32}"
