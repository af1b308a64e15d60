"""Tests by their names: what they are compared by, and who names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.cells.cell import Captured, CommandEnding, Outcome, Request
from planbound.judging.canary import Reporter, reporter_for
from planbound.judging.corroborate import run_named
from planbound.judging.meaning import Compared, compare, declared_tests, decode, encode
from planbound.plan.model import MinimumTests, NoNewFailures
from planbound.script import read_script
from planbound.script.runners.runner import Canary, ReportedOutcome, ReportedTest
from tests.judging.test_canary import outcome
from tests.needs import need, need_working

pytestmark = pytest.mark.requirement("judging.by-name")


def cases(text: str) -> list[ReportedTest]:
    """Return tests of `name=outcome` words."""
    ends = {
        "+": ReportedOutcome.PASSED,
        "-": ReportedOutcome.FAILED,
        "/": ReportedOutcome.SKIPPED,
    }
    return [ReportedTest(word[1:], ends[word[0]]) for word in text.split()]


@pytest.mark.parametrize(
    ("before", "now", "failures", "gone"),
    [
        ("+a -b /c", "+a -b /c", "", ""),
        ("+a -b", "+a +b", "", ""),
        ("+a", "-a", "a", ""),
        ("+a", "/a", "a", ""),
        ("+a -b", "+a", "", "b"),
        ("+a", "", "", "a"),
        ("/a", "", "", "a"),
        ("+a", "+a +b", "", ""),
        ("+a", "+a -b", "b", ""),
        ("+a +a", "+a", "", "a"),
        ("+a +a", "+a -a", "a", ""),
        ("+a -a", "+a -a", "", ""),
        ("+a -a", "-a -a", "a", ""),
        ("+a[x-0x7f12345678]", "+a[x-0x7f87654321]", "", ""),
    ],
)
def test_what_fails_or_is_gone_is_named(before: str, now: str, failures: str, gone: str) -> None:
    found = compare(cases(before), cases(now))
    assert found == Compared(tuple(failures.split()), tuple(gone.split()))


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        ("+a +b -c", "1 failed, 2 passed"),
        ("-a +b -c", "1 fail and did not before: a"),
        ("+a -c", "1 disappeared: b"),
        ("+a +b", "1 disappeared: c"),
    ],
)
def test_which_tests_fail_is_said_before_how_many_pass(now: str, reason: str) -> None:
    ends = {ReportedOutcome.PASSED: "ok", ReportedOutcome.FAILED: "FAILED"}
    printed = "".join(f"test {case.id} ... {ends[case.outcome]}\n" for case in cases(now)).encode()
    code = 101 if "-" in now else 0
    ended = Outcome(CommandEnding.EXITED, code, stdout=Captured(printed, length=len(printed)))
    run = run_named(
        lambda _request: ended,
        Request((), "", {}),
        Reporter("cargo test", Canary((), ()), frozenset({101})),
        [NoNewFailures(), MinimumTests(2)],
        lambda _cases: cases("+a +b -c"),
    )
    assert run.finding.reason == reason


_CASES = st.lists(st.builds(ReportedTest, st.text(max_size=5), st.sampled_from(ReportedOutcome)))


@given(_CASES, _CASES)
def test_a_list_that_is_kept_is_compared_like_the_tests_themselves(
    before: list[ReportedTest], now: list[ReportedTest]
) -> None:
    kept = decode(encode(before))
    assert encode(kept) == encode(before)
    assert compare(kept, now) == compare(before, now)
    assert compare(before, before) == Compared((), ())


_UNITTEST = """\
import unittest
class T(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): self.fail()
    @unittest.skip("x")
    def test_c(self): pass
    @unittest.expectedFailure
    def test_d(self): self.fail()
    def test_e(self):
        with self.subTest(x=1): self.fail()
"""
_PYTEST = """\
import pytest
@pytest.mark.parametrize("x", [1, 2])
def test_a(x): assert x == 1
@pytest.mark.skip
def test_b(): pass
@pytest.mark.xfail
def test_c(): assert 0
class TestD:
    def test_e(self): print("5 passed in 0.01s")
"""
_NODE = """\
const test = require('node:test');
test('a', () => {});
test('b', () => { throw new Error('x'); });
test.describe('group', () => { test('c', () => {}); test.skip('d', () => {}); });
"""
# It writes what the real ones write where the real ones are told to write it.
_RUNNER = """\
const told = process.argv.find((word) => /^(--outputFile(\\.json)?|output)=/.test(word));
const file = __dirname + '/../../../a.test.js';
const report = process.argv.includes('--reporter-option')
  ? { passes: [{ file, fullTitle: 'a' }], failures: [{ file, fullTitle: 'g&b' }],
      pending: [{ file, fullTitle: 'c' }] }
  : { testResults: [{ name: file, status: 'failed', assertionResults: [
      { fullName: 'a', status: 'passed' }, { fullName: 'g&b', status: 'failed' },
      { fullName: 'c', status: 'pending' }] }] };
