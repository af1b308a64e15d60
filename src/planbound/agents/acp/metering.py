"""What agents tell about the tokens that they use: in the protocol's own fields or beside them."""

from __future__ import annotations

from typing import Any

_NAMES = {
    "total": ("totalTokens", "total_tokens"),
    "input": ("inputTokens", "input_tokens"),
    "output": ("outputTokens", "output_tokens"),
    "cached": ("cachedReadTokens", "cached_tokens"),
}


def turn_usage(ended: Any) -> dict[str, int] | None:
    """Return what a turn used, by the answer to its prompt; None where it does not say."""
    if ended.usage is not None:
        return _counts(ended.usage.model_dump(by_alias=True))
    # Gemini CLI.
    quota = _inner(ended.field_meta, "quota")
    return _counts(_inner(quota, "token_count"))


def call_usage(update: Any) -> dict[str, int] | None:
    """Return what one call of the model used; None where an update does not say."""
    # Qwen Code.
    return _counts(_inner(update.field_meta, "usage"))


def _inner(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _counts(given: object) -> dict[str, int] | None:
    if not isinstance(given, dict):
        return None
    found = {}
    for name, spellings in _NAMES.items():
        value = next((given[each] for each in spellings if each in given), None)
        if isinstance(value, int):
            found[name] = value
    return found or None
