"""unittest: a module that discovery finds."""

from __future__ import annotations

from fnmatch import fnmatchcase

from planbound.engine.judging.canary.model import Canary, Found, Project, joined, parent
from planbound.plan.command.directory import below
from planbound.plan.command.word import words

_ALLOWED = words(
    "-v --verbose -q --quiet -f --failfast -b --buffer -c --catch --locals --durations"
)
_VALUED = words("-s --start-directory -p --pattern -t --top-level-directory")
_MODULE = """\
import unittest


class {kind}(unittest.TestCase):
    def {names[0]}(self):
        raise AssertionError("{names[0]}")
"""
_MORE = """
    def {names[1]}(self):
        self.fail("{names[1]}")

    def {names[2]}(self):
        self.assertEqual(1, 2)

    def {names[3]}(self):
        self.assertTrue(False)
"""
_PASSING = r"^{name} \(.{1,500}\) ?(?:\n.{0,500})?\.\.\. ok$"


def make(found: Found, project: Project) -> Canary | None:
    """Return a module in the directory where discovery starts."""
    options = _options(found)
    if options is None:
        return None
    start, pattern, top = options
    directory = below(found.directory, start)
    if directory is None or not project.holds(directory):
        return None
    if "load_tests" in (project.text(joined(directory, "__init__.py")) or ""):
        return None
    if top and project.read(joined(directory, "__init__.py")) is None:
        return None
    file = _file_name(pattern, project)
    if file is None:
        return None
    stops = found.call.has("-f", "--failfast")
    names = tuple(f"test_{name}" for name in project.several(1 if stops else 4, "unittest"))
    kind = project.called("class").replace("_", "").capitalize()
    content = (_MODULE if stops else _MODULE + _MORE).format(kind=kind, names=names)
    files = [(joined(directory, file), content.encode())]
    if "/" in file:
        files.append((joined(directory, f"{parent(file)}/__init__.py"), b""))
    return Canary(tuple(files), names, passing=_PASSING)


def _options(found: Found) -> tuple[str, str, str] | None:
    """Return the start directory, the pattern and the top-level directory."""
    operands = found.operands(_VALUED)
    if found.unknown(_ALLOWED, _VALUED) or operands[:1] not in ([], ["discover"]):
        return None
    given: dict[str, str] = {}
    values = found.call.values()
    for index, value in enumerate(values):
        option, equals, attached = value.partition("=")
        if option in _VALUED:
            name = option.lstrip("-")[0]
            given[name] = attached if equals else "".join(values[index + 1 : index + 2])
    for name, operand in zip("spt", operands[1:], strict=False):
        given.setdefault(name, operand)
    if given and not operands:
        # Only `discover` takes these.
        return None
    return given.get("s") or ".", given.get("p") or "test*.py", given.get("t", "")


def _file_name(pattern: str, project: Project) -> str | None:
    """Return a module's file name that a pattern matches.

    A pattern without `*` is one name, which a test has already: then it is in a package of its own.
    """
    name = project.name
    for file in (f"test_{name}.py", f"{name}_test.py", pattern.replace("*", name, 1)):
        if fnmatchcase(file, pattern) and file.endswith(".py") and file[:-3].isidentifier():
            return file if name in file else f"{project.called('package')}/{file}"
    return None
