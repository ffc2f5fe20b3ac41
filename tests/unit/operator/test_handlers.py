"""What kopf may do in the operator: watch our kinds, a page at a time, and forget what it has handed over."""

from fairtrial_operator import handlers
from fairtrial_operator.kube import PAGE


def test_kopf_writes_nothing_and_holds_no_more_than_a_page() -> None:
    made = handlers.settings()

    assert not made.posting.enabled
    assert made.scanning.disabled
    assert made.watching.chunk_size == PAGE
    assert made.queueing.idle_timeout <= 0.1, "each worker holds its last object for so long"


def test_kopf_builds_no_essence_of_an_object() -> None:
    assert handlers.settings().persistence.diffbase_storage.build(body={"spec": {"a": 1}}) == {}
