"""Whether anything of a task's sealed part can be found in what the agent gets. Pure, over both parts' files."""

import hashlib
import re
from collections.abc import Iterator, Mapping

from fairtrial import names
from fairtrial.task.packed import PROJECT, Evaluation

NAME_MIN = 6  # a shorter name of a test or file says nothing
_TEXT_MAX = 4 * 1024 * 1024


def find_leaks(
    public: Mapping[str, bytes], sealed: Mapping[str, bytes], evaluation: Evaluation, *, released: bool = False
) -> list[str]:
    """Every leak as "public path: what of the sealed part it holds"; empty where there is none.

    `released` says that the fixture is a released package: its own tests may share names with hidden ones of a later
    release, so names are looked for in the request alone.
    """
    texts = {path: data for path, data in public.items() if not (released and path.startswith(f"{PROJECT}/"))}
    return sorted({*_canaries(public), *_contents(public, sealed, evaluation), *_names(texts, public, evaluation)})


def _canaries(public: Mapping[str, bytes]) -> Iterator[str]:
    pattern = re.compile(names.CANARY_PATTERN.encode())
    for path, data in public.items():
        if pattern.search(data):
            yield f"{path}: holds a canary"


def _contents(public: Mapping[str, bytes], sealed: Mapping[str, bytes], evaluation: Evaluation) -> Iterator[str]:
    """Whole files: hidden tests anywhere; and what an overlay adds, which the fixture must not hold elsewhere."""
    hidden: dict[str, str] = {}
    folders = _folders(evaluation)
    for path, data in sealed.items():
        folder = next((folder for folder in folders if path == folder or path.startswith(f"{folder}/")), None)
        within = path.removeprefix(f"{folder}/") if folder else ""
        # A file that an overlay leaves as the fixture has it is no secret.
        is_same = folder is not None and public.get(f"project/{within}") == data
        if len(data) >= NAME_MIN and not is_same and data.strip():
            hidden[hashlib.sha256(data).hexdigest()] = path
    for path, data in public.items():
        found = hidden.get(hashlib.sha256(data).hexdigest())
        if found:
            yield f"{path}: is the sealed file {found}"


def _names(texts: Mapping[str, bytes], public: Mapping[str, bytes], evaluation: Evaluation) -> Iterator[str]:
    """Names of hidden tests in any text, but for a visible file that the hidden one replaces."""
    replaced = {f"project/{target}" for check in evaluation.checks for target in check.inject.values()}
    secret = set()
    for check in evaluation.checks:
        secret |= {re.split(r"::| > ", test)[-1] for test in check.expect_tests}
        secret |= {target.rpartition("/")[2] for target in check.inject.values() if f"project/{target}" not in public}
    words = [re.escape(name) for name in sorted(secret) if len(name) >= NAME_MIN]
    if not words:
        return
    pattern = re.compile(rf"(?<!\w)({'|'.join(words)})(?!\w)")
    for path, data in texts.items():
        under = any(path == target or path.startswith(f"{target}/") for target in replaced)
        found = None if under else pattern.search(data[:_TEXT_MAX].decode("utf-8", "replace"))
        if found:
            yield f"{path}: names the hidden test {found.group(1)!r}"


def _folders(evaluation: Evaluation) -> list[str]:
    overlays = [each.overlay for each in evaluation.mutants]
    for check in evaluation.checks:
        overlays += [each.overlay for each in (*check.mutants, *check.equivalents, *check.sources)]
        overlays += [check.control.overlay] if check.control else []
        overlays += [check.reference] if check.reference else []
    return [evaluation.reference, *overlays]
