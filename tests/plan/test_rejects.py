"""What a contract has to reject, in the plan language: paths, diffs, digests."""

from __future__ import annotations

from planbound.plan.digest import digest
from planbound.plan.model import Step, named_controls
from planbound.plan.parse import parse, write
from planbound.plan.repair import repair

PLAN = """\
---
type: plan
status: draft
owner: orchestrator
---

# Round once

## Steps

### 1. Write it

**task:** Write `rounding.py`.

**contract:**
```shell
python3 test_rounding.py
```
exit_code == 0
{rejects}
**on_fail:** escalate

## Postconditions

1. It rounds
   ```shell
   python3 test_rounding.py
   ```
   {condition}
"""
DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n \n-a\n+b\n"
FENCE = f"**rejects:**\n```diff\n{DIFF}```"


def _step(rejects: str) -> Step:
    plan = parse(PLAN.format(rejects=rejects, condition=""))
    assert plan.faults == (), rejects
    (step,) = plan.steps
    return step


def _names(rejects: str) -> list[str]:
    return [name for name, _ in named_controls(_step(rejects).rejects)]


def test_controls_are_paths_lists_fences_and_may_be_given_again() -> None:
    assert _names("**rejects:** a.patch, `b.patch`") == ["a.patch", "b.patch"]
    assert _names("**rejects:**\n- a.patch\n- b.patch\n") == ["a.patch", "b.patch"]
    assert _names(f"{FENCE}\n**rejects:** a.patch\n{FENCE}") == ["diff 1", "a.patch", "diff 2"]
    assert _names("**rejects:** none") == []
    step = _step(FENCE)
    assert step.rejects[0].text == DIFF
    assert len(step.rejects[0].lines) == 6
    assert step.on_fail is not None
    assert step.contract is not None


def test_a_condition_has_controls_too() -> None:
    plan = parse(PLAN.format(rejects="", condition="**rejects:** a.patch"))
    assert plan.faults == ()
    assert [each.path for each in plan.postconditions[0].rejects] == ["a.patch"]


def test_every_control_is_in_the_digest_and_none_is_as_before() -> None:
    texts = ["", "**rejects:** a.patch", "**rejects:** b.patch", FENCE, FENCE.replace("+b", "+c")]
    found = [digest(parse(PLAN.format(rejects=text, condition=""))) for text in texts]
    assert len(set(found)) == len(texts)
    assert found[0] == digest(parse(PLAN.format(rejects="**rejects:** none", condition="")))


def test_a_control_without_a_value_is_reported() -> None:
    plan = parse(PLAN.format(rejects="**rejects:**\n", condition=""))
    assert [fault.rule for fault in plan.faults] == ["empty-field"]


def test_a_plan_with_controls_is_written_as_it_was_and_mended_to_the_same() -> None:
    plan = parse(PLAN.format(rejects=FENCE, condition="**rejects:** a.patch"))
    assert write(plan).decode() == plan.source.text
    assert digest(repair(plan).plan) == digest(plan)
