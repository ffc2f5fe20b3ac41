"""What test runners write, read with suspicion."""

import pytest
from fairtrial_evaluator import junit, tap
from fairtrial_evaluator.results import UnreadableResults


def suite(*cases: str) -> bytes:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>".encode()


def test_junit_states() -> None:
    report = junit.parse(
        suite(
            '<testcase classname="a" name="ok"/>',
            '<testcase classname="a" name="bad"><failure>no</failure></testcase>',
            '<testcase classname="a" name="broken"><error/></testcase>',
            '<testcase classname="a" name="off"><skipped/></testcase>',
            '<testcase name="bare"><system-out>&lt;failure/&gt;</system-out></testcase>',
        )
    )
    assert report.of("passed") == {"a::ok", "bare"}
    assert report.of("failed") == {"a::bad", "a::broken"}
    assert report.of("skipped") == {"a::off"}


def test_a_test_reported_twice_has_the_worse_state_and_is_named() -> None:
    report = junit.parse(suite('<testcase name="x"><failure/></testcase>', '<testcase name="x"/>'))

    assert report.states == {"x": "failed"}
    assert report.duplicates == {"x"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<testsuites>",
        b"<html/>",
        b'<!DOCTYPE t [<!ENTITY a "b">]><testsuites/>',
        b'<!DOCTYPE testsuites SYSTEM "file:///etc/passwd"><testsuites/>',
        suite("<testcase/>"),
        suite('<testcase name="a"><testcase name="b"/></testcase>'),
        b"<testsuites>" + b"<testsuite>" * 100 + b"</testsuite>" * 100 + b"</testsuites>",
        b"<testsuites>" + b" " * (17 * 1024 * 1024) + b"</testsuites>",
    ],
)
def test_junit_that_is_not_in_order_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableResults):
        junit.parse(data)


TAP = r"""TAP version 13
# Subtest: top \# one
ok 1 - top \# one
  ---
  duration_ms: 1
  ok 7 - not a test but a diagnostic
  ...
# Subtest: group
    # Subtest: inner
    ok 1 - inner
    not ok 2 - bad
    ok 3 - later # TODO
    ok 4 - off # SKIP no need
    1..4
not ok 2 - group
ok 3 - /w/project/a.test.mjs
1..3
# tests 3
"""


def test_tap_with_subtests_directives_and_diagnostics() -> None:
    report = tap.parse(TAP.encode(), project="/w/project")

    assert report.of("passed") == {"top # one", "group > inner", "a.test.mjs"}
    assert report.of("failed") == {"group > bad"}
    assert report.of("skipped") == {"group > later", "group > off"}
    assert report.states["group"] == "failed"


def test_tap_14_and_unnumbered_points() -> None:
    assert tap.parse(b"TAP version 14\n1..2\nok first\nnot ok - second\n").states == {
        "first": "passed",
        "second": "failed",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok 1 - a\n1..1\n",
        "TAP version 13\nok 1 - a\n",
        "TAP version 13\nok 1 - a\n1..2\n",
        "TAP version 13\nok 1 - a\n1..1\n1..1\n",
        "TAP version 13\nBail out! no\n1..0\n",
        "TAP version 13\nok 1 - a\n  ---\n1..1\n",
        "TAP version 13\n    ok 1 - in\n    1..2\nok 1 - out\n1..1\n",
    ],
)
def test_tap_that_is_not_in_order_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableResults):
        tap.parse(text.encode())
