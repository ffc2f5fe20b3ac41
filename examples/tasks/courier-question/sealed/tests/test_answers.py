"""The facts in ANSWER.json."""

import json
from pathlib import Path

import pytest

KEYS = {"queueWriters", "smsAttempts", "webhookAttempts", "channelsTried", "routeCallers"}


@pytest.fixture
def answer():
    return json.loads(Path("ANSWER.json").read_text())


def test_the_form(answer):
    assert answer.keys() == KEYS


def test_queue_writers(answer):
    assert sorted(answer["queueWriters"]) == ["courier.archive", "courier.digest"]


def test_sms_attempts(answer):
    assert answer["smsAttempts"] == 2  # the installation's word comes before the channel's own 4


def test_webhook_attempts(answer):
    assert answer["webhookAttempts"] == 5  # the installation says nothing, so the channel's own counts


def test_channels_tried(answer):
    assert answer["channelsTried"] == ["sms", "webhook", "email"]


def test_route_callers(answer):
    assert sorted(answer["routeCallers"]) == ["courier.preview", "courier.worker"]
