"""A small S3 endpoint in this process that misbehaves on order. Real behaviour is tested on a real store."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import pytest

from fairtrial.evidence.s3_client import S3Settings
from fairtrial.evidence.store import Patience, S3Store
from tests.rude_server import Order, Orders, RudeHandler, serving


@dataclass
class FakeS3(Orders):
    """What the endpoint holds. Its orders are for S3's operations; besides errors its faults are `drop_before` and
    `drop`, a `cut` object, a completion that has `failed` after its 200, and `half` a listing."""

    calls: list[str] = field(default_factory=list)
    objects: dict[str, tuple[bytes, dict[str, str]]] = field(default_factory=dict)
    uploads: dict[str, tuple[dict[int, bytes], dict[str, str]]] = field(default_factory=dict)
    conditions: bool = True
    checksums: bool = True

    def take(self, operation: str, path: str = "") -> Order | None:
        self.calls.append(operation)
        return super().take(operation, path)


class Handler(RudeHandler):
    fake: FakeS3

    def do(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        self.key = url.path.split("/", 2)[2] if url.path.count("/") > 1 else ""
        operation = self.operation(query)
        order = self.fake.take(operation)
        if self.headers.get("Expect") and not (order and order.status == 412):
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if order and order.what == "drop_before":
            return self.drop()
        self.data = self.body()
        if order and order.status:
            return self.error(order.status, order.what)
        self.fault = order.what if order else ""
        getattr(self, operation)(query)
        return None

    def operation(self, query: dict[str, list[str]]) -> str:
        if "object-lock" in query:
            return "GetObjectLockConfiguration"
        if "list-type" in query:
            return "ListObjectsV2"
        table = {
            ("PUT", False): "PutObject",
            ("PUT", True): "UploadPart",
            ("POST", False): "CreateMultipartUpload",
            ("POST", True): "CompleteMultipartUpload",
            ("DELETE", True): "AbortMultipartUpload",
            ("DELETE", False): "DeleteObject",
            ("GET", False): "GetObject",
            ("HEAD", False): "HeadObject",
        }
        return table[self.command, "uploadId" in query]

    def GetObjectLockConfiguration(self, query: object) -> None:  # noqa: N802
        self.error(404, "ObjectLockConfigurationNotFoundError")

    def ListObjectsV2(self, query: dict[str, list[str]]) -> None:  # noqa: N802
        prefix, start = query["prefix"][0], int(query.get("continuation-token", ["0"])[0])
        found = sorted(key for key in self.fake.objects if key.startswith(prefix))
        page, more = found[start : start + 2], len(found) > start + 2  # pages of two
        if self.fault == "half":
            return self.answer(200, b"<ListBucketResult><Contents><Key>a/1")
        contents = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in page)
        next_ = f"<NextContinuationToken>{start + 2}</NextContinuationToken>" if more else ""
        truncated = f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        return self.answer(200, f"<ListBucketResult>{truncated}{next_}{contents}</ListBucketResult>".encode())

    def PutObject(self, query: object) -> None:  # noqa: N802
        announced = self.headers["x-amz-checksum-sha256"]
        if self.fake.checksums and announced != base64.b64encode(hashlib.sha256(self.data).digest()).decode():
            return self.error(400, "BadDigest")
        return self.store(self.data, self.meta())

    def CreateMultipartUpload(self, query: object) -> None:  # noqa: N802
        name = f"upload{len(self.fake.uploads)}"
        self.fake.uploads[name] = ({}, self.meta())
        self.answer(200, f"<R><UploadId>{name}</UploadId></R>".encode())

    def UploadPart(self, query: dict[str, list[str]]) -> None:  # noqa: N802
        parts = self.fake.uploads[query["uploadId"][0]][0]
        parts[int(query["partNumber"][0])] = self.data
        self.answer(200, b"", {"ETag": '"part"'})

    def CompleteMultipartUpload(self, query: dict[str, list[str]]) -> None:  # noqa: N802
        upload = self.fake.uploads.get(query["uploadId"][0])
        if upload is None:
            return self.error(404, "NoSuchUpload")
        if self.fault == "failed":  # said after 200, as a store does that took long
            return self.answer(200, b"<Error><Code>InternalError</Code></Error>")
        parts, meta = upload
        if self.store(b"".join(parts[n] for n in sorted(parts)), meta, b"<R><ETag>e</ETag></R>"):
            del self.fake.uploads[query["uploadId"][0]]
        return None

    def AbortMultipartUpload(self, query: dict[str, list[str]]) -> None:  # noqa: N802
        self.fake.uploads.pop(query["uploadId"][0], None)
        self.answer(204)

    def GetObject(self, query: object) -> None:  # noqa: N802
        if self.key not in self.fake.objects:
            return self.error(404, "NoSuchKey")
        data, meta = self.fake.objects[self.key]
        return self.answer(200, data, meta)

    def HeadObject(self, query: object) -> None:  # noqa: N802
        if self.key not in self.fake.objects:
            return self.answer(404)
        data, meta = self.fake.objects[self.key]
        return self.answer(200, b"", meta | {"Content-Length": str(len(data))})

    def store(self, data: bytes, meta: dict[str, str], answer: bytes = b"") -> bool:
        with self.fake.lock:
            if self.fake.conditions and self.headers["If-None-Match"] and self.key in self.fake.objects:
                self.error(412, "PreconditionFailed")
                return False
            self.fake.objects[self.key] = (data, meta)
        self.answer(200, answer, {"ETag": '"e"'})
        return True

    def meta(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")}


@pytest.fixture(scope="session")
def endpoint() -> Iterator[FakeS3]:
    fake = FakeS3()
    with serving(Handler, fake=fake) as fake.url:
        yield fake


@pytest.fixture(scope="session")
def client(endpoint: FakeS3) -> Iterator[tuple[S3Store, list[str]]]:
    """One client for all tests: making one takes longer than most of them."""
    retries: list[str] = []
    settings = S3Settings(endpoint=endpoint.url, bucket="evidence", access_key="a", secret_key="b")
    store = S3Store(settings, patience=Patience(attempts=4, first_pause=0.001), on_retry=retries.append)
    yield store, retries
    store.close()


@pytest.fixture
def fake_s3(endpoint: FakeS3) -> FakeS3:
    fresh = FakeS3(url=endpoint.url, lock=endpoint.lock)
    vars(endpoint).update(vars(fresh))
    return endpoint


@pytest.fixture
def retries(client: tuple[S3Store, list[str]]) -> list[str]:
    client[1].clear()
    return client[1]


@pytest.fixture
def store(client: tuple[S3Store, list[str]], fake_s3: FakeS3) -> S3Store:
    return client[0]
