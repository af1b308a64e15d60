"""Comparisons of a shell that decide are found, and with another value the contract fails."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from planbound.cli.judging import sensitivity
from planbound.judging.mutated_shell import other_word, together
from planbound.script import read_script
from planbound.script.comparison import ExpectedKind
from planbound.script.deciding import Comparisons, find_comparisons
from planbound.script.project import ProjectTree
from planbound.script.runners.mutated import MutatedTests

HELPERS = """\
fail() { echo "$1" >&2; exit 1; }
is() {
    [ "$1" = "$2" ] || fail "$1 is not $2"
}
"""
DECIDING = {
    'test "$(echo 5)" = 5': 1,
    'x=5; [ "$x" == 5 ]': 1,
    'x="a b"; [[ $x = "a b" ]]': 1,
    "x=abc; [[ $x == a* ]]": 1,
    "x=5; [[ $x == 5 && $x -eq 5 ]]": 2,
    'x=5; [ "$x" = 5 -a 5 = "$x" ]': 2,
    "x=5; test $x -eq 5; echo done": 1,
    'x=5; y=5; [ "$x" = "$y" ]; [ $x -eq $y ]': 2,
    "x=3; (( x == 3 ))": 1,
    "x=total; [[ $x =~ ^tot(al)?$ ]]": 1,
    "echo total 5 | grep -q '^total 5$'": 1,
    "echo total 5 | grep -qE 'sum|total'": 1,
    "echo Total | grep -ciw total": 1,
    "grep -qxF '5*' <<< '5*'": 1,
    'want=5; echo 5 | grep -q -e "$want"': 1,
    'echo 5 | { read -r x; [ "$x" = 5 ]; }; x=6; [ "$x" = 6 ]': 1,
    'x=5; [ "$x" = 5 ] || exit 1; echo done': 1,
    'x=5; set +e; [ "$x" = 5 ] || { echo no; exit 2; }; true': 1,
    'true && x=5 && [ "$x" = 5 ] && test 5 = "$x"': 2,
    'x=5; if [ "$x" = 5 ]; then echo yes; else exit 1; fi; echo done': 1,
    'x=5; if [ "$x" != 5 ]; then exit 1; fi; [ "$x" -ne 5 ] && exit 1; true': 2,
    'x=5; if ! [ "$x" = 5 ]; then echo no; exit 1; fi': 1,
    "trap 'rm -f made' EXIT; x=5; ( [ \"$x\" = 5 ] )": 1,
    f'{HELPERS}is "$(echo 5)" 5\ngrep -q total <<< total || fail no': 2,
    "bash tests/plain.sh": 1,
    "./tests/strict.sh && echo done": 2,
    "cd tests && bash plain.sh": 1,
    "make check": 1,
    "echo 3 | diff - tests/expected.txt": 1,
    "cp tests/expected.txt made; cmp -s made tests/expected.txt": 1,
}
"""What bash takes for true, and how many comparisons decide in it."""
FILES = {
    "Makefile": ".PHONY: check\ncheck:\n\t@bash tests/plain.sh\n",
    "tests/plain.sh": 'x=5\n[ "$x" = 7 ]\n[ "$x" = 5 ]\n',
    "tests/strict.sh": '#!/bin/bash\nset -eu\n. "$(dirname "$0")/lib.sh"\nis 5 "$(echo 5)"\n'
    "test 5 -eq $(echo 5)\necho done\n",
    "tests/lib.sh": HELPERS,
    "tests/expected.txt": "3\n",
}
LEFT_ALONE = [
    '[ "$x" = 5 ] || true',
    "grep -q a file || grep -q b file",
    "! grep -q a file",
    'if [ "$x" = 5 ]; then echo yes; fi',
    'if [ -n "$CI" ]; then [ "$x" = 5 ]; fi',
    'case $x in 5) [ "$x" = 5 ];; esac',
    'until [ "$x" = 5 ]; do sleep 1; done',
    'for x in $none; do [ "$x" = 5 ]; done',
    '[ -n "$CI" ] || exit 0\n[ "$x" = 5 ]',
    'skip() { exit 0; }\n[ -n "$CI" ] || skip\n[ "$x" = 5 ]',
    'f() { [ "$x" = 5 ]; }\ntrue',
    'f() { [ -n "$CI" ] || return 0; [ "$x" = 5 ]; }\nf',
    "trap 'exit 0' EXIT\n[ \"$x\" = 5 ]",
    'set +e\n[ "$x" = 5 ]\ntrue',
    '[ "$x" = 5 ] && echo yes\ntrue',
    '[ "$x" = 5 ] &',
    'exec true\n[ "$x" = 5 ]',
    '. "$LIBRARY"\n[ "$x" = 5 ]',
    '[ "$x" = 5 -o "$x" = 6 ]',
    "[[ $x = 5 || $x = 6 ]]",
    "[ 5 = 5 ]",
    # They see the very text that is looked for.
    "ps aux | grep -q server",
    "set -x; ./tool > log 2>&1; grep -q made log",
    "grep -rq total .",
    "cat tests/*.sh | grep -q total",
    'grep -q total "$0"',
    "set | grep -q total",
    "git diff > made; grep -q total made",
    "grep -q total .harness/PLAN.md",
    # Nothing of it is an equality.
    "grep -qv a file",
    "grep -q -f patterns file",
    "diff -I total a tests/expected.txt",
    'eval "$check"; [ "$x" = 5 ]',
]  # fmt: skip


def find(text: str, files: Mapping[str, str] = FILES) -> Comparisons:
    data = {path: content.encode() for path, content in files.items()}
    return find_comparisons(
        read_script(text), ProjectTree(list(data), data.get), lambda path: path in data
    )


def ends(root: Path, command: str, files: Mapping[str, str]) -> int:
    for path, content in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(content)
        (root / path).chmod(0o755)
    return subprocess.run(
        ["bash", "--norc", "-e", "-c", command], cwd=root, capture_output=True, check=False
    ).returncode


@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize(("text", "number"), DECIDING.items())
def test_a_contract_fails_when_a_comparison_that_decides_expects_something_else(
    tmp_path: Path, text: str, number: int
) -> None:
    found = find(text).deciding
    assert len(found) == number
    assert ends(tmp_path, text, FILES) == 0
    for comparison in found:
        files: dict[str | None, str] = dict(FILES) | {None: text}
        if comparison.expects is ExpectedKind.FILE:
            # It is compared with itself where the product has to read it.
            assert comparison.is_only == (text.count("expected") == 1)
            continue
        old, word = files[comparison.path], comparison.word
        new = other_word(comparison, random.Random(text))
        files[comparison.path] = f"{old[: word.start]}{new}{old[word.end :]}"
        command = files.pop(None)
        assert ends(tmp_path, command, {str(path): each for path, each in files.items()})


@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize("text", LEFT_ALONE)
def test_a_comparison_that_may_be_passed_by_is_left_alone(text: str) -> None:
    assert not find(text).deciding


def test_a_script_that_is_no_judge_is_left_alone() -> None:
    data = {"tests/plain.sh": b'[ "$x" = 5 ]\n'}
    tree = ProjectTree(list(data), data.get)
    found = find_comparisons(read_script("bash tests/plain.sh"), tree, lambda _path: False)
    assert found == Comparisons()


def test_a_target_that_may_be_up_to_date_is_left_alone() -> None:
    files = {"Makefile": "tests:\n\tbash tests/plain.sh\n", "tests/plain.sh": '[ "$x" = 5 ]\n'}
    assert not find("make tests", files).deciding


def test_another_value_is_written_as_the_first_one() -> None:
    found = find('[ "$x" = 5 ]; [ "$x" = "a b" ]; [ "$x" = \'ab\' ]; grep -q \'a$\' x').deciding
    written = [other_word(each, random.Random(1)) for each in found]
    assert [text[0] if not text.isdigit() else "" for text in written] == ["", '"', "'", "'"]
    assert written[3].endswith("$'")
    assert all(text != each.word.text for text, each in zip(written, found, strict=True))


def test_functions_that_call_each_other_over_and_over_are_left_alone() -> None:
    functions = [f"f{n}() {{ {f'f{n + 1}; ' * 30} }}" for n in range(9)]
    text = "\n".join((*reversed(functions), 'f9() { [ "$x" = 5 ]; }', "f0", 'test "$x" = 5'))
    assert not find(text).deciding
    assert not find('f() { f; f; }\nf\n[ "$x" = 5 ]').deciding


def test_the_verdict_says_how_many_comparisons_noticed() -> None:
    shell = MutatedTests(("one",), (), ("two",), comparisons=2)
    assert sensitivity(shell) == "1 of 2 comparisons notice other values; 1 not tried"
    both = together(MutatedTests(("three",)), shell)
    assert both is not None
    assert sensitivity(both) == "2 of 3 checks notice other values; 1 not tried"
    assert together(None, None) is None
