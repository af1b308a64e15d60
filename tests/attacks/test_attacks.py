"""Every attack fails and every honest twin passes, at the strongest isolation there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.verdict import VerdictKind
from tests.attacks import edited_tests
from tests.attacks.arena import Attack, fight

ATTACKS = edited_tests.ATTACKS


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_does_not_fool_the_harness(attack: Attack, tmp_path: Path) -> None:
    result = fight(attack, Isolation.I2, tmp_path)
    assert not result.fooled, (result.verdict, result.said)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_honest_twin_passes(attack: Attack, tmp_path: Path) -> None:
    result = fight(attack, Isolation.I2, tmp_path, honest=True)
    assert result.verdict is not None
    assert result.verdict.kind is VerdictKind.PASS, (result.verdict, result.said)
