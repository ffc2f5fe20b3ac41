"""Which call a request is, what it asks for, and whether it keeps to the pin."""

import json
import time

import pytest

from fairtrial.wires import BY_NAME, find
from fairtrial.wires.base import Call
from fairtrial.wires.pin import violations

from .conftest import PATHS, SEMANTICS

_SEMANTICS = SEMANTICS["gemini"]


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("/v1/messages", Call("anthropicMessages", "generate")),
        ("/v1/messages?beta=true", Call("anthropicMessages", "generate")),
        ("/v1/messages/count_tokens?beta=true", Call("anthropicMessages", "count_tokens", streamed=False)),
        ("/v1/chat/completions", Call("openaiChat", "generate")),
        ("/v1/responses", Call("openaiResponses", "generate")),
        ("/v1beta/models/g-2.5:generateContent", Call("gemini", "generate", "g-2.5", streamed=False, sse=False)),
        ("/v1/models/g%2D2:streamGenerateContent?alt=sse&key=k", Call("gemini", "generate", "g-2", streamed=True)),
        ("/v1beta/models/g:streamGenerateContent", Call("gemini", "generate", "g", streamed=True, sse=False)),
        ("/v1beta/models/g:countTokens", Call("gemini", "count_tokens", "g", streamed=False, sse=False)),
    ],
)
def test_a_path_is_one_call_of_one_wire(path: str, call: Call):
    found = find("POST", path)
    assert found is not None
    assert found[1] == call
    assert found[0].name == call.wire
    assert find("GET", path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/messages/",
        "//v1/messages",
        "/v1/messages/batches",
        "/v1/../v1/messages",
        "/v1/responses/resp_1",
        "/v1beta/models/a/b:generateContent",
        "/v1beta/models/a%2Fb:generateContent",
        "/v1beta/models/..:generateContent",
        "/v1beta/models/g%3AgenerateContent",
        "/v1beta/models/g%0a:generateContent",
        "/v1beta/models/:generateContent",
        "/v1beta/models/g:embedContent",
        "/v1beta/models/g:generateContent/",
    ],
)
def test_any_other_path_is_none(path: str):
    assert find("POST", path) is None


def _read(wire: str, body: object, path: str = ""):
    found = find("POST", path or PATHS[wire])
    assert found is not None
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return found[0].read_request(found[1], data)


@pytest.mark.parametrize(
    ("wire", "body", "streamed", "parameters"),
    [
        (
            "anthropicMessages",
            {
                "model": "m-1",
                "stream": True,
                "max_tokens": 32000,
                "system": "text",
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "output_config": {"effort": "high"},
                "temperature": 1.0,
                "messages": [],
            },
            True,
            {
                "max_tokens": "32000",
                "thinking": "enabled",
                "thinking_budget": "1024",
                "reasoning_effort": "high",
                "output_config": "an object",
                "temperature": "1.0",
            },
        ),
        (
            "openaiChat",
            {
                "model": "m-1",
                "max_completion_tokens": 8192,
                "store": False,
                "reasoning_effort": "low",
                "top_p": 0.95,
                "stop": None,
                "messages": [],
            },
            False,
            {
                "max_completion_tokens": "8192",
                "max_tokens": "8192",
                "reasoning_effort": "low",
                "store": "false",
                "top_p": "0.95",
            },
        ),
        (
            "openaiResponses",
            {
                "model": "m-1",
                "stream": True,
                "input": "secret prompt",
                "instructions": "long text",
                "reasoning": {"effort": "medium", "summary": "auto"},
                "text": {"verbosity": "low"},
                "max_output_tokens": 10,
            },
            True,
            {
                "max_output_tokens": "10",
                "max_tokens": "10",
                "reasoning_effort": "medium",
                "reasoning_summary": "auto",
                "reasoning": "an object",
                "text": "an object",
                "verbosity": "low",
            },
        ),
        (
            "gemini",
            {
                "contents": [],
                "generationConfig": {
                    "temperature": 1,
                    "topP": 0.95,
                    "top_k": 64,
                    "maxOutputTokens": 100,
                    "thinkingConfig": {"includeThoughts": True, "thinkingBudget": -1},
                },
            },
            True,
            {
                "include_thoughts": "true",
                "max_output_tokens": "100",
                "max_tokens": "100",
                "temperature": "1",
                "thinking_budget": "-1",
                "thinking_config": "an object",
                "top_k": "64",
                "top_p": "0.95",
            },
        ),
    ],
)
def test_a_request_tells_model_streaming_and_parameters(wire: str, body: dict, streamed: bool, parameters: dict):
    facts = _read(wire, body)
    assert (facts.model, facts.streamed, facts.problem) == ("m-1", streamed, "")
    assert facts.parameters == parameters


