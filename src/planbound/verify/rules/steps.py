"""Faults of steps, their fields and budgets: PB201 to PB299."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from planbound.plan.limits import Budget, format_duration
from planbound.plan.model import Attest, Code, Contract, Judged, Plan, Prose, Step
from planbound.plan.vocabulary import nearest, placeholder_in
from planbound.source import Finding, Severity, Span
from planbound.verify.facts import MINIMUM
from planbound.verify.subject import Subject, rule

# -- what the steps of a plan are taken to use at the least, beside what they may ----------------


_USUAL_TARGET = "coder"


class Short(Struct, frozen=True):
    """A limit that is lower than what one attempt at each step uses."""

    span: Span
    kind: str
    """`tokens`, `dollars` or `seconds`."""
    limit: str
    needed: str
    steps: int | None
    """How many attempts that is; None: one, at a step that has this limit for itself."""
    in_turn: bool
    """Whether these steps wait for each other, and others take their time beside them."""


def below_minimum(subject: Subject) -> Iterator[Short]:
    """Yield the limits that no attempt fits into, by the least that there is."""
    least = subject.facts.estimate

    def need(_: Step) -> Budget:
        return _lower(MINIMUM, least)

    yield from _short(subject, need, declared=False)


def below_estimate(subject: Subject) -> Iterator[Short]:
    """Yield the limits that are too low by what the steps declare, else by the estimate."""
    facts = subject.facts

    def need(step: Step) -> Budget:
        target = step.target.value if step.target else _USUAL_TARGET
        return facts.estimates.get(target, facts.estimate)

    refused = {(short.span, short.kind) for short in below_minimum(subject)}
    for short in _short(subject, need, declared=True):
        if (short.span, short.kind) not in refused:
            yield short


def _short(subject: Subject, need: Callable[[Step], Budget], *, declared: bool) -> Iterator[Short]:
    plan = subject.plan
    # Of a step that a person attests nobody knows whether an agent works on it at all.
    needs = [Budget() if isinstance(step.contract, Attest) else need(step) for step in plan.steps]
    for kind in Budget._fields:
        each = [_amount(one, kind) for one in needs]
        for place, step in enumerate(plan.steps):
            own = _amount(step.budget.value, kind) if step.budget else None
            if step.budget is None or own is None:
                continue
            if (wanted := each[place]) is not None and own < wanted:
                words = (format_amount(own, kind), format_amount(wanted, kind))
                yield Short(step.budget.span, kind, *words, None, in_turn=False)
            each[place] = own if declared else each[place]
        limit = _amount(plan.budget.value, kind) if plan.budget else None
        if plan.budget is None or limit is None:
            continue
        steps, total = _together(subject, kind, [amount or Decimal(0) for amount in each])
        if limit < total:
            words = (format_amount(limit, kind), format_amount(total, kind))
            yield Short(plan.budget.span, kind, *words, steps, in_turn=kind == "seconds")


def _together(subject: Subject, kind: str, each: Sequence[Decimal]) -> tuple[int, Decimal]:
    """Return how many steps count, and their sum; of time the longest chain of steps."""
    if kind != "seconds":
        return sum(1 for amount in each if amount), sum(each, Decimal(0))
    if subject.graph.cycles or not each:
        return 0, Decimal(0)
    last = max(longest(subject.graph.edges, [(amount, bool(amount)) for amount in each]))
    return last[1], last[0]


def longest(
    edges: Sequence[Sequence[int]], own: Sequence[tuple[Decimal, int]]
) -> list[tuple[Decimal, int]]:
    """Return for each step the longest chain of steps that ends with it: its time, its length."""
    ends = list(own)
    waiting = [len(before) for before in edges]
    following: list[list[int]] = [[] for _ in edges]
    for step, before in enumerate(edges):
        for other in before:
            following[other].append(step)
    ready = [step for step, count in enumerate(waiting) if count == 0]
    while ready:
        step = ready.pop()
        for other in following[step]:
            chain = (ends[step][0] + own[other][0], ends[step][1] + own[other][1])
            ends[other] = max(ends[other], chain)
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return ends


def format_amount(amount: Decimal, kind: str) -> str:
    """Return an amount of one limit, with every digit that counts."""
    if kind == "tokens":
        return f"{amount:,} token{'' if amount == 1 else 's'}"
    if kind == "seconds":
        return format_duration(amount)
    return f"${amount:.2f}" if amount == round(amount, 2) else f"${amount.normalize():f}"


def _lower(one: Budget, other: Budget) -> Budget:
    """Return the lower of two amounts of each limit."""
    tokens, dollars, seconds = (
        min((part for part in pair if part is not None), default=None)
        for pair in zip(one, other, strict=True)
    )
    return Budget(
        tokens=None if tokens is None else int(tokens),
        dollars=None if dollars is None else Decimal(dollars),
        seconds=None if seconds is None else Decimal(seconds),
    )


def _amount(budget: Budget, kind: str) -> Decimal | None:
    found: int | Decimal | None = getattr(budget, kind)
    return None if found is None else Decimal(found)


# -- faults of steps, their fields and budgets: PB201 to PB299 -----------------------------------


_HINT = (
    "put a command into a `shell` fence below `**contract:**`, or write "
    '`**contract:** attest "what a person confirms"`'
)


@rule("PB201", Severity.ERROR)
def no_contract(subject: Subject) -> Iterable[Finding]:
    """A step has no contract.

    ## What it does
    Reports a step without a command that the harness runs and without a statement that a person
    attests. Where `[gate] approval = true` and `require` is `"claimed"`, agents in the loop may claim
    such a step with evidence, so that it is not reported.

    ## Why it matters
    A step is done when the harness has seen its contract pass. One without a contract can never be
    proved, only claimed.

    ## Example
    ```markdown
    ### 1. Find where rounding happens

    **task:** List every place that rounds an amount in `docs/rounding.md`.
    ```

    ## Instead
    ````markdown
    ### 1. Find where rounding happens

    **task:** List every place that rounds an amount in `docs/rounding.md`.
    **contract:**
    ```shell
    grep -q '^- src/' docs/rounding.md
    ```
    exit_code == 0
    ````
    """
    if subject.facts.claims:
        return
    for step in subject.plan.steps:
        if step.contract is None and not subject.is_misspelt(step, "contract"):
            labels = [field.label for field in step.fields if field.name == "contract"]
            message = "the step has no contract: nobody can say when it is done"
            if labels:
                message = "the contract holds no command and no statement"
            yield Finding(labels[0] if labels else step.heading, message, _HINT)


@rule("PB202", Severity.ERROR)
def no_task(subject: Subject) -> Iterable[Finding]:
    """A step has no task.

    ## What it does
    Reports a step that does not say what the agent shall do. A step that a person attests needs no
    task.

    ## Why it matters
    The task is all that the agent gets besides its subscriptions. With the title alone it has to
    guess.

    ## Example
    ```markdown
    ### 1. Find where rounding happens

    **target:** coder
    ```

    ## Instead
    ```markdown
    ### 1. Find where rounding happens

    **target:** coder
    **task:** List every place that rounds an amount, with file and line, in `docs/rounding.md`.
    ```
    """
    for step in subject.plan.steps:
        if step.task is not None or isinstance(step.contract, Attest):
            continue
        labels = [field.label for field in step.fields if field.name == "task"]
        message = "the task is empty" if labels else "the step has no task"
        hint = "write below `**task:**` what the agent shall do"
        yield Finding(labels[0] if labels else step.heading, message, hint)


@rule("PB203", Severity.WARNING, strict=Severity.ERROR)
def vague_task(subject: Subject) -> Iterable[Finding]:
    """A task says nothing that could be checked.

    ## What it does
    Reports a short task that consists of a phrase such as "improve performance" or "clean up the
    code" and names nothing concrete: no file, no code, no number, no quoted text, no behaviour.

    ## Why it matters
    The agent will do something, and whatever it does fulfils the task. No contract can be derived
    from it, and no reviewer can say that it is wrong.

    ## Example
    ```markdown
    **task:** Improve performance.
    ```

    ## Instead
    ```markdown
    **task:** Improve performance of `parse()` so that 1,000 steps take under 1 s.
    ```
    """
    source = subject.plan.source
    for step in subject.plan.steps:
        phrase = _phrase(step.task) if step.task else None
        if step.task is None or phrase is None:
            continue
        line = source.line_span(source.position(step.task.span.start)[0] - 1)
        place = Span(step.task.span.start, min(step.task.span.end, line.end))
        message = f"the task is vague: `{phrase}` says nothing that can be checked"
        hint = "name the files, functions, numbers or the behaviour that shall be different"
        yield Finding(place, message, hint)


def _phrase(task: Prose) -> str | None:
    # Most tasks name something in backticks, and are not looked at any further.
    if "`" in task.text or any(isinstance(part, Code) for part in task.parts):
        return None
    from planbound.verify.vague import vague_phrase  # noqa: PLC0415 - large patterns

    return vague_phrase(task.text)


@rule("PB204", Severity.ERROR)
def unknown_target(subject: Subject) -> Iterable[Finding]:
    """A step has a target that is not a known role.

    ## What it does
    Reports a target that is not one of the roles of the workspace, and suggests the nearest.

    ## Why it matters
    The run would stop at this step, after all the work before it.

    ## Example
    ```markdown
    **target:** codr
    ```

    ## Instead
    ```markdown
    **target:** coder
    ```
    """
    roles = subject.facts.roles
    hints: dict[str, str] = {}
    for step in subject.plan.steps:
        if step.target is None or step.target.value in roles:
            continue
        name = step.target.value
        if name not in hints:
            near = nearest(name, roles)
            known = ", ".join(f"`{role}`" for role in sorted(roles))
            hints[name] = f"did you mean `{near}`?" if near else f"the roles are {known}"
        yield Finding(step.target.span, f"unknown target `{name}`", hints[name])


@rule("PB205", Severity.WARNING)
def no_target(subject: Subject) -> Iterable[Finding]:
    """A step does not say who does it.

    ## What it does
    Reports a step without a target. A step that a person attests needs none.

    ## Why it matters
    The step goes to `coder`, whatever it asks for. A review by the role that wrote the code is not
    what most plans mean.

    ## Example
    ```markdown
    ### 3. Review the change

    **task:** Look for amounts that are still rounded twice.
    ```

    ## Instead
    ```markdown
    ### 3. Review the change

    **target:** reviewer
    **task:** Look for amounts that are still rounded twice.
    ```
    """
    for step in subject.plan.steps:
        if step.target is not None or isinstance(step.contract, Attest):
            continue
        if any(field.name == "target" for field in step.fields):
            continue  # empty-field reports it
        if subject.is_misspelt(step, "target"):
            continue  # unknown-field reports it
        hint = "write `**target:** coder`, or another role"
        yield Finding(step.heading, "the step has no target, so `coder` does it", hint)


FEWEST = 3
MOST = 7


@rule("PB206", Severity.WARNING, strict=Severity.ERROR)
def step_count(subject: Subject) -> Iterable[Finding]:
    """The plan has too few or too many steps.

    ## What it does
    Reports a plan with fewer than 3 or more than 7 steps. A template counts as one step, and a plan
    that has one is never too short.

    ## Why it matters
    One or two steps need no plan. With more than seven, nobody who approves them has read each, and
    the later ones are guesses about what the first will find.

    ## Example
    A plan with twelve steps.

    ## Instead
    Two plans of six steps, the second with `depends_on: [the-first]`.
    """
    steps = subject.plan.steps
    count = len(steps)
    expected = f"expected {FEWEST} to {MOST}"
    if count > MOST:
        hint = "divide it into plans that wait for each other with `depends_on`"
        yield Finding(steps[MOST].heading, f"the plan has {count} steps; {expected}", hint)
    elif 0 < count < FEWEST and not any(step.is_template for step in steps):
        noun = "step" if count == 1 else "steps"
        hint = "divide the work into steps that can be proved one by one"
        yield Finding(steps[0].heading, f"the plan has {count} {noun}; {expected}", hint)


@rule("PB207", Severity.ERROR)
def malformed_limit(subject: Subject) -> Iterable[Finding]:
    """A time limit or a budget cannot be read.

    ## What it does
    Reports a `timeout`, `contract_timeout` or `budget` that is not an amount with a unit.

    ## Why it matters
    A limit that cannot be read limits nothing.

    ## Example
    ```markdown
    **timeout:** 10
    **budget:** a few dollars
    ```

    ## Instead
    ```markdown
    **timeout:** 10m
    **budget:** $3
    ```
    """
    return subject.faults.get("malformed-limit", ())


_NOTHING = Budget()


@rule("PB208", Severity.ERROR)
def budget_too_small(subject: Subject) -> Iterable[Finding]:
    """The steps may spend more than the plan.

    ## What it does
    Compares the budgets of the steps with the plan's: the tokens and the dollars of all steps
    together, and the time of the longest chain of steps that wait for each other.

    ## Why it matters
    The plan's budget would run out before the last step although every step kept to its own. One of
    the two numbers is wrong.

    ## Example
    ```markdown
    **Budget:** $1

    ### 1. Find where rounding happens

    **budget:** $0.80

    ### 2. Round once

    **budget:** $0.80
    ```

    ## Instead
    ```markdown
    **Budget:** $2
    ```
    """
    budget = subject.plan.budget
    if budget is None:
        return
    hint = "raise the plan's budget, or lower the budgets of the steps"
    for message in _excesses(subject, budget.value):
        yield Finding(budget.span, message, hint)


def _excesses(subject: Subject, limit: Budget) -> Iterator[str]:
    plan = subject.plan
    budgets = [step.budget.value if step.budget else _NOTHING for step in plan.steps]
    tokens = sum(budget.tokens or 0 for budget in budgets)
    if limit.tokens is not None and tokens > limit.tokens:
        yield f"the steps may spend {tokens:,} tokens, the plan {limit.tokens:,}"
    dollars = sum((budget.dollars or Decimal(0) for budget in budgets), Decimal(0))
    if limit.dollars is not None and dollars > limit.dollars:
        asked, most = (format_amount(each, "dollars") for each in (dollars, limit.dollars))
        yield f"the steps may spend {asked}, the plan {most}"
    if limit.seconds is not None and not subject.graph.cycles:
        own = [(budget.seconds or Decimal(0), 1) for budget in budgets]
        ends = [end for end, _ in longest(subject.graph.edges, own)]
        last = max(range(len(ends)), key=ends.__getitem__, default=None)
        if last is not None and ends[last] > limit.seconds:
            step = plan.steps[last]
            yield (
                f"the steps up to `{step.label or step.title}` may take "
                f"{format_duration(ends[last])} one after the other, the plan "
                f"{format_duration(limit.seconds)}"
            )


@rule("PB209", Severity.ERROR)
def malformed_value(subject: Subject) -> Iterable[Finding]:
    """The value of a field cannot be read.

    ## What it does
    Reports a value that its field does not know, such as an `on_fail` or a `baseline` in free words.

    ## Why it matters
    The harness would act on its default instead of on what was written.

    ## Example
    ```markdown
    **on_fail:** try again a bit later
    ```

    ## Instead
    ```markdown
    **on_fail:** retry(2), then escalate
    ```
    """
    return subject.faults.get("malformed-value", ())


@rule("PB210", Severity.ERROR)
def empty_field(subject: Subject) -> Iterable[Finding]:
    """A field has no value.

    ## What it does
    Reports a label of a step or a condition with nothing after it.

    ## Why it matters
    The field was begun and not finished, and nobody can tell whether the default was meant.

    ## Example
    ```markdown
    **touches:**
    **task:** Round once, at the end.
    ```

    ## Instead
    ```markdown
    **touches:** src/billing/**
    **task:** Round once, at the end.
    ```
    """
    return subject.faults.get("empty-field", ())


@rule("PB211", Severity.WARNING)
def unchecked_precondition(subject: Subject) -> Iterable[Finding]:
    """A precondition has no contract.

    ## What it does
    Reports a precondition without a command that the harness runs and without a statement that a
    person attests.

    ## Why it matters
    A precondition must hold before the first step. If nobody checks it, the run may start without it
    and fail somewhere in the middle.

    ## Example
    ```markdown
    ## Preconditions

    1. The test database is up
    ```

    ## Instead
    ````markdown
    ## Preconditions

    1. The test database is up
       ```shell
       pg_isready -h localhost
       ```
    ````
    """
    for condition in subject.plan.preconditions:
        if condition.contract is None:
            message = f"the precondition {condition.number} has no contract: nobody checks it"
            hint = "put a fence with a command below it, indented like its text"
            yield Finding(condition.heading, message, hint)


@rule("PB212", Severity.ERROR)
def placeholder(subject: Subject) -> Iterable[Finding]:
    """Something is still to be filled in.

    ## What it does
    Reports an objective, a context, a title, a task, a contract, a condition or a pattern that begins
    with `TODO`, `TBD`, `FIXME` or `XXX`, as `planbound new` writes them.

    ## Why it matters
    A placeholder is not work that anybody could do or check. It is easily left behind in a plan that
    looks finished.

    ## Example
    ```markdown
    **task:**
    TODO: say what to do.
    ```

    ## Instead
    ```markdown
    **task:**
    Write the sums of all invoices to `out/sums.csv`, one line each.
    ```
    """
    for what, text, span in _values(subject.plan):
        word = placeholder_in(text)
        if word:
            place = Span(span.start, min(span.end, span.start + len(word)))
            yield Finding(place, f"the {what} is still to be filled in", "say what is meant")


def _values(plan: Plan) -> Iterator[tuple[str, str, Span]]:
    if plan.objective:
        yield "objective", plan.objective.value, plan.objective.span
    if plan.context:
        yield "context", plan.context.text, plan.context.span
    for step in plan.steps:
        start = max(step.heading.start, step.heading.end - len(step.title))
        yield "title", step.title, Span(start, step.heading.end)
        if step.task:
            yield "task", step.task.text, step.task.span
        yield from _contract(step.contract)
        for pattern in step.touches or ():
            yield "pattern", pattern.value, pattern.span
    for condition in (*plan.preconditions, *plan.postconditions):
        yield "condition", condition.statement, condition.heading
        yield from _contract(condition.contract)


def _contract(contract: Contract | None) -> Iterator[tuple[str, str, Span]]:
    if isinstance(contract, Judged):
        yield "contract", contract.text, contract.locate(0, len(contract.text))
    elif isinstance(contract, Attest):
        yield "statement", contract.statement, contract.span


@rule("PB213", Severity.ERROR)
def budget_without_room(subject: Subject) -> Iterable[Finding]:
    """A budget has no room for a single attempt at each step.

    ## What it does
    Compares the plan's budget with the least that one attempt at each step can use: 50 tokens,
    $0.00001 and half a second, and of the time only that of the longest chain of steps that wait for
    each other. The budget of a step is compared with one attempt. Tokens, dollars and time are looked
    at each by itself. Steps that a person attests do not count. Where `[budget] estimate` in the
    configuration is lower still, that counts.

    ## Why it matters
    No agent can even read its task for less, so the run would stop at its first steps. Such a number is
    usually a slip: `10 tokens` for `10k tokens`.

    ## Example
    ```markdown
    **Budget:** max 10 tokens, $0.00001, 1 second

    ## Steps

    ### 1. Find where rounding happens

    ### 2. Round once

    ### 3. Say so in the changelog
    ```

    ## Instead
    ```markdown
    **Budget:** max 100k tokens, $1, 20 minutes
    ```
    """
    hint = "raise it, or leave it out: what a plan does not limit has a safe default"
    for short in below_minimum(subject):
        yield Finding(short.span, _message(short), hint)


def _message(short: Short) -> str:
    if short.steps is None:
        return f"{short.limit} is too little: any attempt uses {short.needed} at the least"
    if short.steps == 1:
        return f"{short.limit} is too little: one attempt uses {short.needed} at the least"
    turn = " one after the other" if short.in_turn else ""
    uses = f"{short.steps} attempts{turn} use {short.needed}"
    return f"{short.limit} is too little: {uses} at the least"


@rule("PB214", Severity.WARNING)
def budget_below_estimate(subject: Subject) -> Iterable[Finding]:
    """A budget is lower than what the steps are likely to use.

    ## What it does
    Adds up what one attempt at each step is likely to use, and compares it with the plan's budget: the
    step's own budget, else the estimate of the configuration (`[budget] estimate`, by default 5,000
    tokens, $0.02 and 30 seconds). Of the time the longest chain of steps that wait for each other
    counts. A step's own budget is compared with the estimate. Tokens, dollars and time are looked at
    each by itself.

    Steps that a person attests do not count, nor do steps whose agent is a `command`, unless the
    configuration has an estimate of its own, because nobody knows what a command uses.

    ## Why it matters
    The run would ask a person for more before it ends, because an attempt begins only if what is left
    covers it. The sum does not contain retries.

    ## Example
    ```markdown
    **Budget:** 10k tokens

    ## Steps

    ### 1. Find where rounding happens

    ### 2. Round once

    ### 3. Say so in the changelog
    ```

    ## Instead
    ```markdown
    **Budget:** 100k tokens
    ```
    """
    hint = "raise it, or say in `[budget] estimate` of the configuration what an attempt uses"
    for short in below_estimate(subject):
        yield Finding(short.span, _below_estimate(short), hint)


def _below_estimate(short: Short) -> str:
    if short.steps is None:
        return f"one attempt is likely to use {short.needed}, the step has {short.limit}"
    attempts = f"{short.steps} attempts" if short.steps != 1 else "one attempt"
    is_ = "are" if short.steps != 1 else "is"
    turn = " one after the other" if short.in_turn and short.steps != 1 else ""
    return f"{attempts}{turn} {is_} likely to use {short.needed}, the plan has {short.limit}"


RULES = (
    no_contract,
    no_task,
    vague_task,
    unknown_target,
    no_target,
    step_count,
    malformed_limit,
    budget_too_small,
    malformed_value,
    empty_field,
    unchecked_precondition,
    placeholder,
    budget_without_room,
    budget_below_estimate,
)
