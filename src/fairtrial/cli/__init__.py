"""The `fairtrial` command: what people do that kubectl cannot."""

import sys

from fairtrial.errors import FairtrialError


def main() -> None:
    """Run the command line; what this system can explain becomes one line and exit code 2, never a traceback."""
    from fairtrial.cli.app import app

    try:
        app()
    except FairtrialError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
