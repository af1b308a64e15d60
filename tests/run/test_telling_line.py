"""What a failure is called: the line of an output that tells most."""

from __future__ import annotations

import pytest

from planbound.agents.output import lines_of
from planbound.journal.words import Failed
from planbound.run.classify import LONGEST, contract_error, telling_line
from planbound.state.step import trouble_words

pytestmark = pytest.mark.requirement("recovery.error")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Connection timeout", "Connection timeout"),
        ("starting\nzork happened\n\n", "zork happened"),
        ("\n  \n", ""),
        (
            "Error: Connection timeout\n    at foo (x.js:1:2)\n\nNode.js v20.1.0",
            "Error: Connection timeout",
        ),
        (
            "npm ERR! code EZORK\nnpm ERR! errno 1\nnpm ERR! A complete log is in:\nnpm ERR!  /x",
            "npm ERR! code EZORK",
        ),
        ("fatal: not a git repository\n", "fatal: not a git repository"),
        (
            "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: no such zork",
            "ValueError: no such zork",
        ),
        (
            "panic: index out of range [3]\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2",
            "panic: index out of range [3]",
        ),
        (
            "2026-11-16 07:00:00,123 ERROR agent: zork\n2026-11-16 07:00:01 INFO shutting down",
            "2026-11-16 07:00:00,123 ERROR agent: zork",
        ),
        (
            'Exception in thread "main" java.lang.IllegalStateException: zork\n\tat A.b(A.java:3)',
            'Exception in thread "main" java.lang.IllegalStateException: zork',
        ),
        ('{"type": "error", "message": "zork happened"}', "zork happened"),
        ('{"error": {"code": 7, "message": "zork happened"}}', "zork happened"),
        ('{"error": ', '{"error":'),
        ("HTTP 429 Too Many Requests\nI gave up", "HTTP 429 Too Many Requests"),
        ("zork \x07\u202e!", "zork \\x07\\u202e!"),
        ("z" * 5000, "z" * LONGEST),
    ],
)
def test_the_line_that_tells_most_is_found(output: str, line: str) -> None:
    assert telling_line(lines_of(output)) == line


@pytest.mark.parametrize(
    ("reason", "output", "error"),
    [
        ("exit 1", "grep: a: No such file", "exit 1: grep: a: No such file"),
        ("exit 1", "", "exit 1"),
        ("exit 0, expected 1", "fine", "exit 0, expected 1: fine"),
        ("exit 1: 1 failed, 2 passed", "Error: x", "exit 1: 1 failed, 2 passed"),
        ("exit 1; phantom completion", "FAIL a\nbye", "exit 1: FAIL a; phantom completion"),
        ('stdout does not contain "x"', "Error: y", 'stdout does not contain "x"'),
        (
            "exit 2",
            "a.c:3:5: error: expected ';'\nb.c:1:1: error: x\nmake: *** [all] Error 1",
            "exit 2: a.c:3:5: error: expected ';'",
        ),
    ],
)
def test_a_contract_says_its_first_complaint(reason: str, output: str, error: str) -> None:
    assert contract_error(reason, lines_of(output)) == error


def test_what_failed_is_told_in_words() -> None:
    assert trouble_words(Failed.AGENT, "zork", 3) == "agent failed (exit 3): zork"
    assert trouble_words(Failed.AGENT, "the agent ended with 3", 3) == "agent failed (exit 3)"
    assert (
        trouble_words(Failed.AGENT, "ended by signal 9", None) == "agent failed: ended by signal 9"
    )
    assert trouble_words(Failed.TIME_LIMIT, "the agent ran past 1 s", None).startswith(
        "time limit: "
    )
    assert trouble_words(Failed.CONTRACT, "exit 1", 1) == trouble_words(None, "exit 1", 1) == ""
