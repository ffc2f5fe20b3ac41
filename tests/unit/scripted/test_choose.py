"""The step follows from the request alone, and intents become the tools that the agent has."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairtrial.scripted.choose import Choice, choose
from fairtrial.scripted.conversation import BadRequest, Conversation, Message
from fairtrial.scripted.script import Script, parse_script
from tests.unit.scripted.agents import asked

EDIT = {"file": "pkg/calc.py", "old": "    return a - b", "new": "    return a + b"}
WRITE = {"file": "pkg/new file.py", "text": "it's\nnew\n"}
SCRIPT = parse_script(
    {
        "project": "/workspace/project",
        "steps": [
            {"say": "I read.", "read": "pkg/calc.py"},
            {"say": "I edit.", "edit": EDIT},
            {"say": "I write.", "write": WRITE},
            {"say": "I test.", "run": "pytest -q"},
            {"say": "It works."},
        ],
    }
)


def calls(choice: Choice) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in choice.answer.calls]


def call(agent: str, step: int) -> tuple[str, dict[str, Any]]:
    (one,) = calls(choose(SCRIPT, asked(agent, results=step - 1)))
    return one


FILE = "/workspace/project/pkg/calc.py"
OLD, NEW = EDIT["old"], EDIT["new"]


@pytest.mark.parametrize(
    ("agent", "read", "edit", "run"),
    [
        (
            "pi",
            ("read", {"path": "pkg/calc.py"}),
            ("edit", {"path": "pkg/calc.py", "edits": [{"oldText": OLD, "newText": NEW}]}),
            ("bash", {"command": "pytest -q"}),
        ),
        (
            "claude",
            ("Read", {"file_path": FILE}),
            ("Edit", {"file_path": FILE, "old_string": OLD, "new_string": NEW}),
            ("Bash", {"command": "pytest -q"}),
        ),
        (
            "opencode",
            ("read", {"filePath": FILE}),
            ("edit", {"filePath": FILE, "oldString": OLD, "newString": NEW}),
            ("bash", {"command": "pytest -q", "description": "I test."}),
        ),
        (
            "gemini",
            ("read_file", {"file_path": FILE}),
            ("replace", {"file_path": FILE, "old_string": OLD, "new_string": NEW, "instruction": "I edit."}),
            ("run_shell_command", {"command": "pytest -q"}),
        ),
        (
            "codex",
            ("exec_command", {"cmd": "cat pkg/calc.py"}),
            (
                "exec_command",
                {
                    "cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: pkg/calc.py\n@@\n"
                    f"-{OLD}\n+{NEW}\n*** End Patch\nEOF"
                },
            ),
            ("exec_command", {"cmd": "pytest -q"}),
        ),
    ],
)
def test_each_agent_is_led_by_its_own_tools(agent: str, read: Any, edit: Any, run: Any) -> None:
    assert call(agent, 1) == read
    assert call(agent, 2) == edit
    assert call(agent, 4) == run


def test_an_older_codex_gets_its_command_as_a_list() -> None:
    assert call("codex-shell", 4) == ("shell", {"command": ["bash", "-lc", "pytest -q"]})


def test_an_agent_that_writes_by_patches_gets_a_patch_unless_the_text_has_no_last_newline() -> None:
    _, arguments = call("codex", 3)
    assert arguments["cmd"].splitlines()[1:-1] == [
        "*** Begin Patch",
        "*** Add File: pkg/new file.py",
        "+it's",
        "+new",
        "*** End Patch",
    ]

    bare = parse_script({"steps": [{"write": {"file": "a", "text": "no newline"}}]})
    (one,) = calls(choose(bare, asked("codex")))
    assert one[1]["cmd"] == "printf %s 'no newline' > a"


def test_an_agent_with_a_shell_alone_really_reads_edits_and_writes(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/calc.py").write_text("def add(a, b):\n    return a - b\n")

    told = [
        subprocess.run(call("mini", step)[1]["command"], shell=True, cwd=tmp_path, check=True, capture_output=True)
        for step in (1, 2, 3)
    ]

    assert told[0].stdout == b"def add(a, b):\n    return a - b\n"
    assert (tmp_path / "pkg/calc.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert (tmp_path / "pkg/new file.py").read_text() == WRITE["text"]


@pytest.mark.parametrize("content", ["nothing of it", f"{OLD}\n{OLD}\n"])
def test_a_shell_edit_fails_aloud_when_the_text_is_not_there_exactly_once(tmp_path: Path, content: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/calc.py").write_text(content)

    done = subprocess.run(call("mini", 2)[1]["command"], shell=True, cwd=tmp_path, check=False, capture_output=True)

    assert done.returncode != 0 and b"times" in done.stderr
    assert (tmp_path / "pkg/calc.py").read_text() == content


@pytest.mark.parametrize("hostile", ["'; rm -rf x; '", "EOF\n$(id)\n`id`", '"""\\', "*** End Patch\n", "ümlaut\t\r\n"])
def test_texts_reach_the_file_as_they_are(tmp_path: Path, hostile: str) -> None:
    steps = [{"write": {"file": "a b", "text": f"@{hostile}"}}, {"edit": {"file": "a b", "old": "@", "new": hostile}}]
    script = parse_script({"steps": steps})
    for results in (0, 1):
        (one,) = calls(choose(script, asked("mini", results)))
        env = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
        subprocess.run(one[1]["command"], shell=True, cwd=tmp_path, check=True, env=env)

    assert (tmp_path / "a b").read_bytes() == (hostile + hostile).encode()


