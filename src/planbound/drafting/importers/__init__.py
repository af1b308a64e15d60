"""The formats: which one a source has, and its tasks."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from planbound.drafting.importers.backlog import read_backlog, read_card
from planbound.drafting.importers.checks import read_checks
from planbound.drafting.importers.github import FIELDS, holds_issues, read_github
from planbound.drafting.importers.openspec import read_openspec
from planbound.drafting.importers.spec_kit import read_spec_kit
from planbound.drafting.importers.superpowers import TASK_HEADING, read_superpowers
from planbound.drafting.importers.task import Document, SourceFile, TaskList, inside_out
from planbound.drafting.importers.taskmaster import read_taskmaster
from planbound.errors import UsageError
from planbound.plan.markdown import BlockKind
from planbound.source import lazy_pattern

_SPEC_KIT = lazy_pattern(r"(?:\*\*)?T\d{3,6}[a-z]?\b")
_OPENSPEC = lazy_pattern(r"(?:\*\*)?\d{1,4}\.\d{1,4}\b")
_OPENSPEC_HEADING = lazy_pattern(r"\d{1,4}\.\s+\S.*")
_SUPERPOWERS = re.compile(r"(?m)^\*\*Files:?\*\*:?|^\s*(?:\*\*)?Run:|superpowers")


class Format(enum.Enum):
    """A tool, or a kind of file, that task lists come from."""

    SPEC_KIT = "spec-kit"
    OPENSPEC = "openspec"
    TASKMASTER = "taskmaster"
    BACKLOG = "backlog"
    SUPERPOWERS = "superpowers"
    GITHUB = "github"
    MARKDOWN = "markdown"


def recognise(files: Sequence[SourceFile]) -> Format:
    """Return the format that a source has beyond doubt; raise UsageError otherwise."""
    found = _signs(files)
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"`{each.value}`" for each in Format)
    what = "it looks like none of them"
    if found:
        what = f"it looks like {' and like '.join(f'`{each.value}`' for each in found)}"
    raise UsageError(
        f"the format of `{files[0].path}` cannot be told: {what}",
        hint=f"say it with `--from`; formats are {names}",
    )


def _signs(files: Sequence[SourceFile]) -> list[Format]:
    first = files[0]
    if first.name.endswith(".json") or first.text.lstrip()[:1] in {"{", "["}:
        return [Format.GITHUB if holds_issues(first) else Format.TASKMASTER]
    if any(read_card(file) for file in files):
        return [Format.BACKLOG]
    document = Document(first.text)
    boxes = tuple(inside_out(document.boxes()))
    headings = [document.heading(b) for b in document.blocks if b.kind is BlockKind.HEADING]
    found = []
    if any(_SPEC_KIT.match(item.words) for item in boxes):
        found.append(Format.SPEC_KIT)
    numbered = any(_OPENSPEC.match(item.words) for item in boxes)
    sections = any(_OPENSPEC_HEADING.fullmatch(heading) for heading in headings)
    if (numbered and sections) or (boxes and any(file.name == "proposal.md" for file in files)):
        found.append(Format.OPENSPEC)
    if any(TASK_HEADING.fullmatch(heading) for heading in headings) and _SUPERPOWERS.search(
        first.text
    ):
        found.append(Format.SUPERPOWERS)
    return found or ([Format.MARKDOWN] if boxes else [])


def read_tasks(files: Sequence[SourceFile], kind: Format, *, tag: str | None = None) -> TaskList:
    """Return the tasks of a source; raise UsageError where there are none."""
    if tag is not None and kind is not Format.TASKMASTER:
        raise UsageError(f"`--tag` is for `taskmaster`; the format is `{kind.value}`")
    first = files[0]
    match kind:
        case Format.SPEC_KIT:
            tasks = read_spec_kit(first)
        case Format.OPENSPEC:
            proposal = next((file for file in files if file.name == "proposal.md"), None)
            tasks = read_openspec(first, proposal)
        case Format.TASKMASTER:
            tasks = read_taskmaster(first, tag)
        case Format.BACKLOG:
            tasks = read_backlog(files)
        case Format.SUPERPOWERS:
            tasks = read_superpowers(first)
        case Format.GITHUB:
            tasks = read_github(first)
        case Format.MARKDOWN:
            tasks = read_checks(first)
    if not tasks.tasks:
        raise UsageError(
            f"`{first.path}` holds no task, read as `{kind.value}`", hint=_EXPECTED[kind]
        )
    return tasks


_EXPECTED = {
    Format.SPEC_KIT: "a task is a line such as `- [ ] T001 Create src/app.py`",
    Format.OPENSPEC: "a task is a line such as `- [ ] 1.1 Add the column`",
    Format.TASKMASTER: "tasks stand in a list `tasks`, in the file or below a tag",
    Format.BACKLOG: "a task is a file whose frontmatter holds `id`, `title` and `status`",
    Format.SUPERPOWERS: "a task begins with a heading such as `### Task 1: The parser`",
    Format.GITHUB: f"issues are what `gh issue list --json {FIELDS}` prints",
    Format.MARKDOWN: "a task is an item with a check box, `- [ ] ...`, or of a numbered list",
}
