"""Paths and templates: the two small languages in which an adapter says where things are."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.errors import InvalidInput
from fairtrial.events import paths, templates

RECORD = {
    "a": {"b": [1, 2, {"c": "x"}], "d.e": "dotted"},
    "null": None,
    "attributes": [{"key": "m", "value": {"intValue": "7"}}, {"key": "n", "value": 8}],
    "json": '{"command": ["ls"], "n": NaN}',
    "spans": [{"of": [{"id": 1}, {"id": 2}]}, {"of": []}, {"of": [{"id": 3}]}],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", [[1, 2, {"c": "x"}]]),
        ("a.b[]", [1, 2, {"c": "x"}]),
        ("a.b[0]", [1]),
        ("a.b[-1].c", ["x"]),
        ("a.b[9]", []),
        ('a."d.e"', ["dotted"]),
        ("null", []),
        ("attributes[key=m].value.intValue", ["7"]),
        ("attributes[key=z].value", []),
        ("json.(json).command[]", ["ls"]),
        ("json.(json).n", []),
        ("a.(json).d.e | a.b[1]", [2]),
        ("spans[].of[].id", [1, 2, 3]),
        ("missing | =constant", ["constant"]),
        ("@.x", ["item"]),
        ("@", [{"x": "item"}]),
        ("a.b.c", []),
        ("", []),
    ],
)
def test_a_path_finds(path, found):
    assert paths.values(path, RECORD, {"x": "item"}) == found


@pytest.mark.parametrize("path", ["a..b", "a b", "a[", "a[x]", "a[=x]", "(yaml)", "a |", "x" * 300, "a]", "a.(json"])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(InvalidInput):
        paths.compiled(path)


@given(st.text(max_size=60))
def test_any_text_is_a_path_or_is_refused(text):
    with contextlib.suppress(InvalidInput):
        paths.values(text, RECORD)


def test_json_is_read_leniently_but_never_gives_what_json_is_not():
    assert paths.parse('{"a": NaN, "b": 1e999, "a": 2}') == {"a": 2, "b": None}
    with pytest.raises(ValueError, match="4300"):
        paths.parse("9" * 5000)


@pytest.mark.parametrize(
    ("template", "line", "found"),
    [
        ("Applied edit to {path}", "Applied edit to a b.py", {"path": "a b.py"}),
        ("Added {path} to the chat.", "Added to to the chat. to the chat.", {"path": "to to the chat."}),
        ("Added {path} to the chat.", "Added x to the chat", None),
        ("{n:int} tests, {_}", "12 tests, whatever", {"n": "12"}),
        ("{n:int} tests, {_}", "x tests, y", None),
        ("exactly", "exactly", {}),
        ("exactly", "exactly not", None),
        ("{{{x}}}", "{7}", {"x": "7"}),
        ("{a}-{b}-end", "1-2-3-end", {"a": "1", "b": "2-3"}),
        ("{text}", "", {"text": ""}),
    ],
)
def test_a_template_matches_the_whole_line(template, line, found):
    assert templates.compiled(template).match(line) == found


@pytest.mark.parametrize("template", ["{", "a}b", "{a}{b}", "{a b}", "{a:float}", "x" * 600])
def test_a_template_that_is_none_is_refused(template):
    with pytest.raises(InvalidInput):
        templates.compiled(template)


def test_a_hostile_line_takes_no_time():
    template = templates.compiled("a{a}b{b}c{c}d{d}e{e}f")

    assert template.match("ab" * 200_000) is None
