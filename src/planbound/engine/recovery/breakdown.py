"""How an agent's own program breaks down: what it prints last, and what it cannot read."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.sign import sign
from planbound.source.pattern import lazy_pattern

_A = FailureClass.AGENT
_CALL = r"(?:tool|function)[ _-]?(?:call|use|invocation)s?"
_LIMITED = r"(?:turn|iteration|step|request|action|round|reflection)s?"

BREAKDOWN_SIGNS = (
    sign(
        "format",
        _A,
        r"\bJSONDecodeError\b",
        r"\bExpecting value: line \d{1,9} column \d",
        r"\bis not valid JSON\b",
        r"\bUnexpected (?:token|end of JSON input)\b.{0,200}\bJSON\b",
        r"\bunexpected end of JSON input\b",
        r"\b(?:failed|unable|could not|cannot) (?:to )?(?:parse|decode|deserialize|read)"
        r" (?:the |a )?(?:\w{1,20} )?(?:response|answer|reply|completion|stream)\b",
        r"\b(?:invalid|malformed|unparsable|unexpected) (?:\w{1,20} )?(?:response|completion)"
        r" (?:format|body|from|of)\b",
        r"\bunable to get json response\b",
        r"\b(?:missing|no) (?:field |key |property )?[`'\"]?choices\b",
        r"^KeyError: '(?:choices|message|content|output|usage)'",
        r"\bAPIResponseValidationError\b",
        r"\bUnexpectedModelBehavior\b",
    ),
    sign(
        "tool-call",
        _A,
        rf"\b(?:malformed|invalid|unreadable|unparsable|unparseable|incomplete) {_CALL}\b",
        rf"\b(?:failed|unable|could not|cannot) (?:to )?(?:parse|decode|read|understand)"
        rf" (?:the |a |its )?(?:{_CALL}|(?:tool|function) (?:arguments?|input))\b",
        r"\bMALFORMED_FUNCTION_CALL\b",
        r"\bRepeatedFormatError\b",
        r"\bexceeded max(?:imum)? (?:\w{1,20} )?retries\b",
    ),
    sign(
        "turns",
        _A,
        r"\brequests? (?:are |were |is |was )?exhausted\b",
        rf"\bmax(?:imum)? (?:number of )?{_LIMITED}\b.{{0,30}}\b(?:reached|exceeded|exhausted|hit)",
        rf"\b(?:reached|exceeded|exhausted|hit) (?:the |its |your |all )?(?:max(?:imum)? )?"
        rf"(?:number of )?{_LIMITED}\b",
        r"\brequest_limit of \d",
    ),
    sign("core-dumped", _A, r"\(core dumped\)", r"^Segmentation fault\b"),
)
"""What a line says; looked for after everything that is known of services and machines."""

_TRACEBACK = lazy_pattern(r"\s{0,8}[|+ -]{0,8}Traceback \(most recent call last\):\s{0,4}")
_EXCEPTION = lazy_pattern(r"[A-Za-z_][\w.]{0,120}(?::\s.{0,2000})?")
# What test runners print behind the traceback of a test: that one is no agent's own.
_OF_TESTS = lazy_pattern(r"Ran \d{1,9} tests?\b|FAILED\b|[=-]{10,}|.{0,40}\b\d{1,9} failed\b")
_MOST_AFTER = 2
_UNCAUGHT = lazy_pattern(
    r"Node\.js v\d{1,3}\.|Bun v\d{1,3}\.|thread '.{0,80}' (?:\(\d{1,20}\) )?panicked at "
    r"|Exception in thread \"|goroutine \d{1,20} \[|note: run with `RUST_BACKTRACE=1`"
)
_LOOKED_AT = 12


def breakdown(lines: Sequence[str]) -> int | None:
    """Return the line from which an output is the last words of a program that broke down.

    None where it ended otherwise: the traceback of a test that it ran stands in the middle.
    """
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    for index in range(max(0, end - _LOOKED_AT), end):
        if _UNCAUGHT.match(lines[index]):
            return max(0, index - _LOOKED_AT)
    head = next((at for at in range(end - 1, -1, -1) if _TRACEBACK.fullmatch(lines[at])), None)
    if head is None:
        return None
    plain = [line for line in lines[head + 1 : end] if line.strip() and line[0] not in " \t|"]
    if not plain or not _EXCEPTION.fullmatch(plain[0]) or len(plain) > 1 + _MOST_AFTER:
        return None
    return None if any(_OF_TESTS.match(line) for line in plain[1:]) else head


def last_words(lines: Sequence[str], most: int = 200) -> str:
    """Return the last line that says something."""
    for line in reversed(lines):
        text = " ".join(line.split())
        if text and not _UNCAUGHT.match(text):
            return text[:most]
    return ""
