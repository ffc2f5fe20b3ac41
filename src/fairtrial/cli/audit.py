"""`fairtrial verify`: check a fetched evidence package offline, and tell everything that is wrong with it."""

from pathlib import Path

import typer

from fairtrial.audit import telling
from fairtrial.audit.verify import load_trust, verify
from fairtrial.errors import InvalidInput
from fairtrial.process.garbage import collect_seldom


def run(folder: Path, trust: Path, checkpoint: Path | None, *, as_json: bool) -> int:
    """Verify `folder`; 0 without findings, 1 with any."""
    try:
        given = checkpoint.read_bytes() if checkpoint else None
    except OSError as error:
        raise InvalidInput(f"{checkpoint}: can't be read: {error.strerror}.") from error
    collect_seldom()
    result = verify(folder, load_trust(trust), given)
    typer.echo(telling.as_json(result) if as_json else "\n".join(telling.as_text(result)))
    return 1 if result.findings.found else 0
