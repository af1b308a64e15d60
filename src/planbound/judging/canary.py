"""What is added to the run of a test runner: failing tests, or a report of all names.

What each runner needs for it stands in its own file of `planbound.script.runners`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.cells.cell import Outcome
from planbound.script import Script
from planbound.script.project import ProjectTree
from planbound.script.runners import BY_NAME, is_followed, runner_of
from planbound.script.runners.runner import (
    Canary,
    JudgedTree,
    Language,
    ReportedTest,
    Runner,
    RunnerCall,
    Variable,
    read_junit,
)
from planbound.script.walk import Executed, Ran, all_calls, find_call, walk
from planbound.source import lazy_pattern

_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]{0,20}m")


def runner_named(
    script: Script,
    paths: Sequence[str] = (),
    read: Callable[[str], bytes | None] | None = None,
) -> str | None:
    """Return the runner that a contract starts by name, as its summary is called.

    With a tree to read it is also found behind `npm test` and `make test`.
    """
    for call in script.calls if read is None else all_calls(script, ProjectTree(paths, read)):
        runner = runner_of(call)
        if runner is not None and runner.name:
            return runner.name
    if read is not None:
        for item in walk([script], ProjectTree(paths, read)):
            # Its summary is printed where such a file is run by itself, too.
            if isinstance(item, Executed) and _TESTS_ITSELF.search(_script_text(item.path, read)):
                return "node --test"
    return None


_TESTS_ITSELF = lazy_pattern(r"""(?:\bfrom|\brequire\(|\bimport\(?)\s*['"]node:test['"]""")


def _script_text(path: str, read: Callable[[str], bytes | None]) -> str:
    """Return the text of a file in JavaScript; empty for others."""
    is_script = path.endswith((".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"))
    return (read(path) or b"").decode("utf-8", "replace") if is_script else ""


def calls_runner(script: Script, paths: Sequence[str], read: Callable[[str], bytes | None]) -> bool:
    """Say whether a contract starts a known test runner, also behind recipes and scripts."""
    return any(
        isinstance(item, Ran) and runner_of(item.call) is not None
        for item in walk([script], ProjectTree(paths, read))
    )


def canary_for(  # noqa: PLR0913 - one thing each
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    nonce: str,
    taken: Callable[[str], bool] = lambda _path: False,
    *,
    anywhere: bool = False,
    said: str | None = None,
) -> Canary | None:
    """Return a failing test for a runner; None where an honest run might not go red with it.

    Where several runners were seen (`pytest + go test`), it is for the first that can have one.
    `taken` says what else there is besides the files: links, folders, caches. With `anywhere` the
    runner is also found where its failure may not be the contract's. `said` is what the contract
    printed when it passed.
    """
    plain = "".join(sign for sign in nonce.lower() if sign.isascii() and sign.isalnum())
    project = JudgedTree(paths, read, plain, None if said is None else _ESCAPE.sub("", said))
    for name in runner.split(" + "):
        row = BY_NAME.get(name)
        if row is None or row.canary is None:
            continue
        found = find_call(script, row.programs, project, anywhere=anywhere)
        canary = row.canary(found, project) if found is not None else None
        if canary is None or found is None:
            continue
        if found.is_cut:
            canary = _reported(canary, row, found, project)
        if not replaces(canary, project, taken):
            return canary
    return None


# Who reads what is printed may stop before its end: the report is written all the same.
_KEEPS_ON = b"""\
'use strict';
for (const stream of [process.stdout, process.stderr]) {
  const { _write } = stream;
  stream._writev = null;
  stream._write = function writing(chunk, encoding, done) {
    return Reflect.apply(_write, this, [chunk, encoding, () => done()]);
  };
  stream.on('error', () => {});
}
"""


def _reported(canary: Canary, row: Runner, found: RunnerCall, project: JudgedTree) -> Canary:
    """Return a canary that needs no output, where the runner can write a report besides."""
    canary = canary._replace(cut=found.call.program, optional=found.call.optional)
    if row.naming is None or not row.naming.beside or canary.reports is not None:
        return canary
    named = row.naming.make(found, project)
    if named is None or named.reports is None:
        return canary
    files, environment = (*canary.files, *named.files), (*canary.environment, *named.environment)
    if row.language is Language.JAVASCRIPT:
        path = f".{project.called('stream')}/{project.called('stream', 'file')}.cjs"
        files = (*files, (path, _KEEPS_ON))
        option = f'--require "{{workspace}}/{path}"'
        environment = (*environment, Variable("NODE_OPTIONS", option, " "))
    return canary._replace(files=files, environment=environment, reports=named.reports)


def replaces(canary: Canary, project: JudgedTree, taken: Callable[[str], bool]) -> bool:
    """Say whether something would be gone that is there: then it does not meet the product.

    More tests at the end of a file of tests are none that replace it.
    """
    known = set(project.paths)
    for path, content in (*canary.files, *canary.programs):
        before = project.read(path) if path in known else None
        if before is None and (path in known or taken(path)):
            return True
        if before is not None and not content.startswith(before):
            return True
    return False


class Reporter(NamedTuple):
    """How the tests of one run are named."""

    runner: str
    added: Canary
    """What is laid into the tree and set in the environment; no test is added."""
    failing: frozenset[int]
    """How the command ends when tests failed, and nothing else went wrong."""

    def cases(self, outcome: Outcome) -> tuple[ReportedTest, ...] | None:
        """Return the tests of a run; None where nothing names them."""
        naming = BY_NAME[self.runner].naming
        if naming is None or naming.read is None:
            report = outcome.collected.get(self.added.reports or "")
            found = read_junit(report) if report is not None else None
            return None if found is None else found[1]
        if outcome.stdout.dropped or outcome.stderr.dropped:
            return None
        text = _ESCAPE.sub("", f"{outcome.stdout.text()}\n{outcome.stderr.text()}")
        return naming.read(text) or None


def reporter_for(
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    nonce: str,
    taken: Callable[[str], bool] = lambda _path: False,
) -> Reporter | None:
    """Return how the tests of a contract are named; None where they cannot be."""
    row = BY_NAME.get(runner)
    if row is None or row.naming is None:
        return None
    project = JudgedTree(paths, read, nonce)
    found = find_call(script, row.programs, project)
    added = row.naming.make(found, project) if found is not None else None
    if found is None or added is None or replaces(added, project, taken):
        return None
    if is_followed(found.text, found.call):
        return None
    # `make` ends with a code of its own.
    through = {2} if any(call.program == "make" for call in script.calls) else set()
    return Reporter(runner, added, row.naming.failing | through)
