"""A run in a suite that is not all green: what passed before passes, by name."""

from __future__ import annotations

import pytest

from tests.run.bench import Bench, Step

SUITE = "python3 -m unittest discover -s tests"
TESTS = """\
import unittest


class Values(unittest.TestCase):
    def test_good(self):
        self.assertEqual(open("src/value").read(), "ok\\n")

    def test_bad(self):
        self.fail("as it always did")
"""


@pytest.mark.thorough
@pytest.mark.requirement("judging.by-name")
def test_a_run_goes_on_beside_tests_that_failed_before_and_names_a_new_failure(
    bench: Bench,
) -> None:
    bench.write("src/value", "ok\n")
    bench.write("tests/test_values.py", TESTS)
    step = Step(
        "Make a",
        work=("echo broken > src/value; echo right > src/a", "echo ok > src/value"),
        contract=SUITE,
        expect="no new failures",
        touches="src/**",
    )
    bench.lay(step, Step("Make b", touches="src/b"), after=(SUITE,))
    plan = bench.read(".harness/PLAN.md")
    start, _, end = plan.rpartition("   ```\n")
    bench.write(".harness/PLAN.md", f"{start}   ```\n   no new failures\n{end}")
    bench.approve()
    bench.goes("gc")  # the names are needed still
    told = bench.goes("run", "PLAN").out
    assert "1 fail and did not before: test_values.Values::test_good" in told
    log = bench.log()
    first, *rest = log.of("CONTRACT_EVALUATED", subject="step", number="1")
    assert (first["verdict"], first["new_failures"]) == ("fail", ["test_values.Values::test_good"])
    assert {event["verdict"] for event in rest} == {"pass"}
    seen = log.of("BASELINE_OBSERVED", number="1")[0]["tests"]
    assert (seen["passed"], seen["failed"], len(seen["list"])) == (1, 1, 64)
    last = log.of("CONTRACT_EVALUATED", subject="postcondition")[-1]
    assert (last["verdict"], last["tests"]["failed"]) == ("pass", 1)
    assert bench.status()["steps"][0]["result"] == "holds"
