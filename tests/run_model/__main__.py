"""The long run of the model: `python -m tests.run_model --minutes 5`, other examples each time."""

from __future__ import annotations

import argparse
import random
import sys
import time

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.run_model.machine import RunMachine

_EXAMPLES = 100


def main() -> int:
    """Run rounds of examples until the time is up; the seed of a round plays it again."""
    parser = argparse.ArgumentParser(prog="python -m tests.run_model")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--steps", type=int, default=60, help="rules in a row, at most")
    parser.add_argument("--seed", type=int, help="play the round of this seed only")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.minutes * 60
    examples = 0
    while True:
        number = arguments.seed if arguments.seed is not None else random.getrandbits(32)
        print(f"{examples} examples; now those of --seed {number}", flush=True)
        run_state_machine_as_test(seed(number)(RunMachine), settings=_settings(arguments.steps))
        examples += _EXAMPLES
        if arguments.seed is not None or time.monotonic() > deadline:
            print(f"{examples} examples, all invariants held")
            return 0


def _settings(steps: int) -> settings:
    return settings(
        max_examples=_EXAMPLES,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


if __name__ == "__main__":
    sys.exit(main())
