"""Read a task folder as its author wrote it, and say exactly which file and field is wrong."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from fairtrial import documents, names
from fairtrial.errors import InvalidInput
from fairtrial.task import packed
from fairtrial.task.model import EvaluationFile, TaskFile

M = TypeVar("M", bound=BaseModel)
TASK_FILE, EVALUATION_YAML, SEALED = "task.yaml", "evaluation.yaml", "sealed"
_FILE_MAX, _PROMPT_MAX = 1024 * 1024, 32 * 1024
STEP_NAME = "solve"


@dataclass(frozen=True)
class Task:
    """A task folder, read and valid in itself. The fixture may still have to be made from its source."""

    folder: Path
    file: TaskFile
    public: packed.PublicTask
    evaluation: packed.Evaluation
    evaluate_seconds: int

    @property
    def sealed(self) -> Path:
        """The author's own part of what is sealed."""
        return self.folder / SEALED


def load(folder: Path) -> Task:
    """Read and validate a task folder."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder}: is not a folder.", next_move="Make a task with `fairtrial task new NAME`.")
    file = _model(TaskFile, folder / TASK_FILE)
    written = _model(EvaluationFile, folder / SEALED / EVALUATION_YAML)
    evaluation = documents.from_json(packed.Evaluation, _plain(written), EVALUATION_YAML)
    _check_canary(folder / SEALED / packed.CANARY_FILE)
    if file.source is None and not (folder / packed.PROJECT).is_dir():
        raise InvalidInput(f"{folder / packed.PROJECT}: is missing.", next_move="Add the fixture, or a `source`.")
    worst = packed.worst_case_seconds(evaluation) + 60
    return Task(folder, file, _public(folder, file), evaluation, file.evaluate_seconds or worst)


def read_yaml(path: Path) -> Any:
    """YAML without duplicate keys or tags; text stays text."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}.") from error
    if len(data) > _FILE_MAX:
        raise InvalidInput(f"{path}: has more than {_FILE_MAX} bytes.")
    try:
        return yaml.load(data, Loader=_StrictLoader)  # noqa: S506 — a SafeLoader that also refuses duplicates
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path}: is not the YAML it should be: {' '.join(str(error).split())}") from error


def validated(model: type[M], raw: Any, where: str) -> M:
    """A model from plain data; the first thing that does not fit is named with its path."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "(whole file)"
        more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
        message = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(f"{where}: {field}: {message}{more}.") from error


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe subset without the same key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _model(model: type[M], path: Path) -> M:
    return validated(model, read_yaml(path), str(path))


def _plain(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True)


def _public(folder: Path, file: TaskFile) -> packed.PublicTask:
    request = _prompt(folder, packed.REQUEST)
    if file.steps:
        steps = [packed.PackedStep(s.name, _prompt(folder, s.prompt_file), s.wall_seconds) for s in file.steps]
    else:
        assert file.wall_seconds is not None
        steps = [packed.PackedStep(STEP_NAME, request, file.wall_seconds)]
    return packed.PublicTask(
        name=file.name,
        version=file.version,
        title=file.title,
        family=file.family,
        language=file.language,
        steps=steps,
        public_criteria=list(file.public_criteria),
        generated=sorted({*packed.GENERATED, *file.generated}),
        protected=sorted({*packed.DEFAULT_PROTECTED, *file.protected} - set(file.editable)),
    )


def _prompt(folder: Path, name: str) -> str:
    path = folder / name
    if name.split("/", maxsplit=1)[0] == SEALED:
        raise InvalidInput(f"{path}: a prompt may not lie in {SEALED}/.")
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read as UTF-8 text: {error}.") from error
    if not text.strip() or len(text.encode()) > _PROMPT_MAX:
        raise InvalidInput(f"{path}: must hold text, at most {_PROMPT_MAX} bytes of it.")
    return text


def _check_canary(path: Path) -> None:
    text = path.read_text("utf-8", "replace").strip() if path.is_file() else ""
    if not re.fullmatch(names.CANARY_PATTERN, text):
        raise InvalidInput(
            f"{path}: must hold one line that matches {names.CANARY_PATTERN}.",
            next_move="Make one: python3 -c \"import secrets; print('fairtrial-canary-' + secrets.token_hex(16))\"",
        )
