"""What a candidate finds in its home folder and its variables, with its own key for model calls filled in.

The key never travels in the plan, which the record keeps: it is read here, from the pod's own volume.
"""

from collections.abc import Mapping
from pathlib import Path

from fairtrial import archive, names
from fairtrial.errors import InvalidInput


def model_token(file: Path) -> str:
    """The key, or an empty text where the run has no model."""
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return ""


def filled(texts: Mapping[str, str], token: str) -> dict[str, str]:
    """The texts with the key in its places. Pure."""
    return {key: text.replace(names.MODEL_TOKEN, token) for key, text in texts.items()}


def with_key(texts: Mapping[str, str]) -> set[str]:
    """Those of the texts that the key is filled into. Pure."""
    return {name for name, text in texts.items() if names.MODEL_TOKEN in text}


def furnish(home: Path, files: Mapping[str, str]) -> None:
    """Write the candidate's files into its home, which nobody else has written to yet."""
    lay_files(home, files, "homeFiles", 0o600)


def lay_files(folder: Path, files: Mapping[str, str], field: str, mode: int) -> None:
    """Write texts of a candidate's `field` below a folder; a name that leads out of it is refused."""
    for name, text in files.items():
        if fault := archive.name_fault(name):
            raise InvalidInput(f"candidate.{field}[{name!r}]: {fault}.", next_move="Use plain relative names.")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
