"""Recipes: how each kind of failure is answered."""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

from msgspec import Struct

from planbound.journal.words import FailureClass
from planbound.plan.limits import LimitError, parse_duration
from planbound.plan.vocabulary import nearest
from planbound.source import lazy_pattern, visible
from planbound.workspace.configuration_table import Table

# -- recipes: how each kind of failure is answered -----------------------------------------------


class Action(enum.Enum):
    """What a recipe does."""

    RETRY = "retry"
    RESTORE = "restore"
    """Before a retry: put back what the attempt must not have changed.

    That is done after every attempt, whatever the recipe says: configurations may name it, and
    nothing follows from it.
    """
    WARN = "warn"
    """With a retry: tell the agent what it did wrong."""
    ESCALATE = "escalate"
    ABORT = "abort"
    ASK = "ask"
    """Stop until a person has configured what is missing."""


class Recipe(Struct, frozen=True):
    """The answer to some classes of failure, or to outputs that hold a pattern."""

    name: str
    classes: frozenset[FailureClass]
    patterns: tuple[str, ...] = ()
    """Regular expressions; a failure with a line that one is found in is this recipe's."""
    actions: tuple[Action, ...] = (Action.RETRY,)
    backoff: tuple[float, ...] = ()
    """Seconds to wait before each retry; the last one also counts for all that follow."""
    max: int | None = None
    """How many retries; None: as many as the step's `on_fail` says."""
    escalate: bool = True
    """Whether a person is asked when the retries are used up; else the plan fails."""
    question: str = ""
    """What a person is asked in words of the project's own, in front of what went wrong."""

    @property
    def retries(self) -> bool:
        """Whether it tries again at all."""
        return Action.RETRY in self.actions


def _recipe(
    kind: FailureClass,
    *actions: Action,
    backoff: tuple[float, ...] = (),
    max: int | None = 0,  # noqa: A002 - the key of the configuration
) -> Recipe:
    return Recipe(kind.value, frozenset((kind,)), (), actions, backoff, max)


DEFAULT_RECIPES: tuple[Recipe, ...] = (
    _recipe(FailureClass.TRANSIENT, Action.RETRY, backoff=(5.0, 30.0, 300.0), max=2),
    _recipe(FailureClass.PERMISSION, Action.ASK),
    _recipe(FailureClass.INVALID_INPUT, Action.ESCALATE),
    _recipe(FailureClass.AGENT, Action.WARN, Action.RETRY, max=2),
    _recipe(FailureClass.LOGIC, Action.RETRY, max=None),
    _recipe(FailureClass.HUNG, Action.WARN, Action.RETRY, max=None),
    _recipe(FailureClass.FLOODED, Action.WARN, Action.RETRY, max=1),
    _recipe(FailureClass.TAMPERED, Action.RESTORE, Action.WARN, Action.RETRY, max=1),
    _recipe(FailureClass.OUT_OF_SCOPE, Action.RESTORE, Action.WARN, Action.RETRY, max=None),
    _recipe(FailureClass.UNRUNNABLE, Action.ESCALATE),
    _recipe(FailureClass.VACUOUS, Action.ESCALATE),
    _recipe(FailureClass.FLAKY, Action.ESCALATE),
    _recipe(FailureClass.UNRECOVERABLE, Action.ESCALATE),
    _recipe(FailureClass.BLOCKED, Action.ESCALATE),
    _recipe(FailureClass.BUDGET, Action.ESCALATE),
    _recipe(FailureClass.WORKSPACE_MISMATCH, Action.ESCALATE),
    _recipe(FailureClass.DESTRUCTIVE, Action.ESCALATE),
    _recipe(FailureClass.UNKNOWN, Action.ESCALATE),
)
"""One for each class; a configuration changes them by name, and puts its own in front."""


# -- patterns that may take for ever: a repetition of something that repeats itself --------------


