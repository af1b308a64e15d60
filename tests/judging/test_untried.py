"""Of which contracts is it known beforehand that nobody can see all that judges fail?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from planbound.judging.own_end import unsure_end
from planbound.judging.shell_state import read_state
from planbound.judging.untried import untried
from planbound.script import read_script
from planbound.script.project import ProjectTree
from planbound.script.walk import Entered, Ran, walk
from tests.cli.test_judge import Project, plan_text
from tests.tables import first_always

if TYPE_CHECKING:
    from planbound.judging.watched import WalkedContract

_LOOP = 'while read -r a b; do\n    test "$(bash src/add.sh {})" = "$b"\ndone < tests/cases\n'


def _walked(contract: str, files: Mapping[str, str]) -> WalkedContract:
    paths = [*files]

    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    found = [*walk([read_script(contract)], ProjectTree(paths, read))]
    walked = SimpleNamespace(
        calls=[item.call for item in found if isinstance(item, Ran)],
        scripts=[item.script for item in found if isinstance(item, Entered)],
        files=dict.fromkeys(paths),
        judges=frozenset(path for path in paths if path.startswith("tests/")),
        mains=tuple(path for path in paths if path.endswith(".py")),
        foreign_mains=(),
        project=SimpleNamespace(paths=paths, read=read),
    )
    return cast("WalkedContract", walked)


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ("python - <<'E'\nassert 1 == 1\nE", "write it into a file"),
        ("python3 -c 'assert add(1, 2) == 3'", "`python3 -c` expects cannot be changed"),
        ("python3 -uBc 'if add(1, 2): exit(1)'", "`python3 -c` expects cannot be changed"),
        ("python3 < tests/check.py", "reads as its program cannot be changed"),
        ("cat tests/check.py | python3", "reads as its program cannot be changed"),
        ("python3 tests", "the folder `tests`"),
        ("bash < tests/check.sh", "what `bash` reads as its script"),
        ("cat tests/check.sh | bash -s", "what `bash` reads as its script"),
        ("bash tests/loop.sh", "`bash src/add.sh"),
        ("ls tests | while read f; do bash src/add.sh; done", "`bash src/add.sh`"),
        ("{ read a; bash src/add.sh; read b; } < tests/cases", "`bash src/add.sh`"),
        ("prove -Isrc t", "nobody saw that `prove` can fail"),
        ("python3 tests/stdin.py < tests/cases", "can take away what `tests/stdin.py` reads"),
    ],
)
def test_what_nobody_can_try_is_named(contract: str, expected: str) -> None:
    files = {
        "src/add.sh": "",
        "tests/check.py": "assert True\n",
        "tests/check.sh": "true\n",
        "tests/loop.sh": _LOOP.format('"$a"'),
        "tests/stdin.py": "import sys\nfor line in sys.stdin:\n    pass\n",
    }
    assert expected in untried(_walked(contract, files))


@pytest.mark.parametrize(
    "contract",
    [
        "python3 tests/check.py",
        "python3 -m pytest -q tests",
        "python3 -W error tests/check.py",
        "python3 --version",
        "python3 -c 'from src.calc import add; print(add(20, 22))'",
        "bash tests/check.sh < tests/cases",
        "bash tests/own.sh",
        "ls tests | xargs -n1 bash src/add.sh",
        'ls tests | while read f; do echo "$f" | bash src/add.sh; done',
        'while read f; do test -f "$f"; done < tests/cases; bash src/add.sh',
        'for f in tests/*.in; do bash src/add.sh < "$f"; done',
    ],
)
def test_what_can_be_tried_is_not_named(contract: str) -> None:
    files = {
        "src/add.sh": "",
        "tests/check.py": "assert True\n",
        "tests/check.sh": "true\n",
        "tests/own.sh": _LOOP.format('"$a" < /dev/null'),
    }
    assert untried(_walked(contract, files)) == ""


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ('failed=0\nis_even 4 || failed=1\nexit "$failed"\n', "`is_even` is run in the shell"),
        ('failed=0\n[ "$(add 1 2)" = 3 ] || failed=1\nexit "$failed"\n', ""),
        ("is_even 4 || exit 1\n", ""),
    ],
)
def test_a_result_in_a_variable_is_within_reach_of_what_is_taken_in(
    check: str, expected: str
) -> None:
    files = {"src/lib.sh": "", "tests/check.sh": f". src/lib.sh\n{check}"}
    found = unsure_end(_walked("bash tests/check.sh", files))
    assert expected in found if expected else found == ""


@pytest.mark.parametrize("data", [b"", b"== options\n", b"no\n== end\n", b"\xff== end\n"])
def test_what_a_shell_did_not_write_is_no_state(data: bytes) -> None:
    assert read_state(data) is None


@pytest.mark.thorough
@pytest.mark.requirement("judging.evidence")
@pytest.mark.parametrize(
    ("contract", "expected"),
    first_always(
        [
            ("python3 -c 'from temperature import fahrenheit; fahrenheit(-300)'", "exit_code == 1"),
            ("! python3 -c 'from temperature import fahrenheit; fahrenheit(-300)'", ""),
            ("! python3 tests/raises.py", ""),
            ("python3 tests/raises.py", "exit_code == 1"),
            ("python3 tests/raises.py 2>&1 | grep -q ValueError", ""),
        ],
        fields=2,
    ),
)
def test_a_program_that_has_to_end_with_an_error_passes_at_what_was_promised(
    tmp_path: Path, contract: str, expected: str
) -> None:
    project = Project(tmp_path)
    project.write("temperature.py", "def fahrenheit(celsius):\n    return celsius\n")
    project.write(
        "tests/raises.py",
        "import sys\nsys.path.insert(0, '.')\nfrom temperature import fahrenheit\n"
        "fahrenheit(-300)\n",
    )
    project.plan("it", plan_text(contract, touches='"temperature.py"', expect=expected))
    project.baseline()
    project.write(
        "temperature.py",
        "def fahrenheit(celsius):\n    if celsius < -273.15:\n        raise ValueError(celsius)\n"
        "    return celsius\n",
    )
    found = project.first()
    assert (found["verdict"], found["evidence"]) == ("pass", "E2"), found["reason"]
