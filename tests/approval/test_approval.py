"""When an approval holds, what weakens a plan, and when somebody is reminded."""

from __future__ import annotations

import pytest

from planbound.approval.remind import MAX_REMINDERS, due, waiting
from planbound.approval.weakening import weakenings
from planbound.journal.event import EventKind, GateApproved, replaced
from planbound.journal.record import Draft, Json, Provenance, Record
from planbound.journal.words import Method
from planbound.plan.parse import parse
from planbound.state.approval import Approval, CurrentPlan, approval_of, mismatch
from planbound.state.plan import fold
from tests.journal import told

APPROVAL = Approval(
    nonce="n",
    digest="d" * 64,
    judges={"tests/a.py": "1"},
    configuration="c",
    by="mara",
    method=Method.DIGEST,
    expires="2026-11-15T10:00:00.000000Z",
    project="here-1",
)
CURRENT = CurrentPlan(
    "d" * 64, {"tests/a.py": "1"}, "c", "2026-11-15T09:00:00.000000Z", project="here-1"
)


@pytest.mark.requirement("gate.bound")
@pytest.mark.parametrize(
    ("current", "said"),
    [
        (CURRENT, None),
        (CURRENT._replace(project="there-2"), "other repository: it was given in here-1"),
        (CURRENT._replace(used="r7"), "already used: run r7 has it"),
        (CURRENT._replace(digest="e" * 64), "digest changed"),
        (CURRENT._replace(configuration="x"), "configuration changed"),
        (CURRENT._replace(judges={"tests/a.py": "2"}), "judge changed: tests/a.py"),
        (CURRENT._replace(judges={}), "judge changed: tests/a.py"),
        (CURRENT._replace(now="2026-11-15T10:00:00.000000Z"), "expired"),
    ],
)
def test_an_approval_ends_with_what_it_is_bound_to(current: CurrentPlan, said: str | None) -> None:
    found = mismatch(APPROVAL, current)
    assert (found is None) if said is None else (found or "").startswith(said)


@pytest.mark.requirement("gate.bound")
def test_an_approval_from_before_repositories_were_noted_still_holds() -> None:
    event = GateApproved(
        nonce="n",
        digest="d" * 64,
        configuration="c",
        by="m",
        method=Method.DIGEST,
        judges={"tests/a.py": "1"},
        modifications=(),
    )
    old = approval_of(event)
    assert old is not None
    assert mismatch(old, CURRENT) is None
    new = approval_of(replaced(event, project="there-2", policy="docs"))
    assert new is not None
    assert new.policy == "docs"
    assert (mismatch(new, CURRENT) or "").startswith("other repository")


@pytest.mark.requirement("gate.bound")
def test_every_method_says_what_it_is_worth() -> None:
    assert {method.value: method.strength.value for method in Method} == {
        "terminal": "word",
        "digest": "word",
        "signature": "proof",
        "policy": "rule",
        "elicitation": "word",
        "page": "word",
    }
    assert all(method.caution for method in Method)


# -- what is weaker ----------------------------------------------------------------------------

