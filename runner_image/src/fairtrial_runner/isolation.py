"""Prove that the pod can reach nothing: every denied destination is tried, several times, before the agent starts.

The recorder does it, beside everything that comes before the agent: containers of a pod share one network. A refusal
and silence both prove what is asked for; only a connection, or an answer, disproves it. The attempts of a round
start a twentieth of a second apart and wait side by side. Some networks enforce a policy only a moment after they have
let a pod in: a round that reached something is followed by another, and only the last counts. Every answer is kept.
"""

import errno
import ipaddress
import socket
import threading
import time
from typing import Literal

from fairtrial.documents import Probe, ProbeResult

# For an answer, in seconds: inside a cluster it takes milliseconds, and across an ocean a third of a second.
_NEAR, _FAR = 0.2, 0.5
_SPACING = 0.05
_PAUSES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6)  # most policies that are late are so by very little
_CONNECTED, _REFUSED, _SILENT, _UNREACHABLE = "connected", "refused", "timeout", "unreachable"
# A DNS question for the root's name servers: 12 bytes of header, the empty name, type NS, class IN.
_QUESTION = b"\x46\x54\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + b"\x00\x00\x02\x00\x01"
# A request for the server's status, which none implements: it says so at once, and asks no other server first.
_STATUS = b"\x46\x55\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00"


def prove(probes: list[Probe], attempts: int, pauses: tuple[float, ...] = _PAUSES) -> list[ProbeResult]:
    """Try every destination `attempts` times, and again while something is reached: what each answered, in order.

    `pauses` are the seconds before the first round and each further one.
    """
    answers: list[list[str]] = [[] for _ in probes]
    for pause in pauses:
        time.sleep(pause)
        found = _round(probes, attempts)
        answers = [[*before, *now] for before, now in zip(answers, found, strict=True)]
        if not any(_CONNECTED in each for each in found):
            break
    return [ProbeResult(p.name, p.kind, p.host, p.port, found) for p, found in zip(probes, answers, strict=True)]


class Proof(threading.Thread):
    """The proof, made in the background from now on; `results` is None until `join()`, or where it broke off."""

    def __init__(self, probes: list[Probe], attempts: int) -> None:
        super().__init__(daemon=True)
        self._probes, self._attempts = probes, attempts
        self.results: list[ProbeResult] | None = None
        self.milliseconds = 0
        self.start()

    def run(self) -> None:
        """Prove, and take the time."""
        began = time.monotonic()
        self.results = prove(self._probes, self._attempts)
        self.milliseconds = int((time.monotonic() - began) * 1000)


def judge(results: list[ProbeResult], attempts: int) -> Literal["proven", "failed", "not_applicable"]:
    """The verdict over the answers of the last round. Pure."""
    if not results:
        return "not_applicable"
    return "failed" if _reached(results, attempts) else "proven"


def reached(results: list[ProbeResult], attempts: int) -> str:
    """What must be out of reach and is not, as a sentence; empty if there is no such thing. Pure."""
    found = ", ".join(f"{one.name} ({one.host}:{one.port})" for one in _reached(results, attempts))
    return f"Reached what must be out of reach: {found}." if found else ""


def _reached(results: list[ProbeResult], attempts: int) -> list[ProbeResult]:
    return [one for one in results if _CONNECTED in one.answers[-attempts:]]


def _round(probes: list[Probe], attempts: int) -> list[list[str]]:
    answers = [[_UNREACHABLE] * attempts for _ in probes]
    patience = [_patience(probe.host) for probe in probes]

    def attempt(index: int, turn: int) -> None:
        time.sleep(turn * _SPACING)
        answers[index][turn] = _try(probes[index], patience[index])

    threads = [
        threading.Thread(target=attempt, args=(index, turn)) for index in range(len(probes)) for turn in range(attempts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def _patience(host: str) -> float:
    """How long to wait for an answer: the registries of special addresses say what is never far away.

    ValueError where it is no address: no name is resolved in a pod, so that silence would prove nothing.
    """
    return _FAR if ipaddress.ip_address(host).is_global else _NEAR


def _try(probe: Probe, patience: float) -> str:
    udp = probe.kind == "udp-dns"
    family = socket.AF_INET6 if ":" in probe.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as attempt:
            attempt.settimeout(patience)
            attempt.connect((probe.host, probe.port))
            if udp:
                attempt.send(_STATUS)
                attempt.send(_QUESTION)
                attempt.recv(512)
    except TimeoutError:
        return _SILENT
    except OSError as error:
        return _REFUSED if error.errno in (errno.ECONNREFUSED, errno.ECONNRESET, errno.EACCES) else _UNREACHABLE
    return _CONNECTED
