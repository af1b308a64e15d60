"""Checks that need no shell to be written: each becomes a contract, or a probe of the harness."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from planbound.errors import UsageError
from planbound.plan.suggest import nearest

_JSON_PATH = (
    "import json,sys\n"
    "value=json.load(open(sys.argv[1]))\n"
    "for part in sys.argv[2].strip('$.').replace('[','.').replace(']','').split('.'):\n"
    "    if part: value=value[int(part)] if isinstance(value,list) else value[part]\n"
    "print(json.dumps(value))\n"
    "sys.exit(value!=json.loads(sys.argv[3]))"
)


class Compiled(NamedTuple):
    """What a check comes to."""

    command: str | None = None
    """A contract for bash; None: the harness itself looks, see `probe`."""
    expect: tuple[str, ...] = ()
    probe: tuple[str, Mapping[str, object]] | None = None
    """The name of a probe, and its arguments."""


def compile_check(check: object) -> Compiled:
    """Return what a check such as `{"file_exists": {"path": "a.txt"}}` comes to."""
    if not isinstance(check, Mapping) or len(check) != 1:
        raise UsageError(
            "a check is an object with one name",
            hint='such as {"file_exists": {"path": "a.txt", "contains": "x"}}',
        )
    ((name, given),) = check.items()
    arguments = given if isinstance(given, Mapping) else {_FIRST.get(str(name), "value"): given}
    maker = _MAKERS.get(str(name))
    if maker is not None:
        return maker(_Arguments(str(name), arguments))
    try:
        # As it will be in the journal: a copy, and nothing that is no JSON.
        known = json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the arguments of `{name}` are no JSON: {error}") from error
    return Compiled(probe=(str(name), known))


def unknown_probe(name: str, known: tuple[str, ...]) -> str:
    """Return what is said of a probe that nobody here has."""
    all_known = tuple(dict.fromkeys((*_MAKERS, *known)))
    near = nearest(name, all_known)
    cure = f"did you mean `{near}`?" if near else f"known are {', '.join(all_known)}"
    return f"there is no verifier `{name}` here; {cure}"


class _Arguments:
    """The arguments of one check, read one by one; each refusal names the check."""

    def __init__(self, name: str, given: Mapping[object, object]) -> None:
        self.name = name
        self.left = {str(key): value for key, value in given.items()}

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self.left.pop(key, default)
        if not isinstance(value, str) or not (value.strip() or default == ""):
            raise UsageError(f"`{self.name}` needs `{key}`, a text")
        if "\0" in value:
            raise UsageError(f"`{key}` of `{self.name}` holds a NUL character")
        return value

    def path(self, key: str) -> str:
        value = self.text(key)
        if value.startswith("/") or ".." in value.split("/"):
            raise UsageError(f"`{self.name}` looks into the workspace only, not at `{value}`")
        return value

    def paths(self, key: str) -> list[str]:
        value = self.left.pop(key, None)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found:
            raise UsageError(f"`{self.name}` needs `{key}`, a list of paths")
        one = _Arguments(self.name, {})
        for item in found:
            one.left["path"] = item
            one.path("path")
        return [str(item) for item in found]

    def done(self) -> None:
        for key in self.left:
            raise UsageError(f"`{self.name}` knows no `{key}`")


def _file_exists(given: _Arguments) -> Compiled:
    path, contains = given.path("path"), given.text("contains", default="")
    given.done()
    command = f"test -f {quoted(path)}"
    if contains:
        command += f" && grep -qF -- {quoted(contains)} {quoted(path)}"
    return Compiled(command)


def _command(given: _Arguments) -> Compiled:
    command = given.text("cmd")
    given.done()
    return Compiled(command)


def _json_path(given: _Arguments) -> Compiled:
    file, path = given.path("file"), given.text("path")
    if "equals" not in given.left:
        raise UsageError("`json_path` needs `equals`, the value that has to be there")
    try:
        equals = json.dumps(given.left.pop("equals"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"`equals` of `json_path` is no JSON: {error}") from error
    given.done()
    words = [quoted(word) for word in (_JSON_PATH, file, path, equals)]
    return Compiled(f"python3 -c {' '.join(words)}")


def _git_committed(given: _Arguments) -> Compiled:
    paths = " ".join(quoted(path) for path in given.paths("paths"))
    given.done()
    return Compiled(
        f"git ls-files --error-unmatch -- {paths} >/dev/null"
        f' && test -z "$(git status --porcelain -- {paths})"'
    )


def _tests_pass(given: _Arguments) -> Compiled:
    selector = given.text("selector", default="")
    given.done()
    where = f" {quoted(selector)}" if selector else ""
    return Compiled(f"python3 -m pytest -q{where}", ("tests >= 1",))


def _http_ok(given: _Arguments) -> Compiled:
    url = given.text("url")
    given.done()
    return Compiled(probe=("http_ok", {"url": url}))


_MAKERS: Mapping[str, Callable[[_Arguments], Compiled]] = {
    "file_exists": _file_exists,
    "command": _command,
    "json_path": _json_path,
    "git_committed": _git_committed,
    "tests_pass": _tests_pass,
    "http_ok": _http_ok,
}
_FIRST = {
    "file_exists": "path",
    "command": "cmd",
    "git_committed": "paths",
    "tests_pass": "selector",
    "http_ok": "url",
}
"""The argument that is meant where only a value is given."""


def quoted(text: str) -> str:
    """Return a word of bash that is exactly this text."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
