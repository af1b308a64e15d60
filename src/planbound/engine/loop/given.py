"""What an agent gives for a plan, read strictly: nothing is dropped, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.loop.checks import compile_check
from planbound.errors import UsageError
from planbound.plan.parse import slugify
from planbound.plan.suggest import nearest
from planbound.source.pattern import lazy_pattern
from planbound.source.visible import visible

MOST_ITEMS = 500
LONGEST_NOTE = 4000
_LONGEST = 20_000
_STEP_KEYS = ("title", "task", "contract", "expect", "touches", "depends", "check", "target")
_CONTROL = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What has no meaning in a plan, and could make it look other than it is."""
_CONDITION_KEYS = ("statement", "contract", "expect", "check")


class GivenStep(NamedTuple):
    """One step as an agent gives it."""

    title: str
    task: str = ""
    contract: str | None = None
    expect: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    depends: tuple[str, ...] | None = None
    probe: tuple[str, Mapping[str, object]] | None = None
    target: str = "coder"


class GivenCondition(NamedTuple):
    """One precondition or postcondition as an agent gives it."""

    statement: str
    contract: str | None = None
    expect: tuple[str, ...] = ()
    probe: tuple[str, Mapping[str, object]] | None = None


class GivenPlan(NamedTuple):
    """A whole plan as an agent gives it."""

    objective: str
    steps: Sequence[GivenStep]
    postconditions: Sequence[GivenCondition] = ()
    preconditions: Sequence[GivenCondition] = ()

    def probes(self) -> Iterator[tuple[str, tuple[str, Mapping[str, object]]]]:
        """Yield what the harness looks at itself, by the name of the item."""
        kinds: tuple[tuple[str, Sequence[GivenStep | GivenCondition]], ...] = (
            ("precondition", self.preconditions),
            ("step", self.steps),
            ("postcondition", self.postconditions),
        )
        for kind, items in kinds:
            for number, each in enumerate(items, 1):
                if each.probe is not None:
                    yield f"{kind} {number}", each.probe


def read_steps(values: object) -> list[GivenStep]:
    """Return the steps; raise UsageError that names the one which is wrong."""
    return [_step(value, f"step {number}") for number, value in _numbered(values, "steps")]


def refuse_tangled(steps: Sequence[GivenStep]) -> None:
    """Refuse steps that cannot be told apart, or that wait for what does not come before them."""
    names: dict[str, int] = {}
    for number, step in enumerate(steps, 1):
        first = names.setdefault(slugify(step.title), number)
        if first != number:
            raise UsageError(
                f"step {number} “{step.title}” has the same name as step {first}",
                hint="give it a title that tells it apart early",
            )
        for each in step.depends or ():
            if not (each.isascii() and each.isdecimal() and 0 < int(each) < number):
                raise UsageError(
                    f"step {number} depends on `{each}`, which is no step before it",
                    hint="`depends` is a list of numbers of earlier steps",
                )


def read_names(kind: str, name: object, number: object) -> list[str | int]:
    """Return how an item is called: `step` and `step_number` are two names for the same thing."""
    found = [each for each in (name, number) if each is not None and str(each).strip()]
    if not found:
        raise UsageError(f"`{kind}` is missing", hint="say which one, by its number or its id")
    if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in found):
        raise UsageError(f"`{kind}` is neither a number nor an id")
    return [each for each in found if isinstance(each, str | int)]


def differing(kind: str, name: str | int, number: str | int) -> tuple[str, str]:
    """Return what is said where the two names of an item mean different ones, and the cure."""
    what = f"`{kind}` is {name!r}, and `{kind}_number` is {number!r}: these are two {kind}s"
    return what, "give one of them"


def read_note(value: object, what: str) -> str:
    """Return what an agent says beside a call, as text; a long one is cut."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"{what} is no text")
    if "\0" in value:
        raise UsageError(f"{what} holds a NUL character")
    return value.encode("utf-8", "replace").decode().strip()[:LONGEST_NOTE]


def read_conditions(values: object, kind: str = "postcondition") -> list[GivenCondition]:
    """Return the postconditions, or the preconditions."""
    return [
        _condition(value, f"{kind} {number}") for number, value in _numbered(values, f"{kind}s")
    ]


def read_objective(value: object) -> str:
    """Return what is to be reached."""
    return _line(value, "the objective")


def _numbered(values: object, what: str) -> list[tuple[int, object]]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise UsageError(f"`{what}` is a list of texts or objects")
    if len(values) > MOST_ITEMS:
        raise UsageError(f"`{what}` has {len(values)} items, and {MOST_ITEMS} is the most")
    return list(enumerate(values, 1))


def _step(value: object, name: str) -> GivenStep:
    if isinstance(value, str):
        return GivenStep(_line(value, name))
    table = _table(value, name, _STEP_KEYS)
    contract, expect, probe = _contract(table, name)
    depends = table.get("depends")
    return GivenStep(
        title=_line(table.get("title"), f"the title of {name}"),
        task=_text(table.get("task", ""), f"the task of {name}"),
        contract=contract,
        expect=expect,
        touches=_texts(table.get("touches", ()), f"`touches` of {name}"),
        depends=None if depends is None else _texts(depends, f"`depends` of {name}"),
        probe=probe,
        target=_line(table.get("target", "coder"), f"`target` of {name}"),
    )


def _condition(value: object, name: str) -> GivenCondition:
    if isinstance(value, str):
        return GivenCondition(_line(value, name))
    table = _table(value, name, _CONDITION_KEYS)
    contract, expect, probe = _contract(table, name)
    statement = _line(table.get("statement"), f"the statement of {name}")
    return GivenCondition(statement, contract, expect, probe)


def _contract(
    table: Mapping[str, object], name: str
) -> tuple[str | None, tuple[str, ...], tuple[str, Mapping[str, object]] | None]:
    expect = _texts(table.get("expect", ()), f"`expect` of {name}")
    if table.get("check") is not None:
        if table.get("contract") is not None:
            raise UsageError(f"{name} has a `contract` and a `check`", hint="one of them is enough")
        compiled = compile_check(table["check"])
        return compiled.command, (*expect, *compiled.expect), compiled.probe
    contract = table.get("contract")
    if contract is None:
        if expect:
            raise UsageError(f"{name} expects something of no `contract`")
        return None, (), None
    return _text(contract, f"the contract of {name}").strip() or None, expect, None


def _table(value: object, name: str, known: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is neither a text nor an object")
    for key in value:
        if key not in known:
            near = nearest(str(key), known)
            hint = f"did you mean `{near}`?" if near else f"known are {', '.join(known)}"
            raise UsageError(f"{name} has an unknown key `{key}`", hint=hint)
    return value


def _line(value: object, what: str) -> str:
    text = " ".join(_text(value, what).split())
    if not text:
        raise UsageError(f"{what} is blank")
    return text


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{what} is no text")
    if len(value) > _LONGEST:
        raise UsageError(f"{what} is longer than {_LONGEST:,} characters")
    if (found := _CONTROL.search(value)) is not None:
        raise UsageError(f"{what} holds a control character, {visible(found.group())}")
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    found = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
    if not isinstance(found, Sequence) or not all(isinstance(each, str | int) for each in found):
        raise UsageError(f"{what} is no list of texts")
    return tuple(_line(str(each), what) for each in found)
