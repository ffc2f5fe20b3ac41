"""What a run's calls came to: whether the pinned model answered."""

import pytest

from fairtrial.usage.calls import is_model


@pytest.mark.parametrize(
    ("answered", "pinned", "expected"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("gpt-4-0613", "gpt-4", True),
        ("claude-sonnet-4-20250514", "claude-sonnet-4", True),
        ("models/gemini-2.5-flash-001", "gemini-2.5-flash", True),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash", True),
        ("gpt-4o-mini", "gpt-4o", False),
        ("gpt-4o-mini-2024-07-18", "gpt-4o", False),
        ("claude-opus-4-1", "claude-opus-4", False),
        ("claude-opus-4-1-20250805", "claude-opus-4", False),
        ("gemini-2.5-flash-lite-001", "gemini-2.5-flash", False),
        ("gpt-4o", "gpt-4o-2024-08-06", False),
        ("", "gpt-4o", False),
    ],
)
def test_only_a_date_may_follow_the_pinned_name(answered: str, pinned: str, expected: bool):
    assert is_model(answered, pinned) is expected
