"""What OpenAI's two wires share: one usage object under two sets of names, and the shape of errors."""

from typing import Any

from fairtrial.usage.counters import NOT_IN_WIRE, Reported, count
from fairtrial.wires import body
from fairtrial.wires.common import SERVER_ERROR


def reported(usage: dict[str, Any], input_name: str, output_name: str) -> Reported:
    """The usage in the provider's terms; `input_name` is `prompt` for chat, `input` for responses."""
    of_input = body.child(usage, f"{input_name}_tokens_details")
    of_output = body.child(usage, f"{output_name}_tokens_details")
    write = count(of_input["cache_write_tokens"]) if "cache_write_tokens" in of_input else NOT_IN_WIRE
    audio = of_input.get("audio_tokens") or of_output.get("audio_tokens")
    return Reported(
        input=count(usage.get(f"{input_name}_tokens")),
        cached=count(of_input.get("cached_tokens")),
        cache_write=write,
        output=count(usage.get(f"{output_name}_tokens")),
        reasoning=count(of_output.get("reasoning_tokens")),
        total=count(usage.get("total_tokens")),
        unpriced=("audio",) if audio else (),
    )


def error_type(value: dict[str, Any]) -> str:
    """The word that says what went wrong: the code if there is one, the type if not; empty where nothing is said."""
    error = value.get("error")
    said = error if isinstance(error, dict) else value
    return body.text(said.get("code") or said.get("type")) or ("error" if error else "")


def error(status: int, kind: str, message: str) -> dict[str, Any]:
    """An error as OpenAI has it."""
    types = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    fallback = "invalid_request_error" if status < SERVER_ERROR else "server_error"
    said = {"message": f"{kind}: {message}", "type": types.get(status, fallback), "param": None, "code": kind}
    return {"error": said}
