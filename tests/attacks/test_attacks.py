"""Every attack fails and every honest twin passes, at the strongest isolation there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.cells.isolation import Isolation
from planbound.journal.event import VerdictKind
from tests.attacks.arena import Attack, fight, is_installed
from tests.attacks.catalogue import ATTACKS, OTHER_LANGUAGES
from tests.needs import leave_out

ALWAYS: dict[str, str] = {}
for _attack in sorted(ATTACKS, key=lambda attack: "pytest" in repr(attack.project)):
    if not _attack.project.needs:
        ALWAYS.setdefault(_attack.family, _attack.name)
"""The first attack of each family for `make test`; where there is one on a project that is not
tested by pytest, not even by a script, the first of those: pytest takes a while to start."""
EVERY = [
    pytest.param(
        attack,
        marks=() if attack.name in ALWAYS.values() else pytest.mark.thorough,
        id=attack.name,
    )
    for attack in ATTACKS
]
by_project = pytest.mark.parametrize("attack", EVERY, scope="module")
"""Attack and twin one after the other, for what is seen of a project is kept for the next."""


def _ready(attack: Attack) -> None:
    for program in attack.project.needs:
        if not is_installed(program):
            leave_out(f"`{program}` is not here: a project is tested by it")


@pytest.mark.thorough
@pytest.mark.requirement("judging.attacks", "invariant.only-the-harness-proves", "cell.agent")
@by_project
def test_an_attack_does_not_fool_the_harness(attack: Attack, tmp_path: Path) -> None:
    _ready(attack)
    result = fight(attack, Isolation.I2, tmp_path)
    assert not result.fooled, (result.verdict, result.said)


@pytest.mark.thorough
@pytest.mark.requirement("judging.attacks")
@by_project
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


def test_some_attack_of_every_family_is_always_fought() -> None:
    assert set(ALWAYS) == {attack.family for attack in ATTACKS}
