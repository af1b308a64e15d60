"""A contract waits for a person at a keyboard.

## What it does
Reports editors, pagers, consoles without a program, and commands that ask: `git rebase -i`,
`git commit` without a message, `rm -i`, `docker exec -it`, `read` without input.

## Why it matters
Contracts have no terminal and an empty input. Such a command fails, or ends at once without
having done anything.

## Example
```shell
git commit
```

## Instead
```shell
git commit -m "Round once"
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from planbound.plan.command.tree import Call
from planbound.plan.command.word import words
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts

_ENDS = words("--version --help -V -h -v")
_EDIT = "change files with `sed -i` or a script, or drop the command"
_PRINT = "use `cat`, or drop it"
_PROGRAM = "hand it its program: `-c '...'`, a file, or `<<'EOF'`"
_QUERY = "hand it its statements: with an option, a file, or `<<'EOF'`"
_MESSAGE = 'give the message: `-m "..."`'
_NO_TERMINAL = "drop the `-t`: there is no terminal"
_NO_QUESTIONS = "use the option that does not ask"
_PATCH = ("-p", "-i", "--patch", "--interactive", "-e", "--edit")
_MESSAGES = ("-m", "-F", "-C", "--message", "--file", "--reuse-message", "--no-edit", "--fixup")
_QUITS = lazy_pattern(r"^\+?:?(?:w?q|x|qa|wqa|wq|cq)!?$|\bq(?:a|all)?!?$")


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each call that waits for a person."""
    for case in shell_contracts(subject):
        if case.script.broken:
            continue  # where the input comes from is not known
        for call in case.script.calls:
            judge = _JUDGES.get(call.program)
            if judge is None or call.name in case.script.functions:
                continue
            hint = judge(call)
            if hint is None or not _ENDS.isdisjoint(call.values()):
                continue
            shown = shortened(case.script.text[call.start : call.end])
            message = f"`{shown}` waits for a person, but a contract has no terminal and no input"
            yield Finding(case.command.locate(call.start, call.end), message, hint)


def _always(hint: str) -> Callable[[Call], str | None]:
    return lambda _call: hint


def _unless(hint: str, *options: str) -> Callable[[Call], str | None]:
    return lambda call: None if call.has(*options) else hint


def _unfed(hint: str, *options: str) -> Callable[[Call], str | None]:
    return lambda call: None if call.fed or call.has(*options) else hint


def _pages(call: Call) -> str | None:
    return None if call.provided else _PRINT  # `npx less` makes style sheets


def _asks(call: Call) -> str | None:
    return "drop the `-i`" if call.has("-i", "-I", "--interactive") else None


def _vim(call: Call) -> str | None:
    if call.fed or call.has("--headless", "-s", "-es", "-Es"):
        return None
    return None if any(_QUITS.search(value) for value in call.values()) else _EDIT


def _emacs(call: Call) -> str | None:
    values = {*call.values()}
    return None if {"-batch", "--batch", "--script", "-script"} & values else _EDIT


def _console(call: Call) -> str | None:
    """Judge a language's console: interactive without a program."""
    given = call.values()
    if call.fed or call.body is not None:
        return None
    return _PROGRAM if not given or given == ["-"] or given[0] == "-i" else None


def _database(*options: str) -> Callable[[Call], str | None]:
    return _unfed(_QUERY, *options)


def _sqlite(call: Call) -> str | None:
    return None if call.fed or len(list(call.operands(words("-cmd -init")))) > 1 else _QUERY


def _redis(call: Call) -> str | None:
    valued = words("-h -p -a -n -u -s --user --pass")
    return None if call.fed or any(True for _ in call.operands(valued)) else _QUERY


def _read(call: Call) -> str | None:
    return None if call.fed or call.has("-u") else "let it read from a file or a pipe"


def _git(call: Call) -> str | None:
    given = [word.value or "" for word in call.operands(words("-C -c"))]
    command = given[0] if given else ""
    values = {*call.values()}
    if command == "rebase" and {"-i", "--interactive"} & values:
        return (
            "rebase without `-i`, or set `GIT_SEQUENCE_EDITOR`" if not _has_editor(call) else None
        )
    if command in {"add", "checkout", "stash", "reset", "restore"} and {*_PATCH[:4]} & values:
        return "name the files instead"
    if command == "commit" and not (_has_message(call) or _has_editor(call) or call.fed):
        return _MESSAGE
    if command == "tag" and call.has("-a", "--annotate") and not call.has("-m", "-F", "--message"):
        return _MESSAGE
    return None


def _has_message(call: Call) -> bool:
    given = call.values()
    own = call._replace(arguments=call.arguments[given.index("commit") :])
    return own.has(*_MESSAGES, "--dry-run")


def _has_editor(call: Call) -> bool:
    return any(assignment.name.endswith("EDITOR") for assignment in call.assignments)


def _terminal(call: Call) -> str | None:
    """Judge `docker exec -it`: it fails where there is no terminal."""
    given = [word.value or "" for word in call.operands()]
    if not {"exec", "run"} & {*given[:2]}:
        return None
    for value in call.values():
        if re.fullmatch(r"-[a-z]*t[a-z]*|--tty", value) and "=" not in value:
            return _NO_TERMINAL
        if value and not value.startswith("-") and value not in {"exec", "run", "container"}:
            break
    return None


def _initialises(call: Call) -> str | None:
    given = [word.value or "" for word in call.operands()]
    if given[:1] != ["init"]:
        return None
    return None if call.has("-y", "--yes", "-f", "--force") or len(given) > 1 else "use `-y`"


def _gh(call: Call) -> str | None:
    given = [word.value or "" for word in call.operands()]
    if given[:2] != ["auth", "login"] or call.has("--with-token"):
        return None
    return "configure the credential in the environment, not in a contract"


_JUDGES: dict[str, Callable[[Call], str | None]] = {
    **dict.fromkeys(words("vim vi nvim ex view"), _vim),
    **dict.fromkeys(words("nano pico emacsclient micro joe"), _always(_EDIT)),
    "ed": _unfed(_EDIT),
    "emacs": _emacs,
    **dict.fromkeys(words("less more most man"), _pages),
    "top": _unless("use `top -b -n 1`", "-b", "-l"),
    **dict.fromkeys(words("htop btop atop fzf dialog whiptail visudo"), _always(_PRINT)),
    "read": _read,
    **dict.fromkeys(
        words("python pypy node irb ipython ghci bash sh zsh dash ksh lua julia php pry"), _console
    ),
    "pdb": _always("run the program without the debugger"),
    "git": _git,
    "npm": _initialises,
    "yarn": _initialises,
    **dict.fromkeys(words("rm cp mv ln"), _asks),
    "gh": _gh,
    **dict.fromkeys(words("passwd su login chsh"), _always(_NO_QUESTIONS)),
    "psql": _database("-c", "-f", "-l", "--command", "--file", "--list"),
    **dict.fromkeys(words("mysql mariadb"), _database("-e", "--execute")),
    **dict.fromkeys(words("mongosh mongo"), _database("--eval", "--file")),
    "sqlite3": _sqlite,
    "redis-cli": _redis,
    **dict.fromkeys(words("docker podman kubectl"), _terminal),
    "crontab": lambda call: _EDIT if call.has("-e") else None,
    "pytest": lambda call: "drop `--pdb`" if call.has("--pdb", "--trace") else None,
}

RULE = Rule(code="PB606", name="interactive-command", severity=Severity.ERROR, check=check)
