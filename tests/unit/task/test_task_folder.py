"""Task folders: what is refused and how it is said, equal folders give equal digests, and nothing sealed gets out."""

import re
from pathlib import Path

import pytest

from fairtrial.errors import InvalidInput
from fairtrial.task import globs
from fairtrial.task.leaks import find_leaks
from fairtrial.task.load import load
from fairtrial.task.pack import complete, public_archive, sealed_archive
from fairtrial.task.packed import Check, Evaluation, worst_case_seconds
from fairtrial.task.scaffold import create

KINDS = ["feature", "typeFix", "rename", "apiChange", "testAddition"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create(tmp_path / "my-task", "feature")
    return tmp_path / "my-task"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_new_task_is_valid_and_leaks_nothing(tmp_path: Path, kind: str) -> None:
    create(tmp_path / "t", kind)  # type: ignore[arg-type]
    task = load(tmp_path / "t")

    with complete(task) as found:
        files = [path for path in found.project.rglob("*") if path.is_file()]
        public = {f"project/{path.relative_to(found.project)}": path.read_bytes() for path in files}
        public["TASK.md"] = (tmp_path / "t/TASK.md").read_bytes()
        assert find_leaks(public, found.sealed_files(), task.evaluation) == []
    assert task.file.family == kind


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("task.yaml", "version: 1", "version: 0", "task.yaml: version: Input should be greater than or equal to 1"),
        ("task.yaml", "version: 1", "version: 1\nversion: 2", "key 'version' is there twice"),
        ("task.yaml", "version: 1", "version: 1\nspeed: fast", "task.yaml: speed: Extra inputs are not permitted"),
        ("task.yaml", "wallSeconds: 1800", "", "give either wallSeconds or steps"),
        ("task.yaml", "name: my-task", "name: My_Task", "task.yaml: name: "),
        ("task.yaml", "version: 1", "version: !!python/object:os.system 1", "is not the YAML it should be"),
        ("sealed/evaluation.yaml", "{results}", "out.xml", "argv must hold {results}"),
        ("sealed/evaluation.yaml", '"{sentinel}", ', "", "argv must hold {sentinel}"),
        ("sealed/evaluation.yaml", "kind: junit", "kind: magic", "checks.0"),
        ("sealed/evaluation.yaml", "minTests: 12", "expectExit: [0]", "expectExit: Extra inputs are not permitted"),
        ("sealed/evaluation.yaml", "ready True", "ready (", "is not a regular expression"),
        ("sealed/evaluation.yaml", "tests/test_parse_hidden.py:", "../x.py:", "must be a relative path"),
        ("sealed/canary.txt", "fairtrial", "unfair", "canary.txt: must hold one line"),
    ],
)
def test_mistakes_are_refused_with_file_and_field(folder: Path, file: str, old: str, new: str, message: str) -> None:
    edit(folder / file, old, new)

    with pytest.raises(InvalidInput, match=re.escape(message)):
        load(folder)


def test_what_the_evaluation_names_must_be_there(folder: Path) -> None:
    (folder / "sealed/tests/test_parse_hidden.py").unlink()

    with (
        pytest.raises(InvalidInput, match=r"sealed/tests/test_parse_hidden\.py does not exist"),
        complete(load(folder)),
    ):
        pass


def test_a_repository_in_the_fixture_is_refused(folder: Path) -> None:
    (folder / "project/.git").mkdir()

    with pytest.raises(InvalidInput, match="history may hold the solution"), complete(load(folder)):
        pass


def test_equal_folders_give_equal_digests_and_leftovers_do_not_count(folder: Path) -> None:
    with complete(load(folder)) as found:
        before = public_archive(found).sha256, sealed_archive(found).sha256
    (folder / "project/src/__pycache__").mkdir()
    (folder / "project/src/__pycache__/x.pyc").write_bytes(b"x")
    (folder / "sealed/tests/__pycache__").mkdir()
    (folder / "sealed/tests/__pycache__/x.pyc").write_bytes(b"x")
    (folder / "TASK.md").touch()

    with complete(load(folder)) as found:
        assert (public_archive(found).sha256, sealed_archive(found).sha256) == before
    edit(folder / "TASK.md", "seconds", "minutes")
    with complete(load(folder)) as found:
        assert public_archive(found).sha256 != before[0]
        assert sealed_archive(found).sha256 == before[1]