_PART = lazy_pattern(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)[*+?]?|[*+]|\{\d{0,9},?\d{0,9}\}|[^\\\[()*+{]|.", 16
)
_REPEATED_GROUP = lazy_pattern(r"[*+]|\{\d*,\d*\}|\{(?:[2-9]|\d\d+)\}")
_OPEN_REPETITION = lazy_pattern(r"[*+]|\{\d*,\d*\}")


def repeats_a_repetition(text: str) -> bool:
    """Whether a valid regular expression holds such as `(a+)+`."""
    inside = [False]
    """For each group that is open: whether it holds a repetition."""
    for match in _PART.finditer(text):
        part = match.group()
        if part == "(":
            inside.append(False)
        elif part.startswith(")") and len(inside) > 1:
            holds = inside.pop()
            repeated = _REPEATED_GROUP.match(text, match.start() + 1) is not None
            if holds and repeated:
                return True
            inside[-1] |= holds or repeated
        elif _OPEN_REPETITION.fullmatch(part):
            inside[-1] = True
    return False


# -- recipes as a configuration writes them: `[recovery.NAME]` -----------------------------------


MAX_RETRIES = 100
_KEYS = ("match", "actions", "backoff", "max", "escalate", "question")
_NAME = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LONGEST_PATTERN = 500
_LONGEST_QUESTION = 300
_MOST_WAITS = 100


def read_recipes(table: Table) -> tuple[Recipe, ...]:
    """Return the recipes of `[recovery]`: its own first, then the defaults as it changes them."""
    defaults = {recipe.name: recipe for recipe in DEFAULT_RECIPES}
    own: dict[str, Recipe] = {}
    for name in table:
        if not _NAME.fullmatch(name):
            table.refuse(name, "is not a name", "write letters, digits and hyphens")
        recipe = _read_recipe(table.table(name), name, defaults.get(name))
        (defaults if name in defaults else own)[name] = recipe
    recipes = (*own.values(), *defaults.values())
    _demand_one_answer_each(table, recipes)
    return recipes


def _read_recipe(table: Table, name: str, default: Recipe | None) -> Recipe:
    table.allow(*_KEYS)
    usual = default or Recipe(name, frozenset())
    classes, patterns = usual.classes, usual.patterns
    if "match" in table or default is None:
        classes, patterns = _match(table)
    actions = _actions(table) if "actions" in table else _usual_actions(table, usual)
    # What never tried has no maximum to keep when it begins to.
    kept = usual.max if usual.retries == (Action.RETRY in actions) else None
    recipe = Recipe(
        name,
        classes,
        patterns,
        actions,
        _backoff(table) if "backoff" in table else usual.backoff,
        table.number("max", 0, MAX_RETRIES) if "max" in table else kept,
        table.flag("escalate", usual.escalate and Action.ABORT not in actions),
        _question(table) if "question" in table else usual.question,
    )
    _demand_sense(table, recipe)
    if FailureClass.DESTRUCTIVE in recipe.classes:
        table.refuse(
            "match" if "match" in table else "actions",
            f"answers `{FailureClass.DESTRUCTIVE.value}`, and there a person is always asked",
            "take it out",
        )
    return recipe


def _match(table: Table) -> tuple[frozenset[FailureClass], tuple[str, ...]]:
    example = 'write `match = ["transient", "/some pattern/"]`'
    items = table.texts("match", "a list of classes and patterns")
    if not items:
        table.refuse("match", "holds nothing", example)
    names = {kind.value: kind for kind in FailureClass}
    classes, patterns = set(), []
    for item in items:
        if item in names:
            classes.add(names[item])
        elif len(item) > 2 and item[0] == item[-1] == "/":
            patterns.append(_pattern(table, item[1:-1]))
        else:
            near = nearest(item, names)
            known = f"the classes are {', '.join(names)}; a pattern stands between slashes"
            hint = f"did you mean `{near}`?" if near else known
            table.refuse("match", f"holds `{item}`, which is no class", hint)
    return frozenset(classes), tuple(patterns)


def _pattern(table: Table, text: str) -> str:
    if len(text) > _LONGEST_PATTERN:
        table.refuse(
            "match",
            "holds a pattern that is too long",
            f"use at most {_LONGEST_PATTERN} characters",
        )
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        table.refuse("match", f"holds `/{text}/`: {error}", "write a regular expression of Python")
    if repeats_a_repetition(text):
        # What an agent prints could keep such a pattern busy for ever.
        table.refuse(
            "match",
            f"holds `/{text}/`, which repeats what repeats itself",
            "write it without `+`, `*` or `{2,}` around a group that holds one",
        )
    if re.search(text, ""):
        table.refuse("match", f"holds `/{text}/`, which is found in any output", "demand something")
    return text


def _actions(table: Table) -> tuple[Action, ...]:
    names = {action.value: action for action in Action}
    items = table.texts("actions", "a list of actions")
    for item in items:
        if item not in names:
            near = nearest(item, names)
            hint = f"did you mean `{near}`?" if near else f"the actions are {', '.join(names)}"
            table.refuse("actions", f"holds `{item}`", hint)
    actions = tuple(dict.fromkeys(names[item] for item in items))
    if not actions:
        table.refuse("actions", "holds nothing", 'write `actions = ["retry", "escalate"]`')
    if {Action.ESCALATE, Action.ABORT} <= {*actions}:
        table.refuse("actions", "holds both `escalate` and `abort`", "write one of them")
    if Action.ASK in actions and len(actions) > 1:
        table.refuse(
            "actions", "holds more than `ask`", "a person's answer says what comes after `ask`"
        )
    if {Action.RESTORE, Action.WARN} & {*actions} and Action.RETRY not in actions:
        table.refuse("actions", "prepares a retry and holds none", "add `retry`")
    return actions


def _usual_actions(table: Table, usual: Recipe) -> tuple[Action, ...]:
    """Return what a recipe does that does not say it: who gives a maximum wants retries."""
    if usual.actions == (Action.ESCALATE,) and table.get("max"):
        return (Action.WARN, Action.RETRY)
    return usual.actions


def _question(table: Table) -> str:
    value = table.get("question")
    example = 'write `question = "Is the licence server up?"`'
    if not isinstance(value, str) or not value.strip():
        table.refuse("question", f"is {value!r}", example)
    if len(value) > _LONGEST_QUESTION:
        table.refuse("question", "is too long", f"use at most {_LONGEST_QUESTION} characters")
    if visible(value) != value or "\n" in value or "\t" in value:
        table.refuse("question", "holds characters that a terminal hides or obeys", example)
    return value.strip()


def _backoff(table: Table) -> tuple[float, ...]:
    items = table.texts("backoff", "a list of durations")
    if len(items) > _MOST_WAITS:
        table.refuse("backoff", f"holds {len(items)} waits", f"write at most {_MOST_WAITS}")
    waits = []
    for item in items:
        try:
            waits.append(float(parse_duration(item)))
        except LimitError as error:
            table.refuse(
                "backoff",
                f"holds `{item}`: {error.reason}",
                'write `backoff = ["5s", "30s", "5m"]`',
            )
    return tuple(waits)


def _demand_sense(table: Table, recipe: Recipe) -> None:
    """Refuse what would have no effect, or two."""
    for key in ("max", "backoff"):
        if key in table and not recipe.retries:
            table.refuse(key, "is for retries, and there are none", 'write `actions = ["retry"]`')
    if recipe.question and (Action.ABORT in recipe.actions or not recipe.escalate):
        table.refuse("question", "is never asked: the plan ends", "take one of them out")
    if "escalate" not in table:
        return
    if not recipe.retries:
        what = 'write `actions = ["abort"]` or `actions = ["escalate"]`'
        table.refuse("escalate", "says what follows retries, and there are none", what)
    if recipe.escalate and Action.ABORT in recipe.actions:
        table.refuse("escalate", "is true, and `actions` says `abort`", "write one of them")
    if not recipe.escalate and Action.ESCALATE in recipe.actions:
        table.refuse("escalate", "is false, and `actions` says `escalate`", "write one of them")


def _demand_one_answer_each(table: Table, recipes: tuple[Recipe, ...]) -> None:
    written = [recipe for recipe in recipes if recipe.name in table]
    for kind in FailureClass:
        claims = [recipe.name for recipe in written if kind in recipe.classes]
        if len(claims) > 1:
            table.refuse(
                claims[1],
                f"answers `{kind.value}`, and so does `{table.name}.{claims[0]}`,",
                "name each class in one table",
            )
        if not any(kind in recipe.classes for recipe in recipes):
            table.refuse(
                kind.value, "does not answer its class any more", f'add "{kind.value}" to `match`'
            )


# -- A sign of why an agent failed, in what it printed -------------------------------------------


class OutputSign(NamedTuple):
    """A line of output that tells the kind of a failure."""

    rule: str
    kind: FailureClass
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    """What else in the line makes it no such sign."""


def sign(rule: str, kind: FailureClass, *texts: str, unless: str | None = None) -> OutputSign:
    """Return the sign that any of the texts is, in upper or lower case."""
    return OutputSign(
        f"agent-{rule}",
        kind,
        lazy_pattern("|".join(texts), re.IGNORECASE),
        lazy_pattern(unless, re.IGNORECASE) if unless else None,
    )