TEXT = """\
---
type: plan
touches: ["src/**"]
---
# T

## Preconditions

1. The tree is clean
   ```shell
   test -d src
   ```

## Steps

### 1. One

**target:** coder
**evidence:** E3
**baseline:** red
**repeat:** 3
**judges:**
- tests/a.py

**task:** x

**contract:**
```shell
pytest tests
```
exit_code == 2
stdout contains "passed"
tests >= 5

### 2. Two

**task:** y

**contract:**
```shell
test -e src/two
```

## Postconditions

1. It all holds
   ```shell
   test -e src/two
   ```
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("exit_code == 2\n", "", "step 1 expected exit code 2, now 0"),
        ("exit_code == 2", "exit_code == 3", "step 1 expected exit code 2, now 3"),
        ('stdout contains "passed"\n', "", 'step 1 does not expect stdout contains "passed"'),
        ("tests >= 5", "tests >= 4", "step 1 expected at least 5 tests, now 4"),
        ("tests >= 5\n", "", "step 1 expected at least 5 tests, now any number"),
        ("**evidence:** E3", "**evidence:** E1", "step 1 demanded evidence E3, now E1"),
        ("**evidence:** E3\n", "", "step 1 demanded evidence E3, now none"),
        ("**baseline:** red", "**baseline:** any", "step 1 demanded a red baseline, now any"),
        ("**repeat:** 3", "**repeat:** 2", "step 1 had to pass 3 times, now 2"),
        ("- tests/a.py", "- tests/b.py", "step 1 does not name `tests/a.py` as a judge"),
        ("pytest tests", "pytest tests -k a", "the contract of step 1 is another"),
        (
            "```shell\ntest -e src/two\n```\n\n## Post",
            'attest "it is fine"\n\n## Post',
            "the contract of step 2 became an attestation",
        ),
        (
            "**contract:**\n```shell\ntest -e src/two\n```\n\n## Post",
            "## Post",
            "step 2 has no contract any more",
        ),
        ("### 2. Two", "### 2. Three", "the step `Two` is gone"),
        ('["src/**"]', '["src/**", "docs/*"]', "step 1 may touch `docs/*` now"),
        ('["src/**"]', '["s*/**"]', "step 2 may touch `s*/**` now"),
        ('touches: ["src/**"]\n', "", "step 1 may touch anything now"),
        ("test -d src", "true", "the contract of precondition 1 is another"),
        ("1. It all holds", "1. It holds", "the postcondition `It all holds` is gone"),
    ],
)
def test_what_became_weaker_is_told(old: str, new: str, said: str) -> None:
    assert TEXT.count(old) >= 1
    found = weakenings(parse(TEXT), parse(TEXT.replace(old, new, 1)))
    assert any(line.startswith(said) for line in found), found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tests >= 5", "tests >= 6"),
        ("**evidence:** E3", "**evidence:** E4"),
        ('["src/**"]', '["src/a/**", "src/*.py"]'),
        ("**task:** x", "**task:** z"),
        ("- tests/a.py", "- tests/a.py\n- tests/b.py"),
        ("tests >= 5", 'tests >= 5\nstdout contains "x"'),
    ],
)
def test_what_became_stronger_is_not(old: str, new: str) -> None:
    assert weakenings(parse(TEXT), parse(TEXT.replace(old, new, 1))) == []


# -- reminders ---------------------------------------------------------------------------------

MINUTE = "2026-11-15T09:{minute:02}:00.000000Z"


def event(minute: int, kind: EventKind, **details: Json) -> Record:
    draft = Draft(
        id=f"{kind.value}-{minute}",
        timestamp=MINUTE.format(minute=minute),
        kind=kind,
        plan="it",
        details=told(kind, details),
        provenance=Provenance.LIVE,
    )
    return Record(minute, minute, draft, 1, "0" * 64, "0" * 64)


ASKED = event(0, EventKind.GATE_APPROVAL_REQUESTED, plan_id="it", digest="d")


def test_a_reminder_is_due_after_the_time_and_not_for_ever() -> None:
    start, end = MINUTE.format(minute=0), MINUTE.format(minute=30)
    assert not due(start, 0, end, 1801)
    assert due(start, 0, end, 1800)
    assert due(start, MAX_REMINDERS - 1, end, 1800)
    assert not due(start, MAX_REMINDERS, end, 1800)


@pytest.mark.parametrize(
    ("later", "waits"),
    [
        ([], True),
        ([event(5, EventKind.GATE_APPROVED)], False),
        ([event(5, EventKind.GATE_REJECTED)], False),
        ([event(5, EventKind.PLAN_REWRITTEN)], False),
        ([event(5, EventKind.PLAN_ARCHIVED)], False),
        ([event(5, EventKind.PLAN_VERIFIED, digest="d")], True),
        ([event(5, EventKind.PLAN_VERIFIED, digest="e")], False),
        ([event(5, EventKind.GATE_CLARIFICATION_ASKED, question="why?")], False),
        (
            [
                event(5, EventKind.GATE_CLARIFICATION_ASKED, question="why?"),
                event(9, EventKind.GATE_CLARIFICATION_ASKED, question="why?", answer="so"),
            ],
            True,
        ),
    ],
)
def test_a_plan_waits_until_somebody_decides(later: list[Record], waits: bool) -> None:  # noqa: FBT001
    found = waiting(fold([ASKED, *later]).values())
    assert [item.plan for item in found] == (["it"] if waits else [])
    if later and waits and later[-1].kind is EventKind.GATE_CLARIFICATION_ASKED:
        assert found[0].request is not None
        assert found[0].request.asked == MINUTE.format(minute=9)


def test_reminders_are_counted_from_the_first_question() -> None:
    first = event(5, EventKind.GATE_APPROVAL_REQUESTED, plan_id="it", digest="d", reminder=1)
    second = event(9, EventKind.GATE_APPROVAL_REQUESTED, plan_id="it", digest="d", reminder=2)
    (found,) = waiting(fold([ASKED, first, second]).values())
    assert found.request is not None
    assert (found.reminders, found.request.id) == (2, ASKED.draft.id)
    assert found.request.asked == MINUTE.format(minute=9)
