"""Contracts that want tests to fail."""

from __future__ import annotations

import pytest

from planbound.judging.reproduction import wants_failures
from planbound.plan.model import Contains, ExitCodeIs, Stream
from planbound.script import read_script

PASS = [ExitCodeIs(0)]


@pytest.mark.requirement("judging.reproduction")
@pytest.mark.parametrize(
    "command",
    [
        "! pytest tests/x.py",
        "test -f tests/x.py && ! uv run pytest tests/x.py -x",
        "if uv run pytest tests/x.py; then exit 1; fi",
        "if pytest x.py; then echo passes; exit 1; fi",
        "pytest x.py && exit 1 || true",
        "pytest x.py || test $? -eq 1",
        "pytest x.py || [ $? -ne 0 ]",
        "pytest x.py 2>&1 | grep -q '1 failed'",
        "pytest x.py | grep FAILED",
        "(! pytest x.py)",
        "! python3 -m pytest -q tests/x.py",
        "cd api && ! go test ./...",
        "! npm test",
        "test -f a\n! pytest a",
        "! (uv run pytest a)",
        "! pytest a >/dev/null 2>&1",
    ],
)
def test_what_turns_a_failing_test_into_a_pass_wants_failures(command: str) -> None:
    assert wants_failures(read_script(command), PASS)


@pytest.mark.requirement("judging.reproduction")
@pytest.mark.parametrize(
    "command",
    [
        "pytest x.py",
        "if ! pytest x; then exit 1; fi",
        "pytest x && ! grep -rn error src",
        "pytest | tee log; if grep -q FAILED log; then exit 1; fi",
        "pytest | grep -q '0 failed'",
        "pytest | grep -v FAILED",
        "! pytest a | grep FAILED",
        "pytest || exit 1",
        "pytest | tail -5",
        "pytest || true",
        "pytest a && if grep -q x y; then exit 1; fi",
        "! grep -q failed log && pytest",
        "! make lint",
        "python -m pytest -q tests/test_a.py || test $? -eq 5",
        "pytest -q tests/test_a.py && ! pytest -q tests/test_legacy.py",
        "pytest -q tests && ! pytest --collect-only -q tests/old",
        "pytest -v | grep 'test_raises_AssertionError PASSED'",
        "pytest x.py || test $? -eq 127",
    ],
)
def test_what_only_looks_like_it_does_not(command: str) -> None:
    assert not wants_failures(read_script(command), PASS)


def test_an_exit_code_or_an_output_says_so_too() -> None:
    assert wants_failures(read_script("pytest a"), [ExitCodeIs(1)])
    assert wants_failures(read_script("pytest a || true"), [Contains(Stream.STDOUT, "1 failed")])
    assert not wants_failures(read_script("grep a b"), [ExitCodeIs(1)])
    assert not wants_failures(read_script("pytest a"), [ExitCodeIs(5)])
    assert not wants_failures(read_script("pytest a"), [Contains(Stream.STDOUT, "FAILED: 0")])
    assert not wants_failures(read_script("pytest a"), [Contains(Stream.STDOUT, "0 failed")])
