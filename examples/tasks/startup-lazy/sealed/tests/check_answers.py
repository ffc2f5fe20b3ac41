"""Asks the program as its users do; whoever ends this early writes no proof."""

import subprocess
import sys

ASKED = {
    ("words", "to be or not to be"): "6",
    ("total", "0.10", "0.20"): "0.30",
    ("days", "2026-01-01", "2026-03-01"): "59",
    ("host", "https://example.org/a"): "example.org",
}


def main() -> int:
    nonce = sys.stdin.read()
    for arguments, answer in ASKED.items():
        done = subprocess.run(
            [sys.executable, "-m", "menu", *arguments], capture_output=True, text=True, check=False, timeout=20
        )
        if (done.returncode, done.stdout.strip()) != (0, answer):
            print(arguments, done.returncode, done.stdout, done.stderr)
            return 1
    refused = subprocess.run([sys.executable, "-m", "menu", "dance"], capture_output=True, check=False, timeout=20)
    if refused.returncode != 2:
        return 1
    with open(sys.argv[1], "w") as proof:
        proof.write(nonce)
    return 0


sys.exit(main())
