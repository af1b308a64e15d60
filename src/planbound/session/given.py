"""Checks that need no shell to be written: each becomes a contract, or a probe of the harness."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import UsageError
from planbound.journal.fields import ProbeCall
from planbound.plan.model import Command, Condition, Plan, Rejected, Step
from planbound.plan.parse import parse, slugify
from planbound.plan.skeleton import softened
from planbound.plan.vocabulary import nearest
from planbound.source import Located, fenced, lazy_pattern, visible

# -- checks that need no shell to be written: each becomes a contract, or a probe of the harness -


_JSON_PATH = (
    "import json,sys\n"
    "value=json.load(open(sys.argv[1]))\n"
    "for part in sys.argv[2].strip('$.').replace('[','.').replace(']','').split('.'):\n"
    "    if part: value=value[int(part)] if isinstance(value,list) else value[part]\n"
    "print(json.dumps(value))\n"
    "sys.exit(value!=json.loads(sys.argv[3]))"
)


class Compiled(NamedTuple):
    """What a check comes to."""

    command: str | None = None
    """A contract for bash; None: the harness itself looks, see `probe`."""
    expect: tuple[str, ...] = ()
    probe: ProbeCall | None = None


def compile_check(check: object) -> Compiled:
    """Return what a check such as `{"file_exists": {"path": "a.txt"}}` comes to."""
    if not isinstance(check, Mapping) or len(check) != 1:
        raise UsageError(
            "a check is an object with one name",
            hint='such as {"file_exists": {"path": "a.txt", "contains": "x"}}',
        )
    ((name, given),) = check.items()
    arguments = given if isinstance(given, Mapping) else {_FIRST.get(str(name), "value"): given}
    maker = _MAKERS.get(str(name))
    if maker is not None:
        return maker(_Arguments(str(name), arguments))
    try:
        # As it will be in the journal: a copy, and nothing that is no JSON.
        known = json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the arguments of `{name}` are no JSON: {error}") from error
    return Compiled(probe=ProbeCall(str(name), known))


def unknown_probe(name: str, known: tuple[str, ...]) -> str:
    """Return what is said of a probe that nobody here has."""
    all_known = tuple(dict.fromkeys((*_MAKERS, *known)))
    near = nearest(name, all_known)
    cure = f"did you mean `{near}`?" if near else f"known are {', '.join(all_known)}"
    return f"there is no verifier `{name}` here; {cure}"


class _Arguments:
    """The arguments of one check, read one by one; each refusal names the check."""

    def __init__(self, name: str, given: Mapping[object, object]) -> None:
        self.name = name
        self.left = {str(key): value for key, value in given.items()}

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self.left.pop(key, default)
        if not isinstance(value, str) or not (value.strip() or default == ""):
            raise UsageError(f"`{self.name}` needs `{key}`, a text")
        if "\0" in value:
            raise UsageError(f"`{key}` of `{self.name}` holds a NUL character")
        return value

    def path(self, key: str) -> str:
        value = self.text(key)
        if value.startswith("/") or ".." in value.split("/"):
            raise UsageError(f"`{self.name}` looks into the workspace only, not at `{value}`")
        return value

    def paths(self, key: str) -> list[str]:
        value = self.left.pop(key, None)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found:
            raise UsageError(f"`{self.name}` needs `{key}`, a list of paths")
        one = _Arguments(self.name, {})
        for item in found:
            one.left["path"] = item
            one.path("path")
        return [str(item) for item in found]

    def done(self) -> None:
        for key in self.left:
            raise UsageError(f"`{self.name}` knows no `{key}`")


def _file_exists(given: _Arguments) -> Compiled:
    path, contains = given.path("path"), given.text("contains", default="")
    given.done()
    command = f"test -f {quoted(path)}"
    if contains:
        command += f" && grep -qF -- {quoted(contains)} {quoted(path)}"
    return Compiled(command)


def _command(given: _Arguments) -> Compiled:
    command = given.text("cmd")
    given.done()
    return Compiled(command)


def _json_path(given: _Arguments) -> Compiled:
    file, path = given.path("file"), given.text("path")
    if "equals" not in given.left:
        raise UsageError("`json_path` needs `equals`, the value that has to be there")
    try:
        equals = json.dumps(given.left.pop("equals"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"`equals` of `json_path` is no JSON: {error}") from error
    given.done()
    words = [quoted(word) for word in (_JSON_PATH, file, path, equals)]
    return Compiled(f"python3 -c {' '.join(words)}")


def _git_committed(given: _Arguments) -> Compiled:
    paths = " ".join(quoted(path) for path in given.paths("paths"))
    given.done()
    return Compiled(
        f"git ls-files --error-unmatch -- {paths} >/dev/null"
        # Whatever the index says that git is not to look at.
        f" && test -z \"$(git ls-files -v -- {paths} | grep '^[[:lower:]S]'; "
        f'git status --porcelain -- {paths})"'
    )


def _tests_pass(given: _Arguments) -> Compiled:
    selector = given.text("selector", default="")
    given.done()
    where = f" {quoted(selector)}" if selector else ""
    return Compiled(f"python3 -m pytest -q{where}", ("tests >= 1",))


def _http_ok(given: _Arguments) -> Compiled:
    url = given.text("url")
    given.done()
    return Compiled(probe=ProbeCall("http_ok", {"url": url}))


_MAKERS: Mapping[str, Callable[[_Arguments], Compiled]] = {
    "file_exists": _file_exists,
    "command": _command,
    "json_path": _json_path,
    "git_committed": _git_committed,
    "tests_pass": _tests_pass,
    "http_ok": _http_ok,
}
_FIRST = {
    "file_exists": "path",
    "command": "cmd",
    "git_committed": "paths",
    "tests_pass": "selector",
    "http_ok": "url",
}
"""The argument that is meant where only a value is given."""


def quoted(text: str) -> str:
    """Return a word of bash that is exactly this text."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


