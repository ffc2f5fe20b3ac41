"""docs/audit.md, followed word for word by somebody who has a package, a trust list and no network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairtrial.attest import merkle, note
from fairtrial.attest.note import Checkpoint
from fairtrial.signing import sign
from tests.unit.audit.world import KEYS, TRUST, base, good

PAGE = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FLIPPED = "data/analysis/report.json"


def follow(block: str, package: Path) -> "subprocess.CompletedProcess[str]":
    """The commands of a block in the package's folder, in an empty network namespace."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["unshare", "-rn", "bash", "-euo", "pipefail", "-c", block]
    return subprocess.run(
        command, cwd=package, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def kept(package: Path) -> Path:
    """The package, with beside it what the page says to have."""
    (package.parent / "trust.json").write_bytes(TRUST.to_bytes())
    (package.parent / "kept.note").write_bytes(good()["data/checkpoints/00000001.note"])
    return package


def test_common_tools_say_nothing_of_a_good_package(kept: Path):
    done = follow(BLOCKS[0], kept)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_each_way_to_verify_finds_nothing(kept: Path):
    commands = [line for line in BLOCKS[1].splitlines() if line]

    assert len(commands) == 4
    for command in commands:
        done = follow(command, kept)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert ('"findings":[]' in done.stdout.replace(" ", "")) == ("--json" in command)


def test_a_flipped_byte_is_told_with_its_file(kept: Path):
    done = follow(BLOCKS[2], kept)

    assert done.returncode == 1
    assert "HASH_MISMATCH" in done.stdout
    assert FLIPPED in done.stdout
    assert (kept / FLIPPED).read_bytes() == good()[FLIPPED]


@pytest.mark.parametrize("command", ["fairtrial verify", "python -m fairtrial.audit"])
def test_a_kept_checkpoint_of_another_history_is_told_by_either_command(kept: Path, command: str):
    said = Checkpoint(note.origin("trials", "cohort-1", cohort_uid()), 1, merkle.root([b"another first entry"]))
    (kept.parent / "kept.note").write_bytes(sign.checkpoint(said, KEYS["operator"]))

    done = follow(f"{command} . --trust ../trust.json --checkpoint ../kept.note", kept)

    assert done.returncode == 1
    assert re.findall(r"^([A-Z_]+) \(", done.stdout, re.MULTILINE) == ["LEDGER_FORK"]


def cohort_uid() -> str:
    return str(base().preregistration["cohort"]["uid"])
