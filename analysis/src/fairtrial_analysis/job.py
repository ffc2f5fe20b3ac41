"""What the analysis's Job does: read the cohort in the store, compute, package, sign, store; and say how far it is.

Everything is create-only and the same for the same records, so an attempt after one that died finishes its package.
"""

import contextlib
import logging
import resource
from collections.abc import Iterator, Mapping

from fairtrial.attest import trust
from fairtrial.errors import FairtrialError, InvalidInput
from fairtrial.evidence.layout import Layout, sha256
from fairtrial.evidence.objects import GET_LIMIT
from fairtrial.evidence.store import S3Settings, S3Store
from fairtrial.signing import keys, timestamps
from fairtrial.signing.keys import SigningKey
from fairtrial_analysis.analyse import Settings as Asked
from fairtrial_analysis.analyse import packaged
from fairtrial_analysis.package.publish import publish
from fairtrial_analysis.report.compute import Signing
from fairtrial_analysis.settings import Result, Settings

log = logging.getLogger(__name__)
TELL_EVERY = 500  # objects


class ToldStore(S3Store):
    """A store that says how much was read."""

    read = 0

    def get(self, key: str, *, limit: int = GET_LIMIT) -> bytes:
        """An object's bytes, counted."""
        data = super().get(key, limit=limit)
        self.read += 1  # from several threads: a number for people
        if self.read % TELL_EVERY == 0:
            log.info("%d documents read, %d MiB of memory at most", self.read, peak_mebibytes())
        return data


def carry_out(settings: Settings, env: Mapping[str, str]) -> Result:
    """Analyse the cohort, and store its package."""
    key = keys.from_environment(env)
    log.info(
        "cohort %s/%s (%s), %d entries of its ledger; signed with %s",
        settings.namespace,
        settings.cohort,
        settings.uid,
        settings.ledger_size,
        "nothing: no signing key is configured" if key is None else f"key {key.key_id}",
    )
    with opened(env) as store:
        where = Layout(store.settings.prefix), store.settings.bucket
        asked = Asked(settings.ledger_size, settings.image, signing_of(key))
        address = settings.namespace, settings.cohort, settings.uid
        analysis, package = packaged(
            store, where, address, asked, trust=trust_list(settings), withhold=settings.withhold
        )
        log.info("%d documents read, %d files listed; storing %s", store.read, package.listing.count, package.digest)
        published = publish(package, store, key, env.get(timestamps.URL_VARIABLE, ""))
    verdict = analysis.report.executive.verdict or ""
    log.info("stored %s: %s; %d MiB of memory at most", published.uri, verdict or "no verdict", peak_mebibytes())
    return Result(published.uri, published.digest, sha256(analysis.outputs.report_json), verdict)


@contextlib.contextmanager
def opened(env: Mapping[str, str]) -> Iterator[ToldStore]:
    """The store that the environment names, until it is not needed any more."""
    store = ToldStore(S3Settings.from_env(env))
    try:
        yield store
    finally:
        store.close()


def signing_of(key: SigningKey | None) -> Signing:
    """What the report says about the key."""
    if key is None:
        return "none"
    return "development" if key.development else "production"


def trust_list(settings: Settings) -> bytes | None:
    """The trust list that goes into the package, for convenience: an auditor has one from elsewhere."""
    if settings.trust is None:
        return None
    try:
        data = settings.trust.read_bytes()
        trust.load(data)
    except OSError as error:
        raise InvalidInput(f"Trust list {settings.trust}: can't be read: {error.strerror}.") from error
    except FairtrialError as error:
        raise InvalidInput(f"Trust list {settings.trust}: {error}") from error
    return data


def peak_mebibytes() -> int:
    """The most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
