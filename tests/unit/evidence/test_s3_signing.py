"""Signatures against the examples that AWS publishes, and against another maker's for what those leave out."""

import hashlib
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from fairtrial.evidence.s3_signing import Request, authorization

ACCESS_KEY, SECRET_KEY = (
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
)  # AWS's own, of the examples
EMPTY = hashlib.sha256(b"").hexdigest()


def request(method: str, path: str, query: str = "", body_sha256: str = EMPTY, **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    fixed = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z"}
    return Request(method, path, query, fixed | {"x-amz-content-sha256": body_sha256} | named, body_sha256)


# "Examples: Signature Calculations" of the page that the module names.
EXAMPLES = {
    "get an object": (
        request("GET", "/test.txt", range="bytes=0-9"),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    "put an object": (
        request(
            "PUT",
            "/test%24file.text",
            body_sha256=hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
            date="Fri, 24 May 2013 00:00:00 GMT",
            x_amz_storage_class="REDUCED_REDUNDANCY",
        ),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ),
    "a parameter without a value": (
        request("GET", "/", "lifecycle="),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ),
    "list objects": (
        request("GET", "/", "max-keys=2&prefix=J"),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_signs_as_aws_shows(example: str):
    asked, signature = EXAMPLES[example]

    made = authorization(asked, ACCESS_KEY, SECRET_KEY, "us-east-1")

    assert made == (
        f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20130524/us-east-1/s3/aws4_request,"
        f"SignedHeaders={asked.signed_headers},Signature={signature}"
    )


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-2"])
def test_it_signs_as_botocore_does_with_a_token_and_odd_characters(region: str):
    url = "http://store:9000/bucket/a/b%20c~%C3%A4?prefix=ns%2Fa%20b&x=~"
    headers = {"content-type": "text/plain;  charset=utf-8", "if-none-match": "*", "x-amz-meta-sha256": EMPTY}
    theirs = AWSRequest("PUT", url, headers=dict(headers), data=b"body")
    S3SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY, "a-session-token"), "s3", region).add_auth(theirs)
    parts, digest = urlsplit(url), hashlib.sha256(b"body").hexdigest()
    told = {name.lower(): theirs.headers[name] for name in ("X-Amz-Date", "X-Amz-Security-Token")}
    signed = headers | told | {"host": parts.netloc, "x-amz-content-sha256": digest}

    ours = authorization(Request("PUT", parts.path, parts.query, signed, digest), ACCESS_KEY, SECRET_KEY, region)

    assert ours.rpartition("=")[2] == theirs.headers["Authorization"].rpartition("=")[2]
