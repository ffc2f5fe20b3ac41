"""What every test run says first."""

import pytest


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is left out, and how to have it."""
    if config.getoption("markexpr") == "not slow":
        return "left out: tests marked slow, which take minutes each or need long builds; run them by `make test-slow`"
    return None
