"""Which key a file of a package lies under, by its path alone."""

import pytest

from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.package_paths import (
    RELEASE,
    PackageLayout,
    checkpoint,
    correction,
    digest_of,
    ledger_page,
    own_key,
    sealed,
)

KEYS = PackageLayout(Layout("lab"), "trials", "cohort-1", "c-uid", {"run-1": "r-uid"})
COHORT, RUN = "lab/ns/trials/cohorts/cohort-1/c-uid", "lab/ns/trials/cohorts/cohort-1/runs/run-1/r-uid"
DIGEST = "a" * 64


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("preregistration.json", f"{COHORT}/preregistration.json"),
        ("preregistration.study.sigstore.json", f"{COHORT}/preregistration.study.sigstore.json"),
        (ledger_page(1), KEYS.cohort_keys.ledger_page(1)),
        (checkpoint(256), KEYS.cohort_keys.checkpoint(256)),
        (f"{checkpoint(256)}.tsr", KEYS.cohort_keys.checkpoint_timestamp(256)),
        (correction(1), KEYS.cohort_keys.correction(1)),
        ("runs/run-1/record.json", f"{RUN}/record.json"),
        ("runs/run-1/evaluation.sigstore.json", f"{RUN}/evaluation.sigstore.json"),
        ("runs/run-1/artifacts/agent/diff.patch", f"{RUN}/artifacts/agent/diff.patch"),
        ("runs/run-1/model/1-a/exchange.ftj", f"{RUN}/model/1-a/exchange.ftj"),
        (f"tasks/sha256/{DIGEST}", f"lab/tasks/sha256/{DIGEST}"),
        (sealed(DIGEST), KEYS.cohort_keys.released(DIGEST)),
        (RELEASE, KEYS.cohort_keys.release()),
        ("analysis/report.json", None),
        ("trust.json", None),
        ("ro-crate-metadata.json", None),
    ],
)
def test_a_path_has_one_key(path: str, key: str | None) -> None:
    assert KEYS.key(path) == key


@pytest.mark.parametrize(
    "path",
    [
        "",
        "runs/run-2/record.json",
        "runs/run-1/../x.json",
        "tasks/sha256/short",
        "tasks/md5/" + DIGEST,
        "elsewhere.txt",
    ],
)
def test_anything_else_is_no_file_of_a_package(path: str) -> None:
    with pytest.raises(InvalidInput):
        KEYS.key(path)


def test_what_is_stored_with_the_package_lies_below_its_digest_in_lower_case() -> None:
    base = KEYS.cohort_keys.package(DIGEST)

    assert own_key(base, "VERIFY.md") == f"{COHORT}/packages/{DIGEST}/verify.md"
    assert digest_of(base) == DIGEST


def test_an_address_that_is_no_package_is_refused() -> None:
    for base in ("ns/x", f"ns/x/{DIGEST}", "packages/short", ""):
        with pytest.raises(InvalidInput):
            digest_of(base)
