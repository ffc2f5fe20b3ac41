"""What every test run says first, and what it does once so that no test does it again."""

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from local_cluster import cache

# An example that takes long on a busy machine, or long to draw, is no wrong answer; what must be fast has a test that
# says how fast.
settings.register_profile("fairtrial", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fairtrial")

# Tests speak of programs whose output is no terminal, whatever the terminal is that they are run from.
for name in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "LINES", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE"):
    os.environ.pop(name, None)

if sys.dont_write_bytecode:
    # Whoever wants no __pycache__ in the checkout finds it in the cache: without any, every worker and every program
    # that a test starts would compile all over again, which is a third of the time that collecting takes.
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(cache.root() / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is left out, and how to have it."""
    if config.getoption("markexpr") == "not slow":
        return "left out: tests marked slow, which take minutes each or need long builds; run them by `make test-slow`"
    return None


def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the garbage collector need not look through it each time."""
    gc.collect()
    gc.freeze()
