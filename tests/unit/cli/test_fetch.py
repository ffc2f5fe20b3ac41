"""Fetching a package: whole and checked, or not at all, whatever the bucket holds."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import bagit
import pytest
from fairtrial_analysis.package import bag
from fairtrial_analysis.package.listing import File
from rich.console import Console

from fairtrial.cli.analysed import of_cohort
from fairtrial.cli.download import Address, PackageUnfit, download
from fairtrial.cli.fetch import _show
from fairtrial.cli.records import NotAsRecorded
from fairtrial.errors import FairtrialError, InvalidInput, NotStored, StoreUnavailable
from fairtrial.evidence import package_paths as paths
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.memory import MemoryStore
from fairtrial.evidence.objects import Download
from fairtrial.evidence.package_paths import PAYLOAD, PackageLayout, own_key

BUCKET = "evidence"
KEYS = PackageLayout(Layout(), "trials", "cohort-1", "c-uid", {"run-1": "r-uid"})
RECORD, PATCH, REPORT = "runs/run-1/record.json", "runs/run-1/artifacts/agent/diff.patch", "analysis/report.json"
FILES = {"preregistration.json": b"{}", RECORD: b'{"a":1}', PATCH: b"-x\n+y\n", REPORT: b'{"b":2}'}


@dataclass
class Bucket:
    """A package in a store. What a test changes before `lay` is what a hostile bucket would hold."""

    store: MemoryStore = field(default_factory=MemoryStore)
    files: dict[str, bytes] = field(default_factory=lambda: dict(FILES))
    manifest: Callable[[bytes], bytes] = lambda data: data
    fetch: Callable[[bytes], bytes] = lambda data: data
    tag_manifest: Callable[[bytes], bytes] = lambda data: data
    address: Address | None = None

    def lay(self) -> Address:
        listed = sorted(File.of(path, data) for path, data in self.files.items())
        manifest = self.manifest(b"".join(bag.manifest(listed)))
        digest = sha256(manifest)
        tags = {
            paths.MANIFEST: manifest,
            paths.BAGIT: bag.BAGIT,
            paths.BAG_INFO: bag.bag_info(KEYS, sum(one.size for one in listed), len(listed)),
            paths.FETCH: self.fetch(b"".join(bag.fetch(listed, KEYS, BUCKET))),
            paths.VERIFY: bag.verify_md(),
        }
        lines = bag.tag_manifest({name: sha256(data) for name, data in tags.items()})
        tags[paths.TAG_MANIFEST] = self.tag_manifest(lines)
        base = KEYS.cohort_keys.package(digest)
        for path, data in self.files.items():
            self.store.put(KEYS.key(path) or own_key(base, PAYLOAD + path), data)
        for path, data in tags.items():
            self.store.put(own_key(base, path), data)
        return Address.of(f"s3://{BUCKET}/{base}", BUCKET)

    def own(self, address: Address, path: str) -> str:
        return own_key(address.base, path)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def line(uri: str, size: int, path: str) -> Callable[[bytes], bytes]:
    """Put a line in place of the one in fetch.txt about `path`."""

    def changed(data: bytes) -> bytes:
        kept = [one for one in data.splitlines(keepends=True) if not one.endswith(f" {PAYLOAD}{path}\n".encode())]
        return b"".join([*kept, f"{uri} {size} {PAYLOAD}{path}\n".encode()])

    return changed


# --- what is there --------------------------------------------------------------------------------------------------
def test_a_package_is_fetched_whole_and_is_a_valid_bag(bucket: Bucket, tmp_path: Path) -> None:
    to = tmp_path / "package"

    count = download(bucket.store, bucket.lay(), to)

    assert everything(to) == {f"data/{path}" for path in FILES} | {*paths.SUBJECTS, paths.TAG_MANIFEST}
    assert count == len(everything(to))
    assert {path: (to / "data" / path).read_bytes() for path in FILES} == FILES
    assert bagit.Bag(str(to)).validate()
    assert [path.name for path in tmp_path.iterdir()] == ["package"]


def test_signature_and_time_stamp_come_along_where_there_are_any(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.lay()
    for path in (paths.STATEMENT, paths.TIMESTAMP):
        bucket.store.put(bucket.own(address, path), b"signed")

    download(bucket.store, address, tmp_path / "package")

    assert (tmp_path / "package" / paths.STATEMENT).read_bytes() == b"signed"
    assert (tmp_path / "package" / paths.TIMESTAMP).read_bytes() == b"signed"


def test_progress_counts_every_payload_file(bucket: Bucket, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    download(bucket.store, bucket.lay(), tmp_path / "package", lambda done, of: told.append((done, of)))

    assert told == [(number, len(FILES)) for number in range(1, len(FILES) + 1)]


# --- going on -------------------------------------------------------------------------------------------------------
class Counting(MemoryStore):
    """Counts what is opened; `cut` keys break in the middle, so often."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.cut: dict[str, int] = {}

    def open(self, key: str) -> Download:
        self.opened.append(key)
        if self.cut.get(key, 0) > 0:
            self.cut[key] -= 1
            return Cut()
        return super().open(key)


