"""What a contract runs, also where it is written elsewhere."""

from __future__ import annotations

import json

import pytest

from planbound.script import read_script
from planbound.script.project import ProjectTree
from planbound.script.runners.runner import JudgedTree
from planbound.script.walk import Executed, Ran, find_call, only_reads_looped, walk


def tree_of(files: dict[str, str]) -> ProjectTree:
    return ProjectTree(list(files), lambda path: files[path].encode() if path in files else None)


def calls(command: str, files: dict[str, str]) -> list[tuple[str, bool]]:
    """Return the programs that come by, and whether their failure is the contract's."""
    items = walk([read_script(command)], tree_of(files))
    return [(item.call.program, item.is_sure) for item in items if isinstance(item, Ran)]


def package(**scripts: str) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": scripts})}


def test_a_recipe_is_walked_with_what_it_needs_and_includes() -> None:
    files = {
        "Makefile": "include mk/*.mk\ntest: lint\n\t@pytest -q\n\t-rm -rf out\n",
        "mk/lint.mk": "lint:\n\truff check .\n",
    }
    assert calls("make test", files) == [
        ("make", True),
        ("pytest", True),
        ("rm", False),
        ("ruff", False),
    ]


def test_a_package_script_is_walked_with_what_runs_before_and_after_it() -> None:
    files = package(pretest="eslint .", test="vitest run", posttest="echo done; ls")
    assert calls("npm test", files) == [
        ("npm", True),
        ("eslint", True),
        ("vitest", True),
        ("echo", False),
        ("ls", False),
    ]


@pytest.mark.parametrize(
    ("command", "is_cut"),
    [
        ("node --test", False),
        ("node --test 2>&1", False),
        ("node --test | tee log | cat", False),
        ("npm run build > /dev/null && node --test", False),
        ("node --test 2>&1 | tail -n 5", True),
        ("node --test | tee log | tail -n 5", True),
        ("node --test > out.tap", True),
        ("{ node --test; } > out.tap", True),
        ("exec > out.tap\nnode --test", True),
        ("(node --test) | head -n 1", True),
        ("OUT=$(node --test)", True),
        ("if node --test | grep -q x; then exit 1; fi", True),
        ("npm test | tail -n 5", True),
        ("bash t.sh | tail -n 5", True),
        ("for f in t.sh; do bash $f | tail -n 5; done", True),
    ],
)
def test_it_is_known_whether_all_that_a_call_prints_comes_out(command: str, is_cut: bool) -> None:  # noqa: FBT001 - a row of the table
    files = {**package(test="node --test", build="tsc"), "t.sh": "node --test\n"}
    items = walk([read_script(command)], tree_of(files))
    found = [item for item in items if isinstance(item, Ran) and item.call.program == "node"]
    assert [item.is_cut for item in found] == [is_cut]


def test_a_call_of_a_runner_that_runs_no_tests_is_none_of_its_calls() -> None:
    files = package(test="node --check a.js && node --test")
    project = JudgedTree(list(files), lambda path: files[path].encode(), "x")
    found = find_call(read_script("npm test"), ("node",), project)
    assert found is not None
    assert found.call.values() == ["--test"]
    assert find_call(read_script("node $X && node --test"), ("node",), project) is None


def test_a_shell_script_is_walked_and_nothing_in_it_is_sure() -> None:
    files = {"ci/test.sh": "make test\n", "Makefile": "test:\n\tpytest\n"}
    assert calls("bash ci/test.sh", files) == [
        ("bash", True),
        ("make", False),
        ("pytest", False),
    ]


def test_a_file_that_nobody_follows_does_not_come_by() -> None:
    files = {"run.sh": "pytest\n", "tests/a.sh": "true\n"}
    found = walk(
        [read_script("./run.sh\nfor each in tests/*.sh; do bash $each; done")],
        tree_of(files),
        follows=lambda executed: executed.path.startswith("tests/"),
    )
    assert [item.path for item in found if isinstance(item, Executed)] == ["tests/a.sh"]


def test_what_runs_itself_is_walked_once() -> None:
    files = {"Makefile": "test:\n\t$(MAKE) test\n\tpytest\n"}
    items = list(walk([read_script("make test")], tree_of(files)))
    ran = [item for item in items if isinstance(item, Ran)]
    assert [item.call.program for item in ran] == ["make", "make", "pytest"]
    assert [item.is_unread for item in ran] == [False, True, False]


@pytest.mark.parametrize(
    ("command", "files", "directory"),
    [
        ("make test", {"Makefile": "test check:\n\tpytest\n"}, ""),
        ("cd sub && make test", {"sub/Makefile": "test:\n\tpytest\n"}, "sub"),
        ("npm run unit", package(unit="make unit") | {"Makefile": "unit:\n\tpytest\n"}, ""),
        ("make -C sub test", {"sub/Makefile": "test:\n\tpytest\n"}, None),
        ("make test", {"Makefile": "export A=1\ntest:\n\tpytest\n"}, None),
        ("make test", {"Makefile": "test: unit\nunit:\n\tpytest\n"}, None),
        ("npm test", package(test="pytest; true"), None),
        ("make test && pytest", {"Makefile": "test:\n\tpytest\n"}, None),
    ],
)
def test_the_call_that_runs_the_tests_is_found_only_where_its_failure_surely_arrives(
    command: str, files: dict[str, str], directory: str | None
) -> None:
    tree = JudgedTree(list(files), tree_of(files).read, "")
    found = find_call(read_script(command), ("pytest",), tree)
    assert (None if found is None else found.directory) == directory


LOOP = "for case in tests/cases/*.in; do {} done"


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ('./bin/sum < "$case" > out;', True),
        ('want=${case%.in}.out; ./bin/sum < "$case" > out; diff -u "$want" out;', True),
        ('echo "$(basename "$case")"; ./bin/sum < "$case";', True),
        ('bash "$case";', False),
        ('"$case";', False),
        ('. "$case";', False),
        ('bash < "$case";', False),
        ('cat "$case" | sh;', False),
        ('cat "$case" > x; ./x;', False),
        ('run=$case; bash "$run";', False),
        ('text=$(cat "$case"); eval "$text";', False),
        ('check "$case";', False),
        ('timeout 5 "$case";', False),
        ('RUN="$case" ./all;', False),
        ('bash "$(dirname "$case")/x";', False),
        ('[[ -s $case ]] && bash "$case";', False),
    ],
)
def test_a_file_that_a_loop_only_reads_is_no_program(body: str, *, reads: bool) -> None:
    assert only_reads_looped(read_script(LOOP.format(body)), "tests/cases/*.in") is reads
