"""How worktrees for plans are made: `[worktrees]` in the configuration."""

from __future__ import annotations

from typing import NoReturn

from msgspec import Struct

from planbound.workspace.configuration_table import Table

DEFAULT_ROOT = "../{repository}.worktrees"
_EXAMPLE = 'write `setup = [".env", { run = "python -m venv .venv" }]`'


class Setup(Struct, frozen=True):
    """One thing that a new worktree needs and a checkout does not bring: exactly one of these."""

    copy: str | None = None
    """A file or folder of the main worktree, seen from the workspace."""
    run: str | None = None
    """A command, run in the new worktree."""


class WorktreeRules(Struct, frozen=True):
    """How worktrees are made, and what is done with the work in them."""

    root: str = DEFAULT_ROOT
    """The folder of the worktrees, seen from the repository's top."""
    limit: int = 10
    """How many there may be at once."""
    jobs: int = 4
    """How many plans a fleet runs at once."""
    setup: tuple[Setup, ...] = ()
    author: str = "Planbound <planbound@localhost>"
    """Who commits what was proved."""
    into: str | None = None
    """The branch that plans are brought together in; None: the main worktree's."""


def read_worktrees(table: Table) -> WorktreeRules:
    """Return the rules in a table."""
    usual = WorktreeRules()
    table.allow(*WorktreeRules.__struct_fields__)
    return WorktreeRules(
        root=_text(table, "root", usual.root),
        limit=table.count("limit", usual.limit),
        jobs=table.count("jobs", usual.jobs),
        setup=_setup(table),
        author=_author(table, usual.author),
        into=_text(table, "into", "main") if "into" in table else None,
    )


def _text(table: Table, key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or not value.strip() or "\0" in value or "\n" in value:
        table.refuse(key, f"is {value!r}", f'write `{key} = "{default}"`')
    return value


def _author(table: Table, default: str) -> str:
    value = _text(table, "author", default)
    name, _, address = value.rstrip().partition(" <")
    if not name.strip() or not address.endswith(">") or {"<", ">"} & set(address[:-1]):
        table.refuse("author", f"is {value!r}", f'write `author = "{default}"`')
    return value


def _setup(table: Table) -> tuple[Setup, ...]:
    value = table.get("setup", [])
    if not isinstance(value, list):
        table.refuse("setup", "is not a list", _EXAMPLE)
    return tuple(_one(table, item) for item in value)


def _one(table: Table, item: object) -> Setup:
    if isinstance(item, str) and item.strip():
        # A text with white space in it is a command: `{ copy = "a file" }` says otherwise.
        words = len(item.split())
        return _copy(table, item) if words == 1 else Setup(run=item)
    if isinstance(item, dict) and len(item) == 1:
        [(key, value)] = item.items()
        if isinstance(value, str) and value.strip():
            if key == "copy":
                return _copy(table, value)
            if key == "run":
                return Setup(run=value)
    return _refuse(table, item)


def _copy(table: Table, path: str) -> Setup:
    if path.startswith(("/", "~")) or ".." in path.split("/") or "\0" in path:
        table.refuse("setup", f"copies `{path}`", "name files as seen from the workspace")
    if ".git" in path.split("/"):
        table.refuse("setup", f"copies `{path}`", "a worktree has its own `.git`")
    return Setup(copy=path.strip("/"))


def _refuse(table: Table, item: object) -> NoReturn:
    table.refuse("setup", f"holds {item!r}", _EXAMPLE)
