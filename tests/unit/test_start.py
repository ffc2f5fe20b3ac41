"""What a program loads when it starts: everybody waits for it, and most never need the heavy libraries."""

import subprocess
import sys

import pytest

HEAVY = {
    "azure", "boto3", "botocore", "google", "grpc", "kopf", "kubernetes", "numpy", "pip", "pyarrow", "scipy",
    "securesystemslib",
}  # fmt: skip
HELP = "import sys; sys.argv = ['fairtrial', '--help']; from fairtrial.cli import main; main()"
STARTS = {
    "fairtrial --help": (HELP, HEAVY),
    "a key in a file": ("from fairtrial.signing import keys, sign, storing", HEAVY),
    "the verifier": ("import fairtrial.audit.__main__", HEAVY),
    # It needs boto3 anyway; the clouds' key services are for those who keep a key there.
    "the gateway": ("import fairtrial_gateway.app", {"azure", "google", "grpc", "kopf", "scipy", "securesystemslib"}),
    "the analysis": ("import fairtrial_analysis.analyse", {"azure", "boto3", "google", "grpc", "securesystemslib"}),
}


@pytest.mark.parametrize("program", STARTS)
def test_a_start_loads_no_library_that_it_may_never_need(program: str) -> None:
    code, heavy = STARTS[program]
    told = "import atexit, sys; atexit.register(lambda: print('LOADED', *{n.split('.')[0] for n in sys.modules}))"

    done = subprocess.run([sys.executable, "-c", f"{told}; {code}"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert "fairtrial" in loaded
    assert loaded & heavy == set()
