"""`fairtrial model-gateway`: record what one's own agent says to its model, on one's own machine."""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml
from fairtrial_gateway.models.local import LocalModels
from fairtrial_gateway.models.parties import Provider
from fairtrial_gateway.models.spending import prices_of
from rich.console import Console
from rich.table import Table

from fairtrial.api import ModelProvider, parse
from fairtrial.cli import output
from fairtrial.errors import InvalidInput
from fairtrial.journal.summary import Exchange
from fairtrial.usage import money
from fairtrial.usage.counters import add

_COUNTS = ("uncached_input", "cached_input", "cache_write", "output", "reasoning")
_KEY_BYTES = 24
HOST = "127.0.0.1"  # whoever reaches the port spends the credential


def run(file: Path, folder: Path, *, port: int, credential_from: str, key: str) -> None:
    """Serve until interrupted, then tell what was used and what it cost."""
    if folder.exists():
        raise InvalidInput(f"{folder}: exists already.", next_move="Name a new folder; nothing is overwritten.")
    provider = read_provider(file, os.environ, credential_from)
    key = key or f"local-{secrets.token_hex(_KEY_BYTES)}"
    folder.mkdir(parents=True)
    models = LocalModels(provider, folder, key)
    console = output.console()
    try:
        asyncio.run(_serve(models, port, key))
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise InvalidInput(f"{HOST}:{port}: {error.strerror or error}.") from error
    show(console, models.pages(), provider, folder)
    if models.left:
        console.print(output.plain(f"{models.left} journals could not be moved out of {folder}/spool"))


def read_provider(file: Path, env: Mapping[str, str], credential_from: str) -> Provider:
    """The one ModelProvider of a YAML file, with the credential in a variable."""
    try:
        found = [document for document in yaml.safe_load_all(file.read_text()) if isinstance(document, dict)]
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidInput(f"{file}: cannot be read: {error}") from error
    providers = [document for document in found if document.get("kind") == "ModelProvider"]
    if len(providers) != 1:
        raise InvalidInput(f"{file}: holds {len(providers)} ModelProviders.", next_move="Give a file with exactly one.")
    provider = parse(ModelProvider, providers[0], name=str(file))
    credential = env.get(credential_from, "").strip()
    if not credential:
        raise InvalidInput(
            f"environment: {credential_from} holds no credential for the provider.",
            next_move=f"Set {credential_from}, or name another variable by --credential-from.",
        )
    return Provider("local", provider.metadata.name or "local", "local", provider.spec, credential)


async def _serve(models: LocalModels, port: int, key: str) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with models.serving(HOST, port):
        sys.stdout.write(f"url {models.url}\nkey {key}\n")
        sys.stdout.flush()
        await stop.wait()


def show(console: Console, pages: list[Exchange], provider: Provider, folder: Path) -> None:
    """Calls, tokens and money. What is not known says so."""
    total, prices = add(page.usage for page in pages), prices_of(provider)
    costs = [money.cost(page.usage, prices, page.answered_model or page.requested_model or "") for page in pages]
    cost = money.add(costs)
    table = Table(box=None, show_header=False)
    table.add_row("calls", str(len(pages)))
    for ending in sorted({page.ending for page in pages} - {"complete"}):
        table.add_row(f"  {ending}", str(sum(page.ending == ending for page in pages)))
    for name in _COUNTS:
        count = total.counters.get(name)
        text = (
            f"not known ({total.counters.reason(name)}); at least {total.at_least[name]}"
            if count is None
            else str(count)
        )
        table.add_row(name.replace("_", " "), text)
    table.add_row(
        "cost", f"not known ({cost.reason})" if cost.amount is None else f"{cost.amount} {cost.currency}".strip()
    )
    leaks = sum(bool(page.leaks) for page in pages)
    if leaks:
        table.add_row("leaks", f"the credential was found in {leaks} journals; see exchange.json")
    console.print(table)
    console.print(output.plain(f"recorded in {folder}"))