require('fs').writeFileSync(told.split('=')[1], JSON.stringify(report));
process.exit(1);
"""
_FOUND = "+a.test.js::a -a.test.js::g&b /a.test.js::c"
_CARGO = {
    "Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "#[test]\nfn a() {}\n#[test]\nfn b() { panic!() }\n"
    "#[test]\n#[ignore]\nfn c() {}\n",
    "tests/d.rs": "#[test]\nfn d() {}\n",
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("runner", "command", "files", "expected"),
    [
        (
            "pytest",
            "python -m pytest -q -x",
            {"tests/test_x.py": _PYTEST},
            "+tests.test_x::test_a[1] -tests.test_x::test_a[2] /tests.test_x::test_b \
            /tests.test_x::test_c +tests.test_x.TestD::test_e",
        ),
        (
            "unittest",
            "python -m unittest",
            {"test_x.py": _UNITTEST},
            "+test_x.T::test_a -test_x.T::test_b /test_x.T::test_c /test_x.T::test_d \
            -test_x.T::test_e",
        ),
        (
            "unittest",
            "make test",
            {"test_x.py": _UNITTEST, "Makefile": "test:\n\tpython -m unittest test_x.T.test_a\n"},
            "+test_x.T::test_a",
        ),
        ("node --test", "node --test", {"a.test.js": _NODE}, "+test::a -test::b +test::c /test::d"),
        ("cargo test", "cargo test --offline", _CARGO, "+a -b /c +d"),
        *(
            (name, f"npx {name}", {f"node_modules/{name}/bin/run.js": _RUNNER}, _FOUND)
            for name in ("jest", "vitest", "mocha")
        ),
    ],
    ids=["pytest", "unittest", "make", "node", "cargo", "jest", "vitest", "mocha"],
)
def test_a_runner_names_every_test_with_its_end(
    tmp_path: Path, runner: str, command: str, files: Mapping[str, str], expected: str
) -> None:
    if runner in {"node --test", "jest", "vitest", "mocha"}:
        need("node", "its runs are looked at")
    if runner == "cargo test":
        need_working("cargo")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    reporter = reporter_for(
        runner,
        read_script(command),
        list(files),
        lambda path: files[path].encode() if path in files else None,
        "ab12cd",
    )
    assert reporter is not None
    for name, content in (*reporter.added.files, *reporter.added.programs):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    added = {
        name: value.format(workspace=tmp_path) for name, value, _ in reporter.added.environment
    }
    if "PATH" in added:
        import os  # noqa: PLC0415 - for this one

        added["PATH"] += f":{os.environ['PATH']}"
    # As `npx` starts it.
    started = command.replace(f"npx {runner}", f"node node_modules/{runner}/bin/run.js")
    code, text = outcome(tmp_path, started, added)
    report = reporter.added.reports
    collected = {report: (tmp_path / report).read_bytes()} if report else {}
    data = text.encode()
    seen = Outcome(
        ending=CommandEnding.EXITED, stdout=Captured(data, b"", len(data)), collected=collected
    )
    found = reporter.cases(seen)
    assert found is not None, text
    assert sorted(found) == sorted(cases(expected))
    assert code == 0 or code in reporter.failing


@pytest.mark.parametrize(
    ("runner", "command"),
    [
        ("pytest", "python -m pytest -q && ruff check"),
        ("pytest", "python -m pytest -q || true"),
        ("pytest", "python -I -m pytest"),
        ("pytest", "pytest a; pytest b"),
        ("unittest", "env -i python -m unittest"),
        ("jest", "npx jest --reporters=default"),
        ("rspec", "bundle exec rspec"),
        ("ctest", "ctest"),
    ],
)
def test_where_no_report_can_be_had_nobody_pretends(runner: str, command: str) -> None:
    assert reporter_for(runner, read_script(command), [], lambda _path: None, "ab12cd") is None


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q;",
        "ruff check && python -m pytest -q tests  # all of them",
        "pytest -q > out.txt 2>&1",
        "cd sub && pytest -q\n\n# the end\n",
        "X=1 pytest tests -x",
    ],
)
def test_a_runner_at_the_end_of_a_command_can_be_asked(command: str) -> None:
    made = reporter_for("pytest", read_script(command), [], lambda _path: None, "ab12cd")
    assert made is not None


@pytest.mark.requirement("judging.counted")
@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("a.test.js", "test('a', () => {});\n  it.only('b', f)\nit.each([1, 2])('c', f)\n", 3),
        ("a.test.js", "// nothing but 'it(' in a text\nconsole.log('test(');\n", 0),
        ("spec/a_spec.rb", "  it 'does' do\n  end\n  specify { }\n", 2),
        ("tests/ATest.php", "public function testOne() {}\n#[Test]\npublic function two() {}\n", 2),
        ("test/a.bats", '@test "one" {\n}\n', 1),
        ("CMakeLists.txt", "add_test(NAME a COMMAND a)\n", 1),
        ("a_test.go", "func TestA(t *testing.T) {}\nfunc BenchmarkB(b *testing.B) {}\n", 1),
        ("src/lib.rs", "#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}\n", 2),
        ("tests/test_a.py", "def test_a(): pass\ndef helper(): pass\n", 1),
    ],
)
def test_tests_are_counted_in_the_sources_where_no_report_is(
    path: str, text: str, count: int
) -> None:
    assert declared_tests({path: text.encode()}) == count