# -- what an agent gives for a plan, read strictly: nothing is dropped, and nothing is guessed ---


MOST_ITEMS = 500
LONGEST_NOTE = 4000
_LONGEST = 20_000
_STEP_KEYS = (
    *("title", "task", "contract", "expect", "rejects", "touches", "depends", "check", "target"),
)
_CONTROL = lazy_pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What has no meaning in a plan, and could make it look other than it is."""
_CONDITION_KEYS = ("statement", "contract", "expect", "rejects", "check")


class GivenStep(NamedTuple):
    """One step as an agent gives it."""

    title: str
    task: str = ""
    contract: str | None = None
    expect: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    depends: tuple[str, ...] | None = None
    probe: ProbeCall | None = None
    target: str = "coder"
    rejects: tuple[str, ...] = ()
    """Wrong work that the contract must fail with: diffs, or paths of files with one."""


class GivenCondition(NamedTuple):
    """One precondition or postcondition as an agent gives it."""

    statement: str
    contract: str | None = None
    expect: tuple[str, ...] = ()
    probe: ProbeCall | None = None
    rejects: tuple[str, ...] = ()


class GivenPlan(NamedTuple):
    """A whole plan as an agent gives it."""

    objective: str
    steps: Sequence[GivenStep]
    postconditions: Sequence[GivenCondition] = ()
    preconditions: Sequence[GivenCondition] = ()

    def probes(self) -> Iterator[tuple[str, ProbeCall]]:
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


class GivenAmendment(NamedTuple):
    """What an agent changes of the steps of a plan."""

    add: Sequence[GivenStep]
    edit: Mapping[str, GivenStep]
    """What a step becomes, by its id or number."""
    remove: Sequence[str]


def read_amendment(
    add: object, edit: Mapping[str, object], remove: Sequence[str]
) -> GivenAmendment:
    """Return what is to be changed; raise UsageError that names the step which is wrong."""
    edited = {str(name): _step(value, f"step {name}") for name, value in edit.items()}
    return GivenAmendment(read_steps(add), edited, remove)


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


def read_postcondition(name: object, number: object) -> str:
    """Return the number of a postcondition, which has two names."""
    found = [
        str(each).strip().removeprefix("postcondition ").lstrip("#")
        for each in read_names("postcondition", name, number)
    ]
    if found[0] != found[-1]:
        message, hint = differing("postcondition", found[0], found[-1])
        raise UsageError(message, hint=hint)
    return found[0]


def read_name(name: object) -> str | None:
    """Return the name that a plan is to have; None where none was given."""
    if name is None or (isinstance(name, str) and not name.strip()):
        return None
    if not isinstance(name, str):
        raise UsageError("`name` is no text")
    return name.strip()


def read_step_names(values: object) -> list[str]:
    """Return the names of steps; one alone is a list of one, and no text is a list of letters."""
    found = [values] if isinstance(values, str | int) else values
    if not isinstance(found, Sequence) or not all(isinstance(each, str | int) for each in found):
        raise UsageError("`remove` is a list of ids of steps")
    return [str(each) for each in found]


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
        rejects=_rejects(table, contract, name),
    )


def _condition(value: object, name: str) -> GivenCondition:
    if isinstance(value, str):
        return GivenCondition(_line(value, name))
    table = _table(value, name, _CONDITION_KEYS)
    contract, expect, probe = _contract(table, name)
    statement = _line(table.get("statement"), f"the statement of {name}")
    return GivenCondition(statement, contract, expect, probe, _rejects(table, contract, name))


def _rejects(table: Mapping[str, object], contract: str | None, name: str) -> tuple[str, ...]:
    given = table.get("rejects") or ()
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, Sequence):
        raise UsageError(f"`rejects` of {name} is a list of diffs, or of paths")
    if items and contract is None:
        raise UsageError(f"{name} has no `contract` that could reject something")
    texts = [_text(each, f"`rejects` of {name}").rstrip() for each in items]
    return tuple(text if "\n" in text else text.strip() for text in texts if text.strip())


def _contract(
    table: Mapping[str, object], name: str
) -> tuple[str | None, tuple[str, ...], ProbeCall | None]:
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
    command = _text(contract, f"the contract of {name}").strip()
    if command.startswith(("```", "~~~")):
        raise UsageError(
            f"the contract of {name} stands in a fence of Markdown",
            hint="give the command alone, as a shell runs it",
        )
    return command or None, expect, None


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
    if value is None:
        raise UsageError(f"{what} is missing")
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


_HEAD = """\
---
type: plan
status: draft
owner: agent
---

