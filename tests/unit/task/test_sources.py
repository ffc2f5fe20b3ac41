"""Archives of released packages: verified by digest, taken by glob, never run."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from fairtrial.errors import InvalidInput, UnsafeArchive
from fairtrial.task import sources
from fairtrial.task.model import PinnedVersion, Selection, Source


def released(files: dict[str, bytes], *, link: bool = False) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo("p-1/evil")
            info.type, info.linkname = tarfile.SYMTYPE, "/etc"
            tar.addfile(info)
    return sink.getvalue()


def source(sha256: str) -> Source:
    pinned = PinnedVersion(version="1", sha256=sha256)
    selection = Selection(include=["src/**"])
    return Source(registry="pypi", package="p", base=pinned, solution=pinned, project=selection, reference=selection)


def test_a_cached_archive_is_verified_and_its_files_are_taken_by_glob(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path))
    data = released({"p-1/src/a.py": b"a", "p-1/src/tests/t.py": b"t", "p-1/setup.py": b"boom"}, link=True)
    digest = hashlib.sha256(data).hexdigest()
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / digest).write_bytes(data)
    wanted = source(digest)

    path = sources.archive(wanted, wanted.base)
    count = sources.take(path, Selection(include=["src/**"], exclude=["**/tests/**"]), tmp_path / "out")

    assert count == 1
    assert [p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.py")] == ["src/a.py"]


def test_another_content_under_a_digest_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path))
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / ("a" * 64)).write_bytes(b"other")
    wanted = source("a" * 64)

    with pytest.raises(InvalidInput, match="is pinned"):
        sources.archive(wanted, wanted.base)


@pytest.mark.parametrize("data", [b"no archive", released({"p-1/../../evil": b"x"})])
def test_archives_that_are_none_or_lead_out_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "archive"
    path.write_bytes(data)

    with pytest.raises(UnsafeArchive):
        sources.take(path, Selection(include=["**"]), tmp_path / "out")
