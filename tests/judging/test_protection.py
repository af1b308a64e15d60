"""What is called as a cache is one only where it is a real one."""

from __future__ import annotations

import pytest

from planbound.judging.case import CACHE_NAMES, Scope
from planbound.judging.judges import Judges
from planbound.judging.protection import protect
from planbound.plan.glob import parse_glob
from planbound.workspace.manifest import ChangeKind, Entry, EntryType, TreeChange
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("judging.caches")
NO_JUDGES = Judges(frozenset(), frozenset(), frozenset())
SCOPE = Scope((parse_glob("src/**"),))


def added(path: str, kind: EntryType) -> TreeChange:
    return TreeChange(path, ChangeKind.ADDED, None, Entry(kind, 0o777, 0, b"somewhere"))


@one_fact("name", sorted(CACHE_NAMES))
@one_fact("kind", [EntryType.LINK, EntryType.FILE, EntryType.OTHER])
def test_a_cache_that_is_no_folder_is_removed_and_named(name: str, kind: EntryType) -> None:
    outside = protect([added(name, kind)], NO_JUDGES, SCOPE)
    assert outside.removed == (name,)
    assert [item.path for item in outside.tampered] == [name]
    for scope in (SCOPE, Scope(None)):
        inside = protect([added(f"src/{name}", kind)], NO_JUDGES, scope)
        assert inside.removed == (f"src/{name}",)
        assert [item.path for item in inside.flagged] == [f"src/{name}"]
        assert not inside.tampered


def test_a_cache_that_is_a_file_may_come_anywhere_but_no_link_to_another() -> None:
    fine = protect([added(".coverage", EntryType.FILE)], NO_JUDGES, SCOPE)
    assert not fine.outside
    assert not fine.tampered
    assert protect([added(".coverage", EntryType.LINK)], NO_JUDGES, SCOPE).tampered


def test_a_link_by_another_name_is_looked_at_as_any_file() -> None:
    assert not protect([added("src/cache", EntryType.LINK)], NO_JUDGES, SCOPE).removed
    assert protect([added("cache", EntryType.LINK)], NO_JUDGES, SCOPE).outside == ("cache",)
