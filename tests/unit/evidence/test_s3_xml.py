"""What stores say in XML, in a namespace or in none, whole or not."""

from datetime import UTC, datetime

import pytest

from fairtrial.evidence import s3_xml
from fairtrial.evidence.s3_xml import Refused, Unreadable

S3 = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


@pytest.mark.parametrize("namespace", ["", S3], ids=["none", "S3's"])
def test_a_refusal_is_known_by_its_code(namespace: str):
    said = s3_xml.refusal(503, f"<Error{namespace}><Code>SlowDown</Code><Message>Wait.</Message></Error>".encode())

    assert (said.status, said.code, said.message) == (503, "SlowDown", "Wait.")


@pytest.mark.parametrize("data", [b"", b"<html><body>Bad Gateway<br></body></html>", b"<Error/>"])
def test_a_refusal_without_a_code_is_known_by_its_status(data: bytes):
    assert s3_xml.refusal(502, data).code == "502"


@pytest.mark.parametrize("namespace", ["", S3], ids=["none", "S3's"])
def test_keys_are_decoded_only_where_the_store_says_that_it_encoded_them(namespace: str):
    contents = "<Contents><Key>a%2Bb+c</Key></Contents>"
    page = "<L{}>{}<IsTruncated>{}</IsTruncated><NextContinuationToken>t</NextContinuationToken>{}</L>"
    encoded = page.format(namespace, "<EncodingType>url</EncodingType>", "true", contents)
    plain = page.format(namespace, "", "false", contents)

    assert s3_xml.keys(encoded.encode()) == (["a+b c"], "t")
    assert s3_xml.keys(plain.encode()) == (["a%2Bb+c"], None)


def test_uploads_come_with_the_time_when_they_began():
    upload = "<Upload><Key>a</Key><UploadId>u</UploadId><Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>"

    found, after = s3_xml.uploads(f"<L{S3}>{upload}<IsTruncated>false</IsTruncated></L>".encode())

    assert (found, after) == ([s3_xml.Unfinished("a", "u", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))], None)


def test_a_completion_that_failed_after_it_was_answered_is_a_refusal():
    s3_xml.completed(f"<CompleteMultipartUploadResult{S3}/>".encode())

    with pytest.raises(Refused, match="500 InternalError"):
        s3_xml.completed(b"<Error><Code>InternalError</Code></Error>")


def test_parts_are_named_as_the_store_named_them():
    body = s3_xml.parts([{"PartNumber": 1, "ETag": '"a&b"', "ChecksumSHA256": "c="}])

    assert b'<Part><PartNumber>1</PartNumber><ETag>"a&amp;b"</ETag><ChecksumSHA256>c=</ChecksumSHA256></Part>' in body


def test_default_retention_may_be_there_or_not():
    rule = "<Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Days>7</Days></DefaultRetention></Rule>"

    assert s3_xml.default_retention(f"<ObjectLockConfiguration{S3}>{rule}</ObjectLockConfiguration>".encode()) == (
        "COMPLIANCE",
        7,
    )
    assert s3_xml.default_retention(b"<ObjectLockConfiguration/>") == ("", 0)


@pytest.mark.parametrize(
    "read",
    [
        lambda: s3_xml.keys(b"<ListBucketResult><Cont"),
        lambda: s3_xml.keys(b"<L><Contents><Key/></Contents></L>"),
        lambda: s3_xml.keys(b"<L><IsTruncated>true</IsTruncated></L>"),
        lambda: s3_xml.upload_id(b"<html/>"),
        lambda: s3_xml.completed(b""),
        lambda: s3_xml.uploads(
            b"<L><Upload><Key>a</Key><UploadId>u</UploadId><Initiated>once</Initiated></Upload></L>"
        ),
        lambda: s3_xml.etag({}),
        lambda: s3_xml.size({"content-length": "-1"}),
    ],
)
def test_what_is_no_answer_of_s3_is_never_taken_for_one(read):
    with pytest.raises(Unreadable):
        read()
