"""The model of the run, as much of it as a suite has time for; `make model` is the long one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.examples import examples
from tests.run_model.machine import RunMachine


@pytest.mark.requirement(
    "invariant.only-the-harness-proves",
    "invariant.inconclusive",
    "invariant.no-event-no-state",
    "invariant.secrets-stay-out",
)
def test_the_invariants_hold_whatever_happens_in_whatever_order() -> None:
    run_state_machine_as_test(
        RunMachine,
        settings=settings(
            examples(45, quick=8),  # of thirty steps each
            stateful_step_count=30,
            deadline=None,
            # The same examples each time: `make model` looks for new ones.
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        ),
    )
