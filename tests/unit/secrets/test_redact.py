"""Named fields are redacted, and nothing else is touched."""

import pytest

from fairtrial.secrets.redact import redact_headers, redact_query, redact_target


def test_secret_headers_lose_their_value_and_nothing_else():
    headers = [
        (b"Host", b"a"),
        (b"AUTHORIZATION", b"Bearer s"),
        (b"X-Api-Key", b"s"),
        (b"x-goog-api-key", b"s"),
        (b"Cookie", b"s"),
        (b"Set-Cookie", b"s"),
        (b"Set-Cookie", b"s"),
        (b"Proxy-Authorization", b"s"),
        (b"api-key", b"s"),
        (b"X-Note", b"Bearer s"),  # free text is never rewritten
    ]
    redacted = redact_headers(headers)
    assert [name for name, _ in redacted] == [name for name, _ in headers]
    assert [value for _, value in redacted] == [b"a", *[b"[redacted]"] * 8, b"Bearer s"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ""),
        ("alt=sse&key=s", "alt=sse&key=[redacted]"),
        ("k%65y=s&beta=true", "k%65y=[redacted]&beta=true"),
        ("KEY=s", "KEY=[redacted]"),
        ("key", "key"),
        ("monkey=s&a=%2F", "monkey=s&a=%2F"),
    ],
)
def test_secret_query_keys_lose_their_value(query: str, expected: str):
    assert redact_query(query) == expected
    assert redact_target(f"/v1?{query}") == f"/v1?{expected}"
    assert redact_target("/v1") == "/v1"
