"""Every file there is listed, every file listed is there, and each has its digest: the world is closed.

BagIt alone does not close it: a bag with an added tag file, or without any tag manifest, is valid to its readers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.audit import lists
from fairtrial.audit.findings import Findings
from fairtrial.audit.folder import Folder
from fairtrial.audit.lists import FETCH, MANIFEST, TAGMANIFEST, Fetched

SIGNATURE, TOKEN = f"{MANIFEST}.sigstore.json", "manifest-sha256.txt.tsr"
SIGNED_TAGS = (MANIFEST, "bagit.txt", "bag-info.txt", FETCH, "VERIFY.md")
TAGS = (*SIGNED_TAGS, TAGMANIFEST, SIGNATURE, TOKEN)
BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
# Without these there is nothing to verify.
NEEDED = (
    "bagit.txt", "bag-info.txt", MANIFEST, "data/preregistration.json", "data/ledger/00000001.json",
    "data/analysis/request.json", "data/analysis/report.json", "data/analysis/runs.csv", "data/analysis/report.html",
)  # fmt: skip
# What a package may hold below data/, and what of it is checked elsewhere.
_KNOWN = re.compile(
    r"""preregistration(\.study)?(\.sigstore)?\.json | preregistration\.tsr | (construction|runtime)\.json
    | (ledger|corrections)/[0-9]{8}\.json | checkpoints/[0-9]{8}\.note(\.tsr)?
    | runs/[^/]+/(record\.json|(record|evaluation)\.sigstore\.json|artifacts/.+|(model|tool)/[^/]+/[^/]+)
    | (tasks|sealed)/sha256/[0-9a-f]{64} | (commitments|withheld|trust|ro-crate-metadata)\.json
    | release\.sigstore\.json
    | analysis/(request\.json|report\.json|report\.html|runs\.csv|runs\.parquet)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Listed:
    """What the lists say and the files have."""

    manifest: Mapping[str, str]  # digest of every payload file, as listed
    tags: Mapping[str, str]  # digest of every tag file, as it is
    payload: Mapping[str, str]  # digest of every payload file, as it is


def check(folder: Folder) -> Listed:
    """Compare lists and files, hashing every file once."""
    findings = folder.findings
    manifest, tagmanifest = lists.digests(folder, MANIFEST), lists.digests(folder, TAGMANIFEST)
    sources = lists.fetched(folder)
    actual = {path: digest for path in sorted(folder.sizes) if (digest := folder.sha256(path)) is not None}
    for path in NEEDED:
        if path not in folder and path not in manifest:
            findings.add("PACKAGE_INCOMPLETE", path, "Every package has it.")
    _compare(manifest, actual, MANIFEST, sources, findings)
    _compare(tagmanifest, actual, TAGMANIFEST, sources, findings)
    for path in folder.sizes:
        if path not in manifest and path not in TAGS:
            findings.add("FILE_UNLISTED", path, f"{MANIFEST} does not name it.")
    _tags(tagmanifest, folder)
    _fetch(manifest, actual, sources, folder)
    _bag_info(manifest, actual, folder)
    for path in manifest:
        if path.startswith("data/") and not _KNOWN.fullmatch(path.removeprefix("data/")):
            findings.add("FILE_UNKNOWN", path, "Is no file of a package: nothing says what it is.")
    payload = {path: digest for path, digest in actual.items() if path.startswith("data/")}
    return Listed(manifest, {path: actual[path] for path in TAGS if path in actual}, payload)


def _compare(
    listed: Mapping[str, str], actual: Mapping[str, str], name: str, sources: Mapping[str, Fetched], findings: Findings
) -> None:
    for path, digest in listed.items():
        if path.startswith("data/") != (name == MANIFEST):
            findings.add("LIST_MALFORMED", name, f"Names {path}, which belongs into the other list.")
        elif path not in actual:
            hint = f" It lies at {sources[path].uri}: run `fairtrial fetch` again." if path in sources else ""
            findings.add("FILE_MISSING", path, f"{name} names it.{hint}")
        elif actual[path] != digest:
            findings.add("HASH_MISMATCH", path, f"Has SHA-256 {actual[path]}; {name} says {digest}.")


def _tags(tagmanifest: Mapping[str, str], folder: Folder) -> None:
    if TAGMANIFEST not in folder:
        folder.findings.add("TAGMANIFEST_MISSING", TAGMANIFEST, "It must list every tag file.")
        return
    for path in SIGNED_TAGS:
        if path not in tagmanifest and path in folder:
            folder.findings.add("TAGMANIFEST_MISSING", TAGMANIFEST, f"Does not list {path}.")


def _fetch(
    manifest: Mapping[str, str], actual: Mapping[str, str], sources: Mapping[str, Fetched], folder: Folder
) -> None:
    """Where files come from: only listed ones, each of the size that it has if it is as listed."""
    for path, source in sources.items():
        if path not in manifest:
            folder.findings.add("FETCH_MISMATCH", FETCH, f"Names {path}, which {MANIFEST} does not.")
        elif actual.get(path) == manifest[path] and folder.sizes[path] != source.size:
            folder.findings.add("FETCH_MISMATCH", FETCH, f"Gives {path} {source.size} bytes, not {folder.sizes[path]}.")


def _bag_info(manifest: Mapping[str, str], actual: Mapping[str, str], folder: Folder) -> None:
    """bagit.txt has one form; the payload's size and number are counted again, where all of it is as listed."""
    if (text := folder.read("bagit.txt")) is not None and text != BAGIT:
        folder.findings.add("BAG_INFO_MISMATCH", "bagit.txt", "Is not that of BagIt 1.0 in UTF-8.")
    data = folder.read("bag-info.txt")
    if data is None or any(actual.get(path) != digest for path, digest in manifest.items()):
        return
    oxum = f"Payload-Oxum: {sum(folder.sizes[path] for path in manifest)}.{len(manifest)}"
    if oxum.encode() not in data.split(b"\n"):
        folder.findings.add("BAG_INFO_MISMATCH", "bag-info.txt", f"Does not say {oxum}.")
