import json
from pathlib import Path

import pytest
from fairtrial_operator import settings

from fairtrial.documents import Probe
from fairtrial.errors import InvalidInput

IMAGE = f"registry.example/x@sha256:{'1' * 64}"
GOOD = {
    "FAIRTRIAL_NAMESPACE": "fairtrial",
    "FAIRTRIAL_RUNNER_IMAGE": IMAGE,
    "FAIRTRIAL_EVALUATOR_IMAGE": IMAGE,
    "FAIRTRIAL_GATEWAY_URL": "http://10.0.0.5:8080",
}


def test_little_must_be_set() -> None:
    found = settings.load(GOOD)

    assert found.selects({"fairtrial.dev/enabled": "true"})
    assert not found.selects({"fairtrial.dev/enabled": "other"})
    assert not found.selects({})
    assert (found.gateway_namespace, found.release_after_seconds, found.token_seconds) == ("fairtrial", 900, 3600)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FAIRTRIAL_NAMESPACE", ""),
        ("FAIRTRIAL_RUNNER_IMAGE", "runner:latest"),
        ("FAIRTRIAL_NAMESPACE_SELECTOR", "enabled"),
        ("FAIRTRIAL_TOKEN_SECONDS", "60"),
        ("FAIRTRIAL_LEASE_SECONDS", "soon"),
        ("FAIRTRIAL_PROBES", "[{]"),
        ("FAIRTRIAL_PROBES", '[{"name": "x", "kind": "icmp", "host": "10.0.0.1", "port": 1}]'),
        ("FAIRTRIAL_PROBES", '[{"name": "x", "kind": "tcp", "host": "metadata.internal", "port": 80}]'),
        ("FAIRTRIAL_CLUSTER_DNS", "dns.internal"),
    ],
)
def test_what_is_wrong_is_named(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        settings.load(GOOD | {name: value})


JOB = {"spec": {"template": {"spec": {"containers": [{"name": "analysis"}]}}}}


def test_an_analysis_is_a_job_and_the_images_that_it_may_run(tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(JOB))
    told = {"FAIRTRIAL_ANALYSIS_JOB": str(file), "FAIRTRIAL_ANALYSIS_IMAGES": f"{IMAGE} {IMAGE}"}

    found = settings.load(GOOD | told).analysis

    assert found is not None
    assert (found.job, found.images, found.versions) == (JOB, {IMAGE}, {})
    versioned = settings.load(GOOD | told | {"FAIRTRIAL_ANALYSIS_VERSION": "0.1.0"}).analysis
    assert versioned is not None and versioned.versions == {IMAGE: "0.1.0"}
    assert settings.load(GOOD).analysis is None


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"spec": {"template": {"spec": {"containers": []}}}}', None])
def test_what_is_no_job_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "job.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidInput, match="FAIRTRIAL_ANALYSIS_JOB"):
        settings.load(GOOD | {"FAIRTRIAL_ANALYSIS_JOB": str(file), "FAIRTRIAL_ANALYSIS_IMAGES": IMAGE})


@pytest.mark.parametrize("images", ["", "analysis:latest", f"{IMAGE} analysis:latest"])
def test_images_that_may_analyse_are_named_by_digest(tmp_path: Path, images: str) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps(JOB))
    with pytest.raises(InvalidInput, match="FAIRTRIAL_ANALYSIS_IMAGES"):
        settings.load(GOOD | {"FAIRTRIAL_ANALYSIS_JOB": str(file), "FAIRTRIAL_ANALYSIS_IMAGES": images})


def test_the_api_server_and_the_clusters_dns_are_always_probed() -> None:
    cluster = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "FAIRTRIAL_CLUSTER_DNS": "10.0.0.10"}
    listed = {"FAIRTRIAL_PROBES": '[{"name": "metadata", "kind": "tcp", "host": "169.254.169.254", "port": 80}]'}

    found = settings.load(GOOD | cluster | listed).probes

    assert found == (
        Probe("api-server", "tcp", "10.0.0.1", 443),
        Probe("cluster-dns-0", "udp-dns", "10.0.0.10", 53),
        Probe("metadata", "tcp", "169.254.169.254", 80),
    )


def test_the_operators_own_resolver_names_the_clusters_dns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text("search ns.svc.cluster.local\n# none\nnameserver 10.0.0.10\nnameserver fd00::a\nnameserver\n")
    monkeypatch.setattr(settings, "RESOLV_CONF", file)

    found = settings.load(GOOD | {"FAIRTRIAL_CLUSTER_DNS": "auto"}).probes

    assert [(probe.kind, probe.host) for probe in found] == [("udp-dns", "10.0.0.10"), ("udp-dns", "fd00::a")]
