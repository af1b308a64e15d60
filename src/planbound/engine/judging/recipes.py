"""What build files say they run: the recipes of a Makefile, the scripts of a package.json."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from planbound.source.pattern import lazy_pattern

_RULE = lazy_pattern(r"([^\s:=#][^:=#]*?)\s*::?(?!=)\s*([^=\n]*)")
_JUST_RULE = lazy_pattern(r"@?([\w-]+)(?:\s[^\n]*?)?:(?!=)\s*([^\n]*)")
_VARIABLE = lazy_pattern(r"(?:export\s+|override\s+)*([\w.-]+)\s*(?::{0,3}|\?|\+)=\s*(.*)")
_REFERENCE = lazy_pattern(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
_INCLUDE = lazy_pattern(r"^[ ]*(?:-include|sinclude|include|import\??)[ \t]+(.+)$", re.MULTILINE)
_CONTINUED = lazy_pattern(r"\\\n[ \t]*")
_TESTPATHS = lazy_pattern(r"^testpaths[ \t]*=(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_EXPANSIONS = 5


class Recipe(NamedTuple):
    """How one target is made."""

    needs: tuple[str, ...]
    commands: tuple[str, ...]


class Recipes(NamedTuple):
    """What a Makefile or justfile says."""

    by_target: dict[str, Recipe]
    default: str | None
    includes: tuple[str, ...]


def read_recipes(text: str, *, just: bool = False) -> Recipes:
    """Read the rules that are written plainly; what needs a real make is left out."""
    includes = [word for line in _INCLUDE.findall(text) for word in line.split()]
    variables = {"MAKE": "make"}
    found: dict[str, Recipe] = {}
    default: str | None = None
    current: list[str] = []
    for line in _CONTINUED.sub(" ", text).split("\n"):
        if current and line[:1] and line[0] in ("\t " if just else "\t"):
            for target in current:
                recipe = found[target]
                found[target] = recipe._replace(commands=(*recipe.commands, _command(line)))
        elif variable := _VARIABLE.fullmatch(line.strip()):
            variables[variable[1]] = variable[2].strip("'\" ") if just else variable[2]
        elif line[:1] not in {"", " ", "\t", "#"}:
            rule = (_JUST_RULE if just else _RULE).match(line)
            current = _expanded(rule[1], variables).split() if rule else []
            needs, _, command = (rule[2] if rule else "").partition(";")
            for target in current:
                known = found.get(target, Recipe((), ()))
                commands = (*known.commands, _command(command)) if command else known.commands
                found[target] = Recipe((*known.needs, *needs.split()), commands)
                default = default or (target if target[0] != "." or "/" in target else None)
    by_target = {target: _settled(recipe, variables) for target, recipe in found.items()}
    return Recipes(
        by_target, variables.get(".DEFAULT_GOAL", default), tuple(dict.fromkeys(includes))
    )


def needed(recipes: Recipes, targets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the commands that making the targets runs, and the files that they need."""
    waiting = list(targets) or ([recipes.default] if recipes.default else [])
    seen: set[str] = set()
    commands: list[str] = []
    files: list[str] = []
    while waiting:
        target = waiting.pop(0)
        if target in seen:
            continue
        seen.add(target)
        if target in recipes.by_target:
            recipe = recipes.by_target[target]
            commands += recipe.commands
            waiting += recipe.needs
        else:
            files.append(target)
    return commands, files


def package_commands(data: bytes, script: str) -> list[str]:
    """Return the commands that `npm run SCRIPT` runs."""
    try:
        package = json.loads(data)
    except (ValueError, RecursionError):
        return []
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return []
    found = [scripts.get(name) for name in (f"pre{script}", script, f"post{script}")]
    return [command for command in found if isinstance(command, str)]


def configured_paths(name: str, data: bytes) -> list[str]:
    """Return the `testpaths` of a pytest configuration."""
    text = data.decode("utf-8", "replace")
    if "testpaths" not in text:
        return []
    if not name.endswith(".toml"):
        given = _TESTPATHS.search(text)
        return given[1].split() if given else []
    # Not at the top: only trees with this setting need it.
    import tomllib  # noqa: PLC0415

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    return _toml_test_paths(document)


def _toml_test_paths(document: object) -> list[str]:
    for keys in (("tool", "pytest", "ini_options"), ("tool", "pytest"), ("pytest",)):
        value = document
        for key in (*keys, "testpaths"):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value.split()
        if isinstance(value, list):
            return [item for item in value if isinstance(item, str)]
    return []


def _command(line: str) -> str:
    return line.strip().lstrip("@-+ ")


def _settled(recipe: Recipe, variables: dict[str, str]) -> Recipe:
    needs = _expanded(" ".join(recipe.needs), variables).replace("|", " ").split()
    commands = (_expanded(command, variables) for command in recipe.commands)
    return Recipe(tuple(needs), tuple(each.replace("$$", "$").lstrip("@-+ ") for each in commands))


def _expanded(text: str, variables: dict[str, str]) -> str:
    for _ in range(_EXPANSIONS):
        if "$" not in text or len(text) > 10_000:
            break
        text = _REFERENCE.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)
    return text
