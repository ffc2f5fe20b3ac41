"""Processes of one measurement: each ends with it, and is asked for its processor time and memory."""

import os
import re
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = ("PATH", "HOME", "PYTHONPATH")
TICKS = os.sysconf("SC_CLK_TCK")
# The kernel ends a process whose measurement was killed before it could stop anything.
WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass(frozen=True)
class Usage:
    """What a process has used: processor seconds, and resident memory now and at most in MB (10^6 bytes)."""

    cpu: float
    rss: float
    peak: float


class Process:
    """One running program."""

    def __init__(self, name: str, command: Sequence[str], logs: Path, env: Mapping[str, str] | None = None) -> None:
        self.name, self.log = name, logs / f"{name}.log"
        with self.log.open("ab") as output:
            self._popen = subprocess.Popen(
                [*WITH_PARENT, *command],
                env={name: os.environ[name] for name in KEPT if name in os.environ} | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._popen.poll() is None

    def usage(self) -> Usage:
        """What it has used so far."""
        fields = Path(f"/proc/{self._popen.pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{self._popen.pid}/status").read_text()
        rss, peak = (
            int(found.group(1)) * 1024 / 1e6 if (found := re.search(rf"{key}:\s+(\d+) kB", status)) else 0.0
            for key in ("VmRSS", "VmHWM")
        )
        return Usage((int(fields[11]) + int(fields[12])) / TICKS, rss, peak)

    def stop(self, number: int = signal.SIGTERM, patience: float = 20.0) -> None:
        """End it: politely, then for good."""
        if not self.running:
            return
        self._popen.send_signal(number)
        try:
            self._popen.wait(patience)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def wait_for(self, url: str, patience: float = 60.0, token: str = "") -> None:
        """Wait until an address on this machine answers 200."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        opener, deadline = urllib.request.build_opener(*handlers), time.monotonic() + patience
        while True:
            try:
                with opener.open(request, timeout=3):
                    return
            except (urllib.error.URLError, OSError) as error:
                if not self.running or time.monotonic() > deadline:
                    tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
                    raise RuntimeError(f"{self.name} is not well ({error}); {self.log} ends with\n{tail}") from error
                time.sleep(0.1)