def test_a_chat_stream_has_usage_only_if_asked():
    assert _read("openaiChat", {"model": "m"}).asks_usage
    assert not _read("openaiChat", {"model": "m", "stream": True}).asks_usage
    assert _read("openaiChat", {"model": "m", "stream": True, "stream_options": {"include_usage": True}}).asks_usage
    assert _read("anthropicMessages", {"model": "m", "stream": True}).asks_usage


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"model": "a"} {"model": "b"}', "not JSON"),
        (b'\xff\xfe{\x00"\x00', "not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"model": "m", "n": ' + b"1" * 10_000 + b"}", "a number is too long"),
        (b"{}", "must name a model"),
        (b'{"model": 7}', "must name a model"),
        (b'{"model": "' + b"m" * 300 + b'"}', "at most 256"),
        (b'{"model": "m", "stream": "yes"}', "stream must be"),
        (b'{"model": "m", "model": "other"}', "'model' twice"),
        (b'{"model": "m", "temperature": 0, "temperature": 1}', "'temperature' twice"),
        (b'{"model": "m", "Model": "other"}', "some readers take"),
        (b'{"model": "m", "\\u017ftream": true}', "some readers take"),
        (b'{"model": "m", "max_tokens": 1, "max_completion_tokens": 2}', "max_tokens twice, differently"),
        (b'{"model": "m", "reasoning": {"effort": "low", "effort": "high"}}', "'effort' twice"),
        (b'{"model": "m", "reasoning_effort": "low", "reasoning": {"effort": "high"}}', "reasoning_effort twice"),
    ],
)
def test_what_two_readers_could_take_differently_is_a_problem(body: bytes, problem: str):
    assert problem in _read("openaiChat", body).problem


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"model": "models/m-1"}, ""),
        ({"model": "other"}, "the path 'm-1'"),
        ({"generateContentRequest": {"model": "models/other"}}, "the path 'm-1'"),
        ({"generationConfig": {}, "generation_config": {"temperature": 2}}, "twice"),
        ({"generationConfig": {"topP": 1, "top_p": 0}}, "twice"),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinking_budget": 0}}}, "twice"),
        (b'{"generationConfig": {"temperature": 1, "temperature": 2}}', "twice"),
        (b"nothing", "not JSON"),
    ],
)
def test_gemini_takes_either_form_of_a_name_and_not_both(body: object, problem: str):
    facts = _read("gemini", body)
    assert facts.model == "m-1"
    assert problem in facts.problem
    assert bool(facts.problem) == bool(problem)


