"""The model of the run, as long as a suite may take; `make model` is the long one."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.run_model.machine import RunMachine

RunMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
TestRun = RunMachine.TestCase
