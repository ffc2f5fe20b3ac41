"""Times of one run come from several clocks: what they can't tell apart is no finding, what they can is one."""

import pytest

from fairtrial.audit.ledger import Entry
from fairtrial.audit.records import _times


@pytest.mark.parametrize(
    ("created", "findings"),
    [("2026-01-01T12:00:03Z", 0), ("2026-01-01T12:00:02Z", 0), ("2026-01-01T11:59:50Z", 1)],
)
def test_the_clocks_of_a_cluster_may_differ_by_seconds(created: str, findings: int) -> None:
    times = {"accepted": "2026-01-01T12:00:03Z", "agentCreated": created, "agentFinished": "2026-01-01T12:00:30Z"}
    recorded = Entry("record", 3, "2026-01-01T12:00:40Z", "ledger/00000003.json", {})

    found = list(_times({"timings": {"timestamps": times}}, recorded, None))

    assert [code for code, _ in found] == ["TIME_ORDER"] * findings
