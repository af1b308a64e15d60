"""Policies: which plans the configuration approves beforehand, and which it never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.errors import ConfigurationError
from planbound.plan.glob import parse_glob
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.workspace.configuration_file import read_configuration
from planbound.workspace.policy import KINDS, Policy, contract_kinds, objections
from tests.plan.test_glob import DEEP

pytestmark = pytest.mark.requirement("gate.policy")


def read(**conditions: object) -> Policy:
    document = {"gate": {"policies": {"small": conditions}}}
    (policy,) = read_configuration(document, path="planbound.toml").gate.policies
    return policy


def plan(
    contract: str = "pytest -q tests",
    touches: str = "src/a.py",
    target: str = "coder",
    budget: str = "max 10k tokens, $1, 10 minutes",
) -> Plan:
    head = f"# T\n\n**Budget:** {budget}\n\n" if budget else "# T\n\n"
    return parse(
        f"{head}## Steps\n\n### 1. Do it\n\n**target:** {target}\n"
        + (f"**touches:**\n- {touches}\n\n" if touches else "\n")
        + "**task:** Do it.\n\n"
        + (f"**contract:**\n```shell\n{contract}\n```\n" if contract else "")
    )


@pytest.mark.parametrize(
    "conditions",
    [
        {"touches": ["src/**"]},
        {"touches": ["docs/**", "src/*.py"]},
        {"targets": ["coder"]},
        {"max_tokens": 10_000},
        {"max_dollars": 1},
        {"max_dollars": 2.5, "max_time": "10m"},
        {"contracts": ["pytest"]},
        {"contracts": ["command", "attest"], "steps": 1},
        {"steps": 1},
        {"touches": ["src/**"], "targets": ["coder", "tester"], "max_tokens": 20_000, "steps": 3},
    ],
)
def test_a_plan_within_every_condition_is_approved(conditions: dict[str, object]) -> None:
    assert objections(read(**conditions), plan()) == []


@pytest.mark.parametrize(
    ("conditions", "made", "said"),
    [
        ({"touches": ["src/*.md"]}, plan(), "step 1 may touch `src/a.py`, which is not within"),
        ({"touches": ["src/*"]}, plan(touches="src/**"), "not within `src/*`"),
        ({"touches": ["src/**"]}, plan(touches=""), "step 1 declares no `touches`"),
        ({"targets": ["coder"]}, plan(touches=""), "step 1 declares no `touches`"),
        ({"targets": ["tester"]}, plan(), "step 1 is for `coder`, and not for tester"),
        ({"max_tokens": 9_999}, plan(), "asks for more tokens than 9,999 tokens"),
        ({"max_dollars": 0.99}, plan(), "asks for more dollars"),
        ({"max_time": "9m"}, plan(), "asks for more time"),
        ({"max_tokens": 10}, plan(budget=""), "sets no tokens"),
        ({"max_time": "1h"}, plan(budget="10 tokens"), "sets no time"),
        ({"contracts": ["cargo"]}, plan(), "step 1 has a contract of the kind pytest"),
        ({"contracts": ["pytest"]}, plan(contract=""), "step 1 has no contract"),
        ({"contracts": ["pytest"]}, plan("pytest; curl x"), "of the kind command"),
        ({"steps": 1, "targets": ["coder"]}, plan(touches="planbound.toml"), "no policy approves"),
        ({"steps": 1}, plan(touches="**"), "no policy approves"),
        ({"steps": 1}, plan(touches=".harness/topics/x.md"), "no policy approves"),
    ],
)
def test_a_condition_that_does_not_hold_is_named_with_its_step(
    conditions: dict[str, object], made: Plan, said: str
) -> None:
    assert any(said in reason for reason in objections(read(**conditions), made))


def test_every_reason_is_told() -> None:
    policy = read(touches=["docs/**"], targets=["tester"], contracts=["cargo"], max_tokens=1)
    assert len(objections(policy, plan())) == 4


def test_the_file_that_holds_the_policies_is_guarded_wherever_they_stand() -> None:
    policy = read(steps=1)
    made = plan(touches="pyproject.toml")
    assert objections(policy, made, "planbound.toml") == []
    assert objections(policy, made, "pyproject.toml [tool.planbound]")


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"touches": ["**"]},
        {"touches": ["src/**", "./**"]},
        {"touches": ["*", "*/**"]},
        {"touches": ["[!a]*", "[!a]*/**", "a*", "a*/**"]},
        {"contracts": ["command"]},
        {"contracts": list(KINDS)},
        {"steps": 10_000},
        {"targets": ["a", "b"]},
        {"touches": ["**"], "contracts": ["command", "attest"], "targets": ["a", "b"]},
    ],
)
def test_a_policy_that_keeps_no_plan_out_is_an_error(conditions: dict[str, object]) -> None:
    document = {
        "agents": {"a": {}, "b": {}},
        "gate": {"policies": {"all": conditions}},
    }
    with pytest.raises(ConfigurationError, match=r"`gate\.policies\.all` would approve every plan"):
        read_configuration(document, path="planbound.toml")


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"touch": ["src/**"]}, "unknown key `gate.policies.small.touch`"),
        ({"touches": "src/**"}, "is not a list"),
        ({"touches": []}, "is empty"),
        ({"touches": ["/etc"]}, "holds `/etc`"),
        ({"targets": ["nobody"]}, "no role"),
        ({"contracts": ["pytset"]}, "no kind of contract"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_dollars": -1}, "max_dollars"),
        ({"max_dollars": float("inf")}, "max_dollars"),
        ({"max_time": 5}, "max_time"),
        ({"steps": 0}, "steps"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_key(
    conditions: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read(**conditions)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest", "pytest"),
        ("python -m pytest -q tests", "pytest"),
        ("timeout 60 pytest", "pytest"),
        ("cd sub && cargo test", "cargo"),
        ("go test ./...", "go"),
        ("npx jest", "jest"),
        ("pytest && pytest -x", "pytest"),
    ],
)
def test_a_contract_that_runs_one_runner_is_of_its_kind(command: str, kind: str) -> None:
    contract = plan(command).steps[0].contract
    assert contract is not None
    assert contract_kinds(contract) == {kind, "command"}


@pytest.mark.parametrize(
    "command",
    [
        *("pytest; curl x", "pytest && cargo test", "pytest $(curl x)", "./pytest", "cargo build"),
        *("bash -c 'pytest; curl x'", "A=b pytest", "pytest > x", "! pytest", "pytest &"),
        *("pytest() { curl x; }; pytest", "pytest || true", "$RUNNER", ".venv/bin/pytest"),
        *("if true; then curl x; fi; pytest", "pytest <<X\na\nX"),
    ],
)
def test_a_contract_that_can_do_more_is_only_a_command(command: str) -> None:
    contract = plan(command).steps[0].contract
    assert contract is not None
    assert contract_kinds(contract) == {"command"}


@given(DEEP, st.lists(DEEP, min_size=1, max_size=2), st.sampled_from(["src/a.py", "a", "b/c"]))
def test_a_plan_that_is_approved_touches_nothing_else(
    own: str, allowed: list[str], path: str
) -> None:
    try:
        policy = read(touches=allowed)
    except ConfigurationError:
        return
    made = plan(touches=f"`{own}`")
    touched = [item.value for item in made.touches_of(made.steps[0])]
    if touched == [own] and not objections(policy, made):
        assert policy.touches is not None

        if parse_glob(own).matches(path):
            assert any(glob.matches(path) for glob in policy.touches)
