"""What a gateway finds in its spool when it starts: ended, handed over once, and nothing keeps it from starting."""

import base64
from pathlib import Path

import pytest
from fairtrial_gateway.kubernetes import ApiUnavailable
from fairtrial_gateway.models.canaries import Canaries
from fairtrial_gateway.models.providers import ProviderUnusable
from fairtrial_gateway.models.recovery import recover
from fairtrial_gateway.models.spool import Spool

from fairtrial import documents
from fairtrial.documents import RunIdentity
from fairtrial.journal.exchange import FORWARDED, TOOL, RequestHead, ResponseHead, Started
from fairtrial.journal.frames import Kind, frame_head

BODY = b'{"model": "m", "messages": []}'


class Uploads:
    def __init__(self) -> None:
        self.began_: list[str] = []
        self.pages = {}

    def has(self, exchange: str) -> bool:
        return exchange in self.began_

    def began(self, started: Started, _path: Path) -> None:
        self.began_.append(started.exchange)

    def ended(self, page, _secrets) -> None:
        self.pages[page.exchange] = page


NONE = Canaries(None, {}, 0)  # type: ignore[arg-type]


class Providers:
    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    async def get(self, _namespace: str, name: str):
        raise self._errors.pop(0) if self._errors else ProviderUnusable(f"{name} is gone.")


def left(spool: Spool, number: int, *notes: str, started: bytes = b"", step: str = "", wire: str = "openaiChat") -> str:
    """A journal that nobody ended."""
    exchange, run = f"{number:013d}-00000000", RunIdentity("ns", "r", "u")
    file = spool.create(exchange)
    document = Started(exchange, run, "p", wire, "/v1/chat/completions", "2026", step=step)
    file.append(Kind.STARTED, 0, started or documents.dump(document))
    file.append(Kind.REQUEST_HEAD, 0, documents.dump(RequestHead("POST", document.path, "1.1", [])))
    file.append(Kind.REQUEST_BODY, 0, BODY)
    file.append(Kind.REQUEST_END, 0)
    for note in notes:
        file.append(Kind.NOTE, 0, note.encode())
    file.close()
    return exchange


async def test_what_was_not_forwarded_used_nothing(tmp_path):
    spool, uploads = Spool(tmp_path, 1 << 20), Uploads()
    waited, asked = left(spool, 1), left(spool, 2, FORWARDED)

    assert await recover(spool, uploads, Providers(), NONE) == 2

    found = {name: (page.ending, page.usage.state, page.usage.reason) for name, page in uploads.pages.items()}
    assert found == {
        waited: ("gateway_restarted", "not_applicable", "not_forwarded"),
        asked: ("gateway_restarted", "absent", "provider_unknown"),
    }


async def test_what_is_left_counts_for_the_step_that_it_was_made_in(tmp_path):
    spool, uploads = Spool(tmp_path, 1 << 20), Uploads()
    left(spool, 1, FORWARDED, step="two")

    await recover(spool, uploads, Providers(), NONE)

    assert [page.step for page in uploads.pages.values()] == ["two"]


async def test_what_is_left_is_scanned_for_canaries_or_not_called_scanned(tmp_path):
    class Secrets:
        async def secret(self, _namespace: str, name: str):
            return {"data": {"one": base64.b64encode(b"canary-one").decode()}} if name == "canaries" else None

    class Tools(Uploads):
        def ended(self, page, secrets) -> None:
            self.pages[page.exchange] = secrets

    found = {}
    for name in ("canaries", "gone"):
        spool, uploads = Spool(tmp_path / name, 1 << 20), Tools()
        left(spool, 1, wire=TOOL)
        await recover(spool, uploads, Providers(), Canaries(Secrets(), {"ns": (name,)}, 60))
        (found[name],) = uploads.pages.values()

    assert found == {"canaries": {"canary:canaries/one": b"canary-one"}, "gone": None}


@pytest.mark.parametrize(
    ("chunks", "whole", "expected"),
    [
        (
            [(30, b'data: {"choices": []}\n\n'), (70, b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n')],
            False,
            70,
        ),
        ([(30, b'data: {"choices": []}\n\n')], True, None),  # nothing to use came
        ([(30, b'{"choices": [{"message"'), (70, b': {"content": "a"}}]}')], True, 90),  # does not stream: its end
    ],
)
async def test_the_first_usable_part_has_the_time_that_the_journal_has(tmp_path, chunks, whole, expected):
    spool, uploads = Spool(tmp_path, 1 << 20), Uploads()
    left(spool, 1, FORWARDED)
    [path] = spool.files()
    with path.open("ab") as file:
        frames = [(Kind.RESPONSE_HEAD, 20, documents.dump(ResponseHead(200, "", "1.1", [])))]
        frames += [(Kind.RESPONSE_BODY, ms, chunk) for ms, chunk in chunks]
        frames += [(Kind.RESPONSE_END, 90, b"")] if whole else []
        for kind, ms, payload in frames:
            file.write(frame_head(kind, ms, payload) + payload)

    await recover(spool, uploads, Providers(), NONE)

    [page] = uploads.pages.values()
    assert page.ttft_ms == expected


async def test_a_journal_that_cannot_be_read_is_put_aside_and_holds_nobody_up(tmp_path):
    spool, uploads = Spool(tmp_path, 1 << 20), Uploads()
    bad, good = left(spool, 1, started=b'{"schemaVersion": 99}'), left(spool, 2)

    assert await recover(spool, uploads, Providers(), NONE) == 1

    assert list(uploads.pages) == [good]
    assert [path.name for path in tmp_path.glob("*.unreadable")] == [f"{bad}.unreadable"]


async def test_while_the_api_server_is_away_nothing_is_given_up(tmp_path):
    spool, uploads = Spool(tmp_path, 1 << 20), Uploads()
    names = [left(spool, number) for number in (1, 2)]
    providers = Providers(ProviderUnusable("gone."), ApiUnavailable("away."))

    with pytest.raises(ApiUnavailable):
        await recover(spool, uploads, providers, NONE)
    await recover(spool, uploads, providers, NONE)

    assert uploads.began_ == names
