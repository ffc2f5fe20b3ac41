"""`fairtrial scripted-provider` as a person starts it."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = "steps: [{say: I look., read: a.py}, {say: Done.}]\n"
# As a terminal starts it: whoever runs these tests in the background ignores the interrupt, and children inherit that.
HEED = ["env", "--default-signal=INT"]
COMMAND = [*HEED, sys.executable, "-c", "from fairtrial.cli import main; main()", "scripted-provider"]


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def ask(url: str) -> str:
    tool = {"type": "function", "function": {"name": "Read", "parameters": {"properties": {"file_path": {}}}}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "tools": [tool]}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), {"x-api-key": "secret"})
    with urllib.request.urlopen(request, timeout=10) as response:
        message = json.load(response)["choices"][0]["message"]
    return str(message["tool_calls"][0]["function"]["arguments"])


def test_it_serves_logs_and_stops_when_interrupted(tmp_path: Path) -> None:
    script, log = tmp_path / "s.yaml", tmp_path / "log.jsonl"
    script.write_text(SCRIPT)

    with running(str(script), "--port", "0", "--log", str(log), "--project", "/srv/p") as (process, url):
        assert json.loads(ask(url)) == {"file_path": "/srv/p/a.py"}
        logged = [json.loads(line) for line in log.read_text().splitlines()]
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 130

    assert [(one["step"], one["called"], one["status"]) for one in logged] == [(1, ["Read"], 200)]
    assert logged[0]["usage"]["uncached_input"] == -(-logged[0]["bytes"] // 4)
    assert "secret" not in log.read_text()


def test_a_wrong_script_and_a_taken_port_are_one_line_each(tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("steps: [{raed: a.py}]\n")
    wrong = subprocess.run([*COMMAND, str(script)], capture_output=True, text=True, check=False, timeout=30)
    script.write_text(SCRIPT)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        arguments = [*COMMAND, str(script), "--port", port]
        busy = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=30)

    assert (wrong.returncode, busy.returncode) == (2, 2)
    assert wrong.stderr.startswith(f"error: {script}: steps.0.raed: ")
    assert busy.stderr.startswith(f"error: 127.0.0.1:{port}: ") and busy.stderr.count("\n") == 1
