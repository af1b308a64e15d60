"""Plans of any shape, and what is known of them without reading them."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

ON_FAIL = ("retry(2), then escalate", "retry(1), then abort", "escalate", "abort")
RETRIES = {ON_FAIL[0]: 2, ON_FAIL[1]: 1, ON_FAIL[2]: 0, ON_FAIL[3]: 0}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class StepShape(NamedTuple):
    """One step."""

    name: str
    """Unlike any other step's of the plan; its files are in `src/NAME`."""
    attested: bool = False
    on_fail: str = ON_FAIL[0]
    depends: tuple[str, ...] | None = None
    """The names of other steps; None: the one before it."""
    scoped: bool = True
    """Whether it says what it touches."""
    red: bool = False
    budget: int | None = None
    """Of tokens."""
    wording: int = 0

    @property
    def id(self) -> str:
        """Return how the journal calls it."""
        return f"make-part-{self.name}"


class PlanShape(NamedTuple):
    """A whole plan."""

    steps: tuple[StepShape, ...]
    before: int = 0
    """How many preconditions."""
    after: tuple[bool, ...] = ()
    """For each postcondition whether it is attested."""
    budget: int | None = None
    wording: int = 0

    def depends(self) -> dict[str, frozenset[str]]:
        """Return by id what each step waits for."""
        found: dict[str, frozenset[str]] = {}
        ids = {step.name: step.id for step in self.steps}
        for before, step in zip((None, *self.steps), self.steps, strict=False):
            if step.depends is not None:
                found[step.id] = frozenset(ids[name] for name in step.depends if name in ids)
            else:
                found[step.id] = frozenset([before.id] if before is not None else [])
        return found

    def declared(self, name: str) -> frozenset[str]:
        """Return by id what a step says that it needs; what it only follows is not among it."""
        says = any(step.id == name and step.depends is not None for step in self.steps)
        return self.depends()[name] if says else frozenset()

    def text(self) -> bytes:
        """Return it as a file."""
        numbers = {step.name: number for number, step in enumerate(self.steps, 1)}
        parts = [
            "---\ntype: plan\nstatus: draft\nowner: tester\n---\n\n# Make all parts\n\n",
            f"**Context:** Version {self.wording} of the plan.\n",
        ]
        if self.budget is not None:
            parts.append(f"**Budget:** {self.budget} tokens, 20 hours\n")
        if self.before:
            parts.append("\n## Preconditions\n")
            parts += [_condition("before", number) for number in range(1, self.before + 1)]
        parts.append("\n## Steps\n")
        parts += [_step(step, numbers) for step in self.steps]
        if self.after:
            parts.append("\n## Postconditions\n")
            parts += [
                f'\n{number}. Condition {number} holds\n   attest "condition {number} holds"\n'
                if attested
                else _condition("after", number)
                for number, attested in enumerate(self.after, 1)
            ]
        return "".join(parts).encode()


def _condition(word: str, number: int) -> str:
    command = f"sh tests/check.sh {word} {number}"
    return f"\n{number}. Condition {number} holds\n   ```shell\n   {command}\n   ```\n"


def _step(step: StepShape, numbers: dict[str, int]) -> str:
    lines = [f"\n### {numbers[step.name]}. Make part {step.name}\n", "**target:** coder"]
    if step.depends is not None:
        labels = ", ".join(str(numbers[name]) for name in step.depends if name in numbers)
        lines.append(f"**depends:** {labels or 'none'}")
    if step.scoped:
        lines.append(f"**touches:**\n- src/{step.name}/**")
    if step.red:
        lines.append("**baseline:** red")
    if step.budget is not None:
        lines.append(f"**budget:** {step.budget} tokens")
    lines.append("**subscriptions:**\n- file:notes.md")
    lines.append(f"**on_fail:** {step.on_fail}")
    lines.append(f"\n**task:**\nMake part {step.name}, version {step.wording}.\n")
    if step.attested:
        lines.append(f'**contract:** attest "part {step.name} is made"')
    else:
        lines.append(
            f"**contract:**\n```shell\nsh tests/check-{step.name}.sh step {step.name}\n```"
        )
    return "\n".join(lines) + "\n"


@st.composite
def plan_shapes(draw: st.DrawFn) -> PlanShape:
    """Return any plan of a few steps."""
    steps: list[StepShape] = []
    for name in LETTERS[: draw(st.sampled_from((2, 3, 4, 1)))]:
        others = [step.name for step in steps]
        several = st.lists(st.sampled_from(others), unique=True, max_size=2) if others else None
        depends = draw(st.none() | several) if several is not None else None
        steps.append(
            StepShape(
                name,
                attested=draw(st.integers(0, 7)) == 7,
                on_fail=draw(st.sampled_from(ON_FAIL[:1] * 3 + ON_FAIL[1:])),
                depends=None if depends is None else tuple(sorted(depends)),
                scoped=draw(st.integers(0, 3)) > 0,
                red=draw(st.integers(0, 4)) == 4,
                budget=draw(st.sampled_from((None, None, None, 500))),
            )
        )
    return PlanShape(
        tuple(steps),
        before=draw(st.sampled_from((0, 0, 1))),
        after=tuple(draw(st.lists(st.sampled_from((False, False, True)), max_size=2))),
        budget=draw(st.sampled_from((None, None, 1000))),
    )


def changed(shape: PlanShape, how: int, place: int) -> PlanShape:
    """Return a plan of another meaning."""
    steps = list(shape.steps)
    index = place % len(steps)
    match how % 5:
        case 0:
            steps[index] = steps[index]._replace(wording=steps[index].wording + 1)
        case 1:
            used = {step.name for step in steps}
            name = next(letter for letter in LETTERS[place % 8 :] if letter not in used)
            steps.append(StepShape(name, depends=()))
        case 2 if len(steps) > 1:
            del steps[index]
        case 3:
            steps[index] = steps[index]._replace(attested=not steps[index].attested)
        case _:
            return shape._replace(wording=shape.wording + 1)
    return shape._replace(steps=tuple(steps))
