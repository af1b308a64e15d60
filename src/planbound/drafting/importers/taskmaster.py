"""`tasks.json` of Task Master, with or without tags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from planbound.drafting.importers.task import (
    ForeignTask,
    SourceFile,
    TaskList,
    command_in,
    decoded_json,
    one_line,
)
from planbound.errors import UsageError

_DEFAULT_TAG = "master"
_TICKED = frozenset({"done", "completed"})
_UNTOUCHED = frozenset({"", "pending", "todo"})


def read_taskmaster(file: SourceFile, tag: str | None) -> TaskList:
    """Return the tasks of a tag, subtasks before the task that they are part of."""
    value = decoded_json(file)
    tags = _tags(value)
    name = _chosen(file, tags, tag)
    content = value if name is None else tags[name]
    others = ", ".join(f"`{one_line(other)}`" for other in tags if other != name)
    remarks = []
    if name is not None and others:
        remarks.append(f"only the tag `{one_line(name)}` was read; there are also {others}")
    entries = content if isinstance(content, list) else content.get("tasks")
    tasks = tuple(task for entry in _objects(entries, file) for task in _tasks(entry, file))
    about = content if isinstance(content, dict) else {}
    return TaskList(
        tasks,
        objective=_word(_mapping(about.get("meta")), "projectName"),
        context=_word(_mapping(about.get("metadata")), "description"),
        remarks=tuple(remarks),
    )


def _tags(value: Any) -> dict[str, Any]:
    """Return the lists of tasks by their tags; none where the file has no tags."""
    if not isinstance(value, dict) or isinstance(value.get("tasks"), list):
        return {}
    return {
        name: content
        for name, content in value.items()
        if isinstance(content, dict) and isinstance(content.get("tasks"), list)
    }


def _chosen(file: SourceFile, tags: dict[str, Any], tag: str | None) -> str | None:
    if tag is not None and tag not in tags:
        known = ", ".join(f"`{one_line(name)}`" for name in tags) or "no tag"
        raise UsageError(f"`{file.path}` has no tag `{tag}`, it has {known}")
    if tag is not None or not tags:
        return tag
    if len(tags) == 1:
        return next(iter(tags))
    if _DEFAULT_TAG in tags:
        return _DEFAULT_TAG
    known = ", ".join(f"`{one_line(name)}`" for name in tags)
    raise UsageError(f"`{file.path}` has several tags: {known}", hint="choose one with `--tag`")


def _objects(entries: Any, file: SourceFile) -> Iterator[dict[str, Any]]:
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            shown = json.dumps(entry)[:40]
            raise UsageError(f"`{file.path}` has `{shown}` where a task is expected")
        yield entry


def _tasks(entry: dict[str, Any], file: SourceFile) -> Iterator[ForeignTask]:
    own = _id(entry)
    waits = _references(entry.get("dependencies"))
    nested = tuple(_objects(entry.get("subtasks"), file))
    ids = tuple(_nested_id(own, sub) for sub in nested)
    for sub, name in zip(nested, ids, strict=True):
        # A number alone is a sibling; what the task waits for, its parts wait for.
        siblings = {_id(other): full for other, full in zip(nested, ids, strict=True)}
        named = tuple(siblings.get(r, r) for r in _references(sub.get("dependencies")))
        yield _task(sub, name, (*waits, *named), f"{own}: {_word(entry, 'title')}")
    yield _task(entry, own, (*waits, *ids), "")


def _task(entry: dict[str, Any], name: str, depends: tuple[str, ...], whole: str) -> ForeignTask:
    strategy = _word(entry, "testStrategy")
    parts = [_word(entry, "description"), _word(entry, "details")]
    if strategy:
        parts.append(f"Test strategy: {strategy}")
    status = _word(entry, "status")
    return ForeignTask(
        id=name,
        title=_word(entry, "title"),
        text="\n\n".join(part for part in parts if part),
        whole=whole,
        depends=tuple(dict.fromkeys(depends)),
        command=command_in(strategy),
        status="ticked" if status in _TICKED else "" if status in _UNTOUCHED else status,
        named=bool(name),
    )


def _id(entry: dict[str, Any]) -> str:
    value = entry.get("id")
    return str(value).strip() if isinstance(value, str | int) else ""


def _nested_id(parent: str, entry: dict[str, Any]) -> str:
    own = _id(entry)
    return own if own.startswith(f"{parent}.") else f"{parent}.{own}"


def _references(value: Any) -> tuple[str, ...]:
    if isinstance(value, str | int):
        value = [value]
    items = value if isinstance(value, list) else []
    return tuple(str(item).strip() for item in items)


def _word(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value.strip() if isinstance(value, str) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
