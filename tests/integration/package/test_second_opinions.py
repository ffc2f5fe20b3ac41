"""What VERIFY.md tells an auditor to run, as it stands there, without a network: sha256sum, bagit, cosign, openssl."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairtrial.evidence import package_paths as paths
from tests.authority import Authority
from tests.integration.package.conftest import Bucket

# The first test builds cosign where the cache has none.
pytestmark = pytest.mark.timeout(1800)

RUN = "example-00001"
Offline = Callable[..., "subprocess.CompletedProcess[str]"]
FLIPPED = ["data/preregistration.json", f"data/runs/{RUN}/artifacts/agent/snapshot.tar", "data/analysis/report.html"]


@pytest.fixture
def package(fetched: Path, bucket: Bucket, tsa: Authority, tmp_path: Path) -> Path:
    """A copy to work on, with the trust list, its keys and the authority's root beside it as VERIFY.md says."""
    folder = tmp_path / "package"
    shutil.copytree(fetched, folder)
    (tmp_path / "trust.json").write_bytes(bucket.trust.to_bytes())
    for command in commands(folder, "python3"):
        subprocess.run(["bash", "-c", command], cwd=folder, check=True)
    (tmp_path / "authority.pem").write_text(tsa.root_pem)
    return folder


def commands(package: Path, word: str) -> list[str]:
    """The commands of VERIFY.md that begin with `word`, lines that are continued joined."""
    text = (package / paths.VERIFY).read_text().replace("\\\n", " ").replace("/RUN/", f"/{RUN}/")
    return re.findall(rf"^    ({word} .*)$", text, flags=re.MULTILINE)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_sha256sum_takes_both_lists_as_they_are(package: Path, offline: Offline) -> None:
    told = commands(package, "sha256sum")

    assert len(told) == 2
    for command in told:
        done = offline("bash", "-c", command, cwd=package)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", FLIPPED)
def test_sha256sum_names_the_file_in_which_a_bit_was_flipped(package: Path, offline: Offline, path: str) -> None:
    flip(package / path)

    done = offline("bash", "-c", commands(package, "sha256sum")[0], cwd=package)

    assert done.returncode == 1
    assert f"{path}: FAILED" in done.stdout


def test_the_keys_are_those_of_the_list_and_lie_beside_the_package(
    package: Path, fetched: Path, bucket: Bucket
) -> None:
    keys = {key.role: key.key.pem for key in bucket.trust.keys}

    assert {path.stem: path.read_text() for path in package.parent.glob("*.pub")} == keys
    assert {path.name for path in package.iterdir()} == {path.name for path in fetched.iterdir()}


def test_bagit_accepts_the_package_and_not_one_with_a_file_more(fetched: Path, package: Path, offline: Offline) -> None:
    bagit = [sys.executable, "-m", "bagit", "--validate", "--quiet"]
    assert offline(*bagit, fetched, cwd=fetched).returncode == 0

    (package / "data/runs" / RUN / "more.txt").write_text("more")
    assert offline(*bagit, package, cwd=package).returncode == 1


def test_cosign_accepts_the_statements_of_package_record_and_evaluation(
    package: Path, offline: Offline, cosign: Path
) -> None:
    told = commands(package, "cosign")

    assert len(told) == 3
    for command in told:
        done = offline("bash", "-c", command.replace("cosign", str(cosign), 1), cwd=package)
        assert (done.returncode, "Verified OK" in done.stderr) == (0, True), done.stderr


@pytest.mark.parametrize(
    "path", ["manifest-sha256.txt", f"data/runs/{RUN}/record.json", f"data/runs/{RUN}/artifacts/agent/snapshot.tar"]
)
def test_cosign_refuses_what_has_a_flipped_bit(package: Path, offline: Offline, cosign: Path, path: str) -> None:
    [command] = [one for one in commands(package, "cosign") if one.endswith(path)]
    flip(package / path)

    done = offline("bash", "-c", command.replace("cosign", str(cosign), 1), cwd=package)

    assert done.returncode != 0
    assert "do not match" in done.stderr


