"""The digest of a configuration changes with what contracts depend on, and with nothing else."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, defstruct
from msgspec.structs import asdict, replace

from planbound.workspace.configuration import (
    Configuration,
    Contracts,
    Judging,
    TreeRules,
)
from planbound.workspace.configuration_digest import USUAL, configuration_digest
from planbound.workspace.configuration_file import read_configuration

GOLDEN: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "configuration-digests.json").read_text()
)


def read(text: str) -> Configuration:
    return read_configuration(tomllib.loads(text), path="planbound.toml")


@pytest.mark.requirement("gate.configuration-form")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_configuration_has_the_digests_that_it_always_had(name: str) -> None:
    golden = GOLDEN[name]
    configuration = read(golden["toml"])
    assert configuration_digest(configuration) == golden["v2"]
    assert configuration_digest(configuration, like=golden["v2"]) == golden["v2"]
    assert configuration_digest(configuration, like=golden["v1"]) == golden["v1"]


def test_every_setting_changes_the_digest() -> None:
    others = [
        *({name: _other(value)} for name, value in asdict(Contracts()).items()),
        *({name: _other(value)} for name, value in asdict(Judging()).items()),
        *({name: _other(value)} for name, value in asdict(TreeRules()).items()),
    ]
    found = {configuration_digest(Configuration())}
    for values in others:
        (name,) = values
        tables: dict[str, Struct] = {
            "contracts": Contracts(),
            "judging": Judging(),
            "tree": TreeRules(),
        }
        for table, value in tables.items():
            if name in value.__struct_fields__:
                changed: Any = replace(value, **values)
                found.add(configuration_digest(Configuration(**{table: changed})))
    assert len(found) == len(others) + 1


def _other(value: object) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case _:
            return ("other",)


def grown(later: str) -> Any:
    """Return the table as a later version may have it: with one more setting."""
    table: Any = defstruct("Judging", [("later", str, "usual")], bases=(Judging,), frozen=True)
    return table(later=later)


def test_a_new_setting_changes_no_digest_of_who_does_not_use_it() -> None:
    unused = Configuration(judging=grown("usual"))
    assert configuration_digest(unused) == configuration_digest(Configuration())
    used = Configuration(judging=grown("other"))
    assert configuration_digest(used) != configuration_digest(Configuration())
    # What the first form could not say is no reason to take it for unchanged.
    assert configuration_digest(used, like=GOLDEN["nothing"]["v1"]).startswith("v2:")


@pytest.mark.parametrize(
    ("name", "table"),
    [("contracts", Contracts()), ("judging", Judging()), ("workspace", TreeRules())],
)
def test_every_setting_has_its_first_value_written_down(name: str, table: Struct) -> None:
    # A new setting gets a line in `USUAL`, with the value that it has for who says nothing.
    assert list(USUAL[name]) == list(table.__struct_fields__)
