"""What the docs show is what the program prints.

Every ```console fence is run, the fences of one page in order and in one scratch workspace. A line
that begins with `$ ` is a command, lines with `> ` right behind it carry it on, and the rest is
what it prints on either stream. A line `...` stands for any number of lines. Times such as `0.3 s`
and ids of eight hexadecimal digits, which are others each time, stand for any of their kind, and
so do the commits of merges, and the version and place of a program.

Two comments, each right before a fence, steer this:

- `<!-- file: PATH -->`: the content of the fence is written to that path.
- `<!-- not run: reason -->`: the fence is left out.

`python -m tools.console [PAGE...]` writes into the pages what the program prints now (blocks with a
`...` are left to people); read the difference before you commit it.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    *sorted(
        str(path.relative_to(ROOT))
        for folder in ("docs", "docs/concepts", "docs/how-to", "docs/reference")
        for path in (ROOT / folder).glob("*.md")
    ),
]

_FILE = re.compile(r"<!-- file: (\S+) -->\s*")
_NOT_RUN = re.compile(r"<!-- not run: \S.* -->\s*")
_SLOW = re.compile(r"(?m)^judging(?: \d+/\d+)?: .*, \d[\d.]* (?:s|min)\b.*\n")
"""What is only said where a machine is slow."""
_VARYING = re.compile(
    r"\b(?:[0-9]+\.[0-9] s|[0-9a-f]{8}|(?<=merged as )[0-9a-f]{12}|(?<=is at )[0-9a-f]{12})\b"
    r"|(?<= )[0-9]+(?:\.[0-9]+)+ \([^)]*\)"
)
"""What is another one each time: how long it took, the id of a question, a commit; or on another
machine: the version of a program, and where it is."""
_END = "\x1e"
"""What the shell prints behind the output of each command."""


@dataclass(frozen=True)
class Command:
    """A command of a page, and what the page says that it prints."""

    text: str
    line: int
    output: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Laid:
    """A file that a page lays down."""

    path: str
    content: str


@dataclass(frozen=True)
class Session:
    """The commands of one fence."""

    commands: list[Command]


def fences(page: str) -> Iterator[Laid | Session]:
    """Yield what a page lays down and runs, in order."""
    before = ""
    for token in MarkdownIt("commonmark").parse((ROOT / page).read_text(encoding="utf-8")):
        if token.type == "fence":
            first = token.map[0] + 2 if token.map else 0
            if match := _FILE.fullmatch(before):
                yield Laid(match[1], token.content)
            elif token.info.strip() == "console" and not _NOT_RUN.fullmatch(before):
                yield Session(list(commands(token.content, first)))
        before = token.content if token.type == "html_block" else ""


def commands(content: str, first: int) -> Iterator[Command]:
    """Yield the commands of a fence with their output."""
    command: Command | None = None
    for number, line in enumerate(content.removesuffix("\n").split("\n"), first):
        if line.startswith("$ "):
            if command:
                yield command
            command = Command(line[2:], number)
        elif command is None:
            raise SystemExit(f"line {number}: output before the first command: {line!r}")
        elif line.startswith("> ") and not command.output:
            command = Command(f"{command.text}\n{line[2:]}", command.line)
        else:
            command.output.append(line.rstrip())
    if command:
        yield command


class Shell:
    """A scratch workspace that the blocks of one page share."""

    inherited: tuple[int, ...] = ()
    """Open files that commands find."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.home = folder / "home"
        self.current = folder / "workspace"
        for path in (self.bin, self.home, self.current):
            path.mkdir()
        # Only our program comes from the virtual environment: docs show what any machine has.
        (self.bin / "planbound").symlink_to(Path(sys.executable).with_name("planbound"))
        subprocess.run(["git", "init", "--quiet", str(self.current)], check=True)

    def lay(self, file: Laid) -> None:
        """Write a file of the page."""
        path = self.current / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.content, encoding="utf-8")

    def run(self, session: Session) -> list[list[str]]:
        """Return the lines that each command prints."""
        place = self.home / "current"
        parts = ["exec 2>&1 </dev/null"]
        for command in session.commands:
            # `$?` stays what the command left.
            parts += [command.text, f"{{ _code=$?; printf '%s' '{_END}'; (exit $_code); }}"]
        parts.append(f"pwd > '{place}'")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", "\n".join(parts)],
            cwd=self.current,
            capture_output=True,
            timeout=120,
            check=False,
            pass_fds=self.inherited,
            env={
                "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(self.home),
                "LC_ALL": "C.UTF-8",
                "NO_COLOR": "1",
                # As on a terminal: what is written first is seen first, on both streams.
                "PYTHONUNBUFFERED": "1",
            },
        )
        if place.is_file():
            self.current = Path(place.read_text(encoding="utf-8").rstrip("\n"))
        text = _SLOW.sub("", done.stdout.decode("utf-8", "replace"))
        printed = text.split(_END)
        return [
            [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []
            for text in printed[: len(session.commands)]
        ]


def matches(expected: list[str], printed: list[str]) -> bool:
    """Say whether a command printed what the page shows."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(_steady(line)) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{_steady(line)}\n" for line in printed)) is not None


def _steady(line: str) -> str:
    return _VARYING.sub("?", line)


def difference(expected: list[str], printed: list[str]) -> str:
    """Return what is different."""
    return "\n".join(
        difflib.unified_diff(expected, printed, "the page", "the program", lineterm="")
    )


def fill(page: str, folder: Path) -> bool:
    """Write into a page what its commands print now; return whether it changed."""
    path = ROOT / page
    old = path.read_text(encoding="utf-8")
    lines = old.split("\n")
    edits: list[tuple[int, int, list[str]]] = []
    shell = Shell(folder)
    for part in fences(page):
        if isinstance(part, Laid):
            shell.lay(part)
            continue
        for command, printed in zip(part.commands, shell.run(part), strict=True):
            if not matches(command.output, printed) and "..." not in command.output:
                start = command.line - 1 + len(command.text.split("\n"))
                edits.append((start, start + len(command.output), printed))
    for start, end, printed in sorted(edits, reverse=True):
        lines[start:end] = printed
    path.write_text("\n".join(lines), encoding="utf-8")
    return "\n".join(lines) != old


def main() -> int:
    """Fill all pages, or those that are named."""
    for page in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            if fill(page, Path(folder)):
                print(f"{page}: filled anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
