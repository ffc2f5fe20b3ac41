"""What `model_calls` compares: the model itself, this gateway, mitmdump, and LiteLLM's proxy with and without a log.

The two others live in environments of their own in the cache, with every package pinned in `requirements/`.
"""

import asyncio
import base64
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gateway_world import MALLOC, ROOT
from benchmarks.model_load import MODEL, Target
from local_cluster import cache, cluster, s3
from local_cluster.s3 import Credentials

MB = 1_000_000
RUNS = 8  # that call through the gateway; each may have 32 calls under way
REQUIREMENTS = Path(__file__).parent / "requirements"
CHAT = "/v1/chat/completions"
STORING = "fairtrial_gateway.models.storing_process"
KEY = "sk-benchmark-1234"
LITELLM_CONFIG = """
model_list:
  - model_name: {model}
    litellm_params: {{model: openai/{model}, api_base: "http://127.0.0.1:{port}/v1", api_key: sk-upstream}}
general_settings: {{master_key: {key}}}
litellm_settings: {{telemetry: false, num_retries: 0{settings}}}
"""
LITELLM_LOG = """, callbacks: [s3_v2], s3_callback_params: {{s3_bucket_name: {bucket}, s3_region_name: us-east-1,
  s3_endpoint_url: "{endpoint}", s3_path: litellm, s3_aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID,
  s3_aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY}}"""
FLUSH_SECONDS = "2"
# Streams are passed on as they come; mitmproxy then keeps their heads only. Other answers are recorded as a whole.
MITM_SCRIPT = """
def responseheaders(flow):
    if flow.response.headers.get("content-type", "").startswith("text/event-stream"):
        flow.response.stream = True
"""


@dataclass
class System:
    """One way to the model."""

    name: str
    target: Target
    process: "subprocess.Popen[bytes]"
    stored: Callable[[int], bool] = lambda _made: True  # whether all calls that were made are in the store
    version: str = ""
    made: int = 0
    _storing: dict[int, bool] = field(default_factory=dict)

    def cpu(self) -> dict[str, float]:
        """Processor seconds so far of the process and its children: of what serves, and of what stores."""
        used = {"serving": 0.0, "storing": 0.0}
        for pid in tree(self.process.pid):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used[self._kind(pid)] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return used

    def rss(self) -> dict[str, int]:
        """Resident bytes of the same."""
        used = {"serving": 0, "storing": 0}
        for pid in tree(self.process.pid):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    used[self._kind(pid)] += int(line.split()[1]) * 1024
        return used

    async def settle(self, seconds: float = 90) -> float:
        """Wait until what was called is stored too; how long that took."""
        began = time.monotonic()
        while not self.stored(self.made):
            if time.monotonic() > began + seconds:
                raise RuntimeError(f"{self.name}: not everything is stored after {seconds:.0f} s")
            await asyncio.sleep(0.2)
        return time.monotonic() - began

    def _kind(self, pid: int) -> str:
        if pid not in self._storing:
            self._storing[pid] = STORING in Path(f"/proc/{pid}/cmdline").read_text()
        return "storing" if self._storing[pid] else "serving"


