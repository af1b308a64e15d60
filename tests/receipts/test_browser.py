"""Pages in a real browser: nothing runs, nothing is asked for, everybody can read them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.install import NO_SCRIPTS, Npm, installed
from tests.needs import need
from tests.receipts.hostile_plan import play
from tests.run.bench import Step

TOOLS = Npm(
    ("axe-core@4.14.1", "playwright-core@1.65.1"), "node_modules/axe-core/axe.min.js", NO_SCRIPTS
)
PICTURES = "PLANBOUND_PICTURES"
"""A folder for what the pages look like, for whoever wants to see them."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need("chromium", "pages are looked at in it")
    need("npm", "it installs axe, and what steers the browser")
    folder = tmp_path_factory.mktemp("browser")
    bench = play(folder)
    one = _look(folder, bench.goes("report", "PLAN").out, "report")
    bench.lay(Step("make two"), name="two")  # of the same title
    return {
        "report": one,
        "all": _look(folder, bench.goes("report").out, "all"),
        "receipt": _look(folder, bench.goes("receipt", "--html", "PLAN").out, "receipt"),
    }


def _look(folder: Path, text: str, name: str) -> Any:
    axe = installed("browser", TOOLS)
    page = folder / f"{name}.html"
    page.write_text(text)
    pictures = os.environ.get(PICTURES)
    if pictures:
        pictures = os.path.join(pictures, name)
        os.makedirs(pictures, exist_ok=True)
    modules = axe.parents[1]
    done = subprocess.run(
        ["node", str(Path(__file__).parent / "look.cjs"), str(page), str(axe), pictures or ""],
        env={**os.environ, "NODE_PATH": str(modules), "CHROMIUM": shutil.which("chromium") or ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
@pytest.mark.requirement("receipts.escaped")
@pytest.mark.parametrize("page", ["report", "receipt", "all"])
def test_a_page_runs_nothing_and_everybody_can_read_it(seen: dict[str, Any], page: str) -> None:
    for view in seen[page]["views"]:
        assert view["violations"] == [], view["name"]
        assert view["messages"] == [], view["name"]
        assert view["overflow"] <= 0, view["name"]
    assert [view["name"] for view in seen[page]["views"]] == ["light", "dark", "phone", "forced"]


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_with_its_own_policy_a_page_says_nothing_and_prints_all(seen: dict[str, Any]) -> None:
    own = seen["report"]["own"]
    assert own["messages"] == []
    assert own["first"] == "A"  # the first thing that the keyboard reaches
    assert own["closed"] > 5
    assert own["onScreen"] == 0
    assert own["onPaper"] >= own["closed"]
    assert own["paper"] > 20_000
