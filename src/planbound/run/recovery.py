"""What is done about a failure: another attempt, a question, or the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbound.journal.words import FailureClass
from planbound.plan.model import Exhausted, OnFail
from planbound.run.classify import Classified
from planbound.workspace.agents import retries
from planbound.workspace.recipes import Action, Recipe

BLOCKED = (
    "the attempt before this one answered BLOCKED, and changed nothing. That is only for what is"
    " missing outside of this folder. Everything else is the work: begin it."
)
"""What an agent is told that stopped without a try."""
GUIDANCE = {
    FailureClass.TRANSIENT: "the attempt before this one was cut off. Look at what is there already"
    " before you begin.",
    FailureClass.PERMISSION: "the attempt before this one lacked a permission. Work without what is"
    " not allowed.",
    FailureClass.INVALID_INPUT: "the attempt before this one was refused as invalid input. Look at"
    " the error and do not send the same again.",
    FailureClass.AGENT: "the attempt before this one was cut off. Look at what is there already"
    " before you begin.",
    FailureClass.LOGIC: "the contract failed. Look at its output before you change anything.",
    FailureClass.UNRECOVERABLE: "the attempt before this one broke down. Look at the error first.",
    FailureClass.BLOCKED: BLOCKED,
    FailureClass.HUNG: "the attempt before this one ran past its time limit. Start nothing that"
    " waits for input or does not end by itself.",
    FailureClass.FLOODED: "the attempt before this one printed without end. Print little, and"
    " nothing in a loop.",
    FailureClass.BUDGET: "the attempt before this one reached its limit. Take the shortest way.",
    FailureClass.WORKSPACE_MISMATCH: "the workspace was changed by somebody else. Look at what is"
    " there before you begin.",
    FailureClass.DESTRUCTIVE: "the attempt before this one destroyed what it was not asked to"
    " touch: the repository, or files. It was noticed, and put back. Remove nothing that you did"
    " not make.",
    FailureClass.TAMPERED: "something that this step is judged by was changed. That is not allowed;"
    " it was noticed, and put back. Do the task, and leave the judges alone.",
    FailureClass.OUT_OF_SCOPE: "files outside of what this step may touch were changed. They were"
    " put back. Change only what the step may touch.",
    FailureClass.UNRUNNABLE: "the contract could not be started. Look at its output.",
    FailureClass.VACUOUS: "the contract passed, but checked nothing. Look at its output.",
    FailureClass.FLAKY: "the contract failed and passed on the same files. Make the work"
    " deterministic.",
    FailureClass.UNKNOWN: "the attempt before this one failed for a reason that is not known.",
}


# -- what is done about a failure: another attempt, a question, or the end -----------------------


NO_PROGRESS = 3
"""So often the same failure on the same tree, and another attempt is in vain."""
SAME_OUTPUT = 2
"""So often, where what the agent and the contract printed is the same, too."""
_UNJUDGED = frozenset({FailureClass.AGENT, FailureClass.HUNG, FailureClass.UNKNOWN})
"""Attempts that were cut off: that they left the same says nothing about the next one."""
_JITTER = 0.25
"""The share by which a wait is made longer at most, so that many do not come back at once."""
_UNANSWERED = Recipe(FailureClass.UNKNOWN.value, frozenset(), actions=(Action.ESCALATE,))


_DESTRUCTIVE = "an agent that destroys things is not tried again without a person"


class FailureHistory(NamedTuple):
    """What was tried for a step since a person last answered."""

    recovered: Mapping[FailureClass, int]
    """How often a failure of each class was answered by a retry."""
    total_retries: int = 0
    repeated: int = 1
    """How often in a row this failure happened on this tree, this time included."""
    same_output: bool = False
    """Whether agent and contract printed the same as the last time."""


class Retry(NamedTuple):
    """The step is tried again."""

    recipe: str
    number: int
    """Which retry of this class it is."""
    of: int
    backoff: float
    """The seconds to wait before."""
    guidance: str
    """What the agent is told; empty where there is nothing to tell."""


class Escalate(NamedTuple):
    """A person is asked."""

    recipe: str
    reason: str
    exhausted: bool
    """Whether retries were tried in vain; False: none was tried."""
    question: str = ""
    """What the recipe itself asks; empty where it has no words of its own."""


class Abort(NamedTuple):
    """The plan fails."""

    recipe: str
    reason: str


class AskPermission(NamedTuple):
    """A person is told to configure what is missing; each answer allows one more attempt."""

    recipe: str
    reason: str
    credential: str | None
    question: str = ""


RecoveryDecision = Retry | Escalate | Abort | AskPermission


def answer(
    classified: Classified,
    history: FailureHistory,
    on_fail: OnFail,
    recipes: Sequence[Recipe],
    jitter: float,
) -> RecoveryDecision:
    """Return what is done about a failure; `jitter` is a number from 0 to 1."""
    recipe = recipe_for(classified, recipes)
    decision = _decide(recipe, classified, history, on_fail, jitter)
    if isinstance(decision, Escalate | AskPermission):
        return decision._replace(question=recipe.question)
    return decision


def _decide(
    recipe: Recipe, classified: Classified, history: FailureHistory, on_fail: OnFail, jitter: float
) -> RecoveryDecision:
    if classified.kind is FailureClass.DESTRUCTIVE:
        # Whatever the plan or a recipe says: who did that once is not let loose again unseen.
        return Escalate(recipe.name, _DESTRUCTIVE, exhausted=False)
    if (at_once := _at_once(recipe, classified, on_fail)) is not None:
        return at_once
    kind = classified.kind
    used = history.recovered.get(kind, 0)
    allowed = retries(recipe, on_fail)
    if used >= allowed:
        return _give_up(recipe, kind, used, history, on_fail)
    # Who waits for something else to change makes no progress meanwhile, and need not.
    most = SAME_OUTPUT if history.same_output else NO_PROGRESS
    if history.repeated >= most and not recipe.backoff and kind not in _UNJUDGED:
        what = "the same tree and the same output" if history.same_output else "the same tree"
        reason = f"no progress: the same failure with {what} {history.repeated} times"
        return Escalate(recipe.name, reason, exhausted=True)
    return Retry(
        recipe.name,
        number=used + 1,
        of=allowed,
        backoff=_wait(recipe, used, classified.retry_after, jitter),
        guidance=GUIDANCE[kind] if Action.WARN in recipe.actions else "",
    )


def _at_once(recipe: Recipe, classified: Classified, on_fail: OnFail) -> RecoveryDecision | None:
    """Return the answer where nothing is tried again; None where something may be."""
    if on_fail.retries == 0 and on_fail.then is Exhausted.ABORT:
        return Abort(recipe.name, "`on_fail: abort`: the plan ends at the first failure")
    if Action.ASK in recipe.actions:
        return AskPermission(recipe.name, _permission(classified), classified.credential)
    if not recipe.retries:
        reason = f"failures of the class `{classified.kind.value}` are not retried"
        if Action.ABORT in recipe.actions:
            return Abort(recipe.name, reason)
        return Escalate(recipe.name, reason, exhausted=False)
    if on_fail.retries == 0:
        return Escalate(recipe.name, "`on_fail: escalate`: nothing is retried", exhausted=False)
    return None


def recipe_for(classified: Classified, recipes: Sequence[Recipe]) -> Recipe:
    """Return the recipe that answers a failure."""
    for recipe in recipes:
        if recipe.name == classified.recipe:
            return recipe
    for recipe in recipes:
        if classified.kind in recipe.classes:
            return recipe
    return _UNANSWERED


def _give_up(
    recipe: Recipe, kind: FailureClass, used: int, history: FailureHistory, on_fail: OnFail
) -> Escalate | Abort:
    if used == 0:
        reason = f"the recipe `{recipe.name}` allows no retry"
    else:
        what = "1 retry" if used == 1 else f"{used} retries"
        reason = f"{what} after `{kind.value}` failures did not help"
        if history.total_retries > used:
            reason += f" ({history.total_retries} retries of the step in all)"
    if recipe.escalate and on_fail.then is Exhausted.ESCALATE:
        return Escalate(recipe.name, reason, exhausted=used > 0)
    return Abort(recipe.name, reason)


def _permission(classified: Classified) -> str:
    if classified.credential is not None:
        return (
            f"`{classified.credential}` is missing or refused:"
            " set it in the environment or in a vault"
        )
    return "a permission is missing: configure the credential in the environment or in a vault"


def _wait(recipe: Recipe, used: int, retry_after: float | None, jitter: float) -> float:
    own = recipe.backoff[min(used, len(recipe.backoff) - 1)] if recipe.backoff else 0.0
    return max(own, retry_after or 0.0) * (1 + _JITTER * jitter)
