"""Scripts as people write them: what is refused names the field; the example is one that works."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from fairtrial.errors import InvalidInput
from fairtrial.scripted import faults
from fairtrial.scripted.faults import Fault, fault_of
from fairtrial.scripted.script import parse_script, read_script

STEPS: list[dict[str, Any]] = [{"read": "a.py"}, {"say": "Done."}]
SCRIPTS = Path(__file__).parents[3] / "examples/scripts"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "steps: Field required"),
        ({"steps": []}, "steps: "),
        ({"steps": [{}]}, "steps.0: needs `say`, or one of"),
        ({"steps": [{"raed": "a"}]}, "steps.0.raed: "),
        ({"steps": [{"read": "a", "run": "b"}]}, "steps.0: has read, run: put several into `calls`"),
        ({"steps": [{"read": "a", "calls": [{"run": "b"}]}]}, "steps.0: has read, calls"),
        ({"steps": [{"calls": [{"read": "a", "run": "b"}]}]}, "steps.0.calls.0: needs exactly one of"),
        ({"steps": [{"edit": {"file": "a", "old": "b"}}]}, "steps.0.edit.new: "),
        ({"steps": [{"edit": {"file": "a", "old": "", "new": ""}}]}, "steps.0.edit.old: "),
        ({"steps": [{"say": "a"}, {"say": "b"}]}, "steps.0: calls nothing, so an agent ends there"),
        ({"steps": STEPS, "project": "relative"}, "project: "),
        ({"steps": STEPS, "pace": {"chars": 0}}, "pace.chars: "),
        ({"steps": STEPS, "usage": {"input": 1}}, "usage.input: "),
        ({"steps": STEPS, "faults": [{"kind": "boom"}]}, "faults.0.kind: "),
        ({"steps": STEPS, "faults": [{"kind": "status", "step": "first"}]}, "faults.0.step: must be the number"),
        ({"steps": STEPS, "faults": [{"kind": "status", "step": 0}]}, "faults.0.step: must be the number"),
        ({"steps": STEPS, "faults": [{"kind": "status", "step": 3}]}, "faults.0.step: is 3, but there are 2 steps"),
        ({"steps": STEPS, "faults": [{"kind": "status", "times": 0}]}, "faults.0.times: must be a number"),
        ({"steps": STEPS, "faults": [{"kind": "status", "status": 200}]}, "faults.0.status: "),
        ({"steps": STEPS, "faults": [{"kind": "status", "retryAfter": "a\r\nb"}]}, "faults.0.retryAfter: "),
        ({"steps": STEPS, "faults": [{"kind": "gzip", "status": 500}]}, "faults.0: status means nothing for gzip"),
        ({"steps": STEPS, "faults": [{"kind": "echo"}]}, "faults.0: echo needs either"),
        ({"steps": STEPS, "faults": [{"kind": "wrong_types", "step": 2}]}, "faults.0.step: step 2 calls nothing"),
        ({"steps": STEPS, "sessions": [{"when": "x", "steps": [{"say": "a"}, {"say": "b"}]}]}, "sessions.0.steps.0: "),
        ({"steps": STEPS * 200}, "steps: "),
        ([1], "(whole file): "),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(data: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_script(data, "s.yaml")

    assert str(refused.value).startswith(f"s.yaml: {said}")


def test_the_same_key_twice_is_refused_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("steps: [{read: a, read: b}]")

    with pytest.raises(InvalidInput, match=r"s\.yaml: .*'read' is there twice"):
        read_script(file)


@pytest.mark.parametrize("file", sorted(SCRIPTS.glob("*.yaml")), ids=lambda file: file.name)
def test_every_example_is_a_valid_script(file: Path) -> None:
    assert read_script(file).steps[-1].all_calls == []


PAGE = (Path(__file__).parents[3] / "docs/scripted-provider.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
def test_every_script_in_the_documentation_is_valid(block: str) -> None:
    assert parse_script(yaml.safe_load(block))


def test_the_documentation_has_every_fault_with_its_fields() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", PAGE.split("## Faults")[1], re.MULTILINE))

    assert rows.keys() == set(get_args(faults.Kind))
    for kind, told in rows.items():
        fields = {re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", one) for one in re.findall(r"`(\w+)`", told)}
        values = {"plain"} | {str(value) for value in faults.DEFAULTS.get(kind, {}).values()}
        assert fields - values == faults.FIELDS.get(kind, set()) - values, kind


def fault(**fields: Any) -> Fault:
    return Fault.model_validate({"kind": "status", **fields})


def test_faults_of_a_step_strike_one_after_another_and_then_no_more() -> None:
    declared = [fault(step=2, status=429, times=2), fault(step=2, status=503), fault(step=1, status=404)]

    met = [fault_of(declared, 2, attempt) for attempt in range(1, 6)]

    assert [one and one.status for one in met] == [429, 429, 503, None, None]


def test_a_fault_without_a_step_is_one_of_every_step_but_not_of_plain_requests() -> None:
    always = [fault(times="always")]

    assert fault_of(always, 1, 1) and fault_of(always, 7, 99)
    assert fault_of(always, "plain", 1) is None
    assert fault_of([fault(step="plain")], "plain", 1)
    assert fault_of([fault(step="plain")], 1, 1) is None


def test_a_fault_that_says_no_details_gets_those_of_its_kind() -> None:
    assert fault().status == 500
    assert Fault(kind="wrong_model").model == "another-model"
    assert Fault(kind="silence").seconds == 3600
