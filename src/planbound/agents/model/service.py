"""Which model is asked, where it is served, and with which credential."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from planbound.agents.model.options import APIS
from planbound.agents.signs import CREDENTIAL, is_credential
from planbound.source import lazy_pattern
from planbound.workspace.agents import AgentRules

_NAME = lazy_pattern(CREDENTIAL)
_PATIENCE = 60.0
_NO_KEY = "none-is-needed"
"""What is sent to a server of one's own that asks for no credential: the client wants some text."""


class UnknownModelError(Exception):
    """There is no such model, or it is not served as the configuration says."""


class MissingKeyError(Exception):
    """A credential is not set: `str` of it is the variable's name."""


class Service(NamedTuple):
    """A model that can be asked."""

    model: Model
    variable: str | None
    """The variable with its credential, where that is known."""


def find_service(
    rules: AgentRules, environment: Mapping[str, str], api: str | None = None
) -> Service:
    """Return the model of an agent.

    With a `base_url` chat completions are spoken, which every server knows, unless `api` says
    otherwise. Raise `UnknownModelError` or `MissingKeyError`; `ImportError` where its client is not
    installed.
    """
    assert rules.model is not None
    provider, name = _split(rules.model)
    variable = next((each for each in rules.env if is_credential(each)), None)
    key = environment.get(variable) if variable else None
    try:
        if rules.base_url is not None and provider is None:
            model = _compatible(name, rules.base_url, key or _NO_KEY, api)
            return Service(model, variable)
        if provider is None:
            raise UnknownModelError(
                f'`{rules.model}` names no service: write `model = "openai:{rules.model}"`, or'
                " `base_url` for a server that speaks as OpenAI's does"
            )
        arguments = {"api_key": key, "base_url": rules.base_url}
        given = {name: value for name, value in arguments.items() if value is not None}
        if provider == "openai" and (api is not None or rules.base_url is not None):
            provider = f"openai-{api or APIS[0]}"
        model = infer_model(f"{provider}:{name}", lambda each: _provider(each, given))
    except UserError as error:
        found = _NAME.search(str(error))
        if found is not None and not environment.get(found.group()):
            raise MissingKeyError(found.group()) from error
        raise UnknownModelError(str(error)) from error
    return Service(model, variable or _usual(provider, environment))


def _split(model: str) -> tuple[str | None, str]:
    """Return the service and the name; a name may have a colon itself, such as `qwen3:8b`."""
    provider, colon, name = model.partition(":")
    if not colon:
        return None, model
    try:
        infer_provider_class(provider)
    except ValueError:
        return None, model
    return provider, name


def _compatible(name: str, base_url: str, key: str, api: str | None) -> Model:
    from pydantic_ai.models import openai  # noqa: PLC0415 - one of many
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415 - the same
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - it too

    provider = OpenAICompatibleProvider("compatible", base_url=base_url, api_key=key)
    if api == "responses":
        return openai.OpenAIResponsesModel(name, provider=provider)
    # The older name of the field is the one that servers know which people run themselves.
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return openai.OpenAIChatModel(name, provider=provider, profile=profile)


def spoken(rules: AgentRules, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return which of `APIS` the server of an agent speaks, by asking it a word of each.

    Raise as `find_service` does, or what the library raises where that says nothing about it.
    """
    return asyncio.run(_spoken(rules, environment))


async def _spoken(rules: AgentRules, environment: Mapping[str, str]) -> tuple[str, ...]:
    found = []
    for api in APIS:
        service = find_service(rules, environment, api)
        asked = [ModelRequest([UserPromptPart("Say the word ok.")])]
        settings = ModelSettings(max_tokens=16, timeout=_PATIENCE, max_retries=0)
        try:
            await model_request(service.model, asked, model_settings=settings)
        except (ModelAuthenticationError, ModelNotFoundError) as error:
            if isinstance(error, ModelAuthenticationError):
                raise
        except (ModelRequestRejectedError, ModelHTTPError, UnexpectedModelBehavior):
            pass  # no such path, or an answer in another form
        else:
            found.append(api)
    return tuple(found)


def _provider(name: str, given: Mapping[str, Any]) -> Provider[Any]:
    try:
        return infer_provider_class(name)(**given)
    except TypeError as error:
        words = ", ".join(f"`{word}`" for word in given)
        raise UnknownModelError(f"`{name}` cannot be asked with {words}: {error}") from error


def _usual(provider: str, environment: Mapping[str, str]) -> str | None:
    name = f"{provider.partition('-')[0].upper()}_API_KEY"
    return name if environment.get(name) else None
