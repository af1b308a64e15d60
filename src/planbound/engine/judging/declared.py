"""How many tests the sources declare: what a runner without a report can be believed at most."""

from __future__ import annotations

from collections.abc import Mapping

from planbound.engine.judging.collected import tests_in
from planbound.engine.judging.required import is_test_file
from planbound.source.pattern import lazy_pattern

_JAVASCRIPT = lazy_pattern(
    r"(?m)^[^'\"`\n]{0,80}?\b(?:it|test|specify)(?:\.\w{1,20}){0,3}\s{0,4}\("
)
_BY_ENDING = (
    ((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), _JAVASCRIPT),
    (("_spec.rb",), lazy_pattern(r"(?m)^\s{0,40}(?:it|specify|example|scenario)\b")),
    ((".php",), lazy_pattern(r"\bfunction\s{1,9}test\w{0,200}\s{0,9}\(|#\[Test\]|@test\b")),
    ((".bats",), lazy_pattern(r"(?m)^\s{0,40}@test\s")),
    ((".go",), lazy_pattern(r"(?m)^func Test\w{0,200}\(")),
    ((".rs",), lazy_pattern(r"#\[(?:\w{1,40}::)?test\b")),
    (("CMakeLists.txt",), lazy_pattern(r"(?mi)^\s{0,40}add_test\s{0,9}\(")),
)


def may_declare(path: str) -> bool:
    """Say whether a file may declare tests."""
    return is_test_file(path) or path.endswith((".rs", "CMakeLists.txt", ".bats"))


def declared_tests(files: Mapping[str, bytes]) -> int:
    """Return how many tests stand in files, each row of a table not counted by itself."""
    return sum(_declared(path, data) for path, data in files.items())


def _declared(path: str, data: bytes) -> int:
    if path.endswith(".py"):
        return sum(1 for _ in tests_in(data))
    for endings, test in _BY_ENDING:
        if path.endswith(endings):
            return len(test.findall(data.decode("utf-8", "replace")))
    return 0
