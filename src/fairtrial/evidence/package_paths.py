"""What lies where in an evidence package, and under which key each of its files lies in the store. Pure.

A package is a BagIt bag. Its payload, below `data/`, is mostly what the store holds anyway, under keys that follow from
a file's path; only what exists nowhere else is stored with the package itself, below its digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fairtrial.errors import InvalidInput
from fairtrial.evidence.layout import CohortLayout, Layout, RunLayout, check_digest, check_key

PAYLOAD = "data/"
BAGIT, BAG_INFO, FETCH, VERIFY = "bagit.txt", "bag-info.txt", "fetch.txt", "VERIFY.md"
MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"
STATEMENT, TIMESTAMP = f"{MANIFEST}.sigstore.json", f"{MANIFEST}.tsr"
SUBJECTS = (MANIFEST, BAGIT, BAG_INFO, FETCH, VERIFY)
"""The files that the package's statement is about; the manifest names all others."""
TAG_FILES = (*SUBJECTS, TAG_MANIFEST, STATEMENT)
"""The files outside `data/`; the time-stamp is there only if an authority was asked."""
REPORT, REQUEST, TRUST, WITHHELD = "analysis/report.json", "analysis/request.json", "trust.json", "withheld.json"
COMMITMENTS, CRATE, RELEASE = "commitments.json", "ro-crate-metadata.json", "release.sigstore.json"
STUDY_SIGNATURE = "preregistration.study.sigstore.json"

_OF_COHORT = ("ledger", "checkpoints", "corrections", "construction.json", "runtime.json")
_PREREGISTRATION = "preregistration."
_OWN = ("analysis/", TRUST, WITHHELD, COMMITMENTS, CRATE)


@dataclass(frozen=True)
class PackageLayout:
    """The keys of the files of one cohort's package. `runs` holds the UID of each run by its name."""

    layout: Layout
    namespace: str
    cohort: str
    uid: str
    runs: Mapping[str, str]

    @property
    def cohort_keys(self) -> CohortLayout:
        """The cohort's own keys."""
        return self.layout.cohort(self.namespace, self.cohort, self.uid)

    def run_keys(self, run: str) -> RunLayout:
        """The keys of one run of the cohort; InvalidInput for a name that none of its runs has."""
        if run not in self.runs:
            raise InvalidInput(f"run {run!r}: is none of cohort {self.namespace}/{self.cohort}.")
        return self.layout.run(self.namespace, run, self.runs[run], self.cohort)

    def key(self, path: str) -> str | None:
        """The key of a payload file by its path below `data/`; None for one that is stored with the package."""
        first, _, rest = path.partition("/")
        if first == "runs" and rest:
            run, _, file = rest.partition("/")
            return check_key(f"{self.run_keys(run).base}/{file}")
        if first in _OF_COHORT or path.startswith(_PREREGISTRATION):
            return check_key(f"{self.cohort_keys.base}/{path}")
        if first in ("tasks", "sealed"):
            kind, _, digest = rest.partition("/")
            archive = self.layout.public_archive if first == "tasks" else self.cohort_keys.released
            if kind == "sha256":
                return archive(digest)
        if path == RELEASE:
            return self.cohort_keys.release()
        if path.startswith(_OWN):
            return None
        raise InvalidInput(f"{PAYLOAD}{path[:200]}: is no file of a package.")


def ledger_page(first: int) -> str:
    """The path below `data/` of the page that begins with entry number `first`."""
    return f"ledger/{first:08d}.json"


def checkpoint(size: int) -> str:
    """The path below `data/` of the signed root of the ledger's first `size` entries."""
    return f"checkpoints/{size:08d}.note"


def correction(number: int) -> str:
    """The path below `data/` of the correction `number`, counted from 1."""
    return f"corrections/{number:08d}.json"


def sealed(sha256: str) -> str:
    """The path below `data/` of a hidden archive that was released."""
    return f"sealed/sha256/{check_digest(sha256)}"


def run_file(run: str, file: str) -> str:
    """The path below `data/` of a file of a run, by its key below the run's."""
    return f"runs/{run}/{file}"


def own_key(base: str, path: str) -> str:
    """The key of a file that is stored with the package whose own keys begin with `base`: its path in lower case."""
    return check_key(f"{base.removesuffix('/')}/{path.lower()}")


def digest_of(base: str) -> str:
    """The package's digest, by what its own keys begin with: `…/packages/<digest>/`."""
    *_, folder, digest = ("", "", *base.removesuffix("/").split("/"))
    if folder != "packages":
        raise InvalidInput(f"{base[:200]}: is no package; one lies below packages/<digest>/.")
    return check_digest(digest)
