"""go: one more test in every package that has tests: each has its own process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from planbound.engine.judging.canary.model import Canary, Found, Project, base, joined, parent
from planbound.plan.command.directory import below
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_ALLOWED = words(
    "-v -race -short -cover -json -failfast -a -x -trimpath -count -timeout -parallel -p -cpu "
    "-covermode -coverpkg -coverprofile -shuffle -mod -vet -tags -ldflags -gcflags"
)
VALUED = words(
    "-count -timeout -parallel -p -cpu -covermode -coverpkg -coverprofile -shuffle -mod -vet -tags "
    "-ldflags -gcflags"
)
_PACKAGE = lazy_pattern(r"(?m)^package[ \t]+(\w+)")
# Such a file may not be part of the package on this machine.
_CONSTRAINT = lazy_pattern(r"(?m)^//(?:go:build| ?\+build) ")
_SYSTEMS = lazy_pattern(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris"
    r"|wasip1|windows|386|amd64|arm|arm64|loong64|mips\w*|ppc64\w*|riscv64|s390x|wasm)_test\.go$"
)
_LEFT_OUT = lazy_pattern(r"(?:^|/)(?:[._][^/]*|testdata|vendor)/")
_MODULE = lazy_pattern(r"(?m)^module[ \t]+\"?([^\s\"]+)")
_MOST_READ = 1000
_MOST_PACKAGES = 40
_TEST = """\
package {package}

import "testing"

func {name}(t *testing.T) {{
\tt.Fatal("{name}")
}}
"""


def make(found: Found, project: Project) -> Canary | None:
    """Return a file beside the tests of every package that is named."""
    if not runs_all(found):
        return None
    packages = tested_packages(found, project)
    if not 0 < len(packages) <= _MOST_PACKAGES:
        return None
    files: list[tuple[str, bytes]] = []
    names: list[str] = []
    besides: list[str] = []
    for directory, package in packages.items():
        name = f"Test{project.called(directory).replace('_', '').capitalize()}"
        file = joined(directory, f"{project.called(directory, 'file')}_test.go")
        files.append((file, _TEST.format(package=package, name=name).encode()))
        names.append(name)
        place = _import_path(directory, project)
        if place is not None and not found.call.has("-json"):
            besides.append(rf"^FAIL\t{re.escape(place)}(?:\s|$)")
    # With `-v` the tests that pass are named too.
    verbose = "GOFLAGS" not in found.text
    return Canary(
        tuple(files),
        tuple(names),
        (("GOFLAGS", "-v"),) if verbose else (),
        failing=r"--- FAIL: {name}\b",
        passing=r"--- PASS: {name}\b",
        besides=tuple(besides),
    )


def runs_all(found: Found) -> bool:
    """Say whether all tests of the packages are run."""
    return found.operands(VALUED)[:1] == ["test"] and not found.unknown(_ALLOWED, VALUED)


def tested_packages(found: Found, project: Project) -> dict[str, str]:
    """Return the directories with tests that are named, with the name of the package in each."""
    patterns = found.operands(VALUED)[1:] or ["."]
    packages: dict[str, str] = {}
    for path in islice(_tests(found, patterns, project), _MOST_READ):
        text = project.text(path) or ""
        clause = _PACKAGE.search(text)
        if clause is not None and not _CONSTRAINT.search(text):
            packages.setdefault(parent(path), clause[1])
    return packages


def is_bound(path: str) -> bool:
    """Say whether a file is for some systems only."""
    return _SYSTEMS.search(path) is not None


def _import_path(directory: str, project: Project) -> str | None:
    """Return how a package is called in what go says."""
    modules = {parent(path) for path in project.paths if base(path) == "go.mod"}
    module = _module(directory, modules)
    if module is None:
        return None
    name = _MODULE.search(project.text(joined(module, "go.mod")) or "")
    inside = directory.removeprefix(module).strip("/")
    return joined(name[1], inside) if name is not None and inside else name and name[1]


def _tests(found: Found, patterns: list[str], project: Project) -> Iterator[str]:
    """Yield the test files of the packages that are named."""
    modules = {parent(path) for path in project.paths if base(path) == "go.mod"}
    module = _module(found.directory, modules)
    for pattern in patterns:
        deep = pattern.endswith("/...")
        written = pattern.removesuffix("/...")
        if not (written == "." or written.startswith(("./", "../"))):
            continue
        directory = below(found.directory, written)
        if directory is None:
            continue
        for path in project.below(directory):
            inside = path.removeprefix(f"{directory}/") if directory else path
            if (
                path.endswith("_test.go")
                and (deep or "/" not in inside)
                and not _LEFT_OUT.search(inside)
                and not is_bound(path)
                and _module(parent(path), modules) == module
            ):
                yield path


def _module(directory: str, modules: set[str]) -> str | None:
    """Return the directory of the module that a directory is part of."""
    while directory not in modules:
        if not directory:
            return None
        directory = parent(directory)
    return directory
