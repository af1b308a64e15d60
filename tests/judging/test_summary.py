"""A runner's own summary is read as it prints it, above all where it ran nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.script.runners import read_summary
from planbound.script.runners.runner import ReportedOutcome, ReportedTest, Summary, read_junit
from tests.examples import examples
from tests.tables import first_always, one_fact

RUNNERS = Path(__file__).parents[1] / "fixtures" / "runners"

# By fixture: runner, passed, failed, skipped, deselected.
SAID = {
    "cargo-failed": ("cargo test", 0, 1, 0, 0),
    "cargo-filtered": ("cargo test", 0, 0, 0, 3),
    "cargo-passed": ("cargo test", 3, 0, 1, 0),
    "ctest-failed": ("ctest", 1, 1, 2, 0),
    "ctest-nothing": ("ctest", 0, 0, 0, 0),
    "ctest-passed": ("ctest", 1, 0, 0, 0),
    "ctest-skipped": ("ctest", 1, 0, 2, 0),
    "go-build-failed": ("go test", 1, 1, 0, 0),
    "go-cached": ("go test", 2, 0, 0, 0),
    "go-failed": ("go test", 1, 1, 0, 0),
    "go-failed-verbose": ("go test", 1, 1, 1, 0),
    "go-json": ("go test", 1, 0, 1, 0),
    "go-no-test-files": ("go test", 0, 0, 0, 0),
    "go-nothing": ("go test", 0, 0, 0, 0),
    "go-passed": ("go test", 2, 0, 0, 0),
    "go-verbose": ("go test", 2, 0, 1, 0),
    "go-verbose-nothing": ("go test", 0, 0, 0, 0),
    "jest-failed": ("jest", 3, 1, 2, 0),
    "jest-filtered": ("jest", 0, 0, 4, 0),
    "jest-nothing": ("jest", 0, 0, 0, 0),
    "jest-pass-with-no-tests": ("jest", 0, 0, 0, 0),
    "jest-passed": ("jest", 2, 0, 2, 0),
    "mocha-failed": ("mocha", 1, 1, 2, 0),
    "mocha-nothing": ("mocha", 0, 0, 0, 0),
    "mocha-passed": ("mocha", 1, 0, 2, 0),
    "mocha-tap": ("tap", 1, 0, 2, 0),
    "node-failed-spec": ("node --test", 1, 1, 0, 0),
    "node-failed-tap": ("node --test", 1, 1, 0, 0),
    "node-junit": ("junit", 1, 1, 0, 0),
    "node-nothing-spec": ("node --test", 0, 0, 0, 0),
    "node-nothing-tap": ("node --test", 0, 0, 0, 0),
    "node-spec": ("node --test", 3, 0, 2, 0),
    "node-tap": ("node --test", 3, 0, 2, 0),
    "phpunit-failed": ("phpunit", 2, 2, 2, 0),
    "phpunit-nothing": ("phpunit", 0, 0, 0, 0),
    "phpunit-passed": ("phpunit", 2, 0, 0, 0),
    "phpunit-skipped": ("phpunit", 0, 0, 1, 0),
    "phpunit-testdox": ("phpunit", 2, 2, 2, 0),
    "phpunit-twice": ("phpunit", 4, 0, 0, 0),
    "pytest-all-deselected": ("pytest", 0, 0, 0, 4),
    "pytest-collect-only": ("pytest", 0, 0, 0, 0),
    "pytest-collection-error": ("pytest", 0, 1, 0, 0),
    "pytest-colour": ("pytest", 2, 0, 2, 0),
    "pytest-deselected": ("pytest", 1, 0, 0, 3),
    "pytest-mixed": ("pytest", 2, 2, 2, 0),
    "pytest-nothing": ("pytest", 0, 0, 0, 0),
    "pytest-quiet": ("pytest", 2, 0, 2, 0),
    "pytest-quiet-failed": ("pytest", 2, 2, 2, 0),
    "pytest-subtests": ("pytest", 7, 0, 0, 0),
    "pytest-subtests-failed": ("pytest", 2, 1, 0, 0),
    "pytest-twice": ("pytest", 4, 0, 4, 0),
    "pytest-xdist": ("pytest", 2, 0, 2, 0),
    "rspec-error-outside": ("rspec", 0, 1, 0, 0),
    "rspec-failed": ("rspec", 1, 1, 2, 0),
    "rspec-nothing": ("rspec", 0, 0, 0, 0),
    "rspec-passed": ("rspec", 1, 0, 2, 0),
    "unittest-failed": ("unittest", 1, 2, 0, 0),
    "unittest-nothing": ("unittest", 0, 0, 0, 0),
    "unittest-passed": ("unittest", 2, 0, 2, 0),
    "unittest-verbose": ("unittest", 2, 0, 2, 0),
    "vitest-failed": ("vitest", 2, 1, 2, 0),
    "vitest-nothing": ("vitest", 0, 0, 0, 0),
    "vitest-pass-with-no-tests": ("vitest", 0, 0, 0, 0),
    "vitest-passed": ("vitest", 1, 0, 2, 0),
}


def recorded(name: str) -> str:
    return (RUNNERS / f"{name}.txt").read_text(encoding="utf-8")


@one_fact("name", SAID)
def test_what_a_runner_really_printed_is_read(name: str) -> None:
    assert read_summary(recorded(name)) == Summary(*SAID[name])


def test_every_recorded_output_has_its_line_in_the_table() -> None:
    names = {path.stem for path in RUNNERS.glob("*.txt")}
    assert names == SAID.keys() | {"pytest-very-quiet"}


def test_a_runner_that_says_nothing_is_not_guessed() -> None:
    assert read_summary(recorded("pytest-very-quiet")) is None
    assert read_summary("") is None


def test_two_runners_are_added_up() -> None:
    both = recorded("pytest-quiet") + recorded("jest-passed")
    assert read_summary(both) == Summary("pytest + jest", 4, 0, 4)


def test_the_total_leaves_out_what_was_deselected() -> None:
    assert Summary("pytest", 1, 2, 3, 4).total == 6


@one_fact("name", [name for name in SAID if name != "node-junit"])
def test_a_summary_quoted_inside_of_a_line_does_not_count(name: str) -> None:
    quoted = "".join(f"he said: {line}\n" for line in recorded(name).splitlines())
    assert read_summary(quoted) is None


def test_windows_line_ends_and_colours_make_no_difference() -> None:
    text = recorded("jest-passed").replace("\n", "\r\n").replace("Tests:", "\x1b[1mTests:\x1b[22m")
    assert read_summary(text) == Summary("jest", 2, 0, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1..0\n", Summary("tap")),
        ("1..0 # SKIP no tests\n", Summary("tap")),
        ("TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n", Summary("tap", 1, 1)),
        ("1..3\nok 1 - a\n", Summary("tap", 1, 2)),
        ("1..2\nok 1 - a # TODO x\nnot ok 2 # skip\n", Summary("tap", 0, 0, 2)),
        ("1..10\n", None),
        ("ok 1 - a\n", None),
        ("no tests collected (3 deselected) in 0.01s\n", Summary("pytest", deselected=3)),
        (f"{'-' * 70}\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", Summary("unittest")),
        ("Test Suites: 1 failed, 1 total\nTests:       0 total\n", Summary("jest", 0, 1)),
        (" Test Files  1 failed (1)\n      Tests  no tests\n", Summary("vitest", 0, 1)),
        ("Tests: 1, Assertions: 0, Warnings: 1.\n", Summary("phpunit")),
        ("ok  \tdemo/a\t(cached) [no tests to run]\n", Summary("go test")),
        ("9" * 5000 + " passed in 0.01s\n", None),
    ],
)
def test_rare_forms_are_read(text: str, expected: Summary | None) -> None:
    assert read_summary(text) == expected


def test_a_report_names_every_test_and_how_it_ended() -> None:
    report = read_junit((RUNNERS / "junit-pytest.xml").read_bytes())
    assert report is not None
    summary, cases = report
    assert summary == Summary("junit", 2, 2, 2)
    assert ReportedTest("test_a::test_one", ReportedOutcome.PASSED) in cases
    assert ReportedTest("test_a::test_three", ReportedOutcome.SKIPPED) in cases
    assert ReportedTest("test_bad::test_bad", ReportedOutcome.FAILED) in cases


def test_a_report_in_the_output_is_not_counted_twice() -> None:
    report = (RUNNERS / "junit-pytest.xml").read_text()
    assert read_summary(report) == Summary("junit", 2, 2, 2)
    assert read_summary(f"{report}\n{recorded('pytest-quiet')}") == Summary("pytest", 2, 0, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<testsuites>",
        b"<html/>",
        b"<!DOCTYPE testsuites><testsuites/>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><testsuites>&b;</testsuites>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a><testsuites/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="nothing-like-this"?><testsuites/>',
        b"<testsuites>" + b" " * (16 * 1024 * 1024) + b"</testsuites>",
    ],
    ids=["empty", "open", "other", "doctype", "entity", "utf-16", "encoding", "large"],
)
def test_what_is_no_safe_report_is_refused(data: bytes) -> None:
    assert read_junit(data) is None


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    read_summary(text)


LINES = sorted({line for name in SAID for line in recorded(name).splitlines() if line.strip()})


@examples(60)
@given(st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=30))
def test_any_mixture_of_what_runners_print_can_be_read(lines: list[str]) -> None:
    read_summary("\n".join(lines))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_not(data: bytes) -> None:
    read_junit(data)
    read_junit(b"<testsuites>" + data + b"</testsuites>")


@pytest.mark.thorough
@pytest.mark.parametrize("size", first_always([250_000, 1_000_000]))
@one_fact(
    "unit",
    [
        "=", "= ", "1 passed, ", "1", " ", "\n", "\r", "\x1b[", "\x1b]0;", "Ran 1 tests in ",
        "-", "-" * 70 + "\n", "ok ", "ok 1 # ", "1..1\n", "# tests 1\n", "Test Suites: 1 passed\n",
        "<testsuite>", "<testsuites>\n", "\n<testsuite ", "\n<?xml ", " Test Files  1 passed\n",
        "--- PASS: ", "ok  \ta\t", "Tests: 1, Assertions: 1, Errors: 1", "\t  1 - a (",
        '{"Time":"', ".F", "a\u2028", "\ufffd",
    ],
)  # fmt: skip
def test_a_long_output_of_anything_is_read_fast(unit: str, size: int) -> None:
    # Processor time, with a wide margin: what backtracks without bounds takes minutes.
    text = unit * (size // len(unit))
    start = time.process_time()
    read_summary(text)
    assert time.process_time() - start < 3 * size / 1_000_000
