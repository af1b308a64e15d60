"""How the source is counted and drawn."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from tools.house import PAGE, ROOT, SOURCE, WALKED, code_lines, missing, read_imports
from tools.house_map import Box, drawing, rows, shown
from tools.house_walk import Walk, walk_of_run

BOXES = [
    Box("cli", "Parses & calls. More.", frozenset({"run", "plan"})),
    Box("run", "One run.", frozenset({"plan"})),
    Box("gate", "", frozenset({"errors"})),
    Box("plan", "The language.", frozenset()),
    Box("errors", "Refusals.", frozenset()),
]


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    text = '"""A module."""\n\n# why\nLIMIT = """\n\n"""\n"""A constant."""\n'
    text += 'def f():\n    """Do."""\n'
    assert code_lines(text, ast.parse(text)) == 4


def test_an_import_that_follows_from_others_is_not_drawn() -> None:
    assert shown(BOXES) == [("cli", "run"), ("run", "plan"), ("gate", "errors")]


def test_a_feature_stands_below_all_that_import_it() -> None:
    assert [[box.name for box in row] for row in rows(BOXES)] == [
        ["cli", "gate"],
        ["run", "errors"],
        ["plan"],
    ]


def test_every_feature_is_drawn_inside_the_picture() -> None:
    picture = drawing(BOXES)
    assert picture.count('class="box"') == 5
    assert picture.count('class="arrow"') == 3
    assert "Parses &amp; calls<" in picture


def test_a_walk_counts_a_file_once_and_each_change_of_file() -> None:
    walk = Walk(("a", "a", "b", "a"))
    assert (walk.own, walk.changes) == ({"a", "b"}, 2)


def test_a_page_may_name_only_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "src/planbound/gate").mkdir(parents=True)
    code = "def approve(): ...\nclass Sheet:\n    def show(self): ...\n"
    (tmp_path / "src/planbound/gate/approve.py").write_text(code)
    page = "See `gate/`, `gate/approve.py`, `gate/*.py`.\nAnd `gate/reject.py`, `nowhere/`.\n"
    page += "| `gate/approve.py` | `approve`, `Sheet.show`, `refuse` | decides |\n"
    (tmp_path / "page.md").write_text(page)
    assert list(missing("page.md", tmp_path)) == [
        "page.md:2: there is no `gate/reject.py`",
        "page.md:2: there is no `nowhere/`",
        "page.md:3: there is no `refuse` in `gate/approve.py`",
    ]
    of_gate = list(missing("page.md", tmp_path, of=["gate"]))
    assert of_gate == ["page.md:2: there is no `gate/reject.py`", of_gate[-1]]


@pytest.mark.thorough
def test_features_import_only_those_below_them() -> None:
    found = read_imports()
    place = {name: number for number, line in enumerate(found.order) for name in line}
    assert place
    for name, goals in found.counts.items():
        assert all(place[goal] > place[name] for goal in goals), name


@pytest.mark.thorough
def test_the_program_itself_uses_none_of_its_public_fakes() -> None:
    assert [name for name, goals in read_imports().counts.items() if "testing" in goals] == []


def test_no_list_of_imports_names_a_module_twice() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        for words in contract.values():
            if isinstance(words, list):
                assert [word for word in set(words) if words.count(word) > 1] == []


@pytest.mark.thorough
def test_a_run_goes_through_every_file_that_the_page_says() -> None:
    lines = (ROOT / PAGE).read_text(encoding="utf-8").split("\n")
    told = [match[1] for match in map(WALKED.match, lines) if match]
    assert told
    assert set(told) - walk_of_run(SOURCE).own == set()