# {objective}

"""


def write_plan(given: GivenPlan) -> str:
    """Return the text of a plan; raise UsageError where it would say something else."""
    for tasks in (softened, lambda text: fenced(text, "markdown")):
        text = _HEAD.format(objective=given.objective)
        if given.preconditions:
            text += _section("Preconditions", given.preconditions) + "\n"
        text += "## Steps\n\n" + "\n".join(
            _step_text(number, step, tasks(step.task or step.title))
            for number, step in enumerate(given.steps, 1)
        )
        if given.postconditions:
            text += "\n" + _section("Postconditions", given.postconditions)
        plan = parse(text.encode("utf-8", "replace"), path="PLAN.md")
        wrong = next(_differences(plan, given), None)
        if wrong is None:
            return text
    raise UsageError(
        f"the plan cannot be written as it was given: {wrong}", hint="use plainer words in it"
    )


def _step_text(number: int, step: GivenStep, task: str) -> str:
    lines = [f"### {number}. {step.title}", "", f"**target:** {step.target}"]
    if step.depends is not None:
        lines.append(f"**depends:** {', '.join(step.depends) or 'none'}")
    if step.touches:
        lines += ["**touches:**", *(f"- {each}" for each in step.touches)]
    lines += ["", "**task:**", task, ""]
    if step.contract is not None:
        lines += ["**contract:**", fenced(step.contract, "shell"), *step.expect]
    lines += _controls(step.rejects)
    return "\n".join(lines).rstrip() + "\n"


def _controls(rejects: Sequence[str]) -> Iterator[str]:
    for each in rejects:
        if "\n" in each:
            yield from ("", "**rejects:**", *fenced(each, "diff").split("\n"))
        else:
            yield from ("", f"**rejects:** {each}")


def _section(title: str, conditions: Sequence[GivenCondition]) -> str:
    listed = (_condition_text(number, each) for number, each in enumerate(conditions, 1))
    return f"## {title}\n\n" + "\n".join(listed)


def _condition_text(number: int, condition: GivenCondition) -> str:
    indent = " " * (len(str(number)) + 2)
    lines = [f"{number}. {condition.statement}"]
    if condition.contract is not None:
        body = [*fenced(condition.contract, "shell").split("\n"), *condition.expect]
        body += _controls(condition.rejects)
        lines += [f"{indent}{line}".rstrip() for line in body]
    return "\n".join(lines) + "\n"


def _differences(plan: Plan, given: GivenPlan) -> Iterator[str]:
    """Yield what the parser makes of it that was not meant."""
    found = plan.objective.value if plan.objective else ""
    if found != given.objective:
        yield "the objective"
    if len(plan.steps) != len(given.steps):
        yield f"{len(given.steps)} steps would become {len(plan.steps)}"
        return
    for each, step in zip(given.steps, plan.steps, strict=True):
        yield from _step_differences(each, step)
    yield from _condition_differences("precondition", given.preconditions, plan.preconditions)
    yield from _condition_differences("postcondition", given.postconditions, plan.postconditions)
    for fault in plan.faults:
        yield f"{fault.rule} in it"


def _condition_differences(
    kind: str, given: Sequence[GivenCondition], found: Sequence[Condition]
) -> Iterator[str]:
    if len(found) != len(given):
        yield f"{len(given)} {kind}s would become {len(found)}"
        return
    for each, condition in zip(given, found, strict=True):
        held = condition.contract
        command = held.text if isinstance(held, Command) else held
        expected = len(held.expectations) if isinstance(held, Command) else 0
        same = (condition.statement, command, expected, as_given(condition.rejects))
        if same != (each.statement, each.contract, len(each.expect), each.rejects):
            yield f"{kind} {condition.number}"


def as_given(rejects: Sequence[Rejected]) -> tuple[str, ...]:
    """Return what a contract has to reject as an agent gives it."""
    return tuple(each.path or each.text.rstrip() for each in rejects)


def _step_differences(given: GivenStep, step: Step) -> Iterator[str]:
    command: object = step.contract
    expected = 0
    if isinstance(step.contract, Command):
        command, expected = step.contract.text, len(step.contract.expectations)
    if step.title != given.title or step.status is not None:
        yield f"the title of step {step.label}"
    if (command, expected) != (given.contract, len(given.expect)):
        yield f"the contract of step {step.label}"
    if as_given(step.rejects) != given.rejects:
        yield f"`rejects` of step {step.label}"
    if _values(step.touches) != (given.touches or None):
        yield f"`touches` of step {step.label}"
    if _values(step.depends) != given.depends:
        yield f"`depends` of step {step.label}"
    if step.target is None or step.target.value != given.target:
        yield f"`target` of step {step.label}"


def _values(items: tuple[Located[str], ...] | None) -> tuple[str, ...] | None:
    return None if items is None else tuple(item.value for item in items)
