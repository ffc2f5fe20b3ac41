"""Programs that come from Debian packages."""

import os

import pytest

from local_cluster import packages
from local_cluster.__main__ import main as local_cluster_command


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


def test_who_has_no_go_is_told_before_anything_is_installed(monkeypatch):
    monkeypatch.setattr(packages.os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages.shutil, "which", lambda program, path=None: None)
    monkeypatch.setattr(packages, "install", lambda wanted: pytest.fail(f"would install {wanted}"))

    with pytest.raises(packages.MissingProgram, match=r"`go` \(1.26 or later\) is not in PATH"):
        packages.ensure()


def test_a_build_that_fails_is_told_in_words_and_leaves_nothing_that_looks_finished(tmp_path, monkeypatch, capfd):
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\necho 'invalid go version' >&2; exit 1\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(go.parent), prepend=os.pathsep)
    monkeypatch.setenv("FAIRTRIAL_CACHE", str(tmp_path / "cache"))

    assert local_cluster_command(["status"]) == 1

    told = capfd.readouterr().err
    assert "invalid go version" in told
    assert "`go build` of etcd failed. It takes Go 1.26 or later" in told
    assert not [path for path in (tmp_path / "cache" / "binaries" / "etcd").iterdir() if len(path.name) == 16]
