"""The generated configuration says what the README promises."""

from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from local_cluster import build_environment, certificates, images, layout, leftovers, network, node


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path))


def test_a_dead_enforcer_means_no_traffic() -> None:
    queued = [line for line in network.IPTABLES.splitlines() if "NFQUEUE" in line]

    assert len(queued) == 4
    assert not any("--queue-bypass" in line for line in queued)


def test_pods_are_not_forwarded_anywhere_else() -> None:
    forward = [line for line in network.IPTABLES.partition("*filter")[2].splitlines() if "-A FAIRTRIAL-FORWARD" in line]

    assert forward == [
        f"-A FAIRTRIAL-FORWARD -i {layout.BRIDGE} -o {layout.BRIDGE} -j ACCEPT",
        f"-A FAIRTRIAL-FORWARD -i {layout.BRIDGE} -j DROP",
        f"-A FAIRTRIAL-FORWARD -o {layout.BRIDGE} -j DROP",
    ]


def test_every_chain_of_ours_hangs_on_the_built_in_chain_of_its_name() -> None:
    assert network.jumps(network.IP6TABLES) == [("mangle", "PREROUTING", "FAIRTRIAL-PREROUTING")]
    assert ("filter", "INPUT", "FAIRTRIAL-INPUT") in network.jumps(network.IPTABLES)


def test_only_tables_that_say_nothing_are_removed() -> None:
    saved = """# made by iptables-save
*mangle
:INPUT ACCEPT [0:0]
COMMIT
*filter
:INPUT DROP [0:0]
COMMIT
*nat
:INPUT ACCEPT [0:0]
-A INPUT -j ACCEPT
COMMIT
*raw
:SOMEBODY - [0:0]
COMMIT
"""

    assert network.empty_tables(saved) == ["mangle"]


def test_the_kubelet_never_deletes_images_or_evicts_for_disk() -> None:
    config = node.kubelet_config(Path("/etc/resolv.conf"))

    assert config["imageGCHighThresholdPercent"] == 100
    eviction = config["evictionHard"]
    assert isinstance(eviction, dict)
    assert {name: value for name, value in eviction.items() if value != "0%"} == {"memory.available": "100Mi"}


def test_certificates_are_signed_and_name_their_addresses() -> None:
    folder = certificates.ensure()
    api = x509.load_pem_x509_certificate((folder / "api.crt").read_bytes())
    authority = x509.load_pem_x509_certificate((folder / "cluster-ca.crt").read_bytes())

    api.verify_directly_issued_by(authority)
    names = api.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    assert addresses == {layout.BRIDGE_ADDRESS, layout.API_SERVICE_ADDRESS, "127.0.0.1"}
    assert isinstance(api.public_key(), ec.EllipticCurvePublicKey)
    assert (folder / "api.key").stat().st_mode & 0o077 == 0


def test_certificates_are_made_once() -> None:
    first = (certificates.ensure() / "api.crt").read_bytes()

    assert (certificates.ensure() / "api.crt").read_bytes() == first


def test_a_kubeconfig_stands_alone() -> None:
    config = yaml.safe_load(certificates.kubeconfig(certificates.ensure(), "admin"))

    assert config["clusters"][0]["cluster"]["server"] == layout.API_URL
    assert set(config["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}


def test_mounts_are_undone_innermost_first() -> None:
    text = "a /state/x ext4 rw 0 0\nb /state/x/y\\040z tmpfs rw 0 0\nc /state-of-others tmpfs rw 0 0\n"

    assert leftovers.mounts_below(Path("/state"), text) == [Path("/state/x/y z"), Path("/state/x")]


def test_pip_variables_become_pip_settings() -> None:
    text = build_environment.pip_config(
        {"PIP_INDEX_URL": "https://mirror.test/simple", "PIP_CACHE_DIR": "/c", "HOME": "/"}
    )

    assert "index-url = https://mirror.test/simple" in text.splitlines()
    assert "cache-dir" not in text


def test_uv_gets_the_default_index_as_such() -> None:
    text = build_environment.uv_config({"UV_DEFAULT_INDEX": "https://mirror.test/simple"})

    assert text.endswith('[[index]]\nurl = "https://mirror.test/simple"\ndefault = true\n')


def test_npm_gets_what_reaches_a_registry_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text(
        "@acme:registry=https://a.example/\nprefix=/opt/npm\n; a note\nregistry=https://b\n"
    )

    lines = build_environment.npm_config({"HOME": str(tmp_path), "npm_config_registry": "https://c.example/"}).split()

    assert {"@acme:registry=https://a.example/", "registry=https://c.example/", "cache=/root/.cache/npm"} <= set(lines)
    assert not any(line.startswith(("prefix", ";")) for line in lines)


def test_every_part_has_one_image_and_names_do_not_repeat() -> None:
    names = [image.name for image in images.table()]

    assert {"operator", "gateway", "runner", "evaluator"} <= set(names)
    assert len(names) == len(set(names))
