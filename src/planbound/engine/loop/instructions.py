"""How an agent is to work with the plan tools: the one text that every surface hands out."""

from __future__ import annotations

INSTRUCTIONS = """\
Planbound holds you to a plan. A step with a contract (a shell command) is done when Planbound has
run the contract and seen it pass. Saying so is not enough, and you may end when the plan is done.

1. Before a task of more than one step: `plan_create(objective, steps, postconditions)`, or
   `plan_show()` where there is a plan. Give each step a contract where there is a command that
   fails now and passes when the step is done: `{"title": "Add the parser", "contract":
   "pytest tests/test_parser.py -q", "touches": ["src/parser.py"]}`.
2. `step_update(step, "in_progress")`, do the work, then `step_update(step, "done",
   evidence="what shows it")`. A contract is run then: the answer says proved, or what failed. What
   was green before the work only *holds*; a step without a contract is only *claimed*.
3. Only what is missing outside of the workspace (a credential, a service, a person's decision) is
   set to `blocked`, with the reason. Tests that fail are the work.
4. `postcondition_verify(postcondition, evidence)` for each postcondition.
5. `plan_finish(summary)` before you say that you are done: it judges once more, and says what is
   missing. A refusal is no error: do what it lists.

`plan_show(only="open")` is short: call it after a break. `plan_amend` changes what is not proved.
`.harness/`, `planbound.toml` and the tests that judge are not yours to edit. People, not you,
approve, waive, attest, answer and release: where that is needed, say so and wait.
"""
