"""What a second person reads about a run, and about an agent in the loop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.run.bench import NOTHING, Bench, Step
from tests.session.scratch import SHOWN, A, B, Scratch

STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d planbound — ")
TOKEN = "ghp_" + "q7Xk2Lm9Zt4Rw8Nc5Vb1Hj6Pd3Sf0Ga2Ye4U"


def lines_of(path: Path) -> list[str]:
    found = path.read_text().splitlines()
    assert all(STAMP.match(line) for line in found), found
    return [STAMP.sub("", line) for line in found]


@pytest.mark.thorough
@pytest.mark.requirement("progress.run")
def test_failures_questions_answers_and_skips_of_a_run_are_read(bench: Bench) -> None:
    words = f"echo 'the key is {TOKEN}' >&2; false"
    bench.prepare(
        Step("Make a", work=NOTHING, fields="**on_fail:** retry(1), then escalate"),
        Step("Make b", contract=words, work=NOTHING, fields="**on_fail:** escalate"),
        Step("Make c"),
    )
    bench.goes("run", code=4)
    bench.answer("skip", "--guidance", f"never mind {TOKEN}")
    bench.goes("resume", code=4)
    question = bench.question()["id"]
    bench.answer("skip")
    bench.goes("resume")
    text = "\n".join(lines_of(bench.workspace / ".harness/progress.md"))
    expected = [
        "approved by tester",
        "a run began",
        "step 1, attempt 1, failed: ",
        "step 1, attempt 2, failed: ",
        "step 1 waits for a person (question ",
        "step 1 answered by tester: skip: never mind ",
        "step 1 skipped by tester: never mind ",
        "the run went on",
        "step 2, attempt 1, failed: ",
        f"step 2 waits for a person (question {question}): ",
        "step 2 answered by tester: skip",
        "step 2 skipped by tester: ",
        "the run went on",
        "step 3 proved: Make c",
        "postcondition 1 ",
        "the run ended: done with skips, 1 proved, 2 skipped",
    ]
    assert re.search(".*\n.*?".join(map(re.escape, expected)), text, re.DOTALL), text
    assert TOKEN not in text
    # It follows the journal: nothing is there twice.
    assert text.count("answered by tester") == 2
    assert text.count("approved by") == 1


@pytest.mark.requirement("progress.run")
def test_the_first_look_at_the_gate_makes_no_file_and_later_ones_are_read(bench: Bench) -> None:
    bench.lay(Step("Make a"))
    bench.goes("approve", code=4)
    path = bench.workspace / ".harness/progress.md"
    assert not path.exists()
    bench.goes("reject", "--as", "ann", "--reason", "too vague")
    bench.goes("approve", code=4)
    assert lines_of(path) == [
        "rejected by ann: too vague",
        f"approval asked for: digest {bench.digest()[:12]}",
    ]


@pytest.mark.requirement("progress.loop")
def test_what_happens_in_the_loop_is_read(tmp_path: Path) -> None:
    bench = Scratch(tmp_path)
    loop = bench.loop()
    assert loop.plan_create("Make both", [A, B]).ok
    loop.step_update(1, "in_progress")
    loop.step_update(1, "done", SHOWN)
    bench.right("a")
    loop.step_update(1, "done", SHOWN)
    loop.check("I am done")
    loop.step_update(2, "blocked", notes="there is no b in this world, and nobody can make one")
    loop.check("I am done")
    (path,) = (bench.workspace / ".harness").glob("progress-*.md")
    found = lines_of(path)
    assert found[:2] == ["draft of 2 steps written by `tools`", "step 1 begun: Make a"]
    assert found[2].startswith("step 1 judged: fail")
    assert found[3] == "step 1 proved: Make a"
    assert found[4].startswith("step 2 judged: fail")
    assert found[5].startswith("the agent said that it is done, and is not: ")
    assert found[6].startswith("step 2 is said to be blocked: there is no b")
    assert found[7] == "the agent ended: finished with blocked items"
