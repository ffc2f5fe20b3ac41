"""What a failed S3 call means: one table from what a request raises to what the store does next. Pure."""

from enum import Enum

from urllib3.exceptions import HTTPError

from fairtrial.errors import StoreError, StoreUnavailable, StoreUnfit
from fairtrial.evidence.s3_xml import Refused, Unreadable


class Fault(Enum):
    """What to do after a failed call."""

    TAKEN = "taken"  # 412: something lies there; it may be our own, if an earlier answer was lost
    BUSY = "busy"  # 409: another conditional write was under way; nothing is decided
    UNKNOWN = "unknown"  # no answer, or one that does not say whether the call took effect
    MISSING = "missing"  # no such object
    UPLOAD_GONE = "upload_gone"  # the multipart upload is unknown: completed by a lost call, or swept
    FINAL = "final"  # trying again changes nothing


# Everything that a request may raise, network and parsing included.
ERRORS: tuple[type[Exception], ...] = (Refused, Unreadable, HTTPError)

_BUSY = {"ConditionalRequestConflict", "OperationAborted"}
_MISSING = {"NoSuchKey", "404", "NotFound"}
# Answers that come with a 4xx status although the same request may pass next time. Digest complaints are among them:
# we hash what we hold, so the body was damaged on its way.
_PASSING = {
    "BadDigest",
    "IncompleteBody",
    "RequestTimeout",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "XAmzContentSHA256Mismatch",
    "XAmzContentChecksumMismatch",
}
BAD_REQUEST, _PRECONDITION_FAILED, _SERVER_ERROR, _NOT_IMPLEMENTED = 400, 412, 500, 501
_FULL = {"XMinioStorageFull", "InsufficientStorage", "QuotaExceeded"}
_PASSING_STATUS = {408, 425, 429}
_REDIRECTIONS = range(300, 400)
_REDIRECTED = "The bucket is elsewhere: set FAIRTRIAL_S3_ENDPOINT and FAIRTRIAL_S3_REGION to those of its region."

_NEXT_MOVES = {
    "AccessDenied": "Give the credentials s3:PutObject, s3:GetObject and s3:AbortMultipartUpload on the prefix, and "
    "s3:ListBucket and s3:ListBucketMultipartUploads on the bucket.",
    "ExpiredToken": "The session has expired: renew the credentials and restart.",
    "InvalidAccessKeyId": "Check AWS_ACCESS_KEY_ID.",
    "SignatureDoesNotMatch": "Check AWS_SECRET_ACCESS_KEY and FAIRTRIAL_S3_REGION.",
    "AuthorizationHeaderMalformed": "Set FAIRTRIAL_S3_REGION to the region of the bucket.",
    "RequestTimeTooSkewed": "Set this machine's clock right (NTP).",
    "NoSuchBucket": "Create the bucket, or correct FAIRTRIAL_S3_BUCKET.",
    "InvalidRequest": "If it speaks of Object Lock: the bucket has none; set FAIRTRIAL_S3_OBJECT_LOCK_DAYS to 0.",
}


def of(error: Exception) -> Fault:
    """What the error of a call means for the next move."""
    if not isinstance(error, Refused):
        return Fault.UNKNOWN
    code, answered = error.code, error.status
    if code == "PreconditionFailed" or answered == _PRECONDITION_FAILED:
        return Fault.TAKEN
    if code in _BUSY:
        return Fault.BUSY
    if code == "NoSuchUpload":
        return Fault.UPLOAD_GONE
    if code in _MISSING:
        return Fault.MISSING
    if (
        code in _PASSING | _FULL
        or answered in _PASSING_STATUS
        or (answered >= _SERVER_ERROR and answered != _NOT_IMPLEMENTED)
    ):
        return Fault.UNKNOWN
    return Fault.FINAL


def translated(error: Exception, what: str) -> StoreError:
    """A final fault as one of our errors: what was tried, what the store said, and what to do."""
    if not isinstance(error, Refused):
        return StoreError(f"{what}: {error}")
    message = f"{what}: the store answered {error.status} {error.code}: {error.message}"
    if error.code == "NotImplemented" or error.status == _NOT_IMPLEMENTED:
        return StoreUnfit(message, next_move="Use a store that has conditional writes and SHA-256 checksums.")
    next_move = _REDIRECTED if error.status in _REDIRECTIONS else _NEXT_MOVES.get(error.code, "")
    return StoreError(message, next_move=next_move)


def unavailable(error: Exception, what: str) -> StoreUnavailable:
    """What was tried in vain for long enough: what the store said last, and what to do."""
    if not isinstance(error, Refused):
        return StoreUnavailable(f"{what}: the store did not answer ({error}).", next_move="Try again.")
    said = f"{what}: the store did not carry it out ({error.status} {error.code})"
    if error.code in _FULL:
        move = "Make room, or raise its quota; what waits for it is stored then."
        return StoreUnavailable(f"{said}: it is full.", next_move=move)
    return StoreUnavailable(f"{said}.", next_move="Try again; see the store's own log if it lasts.")


def reason(error: Exception) -> str:
    """A short word for logs and counters: the store's error code, or the kind of network failure."""
    return error.code if isinstance(error, Refused) else type(error).__name__
