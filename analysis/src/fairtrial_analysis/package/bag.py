"""The tag files of a bag (BagIt 1.0, RFC 8493): manifest, where the rest is fetched from, what it is. Pure.

None holds a date or a host, so that the same evidence gives the same bytes. Both manifests are also what
`sha256sum -c --strict` reads: two spaces, LF, sorted by path.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata, resources

from fairtrial.evidence import layout
from fairtrial.evidence.package_paths import PAYLOAD, PackageLayout
from fairtrial_analysis.package.listing import File

BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
SOFTWARE = "fairtrial"


def manifest(files: Iterable[File]) -> Iterator[bytes]:
    """Lines of manifest-sha256.txt, which names every payload file."""
    return (f"{file.sha256}  {PAYLOAD}{file.path}\n".encode() for file in files)


def fetch(files: Iterable[File], keys: PackageLayout, bucket: str) -> Iterator[bytes]:
    """Lines of fetch.txt: where each payload file lies that is not stored with the package."""
    for file in files:
        key = keys.key(file.path)
        if key is not None:
            yield f"{layout.uri(bucket, key)} {file.size} {PAYLOAD}{file.path}\n".encode()


def bag_info(keys: PackageLayout, size: int, count: int) -> bytes:
    """bag-info.txt: whose bag it is, how much is in it, what made it."""
    lines = {
        "Bagging-Software": f"{SOFTWARE} {version()}",
        "External-Identifier": f"{keys.namespace}/{keys.cohort}/{keys.uid}",
        "Payload-Oxum": f"{size}.{count}",
    }
    return "".join(f"{name}: {value}\n" for name, value in lines.items()).encode()


def tag_manifest(digests: Mapping[str, str]) -> bytes:
    """tagmanifest-sha256.txt, from the digests of the tag files by their names."""
    return b"".join(f"{digest}  {name}\n".encode() for name, digest in sorted(digests.items()))


def verify_md() -> bytes:
    """VERIFY.md: how to check a package, with tools that are not ours first."""
    return resources.files(__package__).joinpath("VERIFY.md").read_bytes()


def version() -> str:
    """The version of this software."""
    return metadata.version("fairtrial")


def digest(chunks: Iterable[bytes]) -> str:
    """SHA-256 of a file that is made in pieces."""
    made = hashlib.sha256()
    for chunk in chunks:
        made.update(chunk)
    return made.hexdigest()
