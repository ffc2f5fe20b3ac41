"""What an analysis's Job is told, and what it tells the operator of what it made."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairtrial.errors import InvalidInput


@dataclass(frozen=True)
class Settings:
    """What a Job is told: which cohort, and how much of its ledger."""

    namespace: str
    cohort: str
    uid: str
    ledger_size: int
    image: str | None = None  # that this runs in, by digest
    trust: Path | None = None  # trust list that goes into the package
    withhold: bool = False  # leave out what a credential was found in, instead of refusing the package

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """Read the settings; the first variable that is missing or wrong is named."""
        size = _required(env, "FAIRTRIAL_LEDGER_SIZE")
        if not size.isdecimal() or int(size) < 1:
            raise InvalidInput(f"FAIRTRIAL_LEDGER_SIZE is {size!r}.", next_move="Give a whole number of entries.")
        trust = env.get("FAIRTRIAL_TRUST", "")
        return cls(
            namespace=_required(env, "FAIRTRIAL_COHORT_NAMESPACE"),
            cohort=_required(env, "FAIRTRIAL_COHORT"),
            uid=_required(env, "FAIRTRIAL_COHORT_UID"),
            ledger_size=int(size),
            image=env.get("FAIRTRIAL_ANALYSIS_IMAGE") or None,
            trust=Path(trust) if trust else None,
            withhold=env.get("FAIRTRIAL_WITHHOLD", "").lower() == "true",
        )


@dataclass(frozen=True)
class Result:
    """What the operator is told of a package."""

    package_uri: str
    package_sha256: str
    report_sha256: str
    verdict: str

    def line(self) -> str:
        """The termination message."""
        keys = ("packageUri", "packageSha256", "reportSha256", "verdict")
        values = (self.package_uri, self.package_sha256, self.report_sha256, self.verdict)
        return json.dumps(dict(zip(keys, values, strict=True)), sort_keys=True)


def _required(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise InvalidInput(f"{name} is not set.", next_move="The operator sets it on the Job that it makes.")
    return env[name]
