"""Writes a package to the store: create-only, equal files adopted, the statement last.

What was stopped half-way is finished by the next attempt, which makes the same bytes. A package is there once its last
file is: the statement, or for an unsigned one the manifest.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.objects import ObjectStore
from fairtrial.evidence.package_paths import PAYLOAD, own_key
from fairtrial.signing import storing
from fairtrial.signing.keys import SigningKey
from fairtrial_analysis.package.build import Package

CHUNK = 1024 * 1024
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Published:
    """Where a package lies."""

    uri: str
    digest: str
    signed: bool


def publish(package: Package, store: ObjectStore, key: SigningKey | None, timestamp_url: str = "") -> Published:
    """Write all files that only the package has. May be repeated; `Conflict` if other bytes lie there."""
    base = package.keys.cohort_keys.package(package.digest)
    files = {f"{PAYLOAD}{path}": data for path, data in package.own.items()}
    for path, data in {**files, **package.tags, paths.TAG_MANIFEST: package.tag_manifest}.items():
        store.put(own_key(base, path), data, media_type=_media(path))
    _stream(store, own_key(base, paths.FETCH), package.fetch())
    _stream(store, own_key(base, paths.MANIFEST), package.manifest())
    if timestamp_url:
        storing.keep_timestamp(store, own_key(base, paths.TIMESTAMP), b"".join(package.manifest()), timestamp_url)
    if key is not None:
        storing.keep_statement(store, own_key(base, paths.STATEMENT), package.statement, key)
    return Published(package.uri, package.digest, signed=key is not None)


def _stream(store: ObjectStore, key: str, lines: Iterable[bytes]) -> None:
    upload = store.open_upload(key, media_type=_MEDIA[".txt"])
    try:
        chunk = bytearray()
        for line in lines:
            chunk += line
            if len(chunk) >= CHUNK:
                upload.write(bytes(chunk))
                chunk.clear()
        upload.write(bytes(chunk))
        upload.commit()
    except BaseException:
        upload.abort()
        raise


def _media(path: str) -> str:
    _, dot, ending = path.rpartition(".")
    return _MEDIA.get(dot + ending, "application/octet-stream")
