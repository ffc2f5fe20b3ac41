"""The recorded sessions, by folder: which adapter reads them, and which file is which stream."""

from pathlib import Path

from fairtrial.api.adapter import Adapter
from fairtrial.events import rules
from fairtrial.events.rules import load

FOLDER = Path(__file__).parents[2] / "cases" / "agent-streams"
ROOT = "/workspace"
CASES = {
    "acp-claude-code": ("acp", {"agent": "stdout.jsonl"}),
    "acp-codex": ("acp", {"agent": "stdout.jsonl"}),
    "acp-gemini": ("acp", {"agent": "stdout.jsonl"}),
    "acp-opencode": ("acp", {"agent": "stdout.jsonl"}),
    "aider": ("aider", {"text": "stdout.txt", "analytics": "analytics.jsonl"}),
    "atif": ("atif", {"events": "trajectory.json"}),
    "atif-harbor": ("atif", {"events": "trajectory.json"}),
    "claude-code": ("claude-code", {"events": "stdout.jsonl"}),
    "codex": ("codex", {"events": "stdout.jsonl"}),
    "gemini-cli": ("gemini-cli", {"events": "stdout.jsonl"}),
    "mini-swe-agent": ("mini-swe-agent", {"events": "traj.json"}),
    "opencode": ("opencode", {"events": "stdout.jsonl"}),
    "otel-genai": ("otel-genai", {"events": "otlp.jsonl"}),
    "otel-genai-pydantic-ai": ("otel-genai", {"events": "otlp.jsonl"}),
    "pi": ("pi", {"events": "stdout.jsonl"}),
    "pi-1.6": ("pi", {"events": "stdout.jsonl"}),
    "plain-text": ("plain-text", {"events": "stdout.txt"}),
}


def streams(case: str) -> dict[str, bytes]:
    """What the harness wrote."""
    return {source: (FOLDER / case / file).read_bytes() for source, file in CASES[case][1].items()}


def adapter(name: str) -> rules.Adapter:
    """A built-in adapter as the recorder gets it."""
    return load(Adapter(name=name).to_plan(), name=name)
