"""What a program tells: why it ended, the errors that it names, the fields of its events."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from planbound.agents.signs import OUTPUT_SIGNS
from planbound.journal.words import FailureClass
from planbound.plan.vocabulary import fold
from planbound.source import lazy_pattern
from planbound.workspace.recipes import OutputSign

# -- the end of an output, read from its last line up: what a program says last is why it ended --


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


READ = 20_000
"""How many characters at the end of an output are looked at."""
PIECE = 500
"""How much of a line is shown at once to patterns whose cost nobody knows."""
_COLOUR = lazy_pattern(r"\x1b\[[0-9;?]{0,32}[@-~]")
# What a test runner reports as passed, lines of a difference, and lines of a program.
_REPORT = lazy_pattern(
    r"\s{0,40}(?:[✓✔√]|ok \d|PASS(?:ED)?\b|--- PASS|\+|-(?:\s{2}|[^\s\w-])|@@ |diff --git "
    r"|#\s|//\s|(?:except|raise|return|elif|def|import|assert)\s)"
)
_PASSED = lazy_pattern(r"(?:\bPASSED\b.{0,12}|\.\.\. ok|\bpassed)\s{0,4}$")
# Somebody tells of such a failure; it did not happen.
_TOLD_BEFORE = lazy_pattern(
    r"\b(?:no|not|0|zero|without|never|fix(?:e[sd])?|handl(?:es?|ed|ing)|simulat(?:es?|ed|ing)"
    r"|mock(?:s|ed|ing)?|add(?:s|ed)?|expect(?:s|ed|ing)?|rais(?:es?|ing)|returns"
    r"|tests? (?:for|of|that)|cover(?:s|ed|ing)?|test_\w{0,80})\s"
    r"(?:(?:a|an|the|on|more|any|for|of|with) ){0,2}[\"'`(]{0,2}$|\berrno\.$",
    re.IGNORECASE,
)
_TOLD_AFTER = lazy_pattern(
    r"[\"'`)]{0,2}\s(?:handl(?:ing|ers?)|tests?|logic|middleware|support|branch|cases?|retries)\b",
    re.IGNORECASE,
)


class FoundSign(NamedTuple):
    """A sign, and the line that it was found in."""

    sign: OutputSign
    line: int


def lines_of(*texts: str | None) -> tuple[str, ...]:
    """Return the lines at the end of each text, without colours."""
    found: list[str] = []
    for text in texts:
        if text:
            found += _COLOUR.sub("", text[-READ:]).splitlines()
    return tuple(found)


def pieces_of(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines, long ones in pieces that overlap by half."""
    return tuple(
        line[start : start + PIECE]
        for line in lines
        for start in range(0, max(1, len(line) - PIECE // 2), PIECE // 2)
    )


def find_sign(lines: Sequence[str]) -> FoundSign | None:
    """Return the sign that stands last; in one line, the first of the table."""
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index].strip()
        if not line or _REPORT.match(line) or _PASSED.search(line):
            continue
        for known in OUTPUT_SIGNS:
            if _shows(known, line):
                return FoundSign(known, index)
    return None


def _shows(sign: OutputSign, line: str) -> bool:
    if sign.unless is not None and sign.unless.search(line):
        return False
    for match in sign.pattern.finditer(line):
        before = line[max(0, match.start() - 120) : match.start()]
        if not (_TOLD_BEFORE.search(before) or _TOLD_AFTER.match(line, match.end())):
            return True
    return False


# -- the kinds of error that agents and their libraries report by name ---------------------------


_TRANSIENT, _PERMISSION, _INVALID = (
    FailureClass.TRANSIENT,
    FailureClass.PERMISSION,
    FailureClass.INVALID_INPUT,
)
_AGENT = FailureClass.AGENT


class ErrorKind(NamedTuple):
    """Names that mean the same."""

    rule: str
    kind: FailureClass
    names: str


ERROR_KINDS = (
    ErrorKind(
        "agent-error-rate-limit",
        _TRANSIENT,
        "rate-limit rate-limited rate-limit-exceeded too-many-requests throttled throttling"
        " resource-exhausted",
    ),
    ErrorKind(
        "agent-error-service",
        _TRANSIENT,
        "overloaded server server-error internal internal-server api service-unavailable"
        " unavailable bad-gateway gateway-timeout temporarily-unavailable",
    ),
    ErrorKind(
        "agent-error-network",
        _TRANSIENT,
        "connection connection-reset connection-refused api-connection network dns timeout"
        " timed-out api-timeout request-timeout deadline-exceeded",
    ),
    ErrorKind("agent-error-memory", _TRANSIENT, "out-of-memory oom"),
    ErrorKind(
        "agent-error-missing-credential",
        _PERMISSION,
        "missing-credential missing-api-key no-api-key",
    ),
    ErrorKind(
        "agent-error-authentication",
        _PERMISSION,
        "authentication authentication-failed auth unauthorized unauthenticated invalid-api-key"
        " not-logged-in login-required token-expired",
    ),
    ErrorKind(
        "agent-error-permission",
        _PERMISSION,
        "permission permission-denied forbidden access-denied",
    ),
    ErrorKind(
        "agent-error-quota",
        _PERMISSION,
        "quota insufficient-quota quota-exceeded billing credit usage-limit payment-required",
    ),
    ErrorKind(
        "agent-error-input",
        _INVALID,
        "invalid-request bad-request invalid-argument invalid-input validation not-found"
        " model-not-found unprocessable-entity request-too-large usage schema",
    ),
    ErrorKind(
        "agent-error-context", _INVALID, "context-length context-length-exceeded prompt-too-long"
    ),
    ErrorKind(
        "agent-error-not-installed",
        FailureClass.UNRUNNABLE,
        "not-installed command-not-found not-executable unsupported-version",
    ),
    ErrorKind("agent-error-crashed", _AGENT, "crashed"),
    ErrorKind(
        "agent-error-turns",
        _AGENT,
        "max-turns max-iterations max-requests max-steps max-tokens requests-exhausted no-progress",
    ),
    ErrorKind(
        "agent-error-format",
        _AGENT,
        "invalid-response malformed-response unexpected-model-behavior api-response-validation"
        " json-decode repeated-format invalid-tool-call malformed-tool-call"
        " malformed-function-call incomplete-tool-call",
    ),
    ErrorKind("agent-error-hung", FailureClass.HUNG, "hung stalled idle idle-timeout"),
    ErrorKind(
        "agent-error-budget",
        FailureClass.BUDGET,
        "budget budget-exceeded max-budget max-budget-usd",
    ),
    ErrorKind("agent-error-disk", FailureClass.UNRECOVERABLE, "disk-full no-space"),
    ErrorKind("agent-error-workspace", FailureClass.WORKSPACE_MISMATCH, "workspace-mismatch"),
)
"""Each name is read in any spelling: `rate_limit_error`, `RateLimitError`, `rate limit`."""


def error_kind(text: str) -> ErrorKind | None:
    """Return what a reported kind of error means; None where it is not a known name.

    A name may be followed by words: `authentication: log in first`. Then it is spelled as here.
    """
    name, colon, _ = text.partition(": ")
    for known in ERROR_KINDS if colon else ():
        if name in known.names.split():
            return known
    if len(text) > 80:
        return None
    word = fold(text.rpartition(".")[2])
    for known in ERROR_KINDS:
        if any(word in _spellings(name) for name in known.names.split()):
            return known
    return None


def _spellings(name: str) -> tuple[str, ...]:
    plain = fold(name)
    return (plain, f"{plain}error", f"{plain}exception", f"error{plain}")


# -- fields of what a program tells, which may be anything: nothing here raises ------------------


_SESSION = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_MOST = 10**12


def count(value: object) -> int | None:
    """Return a count of an event; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Also what is not a number compares as neither.
    return int(min(value, _MOST)) if value >= 0 else None


def number(value: object) -> int:
    """Return a count of an event; 0 where it is none."""
    return count(value) or 0


def dollars(value: object) -> Decimal | None:
    """Return an amount of an event; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < 10**6:
        return None
    return Decimal(str(value))


def text(value: object) -> str:
    """Return a text of an event; an empty one where it is none."""
    if not isinstance(value, str):
        return ""
    # Half a character, which JSON can spell, cannot be written anywhere.
    return value.encode("utf-8", "replace").decode("utf-8")


def session_name(value: object) -> str | None:
    """Return the name of a session; None where it is none that can be given back to a program."""
    return value if isinstance(value, str) and _SESSION.fullmatch(value) else None


def inner(value: object) -> dict[str, Any]:
    """Return an object of an event; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list of an event; none where it is none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


# -- what went wrong at the service behind an agent, in words by which it is recognised ----------


_LONGEST = 2000
_PHRASES = (
    ("overloaded", ("high demand", "at capacity", "overload")),
    (
        "connection reset",
        (
            "stream disconnected", "error decoding response", "stream decode error", "terminated",
            "other side closed", "socket hang up", "premature close", "fetch failed",
            "transport error", "network error", "connection error", "closed unexpectedly",
        ),
    ),
    ("invalid api key", ("unauthenticated", "not logged in", "auth method", "authenticate")),
    ("prompt is too long", ("context window", "context length", "maximum context",
      "contextwindow", "token limit")),
)  # fmt: skip
"""How programs tell of what is known by another name."""
_BROKEN_OFF = frozenset({"agent-error-network", "agent-network", "agent-tls"})


def is_broken_off(error: str | None) -> bool:
    """Say whether an error is that of a connection which broke in the middle of a request."""
    if not error:
        return False
    if (known := error_kind(error)) is not None:
        return known.rule in _BROKEN_OFF
    seen = find_sign(lines_of(error))
    return seen is not None and seen.sign.rule in _BROKEN_OFF


def service_error(message: str, status: int | None = None) -> str:
    """Return an error of the service; `status` is that of HTTP, where it is told apart."""
    message = " ".join(message.split())[:_LONGEST]
    if status is not None and 400 <= status < 600:
        return f"status {status}: {message}"
    if not message:
        return "unknown error"
    if error_kind(message) is not None or find_sign(lines_of(message)) is not None:
        return message
    lowered = message.lower()
    for name, phrases in _PHRASES:
        if any(phrase in lowered for phrase in phrases):
            return f"{name}: {message}"
    return message


# -- what an agent is doing, in a few words, from the tool that it uses --------------------------


_COMMANDS = ("command", "cmd", "script")
_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path", "file", "dir_path")
_SOUGHT = ("pattern", "query", "regex", "url")
_WRITING = ("edit", "write", "replace", "patch", "create", "insert", "append", "delete")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_LONGEST_ACTIVITY = 4000


def activity(tool: str, arguments: Mapping[str, object], workspace: str = "") -> str:
    """Return what a tool is used for: `runs make`, `edits src/x.py`, `searches for TODO`."""
    if command := _first(arguments, _COMMANDS):
        return f"runs {command}"
    name = tool.lower()
    if path := _first(arguments, _PATHS):
        verb = "edits" if any(word in name for word in _WRITING) else "reads"
        return f"{verb} {shown(path, workspace)}"
    if sought := _first(arguments, _SOUGHT):
        return f"searches for {sought}"
    return f"uses {tool}" if tool else "uses a tool"


def shown(path: str, workspace: str) -> str:
    """Return a path as seen from the workspace."""
    return path.removeprefix(f"{workspace.rstrip('/')}/") if workspace else path


def without_shell(command: str) -> str:
    """Return what a shell is started for: of `/bin/bash -lc 'make all'`, `make all`."""
    if len(command) > _LONGEST_ACTIVITY:
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS
    return words[2] if is_shell and words[1].startswith("-") else command


def _first(arguments: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := text(arguments.get(name)))), "")
