"""Which programs contracts use is said, and an approval is bound to it."""

from __future__ import annotations

import re
import sys

import pytest

from planbound.journal.words import Method
from planbound.judging.unrunnable import (
    CalledProgram,
    called_programs,
    read_version,
    runs_files,
    version_words,
)
from planbound.script import read_script
from planbound.state.approval import Approval, CurrentPlan, mismatch
from tests.project_environment import make_environment
from tests.run.bench import Bench, Step

PYTHON = ".".join(map(str, sys.version_info[:3]))


def called(*commands: str, **files: str) -> list[tuple[str, str | None]]:
    found = {name.replace("__", "."): text.encode() for name, text in files.items()}
    scripts = [read_script(command) for command in commands]
    return [
        (item.word, item.module_of) for item in called_programs(scripts, list(found), found.get)
    ]


@pytest.mark.requirement("environment.tools")
def test_programs_are_found_also_in_recipes_and_scripts() -> None:
    assert called("grep -q x y && test -f z") == []
    assert called("python -m pytest -q", "timeout 9 python3.12 x.py") == [
        ("python", None),
        ("python3.12", None),
        ("pytest", "python"),
    ]
    assert called("make test", Makefile="test:\n\tnode --test\n") == [("node", None)]
    assert called("npm test", package__json='{"scripts": {"test": "jest"}}') == [
        ("jest", None),
        ("npm", None),
    ]
    assert called(".venv/bin/python -c 1") == [(".venv/bin/python", None)]
    for command in ("make test", "npm test", "./check", "bash check.sh", "$RUN"):
        assert runs_files(read_script(command)), command
    assert not runs_files(read_script("python -m pytest && grep -q x y"))


@pytest.mark.requirement("environment.tools")
def test_a_version_is_read_from_what_a_program_says() -> None:
    assert version_words(CalledProgram("go")) == ("go", "version")
    assert read_version("go version go1.22.1 linux/amd64") == "1.22.1"
    assert read_version("v20.11.0\n") == "20.11.0"
    assert read_version("Python 3.13.0rc1+") == "3.13.0rc1+"
    assert read_version("nothing") == ""


@pytest.mark.requirement("environment.tools")
def test_a_changed_program_voids_an_approval_by_name() -> None:
    approval = Approval(
        "n", "d", {}, "c", "Ann", Method.DIGEST, tools={"python": "3.11.7 .venv/bin/python"}
    )
    current = CurrentPlan("d", {}, "c", "")
    assert mismatch(approval, current) is None
    other = current._replace(tools={"python": "3.12.1 .venv/bin/python", "node": "20.1 x"})
    assert mismatch(approval, other) == "judge changed: python 3.11.7 → 3.12.1"
    moved = current._replace(tools={"python": "3.11.7 /usr/bin/python"})
    assert mismatch(approval, moved) == (
        "judge changed: python 3.11.7 .venv/bin/python → 3.11.7 /usr/bin/python"
    )
    assert mismatch(approval, current._replace(tools={})) == "judge changed: python 3.11.7 → gone"
    assert mismatch(approval._replace(tools=None), other) is None


@pytest.mark.thorough
@pytest.mark.requirement("environment.tools", "environment.unset")
def test_what_contracts_use_is_shown_and_approved(bench: Bench) -> None:
    make_environment(bench.workspace / ".venv")
    step = Step("make one", contract="python -m pytest --version && grep -qx right src/one")
    slug = bench.lay(step, settings='[contracts]\nenv = ["SHOP_URL"]\npath = ["gone"]\n')
    site = next((bench.workspace / ".venv" / "lib").glob("*/site-packages"))
    (site / "tests.pth").rename(bench.workspace / ".venv" / "aside")
    without = bench.run("judge", slug)
    assert f"use python {PYTHON} (.venv/bin/python)\n" in without.out
    assert "Python has no module `pytest`; install it into the project's environment" in without.out
    lacking = "one calls `pytest`, which they do not find"
    assert lacking in bench.run("doctor").out
    (bench.workspace / ".venv" / "aside").rename(site / "tests.pth")
    assert lacking not in bench.run("doctor").out
    line = (
        rf"use python {re.escape(PYTHON)} \(\.venv/bin/python\), pytest [\d.]+ \(python -m pytest\)"
    )
    unset = "`SHOP_URL` is named in `[contracts] env`, and is not set"
    gone = "`gone` is named in `[contracts] path`, and is no folder"
    for words in (["judge", slug], ["baseline", slug], ["approve", slug], ["doctor"]):
        done = bench.run(*words)
        assert re.search(line, done.out), (words, done)
        assert unset in done.out + done.err, words
        assert gone in done.out + done.err, words
    assert "SHOP_URL" not in bench.run("judge", slug, SHOP_URL="x").err
    bench.approve(slug)
    python = bench.workspace / ".venv" / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\necho Python 9.9.9\n")
    python.chmod(0o755)
    done = bench.run("run", slug)
    assert done.code == 2, done
    assert f", python {PYTHON} → 9.9.9" in done.err
    assert "judge changed: pytest" in done.err
    assert f"planbound approve {slug}" in done.err
