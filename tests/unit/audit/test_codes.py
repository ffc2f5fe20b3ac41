"""Every code that the verifier knows is given by some test of a whole package; here those that need more than files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairtrial.attest.trust import TimestampAuthority, TrustList
from fairtrial.audit import folder, signatures
from fairtrial.audit.findings import CODES
from fairtrial.audit.verify import verify
from tests.unit.audit import shapes
from tests.unit.audit.tampering import CASES, DIFF
from tests.unit.audit.world import TRUST, good, relisted, written

# Codes that need another trust list, a checkpoint or a clock, and the module whose tests give each.
ELSEWHERE = {
    "test_elsewhere": {
        "LEAK_PUBLISHED", "LEDGER_FORK", "LEDGER_TRUNCATED", "TS_AFTER_FIRST_RUN", "TS_INVALID", "TS_MISSING",
        "TS_UNTRUSTED", "WITHHELD_INVALID",
    },
    "test_limits": {"SIG_KEY_NOT_VALID"},
    "test_codes": {"DOCUMENT_TOO_LARGE", "FILE_UNREADABLE", "TS_UNCHECKED"},
}  # fmt: skip


def test_there_is_no_code_that_no_test_gives():
    assert shapes.CASES is CASES
    given = set().union(*(codes for _, codes in CASES.values()), *ELSEWHERE.values())

    assert set(CODES) == given
    for module, codes in ELSEWHERE.items():
        text = Path(__file__).with_name(f"{module}.py").read_text()
        assert {code for code in codes if text.count(f'"{code}"') < (2 if module == "test_codes" else 1)} == set()


def test_a_document_that_is_too_large_is_told_and_never_read(package: Path, monkeypatch: pytest.MonkeyPatch):
    largest = max((path for path in good() if path.endswith(".json")), key=lambda path: len(good()[path]))
    monkeypatch.setattr(folder, "DOCUMENT_MAX", len(good()[largest]) - 1)

    found = verify(package, TRUST).findings

    assert {one.path for one in found if one.code == "DOCUMENT_TOO_LARGE"} == {largest}


def test_a_file_that_the_system_does_not_open_is_told_and_the_rest_is_verified(
    package: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: Callable[..., int] = os.open

    def refuse(path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith(DIFF):
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **more)

    monkeypatch.setattr(folder.os, "open", refuse)

    found = list(verify(package, TRUST).findings)

    assert {(one.code, one.path) for one in found} == {("FILE_UNREADABLE", DIFF), ("FILE_MISSING", DIFF)}
    assert "Permission denied" in found[0].says + found[1].says


def test_a_token_that_nothing_here_reads_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    listed = TrustList(TRUST.keys, (TimestampAuthority("clock", (), ""),))
    files = relisted(good() | {"data/trust.json": listed.to_bytes(), "data/preregistration.tsr": b"a token"})

    def absent(*_: object, **__: object) -> None:
        raise ImportError("rfc3161_client")

    monkeypatch.setattr(signatures.timestamp, "verify", absent)

    assert verify(written(files, tmp_path / "p"), listed).findings.codes == {"TS_UNCHECKED"}
