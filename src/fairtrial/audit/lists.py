"""The lists of a package: which file has which digest, and where each comes from. Strict: one form, or a finding."""

import re
from dataclasses import dataclass

from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder, is_name

MANIFEST, TAGMANIFEST, FETCH = "manifest-sha256.txt", "tagmanifest-sha256.txt", "fetch.txt"

_LINE = re.compile(r"([0-9a-f]{64})  ([^\s].*)")
_FETCH_LINE = re.compile(r"(s3://[a-z0-9][a-z0-9._/-]*) ([0-9]{1,18}) ([^\s].*)")


@dataclass(frozen=True)
class Fetched:
    """A line of fetch.txt."""

    uri: str
    size: int


def digests(folder: Folder, path: str) -> dict[str, str]:
    """The digests of a manifest, by path; what can't be read is a finding, and the rest is used."""
    made: dict[str, str] = {}
    for number, line in _lines(folder, path):
        found = _LINE.fullmatch(line)
        if found is None:
            folder.findings.add("LIST_MALFORMED", path, f"Line {number} is no digest, two spaces and a path.")
        elif _usable(found[2], path, made, folder.findings):
            made[found[2]] = found[1]
    return made


def fetched(folder: Folder) -> dict[str, Fetched]:
    """Where files lie that are stored elsewhere, by path."""
    made: dict[str, Fetched] = {}
    for number, line in _lines(folder, FETCH):
        found = _FETCH_LINE.fullmatch(line)
        if found is None:
            folder.findings.add("LIST_MALFORMED", FETCH, f"Line {number} is no s3:// address, size and path.")
        elif _usable(found[3], FETCH, made, folder.findings):
            made[found[3]] = Fetched(found[1], int(found[2]))
    return made


def _lines(folder: Folder, path: str) -> list[tuple[int, str]]:
    data = folder.read(path)
    if data is None:
        return []
    if data and not data.endswith(b"\n"):
        folder.findings.add("LIST_MALFORMED", path, "Its last line has no end: it may be cut off.")
    # ASCII only; what is not shows up as a line of another form. Split at newlines alone: readers agree on no other.
    return list(enumerate(data.decode("ascii", "backslashreplace").removesuffix("\n").split("\n"), 1)) if data else []


def _usable(named: str, path: str, made: dict[str, str] | dict[str, Fetched], findings: Findings) -> bool:
    if named.startswith("/") or any(part in ("", ".", "..") for part in named.split("/")):
        findings.add("PATH_UNSAFE", path, f"Names {named}, which is not a plain path inside the package.")
        return False
    if not is_name(named):
        findings.add("NAME_UNSAFE", path, f"Names {named}.")
        return False
    if named in made:
        findings.add("LIST_DUPLICATE", path, f"Names {named} twice.")
    return True
