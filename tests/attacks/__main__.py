"""Fights all attacks at every level of isolation and prints how many got through.

`python -m tests.attacks --write` also puts the table into docs/concepts/trust.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from planbound.cells.isolation import Isolation
from planbound.errors import PlanboundError
from planbound.journal.event import VerdictKind
from tests.attacks.arena import fight, is_installed
from tests.attacks.catalogue import ATTACKS

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "trust.md"
_TABLE = re.compile(r"(<!-- attacks -->\n).*?(<!-- /attacks -->)", re.DOTALL)
LEVELS = (Isolation.I2, Isolation.I1, Isolation.I0)


def main() -> int:
    """Fight, print; 1 where an attack got through at I2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    ready = [
        number
        for number, attack in enumerate(ATTACKS)
        if all(is_installed(program) for program in attack.project.needs)
    ]
    print(f"{len(ATTACKS)} attacks, {len(ATTACKS) - len(ready)} left out: a program is missing")
    tasks = [
        (number, level, honest) for level in LEVELS for number in ready for honest in (False, True)
    ]
    surprises = 0
    fooled: dict[Isolation, list[str]] = {level: [] for level in LEVELS}
    twins: dict[Isolation, int] = dict.fromkeys(LEVELS, 0)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for (number, level, honest), got in zip(tasks, pool.map(_task, tasks), strict=True):
            attack = ATTACKS[number]
            if honest:
                twins[level] += got
                if not got and level is Isolation.I2:
                    print(f"{level.value}: the honest twin of `{attack.name}` did not pass")
                    surprises += 1
            elif got:
                fooled[level].append(attack.name)
                print(f"{level.value}: `{attack.name}` got through")
                surprises += level is Isolation.I2
    table = "\n".join(_rows(len(ready), fooled, twins)) + "\n"
    print(table)
    if arguments.write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            _TABLE.sub(lambda match: match[1] + table + match[2], text), encoding="utf-8"
        )
    return 1 if surprises else 0


def _task(task: tuple[int, Isolation, bool]) -> bool:
    number, level, honest = task
    attack = ATTACKS[number]
    if level is Isolation.I0:
        # More evidence than E1 cannot be had there, so nothing would ever pass.
        attack = attack._replace(project=attack.project._replace(evidence="E1"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            result = fight(attack, level, Path(folder), honest=honest)
        except PlanboundError as error:  # loud, so nobody is fooled; but no twin passes
            print(f"{level.value}: `{attack.name}`: {error.message[:200]}")
            return False
    if honest:
        return result.verdict is not None and result.verdict.kind is VerdictKind.PASS
    return result.fooled


def _rows(
    count: int, fooled: dict[Isolation, list[str]], twins: dict[Isolation, int]
) -> Iterator[str]:
    yield "| isolation | fooled / attacks | honest twins passed | what got through |"
    yield "| --- | ---: | ---: | --- |"
    for level in LEVELS:
        names = ", ".join(fooled[level]) or "nothing"
        won, passed = f"{len(fooled[level])} / {count}", f"{twins[level]} / {count}"
        yield f"| `{level.value}` | {won} | {passed} | {names} |"


if __name__ == "__main__":
    sys.exit(main())
