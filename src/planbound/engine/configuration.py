"""The configuration as a value, and how it is read from a TOML document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planbound.errors import ConfigurationError
from planbound.plan.suggest import nearest
from planbound.verify.facts import DEFAULT_ROLES

PROFILES = ("default", "strict")
_KEYS = ("profile", "verify", "agents", "roles", "redact")


class Configuration(NamedTuple):
    """What a workspace says about itself."""

    profile: str = "default"
    roles: frozenset[str] = DEFAULT_ROLES
    redact: tuple[str, ...] = ()
    """Regular expressions of what must not reach the journal."""
    path: str | None = None
    """Where it was read from."""


def read_configuration(document: Mapping[str, object], *, path: str) -> Configuration:
    """Return the configuration in a document; raise ConfigurationError with the key."""
    for key in document:
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            hint = f"did you mean `{near}`?" if near else f"known keys are {', '.join(_KEYS)}"
            raise ConfigurationError(f"unknown key `{key}` in {path}", hint=hint)
    verify = _table(document, "verify", path)
    for key in verify:
        if key != "profile":
            raise ConfigurationError(
                f"unknown key `verify.{key}` in {path}", hint="known keys are profile"
            )
    profile = verify.get("profile", document.get("profile", "default"))
    if profile not in PROFILES or not isinstance(profile, str):
        raise ConfigurationError(
            f"`profile` is {profile!r} in {path}", hint='write "default" or "strict"'
        )
    named = frozenset({*_table(document, "agents", path), *_table(document, "roles", path)})
    # Who names agents or roles names all of them: a step for another one could not be run.
    redact = document.get("redact", [])
    if not isinstance(redact, list) or not all(isinstance(item, str) for item in redact):
        raise ConfigurationError(
            f"`redact` is not a list of patterns in {path}", hint='write `redact = ["..."]`'
        )
    return Configuration(
        profile=profile, roles=named or DEFAULT_ROLES, redact=tuple(redact), path=path
    )


def _table(document: Mapping[str, object], key: str, path: str) -> Mapping[str, object]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise ConfigurationError(f"`{key}` is not a table in {path}", hint=f"write `[{key}]`")
    return value