class Cut:
    size = 6

    def __iter__(self) -> "Cut":
        return self

    def __next__(self) -> bytes:
        raise StoreUnavailable("the body was cut")

    def close(self) -> None: ...


def test_what_came_before_a_failure_is_kept_and_not_fetched_again(tmp_path: Path) -> None:
    store = Counting()
    address = Bucket(store).lay()
    lost = store.objects.pop(KEYS.key(RECORD) or "")

    with pytest.raises(PackageUnfit, match="1 of 4 files could not be fetched") as failed:
        download(store, address, tmp_path / "package")
    assert "goes on" in failed.value.next_move
    assert not (tmp_path / "package").exists(), "a folder of that name is whole"

    store.objects[KEYS.key(RECORD) or ""] = lost
    store.opened.clear()
    download(store, address, tmp_path / "package")

    assert KEYS.key(PATCH) not in store.opened
    assert KEYS.key(RECORD) in store.opened
    assert (tmp_path / "package/data" / RECORD).read_bytes() == FILES[RECORD]


def test_a_file_that_was_damaged_meanwhile_is_fetched_again(tmp_path: Path) -> None:
    store = Counting()
    address = Bucket(store).lay()
    part = tmp_path / "package.part" / "data" / PATCH
    part.parent.mkdir(parents=True)
    part.write_bytes(b"-x\n+z\n")

    download(store, address, tmp_path / "package")

    assert (tmp_path / "package/data" / PATCH).read_bytes() == FILES[PATCH]


def test_a_body_that_is_cut_is_asked_for_again_and_not_for_ever(tmp_path: Path) -> None:
    store = Counting()
    address = Bucket(store).lay()
    key = KEYS.key(PATCH) or ""
    store.cut = {key: 2}
    download(store, address, tmp_path / "package")

    store.cut = {key: 99}
    with pytest.raises(PackageUnfit, match="cut"):
        download(store, address, tmp_path / "other")


def test_nothing_is_written_over(bucket: Bucket, tmp_path: Path) -> None:
    address, to = bucket.lay(), tmp_path / "package"
    to.mkdir()
    (to / "mine.txt").write_text("mine")

    with pytest.raises(InvalidInput, match="exists already") as refused:
        download(bucket.store, address, to)

    assert "fairtrial verify" in refused.value.next_move
    assert everything(to) == {"mine.txt"}


def test_a_file_that_belongs_to_no_list_does_not_pass_as_part_of_the_package(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.lay()
    (tmp_path / "package.part").mkdir()
    (tmp_path / "package.part" / "README").write_text("trust me")

    with pytest.raises(PackageUnfit, match=r"README: is no file of the package"):
        download(bucket.store, address, tmp_path / "package")


# --- hostile buckets ------------------------------------------------------------------------------------------------
def refused(bucket: Bucket, tmp_path: Path, why: str, kind: type[FairtrialError] = PackageUnfit) -> None:
    with pytest.raises(kind, match=why):
        download(bucket.store, bucket.lay(), tmp_path / "inside" / "package")
    assert not (tmp_path / "inside/package").exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"inside"}, "nothing lies outside"


