"""One large file into the same store: through the gateway, against boto3's own multipart upload without a gateway.

Rounds alternate which goes first. Both read the same file and end when the object is complete. The gateway identifies
its caller at a real API server, hashes what it is sent, and creates conditionally; boto3 does neither.
"""

import http.client
import os
import statistics
import time
from pathlib import Path
from typing import Any

from boto3.s3.transfer import TransferConfig

from benchmarks.gateway_world import GatewayWorld, RunningGateway

MB = 1_000_000
SIZE, ROUNDS = 1000 * MB, 5
RUN = "upload"
GOAL_RATIO, GOAL_PEAK_MB = 0.6, 150


def measure() -> dict[str, Any]:
    """Rates of the rounds in MB/s, the median of the rounds' ratios, processor time, and the gateway's peak memory."""
    world = GatewayWorld()
    try:
        world.run(RUN)
        token = world.token(f"{RUN}-agent", "fairtrial/record")
        file = world.folder / "file.bin"
        _write(file)
        gateway = world.start_gateway()
        before = gateway.rss()
        rates: dict[str, list[float]] = {"gateway": [], "direct": []}
        for number in range(ROUNDS):
            for way in ("gateway", "direct") if number % 2 else ("direct", "gateway"):
                started = time.perf_counter()
                if way == "gateway":
                    _through(gateway, token, file, f"agent/{number}.bin")
                else:
                    _direct(world, file, f"direct/{number}.bin")
                rates[way].append(SIZE / MB / (time.perf_counter() - started))
                print(f"   {way}: {rates[way][-1]:.0f} MB/s", flush=True)
        cpu = gateway.cpu_seconds() / ROUNDS
        return _summary(rates) | {
            "gatewayCpuSecondsPerFile": round(cpu, 1),
            "gatewayIdleMB": round(before / MB),
            "gatewayPeakMB": round(gateway.peak_rss() / MB),
            "goalPeakMB": GOAL_PEAK_MB,
        }
    finally:
        world.close()


def _summary(rates: dict[str, list[float]]) -> dict[str, Any]:
    ratios = [through / direct for through, direct in zip(rates["gateway"], rates["direct"], strict=True)]
    return {
        "megabytes": SIZE // MB,
        "rounds": ROUNDS,
        "gatewayMBs": [round(rate, 1) for rate in rates["gateway"]],
        "directMBs": [round(rate, 1) for rate in rates["direct"]],
        "medianOfRatios": round(statistics.median(ratios), 2),
        "lowestRatio": round(min(ratios), 2),
        "goalRatio": GOAL_RATIO,
    }


def _write(file: Path) -> None:
    block = os.urandom(10 * MB)
    with file.open("wb") as target:
        for _ in range(SIZE // len(block)):
            target.write(block)


def _through(gateway: RunningGateway, token: str, file: Path, name: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120, blocksize=256 * 1024)
    with file.open("rb") as body:
        headers = {"Authorization": f"Bearer {token}", "Content-Length": str(SIZE)}
        connection.request("PUT", f"/v1/artifacts/{name}", body, headers)
        answer = connection.getresponse()
        text = answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.CREATED:
        raise RuntimeError(f"the gateway answered {answer.status}: {text!r}")


def _direct(world: GatewayWorld, file: Path, key: str) -> None:
    settings = TransferConfig(multipart_chunksize=8 * 1024 * 1024)
    world.s3.upload_file(str(file), world.namespace, key, Config=settings)
