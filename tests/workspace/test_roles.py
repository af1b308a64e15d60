"""Roles as configuration: what is shipped, what is overridden, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from planbound.errors import ConfigurationError
from planbound.judging.case import Scope, covers, outside
from planbound.plan.glob import parse_glob
from planbound.plan.limits import Budget
from planbound.plan.vocabulary import DEFAULT_ROLES
from planbound.workspace.agents import SHIPPED, Role, command_objection
from planbound.workspace.configuration import Configuration
from planbound.workspace.configuration_file import read_configuration
from planbound.workspace.manifest import ChangeKind, Entry, EntryType, TreeChange
from tests.tables import one_fact


def _read(**roles: dict[str, Any]) -> Configuration:
    agents = {"one": {"command": ["one"]}, "two": {"command": ["two"], "skills": ["sql"]}}
    return read_configuration({"agents": agents, "roles": roles}, path="planbound.toml")


def _roles(**roles: dict[str, Any]) -> dict[str, Role]:
    return dict(_read(**roles).roster)


def test_every_role_that_is_known_without_configuration_is_shipped_with_a_purpose() -> None:
    assert set(SHIPPED) == DEFAULT_ROLES
    assert all(role.purpose for role in SHIPPED.values())
    for role in SHIPPED.values():
        for text in role.touches or ():
            parse_glob(text)


def test_a_table_overrides_what_is_shipped_key_by_key() -> None:
    role = _roles(reviewer={"agent": "one", "commands": ["git"]})["reviewer"]
    assert role == replace(SHIPPED["reviewer"], agents=("one",), commands=("git",))
    assert not role.is_firm
    role = _roles(reviewer={"touches": ["**"], "purpose": "Look\n  at it."})["reviewer"]
    assert role == Role("reviewer", touches=("**",), purpose="Look at it.", is_firm=True)


def test_a_role_of_ones_own_has_only_what_is_written() -> None:
    role = _roles(dba={"skills": ["sql"], "tools": ["read"], "budget": "5k tokens, $0.50, 10m"})
    budget = Budget(5000, Decimal("0.50"), Decimal(600))
    assert role["dba"] == Role("dba", ("two",), tools=("read",), budget=budget)
    assert _roles(person={})["person"] == Role("person")


def test_touches_that_are_shipped_hold_only_for_steps_that_declare_none() -> None:
    shipped, written = SHIPPED["researcher"], _roles(researcher={"touches": ["notes/**"]})
    assert shipped.scope(declared=True) is None
    assert shipped.scope(declared=False) is not None
    for declared in (True, False):
        assert written["researcher"].scope(declared=declared) == (parse_glob("notes/**"),)
    assert SHIPPED["worker"].scope(declared=False) is None


def test_a_step_without_a_target_has_the_role_of_a_coder() -> None:
    configuration = _read(coder={"commands": ["git"]})
    assert configuration.role(None) == configuration.roster["coder"]
    assert configuration.role("tester") == SHIPPED["tester"]
    assert configuration.role("sql") is None


def test_the_roles_that_are_known_come_with_who_gets_their_steps() -> None:
    configuration = _read(dba={"skills": ["sql"]}, worker={})
    found = configuration.known_roles()
    assert [(role.name, role.agents) for role in found] == [("dba", ("two",)), ("worker", ())]
    assert configuration.roles_of("two") == ("dba",)


@pytest.mark.parametrize(
    ("role", "said", "hint"),
    [
        ({"touches": "docs/**"}, "`roles.x.touches` is not a list of patterns", ""),
        ({"touches": ["docs/[a"]}, "`roles.x.touches` holds 'docs/[a'", ""),
        ({"touches": ["/etc/**"]}, "`roles.x.touches` holds '/etc/**'", "from the workspace root"),
        ({"touches": ["../x"]}, "`roles.x.touches` holds '../x'", ""),
        ({"commands": ["npm test"]}, "`roles.x.commands` holds 'npm test'", "without their arg"),
        ({"commands": [""]}, "`roles.x.commands` holds ''", "without their arguments"),
        ({"commands": "git"}, "`roles.x.commands` is not a list of programs", ""),
        ({"tools": ["raed"]}, "`roles.x.tools` holds 'raed'", "did you mean `read`?"),
        ({"budget": 5}, "`roles.x.budget` is 5", "50k tokens"),
        ({"budget": "much"}, "`roles.x.budget` is 'much'", "50k tokens"),
        ({"budget": "0 tokens"}, "which leaves nothing", "50k tokens"),
        ({"purpose": " "}, "`roles.x.purpose` is ' '", "write a sentence"),
        ({"purpose": "x" * 501}, "`roles.x.purpose` has 501 characters", "at most 500"),
        ({"touchs": []}, "unknown key `roles.x.touchs`", "did you mean `touches`?"),
        ({"agent": "one", "agents": ["two"]}, "`roles.x.agents` is one too many", ""),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(role: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _read(x=role)
    assert said in caught.value.message
    assert hint in (caught.value.hint or "")


# -- scope -------------------------------------------------------------------------------------


def _change(path: str) -> TreeChange:
    return TreeChange(path, ChangeKind.ADDED, None, Entry(EntryType.FILE, 0o644, 0, b""))


@pytest.mark.parametrize(
    ("touches", "also", "allowed"),
    [
        (None, None, {"docs/a.md", "src/a.py", "src/a.md"}),
        (None, ["**/*.md"], {"docs/a.md", "src/a.md"}),
        (["src/**"], ["**/*.md"], {"src/a.md"}),
        (["src/**"], None, {"src/a.py", "src/a.md"}),
        (["src/**"], [], set()),
    ],
)
def test_a_change_has_to_be_allowed_by_the_step_and_by_the_role(
    touches: list[str] | None, also: list[str] | None, allowed: set[str]
) -> None:
    paths = {"docs/a.md", "src/a.py", "src/a.md"}
    scope = Scope(
        None if touches is None else tuple(map(parse_glob, touches)),
        None if also is None else tuple(map(parse_glob, also)),
    )
    beyond = {change.path for change in outside([_change(path) for path in sorted(paths)], scope)}
    assert paths - beyond == allowed
    # A role opens nothing: without declared touches no judge is free.
    assert {path for path in paths if covers(scope, path)} == (allowed if touches else set())


# -- commands ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "git status | head -3",
        "cd src && git log > log.txt; echo done",
        "bash -lc 'git log; head x'",
        "exec git log",
        "command -v rm",
        "show() { git log; }; show",
        "[[ -f x ]] && for each in a b; do echo $each; done",
        'text=$(git log) && echo "$text"',
    ],
)
def test_a_command_line_of_programs_that_may_be_called_is_allowed(line: str) -> None:
    assert command_objection(line, ("git", "head")) is None


@one_fact(
    ("line", "said"),
    [
        ("git log; rm -r src", "`rm`"),
        ("git log && (cd src; rm x)", "`rm`"),
        ("echo $(rm x)", "`rm`"),
        ('echo "$(rm x)"', "`rm`"),
        ("diff <(rm x) y", "`diff`"),
        ("git ls-files | xargs rm", "`xargs`"),
        ("timeout 5 git log", "`timeout`"),
        ("bash -c 'git log; rm x'", "`rm`"),
        ("sh script.sh", "`sh`"),
        ("bash <<END\nrm x\nEND", "`bash`"),
        ("eval 'rm x'", "`rm`"),
        ('eval "$line"', "`eval`"),
        (". ./script", "`.`"),
        ("./git log", "`./git`"),
        ("/tmp/bash -c 'git log'", "`/tmp/bash`"),
        ("show() { rm x; }; show", "`rm`"),
        ("trap 'rm x' EXIT", "`trap`"),
        ("$program x", "by what the shell puts in"),
        ("PATH=.:$PATH git log", "changes `PATH`"),
        ("export PATH=.; git log", "changes `PATH`"),
        ("echo 'not closed", "cannot be read"),
    ],
)
def test_a_command_line_that_calls_anything_else_is_refused(line: str, said: str) -> None:
    objection = command_objection(line, ("git", "head"))
    assert objection is not None
    assert said in objection


def test_a_role_that_may_call_nothing_still_has_the_shell_itself() -> None:
    assert command_objection("cd src && echo x", ()) is None
    assert command_objection("ls", ()) == (
        "`ls` is not among the programs that may be called: none"
    )
