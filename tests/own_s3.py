"""An S3 server of a test's own: versitygw on a folder, on the loopback, gone with the test."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from botocore.exceptions import EndpointConnectionError

from local_cluster import binaries, s3
from local_cluster.s3 import Credentials

START_SECONDS = 20.0


@contextlib.contextmanager
def serving(folder: Path, root: Credentials, *users: Credentials) -> Iterator[str]:
    """The address of a server whose objects lie in `folder`, with its root account and ordinary users."""
    program = str(binaries.build_all()["versitygw"])
    for name in ("users", "versions", "objects"):
        (folder / name).mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    posix = ["posix", f"--versioning-dir={folder / 'versions'}", str(folder / "objects")]
    command = [program, f"--port=127.0.0.1:{port}", f"--iam-dir={folder / 'users'}", "--quiet", *posix]
    as_root = {"ROOT_ACCESS_KEY": root.access_key, "ROOT_SECRET_KEY": root.secret_key}
    process = subprocess.Popen(command, env=os.environ | as_root, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, root)
        admin = [program, "admin", "--endpoint-url", url, "create-user", "--role", "user"]
        keys = {"ADMIN_ACCESS_KEY_ID": root.access_key, "ADMIN_SECRET_ACCESS_KEY": root.secret_key}
        for one in users:
            account = ["--access", one.access_key, "--secret", one.secret_key]
            subprocess.run([*admin, *account], env=os.environ | keys, check=True, capture_output=True)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_for(url: str, root: Credentials) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            s3.client_at(url, root).list_buckets()
        except EndpointConnectionError:
            assert time.monotonic() < deadline, "versitygw does not answer"
            time.sleep(0.1)
        else:
            return


class SmallDisk:
    """A disk of a few megabytes, which a test can fill and clear."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._ballast = folder, folder / "ballast"

    def fill(self) -> None:
        """Leave no byte free."""
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def clear(self) -> None:
        """Make room again."""
        self._ballast.unlink()


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """`folder`, with as much room as is said."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)
