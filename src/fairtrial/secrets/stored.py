"""What the scan of a pod's artifacts found: `artifacts/scan/agent.json` and `artifacts/scan/evaluation.json` of a run.

The gateway makes one for each pod, before the pod's report is stored: where there is a report, and there was anything
to look for, there is a scan. Pure, standard library only.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from fairtrial.documents import RunIdentity

AGENT, EVALUATION = "scan/agent.json", "scan/evaluation.json"
BY_FOLDER = {"agent/": AGENT, "evaluation/": EVALUATION}
LEAKS_MAX = 100
_STREAMS = "streams"


@dataclass(frozen=True)
class StoredLeak:
    """A credential or a canary in an artifact: its name, how it was written, where. Never the secret, and no name of a
    file in an archive, since whoever wrote the secret chose that too.
    """

    name: str
    encoding: str
    artifact: str  # or a stream, such as agent/streams/stdout, whose pieces are read as one
    offset: int  # of the byte after it; in `unpacked`, counted in what was unpacked
    where: Literal["content", "unpacked"] = "content"  # unpacked: in a compressed file of an archive


@dataclass(frozen=True)
class ArtifactScan:
    """What was looked for in a pod's artifacts, its report among them, and what was found."""

    run: RunIdentity
    state: Literal["done", "failed"]
    reason: str = ""  # why it failed: secrets_unreadable, too_slow, too_large, unreadable_archive or damaged_artifact
    secrets: list[str] = field(default_factory=list)  # the names of what was looked for
    artifacts: int = 0
    bytes: int = 0
    leaks: list[StoredLeak] = field(default_factory=list)
    schema_version: int = 1


def found_in(scans: Iterable[ArtifactScan]) -> list[StoredLeak]:
    """All findings."""
    return [leak for scan in scans for leak in scan.leaks]


def unscanned(scans: Iterable[ArtifactScan]) -> bool:
    """Whether anything was not searched to its end."""
    return any(scan.state != "done" for scan in scans)


def joined(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Artifacts as they are to be read: a stream's pieces in their order, as one, and everything else by itself."""
    streams: dict[str, list[str]] = {}
    for name in sorted(names):
        folder, _, last = name.rpartition("/")
        if last.isdecimal() and _STREAMS in folder.split("/"):
            streams.setdefault(folder, []).append(name)
        else:
            yield name, [name]
    for folder, pieces in streams.items():
        yield folder, sorted(pieces, key=lambda piece: int(piece.rpartition("/")[2]))