def test_another_manifest_under_the_packages_digest_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.lay()
    key = bucket.own(address, paths.MANIFEST)
    bucket.store.objects.pop(key)
    bucket.store._digests.pop(key)
    bucket.store.put(key, b"0" * 64 + b"  data/preregistration.json\n")

    with pytest.raises(NotAsRecorded, match=address.digest):
        download(bucket.store, address, tmp_path / "package")


@pytest.mark.parametrize("path", [RECORD, REPORT])
def test_another_file_is_refused_wherever_it_lies(bucket: Bucket, tmp_path: Path, path: str) -> None:
    address = bucket.lay()
    key = KEYS.key(path) or bucket.own(address, PAYLOAD + path)
    bucket.store.objects.pop(key)
    bucket.store._digests.pop(key)
    bucket.store.put(key, FILES[path].replace(b"1", b"3").replace(b"2", b"3"))

    with pytest.raises(PackageUnfit, match="was replaced or damaged"):
        download(bucket.store, address, tmp_path / "package")
    assert not (tmp_path / "package").exists()
    assert not (tmp_path / "package.part/data" / path).exists()


@pytest.mark.parametrize(
    "name",
    [
        "data/../../outside.txt",
        "/etc/passwd",
        "data//x.txt",
        "data/a/./b.txt",
        "data/A.txt",
        "data/\u202egpj.exe",
        "data/.x",
    ],
)
def test_a_name_that_leads_elsewhere_or_deceives_is_refused(bucket: Bucket, tmp_path: Path, name: str) -> None:
    bucket.manifest = lambda data: data + f"{'0' * 64}  {name}\n".encode()

    refused(bucket, tmp_path, "PATH_UNSAFE|NAME_UNSAFE|LIST_MALFORMED")


def test_a_tag_file_among_the_payload_and_a_file_that_is_a_folder_are_refused(bucket: Bucket, tmp_path: Path) -> None:
    bucket.manifest = lambda data: data + f"{'0' * 64}  VERIFY.md\n".encode()
    refused(bucket, tmp_path, "no payload file")

    bucket.manifest = lambda data: data + f"{'0' * 64}  data/runs/run-1\n".encode()
    refused(bucket, tmp_path, "a file and a folder")


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/shadow",
        "http://10.0.0.1/latest",
        "s3://other/ns/x.json",
        "s3://evidence",
        "s3://evidence/../x",
        "s3://evidence/a//b",
    ],
)
def test_an_address_outside_the_bucket_is_refused(bucket: Bucket, tmp_path: Path, uri: str) -> None:
    bucket.fetch = line(uri, len(FILES[RECORD]), RECORD)

    refused(bucket, tmp_path, "LIST_MALFORMED|another bucket|must have the form|segment", FairtrialError)


@pytest.mark.parametrize("size", [3, 9])
def test_a_size_that_is_not_that_of_the_object_stops_before_the_bytes(
    bucket: Bucket, tmp_path: Path, size: int
) -> None:
    bucket.fetch = line(f"s3://{BUCKET}/{KEYS.key(RECORD)}", size, RECORD)

    refused(bucket, tmp_path, f"has 7 bytes, and should have {size}")


def test_more_than_the_disk_holds_is_refused_before_anything_is_fetched(bucket: Bucket, tmp_path: Path) -> None:
    bucket.fetch = line(f"s3://{BUCKET}/{KEYS.key(RECORD)}", 10**17, RECORD)

    refused(bucket, tmp_path, "the disk has room for")


def test_a_stream_that_never_ends_is_cut_at_its_bound(bucket: Bucket, tmp_path: Path) -> None:
    class Endless(MemoryStore):
        def open(self, key: str) -> Download:
            return Flood() if key == KEYS.key(PATCH) else super().open(key)

    class Flood:
        size = len(FILES[PATCH])

        def __iter__(self) -> "Flood":
            return self

        def __next__(self) -> bytes:
            return b"x" * 1024

        def close(self) -> None: ...

    bucket.store = Endless()

    refused(bucket, tmp_path, "should have 6")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data.replace(b"  bagit.txt", b"  gabit.txt"), "does not list the tag files"),
        (lambda data: b"", "does not list the tag files"),
        (lambda data: data.replace(b"\n", b"\r\n"), "NAME_UNSAFE"),
    ],
)
def test_a_list_of_tag_files_that_is_not_one_is_refused(
    bucket: Bucket, tmp_path: Path, change: Callable[[bytes], bytes], why: str
) -> None:
    bucket.tag_manifest = change

    refused(bucket, tmp_path, why)


