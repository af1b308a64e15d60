"""What the gates of a branch judge by, in a commit that nobody checks out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from planbound.git.links import follow_links, other_names
from planbound.judging.judges import Judges
from planbound.script import read_script
from planbound.team.gate_judges import GateSettings, GateTree
from planbound.workspace.manifest import ChangeKind, TreeChange

pytestmark = pytest.mark.requirement("integrate.gates")


NONE = Judges(frozenset(), frozenset(), frozenset())


def tree(files: dict[str, str], **links: str) -> GateTree:
    """Return a tree; `_` in the name of a link stands for `/`."""

    def fetch(paths: Sequence[str]) -> dict[str, bytes]:
        return {path: files[path].encode() for path in paths}

    sizes = {path: len(text) for path, text in files.items()}
    return GateTree(sizes, {name.replace("_", "/"): to for name, to in links.items()}, fetch)


def judged(command: str, files: str | dict[str, str], **links: str) -> Judges:
    """Return what a gate judges by."""
    files = dict.fromkeys(files.split(), "") if isinstance(files, str) else files
    return tree(files, **links).judges([read_script(command)], [])


def test_a_judge_behind_a_link_counts_by_both_names() -> None:
    files = {"tools/strict.sh": "python tools/check_more.py\n", "tools/check_more.py": ""}
    found = judged("sh tests/check", files, tests_check="../tools/strict.sh")
    assert found.files == {"tests/check", "tools/strict.sh", "tools/check_more.py"}
    found = judged("pytest tests", "suite/test_a.py suite/sub/test_b.py src/app.py", tests="suite")
    assert found.files >= {"suite/test_a.py", "suite/sub/test_b.py", "tests/test_a.py"}
    assert found.directories >= {"tests", "suite"}
    assert {"suite/conftest.py", "suite/__init__.py"} <= found.names
    assert "src/app.py" not in found.files


@pytest.mark.parametrize(
    ("links", "path", "target"),
    [
        ({"a": "b"}, "a/x", "b/x"),
        ({"a/b": "../c"}, "a/b/x", "c/x"),
        ({"a": "b", "b": "c/./d"}, "a", "c/d"),
        ({"a": "/etc"}, "a/x", None),
        ({"a": "../x"}, "a", None),
        ({"a": "b", "b": "a"}, "a", None),
        ({"a": ".."}, "a", None),
    ],
)
def test_links_are_followed_by_their_text(
    links: dict[str, str], path: str, target: str | None
) -> None:
    assert follow_links(path, links) == target


def test_files_are_known_by_every_name_that_links_give_them() -> None:
    found = other_names(["c/x"], {"a": "b", "b": "c", "c/self": "."})
    assert found.files["a/x"] == found.files["b/x"] == found.files["c/self/x"] == "c/x"
    assert not found.left
    many = other_names([f"c/{n}" for n in range(20)], {"a": "c", "b": "a"}, most=30)
    assert many.left == {"c"}


# -- what takes effect by itself ---------------------------------------------------------------


@pytest.mark.parametrize("kind", list(ChangeKind))
@pytest.mark.parametrize(
    "path",
    ".env .python-version sub/.gitattributes .npmrc conftest.py pyvenv.cfg .venv/bin/ruff"
    " tools/venv/bin/ruff env/bin/ruff conda-meta/history .venv/lib/x.py bin/python".split(),
)
def test_what_runs_by_itself_counts_however_it_changed(path: str, kind: ChangeKind) -> None:
    assert GateSettings(["env/pyvenv.cfg"], NONE).takes_effect(TreeChange(path, kind, None, None))


@pytest.mark.parametrize(
    "path",
    "src/app.py src/venv/create.py README.md bin/planbound src/queue.py pyproject.toml"
    " setup.cfg".split(),
)
def test_the_product_does_not_run_by_itself(path: str) -> None:
    changed = TreeChange(path, ChangeKind.CHANGED, None, None)
    assert not GateSettings(["src/app.py"], NONE).takes_effect(changed)


@pytest.mark.parametrize(
    ("makefile", "path", "counts"),
    [
        ("include make/*.mk\n", "make/zz.mk", True),
        ("include make/*.mk\n", "other/zz.mk", False),
        ("include make/*.mk\n", "make/README.md", False),
        ("include $(wildcard ./make/*.mk)\n", "make/zz.mk", True),
        ("D := make\ninclude \\\n $(D)/*.mk # all\n", "make/zz.mk", True),
        ("D := make\ninclude $(D)/*.mk\n", "other/zz.mk", False),
        ("D ?= make\ninclude $(D)/base.mk\n", "other/zz.mk", True),
        ("D := make\nD += more\ninclude $(D)/base.mk\n", "other/zz.mk", True),
        ("include $(shell find . -name 'x*')\n", "other/zz.mk", True),
        ("include $(shell find . -name 'x*')\n", "src/app.py", False),
        ("include make/base.mk\n", "make/zz.mk", False),
    ],
)
@pytest.mark.parametrize("kind", list(ChangeKind))
def test_what_a_makefile_would_include_counts_before_it_is_there(
    makefile: str, path: str, kind: ChangeKind, *, counts: bool
) -> None:
    files = {"Makefile": f"{makefile}test:\n\ttrue\n", "make/base.mk": "", "src/app.py": ""}
    settings = GateSettings(list(files), judged("make test", files))
    assert settings.takes_effect(TreeChange(path, kind, None, None)) is counts
    inside = {"sub/" + name: text for name, text in files.items()}
    settings = GateSettings(list(inside), judged("make -C sub test", inside))
    change = TreeChange(f"sub/{path}", kind, None, None)
    assert settings.takes_effect(change) is counts


@pytest.mark.parametrize(
    ("command", "path", "counts"),
    [
        ("ruff check .", "src/ruff.toml", True),
        ("make lint", "src/ruff.toml", True),
        ("make lint", "src/.eslintrc.json", False),
        ("npx eslint .", "src/.eslintrc.json", True),
        ("mypy src", "src/mypy.ini", False),
        ("ruff check .", "a/pyproject.toml", True),
        ("ruff check .", "b/pyproject.toml", False),
        ("pytest", "a/pyproject.toml", False),
    ],
)
@pytest.mark.parametrize("kind", list(ChangeKind))
def test_settings_of_linters_count_below_the_folder_that_is_checked(
    command: str, path: str, kind: ChangeKind, *, counts: bool
) -> None:
    texts = {"a/pyproject.toml": b"[tool.ruff]", "b/pyproject.toml": b"[project]"}
    there = tree({"Makefile": "lint: ; ruff check src\n", "src/app.py": ""})
    scripts = [read_script(command)]
    settings = GateSettings(there.paths, NONE, there.nested(scripts), lambda path: texts[path])
    assert settings.takes_effect(TreeChange(path, kind, None, None)) is counts
