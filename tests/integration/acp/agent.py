"""An agent of the Agent Client Protocol that behaves as its first argument says, badly for the most part."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def say(message: object) -> None:
    write(json.dumps(message).encode())


def write(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def hear() -> dict:
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def answer(request: dict, result: object) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})


def ask(number: object, method: str, **params: object) -> dict:
    say({"jsonrpc": "2.0", "id": number, "method": method, "params": {"sessionId": "s", **params}})
    return hear()


def update(**what: object) -> None:
    say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": what}})


def text(said: str) -> None:
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": said})


PERMISSION = {
    "toolCall": {"toolCallId": "c1", "kind": "edit", "title": "edit"},
    "options": [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ],
}


def garbage() -> None:
    text("before")
    write(b"Loading the model...")
    write(b"\xff\xfe\x00{")
    write(b"[" * 50_000)
    for odd in (
        [1], "text", None, {}, {"id": [], "result": 1}, {"id": 2, "error": "no"}, {"id": True, "result": {}},
        {"method": ["x"]}, {"client": {"id": 0}}, {"run": {"event": "end"}},
        {"id": 99, "result": {"stopReason": "end_turn"}},
        {"jsonrpc": "2.0", "method": "session/update", "params": {"update": 7}},
        {"jsonrpc": "2.0", "method": "session/update"},
        {"jsonrpc": "2.0", "method": "no/such/method", "params": {}},
    ):  # fmt: skip
        say(odd)
    assert ask(5, "no/such/method")["error"]["code"] == -32601
    assert ask(6, "session/request_permission", toolCall=3, options={})["error"]["code"] == -32602
    text("after")


def huge() -> None:
    text("before")
    text("x" * (17 * 2**20))
    text("after")


def paths() -> None:
    here = Path.cwd()
    for path in ("/etc/passwd", f"{here}/../outside", "inside.txt", f"{here}/link"):
        assert ask(1, "fs/read_text_file", path=path)["error"]["code"] == -32602, path
        assert ask(2, "fs/write_text_file", path=path, content="x")["error"]["code"] == -32602, path
    assert ask(3, "fs/read_text_file", path=f"{here}/inside.txt")["result"] == {"content": "inside"}
    assert ask(4, "fs/write_text_file", path=f"{here}/new/made.txt", content="made")["result"] == {}
    for method in ("create", "output", "wait_for_exit", "kill", "release"):
        assert ask(5, f"terminal/{method}", command="sh", terminalId="t")["error"]["code"] == -32601


def nothing_offered() -> None:
    assert ask(1, "fs/read_text_file", path=f"{Path.cwd()}/inside.txt")["error"]["code"] == -32601


def permitted() -> None:
    text(f"told {ask('p', 'session/request_permission', **PERMISSION)['result']['outcome'].get('optionId')}")


def leaves_children() -> None:
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 300 & wait"])


def dies() -> None:
    os._exit(7)


def silent() -> None:
    time.sleep(300)


def deaf() -> None:
    """Does not even end where it is told to, and closes nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leaves_children()
    time.sleep(300)


def cancellable() -> None:
    text("working")
    while hear().get("method") != "session/cancel":
        pass


def main() -> None:
    behaviour, *more = sys.argv[1:]
    if behaviour == "never_answers":
        time.sleep(300)
    first = hear()
    if behaviour == "other_version":
        answer(first, {"protocolVersion": 2})
    elif behaviour == "no_answer":
        answer(first, "hello")
    else:
        answer(first, {"protocolVersion": 1})
    second = hear()
    if behaviour == "wants_login":
        say({"jsonrpc": "2.0", "id": second["id"], "error": {"code": -32000, "message": "Authentication required"}})
    if second["method"] == "authenticate":
        answer(second, {})
        text(f"logged in by {second['params']['methodId']}")
        second = hear()
    answer(second, {"sessionId": "s"})
    prompt = hear()
    if prompt["method"] == "session/set_mode":
        answer(prompt, {})
        text(f"in mode {prompt['params']['modeId']}")
        prompt = hear()
    if behaviour in globals():
        globals()[behaviour]()
    reason = more[0] if more else "cancelled" if behaviour == "cancellable" else "end_turn"
    answer(prompt, {"stopReason": reason})
    if behaviour == "goes_on":
        text("after the end")
        file = {"path": f"{Path.cwd()}/late.txt", "content": "late"}
        for number, method, params in (
            ("late", "session/request_permission", PERMISSION),
            (9, "fs/write_text_file", file),
        ):
            say({"jsonrpc": "2.0", "id": number, "method": method, "params": {"sessionId": "s", **params}})
        time.sleep(300)


main()
