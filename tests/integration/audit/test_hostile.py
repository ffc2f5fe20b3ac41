"""Whatever a package holds: a finding, never an exception, and nothing outside it is read or reached."""

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairtrial.attest import canonical
from fairtrial.audit.documents import jcs
from fairtrial.audit.verify import Result, verify
from tests.unit.audit.tampering import DIFF, RECORD
from tests.unit.audit.world import TRUST, good, relisted, written

Checked = Callable[[dict[str, bytes]], Result]
PATHS = sorted(good())
DOCUMENTS = [path for path in PATHS if path.endswith((".json", ".note", ".txt", ".csv"))]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(good(), tmp_path_factory.mktemp("hostile") / "package")


def codes_with(folder: Path, path: str, data: bytes) -> Result:
    """Verify with other bytes in one file, and put it back."""
    (folder / path).write_bytes(data)
    try:
        return verify(folder, TRUST)
    finally:
        (folder / path).write_bytes(good()[path])


@pytest.mark.parametrize(
    "kind", ["preregistration", "ledger", "record.json", "sigstore", "report", "note", "txt", "tar"]
)
def test_a_flipped_byte_is_found_where_it_is(kind: str, shared: Path):
    wheel = random.Random(kind)
    for path in wheel.sample(found := [path for path in PATHS if kind in path], min(2, len(found))):
        data = bytearray(good()[path])
        data[wheel.randrange(len(data))] ^= 1 << wheel.randrange(8)

        result = codes_with(shared, path, bytes(data))

        assert path in {one.path for one in result.findings}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(PATHS), seed=st.integers(0, 2**32), how=st.sampled_from(["flip", "cut", "twice", "zero"]))
def test_damage_of_any_kind_is_found_where_it_is(path: str, seed: int, how: str, shared: Path):
    data, at = good()[path], random.Random(seed).randrange(max(len(good()[path]), 1))
    damaged = {
        "flip": data[:at] + bytes([data[at] ^ (1 + seed % 255)]) + data[at + 1 :] if data else b"x",
        "cut": data[:at] if data else b"x",
        "twice": data + data if data else b"x",
        "zero": data[:at] + bytes(len(data) - at) if data else b"x",
    }[how]
    if damaged == data:
        return

    assert path in {one.path for one in codes_with(shared, path, damaged).findings}


@settings(max_examples=12, deadline=None)
@given(path=st.sampled_from(DOCUMENTS), seed=st.integers(0, 2**32))
def test_nothing_that_insiders_sign_makes_it_crash(path: str, seed: int):
    """The lists fit and are signed: only what is inside the document can be wrong with it."""
    wheel = random.Random(seed)
    data = good()[path]
    pieces = [b"null", b"[]", b"{}", b'""', b"-1", b"1e400", b"true", b'"x"', b"9" * 30, b"\xff", b"\x00"]
    at = wheel.randrange(len(data))
    other = data[:at] + wheel.choice(pieces) + data[at + wheel.randrange(20) :]
    files = relisted(good() | {path: other}) if path.startswith("data/") else good() | {path: other}
    with tempfile.TemporaryDirectory() as folder:
        verify(written(files, Path(folder)), TRUST)


@pytest.mark.parametrize(
    "field", ["artifacts", "identity", "usage", "evaluation", "timings", "classification", "lineage"]
)
@pytest.mark.parametrize("value", ["null", "[]", "{}", "1", '"x"'])
def test_a_record_of_another_shape_is_a_finding(field: str, value: str, checked: Checked):
    record = canonical.parse(good()[RECORD], name="record")
    record[field] = canonical.parse(value.encode(), name="value")

    result = checked(relisted(good() | {RECORD: canonical.to_bytes(record)}))

    assert RECORD in {one.path for one in result.findings}


# --- what lies in the folder ------------------------------------------------------------------------------------------
def test_links_and_devices_are_not_followed(package: Path, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_bytes(good()[DIFF])
    (package / DIFF).unlink()
    (package / DIFF).symlink_to(secret)
    os.mkfifo(package / "data/pipe.txt")
    (package / "data/runs/around").symlink_to(package)

    result = verify(package, TRUST)

    assert result.findings.codes == {"PATH_UNSAFE", "FILE_MISSING"}
    assert {one.path for one in result.findings if one.code == "PATH_UNSAFE"} == {
        DIFF,
        "data/pipe.txt",
        "data/runs/around",
    }


def test_folders_without_an_end_are_not_walked(package: Path):
    (package / "data" / "/".join(["deep"] * 40)).mkdir(parents=True)

    assert verify(package, TRUST).findings.codes == {"PATH_UNSAFE"}


def test_an_archive_is_hashed_and_never_unpacked(checked: Checked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "unpack_archive", None)
    for name in ("tarfile", "zipfile", "subprocess"):
        monkeypatch.setitem(sys.modules, name, None)
    snapshot = DIFF.replace("diff.patch", "snapshot.tar")

    assert checked(good() | {snapshot: b"PK\x03\x04" + bytes(1000)}).findings.codes == {"HASH_MISMATCH"}


def test_a_folder_of_nothing_is_told_as_such(tmp_path: Path):
    codes = verify(tmp_path, TRUST).findings.codes

    assert {"PACKAGE_INCOMPLETE", "TAGMANIFEST_MISSING", "SIG_MISSING"} <= codes


# --- no network -------------------------------------------------------------------------------------------------------
def test_it_opens_no_socket(package: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a verification reached for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert verify(package, TRUST).findings.codes == set()


def test_it_runs_where_there_is_no_network(package: Path, tmp_path: Path):
    if subprocess.run(["unshare", "-rn", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel gives nobody a network namespace of their own")
    (tmp_path / "trust.json").write_bytes(TRUST.to_bytes())
    command = [sys.executable, "-m", "fairtrial.audit", str(package), "--trust", str(tmp_path / "trust.json")]

    done = subprocess.run(["unshare", "-rn", *command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


# --- numbers as RFC 8785 writes them ----------------------------------------------------------------------------------
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floating_point_is_written_as_the_library_writes_it(number: float):
    import rfc8785

    assert jcs({"n": number}).encode() == rfc8785.dumps({"n": number})
