"""`fairtrial try`: a whole run as local processes, labelled as what it is. Only harmless candidates are tried."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples.demo import tries
from examples.demo.install import ROOT
from fairtrial.cli import try_run
from fairtrial.errors import InvalidInput
from fairtrial.scripted import parse_script, serve

LABEL = "local: not isolated, not evidence"
TASK = ROOT / "examples" / "tasks" / "types-fix"


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return tries.run_file("reference-types-fix", tmp_path)


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """python3 with mypy and pytest, as `uv run` has it first on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def with_argv(file: Path, *argv: str) -> Path:
    """The same run with another program."""
    run = yaml.safe_load(file.read_text())
    run["spec"]["candidate"]["argv"] = list(argv)
    file.write_text(yaml.safe_dump(run))
    return file


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_the_reference_passes_and_everything_says_what_it_is(
    reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"

    code = try_run.run(reference, TASK, kept)

    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert (lines[0], lines[-1], lines.count(LABEL)) == (LABEL, LABEL, 2)
    assert "somebody's program" in lines[1]
    summary = summary_of(kept)
    assert (summary["what"], summary["outcome"], summary["cause"]) == (LABEL, "passed", "none")
    assert summary["agent"]["isolation"] == "not_applicable"
    assert summary["agent"]["consumption"] is None, "the machine's counters are not this agent's"
    assert summary["evaluation"]["snapshotSha256"] == summary["agent"]["snapshot"]["artifact"]["sha256"]
    assert (kept / "agent" / "snapshot.tar").is_file()
    assert not (kept / "record.json").exists()


def test_a_candidate_that_does_nothing_fails(reference: Path) -> None:
    assert try_run.run(with_argv(reference, "/bin/true"), TASK, None) == 1


def test_a_candidate_that_removes_the_project_fails_by_the_checks(reference: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    assert try_run.run(with_argv(reference, "/bin/rm", "-r", "{projectDir}"), TASK, kept) == 1

    assert summary_of(kept)["reason"] == "checks_failed"


def test_an_agent_is_told_the_folder_that_it_works_in(reference: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"

    try_run.run(with_argv(reference, "/usr/bin/env"), TASK, tmp_path / "kept", work)

    said = (tmp_path / "kept" / "agent" / "streams" / "stdout" / "000000").read_text()
    assert f"PWD={work}/run/workspace/project" in said.splitlines()


def test_a_program_that_is_not_there_is_invalid_and_nothing_is_judged(reference: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    assert try_run.run(with_argv(reference, "/no/such/program"), TASK, kept) == 2

    summary = summary_of(kept)
    assert (summary["outcome"], summary["reason"], summary["evaluation"]) == ("invalid", "start_failed", None)


def test_an_interrupt_ends_the_candidate_and_is_no_failure_of_it(reference: Path, tmp_path: Path) -> None:
    kept, mark = tmp_path / "kept", tmp_path / "mark"
    file = with_argv(reference, "/bin/sh", "-c", f"echo $$ > {mark}; exec sleep 60")
    command = [str(Path(sys.executable).with_name("fairtrial")), "try", str(file), "--task", str(TASK)]
    process = subprocess.Popen([*command, "--keep", str(kept)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (mark.exists() and mark.read_text().endswith("\n")):
        assert time.monotonic() < deadline and process.poll() is None, "the candidate was not started"
        time.sleep(0.05)

    process.send_signal(signal.SIGINT)

    assert process.wait(30) == 2
    assert not Path("/proc", mark.read_text().strip()).exists()
    summary = summary_of(kept)
    assert (summary["outcome"], summary["cause"], summary["evaluation"]) == ("cancelled", "human_abort", None)


def test_a_run_that_would_not_fit_into_a_pod_is_refused_here_too(reference: Path) -> None:
    file = with_argv(reference, "/bin/true", *["{prompt}"] * 250)

    with pytest.raises(InvalidInput, match="make a plan of"):
        try_run.run(file, TASK, None)


def test_nothing_is_overwritten(reference: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="exists already"):
        try_run.run(reference, TASK, tmp_path)


def test_a_missing_task_is_named(reference: Path) -> None:
    with pytest.raises(InvalidInput, match="--task FOLDER"):
        try_run.run(reference, None, None)


def test_the_first_taste_needs_no_cluster_and_ends_as_it_must(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")

    assert tries.run() == 0

    shown = capsys.readouterr()
    names = [name for name in tries.RUNS if name in shown.out]
    left_out = [name for name in tries.RUNS if f"{name}: left out" in shown.out + shown.err]
    assert sorted(names + left_out) == sorted(tries.RUNS)
    assert bool(left_out) == (shutil.which("node") is None)
    assert shown.out.count(LABEL) == 2 * len(names)


CALLS = """
import json, os, sys, urllib.request
body = json.dumps({"model": sys.argv[2], "messages": []}).encode()
headers = {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"}
request = urllib.request.Request(sys.argv[1] + "/v1/chat/completions", body, headers)
print(urllib.request.urlopen(request, timeout=20).read().decode())
print(open(os.path.expanduser("~/.agent/settings")).read())
"""


def with_model(file: Path) -> Path:
    """The same run by a candidate that calls a model."""
    run = yaml.safe_load(file.read_text())
    run["spec"]["candidate"] |= {
        "argv": [sys.executable, "/fairtrial/candidate/call.py", "{modelUrl}", "{model}"],
        "env": [{"name": "KEY", "value": "{modelToken}"}],
        "files": {"call.py": CALLS},
        "homeFiles": {".agent/settings": "url={modelUrl} key={modelToken} dir=/workspace/project"},
    }
    file.write_text(yaml.safe_dump(run))
    return file


async def test_a_candidate_calls_the_model_that_the_options_name(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    kept, work = tmp_path / "kept", tmp_path / "work"
    async with serve(parse_script({"steps": [{"say": "Done."}], "plain": "I was asked."}), keep=True) as provider:
        command = ["try", str(with_model(reference)), "--task", str(TASK), "--keep", str(kept), "--work", str(work)]
        command += ["--model-url", provider.url, "--model", "some-model", "--model-token", "a-key"]
        fairtrial = str(Path(sys.executable).with_name("fairtrial"))
        process = await asyncio.create_subprocess_exec(fairtrial, *command, stdout=subprocess.DEVNULL)
        assert await process.wait() == 1  # it solved nothing

        (request,) = provider.requests
    assert (json.loads(request.body)["model"], request.headers["Authorization"]) == ("some-model", "Bearer a-key")
    said = (kept / "agent" / "streams" / "stdout" / "000000").read_text()
    assert "I was asked." in said
    assert f"url={provider.url} key=a-key dir={work}/run/workspace/project" in said
    assert "a-key" not in (kept / "agent" / "report.json").read_text()


def test_a_candidate_that_calls_a_model_is_not_tried_without_one(reference: Path) -> None:
    with pytest.raises(InvalidInput, match="--model-url"):
        try_run.run(with_model(reference), TASK, None)


def test_an_address_without_a_model_is_refused() -> None:
    with pytest.raises(InvalidInput, match="go together"):
        try_run.model_of("http://x", "", "none")
