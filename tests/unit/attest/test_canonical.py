"""One spelling is read; whatever two parsers may read differently is refused, each with its own code."""

import pytest

from fairtrial import documents
from fairtrial.attest import canonical
from fairtrial.errors import Unproven

REFUSED = {
    "spaces": (b'{"a": 1}', "JSON_NOT_CANONICAL"),
    "a newline at the end": (b'{"a":1}\n', "JSON_NOT_CANONICAL"),
    "keys out of order": (b'{"b":1,"a":2}', "JSON_NOT_CANONICAL"),
    "a letter as an escape": (b'{"\\u0061":1}', "JSON_NOT_CANONICAL"),
    "a lone surrogate": (b'{"a":"\\ud800"}', "JSON_NOT_CANONICAL"),
    "a number with a useless exponent": (b'{"a":1e2}', "JSON_NOT_CANONICAL"),
    "minus nothing": (b'{"a":-0}', "JSON_NOT_CANONICAL"),
    "the same key twice": (b'{"score":0,"score":1}', "JSON_DUPLICATE_KEY"),
    "the same key twice, deep inside": (b'{"a":[{"b":1,"\\u0062":2}]}', "JSON_DUPLICATE_KEY"),
    "no number": (b'{"a":NaN}', "JSON_NUMBER"),
    "an infinite number": (b'{"a":-Infinity}', "JSON_NUMBER"),
    "a number that becomes infinite": (b'{"a":1e999}', "JSON_NUMBER"),
    "a number no double holds": (b'{"a":9007199254740993}', "JSON_NUMBER"),
    "a number of a million digits": (b'{"a":' + b"9" * 1_000_000 + b"}", "JSON_NUMBER"),
    "lists in lists": (b"[" * 65 + b"]" * 65, "JSON_TOO_DEEP"),
    "lists in lists without an end": (b"[" * 200_000, "JSON_TOO_DEEP"),
    "bytes that are no UTF-8": (b'{"a":"\xff"}', "JSON_INVALID"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "JSON_INVALID"),
    "half a document": (b'{"a":', "JSON_INVALID"),
    "two documents": (b"{}{}", "JSON_INVALID"),
    "nothing": (b"", "JSON_INVALID"),
}


@pytest.mark.parametrize(("data", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_anything_ambiguous_is_refused_by_its_own_code(data: bytes, code: str) -> None:
    with pytest.raises(Unproven) as refused:
        canonical.load(data, name="record.json")

    assert refused.value.code == code
    assert refused.value.message.startswith("record.json ")


def test_more_bytes_than_allowed_are_not_even_parsed() -> None:
    with pytest.raises(Unproven) as refused:
        canonical.load(b'"aaaa"', name="x", size_max=5)

    assert refused.value.code == "JSON_TOO_LARGE"


def test_floats_are_refused_where_only_integers_may_be() -> None:
    assert canonical.load(b'{"a":0.5}', name="x") == {"a": 0.5}
    with pytest.raises(Unproven) as refused:
        canonical.load(b'{"a":0.5}', name="x", floats=False)

    assert refused.value.code == "JSON_NUMBER"


def test_what_our_documents_write_is_what_is_read() -> None:
    value = {"é": "ü\n\u2028\x7f", "a": [1, 0.1, None, True, {"z": "", "b": "\U0001f600"}], "B": -1, "n": 2**53 - 1}

    data = documents.dump(value)

    assert canonical.load(data, name="x") == value
    assert canonical.to_bytes(value) == data


def test_the_deepest_allowed_nesting_is_read() -> None:
    data = b"[" * 64 + b"]" * 64

    assert canonical.to_bytes(canonical.load(data, name="x")) == data


def test_any_spelling_may_be_asked_for_but_nothing_ambiguous() -> None:
    assert canonical.parse(b' { "b" : 1 , "a":2 }\n', name="x") == {"a": 2, "b": 1}
    with pytest.raises(Unproven) as refused:
        canonical.parse(b'{"a": 1, "a": 2}', name="x")

    assert refused.value.code == "JSON_DUPLICATE_KEY"
