"""Policies: plans that the configuration approves beforehand, by what they may touch, use and run.

A policy is asked for by name, and every condition that it gives must hold for every step. Whatever
it says, a plan that may change what the policy itself stands in is never approved by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from planbound.plan.expand import MAX_STEPS
from planbound.plan.glob import Glob, GlobError, parse_glob, within
from planbound.plan.limits import Budget, format_budget
from planbound.plan.model import Attest, CaseTable, Command, Contract, Plan, Step
from planbound.plan.vocabulary import nearest
from planbound.script import Call, read_script
from planbound.script.runners import BY_NAME, runner_of
from planbound.workspace.configuration_table import Table

COMMAND = "command"
"""The kind of every contract that is run; the names of runners are narrower."""
CHECK = "check"
ATTEST = "attest"
KINDS = (*(runner.programs[0] for runner in BY_NAME.values()), CHECK, COMMAND, ATTEST)
"""What `contracts` may hold."""

_KEYS = ("touches", "targets", "max_tokens", "max_dollars", "max_time", "contracts", "steps")
# Nobody means to allow all of these and to forbid something.
_ANYWHERE = (
    *("README.md", ".env", "a", "Z9/_", "src/main.py", ".github/workflows/ci.yml"),
    *("tests/unit/test_a.py", "x/y/z/w/v", "docs/Über/ß.txt", "-/+/~"),
)
_CONFIGURATION = "planbound.toml"


class Policy(Struct, frozen=True):
    """The plans that are approved beforehand; what is None does not restrict."""

    name: str
    touches: tuple[Glob, ...] | None = None
    targets: frozenset[str] | None = None
    budget: Budget = Budget()
    """The most that a plan may ask for."""
    contracts: frozenset[str] | None = None
    steps: int | None = None


def read_policies(tables: Table, roles: frozenset[str]) -> tuple[Policy, ...]:
    """Return the policies in `[gate.policies]`; raise ConfigurationError with the key."""
    policies = tuple(_read(tables.table(name), name, roles) for name in tables)
    for policy in policies:
        if _excludes_nothing(policy, roles):
            tables.refuse(
                policy.name,
                "would approve every plan",
                'say which plans are harmless, such as `touches = ["docs/**"]`',
            )
    return policies


def _read(table: Table, name: str, roles: frozenset[str]) -> Policy:
    table.allow(*_KEYS)
    return Policy(
        name=name,
        touches=_globs(table),
        targets=_chosen(table, "targets", roles, "role"),
        budget=Budget(
            tokens=table.count("max_tokens", 1) if "max_tokens" in table else None,
            dollars=_dollars(table),
            seconds=Decimal(str(table.seconds("max_time", 1.0))) if "max_time" in table else None,
        ),
        contracts=_chosen(table, "contracts", KINDS, "kind of contract"),
        steps=table.count("steps", 7) if "steps" in table else None,
    )


def _globs(table: Table) -> tuple[Glob, ...] | None:
    texts = _given(table, "touches", "a list of patterns")
    if texts is None:
        return None
    globs = []
    for text in texts:
        try:
            globs.append(parse_glob(text))
        except GlobError as error:
            table.refuse("touches", f"holds `{text}`: {error.reason}", error.hint or "mend it")
    return tuple(globs)


def _chosen(table: Table, key: str, known: Iterable[str], what: str) -> frozenset[str] | None:
    texts = _given(table, key, f"a list, each a {what}")
    if texts is None:
        return None
    names = sorted(known)
    for text in texts:
        if text not in names:
            near = nearest(text, names)
            hint = f"did you mean `{near}`?" if near else f"known are {', '.join(names)}"
            table.refuse(key, f"holds `{text}`, which is no {what},", hint)
    return frozenset(texts)


def _given(table: Table, key: str, what: str) -> tuple[str, ...] | None:
    if key not in table:
        return None
    texts = table.texts(key, what)
    if not texts:
        table.refuse(key, "is empty", "leave it out, or say what is allowed")
    return texts


def _dollars(table: Table) -> Decimal | None:
    value = table.get("max_dollars")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**9:
        table.refuse("max_dollars", f"is {value!r}", "write an amount, such as `max_dollars = 2.5`")
    return Decimal(str(value))


def _excludes_nothing(policy: Policy, roles: frozenset[str]) -> bool:
    """Say whether no condition keeps any plan out that verification lets through."""
    touches, contracts = policy.touches, policy.contracts
    return (
        (touches is None or all(any(one.matches(path) for one in touches) for path in _ANYWHERE))
        and (policy.targets is None or policy.targets >= roles)
        and policy.budget == Budget()
        and (contracts is None or COMMAND in contracts)
        and (policy.steps is None or policy.steps >= MAX_STEPS)
    )


def objections(policy: Policy, plan: Plan, configuration: str | None = None) -> list[str]:
    """Return every reason why a policy does not approve a plan; none: it does.

    `configuration` is the file that the policy stands in, as the configuration calls it.
    """
    reasons = []
    if policy.steps is not None and len(plan.steps) > policy.steps:
        reasons.append(f"the plan has {len(plan.steps)} steps, more than {policy.steps}")
    reasons += _budget_objections(policy.budget, plan.budget.value if plan.budget else Budget())
    guarded = _guarded(configuration)
    for step in plan.steps:
        named = f"step {step.label or step.title}"
        reasons += (f"{named} {reason}" for reason in _step_objections(policy, plan, step, guarded))
    for kind, conditions in (("pre", plan.preconditions), ("post", plan.postconditions)):
        for condition in conditions:
            if condition.contract is not None:
                said = _contract_objection(policy, condition.contract)
                reasons += (f"{kind}condition {condition.number} {reason}" for reason in said)
    return reasons


def _budget_objections(most: Budget, asked: Budget) -> Iterator[str]:
    limits: tuple[tuple[str, Decimal | int | None, Decimal | int | None], ...] = (
        ("tokens", most.tokens, asked.tokens),
        ("dollars", most.dollars, asked.dollars),
        ("time", most.seconds, asked.seconds),
    )
    for what, limit, own in limits:
        if limit is not None and own is None:
            yield f"the plan's budget sets no {what}; the policy allows {format_budget(most)}"
        elif limit is not None and own is not None and own > limit:
            yield f"the plan's budget asks for more {what} than {format_budget(most)}"


def _step_objections(
    policy: Policy, plan: Plan, step: Step, guarded: Mapping[str, Glob]
) -> Iterator[str]:
    touches = plan.touches_of(step)
    if step.touches is None and not touches:
        yield "declares no `touches`, so it may change anything"
    for text in (item.value for item in touches):
        try:
            glob = parse_glob(text)
        except GlobError:
            yield f"may touch `{text}`, which is no pattern"
            continue
        if policy.touches is not None and not within(glob, policy.touches):
            allowed = ", ".join(f"`{one.text}`" for one in policy.touches)
            yield f"may touch `{text}`, which is not within {allowed}"
        yield from (
            f"may touch `{text}`, and so `{name}`: no policy approves that"
            for name, own in guarded.items()
            if glob.intersects(own)
        )
    if policy.targets is not None:
        target = step.target.value if step.target else None
        if target is None:
            yield "has no `target`"
        elif target not in policy.targets:
            yield f"is for `{target}`, and not for {', '.join(sorted(policy.targets))}"
    yield from _contract_objection(policy, step.contract)


def _guarded(configuration: str | None) -> dict[str, Glob]:
    """Return what a plan could make its own policy with."""
    own = configuration.partition(" ")[0] if configuration else _CONFIGURATION
    return {name: parse_glob(name) for name in dict.fromkeys((_CONFIGURATION, own, ".harness/**"))}


def _contract_objection(policy: Policy, contract: Contract | None) -> Iterator[str]:
    if policy.contracts is None:
        return
    if contract is None:
        yield "has no contract"
        return
    kinds = contract_kinds(contract)
    if not kinds & policy.contracts:
        allowed = ", ".join(sorted(policy.contracts))
        yield f"has a contract of the kind {_narrowest(kinds)}, and not {allowed}"


def _narrowest(kinds: frozenset[str]) -> str:
    return next((kind for kind in KINDS if kind in kinds), COMMAND)


def contract_kinds(contract: Contract) -> frozenset[str]:
    """Return the kinds that a contract is of: `command`, and a runner where it is only that.

    A runner's kind is for what runs this runner and nothing else, by its plain name: with a
    variable, a redirection or a second program it can be made to do anything.
    """
    match contract:
        case Attest():
            return frozenset({ATTEST})
        case CaseTable():
            return frozenset({CHECK, COMMAND})
        case Command():
            script = read_script(contract.text)
            runs = {_runner(call) for call in script.calls if not _enters_folder(call)}
            if script.broken or script.functions or script.heredocs or len(runs) != 1:
                return frozenset({COMMAND})
            return frozenset({COMMAND, *(name for name in runs if name is not None)})


def _runner(call: Call) -> str | None:
    plain = not (
        call.assignments or call.redirects or call.negated or call.background or call.optional
    )
    named = [call.name or "/", *(word.value or "/" for word in call.wrappers)]
    if not plain or call.body is not None or any("/" in name for name in named):
        return None
    runner = runner_of(call)
    return runner.programs[0] if runner is not None and runner.name else None


def _enters_folder(call: Call) -> bool:
    return call.program == "cd" and not call.redirects and not call.assignments
