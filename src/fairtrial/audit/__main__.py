"""`python -m fairtrial.audit FOLDER --trust trust.json`: the same as `fairtrial verify`, needing nothing but this."""

import argparse
import sys
from pathlib import Path

from fairtrial.audit import telling
from fairtrial.audit.verify import load_trust, verify
from fairtrial.errors import FairtrialError


def main(arguments: list[str] | None = None) -> int:
    """Verify a package; 0 without findings, 1 with any, 2 where nothing could be verified."""
    parser = argparse.ArgumentParser(prog="python -m fairtrial.audit", description=__doc__)
    parser.add_argument("folder", type=Path, help="the fetched package")
    parser.add_argument("--trust", type=Path, required=True, help="trust list, from somewhere else than the package")
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint of the ledger that was kept elsewhere")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    try:
        given = options.checkpoint.read_bytes() if options.checkpoint else None
        result = verify(options.folder, load_trust(options.trust), given)
    except (FairtrialError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(telling.as_json(result) if options.json else "\n".join(telling.as_text(result)))
    return 1 if result.findings.found else 0


if __name__ == "__main__":
    sys.exit(main())
