"""`fairtrial scripted-provider`: serve a script until interrupted."""

import asyncio
import sys
from pathlib import Path
from typing import TextIO

from fairtrial.errors import InvalidInput
from fairtrial.scripted import Script, Seen, read_script, serve
from fairtrial.scripted.server import line


def run(file: Path, *, host: str, port: int, log: Path | None, project: str | None) -> None:
    """Serve until interrupted. The log, if any, gets one line for each request, and none of its secrets."""
    script = read_script(file)
    if project:
        script = script.model_copy(update={"project": str(Path(project).absolute())})
    try:
        if log is None:
            asyncio.run(_serve(script, host, port, None))
        else:
            with log.open("a", encoding="utf-8") as out:
                asyncio.run(_serve(script, host, port, out))
    except OSError as error:
        what = log if error.filename else f"{host}:{port}"
        raise InvalidInput(f"{what}: {error.strerror or error}.") from error


async def _serve(script: Script, host: str, port: int, out: TextIO | None) -> None:
    def write(seen: Seen) -> None:
        assert out
        out.write(line(seen) + "\n")
        out.flush()  # whoever follows the file sees a request when it was answered

    async with serve(script, host=host, port=port, log=write if out else None) as served:
        sys.stdout.write(f"{served.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
