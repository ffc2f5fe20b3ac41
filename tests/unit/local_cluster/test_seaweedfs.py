"""How the second S3 server is started: nobody but this machine reaches it, and it tells nobody that it runs."""

import json
from pathlib import Path

import pytest

from local_cluster import seaweedfs
from local_cluster.processes import Component
from local_cluster.s3 import Credentials


@pytest.fixture
def described(tmp_path: Path) -> Component:
    accounts = {"root": Credentials("ROOT", "secret"), "auditor": Credentials("AUDITOR", "secret")}
    return seaweedfs.description(Path("/bin/weed"), tmp_path / "weed", accounts)


def test_it_listens_on_loopback_alone_and_sends_no_statistics(described: Component) -> None:
    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"} <= set(described.command)
    # These listen by default, and nobody asked for them.
    assert {"-s3.port.iceberg=0", "-s3.port.lance=0"} <= set(described.command)


def test_no_two_of_its_servers_share_a_port(described: Component) -> None:
    given = [one.partition("=") for one in described.command if ".port" in one]
    ports = {name: int(port) for name, _, port in given if int(port)}

    assert len(ports) == len(set(ports.values())) == len(described.ports) == 8
    assert {f"-{server}.port.grpc" for server in ("master", "volume", "filer", "s3")} <= set(ports)


def test_the_root_account_alone_has_rights_of_its_own(described: Component) -> None:
    [configuration] = described.files.values()
    actions = {one["name"]: one["actions"] for one in json.loads(configuration)["identities"]}

    assert actions == {"root": ["Admin"], "auditor": []}
