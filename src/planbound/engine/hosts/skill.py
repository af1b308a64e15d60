"""What an agent reads to learn the plan tools."""

SKILL = """\
---
name: planbound
description: >-
  Keep a plan outside of the conversation and have every step proved. Use it when a task has more
  than two steps, when a plan is open in this workspace, or when stopping was refused.
---

# Planbound

A plan says what is to be done and how to see that it is done. A step with a contract (a shell
command) is done when Planbound has run the contract and seen it pass. Saying so is not enough.
You cannot stop while the plan is open: you are told what is missing.

## How to work

1. `plan_create(objective, steps, postconditions)`. Give each step a contract where there is a
   command that fails now and passes when the step is done:
   `{"title": "Add the parser", "contract": "pytest tests/test_parser.py -q",
   "touches": ["src/parser.py"]}`. A postcondition is what must be true at the end.
2. `step_update(step, "in_progress")`, do the work, then
   `step_update(step, "done", evidence="what shows it")`. Where there is a contract it is run now;
   the answer says proved, or what failed with the end of the output. What was green before the
   work only *holds*. Without a contract the step is only *claimed*.
3. What needs something that is missing outside of the workspace (a credential, a service, a
   person's decision): `step_update(step, "blocked", notes="why")` or
   `postcondition_block(postcondition, reason)`, with the reason. Tests that fail are the work, and
   never a reason.
4. `postcondition_verify(postcondition, evidence)` for each postcondition.
5. `plan_finish(summary)`: it judges once more, and says what is missing.

`plan_show(only="open")` is short; call it after a break or when you have lost the thread.
Steps are called by their number or their id. `plan_amend` changes what is not proved yet.

## What is not yours

- `.harness/`, `planbound.toml` and the tests that were frozen as judges: do not edit them.
- `planbound approve`, `waive`, `answer`, `attest`, `release`: a person decides. If one of them is
  needed, say so and stop asking the gate; it stays silent while a person is asked.
- A refusal is no error. Do what it lists. After some refusals without progress the session ends
  as incomplete, and a person is told.
"""
