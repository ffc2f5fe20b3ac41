"""Whether a provider was out, and whether that was before the first usable answer."""

import pytest

from fairtrial.wires.outage import Answer, Outage, failure, outage

GOOD = Answer(200, "complete", first_usable=True)
RATE = Answer(429, "complete", first_usable=False)
DOWN = Answer(None, "upstream_unreachable", first_usable=False)
CUT = Answer(200, "upstream_cut", first_usable=True)
BAD_REQUEST = Answer(400, "complete", first_usable=False, error_type="invalid_request_error")
REFUSED = Answer(400, "refused", first_usable=False, refused=True)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (GOOD, ""),
        (BAD_REQUEST, ""),
        (REFUSED, ""),
        (Answer(404, "complete", first_usable=False), ""),
        (Answer(200, "client_gone", first_usable=False), ""),
        (Answer(None, "client_gone", first_usable=False), ""),
        (Answer(None, "gateway_restarted", first_usable=False), ""),
        (Answer(429, "refused", first_usable=False), ""),
        (DOWN, "unreachable"),
        (Answer(200, "upstream_silent", first_usable=False), "silent"),
        (CUT, "cut"),
        (RATE, "rate_limited"),
        (Answer(529, "complete", first_usable=False, error_type="overloaded_error"), "overloaded"),
        (Answer(500, "complete", first_usable=False), "server_error"),
        (Answer(503, "complete", first_usable=False), "server_error"),
        (Answer(401, "complete", first_usable=False), "credential_refused"),
        (Answer(200, "complete", first_usable=True, error_type="overloaded_error"), "overloaded"),
        (Answer(200, "complete", first_usable=False, error_type="UNAVAILABLE"), "server_error"),
        (Answer(200, "complete", first_usable=False, error_type="invalid_request_error"), ""),
    ],
)
def test_what_failed_on_the_providers_side(answer: Answer, cause: str):
    assert failure(answer) == cause


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], None),
        ([GOOD], None),
        ([RATE, RATE, GOOD], None),  # it came back
        ([RATE, RATE], Outage("rate_limited", before_first_usable=True)),
        ([DOWN], Outage("unreachable", before_first_usable=True)),
        ([GOOD, DOWN], Outage("unreachable", before_first_usable=False)),
        ([CUT], Outage("cut", before_first_usable=False)),  # a first token had come
        ([DOWN, REFUSED], Outage("unreachable", before_first_usable=True)),  # a refusal says nothing of the provider
        ([DOWN, BAD_REQUEST], None),
        (
            [Answer(200, "complete", first_usable=True, kind="count_tokens"), DOWN],
            Outage("unreachable", before_first_usable=True),
        ),
    ],
)
def test_an_outage_is_a_failure_that_nothing_better_followed(answers: list[Answer], expected: Outage | None):
    assert outage(answers) == expected
