"""What `helm template` prints, read as data: rights, security, digests, and what the values' schema refuses."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from fairtrial_analysis.__main__ import EXIT_REFUSED
from fairtrial_gateway.models.settings import ModelSettings
from fairtrial_gateway.models.tools import servers_of
from fairtrial_gateway.settings import Settings
from fairtrial_operator import settings as operator_settings

from local_cluster import binaries

CHART = Path(__file__).parents[3] / "charts" / "fairtrial"
DIGEST = "sha256:" + "a" * 64
VALUES: dict[str, Any] = {
    "images": {
        name: f"registry.example.org/{name}@{DIGEST}"
        for name in ("operator", "gateway", "runner", "evaluator", "analysis")
    },
    "store": {"endpoint": "https://s3.example.org", "bucket": "evidence", "existingSecret": "store"},
}
Object = dict[str, Any]


@pytest.fixture(scope="session")
def helm() -> str:
    return str(binaries.build_all()["helm"])


@pytest.fixture(scope="session")
def template(helm: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    def render(values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        command = [helm, "template", "fairtrial", str(CHART), "--namespace", "system", "--values", "-"]
        return subprocess.run(command, input=json.dumps(values), text=True, capture_output=True, check=False)

    return render


@pytest.fixture(scope="session")
def objects(template: Callable[..., subprocess.CompletedProcess[str]]) -> list[Object]:
    done = template(VALUES)
    assert done.returncode == 0, done.stderr
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [found for found in objects if found["kind"] == kind]


def pod_specs(objects: list[Object]) -> dict[str, Object]:
    parts = [*of_kind(objects, "Deployment"), analysis_job(objects)]
    return {part["metadata"].get("name", "analysis"): part["spec"]["template"]["spec"] for part in parts}


def analysis_job(objects: list[Object]) -> Object:
    """The Job that the operator is given."""
    (found,) = [o for o in of_kind(objects, "ConfigMap") if o["metadata"]["name"] == "fairtrial-analysis"]
    job: Object = json.loads(found["data"]["job.json"])
    return job


def rules(objects: list[Object], name: str) -> list[Object]:
    return [
        rule
        for kind in ("ClusterRole", "Role")
        for role in of_kind(objects, kind)
        if role["metadata"]["name"] == name
        for rule in role["rules"]
    ]


def test_every_pod_meets_pod_security_restricted(objects: list[Object]) -> None:
    for name, spec in pod_specs(objects).items():
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False, name
            assert security["readOnlyRootFilesystem"] is True, name
            assert security["capabilities"] == {"drop": ["ALL"]}, name
            assert "limits" in container["resources"], name


def test_every_image_is_a_digest(objects: list[Object]) -> None:
    images = [c["image"] for name, spec in pod_specs(objects).items() if name != "analysis" for c in spec["containers"]]
    assert images and all(image.endswith(DIGEST) for image in images)


def test_operator_and_gateway_say_whether_they_live_and_are_ready(objects: list[Object]) -> None:
    for name in ("fairtrial-operator", "fairtrial-gateway"):
        (container,) = pod_specs(objects)[name]["containers"]
        assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_nobody_is_cluster_admin_and_no_rule_has_a_wildcard(objects: list[Object]) -> None:
    bindings = of_kind(objects, "ClusterRoleBinding") + of_kind(objects, "RoleBinding")
    assert {binding["roleRef"]["name"] for binding in bindings} == {"fairtrial-operator", "fairtrial-gateway"}
    for kind in ("ClusterRole", "Role"):
        for role in of_kind(objects, kind):
            for rule in role["rules"]:
                assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], role["metadata"]["name"]


def test_the_operator_reads_no_secret_and_enters_no_pod(objects: list[Object]) -> None:
    resources = {resource for rule in rules(objects, "fairtrial-operator") for resource in rule["resources"]}
    assert not resources & {"secrets", "configmaps", "pods/exec", "pods/attach", "pods/log", "pods/ephemeralcontainers"}


def test_the_operator_makes_and_removes_runs_of_cohorts_and_nothing_else_that_people_submit(
    objects: list[Object],
) -> None:
    submitted = {"benchmarkruns", "benchmarkcohorts", "benchmarktasks", "modelproviders", "resourceclasses"}
    for rule in rules(objects, "fairtrial-operator"):
        more = {"create", "patch", "delete"} if rule["resources"] == ["benchmarkruns"] else set()
        if submitted & set(rule["resources"]):
            assert set(rule["verbs"]) <= {"get", "list", "watch"} | more


def test_the_gateway_reads_runs_and_providers_and_no_secret_unless_told(objects: list[Object]) -> None:
    found = {(r, v) for rule in rules(objects, "fairtrial-gateway") for r in rule["resources"] for v in rule["verbs"]}
    assert found == {
        ("tokenreviews", "create"),
        ("benchmarkruns", "get"),
        ("modelproviders", "get"),
        ("endpointslices", "list"),
    }
    resources = {
        r
        for kind in ("ClusterRole", "Role")
        for o in of_kind(objects, kind)
        for x in o["rules"]
        for r in x["resources"]
    }
    assert "secrets" not in resources


def test_the_gateway_reads_the_named_secrets_of_each_namespace_and_no_other(
    template: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    named = [("a", "one"), ("b", "two"), ("a", "three"), ("a", "one")]
    named_too = [{"namespace": "b", "name": "canaries"}]
    values = changed("gateway.providerSecrets", [{"namespace": ns, "name": name} for ns, name in named])
    values["gateway"]["canarySecrets"] = named_too
    made = [found for found in yaml.safe_load_all(template(values).stdout) if found]
    roles = {o["metadata"]["namespace"]: o["rules"] for o in of_kind(made, "Role") if "namespace" in o["metadata"]}
    bindings = [o for o in of_kind(made, "RoleBinding") if "namespace" in o["metadata"]]

    right = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    assert roles == {
        "a": [right | {"resourceNames": ["one", "three"]}],
        "b": [right | {"resourceNames": ["two", "canaries"]}],
    }
    assert {o["metadata"]["namespace"] for o in bindings} == {"a", "b"}
    subject = {"kind": "ServiceAccount", "name": "fairtrial-gateway", "namespace": "system"}
    assert all(o["subjects"] == [subject] for o in bindings)


def test_the_gateway_takes_every_setting_that_the_chart_gives_it(objects: list[Object]) -> None:
    (container,) = pod_specs(objects)["fairtrial-gateway"]["containers"]
    env = {one["name"]: one.get("value", "") for one in container["env"]}
    given = {name.removeprefix("FAIRTRIAL_GATEWAY_").lower() for name in env if name.startswith("FAIRTRIAL_GATEWAY_")}
    known = {field.name for kind in (ModelSettings, Settings) for field in fields(kind)}
    assert given <= known
    settings = ModelSettings.from_env(env)
    assert (settings.service, settings.namespace, settings.replicas) == ("fairtrial-gateway", "system", 2)
    assert settings == replace(ModelSettings(), service="fairtrial-gateway", namespace="system", replicas=2)


def test_tool_servers_reach_the_gateway_as_they_are(template: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    servers = {"search": "https://mcp.example.org/search", "docs": "http://docs.tools.svc:8080"}
    made = [o for o in yaml.safe_load_all(template(changed("gateway.toolServers", servers)).stdout) if o]
    (container,) = pod_specs(made)["fairtrial-gateway"]["containers"]
    env = {one["name"]: one.get("value", "") for one in container["env"]}
    found = servers_of(ModelSettings.from_env(env).tool_servers)
    assert {name: server.url for name, server in found.items()} == servers


def test_the_spool_is_larger_than_what_is_written_and_a_run_meets_one_replica(objects: list[Object]) -> None:
    (spool,) = [v for v in pod_specs(objects)["fairtrial-gateway"]["volumes"] if v["name"] == "spool"]
    assert int(spool["emptyDir"]["sizeLimit"]) > ModelSettings().spool_bytes
    (service,) = [o for o in of_kind(objects, "Service") if o["metadata"]["name"] == "fairtrial-gateway"]
    assert service["spec"]["sessionAffinity"] == "ClientIP"


def test_where_the_gateway_may_go_is_narrowed_where_asked(
    template: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    rule = {"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
    made = [o for o in yaml.safe_load_all(template(changed("networkPolicy.gatewayEgress", [rule])).stdout) if o]
    (policy,) = [p for p in of_kind(made, "NetworkPolicy") if p["metadata"]["name"] == "fairtrial-gateway"]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"]["egress"] == [rule]


def test_every_right_has_its_reason_beside_it() -> None:
    lines = (CHART / "templates" / "rbac.yaml").read_text().splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("  - apiGroups")]
    assert len(starts) > 15
    assert [lines[index + 1] for index in starts if not lines[index - 1].startswith("  # ")] == []


def test_nobody_has_a_right_to_leases_that_taking_one_does_not_need(objects: list[Object]) -> None:
    """It is created, read and patched, and never replaced."""
    leases = [rule for role in of_kind(objects, "Role") for rule in role["rules"] if "leases" in rule["resources"]]

    assert [(rule["verbs"], rule.get("resourceNames")) for rule in leases] == [
        (["create"], None),
        (["get", "patch"], ["fairtrial-operator"]),
    ]


def test_a_disruption_budget_covers_each_part_and_blocks_no_drain(objects: list[Object]) -> None:
    budgets = {b["metadata"]["name"]: b["spec"] for b in of_kind(objects, "PodDisruptionBudget")}
    assert budgets["fairtrial-operator"]["maxUnavailable"] == 1
    assert budgets["fairtrial-gateway"]["minAvailable"] == 1


def test_only_agents_and_evaluators_of_opted_in_namespaces_reach_the_gateway(objects: list[Object]) -> None:
    (policy,) = [p for p in of_kind(objects, "NetworkPolicy") if p["metadata"]["name"] == "fairtrial-gateway"]
    first = policy["spec"]["ingress"][0]["from"][0]
    assert first["namespaceSelector"]["matchLabels"] == {"fairtrial.dev/enabled": "true"}
    assert first["podSelector"]["matchExpressions"][0]["values"] == ["agent", "evaluator"]


def test_the_crds_are_the_generated_ones_and_outlive_an_uninstall(objects: list[Object]) -> None:
    crds = {crd["metadata"]["name"]: crd for crd in of_kind(objects, "CustomResourceDefinition")}
    source = {
        crd["metadata"]["name"]: crd
        for crd in (yaml.safe_load(path.read_text()) for path in (CHART.parents[1] / "crds").glob("*.yaml"))
    }
    assert len(source) == 5 and crds.keys() == source.keys()
    for name, crd in crds.items():
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert crd["spec"] == source[name]["spec"]


def test_store_credentials_come_from_a_secret_and_reach_three_parts_only(objects: list[Object]) -> None:
    holders = {
        name
        for name, spec in pod_specs(objects).items()
        for container in spec["containers"]
        for variable in container.get("env", [])
        if variable["name"] == "AWS_SECRET_ACCESS_KEY"
    }
    assert holders == {"fairtrial-operator", "fairtrial-gateway", "analysis"}


# --- the analysis -----------------------------------------------------------------------------------------------------
def test_the_analysis_has_an_account_of_its_own_without_a_token_or_a_right(objects: list[Object]) -> None:
    spec = pod_specs(objects)["analysis"]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("fairtrial-analysis", False)
    (account,) = [o for o in of_kind(objects, "ServiceAccount") if o["metadata"]["name"] == "fairtrial-analysis"]
    assert account["automountServiceAccountToken"] is False
    bindings = of_kind(objects, "ClusterRoleBinding") + of_kind(objects, "RoleBinding")
    assert "fairtrial-analysis" not in {subject["name"] for binding in bindings for subject in binding["subjects"]}


def test_the_operator_makes_and_removes_jobs_in_its_own_namespace_only(objects: list[Object]) -> None:
    for kind in ("ClusterRole", "Role"):
        found = [(o, r) for o in of_kind(objects, kind) for r in o["rules"] if "jobs" in r["resources"]]
        assert [(o["metadata"]["name"], r["verbs"]) for o, r in found] == (
            [("fairtrial-operator", ["get", "create", "delete"])] if kind == "Role" else []
        )


def test_the_operator_is_given_the_job_and_the_images_that_may_analyse(
    template: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    older = f"registry.example.org/older@{DIGEST}"
    made = [o for o in yaml.safe_load_all(template(changed("analysis.images", [older])).stdout) if o]
    spec = pod_specs(made)["fairtrial-operator"]
    env = {one["name"]: one.get("value", "") for one in spec["containers"][0]["env"]}
    assert env["FAIRTRIAL_ANALYSIS_JOB"] == "/etc/fairtrial/analysis/job.json"
    assert {"name": "analysis", "configMap": {"name": "fairtrial-analysis"}} in spec["volumes"]
    (tmp_path / "job.json").write_text(json.dumps(analysis_job(made)))
    needed = {"FAIRTRIAL_NAMESPACE": "system", "FAIRTRIAL_ANALYSIS_JOB": str(tmp_path / "job.json")}

    settings = operator_settings.load(env | needed).analysis

    assert settings is not None
    assert settings.images == {older, VALUES["images"]["analysis"]}
    assert settings.versions == {VALUES["images"]["analysis"]: version("fairtrial-analysis")}
    assert settings.job["metadata"]["namespace"] == "system"


def test_an_analysis_that_was_refused_is_not_repeated_and_one_that_was_disturbed_is(objects: list[Object]) -> None:
    spec = analysis_job(objects)["spec"]
    rules = {rule["action"]: rule for rule in spec["podFailurePolicy"]["rules"]}
    assert rules["FailJob"]["onExitCodes"]["values"] == [EXIT_REFUSED]
    assert rules["Ignore"]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (4, 7200)


def test_an_analysis_has_the_resources_place_and_retries_that_its_values_name(
    template: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}}
    place: Object = {
        "nodeSelector": {"pool": "analysis"},
        "tolerations": [{"key": "pool", "operator": "Exists"}],
        "priorityClassName": "low",
    }
    ends = {"retries": 1, "deadlineSeconds": 60, "ttlSecondsAfterFinished": 600}
    done = template(VALUES | {"analysis": place | ends | {"resources": resources}})
    assert done.returncode == 0, done.stderr

    spec = analysis_job([found for found in yaml.safe_load_all(done.stdout) if found])["spec"]

    pod = spec["template"]["spec"]
    assert pod["containers"][0]["resources"] == resources
    assert {key: pod[key] for key in place} == place
    told = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    assert tuple(spec[key] for key in told) == tuple(ends.values())


@pytest.mark.parametrize(
    ("endpoint", "egress"),
    [
        (
            "http://198.18.0.1:9000",
            [{"ports": [{"port": 9000, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "198.18.0.1/32"}}]}],
        ),
        (
            "https://s3.example.org",
            [
                {"ports": [{"port": 443, "protocol": "TCP"}]},
                {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
            ],
        ),
    ],
)
def test_an_analysis_reaches_the_store_and_nothing_reaches_it(
    template: Callable[..., subprocess.CompletedProcess[str]], endpoint: str, egress: list[Object]
) -> None:
    made = [o for o in yaml.safe_load_all(template(changed("store.endpoint", endpoint)).stdout) if o]
    (policy,) = [p for p in of_kind(made, "NetworkPolicy") if p["metadata"]["name"] == "fairtrial-analysis"]
    labels = analysis_job(made)["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert (policy["spec"]["ingress"], policy["spec"]["egress"]) == ([], egress)
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


# --- signing ----------------------------------------------------------------------------------------------------------
PARTS = {"operator": "fairtrial-operator", "evaluator": "fairtrial-gateway", "analysis": "analysis"}


def signing_of(spec: Object) -> tuple[dict[str, Object], list[Object]]:
    """The variables of a pod that are about signing, and its Secrets that are volumes."""
    found = {one["name"]: one for one in spec["containers"][0]["env"]}
    names = (
        "FAIRTRIAL_SIGNING_KEY",
        "FAIRTRIAL_SIGNING_DEVELOPMENT",
        "FAIRTRIAL_SIGNING_PIN",
        "FAIRTRIAL_TIMESTAMP_URL",
    )
    return {n: found[n] for n in names if n in found}, [v["secret"] for v in spec["volumes"] if "secret" in v]


def test_nobody_signs_where_no_key_is_given(objects: list[Object]) -> None:
    assert all(signing_of(pod_specs(objects)[name]) == ({}, []) for name in PARTS.values())


def test_each_part_mounts_its_own_key_and_no_other(template: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    signing = {role: {"existingSecret": f"{role}-key"} for role in PARTS} | {"development": True}
    done = template(changed("signing", signing | {"timestampUrl": "https://tsa.example.org"}))
    assert done.returncode == 0, done.stderr
    made = [o for o in yaml.safe_load_all(done.stdout) if o]
    for role, name in PARTS.items():
        spec = pod_specs(made)[name]
        env, secrets = signing_of(spec)
        assert env["FAIRTRIAL_SIGNING_KEY"]["value"] == "file:/etc/fairtrial/signing/key.pem"
        assert env["FAIRTRIAL_SIGNING_DEVELOPMENT"]["value"] == "true"
        assert ("FAIRTRIAL_TIMESTAMP_URL" in env) == (role != "evaluator")
        assert [one["secretName"] for one in secrets] == [f"{role}-key"]
        assert secrets[0]["defaultMode"] == 0o440
        assert secrets[0].get("optional", False) is (role == "analysis"), "a Job that lacks it says so"
        mounts = {one["mountPath"]: one for one in spec["containers"][0]["volumeMounts"]}
        assert mounts["/etc/fairtrial/signing"]["readOnly"] is True


def test_a_key_in_a_key_service_is_named_by_its_uri(template: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    key = {"uri": "hsm:2?label=fairtrial", "existingSecret": "hsm"}
    made = [o for o in yaml.safe_load_all(template(changed("signing.analysis", key)).stdout) if o]
    env, secrets = signing_of(pod_specs(made)["analysis"])
    assert env["FAIRTRIAL_SIGNING_KEY"]["value"] == key["uri"]
    assert env["FAIRTRIAL_SIGNING_PIN"]["valueFrom"]["secretKeyRef"] == {"name": "hsm", "key": "pin"}
    assert secrets == []


def test_packages_get_a_copy_of_the_trust_list_and_withhold_where_told(
    template: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    values = changed("signing.trustConfigMap", "trust") | {"analysis": {"withhold": True}}
    made = [o for o in yaml.safe_load_all(template(values).stdout) if o]
    spec = pod_specs(made)["analysis"]
    env = {one["name"]: one.get("value") for one in spec["containers"][0]["env"]}
    assert (env["FAIRTRIAL_TRUST"], env["FAIRTRIAL_WITHHOLD"]) == ("/etc/fairtrial/trust/trust.json", "true")
    assert {"name": "trust", "configMap": {"name": "trust"}} in spec["volumes"]


def test_where_an_analysis_may_go_is_said_by_the_administrator(
    template: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    rule = {"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}], "ports": [{"port": 443, "protocol": "TCP"}]}
    made = [o for o in yaml.safe_load_all(template(changed("networkPolicy.analysisEgress", [rule])).stdout) if o]
    (policy,) = [p for p in of_kind(made, "NetworkPolicy") if p["metadata"]["name"] == "fairtrial-analysis"]
    assert policy["spec"]["egress"] == [rule]


def changed(path: str, value: Any) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(VALUES))
    *parents, last = path.split(".")
    place = values
    for parent in parents:
        place = place.setdefault(parent, {})
    place[last] = value
    return values


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("images.operator", "registry.example.org/operator:latest"),
        ("images.operatr", "x"),
        ("store.bucket", ""),
        ("store.existingSecret", ""),
        ("store.prefix", "no-slash-at-end"),
        ("store.endpoint", "ftp://example.org"),
        ("store.endpoint", ""),
        ("operator.replicas", 0),
        ("operator.namespaceSelector", "no-value"),
        ("gateway.maxArtifactBytes", "1GB"),
        ("gateway.spool", {"bytes": 1}),
        ("gateway.models", {"queueSeconds": 0}),
        ("gateway.models", {"querySeconds": 1}),
        ("gateway.toolServers", {"search": "ftp://example.org"}),
        ("gateway.toolServers", {"Search": "http://example.org"}),
        ("gateway.providerSecrets", [{"namespace": "a"}]),
        ("gateway.canarySecrets", [{"namespace": "a"}]),
        ("gateway.scanSeconds", 0),
        ("gateway.providerSecrets", [{"namespace": "a", "name": "*"}]),
        ("images.analysis", "registry.example.org/analysis:latest"),
        ("analysis.images", ["registry.example.org/analysis:latest"]),
        ("signing.operator", {"uri": "file:/key.pem"}),
        ("signing.operator", {"secret": "key"}),
        ("signing.timestampUrl", "ftp://tsa.example.org"),
        ("analysis.retries", -1),
        ("analysis.deadlineSeconds", 5),
        ("analysis.tmpSize", "2GB"),
        ("isolation.probes", [{"name": "x", "kind": "icmp", "host": "h", "port": 1}]),
        ("isolation.probes", [{"name": "x", "kind": "tcp", "host": "hh", "port": 70000}]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_named(
    template: Callable[..., subprocess.CompletedProcess[str]], path: str, value: Any
) -> None:
    done = template(changed(path, value))

    assert done.returncode != 0
    assert path.rsplit(".", maxsplit=1)[-1] in done.stderr or path.split(".", maxsplit=1)[0] in done.stderr


def test_each_part_uses_its_own_account_at_the_store_where_it_has_one(template: Callable[..., Any]) -> None:
    def accounts(store: dict[str, Any]) -> dict[str, set[str]]:
        done = template(VALUES | {"store": VALUES["store"] | store})
        assert done.returncode == 0, done.stderr
        found = [one for one in yaml.safe_load_all(done.stdout) if one]
        return {
            name.removeprefix("fairtrial-"): {
                item["valueFrom"]["secretKeyRef"]["name"]
                for container in spec["containers"]
                for item in container.get("env", [])
                if item["name"].startswith("AWS_")
            }
            for name, spec in pod_specs(found).items()
        }

    parts = ("operator", "gateway", "analysis")
    assert [accounts({})[part] for part in parts] == [{"store"}] * 3
    own = accounts({"secrets": {part: f"for-{part}" for part in parts}})
    assert [own[part] for part in parts] == [{f"for-{part}"} for part in parts]
