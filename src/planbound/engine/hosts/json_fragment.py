"""Our hooks and our server in a host's settings that are JSON."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planbound.engine.hosts.fragment import Unmergeable

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


def our_commands(text: str) -> list[tuple[str, str, object]]:
    """Return the event, the command and the time-out of each hook of ours in settings."""
    hooks = _read(text).get("hooks")
    return [
        (str(event), str(handler["command"]), handler.get("timeout"))
        for event, groups in (hooks.items() if isinstance(hooks, dict) else ())
        for handler in _handlers(groups)
        if _is_ours(handler)
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


def _is_ours(handler: object) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def _holds_ours(group: object) -> bool:
    return any(_is_ours(handler) for handler in _handlers([group]))


def _without_ours(groups: list[Any]) -> list[Any]:
    kept = []
    for group in groups:
        if not _holds_ours(group):
            kept.append(group)
            continue
        rest = [each for each in group["hooks"] if not _is_ours(each)]
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