def test_fetch_txt_names_nothing_that_the_manifest_does_not(bucket: Bucket, tmp_path: Path) -> None:
    bucket.fetch = lambda data: data + f"s3://{BUCKET}/ns/x.json 3 data/runs/run-1/more.json\n".encode()

    refused(bucket, tmp_path, "which manifest-sha256.txt does not")


def test_a_link_in_the_unfinished_folder_is_not_followed(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.lay()
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "package.part").mkdir()
    (tmp_path / "package.part" / "data").symlink_to(outside)

    with pytest.raises(PackageUnfit, match="is a link"):
        download(bucket.store, address, tmp_path / "package")
    assert everything(outside) == set()


# --- addresses ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("uri", "why"),
    [
        (f"s3://other/ns/a/packages/{'a' * 64}", "FAIRTRIAL_S3_BUCKET"),
        (f"s3://{BUCKET}/ns/a/packages/short", "64 lower-case"),
        (f"s3://{BUCKET}/ns/a/{'a' * 64}", "is no package"),
        (f"s3://{BUCKET}/ns/../packages/{'a' * 64}", "segment"),
    ],
)
def test_an_address_that_is_no_package_of_this_bucket_is_refused(uri: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Address.of(uri, BUCKET)


def test_a_package_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(NotStored):
        download(MemoryStore(), Address.of(f"s3://{BUCKET}/ns/packages/{'a' * 64}", BUCKET), tmp_path / "package")


def test_a_list_larger_than_any_that_is_made_is_not_read(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairtrial.cli.download.TAG_MAX", 100)

    refused(bucket, tmp_path, "should have at most 100")


# --- the command ----------------------------------------------------------------------------------------------------
def status(monkeypatch: pytest.MonkeyPatch, **analysis: str) -> None:
    monkeypatch.setattr("fairtrial.cli.analysed.Kubectl", lambda *_: SimpleNamespace(get=lambda *_: found))
    found = {"status": {"phase": "Complete", "analysis": analysis} if analysis else {"phase": "Running"}}


def test_a_cohorts_package_is_the_one_that_its_status_names(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"s3://{BUCKET}/ns/packages/{'a' * 64}/"
    status(monkeypatch, packageUri=uri, packageSha256="a" * 64)

    assert of_cohort("c", "trials", None, BUCKET).address == Address.of(uri, BUCKET)


def test_a_status_that_names_another_digest_than_its_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    status(monkeypatch, packageUri=f"s3://{BUCKET}/ns/packages/{'a' * 64}/", packageSha256="b" * 64)

    with pytest.raises(InvalidInput, match="at the address of another"):
        of_cohort("c", "trials", None, BUCKET)


def test_a_cohort_without_a_package_tells_what_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    status(monkeypatch)

    with pytest.raises(FairtrialError, match="phase Running") as refused:
        of_cohort("c", "trials", None, BUCKET)
    assert "kubectl wait -n trials" in refused.value.next_move


def test_what_a_package_says_is_shown_without_obeying_it(bucket: Bucket, tmp_path: Path) -> None:
    hostile = "\x1b[2J[bold]SUPPORTED\u202e"
    bucket.files |= {
        REPORT: json.dumps({"executive": {"verdict": hostile}}).encode(),
        paths.REQUEST: b'{"cohort":{"namespace":"trials","name":"c"}}',
    }
    download(bucket.store, bucket.lay(), tmp_path / "package")
    written = io.StringIO()

    _show(Console(file=written, width=200), tmp_path / "package", 9)

    text = written.getvalue()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]SUPPORTED" in text
    assert "not signed" in text
