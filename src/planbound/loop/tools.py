"""The plan tools as plain functions: frameworks make schemas of their types and docstrings.

The annotations are real ones, not texts: not every framework can read those.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from planbound.loop.session import TOOLS, Session

Item = str | dict[str, Any]
Status = Literal["pending", "in_progress", "done", "blocked"]


def tools(session: Session) -> list[Callable[..., str]]:
    """Return the plan tools of a session, for any loop.

    Each is a plain function with types and a docstring, and answers with a text for the model,
    also where the call is wrong.
    """
    found = _PlanTools(session)
    return [_plain(getattr(found, name)) for name in TOOLS]


class _PlanTools:
    """What each tool is for, as a model reads it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def plan_create(
        self,
        objective: str,
        steps: list[Item],
        postconditions: list[Item] | None = None,
        name: str | None = None,
        preconditions: list[Item] | None = None,
    ) -> str:
        """Write down the plan before you begin any task of more than one step.

        Give a step a contract or a check wherever one is possible: only those can be proved.
        Called again this rewrites the plan: what is proved and unchanged stays proved, dropped
        steps stay visible.

        Args:
            objective: What is to be reached, in a sentence.
            steps: The work in its order. Each is a title, or an object with `title` and, as
                needed, `task` (what is to be done, in full), `contract` (a shell command that
                exits with 0 exactly when this is really done), `expect` (more that must hold, such
                as `stdout contains "ok"`), `touches` (patterns of the files that it may change),
                `depends` (numbers of the steps before it), and `check` instead of a contract (such
                as {"file_exists": {"path": "a.txt", "contains": "x"}}; others are command(cmd),
                http_ok(url), json_path(file, path, equals), git_committed(paths),
                tests_pass(selector)).
            postconditions: What must be true at the end, whatever was done. Each is a statement,
                or an object with `statement` and, as needed, `contract`, `expect` or `check`.
            name: A short name for the plan.
            preconditions: What must be true before the first step, in the same form: no step may
                begin while one of them does not hold.
        """
        return self._say("plan_create", locals())

    def plan_show(self, only: Literal["open", "all"] = "all") -> str:
        """Show the plan: `[ ]` open, `[.]` begun, `[x]` proved, `[=]` holds, `[~]` claimed.

        `[!]` is blocked; what holds is green now and was so before the work.
        Call it whenever you are not sure what is next.

        Args:
            only: `open` leaves out what is settled.
        """
        return self._say("plan_show", locals())

    def step_update(
        self,
        *,
        step: str | int | None = None,
        status: Status,
        evidence: str = "",
        notes: str = "",
        step_number: str | int | None = None,
    ) -> str:
        """Say where a step is: `in_progress` when you begin it, `done` when it is done.

        `done` makes the harness run the step's contract at once; the answer says whether it is
        proved, or holds (it was green before), or what failed. Then mend the work and call this
        again. `blocked` is for what is missing outside of the workspace, never for tests that fail;
        it demands the reason.

        Args:
            step: The step's number or id.
            status: Where it is now.
            evidence: For `done`, what you ran or looked at and what you saw, demanded where the
                step has no contract; for `blocked`, why.
            notes: Whatever helps later.
            step_number: The same as `step`; one of them is enough.
        """
        return self._say("step_update", locals())

    def postcondition_verify(
        self,
        *,
        postcondition: str | int | None = None,
        evidence: str = "",
        postcondition_number: str | int | None = None,
    ) -> str:
        """Have a postcondition judged when the steps are done.

        Where it has a contract the harness runs it; where it has none, evidence is demanded, and
        it counts as claimed.

        Args:
            postcondition: Its number.
            evidence: How it can be seen that it holds.
            postcondition_number: The same as `postcondition`; one of them is enough.
        """
        return self._say("postcondition_verify", locals())

    def postcondition_block(
        self,
        *,
        postcondition: str | int | None = None,
        reason: str,
        postcondition_number: str | int | None = None,
    ) -> str:
        """Say that a postcondition cannot be reached, and why.

        The plan then ends as `finished with blocked items`, never as `done`.

        Args:
            postcondition: Its number.
            reason: Why it cannot be reached.
            postcondition_number: The same as `postcondition`; one of them is enough.
        """
        return self._say("postcondition_block", locals())

    def plan_amend(
        self,
        reason: str,
        add: list[Item] | None = None,
        edit: dict[str, Item] | None = None,
        remove: list[str] | None = None,
    ) -> str:
        """Change some steps when the work shows that the plan was wrong.

        What is changed or dropped stays on record for ever.

        Args:
            reason: Why the plan has to be another one.
            add: Steps that are added at the end, as in `plan_create`.
            edit: By the number or id of a step, the step as it is to be.
            remove: Numbers or ids of steps that are dropped.
        """
        return self._say("plan_amend", locals())

    def plan_request_approval(self) -> str:
        """Ask a person to approve the plan, where a tool answers that it waits for that.

        You cannot approve it yourself: tell the person which command to run, and wait.
        """
        return self._say("plan_request_approval", locals())

    def plan_finish(self, summary: str) -> str:
        """Call this before you say that you are done.

        Where it refuses, the answer lists exactly what is missing and the calls that settle it: do
        the work, then call this again.

        Args:
            summary: What you would say as your last word.
        """
        return self._say("plan_finish", locals())

    def plan_status(self) -> str:
        """Say in a line where the plan is."""
        return self._say("plan_status", locals())

    def plan_log(self, last: int = 20) -> str:
        """Show the last events of the plan: what was judged when, and how it went.

        Args:
            last: How many events.
        """
        return self._say("plan_log", locals())

    def _say(self, tool: str, given: dict[str, object]) -> str:
        arguments = {name: value for name, value in given.items() if name != "self"}
        return self._session.call(tool, **arguments).text


def _plain(method: Callable[..., str]) -> Callable[..., str]:
    """Return a plain function of a method: some frameworks take nothing else."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: object, **arguments: object) -> str:
        # Models give names, people may leave them out, also where one of two names is enough.
        by_place = dict(zip(signature.parameters, args, strict=False))
        try:
            if len(args) > len(signature.parameters) or by_place.keys() & arguments.keys():
                signature.bind(*args, **arguments)
            signature.bind(**by_place, **arguments)
        except TypeError as error:
            return f"`{method.__name__}` was called wrongly: {error}"
        return method(**by_place, **arguments)

    del call.__wrapped__  # nobody is to find the method behind it
    call.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` looks for
    return call
