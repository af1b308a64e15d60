"""One table of the configuration, read key by key; every refusal names the key."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn, TypeVar

from planbound.errors import ConfigurationError
from planbound.plan.limits import Budget, LimitError, parse_budget, parse_duration
from planbound.plan.vocabulary import nearest
from planbound.source import lazy_pattern

_Choice = TypeVar("_Choice", bound=enum.Enum)
_SIZE = lazy_pattern(r"\s*(\d{1,12})\s*([kmgt]?)(?:i?b)?\s*", re.IGNORECASE)
_SCALE = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Table:
    """A table as it stands in the file: asked key by key, each time for what it has to be."""

    def __init__(self, values: Mapping[str, object], name: str, path: str) -> None:
        self._values = values
        self.name = name
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str, default: object = None) -> object:
        """Return what stands there, whatever it is."""
        return self._values.get(key, default)

    def copy(self) -> dict[str, object]:
        """Return all that stands there, for whoever knows the keys."""
        return dict(self._values)

    def _key(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def refuse(self, key: str, what: str, hint: str) -> NoReturn:
        """Raise the error for a key."""
        raise ConfigurationError(f"`{self._key(key)}` {what} in {self.path}", hint=hint)

    def allow(self, *known: str) -> None:
        """Refuse every key that is not known."""
        for key in self._values:
            if key not in known:
                near = nearest(key, known)
                hint = f"did you mean `{near}`?" if near else f"known keys are {', '.join(known)}"
                raise ConfigurationError(
                    f"unknown key `{self._key(key)}` in {self.path}", hint=hint
                )

    def table(self, key: str) -> Table:
        """Return a table in this one; an empty one where there is none."""
        value = self._values.get(key, {})
        if not isinstance(value, dict):
            self.refuse(key, "is not a table", f"write `[{self._key(key)}]`")
        return Table(value, self._key(key), self.path)

    def tables(self, key: str) -> tuple[Table, ...]:
        """Return the tables of a list `[[key]]`; none where there is no such list."""
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.refuse(key, "is not a list of tables", f"write `[[{self._key(key)}]]`")
        name = self._key(key)
        return tuple(
            Table(item, f"{name}[{number}]", self.path) for number, item in enumerate(value, 1)
        )

    def texts(self, key: str, what: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.refuse(key, f"is not {what}", f'write `{key} = ["..."]`')
        return tuple(value)

    def budget(self, key: str, what: str) -> Budget:
        """Return an amount of tokens, dollars and time, or of some of them; `what` it is."""
        value = self._values[key]
        example = f'write {what}, such as `{key} = "50k tokens, $0.50, 10 minutes"`'
        if not isinstance(value, str):
            self.refuse(key, f"is {value!r}", example)
        try:
            return parse_budget(value)
        except LimitError as error:
            self.refuse(key, f"is {value!r}: {error.reason}", example)

    def names(self, key: str) -> tuple[str, ...]:
        """Return names of variables."""
        found = self.texts(key, "a list of names of variables")
        for name in found:
            if not name.replace("_", "a").isalnum() or name[:1].isdigit():
                self.refuse(key, f"holds `{name}`", f'write names only, such as `{key} = ["LANG"]`')
        return found

    def flag(self, key: str, default: bool) -> bool:  # noqa: FBT001 - what a flag is by default
        """Return true or false."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, f"is {value!r}", "write `true` or `false`")
        return value

    def count(self, key: str, default: int) -> int:
        """Return a number of things, at least one."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.refuse(key, f"is {value!r}", f"write a number, such as `{key} = {default}`")
        return value

    def seconds(self, key: str, default: float) -> float:
        """Return a duration."""
        value = self._values.get(key)
        if value is None:
            return default
        try:
            seconds = float(parse_duration(value)) if isinstance(value, str) else 0.0
        except LimitError:
            seconds = 0.0
        if seconds <= 0:
            self.refuse(key, f"is {value!r}", f'write a duration, such as `{key} = "5m"`')
        return seconds

    def number(self, key: str, default: int, most: int) -> int:
        """Return a number of things that may be 0."""
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            self.refuse(key, f"is {value!r}", f"write a number from 0 to {most}")
        return value

    def size(self, key: str, default: int) -> int:
        """Return an amount of bytes."""
        value = self._values.get(key, default)
        if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
            value = int(match[1]) * _SCALE[match[2].lower()]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1 << 20:
            self.refuse(
                key, f"is {value!r}", f'write a size of 1 MB or more, such as `{key} = "2 GB"`'
            )
        return value

    def choice(self, key: str, kind: type[_Choice], default: _Choice | None) -> _Choice | None:
        """Return a member of a closed set."""
        value = self._values.get(key)
        if value is None:
            return default
        for member in kind:
            if member.value == value:
                return member
        names = ", ".join(f'"{member.value}"' for member in kind)
        return self.refuse(key, f"is {value!r}", f"write one of {names}")
