"""The rules, each tested by a Markdown file: see README.md beside this one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from planbound.cells.syntax import BashSyntax
from planbound.disk.files import Files
from planbound.plan.markdown import BlockKind, read_blocks
from planbound.plan.parse import parse
from planbound.source import Source
from planbound.verify.examine import Examination
from planbound.verify.rules import RULES
from planbound.workspace.configuration import Configuration
from planbound.workspace.configuration_file import load_configuration
from planbound.workspace.overview import open_dependencies
from planbound.workspace.surroundings import Surroundings
from planbound.workspace.tree import Workspace

HERE = Path(__file__).parent

SMALL_PLAN = """\
---
type: plan
status: draft
owner: orchestrator
---

# A small plan

## Steps

### 1. Do it

**target:** coder

**task:**
Write `out.txt`.

**contract:**
````shell
{command}
````
"""


@dataclass
class Case:
    code: str
    title: str
    fences: dict[str, str] = field(default_factory=dict)


def cases() -> Iterator[Case]:
    for path in sorted(HERE.glob("PB*.md")):
        source = Source(path=path.name, text=path.read_text(encoding="utf-8"))
        case = Case(path.stem, "")
        for block in read_blocks(source):
            if block.kind is BlockKind.HEADING and block.level == 2:
                if case.fences:
                    yield case
                assert block.text_span
                case = Case(path.stem, source.slice(block.text_span))
            elif block.kind is BlockKind.FENCE:
                assert block.info not in case.fences, (path.name, case.title, block.info)
                case.fences[block.info] = block.content
        if case.fences:
            yield case


CASES = list(cases())


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no environment that somebody activated count for the project's."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)


def lay_out(case: Case, root: Path) -> None:
    for line in case.fences.get("files", "").splitlines():
        name, _, target = line.strip().partition(" -> ")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if target:
            path.symlink_to(target)
        elif name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_text("content\n", encoding="utf-8")
    for line in case.fences.get("plans", "").splitlines():
        lay_plan(line, root / ".harness")
    judges = root.parent / f"{root.name}-judges"
    if "held-out" in case.fences:
        judges.mkdir()
        held_out = case.fences["held-out"]
        (judges / "slug.cases.jsonl").write_text(held_out, encoding="utf-8")
    if "toml" in case.fences:
        text = case.fences["toml"].replace("{judges}", str(judges))
        (root / "planbound.toml").write_text(text, encoding="utf-8")


def lay_plan(line: str, harness: Path) -> None:
    """Write a plan: `NAME`, `NAME -> OTHERS`, with `queued`, `archived` or `done` before it."""
    names, _, depends = line.partition(" -> ")
    *kind, name = names.split()
    status = "done" if kind in (["done"], ["archived"]) else "draft"
    path = {
        "queued": harness / "queued-plans" / f"PLAN-{name}.md",
        "archived": harness / "archive" / f"PLAN.archive.20261101-{name}.md",
    }.get(" ".join(kind), harness / f"PLAN-{name}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    front = f"type: plan\nstatus: {status}\ndepends_on: [{depends}]\n"
    path.write_text(f"---\n{front}---\n\n# {name}\n", encoding="utf-8")


def diagnose(case: Case, plan: str, root: Path) -> list[str]:
    configuration: Configuration = load_configuration(str(root))
    surroundings = Surroundings(
        root=str(root),
        harness=str(root / ".harness"),
        configuration=configuration,
        syntax=BashSyntax(),
        plans=partial(open_dependencies, Workspace(str(root), current=str(root)), Files()),
    )
    path = str(root / case.fences.get("path", "PLAN.md").strip())
    examination = Examination(parse(plan, path=case.fences.get("shown", path).strip()))
    facts = surroundings.answer(examination.questions())
    if "tools" in case.fences:
        facts = replace(facts, missing_tools=frozenset(case.fences["tools"].split()))
    found = examination.diagnostics(facts)
    return [
        f"{item.line}:{item.column} {item.severity.value}: {item.message}"
        for item in found
        if item.code == case.code
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}-{case.title}")
def test_rule_says_what_its_page_promises(case: Case, tmp_path: Path) -> None:
    lay_out(case, tmp_path)
    unknown = set(case.fences) - {
        "faulty",
        "clean",
        "plan",
        "diagnostics",
        "files",
        "toml",
        "held-out",
        "tools",
        "plans",
        "path",
        "shown",
    }
    assert not unknown
    for command in case.fences.get("faulty", "").splitlines():
        assert diagnose(case, SMALL_PLAN.format(command=command), tmp_path), command
    for command in case.fences.get("clean", "").splitlines():
        assert not diagnose(case, SMALL_PLAN.format(command=command), tmp_path), command
    if "plan" in case.fences:
        expected = case.fences.get("diagnostics", "").splitlines()
        assert diagnose(case, case.fences["plan"], tmp_path) == expected


def test_every_rule_has_a_faulty_and_a_clean_case() -> None:
    faulty = {
        case.code
        for case in CASES
        if case.fences.get("faulty", "").strip() or case.fences.get("diagnostics", "").strip()
    }
    clean = {
        case.code
        for case in CASES
        if case.fences.get("clean", "").strip()
        or ("plan" in case.fences and not case.fences.get("diagnostics", "").strip())
    }
    codes = {rule.code for rule in RULES}
    assert codes - faulty == set()
    assert codes - clean == set()
    assert {case.code for case in CASES} <= codes


def test_codes_and_names_are_unique_and_well_formed() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(re.fullmatch(r"PB\d{3}", rule.code) for rule in RULES)
    assert all(re.fullmatch(r"[a-z]+(?:-[a-z]+)*", rule.name) for rule in RULES)


def shipped_plans() -> Iterator[tuple[str, str]]:
    """Yield every plan that somebody may take as an example, and where it is."""
    root = HERE.parent.parent
    for path in sorted((root / "tests" / "fixtures" / "plans").glob("*.md")):
        yield path.name, path.read_text(encoding="utf-8")
    for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        source = Source(path=page.name, text=page.read_text(encoding="utf-8"))
        for block in read_blocks(source):
            if block.kind is BlockKind.FENCE and block.content.startswith("---\ntype: plan"):
                yield page.name, block.content


@pytest.mark.requirement("budget.static")
def test_no_plan_that_is_shown_to_anybody_has_too_small_a_budget(tmp_path: Path) -> None:
    plans = list(shipped_plans())
    assert sum("**Budget:**" in text for _, text in plans) > 5
    for name, text in plans:
        for code in ("PB213", "PB214"):
            assert not diagnose(Case(code, name), text, tmp_path), name
