"""Fixtures from released packages: download a pinned archive by the registry's own client, verify, take files.

Nothing of a package runs here. Archives are cached by digest, so that a task is fetched once per machine.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from fairtrial.errors import FairtrialError, InvalidInput, UnsafeArchive
from fairtrial.task import pip_fetch
from fairtrial.task.globs import matcher
from fairtrial.task.model import PinnedVersion, Selection, Source

_TIMEOUT = 300
_MEMBERS_MAX, _BYTES_MAX = 20_000, 256 * 1024 * 1024


class SourceUnavailable(FairtrialError):
    """A registry, or the client that speaks with it, did not give the archive."""

    reason = "SourceUnavailable"


def cache_folder() -> Path:
    """Where downloaded archives are kept."""
    chosen = os.environ.get("FAIRTRIAL_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fairtrial"


def archive(source: Source, version: PinnedVersion) -> Path:
    """The pinned archive, from the cache or from the registry."""
    cached = cache_folder() / "sources" / version.sha256
    if not cached.is_file():
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            download = _npm if source.registry == "npm" else _pypi
            fetched = download(source.package, version.version, Path(folder))
            _verify(fetched, version.sha256, f"{source.package} {version.version}")
            fetched.replace(cached)
    _verify(cached, version.sha256, str(cached))
    return cached


def take(path: Path, selection: Selection, target: Path) -> int:
    """Write the selected files of an archive below `target`; how many there were. Links and devices are left out."""
    count = 0
    wanted, unwanted = matcher(selection.include), matcher(selection.exclude)
    for name, data, executable in _files(path):
        if wanted(name) and not unwanted(name):
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            place.chmod(0o755 if executable else 0o644)
            count += 1
    return count


def _files(path: Path) -> Iterator[tuple[str, bytes, bool]]:
    """The regular files of a released tar archive, without its top folder."""
    total = 0
    try:
        with tarfile.open(path) as tar:
            for index, member in enumerate(tar):
                total += member.size
                if index > _MEMBERS_MAX or total > _BYTES_MAX:
                    raise UnsafeArchive(f"{path}: has too many or too big files.")
                parts = PurePosixPath(member.name).parts
                if not member.isreg() or len(parts) < 2:  # noqa: PLR2004 — a top folder and a name
                    continue
                if member.name.startswith("/") or ".." in parts:
                    raise UnsafeArchive(f"{path}: {member.name!r} leads out of the archive.")
                file = tar.extractfile(member)
                assert file is not None
                yield "/".join(parts[1:]), file.read(), bool(member.mode & 0o100)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UnsafeArchive(f"{path}: is not a readable tar archive: {error}.") from error


def _pypi(package: str, version: str, folder: Path) -> Path:
    target = folder / "archive"
    _run([sys.executable, pip_fetch.__file__, package, version, str(target)], f"{package} {version}")
    return target


def _npm(package: str, version: str, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceUnavailable(
            "npm is not on the PATH.", next_move="Install Node.js with npm, which fetches the fixture."
        )
    argv = [npm, "pack", f"{package}@{version}", "--ignore-scripts", "--json", "--pack-destination", str(folder)]
    listing = json.loads(_run(argv, f"{package} {version}", cwd=folder))
    return folder / Path(listing[0]["filename"].replace("@", "").replace("/", "-")).name


def _run(argv: list[str], what: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT, check=False, cwd=cwd)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceUnavailable(f"{what}: {argv[0]}: {error}.") from error
    if done.returncode:
        words = done.stderr.strip().splitlines()
        raise SourceUnavailable(f"{what}: {words[-1] if words else f'{argv[0]} ended with {done.returncode}'}")
    return done.stdout


def _verify(path: Path, sha256: str, what: str) -> None:
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != sha256:
        raise InvalidInput(
            f"task.yaml: source: {what} has SHA-256 {actual}, but {sha256} is pinned.",
            next_move="Correct the pin if this archive is the one that you mean; delete a cached file that is broken.",
        )