def test_cosign_refuses_a_statement_that_was_edited_or_is_of_another_role(
    package: Path, offline: Offline, cosign: Path
) -> None:
    [command, *_] = commands(package, "cosign")
    command = command.replace("cosign", str(cosign), 1)
    foreign = offline("bash", "-c", command.replace("../analysis.pub", "../operator.pub"), cwd=package)
    statement = package / paths.STATEMENT
    text = statement.read_text()
    at = text.index('"payload":"') + 200
    statement.write_text(text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :])
    edited = offline("bash", "-c", command, cwd=package)

    assert foreign.returncode != 0
    assert edited.returncode != 0


def by_openssl(package: Path, offline: Offline) -> "subprocess.CompletedProcess[str]":
    """The block of VERIFY.md that needs nothing but OpenSSL and a shell, with its scratch files beside the package."""
    text = (package / paths.VERIFY).read_text()
    [block] = re.findall(r"with OpenSSL 3:\n\n((?:    .*\n)+)", text)
    script = block.replace("    ", "", 1).replace("\n    ", "\n").replace("/tmp/", f"{package.parent}/")
    return offline("bash", "-c", script, cwd=package)


def test_openssl_accepts_the_signature_and_the_signed_digests(package: Path, offline: Offline) -> None:
    done = by_openssl(package, offline)

    assert "Signature Verified Successfully" in done.stdout
    assert "NOT what was signed" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("path", paths.SUBJECTS)
def test_openssl_and_a_shell_tell_which_signed_file_was_changed(package: Path, offline: Offline, path: str) -> None:
    if path != paths.VERIFY:
        flip(package / path)
        assert f"{path}: NOT what was signed" in by_openssl(package, offline).stdout
        return
    with (package / path).open("a") as file:
        file.write("\n")
    assert f"{path}: NOT what was signed" in by_openssl(package, offline).stdout


def test_openssl_refuses_another_key(package: Path, offline: Offline) -> None:
    (package.parent / "analysis.pub").write_text((package.parent / "operator.pub").read_text())

    assert "Verification Failure" in by_openssl(package, offline).stdout


def test_openssl_accepts_the_time_stamp_and_not_for_another_list(package: Path, offline: Offline) -> None:
    [command, *_] = commands(package, "openssl ts")

    assert offline("bash", "-c", command, cwd=package).returncode == 0
    flip(package / paths.MANIFEST)
    assert offline("bash", "-c", command, cwd=package).returncode != 0


# --- and our own ------------------------------------------------------------------------------------------------------
def verified(package: Path, bucket: Bucket, offline: Offline) -> "subprocess.CompletedProcess[str]":
    """`fairtrial verify` with the keys and the authority from elsewhere."""
    file = package.parent / "trust.json"
    file.write_bytes(bucket.trust.to_bytes())
    program = "from fairtrial.cli import main; main()"
    return offline(sys.executable, "-c", program, "verify", package, "--trust", file, cwd=package.parent)


def test_our_verifier_finds_nothing_but_the_stamps_that_nobody_asked_for(
    fetched: Path, bucket: Bucket, offline: Offline, tmp_path: Path
) -> None:
    folder = tmp_path / "package"
    shutil.copytree(fetched, folder)

    done = verified(folder, bucket, offline)

    assert set(re.findall(r"^([A-Z_]+) \(", done.stdout, flags=re.MULTILINE)) == {"TS_MISSING"}, done.stdout


@pytest.mark.parametrize("path", FLIPPED)
def test_our_verifier_tells_in_which_file_a_bit_was_flipped(
    fetched: Path, bucket: Bucket, offline: Offline, tmp_path: Path, path: str
) -> None:
    folder = tmp_path / "package"
    shutil.copytree(fetched, folder)
    flip(folder / path)

    done = verified(folder, bucket, offline)

    assert done.returncode == 1
    assert path in done.stdout
    assert "HASH_MISMATCH" in done.stdout
