"""Whoever waits sees what is done, that it still lives, and what came of it."""

import threading

import pytest

from local_cluster import progress


def test_a_long_step_says_what_it_does_how_long_so_far_and_how_long_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    alive = threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        if "so far" in line:
            alive.set()

    monkeypatch.setattr(progress, "SIGN_OF_LIFE_SECONDS", 0.001)
    monkeypatch.setattr(progress, "say", say)

    with progress.step("build Kubernetes"):
        assert alive.wait(60)

    assert lines[0] == "  build Kubernetes"
    assert lines[1].startswith("    … build Kubernetes: ")
    assert lines[-1].startswith("  ✓ build Kubernetes: ")


def test_a_step_that_fails_says_so_and_the_failure_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), progress.step("build Kubernetes"):
        raise KeyboardInterrupt

    said = capsys.readouterr()
    assert "✗ build Kubernetes: failed after " in said.err
    assert "✓" not in said.err
    assert said.out == "", "output stays clean for programs"