@pytest.mark.parametrize(
    ("said", "pinned", "kinds"),
    [
        ({"model": "m-1", "temperature": 0.0}, {"temperature": "0"}, []),
        ({"model": "m-1", "temperature": 1e-1}, {"temperature": "0.10"}, []),
        ({"model": "m-1", "temperature": 0.2}, {"temperature": "0"}, ["wrong_parameter"]),
        ({"model": "m-1"}, {"temperature": "0"}, ["wrong_parameter"]),
        ({"model": "m-1"}, {"temperature": "unset"}, []),
        ({"model": "m-1", "temperature": 0}, {"temperature": "unset"}, ["wrong_parameter"]),
        ({"model": "m-1", "reasoning_effort": "high"}, {"reasoning_effort": "high"}, []),
        ({"model": "m-1", "reasoning_effort": "High"}, {"reasoning_effort": "high"}, ["wrong_parameter"]),
        ({"model": "m-2", "temperature": 1}, {"temperature": "0"}, ["wrong_model", "wrong_parameter"]),
        ({"model": "M-1"}, {}, ["wrong_model"]),
    ],
)
def test_the_pin(said: dict, pinned: dict, kinds: list[str]):
    found = violations("m-1", pinned, _read("openaiChat", said))
    assert [each.kind for each in found] == kinds
    assert all("m-1" in each.message or "temperature" in each.message or "effort" in each.message for each in found)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({f"a{number}": 1 for number in range(64)} | {"temperature": 2}, "more than 64 parameters"),
        ({"stop": ["x"]}, "stop is a list; in this run it must leave it out"),
        ({"logit_bias": {"1": 5}}, "logit_bias is an object"),
        ({"Temperature": 2}, "'Temperature', which some readers take for 'temperature'"),
        ({"topP": 0.5, "top_p": 1}, "the body says top_p twice, differently"),
    ],
    ids=["a crowd", "a list", "an object", "another case", "another form"],
)
def test_what_must_be_left_out_cannot_be_hidden(body: dict, message: str):
    pinned = dict.fromkeys(("stop", "temperature", "logit_bias"), "unset")
    facts = _read("openaiChat", {"model": "m", "messages": []} | body)

    assert message in facts.problem + "".join(each.message for each in violations("m", pinned, facts))


@pytest.mark.parametrize("part", ["[]", "{}", "1.5", '"a"'])
def test_a_body_of_millions_of_values_is_not_read(part: str):
    many = ",".join([part] * 3_000_000)

    began = time.thread_time()  # of this thread alone, however busy the machine is
    facts = _read("openaiChat", f'{{"model": "m", "messages": [{many}]}}'.encode())

    assert "too many values" in facts.problem
    assert time.thread_time() - began < 0.5  # nothing else is served meanwhile


def test_a_token_count_is_held_to_the_model_only():
    facts = _read("anthropicMessages", {"model": "m-1"}, "/v1/messages/count_tokens")
    assert violations("m-1", {"temperature": "0"}, facts) == []
    assert [each.kind for each in violations("other", {"temperature": "0"}, facts)] == ["wrong_model"]


@pytest.mark.parametrize(
    ("wire", "status", "expected"),
    [
        (
            "anthropicMessages",
            400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "wrong_model: use m"}},
        ),
        (
            "anthropicMessages",
            429,
            {"type": "error", "error": {"type": "rate_limit_error", "message": "wrong_model: use m"}},
        ),
        (
            "openaiChat",
            400,
            {
                "error": {
                    "message": "wrong_model: use m",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "wrong_model",
                }
            },
        ),
        (
            "gemini",
            404,
            {
                "error": {
                    "code": 404,
                    "message": "wrong_model: use m",
                    "status": "NOT_FOUND",
                    "details": [
                        {
                            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                            "reason": "WRONG_MODEL",
                            "domain": "fairtrial.dev",
                        }
                    ],
                }
            },
        ),
    ],
)
def test_an_error_has_the_wires_own_shape(wire: str, status: int, expected: dict):
    content_type, body = BY_NAME[wire].error_body(None, status, "wrong_model", "use m")
    assert content_type == "application/json"
    assert json.loads(body) == expected


@pytest.mark.parametrize("wire", PATHS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 529])
def test_our_errors_read_as_the_providers_own_would(wire: str, status: int):
    found = find("POST", PATHS[wire])
    assert found is not None
    _, body = found[0].error_body(found[1], status, "kind", "message \N{EURO SIGN}")
    assert body.isascii()
    reader = found[0].reader(found[0].read_request(found[1], b"{}"), _SEMANTICS, status)
    reader.feed(body)
    assert reader.finish().error_type


def test_a_stream_that_is_an_array_gets_its_error_in_one():
    found = find("POST", "/v1beta/models/m:streamGenerateContent")
    assert found is not None
    assert (
        json.loads(found[0].error_body(found[1], 429, "rate", "wait")[1])[0]["error"]["status"] == "RESOURCE_EXHAUSTED"
    )
