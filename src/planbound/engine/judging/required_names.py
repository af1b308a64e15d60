"""Which tests must have passed in runs of node, go and cargo, as their frozen sources name them.

Their reports are what they print: a test is known by its name alone. Only what surely runs is
required: where a file skips, selects or conditions any of its tests, none of them is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from posixpath import dirname
from typing import NamedTuple

from planbound.engine.judging.canary import cargo, go, node
from planbound.engine.judging.canary.find import find_call
from planbound.engine.judging.canary.model import Found, Project
from planbound.plan.command import Script
from planbound.source.pattern import lazy_pattern


class Named(NamedTuple):
    """A required test."""

    path: str
    """The file that it stands in."""
    name: str
    """As the runner prints it."""
    passing: str
    """An expression for how the output says that it passed."""


# What looks like a test in there is none.
_ASIDE = lazy_pattern(r"(?s)/\*.*?\*/|`[^`]*`")
_GO_TEST = lazy_pattern(r"(?m)^func (Test(?:[^a-z\W]\w*)?)\(\w+ \*testing\.T\)")
_GO_UNSURE = lazy_pattern(r"\bSkip(?:f|Now)?\(|func TestMain\(|(?m:^//(?:go:build| ?\+build) )")
_RUST_TEST = lazy_pattern(r"(?m)^[ \t]*#\[test\]\s*\n[ \t]*(?:pub )?fn (\w+)\(\)")
_RUST_UNSURE = lazy_pattern(r"#!?\[\s*(?:cfg(?!\(test\)\])|cfg_attr|ignore)|macro_rules!|\br#\"")
_JS_TEST = lazy_pattern(
    r"[ \t]*(?:test|it)\(\s*(?:'([^'\\#$]+)'|\"([^\"\\#$]+)\"|`([^`\\#$]+)`)\s*,"
)
_JS_GROUP = lazy_pattern(r"[ \t]*(?:describe|suite)\(")
_JS_UNSURE = lazy_pattern(r"\.(?:skip|todo|only)\b|\b(?:skip|todo|only)\s*[:(]|\bprocess\.exit")


def required_names(
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    judges: Mapping[str, bytes],
) -> tuple[Named, ...]:
    """Return the tests that a contract with one of these runners must run."""
    if not judges:
        return ()
    every = sorted({*paths, *judges})
    project = Project(every, lambda path: judges.get(path) or read(path), "")
    for name in runner.split(" + "):
        if name in _FINDERS:
            program, find = _FINDERS[name]
            found = find_call(script, program, project)
            return tuple(find(found, project, judges)) if found is not None else ()
    return ()


def missing_names(required: Sequence[Named], text: str) -> tuple[str, ...]:
    """Return the required tests that an output does not show as passed, as `path::name`.

    Several may have one name: each must have passed.
    """
    wanted = Counter((each.name, each.passing) for each in required)
    short = {
        name
        for (name, passing), count in wanted.items()
        if len(re.findall(passing.replace("{name}", re.escape(name)), text, re.MULTILINE)) < count
    }
    return tuple(f"{each.path}::{each.name}" for each in required if each.name in short)


def _go(found: Found, project: Project, judges: Mapping[str, bytes]) -> Iterator[Named]:
    # Without `-v` the tests that pass are not named.
    if not go.runs_all(found) or found.call.has("-failfast") or "GOFLAGS" in found.text:
        return
    packages = go.tested_packages(found, project)
    texts = {path: _text(data) for path, data in judges.items() if path.endswith("_test.go")}
    unsure = {dirname(path) for path, text in texts.items() if _GO_UNSURE.search(text)}
    for path, text in sorted(texts.items()):
        if dirname(path) in packages and dirname(path) not in unsure and not go.is_bound(path):
            for name in _GO_TEST.findall(text):
                yield Named(path, name, r"^\s*--- PASS: {name} \(|\"--- PASS: {name} \(")


def _cargo(found: Found, project: Project, judges: Mapping[str, bytes]) -> Iterator[Named]:
    quiet = ("-q", "--quiet", "--nocapture", "--show-output", "--test-threads")
    if not cargo.runs_all(found) or any(value.startswith(quiet) for value in found.call.values()):
        return
    known = {
        target.path
        for package in cargo.packages_of(found, project)
        for target in cargo.targets(package, project)
        if target.option.startswith("--test")
    }
    for path, data in sorted(judges.items()):
        text = _text(data)
        if path in known and not _RUST_UNSURE.search(text):
            for name in _RUST_TEST.findall(text):
                yield Named(path, name, cargo.PASSING + "$")


def _node(found: Found, project: Project, judges: Mapping[str, bytes]) -> Iterator[Named]:
    if not node.runs_all(found) or found.call.has("--test-reporter"):
        return
    known = set(node.selected_files(found, project))
    for path, data in sorted(judges.items()):
        text = _text(data)
        if path in known and not _JS_UNSURE.search(text):
            for name in _js_names(text):
                yield Named(
                    path, name, node.PASSING.removesuffix(r"\b") + r"(?: \([\d.]+ms\))?\s*$"
                )


def _js_names(text: str) -> Iterator[str]:
    """Yield the tests on top, and in groups that stand on top; those in branches may not run."""
    above: list[tuple[int, bool]] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        sure = above[-1][1] if above else indent == 0
        match = _JS_TEST.match(line)
        if match and sure:
            yield match[1] or match[2] or match[3]
        above.append((indent, sure and _JS_GROUP.match(line) is not None))


def _text(data: bytes) -> str:
    return _ASIDE.sub(_without, data.decode("utf-8", "replace"))


def _without(aside: re.Match[str]) -> str:
    # A name may stand in such quotes, on one line.
    return aside[0] if aside[0][0] == "`" and "\n" not in aside[0] else ""


_FINDERS: Mapping[
    str, tuple[str, Callable[[Found, Project, Mapping[str, bytes]], Iterator[Named]]]
] = {
    "go test": ("go", _go),
    "cargo test": ("cargo", _cargo),
    "node --test": ("node", _node),
}
