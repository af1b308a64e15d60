"""go: one more test in every package that has tests: each has its own process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from planbound.script.runners.runner import (
    CallWords,
    Canary,
    Declared,
    Habits,
    JudgedTree,
    Language,
    Naming,
    ReportedOutcome,
    ReportedTest,
    RequiredTest,
    Runner,
    RunnerCall,
    Summary,
    Variable,
    added,
    base,
    counted,
    joined,
    names,
    parent,
    source_text,
)
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

# -- go: one more test in every package that has tests: each has its own process -----------------


_ALLOWED = words(
    "-v -race -short -cover -json -failfast -a -x -trimpath -count -timeout -parallel -p -cpu "
    "-covermode -coverpkg -coverprofile -shuffle -mod -vet -tags -ldflags -gcflags"
)
_VALUED = words(
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
_VERBOSE = Variable("GOFLAGS", "-v", " ")
_MOST_READ = 1000
_MOST_PACKAGES = 40
_TEST = """\
package {package}

import "testing"

func {name}(t *testing.T) {{
\tt.Fatal("{name}")
}}
"""


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
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
        (_VERBOSE,) if verbose else (),
        failing=r"--- FAIL: {name}\b",
        passing=r"--- PASS: {name}\b",
        besides=tuple(besides),
    )


def runs_all(found: RunnerCall) -> bool:
    """Say whether all tests of the packages are run."""
    return found.operands(_VALUED)[:1] == ["test"] and not found.unknown(_ALLOWED, _VALUED)


def tested_packages(found: RunnerCall, project: JudgedTree) -> dict[str, str]:
    """Return the directories with tests that are named, with the name of the package in each."""
    patterns = found.operands(_VALUED)[1:] or ["."]
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


def _import_path(directory: str, project: JudgedTree) -> str | None:
    """Return how a package is called in what go says."""
    modules = {parent(path) for path in project.paths if base(path) == "go.mod"}
    module = _module(directory, modules)
    if module is None:
        return None
    name = _MODULE.search(project.text(joined(module, "go.mod")) or "")
    inside = directory.removeprefix(module).strip("/")
    return joined(name[1], inside) if name is not None and inside else name and name[1]


def _tests(found: RunnerCall, patterns: list[str], project: JudgedTree) -> Iterator[str]:
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


# -- what `go test` says: a line for each package, and under `-v` one for each test --------------


_TEST_LINE = lazy_pattern(r"--- (PASS|FAIL|SKIP): \S{1,500} \([0-9.]{1,20}s\)")
_PACKAGE_LINE = lazy_pattern(
    r"(?:(ok)  \t\S{1,500}\t(?:\(cached\)|[0-9.]{1,20}s)(?:[ \t].{0,500})?"
    r"|(FAIL)\t\S{1,500}(?:[ \t].{0,500})?"
    r"|(\?)   \t\S{1,500}\t\[no test files\])"
)
_EVENT = lazy_pattern(
    r'\{(?:"Time":"[^"]{0,60}",)?"Action":"(pass|fail|skip)","Package":"([^"]{0,500})"'
    r'(?:,"Test":"([^"]{0,500})")?[,}].{0,500}'
)


def read(text: str) -> Summary | None:
    """Return what `go test` says, all packages together."""
    lines = text.split("\n")
    runs = [*_packages(lines), *_events(lines)]
    return added("go test", runs)


def _packages(lines: list[str]) -> list[Summary]:
    runs: list[Summary] = []
    seen: Counter[str] = Counter()
    verbose = False
    for line in lines:
        if line.startswith("=== RUN "):
            verbose = True
        elif match := _TEST_LINE.fullmatch(line):
            seen[match[1]] += 1
        elif match := _PACKAGE_LINE.fullmatch(line):
            passed = seen["PASS"]
            if match[1] and not verbose and not passed and "[no tests to run]" not in line:
                # Without `-v` the package is all that is said.
                passed = 1
            failed = max(seen["FAIL"], 1) if match[2] else seen["FAIL"]
            runs.append(Summary("go test", passed, failed, seen["SKIP"]))
            seen.clear()
            verbose = False
    return runs


def _events(lines: list[str]) -> list[Summary]:
    """Read what `-json` writes."""
    runs: list[Summary] = []
    failed: set[str] = set()
    for line in lines:
        if line[:2] != '{"' or not (match := _EVENT.fullmatch(line)):
            continue
        action, package, test = match.groups()
        if test is None:
            broken = action == "fail" and package not in failed
            runs.append(Summary("go test", failed=int(broken)))
        elif "/" not in test:
            if action == "fail":
                failed.add(package)
            runs.append(
                Summary(
                    "go test", int(action == "pass"), int(action == "fail"), int(action == "skip")
                )
            )
    return runs


# -- the tests by their names, in what go prints and in the sources ------------------------------


_NAMED = lazy_pattern(r"(?m)^\s{0,40}--- (PASS|FAIL|SKIP): (\S{1,500}) \([0-9.]{1,20}s\)$")
_ENDS = {
    "PASS": ReportedOutcome.PASSED,
    "FAIL": ReportedOutcome.FAILED,
    "SKIP": ReportedOutcome.SKIPPED,
}
_SOURCE_TEST = lazy_pattern(r"(?m)^func (Test(?:[^a-z\W]\w*)?)\(\w+ \*testing\.T\)")
_SOURCE_UNSURE = lazy_pattern(r"\bSkip(?:f|Now)?\(|func TestMain\(|(?m:^//(?:go:build| ?\+build) )")


def named(text: str) -> tuple[ReportedTest, ...]:
    """Return the tests that an output names."""
    return tuple(ReportedTest(name, _ENDS[word]) for word, name in _NAMED.findall(text))


def _naming(found: RunnerCall, _project: JudgedTree) -> Canary | None:
    if found.operands(_VALUED)[:1] != ["test"] or found.call.has("-failfast", "-json"):
        return None
    return None if "GOFLAGS" in found.text else Canary((), (), (_VERBOSE,))


def required(
    found: RunnerCall, project: JudgedTree, judges: Mapping[str, bytes]
) -> Iterator[RequiredTest]:
    """Yield the tests of the packages that surely run, as the frozen judges declare them."""
    # Without `-v` the tests that pass are not named.
    if not runs_all(found) or found.call.has("-failfast") or "GOFLAGS" in found.text:
        return
    packages = tested_packages(found, project)
    texts = {path: source_text(data) for path, data in judges.items() if path.endswith("_test.go")}
    unsure = {parent(path) for path, text in texts.items() if _SOURCE_UNSURE.search(text)}
    for path, text in sorted(texts.items()):
        if parent(path) in packages and parent(path) not in unsure and not is_bound(path):
            for name in _SOURCE_TEST.findall(text):
                yield RequiredTest(path, name, r"^\s*--- PASS: {name} \(|\"--- PASS: {name} \(")


RUNNER = Runner(
    programs=("go",),
    name="go test",
    language=Language.GO,
    words=CallWords(
        subcommand="test",
        valued=words("-run -bench -count -timeout -tags -coverprofile -cpu -parallel -skip -p"),
    ),
    habits=Habits(
        names("go.mod go.sum go.work"),
        lazy_pattern(r"(?:.*/)?(?:[^/]*_test\.go\Z|testdata/.*)"),
    ),
    failed=r"FAIL(?:\s\S{1,200}\s[\d.]{1,12}s)?$",
    read=read,
    canary=make,
    naming=Naming(_naming, read=named),
    required=required,
    declared=Declared((".go",), counted(lazy_pattern(r"(?m)^func Test\w{0,200}\("))),
)
