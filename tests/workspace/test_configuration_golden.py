"""What is read from a configuration, and what is said to a faulty one, stays as it is."""

from __future__ import annotations

import enum
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planbound.errors import ConfigurationError
from planbound.workspace.configuration_file import read_configuration

FIXTURES = Path(__file__).parent.parent / "fixtures" / "configuration"


def test_every_fault_is_told_in_the_same_words() -> None:
    golden = json.loads((FIXTURES / "faults.json").read_text())
    assert len(golden) > 150
    found = [{"toml": each["toml"], **refusal(each["toml"])} for each in golden]
    assert found == golden


def refusal(text: str) -> dict[str, str | None]:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(tomllib.loads(text), path="planbound.toml")
    return {"message": str(caught.value), "hint": caught.value.hint}


def test_every_setting_is_read_as_before() -> None:
    text = (FIXTURES / "every-setting.toml").read_text()
    read = read_configuration(tomllib.loads(text), path="planbound.toml")
    assert plain(read) == json.loads((FIXTURES / "every-setting.json").read_text())


def plain(value: Any) -> object:
    """Return a value as JSON can write it, whatever classes it is made of."""
    match value:
        case enum.Enum():
            return value.value
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case set() | frozenset():
            return sorted(map(str, map(plain, value)))
        case tuple() if not hasattr(value, "_fields"):
            return [plain(item) for item in value]
        case None | bool() | int() | float() | str():
            return value
    fields = getattr(value, "_fields", None) or getattr(value, "__struct_fields__", None)
    return {name: plain(getattr(value, name)) for name in fields} if fields else str(value)
