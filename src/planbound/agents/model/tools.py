"""The tools as the model sees them. Their docstrings are what it is told about them."""

# Not `from __future__ import annotations`: the library reads the annotations.

from collections.abc import Callable, Collection
from typing import Any

from pydantic_ai import RunContext, Tool

from planbound.agents.model.toolbox import SHELL_SECONDS, Toolbox
from planbound.source.pattern import lazy_pattern

Context = RunContext[Toolbox]


async def list_files(ctx: Context, path: str = ".", depth: int = 1) -> str:
    """List a folder of the workspace.

    Args:
        ctx: The attempt.
        path: The folder, seen from the workspace.
        depth: How many levels of folders are listed.
    """
    request = {"tool": "list", "path": path, "depth": depth}
    return ctx.deps.file(ctx.tool_call_id, f"lists {path}", request)


async def read(ctx: Context, path: str, start: int = 1, lines: int = 400) -> str:
    """Read lines of a text file, each with its number and a tab before it.

    Args:
        ctx: The attempt.
        path: The file, seen from the workspace.
        start: The number of the first line.
        lines: How many lines at most.
    """
    request = {"tool": "read", "path": path, "start": start, "lines": lines}
    return ctx.deps.file(ctx.tool_call_id, f"reads {path}", request)


async def search(ctx: Context, pattern: str, path: str = ".", glob: str = "") -> str:
    """Search the text files of the workspace for lines that a pattern matches.

    Args:
        ctx: The attempt.
        pattern: A regular expression, as Python knows them.
        path: A folder or a file to search in.
        glob: Only files with such a name, for example `*.py`.
    """
    request = {"tool": "search", "pattern": pattern, "path": path, "glob": glob}
    return ctx.deps.file(ctx.tool_call_id, f"searches for {pattern}", request)


async def edit(ctx: Context, path: str, old: str, new: str, *, everywhere: bool = False) -> str:
    """Replace a text in a file by another. It must be there exactly once.

    Args:
        ctx: The attempt.
        path: The file, seen from the workspace.
        old: What is there, exactly, with its indentation and without the numbers of its lines.
        new: What shall be there instead.
        everywhere: Replace it wherever it is, however often.
    """
    request = {"tool": "edit", "path": path, "old": old, "new": new, "everywhere": everywhere}
    return ctx.deps.file(ctx.tool_call_id, f"edits {path}", request)


async def write(ctx: Context, path: str, content: str) -> str:
    """Write a whole file, new or instead of the one that is there.

    Args:
        ctx: The attempt.
        path: The file, seen from the workspace.
        content: All of it.
    """
    request = {"tool": "write", "path": path, "content": content}
    return ctx.deps.file(ctx.tool_call_id, f"writes {path}", request)


async def shell(ctx: Context, command: str, seconds: float = SHELL_SECONDS) -> str:
    """Run a command line with bash in the workspace; nothing of it lives on when it ends.

    Args:
        ctx: The attempt.
        command: The command line. It has no terminal and no input.
        seconds: How long it may take.
    """
    return ctx.deps.shell(ctx.tool_call_id, command, seconds)


async def blocked(ctx: Context, reason: str) -> str:
    """Stop, because something is missing that is not in the workspace and that you cannot make.

    A credential, a service, a person's decision. Never because of tests that fail or code that is
    not there yet: that is the task. You are not called again.

    Args:
        ctx: The attempt.
        reason: What is missing, so that somebody who was not here understands it.
    """
    ctx.deps.block(reason)
    return ""


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "list": list_files,
    "read": read,
    "search": search,
    "edit": edit,
    "write": write,
    "shell": shell,
    "blocked": blocked,
}


_CALL_KEYS = r'["\'](?:name|tool|tool_name|function|action)["\']\s{0,8}:\s{0,8}["\']'
_MARKS = lazy_pattern(
    r"</?\|?tool_call|</?function_call|<function=|\[TOOL_CALLS?\]|<\|python_tag\|>|<tools?>\s*\{"
)
_CORRECTION = (
    "Nothing was done: your answer holds the call of a tool as text, which nobody reads. Call the"
    " tool itself, as the interface for tool calls wants it. If you are done, say so in plain"
    " words, without the call of a tool."
)


def miswritten_call(text: str) -> str | None:
    """Return what a model is told that answers with a call as text; None where it does not."""
    names = "|".join(_FUNCTIONS)
    arguments = r"[^{}]{0,200}[\"'](?:arguments|parameters|args|input|params)[\"']"
    as_object = lazy_pattern(rf"\{{\s{{0,20}}{_CALL_KEYS}(?:{names})[\"']{arguments}")
    as_code = lazy_pattern(rf"\s*(?:`{{3}}\w*\s+)?(?:\w+\.)?(?:{names})\([^\n]*\)\s*(?:`{{3}}\s*)?")
    if _MARKS.search(text) or as_object.search(text) or as_code.fullmatch(text):
        return _CORRECTION
    return None


def tools_for(names: Collection[str]) -> list[Tool[Toolbox]]:
    """Return the tools of these names."""
    return [
        Tool(function, name=name, takes_ctx=True, sequential=True)
        for name, function in _FUNCTIONS.items()
        if name in names
    ]
