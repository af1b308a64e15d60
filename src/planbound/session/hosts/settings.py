"""What of ours stands in a host's settings: added and taken away as text, and all else stays."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planbound.errors import Refused

# -- what of ours stands in a file that is somebody else's: added and taken away as text ---------


class Unmergeable(Refused):
    """A file cannot be changed without breaking it."""

    def __init__(self, why: str) -> None:
        super().__init__(why, hint="`planbound install HOST --print` shows what to put in by hand")


class WholeFile(NamedTuple):
    """A file that is ours alone."""

    content: str

    @property
    def shown(self) -> str:
        return self.content

    def added(self, text: str | None) -> str:
        """Return our content; refuse to write over somebody else's."""
        if text is not None and text != self.content and not _is_ours(text):
            raise Unmergeable("it is there already, and not ours")
        return self.content

    def removed(self, text: str) -> str | None:
        """Return nothing, unless it was never ours."""
        return None if _is_ours(text) else text


def _is_ours(text: str) -> bool:
    return "\nname: planbound\n" in text


# -- our lines in a host's settings that are TOML or YAML: a marked block, and all else stays ----


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


# -- our hooks and our server in a host's settings that are JSON ---------------------------------


_OURS = re.compile(r"(?:^|[/\s'\"])planbound['\"]?\s+hook\s")
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)

Group = Mapping[str, Any]


class JsonFragment(NamedTuple):
    """Entries below keys."""

    hooks: Mapping[str, Group] = {}
    """The group of ours for each event."""
    server: tuple[str, Mapping[str, Any]] | None = None
    """The key of the servers, and the entry of ours."""

    @property
    def shown(self) -> str:
        """A settings file with nothing else in it."""
        return self.added(None)

    def added(self, text: str | None) -> str:
        """Return the settings with our entries; what is there stays, in its order."""
        settings = _read(text)
        for event, group in self.hooks.items():
            groups = _list(_table(settings, "hooks"), event)
            ours = [each for each in groups if _holds_ours(each)]
            if ours != [group]:
                groups[:] = [*_without_ours(groups), dict(group)]
        if self.server is not None:
            key, entry = self.server
            _table(settings, key)["planbound"] = dict(entry)
        return _written(settings, text)

    def removed(self, text: str) -> str | None:
        """Return the settings without any entry of ours."""
        settings = _read(text)
        before = copy.deepcopy(settings)
        hooks = settings.get("hooks")
        hooks = hooks if isinstance(hooks, dict) else {}
        for event, groups in list(hooks.items()):
            if isinstance(groups, list) and any(_holds_ours(group) for group in groups):
                groups[:] = _without_ours(groups)
                if not groups:
                    del hooks[event]
        if self.server is not None and isinstance(settings.get(self.server[0]), dict):
            settings[self.server[0]].pop("planbound", None)
        if settings == before:
            return text
        for key in ("hooks", self.server[0] if self.server else ""):
            if settings.get(key) == {}:
                del settings[key]
        return _written(settings, text) if settings else None


Fragment = WholeFile | TomlFragment | YamlFragment | JsonFragment
"""What of ours belongs into one file.

`shown` is what to put into it by hand; `added` and `removed` return the file's text with it and
without it, where None is no file, and raise Unmergeable.
"""


class HostFile(NamedTuple):
    """A file of a host's, and what of ours belongs into it."""

    path: str
    fragment: Fragment


def our_commands(text: str) -> list[tuple[str, str, object]]:
    """Return the event, the command and the time-out of each hook of ours in settings."""
    hooks = _read(text).get("hooks")
    return [
        (str(event), str(handler["command"]), handler.get("timeout"))
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for handler in _handlers(groups)
        if _is_our_entry(handler)
    ]


def are_switched_off(text: str) -> str | None:
    """Return the setting that switches all hooks off."""
    settings = _read(text)
    if settings.get("disableAllHooks") is True:
        return "disableAllHooks"
    if settings.get("allowManagedHooksOnly") is True:
        return "allowManagedHooksOnly"
    for key in ("hooksConfig", "tools"):
        table = settings.get(key)
        if isinstance(table, dict):
            for name in ("enabled", "enableHooks"):
                if table.get(name) is False and (key, name) != ("tools", "enabled"):
                    return f"{key}.{name}"
    return None


def _read(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        found = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise Unmergeable(f"it is not plain JSON ({error})") from error
    if not isinstance(found, dict):
        raise Unmergeable("it is not a JSON object")
    return found


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _table(settings: dict[str, Any], key: str) -> dict[str, Any]:
    found = settings.setdefault(key, {})
    if not isinstance(found, dict):
        raise Unmergeable(f"`{key}` is not an object in it")
    return found


def _list(table: dict[str, Any], key: str) -> list[Any]:
    found = table.setdefault(key, [])
    if not isinstance(found, list):
        raise Unmergeable(f"`hooks.{key}` is not a list in it")
    return found


def _handlers(groups: object) -> Iterator[dict[str, Any]]:
    for group in groups if isinstance(groups, list) else ():
        handlers = group.get("hooks") if isinstance(group, dict) else None
        yield from (each for each in handlers or () if isinstance(each, dict))


def _is_our_entry(handler: object) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def _holds_ours(group: object) -> bool:
    return any(_is_our_entry(handler) for handler in _handlers([group]))


def _without_ours(groups: list[Any]) -> list[Any]:
    kept = []
    for group in groups:
        if not _holds_ours(group):
            kept.append(group)
            continue
        rest = [each for each in group["hooks"] if not _is_our_entry(each)]
        if rest:
            kept.append({**group, "hooks": rest})
    return kept


def _written(settings: dict[str, Any], like: str | None) -> str:
    """Return JSON as the file was written: its indentation, its last line, its line ends."""
    like = like or ""
    found = _INDENT.search(like)
    indent: str | int = found[1] if found else 2
    text = json.dumps(settings, indent=indent, ensure_ascii=False)
    if not like.strip() or like.endswith("\n"):
        text += "\n"
    if "\r\n" in like:
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if like.startswith("\ufeff") else "") + text
