"""Development keys for the demo: made once, kept out of bucket and repository, and told apart everywhere.

Whoever signs for real makes keys with `fairtrial keys new`, keeps them in a key service, and gives their public parts
to auditors some other way than beside the evidence.
"""

from pathlib import Path
from typing import Any

from fairtrial.attest.trust import TrustedKey, TrustList
from fairtrial.signing import keys

EVIDENCE = Path(__file__).parents[2] / "evidence"  # ignored by git
TRUST = EVIDENCE / "trust.json"
ROLES = ("operator", "evaluator", "analysis")  # each with a Secret of its own
STUDY_OWNER = "studyOwner"  # a person, whose key is in no cluster
TRUSTED = (*ROLES, STUDY_OWNER)


def ensure(folder: Path | None = None) -> Path:
    """Make the keys and the trust list that are not there yet; the trust list's path."""
    folder = folder or EVIDENCE
    held = folder / "keys"
    held.mkdir(parents=True, exist_ok=True, mode=0o700)
    for role in TRUSTED:
        if not key_file(role, folder).exists():
            keys.new(key_file(role, folder))
    public = {role: keys.load(f"file:{key_file(role, folder)}", development=True).public for role in TRUSTED}
    trust = folder / TRUST.name
    made = TrustList(tuple(TrustedKey(role, key, development=True) for role, key in public.items()))
    trust.write_bytes(made.to_bytes())
    return trust


def key_file(role: str, folder: Path | None = None) -> Path:
    """Where the private key of a role is."""
    return (folder or EVIDENCE) / "keys" / f"{role}.pem"


def secret_name(role: str, folder: Path | None = None) -> str:
    """The Secret that a part mounts its key from; another one for another key, so that the part starts with it."""
    key = keys.load(f"file:{key_file(role, folder)}", development=True)
    return f"fairtrial-signing-{role}-{key.key_id[:10]}"


def secrets(namespace: str, folder: Path | None = None) -> list[dict[str, Any]]:
    """The Secrets, one for each role: no part sees another's key."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret_name(role, folder), "namespace": namespace},
            "stringData": {"key.pem": key_file(role, folder).read_text()},
        }
        for role in ROLES
    ]


def values(folder: Path | None = None) -> dict[str, Any]:
    """The chart's values for these keys."""
    return {"development": True} | {role: {"existingSecret": secret_name(role, folder)} for role in ROLES}