def tree(root: int) -> list[int]:
    """A process and all below it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


class Systems:
    """Everything that is started for one measurement, with a folder and a bucket of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._bucket = f"model-calls-{secrets.token_hex(4)}"
        self._env = store_environment() | {"FAIRTRIAL_S3_BUCKET": self._bucket}
        self._s3 = s3_client(self._env)
        self._s3.create_bucket(Bucket=self._bucket)
        self.all: dict[str, System] = {}

    async def start(self) -> None:
        """Start all of them and wait until each answers."""
        upstream = self._start("upstream", [sys.executable, "-m", "benchmarks.model_upstream"], stdout=subprocess.PIPE)
        assert upstream.stdout is not None
        ports = json.loads(upstream.stdout.readline())
        self.all["direct"] = System("direct", Target(ports["model"], CHAT, ("none",)), upstream)
        self._gateway(ports["api"])
        self._litellm("litellm", ports["model"])
        log = LITELLM_LOG.format(bucket=self._bucket, endpoint=self._env["FAIRTRIAL_S3_ENDPOINT"])
        self._litellm("litellmS3", ports["model"], log)
        self.all["litellmS3"].stored = lambda made: self._objects("litellm/") >= made
        self._mitmdump(ports["model"])
        await asyncio.gather(*map(self._until_good, self.all.values()))

    def close(self) -> None:
        """End all processes, and delete what was stored."""
        for process in reversed(self._processes):
            for pid in reversed(tree(process.pid)):
                subprocess.run(["kill", "-KILL", str(pid)], check=False, stderr=subprocess.DEVNULL)
            process.wait()
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket)
        for page in pages:
            keys = [{"Key": each["Key"]} for each in page.get("Contents", [])]
            if keys:
                self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": keys, "Quiet": True})
        self._s3.delete_bucket(Bucket=self._bucket)

    def _gateway(self, api: int) -> None:
        port, spool = free_port(), self.folder / "spool"
        (self.folder / "token").write_text("the-gateways-own-token")
        env = {
            "FAIRTRIAL_GATEWAY_HOST": "127.0.0.1",
            "FAIRTRIAL_GATEWAY_PORT": str(port),
            "FAIRTRIAL_GATEWAY_SPOOL_DIR": str(spool),
            "FAIRTRIAL_GATEWAY_SPOOL_BYTES": str(20_000 * MB),  # the journals of the large streams
            "FAIRTRIAL_KUBERNETES_URL": f"http://127.0.0.1:{api}",
            "FAIRTRIAL_KUBERNETES_TOKEN_FILE": str(self.folder / "token"),
        }
        process = self._start("gateway", [sys.executable, "-m", "fairtrial_gateway"], self._env | MALLOC | env)
        keys = tuple(token(f"run-{number}-agent") for number in range(RUNS))
        target = Target(port, f"/model{CHAT}", keys)
        stored: Callable[[int], bool] = lambda _made: not any(spool.glob("*.ftj"))  # noqa: E731
        self.all["gateway"] = System("gateway", target, process, stored, "this checkout")

    def _litellm(self, name: str, model: int, settings: str = "") -> None:
        port, config = free_port(), self.folder / f"{name}.yaml"
        config.write_text(LITELLM_CONFIG.format(model=MODEL, port=model, key=KEY, settings=settings))
        code = "from litellm import run_server; run_server()"
        arguments = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
        env = {"LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        env |= {"DEFAULT_S3_FLUSH_INTERVAL_SECONDS": FLUSH_SECONDS} | self._env
        process = self._start(name, [str(environment("litellm")), "-c", code, *arguments], env)
        self.all[name] = System(name, Target(port, CHAT, (KEY,)), process, version=pinned("litellm"))

    def _objects(self, prefix: str) -> int:
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        return sum(len(page.get("Contents", [])) for page in pages)

    def _mitmdump(self, model: int) -> None:
        port, script = free_port(), self.folder / "streams.py"
        script.write_text(MITM_SCRIPT)
        code = "from mitmproxy.tools.main import mitmdump; mitmdump()"
        arguments = [
            *("--quiet", "--mode", f"reverse:http://127.0.0.1:{model}", "--listen-host", "127.0.0.1"),
            *("--listen-port", str(port), "--save-stream-file", str(self.folder / "flows"), "--scripts", str(script)),
            *("--set", f"confdir={self.folder}"),
        ]
        process = self._start("mitmdump", [str(environment("mitmproxy")), "-c", code, *arguments])
        target = Target(port, CHAT, ("none",))
        self.all["mitmdump"] = System("mitmdump", target, process, version=pinned("mitmproxy"))

    def _start(
        self, name: str, command: list[str], env: Mapping[str, str] | None = None, stdout: Any = subprocess.DEVNULL
    ) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, env={**os.environ, **(env or {})}, stdout=stdout, stderr=log, cwd=ROOT)
        self._processes.append(process)
        return process

    async def _until_good(self, system: System, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and system.process.poll() is None:
            if await answers(system.target):
                system.made += 1
                return
            await asyncio.sleep(0.2)
        log = (self.folder / f"{system.name}.log").read_text() if system.name != "direct" else ""
        raise RuntimeError(f"{system.name} did not get ready:\n{log[-2000:]}")


async def answers(target: Target) -> bool:
    """Whether a call is answered well."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    except OSError:
        return False
    try:
        writer.write(target.request(0))
        async with asyncio.timeout(5):
            return b" 200 " in await reader.readline()
    except (OSError, TimeoutError):
        return False
    finally:
        writer.close()


def token(pod: str) -> str:
    """A token as our API server believes it."""
    claims = {"exp": int(time.time()) + 3600, "pod": pod}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims, 0))
    return ".".join(parts)


def store_environment() -> dict[str, str]:
    """The store of the environment, or else that of the local cluster."""
    if "FAIRTRIAL_S3_ENDPOINT" in os.environ:
        return dict(os.environ)
    running = cluster.current()
    if running is None:
        raise RuntimeError("there is no store: set FAIRTRIAL_S3_ENDPOINT, or start one by python -m local_cluster up")
    return running.environment()


def s3_client(env: Mapping[str, str]) -> Any:
    """A client of the store."""
    keys = Credentials(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"])
    return s3.client_at(env["FAIRTRIAL_S3_ENDPOINT"], keys)


def environment(name: str) -> Path:
    """The Python of an environment in the cache, made at the first call."""
    file = REQUIREMENTS / f"{name}.txt"

    def make(folder: Path) -> None:
        print(f"   installing {name} into the cache; once", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        python = folder / "bin" / "python"
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "-r", str(file)], check=True)

    return cache.entry("benchmarks", name, cache.files_key([file], sys.version), make) / "bin" / "python"


def pinned(name: str) -> str:
    """The version of a package in its requirements."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{name}=="))


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
