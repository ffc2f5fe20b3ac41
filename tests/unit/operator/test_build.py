"""What every pod and policy must and must not hold, whatever the run and the class ask for."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fairtrial_operator import build, policies
from fairtrial_operator.build import PodSettings
from fairtrial_runner import diff, normalizing, recorder

from fairtrial import names, plans
from fairtrial.api.base import digest, quantity_value
from fairtrial.api.provider import PinnedModel
from fairtrial.archive.walk import NAMES_BYTES
from fairtrial.documents import AgentPlan, EvaluationPlan, Probe, load
from fairtrial.testing import (
    CANDIDATE_IMAGE,
    EVALUATOR_IMAGE,
    PUBLIC_SHA256,
    SEALED_SHA256,
    SNAPSHOT_SHA256,
    agent_report,
    make_finished_run,
    make_resource_class,
    make_run,
    make_task,
)

OURS = f"registry.example/ours@sha256:{'9' * 64}"
PROBES = (Probe("api-server", "tcp", "10.0.0.1", 443),)
SETTINGS = PodSettings(OURS, OURS, "http://10.0.0.5:8080", probes=PROBES)
CLASS = make_resource_class(
    runtimeClassName="gvisor",
    nodeSelector={"pool": "trials"},
    tolerations=[{"key": "trials", "operator": "Exists"}],
    priorityClassName="low",
    imagePullSecrets=[{"name": "registry"}],
    hostUsers=False,
)


def agent(**spec: Any) -> dict[str, Any]:
    return build.agent_pod(make_run(**spec), make_task(), CLASS, SETTINGS)


def evaluator() -> dict[str, Any]:
    return build.evaluator_pod(make_finished_run(), agent_report(), make_task(), CLASS, SETTINGS)


PODS = pytest.mark.parametrize("pod", [agent(), evaluator(), agent(network={"modelProviderRef": {"name": "p"}})])


def containers(pod: Any) -> list[Any]:
    return [*pod["spec"]["initContainers"], *pod["spec"]["containers"]]


def by_name(pod: Any, name: str) -> Any:
    return next(one for one in containers(pod) if one["name"] == name)


def mounts(pod: Any, container: str) -> dict[str, bool]:
    """Path → whether it may be written to."""
    return {one["mountPath"]: not one.get("readOnly", False) for one in by_name(pod, container)["volumeMounts"]}


def audiences(pod: Any, container: str) -> list[str]:
    mounted = {one["name"] for one in by_name(pod, container)["volumeMounts"]}
    found = [v for v in pod["spec"]["volumes"] if v["name"] in mounted and "projected" in v]
    return [source["serviceAccountToken"]["audience"] for v in found for source in v["projected"]["sources"]]


# --- Pod Security restricted, and what we ask beyond it ---------------------------------------------------------------
@PODS
def test_every_container_is_restricted(pod: Any) -> None:
    for one in containers(pod):
        security = one["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["privileged"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == security["runAsGroup"] == names.USER_ID
        assert security["readOnlyRootFilesystem"] is True
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "ports" not in one
        assert one["terminationMessagePolicy"] == "File"


@PODS
def test_a_pod_touches_nothing_of_its_host_and_nothing_of_the_cluster(pod: Any) -> None:
    spec = pod["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert {kind for volume in spec["volumes"] for kind in volume if kind != "name"} <= {"emptyDir", "projected"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["serviceAccountName"] == names.SERVICE_ACCOUNT
    assert (spec["dnsPolicy"], spec["dnsConfig"]) == ("None", {"nameservers": ["127.0.0.1"]})
    assert spec["restartPolicy"] == "Never"


@PODS
def test_every_container_and_every_scratch_volume_has_its_limits(pod: Any) -> None:
    for one in containers(pod):
        assert set(one["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}
        assert set(one["resources"]["requests"]) == {"cpu", "memory", "ephemeral-storage"}
    for volume in pod["spec"]["volumes"]:
        assert "projected" in volume or volume["emptyDir"]["sizeLimit"]


@PODS
def test_a_pod_is_the_runs_own_and_says_what_it_is(pod: Any) -> None:
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("BenchmarkRun", True)
    assert pod["metadata"]["labels"][names.MANAGED_BY_LABEL] == names.MANAGED_BY
    assert pod["metadata"]["labels"][names.RUN_LABEL] == "run-1"


@PODS
def test_the_class_decides_placement(pod: Any) -> None:
    spec = pod["spec"]
    assert spec["runtimeClassName"] == "gvisor"
    assert spec["nodeSelector"] == {"pool": "trials"}
    assert spec["tolerations"] == [{"key": "trials", "operator": "Exists"}]
    assert spec["priorityClassName"] == "low"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["hostUsers"] is False


@pytest.mark.parametrize(
    ("of_run", "of_class", "queue"), [(None, None, None), ("mine", None, "mine"), (None, "all", "all"), ("a", "b", "a")]
)
def test_both_pods_wait_for_the_queue_of_the_run_or_else_of_its_class(of_run: Any, of_class: Any, queue: Any) -> None:
    run, resource_class = make_run(queue=of_run), make_resource_class(queue=of_class)
    finished = make_finished_run(queue=of_run)
    agent_pod = build.agent_pod(run, make_task(), resource_class, SETTINGS)
    evaluator_pod = build.evaluator_pod(finished, agent_report(), make_task(), resource_class, SETTINGS)

    for pod in (agent_pod, evaluator_pod):
        assert pod["metadata"]["labels"].get("kueue.x-k8s.io/queue-name") == queue


def test_a_plain_class_adds_no_field() -> None:
    pod = build.agent_pod(make_run(), make_task(), make_resource_class(), SETTINGS)

    assert not {"runtimeClassName", "nodeSelector", "tolerations", "hostUsers"} & set(pod["spec"])


# --- who may do what --------------------------------------------------------------------------------------------------
def test_the_agent_holds_no_token_and_no_address_without_a_provider() -> None:
    pod = agent()

    assert audiences(pod, "agent") == []
    assert {one["name"] for one in by_name(pod, "agent")["env"]} == set(names.RUNTIME_ENV)


def with_model(**candidate: Any) -> Any:
    run = make_run(network={"modelProviderRef": {"name": "p"}}, candidate=candidate)
    task = make_task(steps=[{"name": "one", "prompt": "Do it.", "wallSeconds": 7200}])
    return build.agent_pod(run, task, CLASS, SETTINGS, PinnedModel(id="model-1"))


def test_with_a_provider_the_agent_gets_that_capability_alone() -> None:
    assert audiences(with_model(), "agent") == [names.AUDIENCE_PROVIDER]


@pytest.mark.parametrize("workspace", ["64Mi", "2Gi", "10Gi"])
def test_no_workspace_overflows_what_is_the_recorders_own(workspace: str) -> None:
    """Else an agent that fails could have its run made invalid, by files that are larger than the disk they take."""
    candidate = {"collect": ["*"], "adapter": {"name": "pi"}}
    pod = build.agent_pod(
        make_run(candidate=candidate), make_task(), make_resource_class(workspaceSize=workspace), SETTINGS
    )
    plan = load(AgentPlan, {one["name"]: one for one in by_name(pod, "record")["env"]}[names.ENV_PLAN]["value"])

    (spool,) = [one for one in pod["spec"]["volumes"] if one["name"] == "spool"]
    patch, events, collected = diff._LINES_MAX + 8 * 2**20, normalizing._EVENTS_BYTES, 2 * recorder._COLLECTED_BYTES
    most = plan.snapshot_max_bytes + patch + events + collected + 3 * 3 * plan.stream_keep_bytes // 2
    assert int(quantity_value(spool["emptyDir"]["sizeLimit"])) >= most
    assert plan.snapshot_max_bytes <= min(quantity_value(workspace), 2**30)
    assert int(by_name(pod, "record")["resources"]["limits"]["ephemeral-storage"]) > most
    comparing = 5 * NAMES_BYTES  # measured: three times, and the interpreter
    memory = quantity_value(by_name(pod, "record")["resources"]["limits"]["memory"])
    assert memory >= normalizing._MEMORY_BYTES + comparing


def test_the_key_for_model_calls_outlasts_the_agent_and_is_in_no_plan() -> None:
    pod = with_model(env=[{"name": "KEY", "value": "{modelToken}"}, {"name": "URL", "value": "{modelUrl}/v1"}])

    (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == "token-provider"]
    lasts = volume["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"]
    # It is made when the node gets the pod, before any image is pulled, and read when the agent starts.
    assert lasts >= 2 * CLASS.spec.deadlines.pulling_seconds + CLASS.spec.deadlines.setup_seconds + 7200
    env = {one["name"]: one.get("value") for one in pod["spec"]["initContainers"][0]["env"]}
    assert json.loads(env[names.ENV_PLAN])["env"] == {"KEY": "{modelToken}", "URL": "http://10.0.0.5:8080/model/v1"}


def test_every_event_is_told_its_trial_its_candidate_and_its_model() -> None:
    pod = with_model(name="pi", version="1.6.0", adapter={"name": "pi"})

    env = {one["name"]: one.get("value") for one in pod["spec"]["initContainers"][0]["env"]}
    adapter = json.loads(env[names.ENV_PLAN])["adapter"]
    assert adapter["trial"]["trialId"] == "trials/task-1/pi/1"
    assert adapter["trial"]["candidate"]["config_hash"].startswith("sha256:")
    assert adapter["trial"]["model"] == {"provider": "p", "id": "model-1", "parameters_hash": f"sha256:{digest({})}"}


def test_a_task_with_tool_servers_gives_its_agent_a_key_and_their_address() -> None:
    task = make_task(toolServers=["search"])
    run = make_run(candidate={"env": [{"name": "MCP", "value": "{toolUrl}/search"}]})

    pod = build.agent_pod(run, task, CLASS, SETTINGS)

    assert audiences(pod, "agent") == [names.AUDIENCE_PROVIDER]
    env = {one["name"]: one.get("value") for one in pod["spec"]["initContainers"][0]["env"]}
    assert json.loads(env[names.ENV_PLAN])["env"] == {"MCP": "http://10.0.0.5:8080/tool/search"}


def test_the_recorder_sees_the_home_folder_read_only_and_only_to_collect_from_it() -> None:
    def home(pod: Any) -> list[Any]:
        record = next(one for one in pod["spec"]["initContainers"] if one["name"] == "record")
        return [mount for mount in record["volumeMounts"] if mount["name"] == "home"]

    assert home(agent()) == []
    assert home(agent(candidate={"collect": ["*.jsonl"]})) == [
        {"name": "home", "mountPath": names.HOME_DIR, "readOnly": True}
    ]


def test_each_helper_holds_its_own_capability_alone() -> None:
    assert audiences(agent(), "record") == [names.AUDIENCE_RECORD]
    assert audiences(evaluator(), "fetch") == [names.AUDIENCE_EVALUATE]
    assert audiences(evaluator(), "record") == [names.AUDIENCE_RECORD]
    assert audiences(evaluator(), "checks") == []


@PODS
def test_a_token_never_hides_the_channel(pod: Any) -> None:
    """/var/run is a link to /run in most images: two mounts must not meet behind it."""
    for one in containers(pod):
        paths = [mount["mountPath"].replace("/var/run", "/run") for mount in one["volumeMounts"]]
        assert len(paths) == len(set(paths))


def test_nothing_sealed_is_in_an_agent_pod() -> None:
    text = json.dumps(agent())

    assert SEALED_SHA256 not in text
    assert EVALUATOR_IMAGE not in text
    assert "/sealed" not in text


def test_what_everybody_relies_on_is_written_before_anything_untrusted_runs_and_not_by_it() -> None:
    assert mounts(agent(), "record")[names.SHARED_DIR]
    assert mounts(evaluator(), "fetch")[names.SHARED_DIR]
    assert not mounts(evaluator(), "record")[names.SHARED_DIR]
    for pod, main in ((agent(), "agent"), (evaluator(), "checks")):
        assert not mounts(pod, main)[names.SHARED_DIR]


def test_the_checks_see_nothing_sealed_and_the_recorder_keeps_its_own() -> None:
    pod = evaluator()

    assert names.SEALED_DIR not in mounts(pod, "checks")
    assert not mounts(pod, "record")[names.SEALED_DIR]
    assert not mounts(pod, "checks")[names.BASE_DIR]
    assert names.SPOOL_DIR not in mounts(pod, "checks")
    assert names.SPOOL_DIR not in mounts(agent(), "agent")


def test_the_recorder_is_a_sidecar_that_starts_first_and_ends_last() -> None:
    (record,) = agent()["spec"]["initContainers"]
    fetch, judge = evaluator()["spec"]["initContainers"]

    assert (record["name"], record["restartPolicy"]) == ("record", "Always")
    assert (judge["name"], judge["restartPolicy"]) == ("record", "Always")
    assert (fetch["name"], "restartPolicy" in fetch) == ("fetch", False)


def copies_the_runtime(into: Path) -> None:
    """Run the recorder's hook, with the pod's folders below `into`."""
    (record,) = agent()["spec"]["initContainers"]
    sh, option, script = record["lifecycle"]["postStart"]["exec"]["command"]
    script = script.replace("/opt/fairtrial", f"{into}/opt").replace(names.SHARED_DIR, f"{into}/shared")
    subprocess.run([sh, option, script], check=True)


def test_the_runtime_is_there_before_the_agents_container_is_started(tmp_path: Path) -> None:
    (tmp_path / "opt/runtime/bin").mkdir(parents=True)
    (tmp_path / "opt/runtime/bin/python3").write_text("first")
    half = tmp_path / "shared/runtime.part/bin"  # of a recorder that was killed while it copied
    half.mkdir(parents=True)
    (half / "stale").touch()

    copies_the_runtime(tmp_path)
    copied = tmp_path / "shared/runtime/bin"
    assert [one.name for one in copied.iterdir()] == ["python3"]

    (tmp_path / "opt/runtime/bin/python3").write_text("second")
    copies_the_runtime(tmp_path)
    assert (copied / "python3").read_text() == "first", "it is in use when a recorder is started again"


def test_images_are_the_ones_that_were_pinned() -> None:
    assert by_name(agent(), "agent")["image"] == CANDIDATE_IMAGE
    assert by_name(evaluator(), "checks")["image"] == EVALUATOR_IMAGE


def test_only_the_agent_pod_waits_for_our_finalizer() -> None:
    assert agent()["metadata"]["finalizers"] == [names.POD_FINALIZER]
    assert "finalizers" not in evaluator()["metadata"]


def test_the_kubelet_has_time_for_every_phase() -> None:
    pod, deadlines = agent(), CLASS.spec.deadlines
    steps = sum(step.wall_seconds for step in make_task().spec.steps)

    assert pod["spec"]["activeDeadlineSeconds"] > steps + deadlines.pulling_seconds + deadlines.upload_seconds
    assert pod["spec"]["terminationGracePeriodSeconds"] >= deadlines.snapshot_seconds + deadlines.upload_seconds


# --- plans ------------------------------------------------------------------------------------------------------------
def test_a_pod_is_told_its_plan_its_gateway_and_itself() -> None:
    env = {one["name"]: one for one in by_name(agent(), "record")["env"]}

    plan = load(AgentPlan, env[names.ENV_PLAN]["value"])
    assert plan.bundle_sha256 == PUBLIC_SHA256
    assert plan.probes == list(PROBES)
    assert env[names.ENV_GATEWAY]["value"] == "http://10.0.0.5:8080"
    assert env["FAIRTRIAL_POD_UID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.uid"


def test_an_evaluator_is_told_the_digests_of_the_acceptance() -> None:
    env = {one["name"]: one for one in by_name(evaluator(), "fetch")["env"]}

    plan = load(EvaluationPlan, env[names.ENV_PLAN]["value"])
    assert (plan.sealed_sha256, plan.snapshot_sha256) == (SEALED_SHA256, SNAPSHOT_SHA256)


@pytest.mark.parametrize(("setup", "fetch"), [(300, 240), (1, 1), (604800, 483840)])
def test_what_a_class_allows_bounds_fetch_and_upload(setup: int, fetch: int) -> None:
    resource_class = make_resource_class(deadlines={"setupSeconds": setup, "uploadSeconds": 33})

    for plan in (
        plans.agent_plan(make_run(), make_task(), resource_class, []),
        plans.evaluation_plan(make_finished_run(), agent_report(), make_task(), resource_class),
    ):
        assert (plan.fetch_seconds, plan.upload_seconds) == (fetch, 33)


def test_placeholders_are_filled_once_so_that_a_prompt_may_speak_of_them() -> None:
    task = make_task(steps=[{"name": "one", "prompt": "Say {step} and {prompt}.", "wallSeconds": 60}])
    run = make_run(candidate={"argv": ["/bin/agent", "{step}:{prompt}", "{taskFile}", "{other}"], "stdin": "prompt"})

    (step,) = plans.steps(run, task, {})

    assert step.argv == ["/bin/agent", "one:Say {step} and {prompt}.", names.TASK_FILE, "{other}"]
    assert step.stdin == "Say {step} and {prompt}."


def test_a_cap_of_each_step_holds_before_that_of_all() -> None:
    steps = [{"name": name, "prompt": "x", "wallSeconds": 60} for name in ("one", "two")]
    task = make_task(steps=[steps[0] | {"wallSeconds": 10}, steps[1]])
    run = make_run(limits={"wallSeconds": 36, "perStep": {"wallSeconds": 30}})

    assert [step.wall_seconds for step in plans.steps(run, task, {})] == [9, 27]


def test_the_gateway_is_told_of_steps_where_there_is_one() -> None:
    def told(access: plans.GatewayAccess | None) -> bool:
        return plans.agent_plan(make_run(), make_task(), make_resource_class(), [], access).tell_steps

    assert told(plans.GatewayAccess("http://gateway:8080", "model"))
    assert not told(plans.GatewayAccess("http://provider", "model", path=""))  # a local try
    assert not told(None)


def test_a_cap_scales_all_steps_alike() -> None:
    assert plans.capped([60, 120], None) == [60, 120]
    assert plans.capped([60, 120], 180) == [60, 120]
    assert plans.capped([60, 120], 90) == [30, 60]
    assert plans.capped([1, 1000], 10) == [1, 9]


# --- policies ---------------------------------------------------------------------------------------------------------
def test_everything_is_denied_both_ways_to_every_pod() -> None:
    spec = policies.deny_all("trials")["spec"]

    assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_the_only_way_out_is_the_gateways_port() -> None:
    spec = policies.allow_gateway("trials", "fairtrial")["spec"]

    assert spec["policyTypes"] == ["Egress"]
    (rule,) = spec["egress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8080}]
    (peer,) = rule["to"]
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "fairtrial"}
    assert peer["podSelector"]["matchLabels"] == {names.GATEWAY_LABEL: "true"}


@PODS
def test_the_policy_selects_the_pods_that_are_really_made(pod: Any) -> None:
    (rule,) = policies.allow_gateway("trials", "fairtrial")["spec"]["podSelector"]["matchExpressions"]

    assert pod["metadata"]["labels"][rule["key"]] in rule["values"]


def test_the_account_has_no_token() -> None:
    assert policies.service_account("trials")["automountServiceAccountToken"] is False
