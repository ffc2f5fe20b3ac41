"""Programs that come from Debian packages."""

import pytest

from local_cluster import packages


def test_a_program_that_is_there_is_not_installed_again(monkeypatch):
    monkeypatch.setattr(packages, "install", lambda wanted: pytest.fail(f"would install {wanted}"))

    assert packages.provide("sh", "dash").endswith("/sh")


def test_one_that_is_not_there_is_installed_by_its_package(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(packages, "install", asked.extend)
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)

    with pytest.raises(packages.MissingProgram):
        packages.provide("no-such-program", "no-such-package")

    assert asked == ["no-such-package"]


def test_who_may_not_install_is_told_what_to_run(monkeypatch):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)

    with pytest.raises(packages.MissingProgram, match="apt-get install no-such-package"):
        packages.provide("no-such-program", "no-such-package")
