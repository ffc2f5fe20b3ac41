"""SeaweedFS, a second S3 server for tests: built from its Go module, on free ports of loopback, gone after the test."""

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from local_cluster import binaries, processes
from local_cluster.processes import Component
from local_cluster.progress import step
from local_cluster.s3 import Credentials

PACKAGE = "github.com/seaweedfs/seaweedfs/weed"
ADDRESS = "127.0.0.1"
ROOT = "root"
# Each server has two ports. Unset, the second is the first plus 10000; a clash shows as "no writable volumes" only.
PORTS = tuple(f"{server}.port{kind}" for server in ("master", "volume", "filer", "s3") for kind in ("", ".grpc"))


def program() -> Path:
    """The server, from the Go module proxy: about ten minutes to build the first time on two cores."""
    return binaries.build("seaweedfs", PACKAGE) / "seaweedfs"


def principal(name: str) -> str:
    """An account as bucket policies name it."""
    return f"arn:aws:iam::000000000000:user/{name}"


@contextlib.contextmanager
def running(folder: Path, accounts: Mapping[str, Credentials]) -> Iterator[str]:
    """The URL of a server whose data are in `folder`. The account `root` may do all, others what a policy allows.

    When it ends, nothing of the server is left outside `folder`.
    """
    component = description(program(), folder, accounts)
    try:
        with step("start SeaweedFS"):
            processes.ensure(component, patience=120.0)
        yield component.health.removesuffix("/healthz")
    finally:
        # What it holds is thrown away, so it need not take the time that an orderly end takes it.
        processes.terminate(set(processes.marked(component.name)), patience=0)
        processes.stop(component.name)
        component.log.unlink(missing_ok=True)
        for left in left_files(component):
            left.unlink()


def left_files(component: Component) -> list[Path]:
    """Sockets of a server that it makes outside its folder, where no setting says otherwise, and may leave there."""
    folder = Path("/tmp")  # noqa: S108 — so its source has it
    return [left for port in component.ports for left in folder.glob(f"seaweedfs-*-{port}.sock")]


def description(weed: Path, folder: Path, accounts: Mapping[str, Credentials]) -> Component:
    """The server's daemon: master, volumes, filer and S3 in one process."""
    data, configuration = folder / "data", folder / "accounts.json"
    data.mkdir(parents=True)
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    options = ports | {
        "ip": ADDRESS,
        "ip.bind": ADDRESS,
        "dir": data,
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": 64,
        "volume.max": 200,  # a bucket takes seven
        "volume.preStopSeconds": 0,
        "filer.localSocket": folder / "filer.sock",
        "s3.localSocket": folder / "s3.sock",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.config": configuration,
    }
    command = (
        str(weed),
        f"-logdir={folder}",
        "-logtostderr=true",
        "server",
        "-filer",
        "-s3",
        *(f"-{name}={value}" for name, value in options.items()),
    )
    return Component(
        name=f"seaweedfs-{ports['s3.port']}",
        command=command,
        health=f"http://{ADDRESS}:{ports['s3.port']}/healthz",
        ports=tuple(ports.values()),
        environment={"HOME": str(folder)},  # where it looks for settings
        files={configuration: json.dumps({"identities": [_identity(*account) for account in accounts.items()]})},
    )


def _identity(name: str, keys: Credentials) -> dict[str, object]:
    return {
        "name": name,
        "credentials": [{"accessKey": keys.access_key, "secretKey": keys.secret_key}],
        "actions": ["Admin"] if name == ROOT else [],
    }


def _free_ports(count: int) -> Sequence[int]:
    """Ports that nobody has at this moment, all different."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server((ADDRESS, 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]
