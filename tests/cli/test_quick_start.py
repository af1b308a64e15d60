"""Values that are defined in a hurry are the same values."""

from __future__ import annotations

import subprocess
import sys

TEXT = """
from __future__ import annotations
import typing
from planbound.cli.quick_start import hurry

def define():
    class Value(typing.NamedTuple):
        '''What it is.'''
        first: str
        second: tuple[int, ...] | None = None
        third: "typing.Mapping[str, int]" = {}
        def doubled(self) -> str:
            return self.first * 2
    return Value

slow = define()
hurry()
quick = define()
for name in ("__name__", "__module__", "__doc__", "_fields", "_field_defaults", "__match_args__"):
    assert getattr(slow, name) == getattr(quick, name), name
assert typing.get_type_hints(slow) == typing.get_type_hints(quick)
assert quick("a") == ("a", None, {}) and quick("a").doubled() == "aa"
assert quick("a")._replace(second=(1,)) == slow("a", (1,))
assert typing._make_nmtuple.__module__ == "planbound.cli.quick_start"
"""


def test_a_value_is_the_same_without_the_check_of_its_annotations() -> None:
    done = subprocess.run([sys.executable, "-c", TEXT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_whoever_imports_the_package_is_left_alone() -> None:
    text = "import typing; before = typing._make_nmtuple; import planbound; planbound.open_session"
    text += "; assert typing._make_nmtuple is before"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
