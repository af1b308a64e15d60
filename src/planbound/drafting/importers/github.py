"""Issues as `gh issue list --json` and `gh issue view --json` print them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from planbound.drafting.importers.task import (
    Document,
    ForeignTask,
    SourceFile,
    TaskItem,
    TaskList,
    decoded_json,
    inside_out,
    one_line,
    without_dependencies,
)
from planbound.errors import UsageError
from planbound.plan.markdown import BlockKind
from planbound.plan.skeleton import opaque_lines
from planbound.source import INVISIBLE, Source, lazy_pattern

FIELDS = "number,title,body,labels"
"""What to ask `gh` for."""
_REFERENCE = r"(?:(?:[\w.-]+/[\w.-]+)?\#\d{1,9}|https://[^\s/]+/[\w.-]+/[\w.-]+/issues/\d{1,9})"
_ONLY_REFERENCE = lazy_pattern(rf"(?P<issue>{_REFERENCE})\s*")
_WAITS = lazy_pattern(
    rf"\b(?:depends\s+on|blocked\s+by)\b[\s:*_]*"
    rf"(?P<what>{_REFERENCE}(?:\s*(?:,|and|&)\s*(?:and\s+)?{_REFERENCE})*)",
    re.IGNORECASE,
)
_EACH = lazy_pattern(_REFERENCE)
# `- [x] I have searched the issues`: whoever reports confirms that, nobody does it in a step.
_CONFIRMS = lazy_pattern(r"I(?:['’]\w+)?\s")
_CODE = frozenset({BlockKind.FENCE, BlockKind.INDENTED})
_COMMENT = lazy_pattern(r"(?ms)^[ \t]*<!--.*?-->[ \t]*\n|<!--.*?(?:-->|\Z)")


def holds_issues(file: SourceFile) -> bool:
    """Say whether a file is what `gh` prints of issues: a number and a title each."""
    try:
        value = json.loads(file.text)
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    return isinstance(first.get("number"), int) and isinstance(first.get("title"), str)


class _Issue(NamedTuple):
    number: int
    title: str
    body: str
    about: str
    """Its labels and milestone, in words."""
    status: str
    hidden: bool
    """Whether something in it is not shown on its page."""
    repository: str
    """`owner/name`; empty where the source has no addresses."""

    @property
    def name(self) -> str:
        return f"#{self.number}"


def read_github(file: SourceFile) -> TaskList:
    """Return the issues of a file, the oldest first, and before each the parts it lists."""
    value = decoded_json(file)
    entries = value if isinstance(value, list) else [value]
    requests = [e for e in entries if isinstance(e, dict) and "pull_request" in e]
    issues = [_issue(entry, file) for entry in entries if entry not in requests]
    issues.sort(key=lambda issue: issue.number)
    tasks = tuple(task for issue in issues for task in _tasks(issue))
    return TaskList(
        tasks,
        objective=issues[0].title if len(issues) == 1 else "",
        remarks=tuple(_remarks(entries, requests, issues)),
    )


def _remarks(
    entries: Sequence[Any], requests: Sequence[Any], issues: Sequence[_Issue]
) -> Iterator[str]:
    if requests:
        yield f"pull requests were left out: {len(requests)} of {len(entries)}"
    if issues and not any("body" in e for e in entries if isinstance(e, dict)):
        yield f"the source has no bodies; `gh issue list --json {FIELDS}` prints them"
    hidden = [issue.name for issue in issues if issue.hidden]
    if hidden:
        some = ", ".join(hidden[:10]) + (" and others" if len(hidden) > 10 else "")
        yield f"what the page of an issue does not show was left out: {some}"


def _issue(entry: Any, file: SourceFile) -> _Issue:
    if not isinstance(entry, dict):
        shown = json.dumps(entry)[:40]
        raise UsageError(f"`{file.path}` has `{shown}` where an issue is expected")
    number, title = entry.get("number"), entry.get("title")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UsageError(
            f"`{file.path}` has an issue without a number",
            hint=f"ask for it: `gh issue list --json {FIELDS}`",
        )
    if not isinstance(title, str) or not title.strip():
        raise UsageError(
            f"`{file.path}` has no title for issue #{number}",
            hint=f"ask for it: `gh issue list --json {FIELDS}`",
        )
    written = _text(entry.get("body"))
    body = _shown(written)
    return _Issue(
        number=number,
        title=one_line(INVISIBLE.sub(" ", title)),
        body=body,
        about=_about(entry),
        status=_status(entry),
        hidden=body != written,
        repository=_repository(_text(entry.get("url"))),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return value.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


def _shown(body: str) -> str:
    """Return what a reader of the issue's page sees: no comments, no invisible characters.

    A stranger may have written it, and what nobody sees must not tell an agent what to do.
    """
    body = INVISIBLE.sub("", body)
    if "<!--" not in body:
        return body
    source = Source(path="", text=body)
    blocks = Document(body).blocks
    code = [b for top in blocks for b in top.walk() if b.kind in _CODE]
    parts: list[str] = []
    last = 0
    for block in code:
        parts.append(_COMMENT.sub("", "\n".join(source.lines[last : block.line])))
        parts.append("\n".join(source.lines[block.line : block.after]))
        last = block.after
    parts.append(_COMMENT.sub("", "\n".join(source.lines[last:])))
    return "\n".join(parts).strip("\n")


def _about(entry: dict[str, Any]) -> str:
    labels = entry.get("labels")
    names = [
        one_line(name)
        for label in (labels if isinstance(labels, list) else ())
        if isinstance(name := label.get("name") if isinstance(label, dict) else label, str)
    ]
    milestone = entry.get("milestone")
    title = milestone.get("title") if isinstance(milestone, dict) else None
    said = [f"Labels: {', '.join(names)}."] if names else []
    if isinstance(title, str) and title.strip():
        said.append(f"Milestone: {one_line(title)}.")
    return INVISIBLE.sub("", " ".join(said))


def _status(entry: dict[str, Any]) -> str:
    state = _text(entry.get("state")).casefold()
    reason = _text(entry.get("stateReason")).casefold().replace("_", " ")
    if state in {"", "open"}:
        return ""
    return f"{state}, {reason}" if reason else state


# -- the parts of an issue, and what it waits for --------------------------------------------------


def _tasks(issue: _Issue) -> Iterator[ForeignTask]:
    """Yield the boxes of an issue as tasks, and then the issue, which is done when they are."""
    document = Document(issue.body)
    waits = [_named(found, issue) for found in _stated(document)]
    parts: list[TaskItem] = []
    for item in inside_out(document.boxes()):
        only = _ONLY_REFERENCE.fullmatch(item.words)
        if only is not None:
            # A box with another issue and no words: a closed one is ticked by GitHub itself.
            waits += [] if item.ticked else [_named(only["issue"], issue)]
        elif item.words and not _CONFIRMS.match(item.words):
            parts.append(item)
    waits = [name for name in dict.fromkeys(waits) if name != issue.name]
    names = [f"{issue.name}.{count}" for count in range(1, len(parts) + 1)]
    before = tuple(waits)
    for name, item in zip(names, parts, strict=True):
        # What the issue waits for, its first part waits for; the others keep their order.
        yield ForeignTask(
            id=name,
            title=without_dependencies(item.words),
            text=f"{item.words}\n\n{item.detail}".strip(),
            place=item.place,
            whole=f"{issue.name} {issue.title}",
            depends=before or None,
            status="ticked" if item.ticked else "",
        )
        before = (name,)
    yield ForeignTask(
        id=issue.name,
        title=issue.title,
        text="\n\n".join(part for part in (issue.body, issue.about) if part),
        depends=tuple(names or waits) or None,
        status=issue.status,
    )


def _stated(document: Document) -> Iterator[str]:
    """Yield the issues that one waits for, by its own words outside of code."""
    code = opaque_lines(document.blocks)
    lines = (line for number, line in enumerate(document.source.lines) if number not in code)
    for match in _WAITS.finditer("\n".join(lines)):
        yield from _EACH.findall(match["what"])


def _named(reference: str, issue: _Issue) -> str:
    """Return `#12` for an issue, or `owner/name#12` where it is of another repository."""
    if "/issues/" in reference:
        reference = f"{_repository(reference)}#{reference.rpartition('/')[2]}"
    return reference.removeprefix(issue.repository) if issue.repository else reference


def _repository(url: str) -> str:
    return "/".join(url.partition("/issues/")[0].split("/")[-2:]) if "/issues/" in url else ""
