"""Forms about worktrees: what they are bound to, and what is told with them."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from planbound.page import team_forms
from planbound.page.decide import ChangedMeanwhile
from planbound.page.visit import ShownPage
from planbound.receipts.html import join
from planbound.team.merge import Integrated, Landed, Note
from planbound.team.removal import Pruned, Removed
from tests.page.unserved import sent_back, visit

pytestmark = pytest.mark.requirement("page.team")

NAMES = ["a,b", "plain"]
NOTE = "note: the gates count that are committed in `main`"


class Foreseeing:
    """Foresees that every plan merges, and has something to say about it."""

    def __init__(self, _context: Any, plans: Any, _into: Any, tell: Any) -> None:
        self.plans, self.tell = plans or NAMES, tell

    def foresee(self) -> Integrated:
        self.tell(Note(NOTE))
        return Integrated("main", "1" * 40, "1" * 40, tuple(Landed(each, None) for each in NAMES))


def test_worktrees_of_plans_with_any_name_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], bool]] = []

    def prune(_context: Any, names: Any, *, dry_run: bool) -> Pruned:
        asked.append((list(names), dry_run))
        return Pruned(tuple(Removed(name, f"/at/{name}", None, "1") for name in NAMES))

    monkeypatch.setattr(team_forms, "prune_worktrees", prune)
    shown = team_forms.show_prune(visit())
    assert isinstance(shown, ShownPage)
    done = team_forms.prune(sent_back(str(join(shown.content)), team_forms.PRUNE, visit()))
    assert isinstance(done, ShownPage)
    assert asked[1:] == [(NAMES, True), (NAMES, False)]


def test_plans_with_any_name_are_merged_and_the_dry_run_says_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[list[str]] = []
    tips = {"now": "one"}

    def begin(_context: Any, plans: Any, _into: str) -> Any:
        begun.append(list(plans))
        ended = threading.Event()
        ended.set()
        return SimpleNamespace(ended=ended)

    board = SimpleNamespace(merges=SimpleNamespace(last=None, begin=begin))
    monkeypatch.setattr(team_forms, "Integrator", Foreseeing)
    monkeypatch.setattr(team_forms, "_digest", lambda *_: tips["now"])
    monkeypatch.setattr(team_forms, "Context", lambda **_: None)
    shown = team_forms.show_integrate(visit(board))
    assert isinstance(shown, ShownPage)
    text = str(join(shown.content))
    assert 0 < text.find("the gates count that are committed in") < text.find("<form")
    back = sent_back(text, team_forms.INTEGRATE, visit(board))
    team_forms.integrate(back)
    assert begun == [NAMES]
    tips["now"] = "two"
    with pytest.raises(ChangedMeanwhile) as changed:
        team_forms.integrate(back)
    assert "the gates count that are committed in" in str(join(*changed.value.content))
