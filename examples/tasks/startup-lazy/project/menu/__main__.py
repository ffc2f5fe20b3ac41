"""The command line: `python3 -m menu COMMAND ARGUMENT…`."""

import sys

from menu.commands import run


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: menu COMMAND ARGUMENT…", file=sys.stderr)
        return 2
    try:
        print(run(sys.argv[1], sys.argv[2:]))
    except KeyError:
        print(f"there is no command {sys.argv[1]}", file=sys.stderr)
        return 2
    return 0


sys.exit(main())
