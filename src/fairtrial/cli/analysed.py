"""Which package a cohort's status names: the latest analysis of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairtrial.cli.download import Address
from fairtrial.cli.kubectl import Kubectl
from fairtrial.errors import FairtrialError, InvalidInput

KIND = "benchmarkcohorts.fairtrial.dev"


@dataclass(frozen=True)
class Analysed:
    """Where the package of a cohort lies, and the digest of the report in it."""

    address: Address
    report_sha256: str


class NotAnalysed(FairtrialError):
    """The cohort has no package."""

    reason = "NotAnalysed"


def of_cohort(cohort: str, namespace: str, context: str | None, bucket: str) -> Analysed:
    """The package in `bucket` that the status of a cohort on a cluster names."""
    status = Kubectl(context, namespace).get(KIND, cohort).get("status", {})
    told = status.get("analysis") or {}
    if not told.get("packageUri"):
        phase = status.get("phase", "Draft")
        raise NotAnalysed(
            f"{namespace}/{cohort} has no package yet (phase {phase}). {_why(status)}".strip(),
            next_move=f"Wait for it: kubectl wait -n {namespace} --for=condition=Analysed benchmarkcohort/{cohort}",
        )
    address, named = Address.of(told["packageUri"], bucket), told.get("packageSha256")
    if address.digest != named:
        raise InvalidInput(f"{namespace}/{cohort}: its status names package {named}, at the address of another.")
    return Analysed(address, str(told.get("reportSha256")))


def _why(status: Mapping[str, Any]) -> str:
    found = next((one for one in status.get("conditions", ()) if one["type"] == "Analysed"), None)
    return f"Analysed is {found['status']}, {found['reason']}: {found.get('message', '')}" if found else ""
