"""Every attack fails and every honest twin passes, at the strongest isolation there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.verdict import VerdictKind
from tests.attacks import doors_left_open
from tests.attacks.arena import Attack, fight, is_installed
from tests.attacks.catalogue import ATTACKS, OTHER_LANGUAGES
from tests.needs import leave_out

_NEW = doors_left_open.ATTACKS
OFTEN = (
    *ATTACKS[: -len(_NEW) : 5],
    *(attack for attack in _NEW if attack.family != "names"),
    *[attack for attack in _NEW if attack.family == "names"][::4],
)


def _ready(attack: Attack) -> None:
    for program in attack.project.needs:
        if not is_installed(program):
            leave_out(f"`{program}` is not here: a project is tested by it")


@pytest.mark.requirement("judging.attacks", "invariant.only-the-harness-proves", "cell.agent")
# Every fifth one, which is some of each family; `make attacks` fights all of them.
@pytest.mark.parametrize("attack", OFTEN, ids=lambda attack: attack.name)
def test_an_attack_does_not_fool_the_harness(attack: Attack, tmp_path: Path) -> None:
    _ready(attack)
    result = fight(attack, Isolation.I2, tmp_path)
    assert not result.fooled, (result.verdict, result.said)


# One twin for each project; `make attacks` lets all of them work.
TWINS = tuple({repr(attack.project): attack for attack in ATTACKS}.values())


@pytest.mark.requirement("judging.attacks")
@pytest.mark.parametrize("attack", TWINS, ids=lambda attack: attack.name)
def test_an_honest_twin_passes(attack: Attack, tmp_path: Path) -> None:
    _ready(attack)
    result = fight(attack, Isolation.I2, tmp_path, honest=True)
    assert result.verdict is not None
    assert result.verdict.kind is VerdictKind.PASS, (result.verdict, result.said)


@pytest.mark.requirement("judging.attacks")
def test_the_catalogue_is_as_large_as_promised() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) >= 45
    assert len(OTHER_LANGUAGES) >= 10
