"""Our lines in a host's settings that are TOML or YAML: a marked block, and all else stays."""

from __future__ import annotations

import re
import tomllib
from typing import NamedTuple

from planbound.engine.hosts.fragment import Unmergeable

_BEGIN, _END = "# >>> planbound (by `planbound install`)", "# <<< planbound"
_BLOCK = re.compile(
    rf"^(?P<indent>[ \t]*){re.escape(_BEGIN)}\n.*?^[ \t]*{re.escape(_END)}\n?",
    re.MULTILINE | re.DOTALL,
)


class TomlFragment(NamedTuple):
    """A table of ours at the end of a TOML file."""

    lines: str
    table: tuple[str, str]
    """Its name, in parts."""

    @property
    def shown(self) -> str:
        """The table."""
        return self.lines

    def added(self, text: str | None) -> str:
        """Return the file with our table at its end, or where it was."""
        text = text or ""
        block = _marked(self.lines, "")
        if _BLOCK.search(text):
            new = _BLOCK.sub(lambda _: block, text, count=1)
        else:
            new = f"{_with_end(text)}\n{block}" if text.strip() else text + block
        outside = _toml(_BLOCK.sub("", text)).get(self.table[0])
        if isinstance(outside, dict) and self.table[1] in outside:
            raise Unmergeable(f"`{'.'.join(self.table)}` is in it already, and not ours")
        _toml(new)
        return new

    def removed(self, text: str) -> str | None:
        """Return the file without our table."""
        return _without(text)


class YamlFragment(NamedTuple):
    """An entry of ours below a top-level key of a YAML file."""

    lines: str
    """The entry, not indented."""
    key: str

    @property
    def shown(self) -> str:
        """A file with nothing else in it."""
        return f"{self.key}:\n{_indented(self.lines, '  ')}"

    def added(self, text: str | None) -> str:
        """Return the file with our entry first below its key."""
        text = text or ""
        if found := _BLOCK.search(text):
            whole = found[0].split("\n")[1] == f"{self.key}:"
            block = self._whole() if whole else _marked(self.lines, found["indent"])
            return text[: found.start()] + block + text[found.end() :]
        head = re.search(rf"^{re.escape(self.key)}:(?P<rest>.*)\n?", text, re.MULTILINE)
        if head is None:
            start = _with_end(text) if text.strip() else text
            return start + self._whole()
        if head["rest"].partition("#")[0].strip():
            raise Unmergeable(f"`{self.key}` has its entries on one line in it")
        name = self.lines.partition(":")[0]
        body = _body(text[head.end() :])
        if re.search(rf"^[ \t]+['\"]?{re.escape(name)}['\"]?:", body, re.MULTILINE):
            raise Unmergeable(f"`{self.key}.{name}` is in it already, and not ours")
        first = re.search(r"^([ \t]+)[^\s#]", body, re.MULTILINE)
        block = _marked(self.lines, first[1] if first else "  ")
        return _with_end(text[: head.end()]) + block + text[head.end() :]

    def removed(self, text: str) -> str | None:
        """Return the file without our entry."""
        return _without(text)

    def _whole(self) -> str:
        return _marked(f"{self.key}:", "", self.lines)


def _body(text: str) -> str:
    """Return the lines up to the next top-level key."""
    end = re.search(r"^[^\s#]", text, re.MULTILINE)
    return text[: end.start()] if end else text


def _toml(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unmergeable(f"it is not TOML ({error})") from error


def _without(text: str) -> str | None:
    # The empty line before a block is ours, too.
    found = _BLOCK.search(text)
    if found is None:
        return text
    start = found.start()
    if text[:start].endswith("\n\n"):
        start -= 1
    rest = text[:start] + text[found.end() :]
    return rest if rest.strip() else None


def _marked(lines: str, indent: str, below: str = "") -> str:
    inner = _indented(lines, indent) + (_indented(below, f"{indent}  ") if below else "")
    return f"{indent}{_BEGIN}\n{inner}{indent}{_END}\n"


def _indented(lines: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in lines.rstrip("\n").split("\n"))


def _with_end(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
