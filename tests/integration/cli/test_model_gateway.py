"""`fairtrial model-gateway` as a person starts it: an agent's calls, recorded on one machine."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
import yaml
from fairtrial_gateway.models.folder import FolderSink
from fairtrial_gateway.models.local import LocalModels
from fairtrial_gateway.models.parties import Provider

from fairtrial.api.provider import ModelProviderSpec
from fairtrial.journal import summary
from fairtrial.scripted import parse_script, serve

PROVIDER = """
apiVersion: fairtrial.dev/v1alpha1
kind: ModelProvider
metadata: { name: mine }
spec:
  url: URL
  wire: openaiChat
  credentialSecretRef: { name: not-used, key: here }
  model: { id: model-1 }
  usage: { cachedInsideInput: true, reasoningInsideOutput: true }
  pricing:
    snapshot: "2026-01"
    currency: USD
    effectiveDate: "2026-01-01"
    perMillionTokens: { input: "2", cachedInput: "1", output: "10" }
"""
SCRIPT = parse_script(
    {"plain": "Hello", "steps": [{"say": "x"}], "usage": {"uncachedInput": 1000, "cachedInput": 0, "output": 100}}
)
CREDENTIAL = "sk-my-own-credential-12345"


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from fairtrial.cli import main; main()", "model-gateway", *map(str, arguments)]


async def test_calls_are_recorded_in_a_folder_and_summed_up_at_the_end(tmp_path: Path):
    async with serve(SCRIPT, keep=True) as provider:
        (tmp_path / "provider.yaml").write_text(PROVIDER.replace("URL", provider.url))
        process = await asyncio.create_subprocess_exec(
            *command(tmp_path / "provider.yaml", "--to", tmp_path / "out", "--port", 0),
            env=os.environ | {"MODEL_CREDENTIAL": CREDENTIAL},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout
        url, key = [(await process.stdout.readline()).decode().split()[1] for _ in range(2)]
        body = {"model": "model-1", "messages": [{"role": "user", "content": "Hi"}]}
        statuses = []
        async with aiohttp.ClientSession() as session:
            for sent, token in ((body, key), (body | {"model": "model-2"}, key), (body, "wrong")):
                headers = {"Authorization": f"Bearer {token}"}
                async with session.post(f"{url}/v1/chat/completions", data=json.dumps(sent), headers=headers) as answer:
                    statuses.append(answer.status)
                    await answer.read()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert provider.requests[0].headers["Authorization"] == f"Bearer {CREDENTIAL}"

    assert statuses == [200, 400, 401]
    assert process.returncode == 0, err
    text = out.decode()
    assert "0.003 USD" in text and "uncached input" in text and "1000" in text
    pages = [summary.load(path.read_bytes()) for path in sorted((tmp_path / "out" / "model").glob("*/exchange.json"))]
    assert [page.ending for page in pages] == ["complete", "refused"]
    assert {path.name for path in (tmp_path / "out" / "model" / pages[0].exchange).iterdir()} >= {
        "exchange.json",
        "exchange.ftj",
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model"]
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or CREDENTIAL.encode() not in path.read_bytes()
    assert CREDENTIAL not in text + err.decode()


@pytest.mark.parametrize(
    ("yaml", "credential", "what"),
    [("kind: Other", CREDENTIAL, "0 ModelProviders"), (PROVIDER.replace("URL", "http://x"), "", "MODEL_CREDENTIAL")],
)
def test_what_is_missing_is_named(tmp_path: Path, yaml: str, credential: str, what: str):
    (tmp_path / "provider.yaml").write_text(yaml)
    done = subprocess.run(
        command(tmp_path / "provider.yaml", "--to", tmp_path / "out"),
        env=os.environ | {"MODEL_CREDENTIAL": credential},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert what in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_port_that_is_taken_is_named_and_leaves_no_folder(tmp_path: Path):
    (tmp_path / "provider.yaml").write_text(PROVIDER.replace("URL", "http://x"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            command(tmp_path / "provider.yaml", "--to", tmp_path / "out", "--port", port),
            env=os.environ | {"MODEL_CREDENTIAL": CREDENTIAL},
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode != 0
    assert f"127.0.0.1:{port}" in done.stderr
    assert not (tmp_path / "out").exists()


async def test_what_the_folder_does_not_take_stays_in_the_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderSink, "open_upload", refuse)
    spec = ModelProviderSpec.model_validate(yaml.safe_load(PROVIDER.replace("URL", "http://127.0.0.1:1"))["spec"])
    models = LocalModels(Provider("local", "mine", "local", spec, CREDENTIAL), tmp_path / "out", "key")
    async with models.serving("127.0.0.1", 0), aiohttp.ClientSession(headers={"x-api-key": "key"}) as session:
        answer = await session.post(f"{models.url}/v1/chat/completions", data=b"{")
        assert answer.status == 400
        await answer.read()

    assert (models.pages(), len(list((tmp_path / "out" / "spool").iterdir()))) == ([], 1)
