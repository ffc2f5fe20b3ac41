"""Go's own implementation of notes and trees reads ours: golang.org/x/mod, which a public log is built with."""

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from fairtrial import documents
from fairtrial.attest import note
from fairtrial.attest.note import Checkpoint
from fairtrial.cohort.ledger import Ledger, LedgerEntry
from fairtrial.signing import keys, sign
from local_cluster import binaries

HERE = Path(__file__).parent
ORIGIN = note.origin("bench", "pilot", "5d0c9a52-0f1e-4c7e-9d0a-6f0e3b1c2a01")

pytestmark = pytest.mark.skipif(not shutil.which("go"), reason="Go builds the second implementation")


@pytest.fixture(scope="module")
def program() -> Path:
    return binaries.build("notes", ".", HERE) / "notes"


def accepted(program: Path, folder: Path, vkey: str, signed: bytes, leaves: list[bytes]) -> str:
    """What Go says about a note: `ok`, or why not."""
    (folder / "note").write_bytes(signed)
    (folder / "leaves").write_bytes(b"".join(base64.b64encode(leaf) + b"\n" for leaf in leaves))
    command = [program, vkey, folder / "note", folder / "leaves"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr.strip()


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 257])
def test_go_verifies_checkpoints_of_a_ledger_and_finds_what_was_changed(
    size: int, program: Path, tmp_path: Path
) -> None:
    key, ledger = keys.new(tmp_path / "operator.key"), Ledger("pilot", "uid")
    tickets = [LedgerEntry("ticket", run=f"pilot-{index:05d}", index=index) for index in range(1, size)]
    page = ledger.page([LedgerEntry("sealed", sha256="1" * 64), *tickets], "2026-01-01T12:00:00Z")
    ledger.take(page.to_bytes())
    leaves = [documents.dump(entry.to_json()) for entry in page.entries]
    signed = sign.checkpoint(Checkpoint(ORIGIN, size, ledger.checkpoints[size]), key)
    vkey = note.vkey(ORIGIN, key.public)

    assert accepted(program, tmp_path, vkey, signed, leaves) == "ok"
    assert "the leaves give" in accepted(program, tmp_path, vkey, signed, [*leaves[:-1], b"other"])
    bent = signed.replace(f"\n{size}\n".encode(), f"\n{size + 1}\n".encode())
    assert "invalid signature" in accepted(program, tmp_path, vkey, bent, leaves)
    other = note.vkey(ORIGIN, keys.new(tmp_path / "other.key").public)
    assert "no verifiable signatures" in accepted(program, tmp_path, other, signed, leaves)
