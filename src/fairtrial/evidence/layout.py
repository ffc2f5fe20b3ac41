"""Where evidence lies: every key of the bucket, made and checked in one place. Pure; see the design's §7.

Real stores break on odd keys in different ways: an empty segment vanishes from listings, a name over 255 bytes is
refused, an object whose name is also another's folder cannot exist on a file system, a trailing slash escapes
retention, and anything but ASCII may come back normalised. So keys hold only `[a-z0-9._-]`, and an artifact's last
segment has a dot or is a number where its folders neither have one nor are one: no key can be the folder of another.
"""

import hashlib
import re
from dataclasses import dataclass

from fairtrial.errors import InvalidInput

KEY_MAX = 512
SEGMENT_MAX = 128
PREFIX_MAX = 64  # the longest key below a prefix has 445 characters
ARTIFACT_MAX = 200
ARTIFACT_SEGMENTS = 6
LEDGER_DIGITS = 8  # so that pages sort by number
ATTACHED = ("construction.json", "runtime.json")  # what construction cost, and what a runtime experiment measured

_SEGMENT = re.compile(r"[a-z0-9][a-z0-9._-]*")
_KEY = re.compile(rf"(?:[a-z0-9][a-z0-9._-]{{0,{SEGMENT_MAX - 1}}}/)*[a-z0-9][a-z0-9._-]{{0,{SEGMENT_MAX - 1}}}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Layout:
    """The keys under one prefix. An empty prefix is the bucket itself; any other ends with a slash."""

    prefix: str = ""

    def __post_init__(self) -> None:
        if self.prefix and not self.prefix.endswith("/"):
            object.__setattr__(self, "prefix", f"{self.prefix}/")
        if len(self.prefix) > PREFIX_MAX:
            raise InvalidInput(f"S3 prefix: has {len(self.prefix)} characters; {PREFIX_MAX} are allowed.")
        for segment in self.prefix.split("/")[:-1]:
            check_segment(segment, what="S3 prefix")

    @property
    def folders(self) -> tuple[str, ...]:
        """The beginnings of all keys that are made here; what else a bucket holds is not ours."""
        return tuple(f"{self.prefix}{name}/" for name in ("ns", "probe", "refusals", "sealed", "tasks"))

    def public_archive(self, sha256: str) -> str:
        """A task's public archive, by its digest."""
        return self._key("tasks", "sha256", check_digest(sha256))

    def sealed_archive(self, sha256: str) -> str:
        """A task's sealed archive, by its digest."""
        return self._key("sealed", "sha256", check_digest(sha256))

    def run(self, namespace: str, name: str, uid: str, cohort: str = "") -> "RunLayout":
        """The keys of one run. The UID is part of them: a run made later under the same name is another run."""
        owner = ("ns", namespace, "cohorts", cohort) if cohort else ("ns", namespace)
        return RunLayout(self._key(*owner, "runs", name, uid))

    def cohort(self, namespace: str, name: str, uid: str) -> "CohortLayout":
        """The keys of one cohort. The UID is part of them, as it is of a run's: nothing in the store is ever deleted,
        so a cohort that is deleted and made anew under the same name would find another one's preregistration there.
        """
        return CohortLayout(self._key("ns", namespace, "cohorts", name, uid))

    def probe(self, token: str, name: str) -> str:
        """An object of one start-up probe, under a name that nobody used before."""
        return self._key("probe", token, name)

    def refusals(self, gateway: str, unix_ms: int) -> str:
        """What a gateway refused without a journal until then; beside all runs, as nobody's identity was proven."""
        return self._key("refusals", gateway, f"{unix_ms:013d}.json")

    def _key(self, *segments: str) -> str:
        return check_key(self.prefix + "/".join(segments))


@dataclass(frozen=True)
class RunLayout:
    """The keys of one run, below `base` (which has no slash at its end)."""

    base: str

    def artifact(self, name: str) -> str:
        """The key of an artifact, refusing names that some store would lose or mix up."""
        return check_key(f"{self.base}/artifacts/{check_artifact_name(name)}")

    def exchange(self, exchange: str, file: str, *, tool: bool = False) -> str:
        """The key of one file of a model or tool call: `started.json`, `exchange.ftj` or `exchange.json`."""
        return check_key(f"{self.base}/{'tool' if tool else 'model'}/{exchange}/{file}")

    def exchanges(self, *, tool: bool = False) -> str:
        """What the keys of all model or tool calls begin with; their names sort by time."""
        return check_key(f"{self.base}/{'tool' if tool else 'model'}") + "/"

    def record(self) -> str:
        """The key of the run's record: written last, and without it there is no run."""
        return check_key(f"{self.base}/record.json")

    def record_statement(self) -> str:
        """The key of the operator's signed statement about the record: written right before it."""
        return check_key(f"{self.base}/record.sigstore.json")

    def evaluation_statement(self) -> str:
        """The key of the evaluator's signed statement about the snapshot that it judged."""
        return check_key(f"{self.base}/evaluation.sigstore.json")


@dataclass(frozen=True)
class CohortLayout:
    """The keys of one cohort's own documents, below `base`. Its runs lie beside them, under the cohort's name."""

    base: str

    def preregistration(self) -> str:
        """The key of the preregistration: written when the cohort is sealed, before its first run exists."""
        return check_key(f"{self.base}/preregistration.json")

    def ledger(self) -> str:
        """What the keys of all pages of the ledger begin with."""
        return check_key(f"{self.base}/ledger") + "/"

    def ledger_page(self, first: int) -> str:
        """The key of the page that begins with entry number `first`: whoever is behind finds it taken."""
        return check_key(f"{self.base}/ledger/{first:0{LEDGER_DIGITS}d}.json")

    def preregistration_signature(self) -> str:
        """The key of the operator's signed statement about the preregistration."""
        return check_key(f"{self.base}/preregistration.sigstore.json")

    def study_signature(self) -> str:
        """The key of the study owner's signed statement about the preregistration, where there is one."""
        return check_key(f"{self.base}/preregistration.study.sigstore.json")

    def preregistration_timestamp(self) -> str:
        """The key of the RFC 3161 reply about the preregistration, where an authority was asked."""
        return check_key(f"{self.base}/preregistration.tsr")

    def checkpoints(self) -> str:
        """What the keys of all checkpoints begin with."""
        return check_key(f"{self.base}/checkpoints") + "/"

    def checkpoint(self, size: int) -> str:
        """The key of the signed root of the ledger's first `size` entries."""
        return check_key(f"{self.base}/checkpoints/{size:0{LEDGER_DIGITS}d}.note")

    def checkpoint_timestamp(self, size: int) -> str:
        """The key of the RFC 3161 reply about that checkpoint."""
        return f"{self.checkpoint(size)}.tsr"

    def correction(self, number: int) -> str:
        """The key of the correction `number`, counted from 1 without a gap."""
        return check_key(f"{self.base}/corrections/{number:0{LEDGER_DIGITS}d}.json")

    def release(self) -> str:
        """The key of the study owner's signed statement that the hidden archives are published."""
        return check_key(f"{self.base}/release/statement.sigstore.json")

    def released(self, sha256: str) -> str:
        """The key of a hidden archive that was published, by its digest."""
        return check_key(f"{self.base}/release/sha256/{check_digest(sha256)}")

    def attached(self, name: str) -> str:
        """The key of a document that a gate names and that the analysis reads: one of `ATTACHED`."""
        return check_key(f"{self.base}/{name}")

    def package(self, sha256: str) -> str:
        """What the keys of a package's own files begin with, by the SHA-256 of its manifest."""
        return check_key(f"{self.base}/packages/{check_digest(sha256)}") + "/"


def uri(bucket: str, key: str) -> str:
    """How a status and a record name an object."""
    return f"s3://{bucket}/{check_key(key)}"


def key_of_uri(uri: str) -> str:
    """The key in an object's URI; a folder's, which ends with a slash, is given back with it."""
    scheme, _, rest = uri.partition("://")
    _, slash, key = rest.partition("/")
    if scheme != "s3" or not slash or not key:
        raise InvalidInput(f"URI {uri!r}: must have the form s3://bucket/key.")
    return check_key(key.removesuffix("/")) + ("/" if key.endswith("/") else "")


def sha256(data: bytes) -> str:
    """The digest that keys and documents name content by."""
    return hashlib.sha256(data).hexdigest()


def check_artifact_name(name: str) -> str:
    """Return `name` if it is a good artifact name, such as `agent/report.json`; refuse it with the reason otherwise."""
    what = f"artifact name {name[:ARTIFACT_MAX]!r}"
    if len(name) > ARTIFACT_MAX:
        raise InvalidInput(f"{what}: has {len(name)} characters; {ARTIFACT_MAX} are allowed.")
    *folders, file = name.split("/")
    if len(folders) >= ARTIFACT_SEGMENTS:
        raise InvalidInput(f"{what}: has {len(folders) + 1} segments; {ARTIFACT_SEGMENTS} are allowed.")
    for segment in (*folders, file):
        check_segment(segment, what=what)
    if any(_looks_like_a_file(folder) for folder in folders):
        raise InvalidInput(f"{what}: a folder may hold no dot and be no number, so that no file is also a folder.")
    if not _looks_like_a_file(file):
        raise InvalidInput(f"{what}: must end in an extension, such as `.json`, or a number, to be no other's folder.")
    return name


def _looks_like_a_file(segment: str) -> bool:
    return "." in segment or segment.isdecimal()


def check_key(key: str) -> str:
    """Return `key` if every store that we know keeps it as it is."""
    if len(key) <= KEY_MAX and _KEY.fullmatch(key):  # at once, since packages have a million; below is why not
        return key
    if len(key) > KEY_MAX:
        raise InvalidInput(f"key {key[:80]!r}…: has {len(key)} characters; {KEY_MAX} are allowed.")
    for segment in key.split("/"):
        check_segment(segment, what=f"key {key!r}")
    return key


def check_segment(segment: str, *, what: str) -> str:
    """Return `segment` if it may stand between two slashes of a key; `what` names the whole in the refusal."""
    if not _SEGMENT.fullmatch(segment):
        raise InvalidInput(
            f"{what}: segment {segment!r} must begin with a letter or digit and hold only a-z, 0-9, '.', '_' and '-'."
        )
    if len(segment) > SEGMENT_MAX:
        raise InvalidInput(f"{what}: segment {segment[:20]!r}… is longer than {SEGMENT_MAX} characters.")
    return segment


def check_digest(sha256: str) -> str:
    """Return `sha256` if it is 64 lower-case hexadecimal digits."""
    if not _DIGEST.fullmatch(sha256):
        raise InvalidInput(f"digest {sha256[:80]!r}: must be 64 lower-case hexadecimal digits.")
    return sha256
