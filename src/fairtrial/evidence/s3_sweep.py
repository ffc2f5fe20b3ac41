"""Multipart uploads that nobody will finish, because an answer was lost or a sender died: their parts are dropped.

Readers and listings never see such parts, but a store keeps them, and may charge for them, until somebody aborts the
upload. A lifecycle rule of the bucket does the same where a store has them; not all do.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from fairtrial.evidence import s3_xml
from fairtrial.evidence.layout import Layout
from fairtrial.evidence.s3_calls import S3Calls
from fairtrial.evidence.s3_xml import Unfinished

ABANDONED_AFTER = timedelta(days=1)  # the longest upload that is let go on takes minutes
MOST = 1000  # in one sweep


def sweep(store: S3Calls, now: datetime, *, most: int = MOST, page: int = 1000) -> int:
    """Abort what was begun in our folders more than a day ago; how many. What is over `most` waits for the next one."""
    aborted = 0
    for folder in Layout(store.settings.prefix).folders:
        for upload in _uploads(store, folder, page):
            if aborted == most:
                return aborted
            if upload.initiated < now - ABANDONED_AFTER:
                store.abort_upload(upload.key, upload.upload_id)
                aborted += 1
    return aborted


def _uploads(store: S3Calls, folder: str, page: int) -> Iterator[Unfinished]:
    query = {"uploads": "", "prefix": folder, "max-uploads": str(page), "encoding-type": "url"}
    while True:
        found, after = store.retrying(
            f"list uploads below {folder}", lambda: s3_xml.uploads(store.s3.ask("GET", query=query).data)
        )
        yield from found
        if after is None:
            return
        # By key alone: an upload that was aborted meanwhile is no marker. What this skips is there the next day.
        query["key-marker"] = after
