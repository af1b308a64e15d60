"""Checks the repository as a whole: links, machine paths, what the docs have to mention.

Run by `make check`. Prints one line for each problem and exits with 1; else one short line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from planbound.agents.kind import kind_names
from planbound.cli.commands import COMMANDS
from planbound.verify.rules import RULES
from tools.reference import COMMANDS_PAGE, JSON_PAGE, ROOT, RULES_PAGE

SELF = "tools/repository.py"
DECISIONS = "docs/decisions"
AGENTS_PAGE = "docs/reference/agents.md"

# Names that an example may use: they are nobody's machine.
_EXAMPLES = "alice|anna|bob|me|user|username|you|your-name"
TRACES = {
    "a home directory": re.compile(rf"/(?:home|Users)/(?!(?:{_EXAMPLES})\b)[\w.-]+/"),
    "a directory of this machine": re.compile(r"(?<![\w.~}])/(?:root|work)/"),
    "a file address": re.compile(r"\bfile:///"),
    "a package index": re.compile(
        r"\bpypi\.org|pythonhosted|\bindex[-_]url\W{1,5}https?:", re.IGNORECASE
    ),
    "the name of a host": re.compile(
        r"(?<![\w.])[\w-]+\.(?:internal|intranet|corp|lan)\b(?![\w(])"
    ),
    "a private address": re.compile(
        r"(?<![\w.])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?![\w.])"
    ),
}
"""What ties a repository to the machine it was written on."""


def main() -> int:
    """Print every problem; return the exit code."""
    files = repository_files()
    found = [
        *links(documents()),
        *traces(files),
        *undocumented(),
        *changelog(),
        *decisions(),
    ]
    for problem in found:
        print(problem)
    if not found:
        print(f"repository: ok ({len(files)} files, {len(documents())} documents)")
    return 1 if found else 0


# -- files -------------------------------------------------------------------------------------


def repository_files() -> list[str]:
    """Return the files that belong to the repository or would with the next `git add`."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:  # an unpacked archive
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if _is_ours(path)]
    return sorted(name for name in set(names) if (ROOT / name).is_file())


def _is_ours(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return not any(part.startswith(".") or part == "__pycache__" for part in parts)


def documents() -> list[str]:
    """Return the pages for readers."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [str(path.relative_to(ROOT)) for path in pages if path.is_file()]


@cache
def _text(name: str) -> str:
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


# -- links -------------------------------------------------------------------------------------


def links(pages: list[str]) -> Iterator[str]:
    """Yield the relative links that lead nowhere."""
    for page in pages:
        for line, target in _targets(page):
            if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", target):
                continue
            path, _, anchor = target.partition("#")
            goal = (ROOT / page).parent / unquote(path) if path else ROOT / page
            goal = goal.resolve()
            if not goal.is_relative_to(ROOT):
                yield f"{page}:{line}: the link `{target}` leads out of the repository"
            elif not goal.exists():
                yield f"{page}:{line}: the link `{target}` leads to no file"
            elif anchor and goal.suffix == ".md" and unquote(anchor) not in _anchors(goal):
                yield f"{page}:{line}: the link `{target}` leads to no heading"


def _targets(page: str) -> Iterator[tuple[int, str]]:
    for token in _tokens(_text(page)):
        line = token.map[0] + 1 if token.map else 1
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if isinstance(target, str) and target:
                yield line, target


@cache
def _anchors(path: Path) -> frozenset[str]:
    """Return the anchors that a forge gives to the headings of a page."""
    found: set[str] = set()
    tokens = _tokens(path.read_text(encoding="utf-8"))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            slug = anchor(_plain(inline))
            number = 0
            while (f"{slug}-{number}" if number else slug) in found:
                number += 1
            found.add(f"{slug}-{number}" if number else slug)
    return frozenset(found)


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def anchor(heading: str) -> str:
    """Return the anchor of a heading: lower case, hyphens for blanks, no punctuation."""
    kept = (
        character
        for character in heading.strip().lower()
        if character in "-_ " or unicodedata.category(character)[0] in "LNM"
    )
    return "".join(kept).replace(" ", "-")


def _tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


# -- traces of a machine -----------------------------------------------------------------------


def traces(files: list[str]) -> Iterator[str]:
    """Yield the lines that name a machine, its folders or a package index."""
    for name in files:
        if name == SELF:  # holds the patterns
            continue
        try:
            text = (ROOT / name).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for what, pattern in TRACES.items():
                if match := pattern.search(line):
                    yield f"{name}:{number}: {what}: `{match.group()}`"


# -- what the docs have to mention -------------------------------------------------------------


def undocumented() -> Iterator[str]:
    """Yield the commands, rules and kinds of agents that the docs do not mention."""
    generated = {COMMANDS_PAGE, JSON_PAGE}
    prose = "\n".join(_text(page) for page in documents() if page not in generated)
    for command in COMMANDS:
        if f"\n## {command}\n" not in _text(COMMANDS_PAGE):
            yield f"{COMMANDS_PAGE}: the command `{command}` is missing; run `make docs`"
        if not re.search(rf"\bplanbound {re.escape(command)}\b", prose):
            yield f"docs: no page shows `planbound {command}`"
    for rule in RULES:
        if f"\n## {rule.code}\n" not in _text(RULES_PAGE):
            yield f"{RULES_PAGE}: the rule `{rule.code}` is missing; run `make docs`"
    for kind in kind_names():
        if f"`{kind}`" not in _text(AGENTS_PAGE):
            yield f"{AGENTS_PAGE}: the kind of agent `{kind}` is missing"


def changelog() -> Iterator[str]:
    """Yield what is wrong with the changelog."""
    if not re.search(r"^## \[?Unreleased\]?\s*$", _text("CHANGELOG.md"), re.MULTILINE):
        yield "CHANGELOG.md: there is no section `## Unreleased`"


def decisions() -> Iterator[str]:
    """Yield the decisions that are not named `NNN-title.md`, and the numbers given twice."""
    names = sorted(path.name for path in (ROOT / DECISIONS).glob("*"))
    numbers = []
    for name in names:
        match = re.fullmatch(r"(\d{3})-[a-z0-9]+(?:-[a-z0-9]+)*\.md", name)
        if match is None:
            yield f"{DECISIONS}/{name}: not named `NNN-title.md`"
        else:
            numbers.append(int(match[1]))
    for number, count in Counter(numbers).items():
        if count > 1:
            yield f"{DECISIONS}: {count} have the number {number:03}"


if __name__ == "__main__":
    sys.exit(main())