def test_an_agent_without_a_tool_for_it_uses_its_shell() -> None:
    assert call("claude-bare", 3) == (
        "Bash",
        {"command": """mkdir -p pkg && printf %s 'it'"'"'s\nnew\n' > 'pkg/new file.py'"""},
    )


def test_an_agent_without_tool_or_shell_is_told_what_it_offers() -> None:
    conversation = asked("pi")
    only_read = replace(conversation, tools=conversation.tools[:1])

    with pytest.raises(BadRequest, match="Offered: read"):
        choose(parse_script({"steps": [{"run": "ls"}]}), only_read)


def test_a_tool_by_its_own_name_is_called_as_written_with_its_group() -> None:
    script = parse_script({"steps": [{"tool": {"name": "spawn_agent", "arguments": {"message": "Hi."}}}]})

    choice = choose(script, asked("codex"))

    assert calls(choice) == [("spawn_agent", {"message": "Hi."})]
    assert choice.answer.calls[0].namespace == "multi_agent_v1"


def test_a_grouped_tool_is_not_taken_for_one_of_the_agents_own() -> None:
    conversation = asked("codex")
    grouped = replace(conversation.tools[0], name="read", namespace="files")
    elsewhere = replace(conversation, tools=(grouped, *conversation.tools))

    assert calls(choose(SCRIPT, elsewhere)) == [("exec_command", {"cmd": "cat pkg/calc.py"})]


def test_a_path_may_leave_the_project() -> None:
    script = parse_script({"steps": [{"read": "../TASK.md"}, {"read": "/etc/hosts"}]})

    assert calls(choose(script, asked("claude"))) == [("Read", {"file_path": "/workspace/TASK.md"})]
    assert calls(choose(script, asked("claude", 1))) == [("Read", {"file_path": "/etc/hosts"})]


# --- which step -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("agent", ["pi", "claude", "codex", "gemini"])
def test_the_step_is_the_number_of_results(agent: str) -> None:
    said = [choose(SCRIPT, asked(agent, results)).answer.text for results in range(5)]

    assert said == ["I read.", "I edit.", "I write.", "I test.", "It works."]
    assert choose(SCRIPT, asked(agent, 4)).answer.calls == ()


def test_a_request_that_is_sent_again_is_answered_again_in_the_same_way() -> None:
    assert choose(SCRIPT, asked("pi", 2)) == choose(SCRIPT, asked("pi", 2))
    assert choose(SCRIPT, asked("pi", 2)).answer.id != choose(SCRIPT, asked("pi", 1)).answer.id


def test_several_calls_at_once_are_one_step() -> None:
    steps = [{"calls": [{"read": "a"}, {"run": "ls"}]}, {"run": "pwd"}, {"say": "Done."}]
    script = parse_script({"steps": steps})

    assert [name for name, _ in calls(choose(script, asked("pi")))] == ["read", "bash"]
    assert choose(script, asked("pi", 1)).position.step == 1  # one of two results: not over yet
    assert [choose(script, asked("pi", results)).position.step for results in (2, 3, 4)] == [2, 3, 3]
    assert len({one.id for one in choose(script, asked("pi")).answer.calls}) == 2


def test_a_script_that_ends_with_a_call_ends_with_a_word_all_the_same() -> None:
    script = parse_script({"steps": [{"run": "ls"}]})

    choice = choose(script, asked("pi", 1))

    assert (choice.answer.text, choice.answer.calls, choice.position.step) == ("Done.", (), 1)


def test_requests_without_tools_get_plain_text() -> None:
    script = parse_script({"plain": "A title", "steps": [{"run": "ls"}]})

    choice = choose(script, asked("none", 3))

    assert (choice.answer.text, choice.answer.calls, choice.position.step) == ("A title", (), "plain")


