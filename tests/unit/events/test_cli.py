"""`fairtrial adapter …`: what it prints and how it ends."""

import json

from typer.testing import CliRunner

from fairtrial.api.adapter import BUILT_IN, built_in_text
from fairtrial.cli.app import app
from fairtrial.errors import InvalidInput
from fairtrial.events import conformance
from tests.unit.events import cases


def fairtrial(*arguments):
    return CliRunner().invoke(app, ["adapter", *map(str, arguments)])


def stream(case, file="stdout.jsonl"):
    return cases.FOLDER / case / file


def test_the_built_in_adapters_are_listed_and_shown():
    listed = fairtrial("list").output

    assert all(name in listed for name in BUILT_IN)
    assert fairtrial("show", "pi").output == built_in_text("pi")


def test_a_shown_adapter_can_be_edited_into_ones_own(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(fairtrial("show", "pi").output)

    assert (
        fairtrial("run", own, "--stream", stream("pi")).output
        == fairtrial("run", "pi", "--stream", stream("pi")).output
    )


def test_run_prints_events_and_counts():
    events = fairtrial("run", "pi", "--root", "/workspace", "--stream", stream("pi")).output
    counts = fairtrial("run", "pi", "--stream", stream("pi"), "--summary").output

    assert events == stream("pi", "expected.jsonl").read_text()
    assert json.loads(counts)["toolCalls"]["value"]["total"] == 3


def test_check_ends_with_0_for_a_fit_adapter_and_with_1_for_an_unfit_one(monkeypatch):
    monkeypatch.setattr(conformance, "_CUTS_MOST", 5)  # places that are damaged; all of them: test_adapters.py
    expected = stream("pi", "expected.jsonl")

    assert (
        fairtrial("check", "pi", "--root", "/workspace", "--stream", stream("pi"), "--expect", expected).exit_code == 0
    )
    assert fairtrial("check", "codex", "--stream", stream("pi")).exit_code == 1
    other = fairtrial("check", "pi", "--root", "/elsewhere", "--stream", stream("claude-code"), "--expect", expected)
    assert other.exit_code == 1 and "the first that differs is 0" in other.output


def test_streams_are_told_apart_by_their_source():
    text, log = stream("aider", "stdout.txt"), stream("aider", "analytics.jsonl")

    in_order = fairtrial("run", "aider", "--stream", text, "--stream", log).output
    by_name = fairtrial("run", "aider", "--stream", f"analytics={log}", "--stream", f"text={text}").output

    assert in_order == by_name and '"kind":"usage"' in by_name


def test_what_is_not_in_order_is_said(tmp_path):
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "wrong.yaml").write_text("name: x\nsources: [{rules: [{name: a, kind: nothing}]}]\n")
    for which in ("nobody", tmp_path / "list.yaml", tmp_path / "wrong.yaml"):
        assert isinstance(fairtrial("run", which, "--stream", stream("pi")).exception, InvalidInput)
    assert isinstance(fairtrial("run", "pi", "--stream", "nowhere").exception, InvalidInput)
    too_many = fairtrial("run", "pi", "--stream", stream("pi"), "--stream", stream("pi"))
    assert isinstance(too_many.exception, InvalidInput) and "reads 1 streams" in str(too_many.exception)
