"""Hop-by-hop headers, the caller's key and the provider's credential."""

import pytest

from fairtrial.errors import InvalidInput
from fairtrial.wires.headers import PLACES, Token, end_to_end, take_token, upstream_headers, upstream_query


def test_hop_by_hop_headers_stay_on_their_hop():
    headers = [
        (b"Connection", b"keep-alive, X-Hop"),
        (b"connection", b"x-other ,close"),
        (b"Keep-Alive", b"timeout=5"),
        (b"TE", b"trailers"),
        (b"Trailer", b"X"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Upgrade", b"h2c"),
        (b"HTTP2-Settings", b"x"),
        (b"Proxy-Connection", b"x"),
        (b"Proxy-Authorization", b"x"),
        (b"Proxy-Authenticate", b"x"),
        (b"X-Hop", b"1"),
        (b"x-OTHER", b"1"),
        (b"X-Stays", b"1"),
        (b"x-stays", b"2"),
        (b"Content-Encoding", b"gzip"),
    ]
    assert end_to_end(headers) == headers[-3:]


@pytest.mark.parametrize(
    ("headers", "query", "token"),
    [
        ([(b"Authorization", b"Bearer tok.en")], "", "tok.en"),
        ([(b"authorization", b"bearer  tok.en ")], "", "tok.en"),
        ([(b"X-Api-Key", b"tok.en")], "", "tok.en"),
        ([(b"x-goog-api-key", b"tok.en")], "alt=sse", "tok.en"),
        ([], "alt=sse&key=tok%2Een", "tok.en"),
        ([(b"x-api-key", b"tok.en"), (b"authorization", b"Bearer tok.en")], "key=tok.en", "tok.en"),
    ],
)
def test_the_key_is_found_wherever_a_client_puts_it(headers: list, query: str, token: str):
    assert take_token(headers, query) == Token(token)


@pytest.mark.parametrize(
    ("headers", "query", "problem"),
    [
        ([], "", "no key"),
        ([(b"authorization", b"Basic abc")], "monkey=1", "no key"),
        ([(b"x-api-key", b"")], "key=", "no key"),
        ([(b"x-api-key", b"a"), (b"authorization", b"Bearer b")], "", "different"),
        ([(b"x-api-key", b"a"), (b"x-api-key", b"b")], "", "different"),
        ([(b"x-api-key", b"a")], "key=b", "different"),
    ],
)
def test_no_key_and_several_are_problems(headers: list, query: str, problem: str):
    token = take_token(headers, query)
    assert problem in token.problem
    assert not token.value


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ("anthropicMessages", (b"x-api-key", b"sk-real")),
        ("openaiChat", (b"Authorization", b"Bearer sk-real")),
        ("openaiResponses", (b"Authorization", b"Bearer sk-real")),
        ("gemini", (b"x-goog-api-key", b"sk-real")),
    ],
)
def test_the_credential_takes_the_place_of_every_key(wire: str, expected: tuple[bytes, bytes]):
    headers = [
        (b"Host", b"gateway"),
        (b"Expect", b"100-continue"),
        (b"Connection", b"x-api-key, authorization"),
        (b"Authorization", b"Bearer pod"),
        (b"X-API-Key", b"pod"),
        (b"x-goog-api-key", b"pod"),
        (b"api-key", b"pod"),
        (b"Content-Length", b"2"),
        (b"Anthropic-Beta", b"a"),
        (b"Anthropic-Beta", b"b"),
    ]
    sent = upstream_headers(wire, headers, " sk-real\n")
    assert sent == [*headers[-3:], expected]
    assert b"pod" not in b"".join(value for _, value in sent)
    assert set(PLACES) >= {wire}
    assert upstream_headers(wire, [], "c", "bearer") == [(b"Authorization", b"Bearer c")]


@pytest.mark.parametrize("credential", ["", " ", "a\nb", "a\r\nX-Evil: 1", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_a_credential_that_no_header_holds_is_refused_and_not_shown(credential: str):
    with pytest.raises(InvalidInput, match="bare key") as caught:
        upstream_headers("gemini", [], credential)
    assert "Evil" not in str(caught.value)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ""),
        ("key=tok", ""),
        ("alt=sse&key=tok&%24x=%2f", "alt=sse&%24x=%2f"),
        ("k%65y=tok&beta=true", "beta=true"),
        ("beta=true&monkey=1", "beta=true&monkey=1"),
        ("a&&b=", "a&&b="),
    ],
)
def test_the_query_goes_on_without_the_key(query: str, expected: str):
    assert upstream_query(query) == expected