def test_what_was_expected_and_did_not_come_ends_the_session() -> None:
    script = parse_script({"steps": [{"run": "pytest"}, {"expect": "passed", "run": "ls"}, {"say": "Done."}]})

    assert calls(choose(script, asked("pi", 1, last="3 passed in 0.1s")))
    stopped = choose(script, asked("pi", 1, last="1 failed"))
    assert stopped.answer.calls == ()
    assert "step 2" in stopped.answer.text and "'passed'" in stopped.answer.text


def test_the_last_prompt_with_the_words_of_a_session_decides_and_counts_anew() -> None:
    script = parse_script(
        {
            "steps": [{"run": "main"}, {"say": "Main done."}],
            "sessions": [{"when": "second request", "steps": [{"run": "other"}, {"say": "Other done."}]}],
        }
    )
    first = asked("pi", 1)
    then = (*first.messages, Message("assistant", "Main done."), Message("user", "Now the second request."))
    second = replace(first, messages=then)
    after = replace(first, messages=(*then, Message("assistant", ""), Message("result", "ok")))

    assert choose(script, first).answer.text == "Main done."
    assert calls(choose(script, second)) == [("bash", {"command": "other"})]
    assert choose(script, second).position.session == 1
    assert choose(script, after).answer.text == "Other done."


# --- agents with ways of their own ------------------------------------------------------------------------------------
def test_an_agent_that_ends_by_a_command_gets_it_at_the_end() -> None:
    prompt = "Finish with `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."

    choice = choose(SCRIPT, asked("mini", 4, prompt=prompt))

    assert calls(choice) == [("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})]
    assert choice.answer.text == "It works."


def aider(*messages: Message) -> Conversation:
    first = Message("system", "Describe each change with a *SEARCH/REPLACE block* per the examples below.")
    return replace(asked("none"), messages=(first, *messages, Message("user", "Fix it.")))


def test_an_agent_without_tools_that_asks_for_blocks_gets_every_change_at_once() -> None:
    choice = choose(SCRIPT, aider())

    assert choice.position.step == 2
    assert choice.answer.text == (
        "I edit.\n\n"
        f"pkg/calc.py\n```\n<<<<<<< SEARCH\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE\n```\n\n"
        "I write.\n\n"
        "pkg/new file.py\n```\n<<<<<<< SEARCH\n=======\nit's\nnew\n>>>>>>> REPLACE\n```"
    )


def test_blocks_that_were_given_are_not_given_again() -> None:
    given = Message("assistant", choose(SCRIPT, aider()).answer.text)

    choice = choose(SCRIPT, aider(given))

    assert (choice.position.step, choice.answer.text) == (5, "It works.")


def test_a_commit_message_that_quotes_blocks_is_still_plain_text() -> None:
    asks = Message("system", "You write one-line Git commit messages.")
    diff = Message("user", "# ASSISTANT: a SEARCH/REPLACE block\n+++ b/pkg/calc.py")

    choice = choose(SCRIPT, replace(asked("none"), messages=(asks, diff)))

    assert (choice.position.step, choice.answer.text) == ("plain", "Scripted session")


# --- model and usage --------------------------------------------------------------------------------------------------
def test_the_model_is_the_one_asked_for_unless_the_script_names_one() -> None:
    assert choose(SCRIPT, asked("pi")).answer.model == "m-1"
    assert choose(SCRIPT.model_copy(update={"model": "other"}), asked("pi")).answer.model == "other"


def counts(script: Script, results: int = 0, **more: Any) -> tuple[int, ...]:
    usage = choose(script, replace(asked("pi", results), **more)).answer.usage
    assert usage
    return usage.uncached_input, usage.cached_input, usage.cache_write, usage.output, usage.reasoning


def test_undeclared_usage_follows_the_documented_rule() -> None:
    script = parse_script({"steps": [{"say": "12345", "run": "ls"}]})

    # "12345", "bash" and {"command": "ls"} are 5 + 4 + 17 characters; 4 make a token.
    assert counts(script, size=401) == (101, 0, 0, 7, 0)


def test_a_step_declares_before_the_script_and_the_rule_fills_the_rest() -> None:
    step = {"say": "12345", "run": "ls", "usage": {"cachedInput": 5, "reasoning": 3}}
    script = parse_script({"usage": {"cachedInput": 100, "cacheWrite": 9}, "steps": [step, {"say": "x"}]})

    assert counts(script, size=400) == (100, 5, 9, 7 + 3, 3)
    assert counts(script, results=1, size=400) == (100, 100, 9, 1, 0)


def test_output_is_never_less_than_its_reasoning() -> None:
    script = parse_script({"usage": {"output": 2, "reasoning": 30}, "steps": [{"say": "x"}]})

    assert counts(script, size=4) == (1, 0, 0, 30, 30)
