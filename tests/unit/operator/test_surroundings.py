"""What pods are told of the cluster follows the canary's pods, and outlives an API server that does not answer."""

import asyncio
from typing import Any

from fairtrial_operator.kube import ApiError
from fairtrial_operator.settings import Settings
from fairtrial_operator.surroundings import REFRESH_SECONDS, SOON_SECONDS, Surroundings, look_up

from fairtrial.documents import Probe

IMAGE = f"registry.example/image@sha256:{'9' * 64}"
SETTINGS = Settings("system", IMAGE, IMAGE, "http://10.0.0.5:8080", "system", "me", canary_service="canary")


class Cluster:
    """An API server with one Service and the canary's pods."""

    def __init__(self, *pods: str) -> None:
        self.pods, self.down, self.asked = pods, False, 0

    async def get(self, _: Any, name: str, namespace: str) -> Any:
        self._ask()
        return {"spec": {"clusterIP": "fd00::5" if name == "six" else "10.0.0.9", "ports": [{"port": 8080}]}}

    async def list_page(self, _: Any, *, selector: str) -> Any:
        self._ask()
        return {
            "items": [
                {"metadata": {"namespace": namespace}, "status": {"podIPs": [{"ip": ip}]}}
                for namespace, ip in (pod.split("/") for pod in self.pods)
            ]
        }

    def _ask(self) -> None:
        self.asked += 1
        if self.down:
            raise ApiError(503, "ServiceUnavailable", "down")


def test_a_replaced_canary_pod_is_probed_where_it_is_now() -> None:
    now, cluster = [0.0], Cluster("system/198.18.0.7", "elsewhere/198.18.0.8")
    surroundings = Surroundings(cluster, SETTINGS, clock=lambda: now[0])  # type: ignore[arg-type]

    def probed() -> list[str]:
        return [probe.host for probe in asyncio.run(surroundings.pods()).probes]

    assert probed() == ["10.0.0.9", "198.18.0.7"]
    cluster.pods = ("system/198.18.0.30",)
    asked = cluster.asked
    assert probed() == ["10.0.0.9", "198.18.0.7"]
    assert cluster.asked == asked, "a thousand runs at once are one question"
    now[0] = REFRESH_SECONDS + 1
    assert probed() == ["10.0.0.9", "198.18.0.30"]
    now[0], cluster.down = 3 * REFRESH_SECONDS, True
    assert probed() == ["10.0.0.9", "198.18.0.30"]


def test_without_a_canary_nothing_is_asked() -> None:
    cluster = Cluster()
    settings = Settings("system", IMAGE, IMAGE, "http://g", "system", "me", probes=(Probe("x", "tcp", "h", 1),))

    found = asyncio.run(Surroundings(cluster, settings).pods())  # type: ignore[arg-type]

    assert (found.probes, cluster.asked) == ((Probe("x", "tcp", "h", 1),), 0)


def test_the_gateway_is_found_by_its_service() -> None:
    named = Settings("system", IMAGE, IMAGE, "", "system", "me", gateway_service="six")
    assert asyncio.run(look_up(Cluster(), named)).gateway_url == "http://[fd00::5]:8080"  # type: ignore[arg-type]
    assert asyncio.run(look_up(Cluster(), SETTINGS)) is SETTINGS  # type: ignore[arg-type]


def test_a_canary_that_was_never_found_is_said_and_looked_for_again_soon() -> None:
    """A proof without it would be passed by a cluster that enforces nothing but the way to its API server."""
    now, cluster = [0.0], Cluster("system/198.18.0.7")
    cluster.down = True
    surroundings = Surroundings(cluster, SETTINGS, clock=lambda: now[0])  # type: ignore[arg-type]

    assert "down" in asyncio.run(surroundings.pods()).unready
    cluster.down, cluster.pods, asked = False, (), cluster.asked
    asyncio.run(surroundings.pods())
    assert cluster.asked == asked, "a thousand runs at once are one question"
    now[0] += SOON_SECONDS + 1
    assert "no pod of the canary" in asyncio.run(surroundings.pods()).unready
    now[0], cluster.pods = now[0] + SOON_SECONDS + 1, ("system/198.18.0.7",)
    found = asyncio.run(surroundings.pods())
    assert (found.unready, [one.name for one in found.probes]) == ("", ["canary-service", "canary-pod-0"])


def test_a_canary_that_is_being_replaced_is_probed_where_it_was() -> None:
    now, cluster = [0.0], Cluster("system/198.18.0.7")
    surroundings = Surroundings(cluster, SETTINGS, clock=lambda: now[0])  # type: ignore[arg-type]
    asyncio.run(surroundings.pods())
    now[0], cluster.pods = REFRESH_SECONDS + 1, ()
    assert [probe.host for probe in asyncio.run(surroundings.pods()).probes] == ["10.0.0.9", "198.18.0.7"]
