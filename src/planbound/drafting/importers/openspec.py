"""`changes/<id>/tasks.md` of OpenSpec: `## 1. Section` with `- [ ] 1.1 What to do`."""

from __future__ import annotations

import re

from planbound.drafting.importers.task import (
    Document,
    ForeignTask,
    SourceFile,
    TaskList,
    inside_out,
    stated_dependencies,
    without_dependencies,
)
from planbound.source import lazy_pattern

_TASK = lazy_pattern(r"(?:\*\*)?(?P<id>\d{1,4}(?:\.\d{1,4})+[a-z]?)\.?(?:\*\*)?\s+(?P<words>.*)")
_ID = re.compile(r"\b\d{1,4}(?:\.\d{1,4})+[a-z]?\b")
_TITLE = lazy_pattern(
    r"^(?:Change|Proposal|Tasks|Implementation Tasks)\s*(?:[:—–-]\s*|$)", re.IGNORECASE
)


def read_openspec(tasks: SourceFile, proposal: SourceFile | None) -> TaskList:
    """Return the tasks of a change; its proposal says what it is for."""
    document = Document(tasks.text)
    about = Document(proposal.text) if proposal else None
    found = []
    for item in inside_out(document.boxes()):
        match = _TASK.match(item.words)
        text = f"{item.words}\n\n{item.detail}".strip()
        nested = tuple(
            child_match["id"] if (child_match := _TASK.match(child.words)) else f"line {child.line}"
            for child in item.children
        )
        stated = stated_dependencies(text, _ID)
        found.append(
            ForeignTask(
                id=match["id"] if match else f"line {item.line}",
                title=without_dependencies(match["words"] if match else item.words),
                text=text,
                place=item.place,
                depends=(*nested, *(stated or ())) or None,
                status="ticked" if item.ticked else "",
                named=match is not None,
            )
        )
    titles = [about.title if about else "", document.title]
    objective = next((t for title in titles if (t := _TITLE.sub("", title).strip())), "")
    return TaskList(
        tuple(found), objective=objective, context=about.under("why").strip() if about else ""
    )
