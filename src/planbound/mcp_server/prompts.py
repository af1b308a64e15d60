"""Prompts that a person picks in the client: they tell the agent how to use the tools."""

from __future__ import annotations

WORK = """\
Work on the plan of this workspace until it is finished.

1. Call `plan_show`. Where there is no plan, make one with `plan_create`.
2. Take the first open step. Call `step_update` with `in_progress`, do the work, then call
   `step_update` with `done` and your evidence. The harness judges at once.
3. Where it is not proved, read what failed, mend the work, and call `step_update` again. Never
   change a test or a contract to make it pass. `blocked` is only for what is missing outside of
   the workspace, with the reason; a test that fails is the work.
4. When all steps are settled, settle every postcondition with `postcondition_verify`.
5. Call `plan_finish` with your summary. Where it refuses, do what is missing and call it again.
   Say that you are done only after it accepted.
"""

WRITE = """\
Write a plan for this goal, and do nothing else yet:

{goal}

1. Look at the workspace first: what is there, how it is built and tested.
2. Call `plan_create`: an objective of one sentence; steps that one person could do in an hour or
   less, each with a title, a task that says what is to be done, the files that it touches, and a
   contract: a shell command that fails now and passes exactly when the step is done. `true`,
   `echo` and commands that cannot fail prove nothing.
3. Add preconditions for what must be true before the first step, and postconditions for what must
   hold at the end, whatever the steps did.
4. Read the answer, mend what it finds wrong, and show the plan with `plan_show`.
"""


def work_the_plan() -> str:
    """Go on with the plan of this workspace until the gate accepts it."""
    return WORK


def write_a_plan(goal: str) -> str:
    """Make a plan for a goal, with contracts that can be proved."""
    return WRITE.format(goal=goal)
