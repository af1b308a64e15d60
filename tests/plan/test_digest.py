"""The digest changes with the meaning, and only with it."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planbound.plan.digest import canonical, digest
from planbound.plan.edit import mark_progress, set_plan_status
from planbound.plan.model import Command, PlanStatus, StepStatus
from planbound.plan.parse import parse, parse_source
from tests.examples import examples
from tests.plan.strategies import FIXTURES, REAL, plan_texts

GOLDEN = Path(__file__).parents[1] / "fixtures" / "digests.json"
TEXTS = st.one_of(st.sampled_from(REAL), plan_texts())


def reflow(text: str, seed: int) -> str:
    """Change white space between the words of paragraphs, outside code and labels."""
    dice = random.Random(seed)
    result = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
            result.append(line)
        elif (
            fence
            or not line.strip()
            or re.match(r"\s*(?:[-#>|<*]|\d|---)|\S+: |exit_|std|tests ", line)
        ):
            result.append(line + (dice.choice(["", "  ", "\t"]) if not fence else ""))
        else:
            words = line.split(" ")
            result.append(dice.choice([" ", "  "]).join(words) + dice.choice(["", " "]))
    return "\n".join(result)


@pytest.mark.requirement("language.digest")
@examples(150)
@given(TEXTS, st.integers())
def test_white_space_outside_code_is_not_meaning(text: str, seed: int) -> None:
    assert digest(parse(reflow(text, seed))) == digest(parse(text))


@pytest.mark.requirement("language.digest")
@examples(100)
@given(TEXTS)
def test_line_ends_and_byte_order_mark_are_not_meaning(text: str) -> None:
    expected = digest(parse(text))
    assert digest(parse(text.replace("\n", "\r\n"))) == expected
    assert digest(parse("\ufeff" + text)) == expected
    assert digest(parse(text.rstrip("\n"))) == expected


@pytest.mark.thorough
@pytest.mark.requirement("language.digest")
@examples(100)
@given(TEXTS, st.data())
def test_ticking_statuses_is_not_meaning(text: str, data: st.DataObject) -> None:
    plan = parse(text)
    expected = digest(plan)
    status = data.draw(st.sampled_from(PlanStatus))
    assert digest(set_plan_status(plan, status)) == expected
    steps = [data.draw(st.sampled_from(StepStatus)) for _ in plan.steps]
    assert digest(parse_source(mark_progress(plan, status, steps))) == expected


@pytest.mark.requirement("language.digest")
def test_the_order_of_frontmatter_keys_and_their_comments_is_not_meaning() -> None:
    one = "---\ntype: plan\nstatus: draft # x\nowner: a\ndepends_on: [b, c]\n---\n# T\n"
    two = '---\ndepends_on:\n  - b\n  - "c"\nowner: a\ntype: plan\nstatus: done\n---\n\n# T\n'
    assert digest(parse(one)) == digest(parse(two))


@pytest.mark.requirement("language.digest")
def test_re_wrapping_a_paragraph_is_not_meaning() -> None:
    one = "## Steps\n### 1. A\n**task:**\nOne two three\nfour `five` six.\n\nSeven.\n"
    two = "## Steps\n\n### 1. A\n\n**task:** One two\nthree four `five`\nsix. Seven.\n"
    assert digest(parse(one)) == digest(parse(two))


WORDS = re.compile(r"[A-Za-z]{3,}")


@pytest.mark.requirement("language.digest")
@examples(300)
@given(st.sampled_from(REAL), st.data())
def test_any_changed_word_of_the_meaning_is_another_digest(text: str, data: st.DataObject) -> None:
    body = text.index("# ")
    # A fence's tag and a section's name are spelled in one way only: a slip is a diagnostic.
    places = [m for m in WORDS.finditer(text, body) if m.group() not in {"shell", "Steps"}]
    match = data.draw(st.sampled_from(places))
    changed = text[: match.start()] + match.group() + "q" + text[match.end() :]
    assert digest(parse(changed)) != digest(parse(text))


@pytest.mark.requirement("language.digest")
@examples(300)
@given(st.sampled_from(REAL), st.data())
def test_any_changed_byte_of_a_contract_is_another_digest(text: str, data: st.DataObject) -> None:
    plan = parse(text)
    contracts = [step.contract for step in plan.steps]
    contracts += [item.contract for item in (*plan.postconditions, *plan.preconditions)]
    contract = data.draw(st.sampled_from(contracts))
    assert isinstance(contract, Command)
    line = data.draw(st.sampled_from(contract.lines))
    assume(line.end > line.start)
    place = data.draw(st.integers(line.start, line.end - 1))
    new = data.draw(st.sampled_from([c for c in "xX0 /#" if c != text[place]]))
    assume(not (place == line.start and new == " "))  # indentation inside a list is the list's
    assert digest(parse(text[:place] + new + text[place + 1 :])) != digest(plan)


@pytest.mark.requirement("language.digest")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exit_code == 0", "exit_code == 1"),
        ("exit_code == 0", 'exit_code == 0\nstdout contains "x"'),
        ("retry(2), then escalate", "retry(3), then escalate"),
        ("20 minutes", "21 minutes"),
        ("$1.50", "$1.51"),
        ("200k", "201k"),
        ("target:** coder", "target:** reviewer"),
        ("topic:authentication", "topic:autorisation"),
        ("- docs/session-lifetime.md", "- docs/**"),
        ("owner: orchestrator", "owner: somebody"),
        ('"docs/**"', '"docs/*"'),
        ("### 2. Write", "### 2. (depends on none) Write"),
        ("**Priority:** high", "**Priority:** low"),
        ("tests/session\n", "tests/session \n"),
        ("## Postconditions", "## Preconditions"),
        ("**on_fail:** escalate", "**on_fail:** abort"),
        ("**target:** reviewer", "**target:** reviewer\n**timeout:** 5m"),
        ("**target:** reviewer", "**target:** reviewer\n**bogus:** 5m"),
        ("**target:** reviewer", "**target:** reviewer\n**evidence:** E3"),
    ],
)
def test_a_change_of_the_meaning_is_another_digest(old: str, new: str) -> None:
    text = (FIXTURES / "bug-fix.md").read_text(encoding="utf-8")
    assert old in text
    assert digest(parse(text.replace(old, new, 1))) != digest(parse(text))


@pytest.mark.requirement("language.digest")
def test_another_order_of_steps_or_items_is_another_digest() -> None:
    one = "## Steps\n### 1. A\n**touches:** a, b\n### 2. B\n"
    assert digest(parse(one)) != digest(parse(one.replace("a, b", "b, a")))
    assert digest(parse(one)) != digest(parse("## Steps\n### 1. B\n### 2. A\n**touches:** a, b\n"))


@pytest.mark.requirement("language.digest")
@pytest.mark.parametrize("name", ["bug-fix", "extraction", "migration"])
def test_digests_are_the_same_in_every_version(name: str) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    plan = parse((FIXTURES / f"{name}.md").read_bytes())
    assert digest(plan) == golden[name], canonical(plan)


def test_white_space_behind_a_lonely_tick_is_not_meaning() -> None:
    text = "# A\n\n## Postconditions\n\n1. [x]{}\n   ```shell\n   true\n   ```\n"
    assert digest(parse(text.format("  "))) == digest(parse(text.format("")))
