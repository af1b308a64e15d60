"""What the configuration may say about an agent of the kind `model`, beside what all may.

Apart from what asks the model: that imports its library, which takes long, or is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from planbound.errors import ConfigurationError
from planbound.plan.vocabulary import nearest
from planbound.workspace.agents import TOOLS, AgentRules, Role

ALWAYS = "blocked"
"""The tool that no configuration takes away."""
_KEYS = ("api", "requests", "retries", "settings")
APIS = ("chat", "responses")
"""How OpenAI's models are asked, and those of compatible servers: the first without a word."""
MOST_TOKENS = 16_384
"""In one answer, where the settings say nothing: a model that never ends is ended."""
MOST_TOKENS_SERVED = 4096
"""The same for a server of one's own, whose context may be small."""


class Options(NamedTuple):
    """How the model is asked."""

    tools: frozenset[str] = frozenset(TOOLS)
    requests: int = 200
    """How often in one attempt."""
    retries: int = 2
    """How often the client asks again by itself, where the service stumbles."""
    api: str | None = None
    """One of `APIS`; None: what is usual for the service."""
    settings: Mapping[str, Any] = {}
    """What is passed to the model as it is: `temperature`, `max_tokens`, `thinking`."""

    def tools_of(self, role: Role | None) -> frozenset[str]:
        """Return the tools for who works in a role: those that it may have, too."""
        if role is None or role.tools is None:
            return self.tools
        return self.tools & {*role.tools, ALWAYS}


def read_options(rules: AgentRules) -> Options:
    """Return what is configured; raise `ConfigurationError` where that does not fit."""
    place = f"agents.{rules.name}"
    if rules.model is None:
        raise ConfigurationError(
            f"`{place}` has no `model`",
            hint='write `model = "anthropic:claude-sonnet-4-5"`, or the name of a model and'
            ' `base_url = "http://localhost:8080/v1"`',
        )
    if rules.command:
        raise ConfigurationError(
            f"`{place}.command` is not for the kind `model`, which starts no program",
            hint='take it out, or write `kind = "command"`',
        )
    for key in rules.options:
        if key not in _KEYS:
            raise ConfigurationError(
                f"`{place}.options.{key}` is not known", hint=f"options are {', '.join(_KEYS)}"
            )
    settings = rules.options.get("settings", {})
    if not isinstance(settings, Mapping):
        raise ConfigurationError(
            f"`{place}.options.settings` is {settings!r}",
            hint="write a table, such as `settings = { temperature = 0.0 }`",
        )
    return Options(
        tools=_tools(rules),
        requests=_count(rules, "requests", 200, least=1),
        retries=_count(rules, "retries", 2, least=0),
        api=_api(rules),
        settings={"max_tokens": MOST_TOKENS_SERVED if rules.base_url else MOST_TOKENS, **settings},
    )


def _api(rules: AgentRules) -> str | None:
    value = rules.options.get("api")
    if value is None:
        return None
    if value not in APIS:
        raise ConfigurationError(
            f"`agents.{rules.name}.options.api` is {value!r}",
            hint='write "chat" for chat completions, or "responses"',
        )
    return str(value)


def _tools(rules: AgentRules) -> frozenset[str]:
    if rules.tools is None:
        return frozenset(TOOLS)
    for name in rules.tools:
        if name not in TOOLS:
            near = nearest(name, TOOLS)
            guess = f"did you mean `{near}`? " if near else ""
            raise ConfigurationError(
                f"`agents.{rules.name}.tools` names `{name}`, and there is no such tool",
                hint=f"{guess}tools are {', '.join(TOOLS)}",
            )
    return frozenset((*rules.tools, ALWAYS))


def _count(rules: AgentRules, key: str, usual: int, *, least: int) -> int:
    value = rules.options.get(key, usual)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(
            f"`agents.{rules.name}.options.{key}` is {value!r}",
            hint=f"write a whole number, {least} or more",
        )
    return value
