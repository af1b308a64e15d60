"""What agents share that reach their model through LiteLLM."""

from __future__ import annotations

from collections.abc import Mapping

from planbound.agents.cli import Call

_KEY = "OPENAI_API_KEY"
QUIET = {
    # Nothing is fetched at the start, and no line is broken at the edge of a terminal.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "COLUMNS": "1000",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def model_of(call: Call) -> str | None:
    """Return the model as LiteLLM names it: its provider goes first."""
    model = call.rules.model
    if model is None or call.rules.base_url is None or model.startswith("openai/"):
        return model
    return f"openai/{model}"


def server_of(call: Call) -> dict[str, str]:
    """Return the variables that name an OpenAI-compatible server."""
    return {} if call.rules.base_url is None else {"OPENAI_API_BASE": call.rules.base_url}


def key_of(call: Call) -> Mapping[str, str]:
    """Return the variable that the key of such a server goes into."""
    return {_KEY: call.credential} if call.rules.base_url and call.credential else {}