CHECK = Check(
    "c", "junit", "acceptance_failure", inject={"t/test_deep.py": "tests/test_deep.py"}, expect_tests=["t::test_depth"]
)
EVALUATION = Evaluation(["x"], [CHECK])
SEALED = {
    "t/test_deep.py": b"def test_depth(): ...",
    "reference/src/a.py": b"solved = True",
    "reference/src/same.py": b"unchanged = True",
    "canary.txt": b"fairtrial-canary-" + b"0" * 32,
}


@pytest.mark.parametrize(
    ("public", "leak"),
    [
        ({"TASK.md": b"see fairtrial-canary-0123456789abcdef0123456789abcdef"}, "TASK.md: holds a canary"),
        ({"project/x.py": b"def test_depth(): ..."}, "project/x.py: is the sealed file t/test_deep.py"),
        ({"project/old/a.py": b"solved = True"}, "project/old/a.py: is the sealed file reference/src/a.py"),
        ({"TASK.md": b"make test_depth pass"}, "TASK.md: names the hidden test 'test_depth'"),
        ({"task.json": b"tests/test_deep.py"}, "task.json: names the hidden test 'test_deep.py'"),
    ],
)
def test_leaks_are_found(public: dict[str, bytes], leak: str) -> None:
    assert leak in find_leaks(public, SEALED, EVALUATION)


def test_what_is_public_anyway_is_no_leak() -> None:
    public = {
        "project/src/same.py": b"unchanged = True",
        "project/tests/test_deep.py": b"def test_depth(): 'the visible version of the same file'",
        "project/x.py": b"test_depths = 1",
    }
    assert find_leaks(public, SEALED, EVALUATION) == []
    assert find_leaks({"project/y.py": b"test_depth"}, SEALED, EVALUATION, released=True) == []


def test_the_worst_case_counts_every_process() -> None:
    assert worst_case_seconds(Evaluation(["x"], [Check("c", "command", "type_error", timeout_seconds=10)])) == 10
    control = Check("c", "command", "type_error", timeout_seconds=10, negative_control=True)
    assert worst_case_seconds(Evaluation(["x"], [control])) == 20


@pytest.mark.parametrize(
    ("glob", "path", "wanted"),
    [
        ("conftest.py", "a/b/conftest.py", True),
        ("conftest.py", "a/conftest.py/b", False),
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("**/__pycache__/**", "a/__pycache__/b.pyc", True),
        ("a?c[1].txt", "abc[1].txt", True),
        ("build/", "build/x", True),
    ],
)
def test_globs(glob: str, path: str, wanted: bool) -> None:
    assert globs.matches(path, [glob]) is wanted
    assert globs.matcher([glob])(path) is wanted


MEASURED = """launcher: [python3]
checks:
  - name: start
    kind: measurement
    category: framework_defect
    metric: cold_start_ms
    argv: ["{launcher}"]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cold_start_ms", "success_rate", "metric: Input should be 'cold_start_ms'"),
        ("cold_start_ms", "peak_bytes", "measure wall can't give peak_bytes"),
        ("cold_start_ms", "cold_start_ms\n    measure: results", "argv must hold {results} exactly when"),
        ("cold_start_ms", "cold_start_ms\n    samples: 0", "samples: Input should be greater than or equal to 1"),
        ("cold_start_ms", "cold_start_ms\n    negativeControl: true", "negativeControl: Input should be False"),
    ],
)
def test_a_measurement_that_can_not_be_taken_is_refused(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "sealed/evaluation.yaml").write_text(MEASURED.replace(old, new))

    with pytest.raises(InvalidInput, match=re.escape(message)):
        load(folder)


def test_only_a_measurement_needs_no_reference(folder: Path) -> None:
    (folder / "sealed/evaluation.yaml").write_text(MEASURED)
    for path in sorted((folder / "sealed/reference").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (folder / "sealed/reference").rmdir()

    with pytest.raises(InvalidInput, match="reference: sealed/reference does not exist"), complete(load(folder)):
        pass
    edit(folder / "task.yaml", "family: feature", "family: measurement")
    with complete(load(folder)) as found:
        assert found.task.file.family == "measurement"
