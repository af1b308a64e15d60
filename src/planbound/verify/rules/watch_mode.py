"""A contract starts something that does not end by itself.

## What it does
Reports test runners and compilers that watch for changes, servers in the foreground, and commands
that follow a file. In the background, or under `timeout`, they are fine.

## Why it matters
The contract would run into its time limit, every time: a verdict of `timeout` that no work of the
agent can turn into a pass.

## Example
```shell
npx vitest
```

## Instead
```shell
npx vitest run
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from planbound.plan.command.tree import Call
from planbound.plan.command.word import words
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts


class _Endless(NamedTuple):
    """What a command does instead of ending, and what to write instead."""

    does: str
    hint: str


_START = "start it in the background with `&`, then check it with a command that ends"
_ONCE = "let it run once: drop the option that makes it watch"
_WATCHES = _Endless("watches for changes", _ONCE)
_RUNS_AGAIN = _Endless("runs again and again", "call the command itself, once")
_SERVES = _Endless("serves until somebody stops it", _START)
_FOLLOWS = _Endless("follows its input for ever", "drop the option that makes it follow")
_WAITS = _Endless("waits for ever", "put `timeout` in front of it")

_ENDS = words("--version --help -h version help --check-config --init --showConfig --listFilesOnly")
_SCRIPTS = lazy_pattern(r"(?:dev|start|serve|watch|develop|preview)(?:[:.].*)?|.*[:-]watch")
_DETACHED = ("-d", "--detach", "--wait", "--no-start")
_UNTIL = ("--abort-on-container-exit", "--exit-code-from", "--abort-on-container-failure")


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each call that does not end."""
    for case in shell_contracts(subject):
        for call in case.script.calls:
            judge = _JUDGES.get(call.program)
            if (
                judge is None
                or call.background
                or call.limited
                or call.name in case.script.functions
            ):
                continue
            endless = judge(call)
            if endless is None or not _ENDS.isdisjoint(call.values()):
                continue
            shown = shortened(case.script.text[call.start : call.end])
            message = f"`{shown}` {endless.does}; expected a command that ends by itself"
            yield Finding(case.command.locate(call.start, call.end), message, endless.hint)


def _always(endless: _Endless) -> Callable[[Call], _Endless | None]:
    return lambda _call: endless


def _with(endless: _Endless, *options: str) -> Callable[[Call], _Endless | None]:
    """Judge by options."""
    return lambda call: endless if call.has(*options) else None


def _on(endless: _Endless, *subcommands: str) -> Callable[[Call], _Endless | None]:
    """Judge by the subcommand."""
    known = frozenset(subcommands)
    return lambda call: endless if known & {*_operands(call)[:2]} else None


def _operands(call: Call) -> list[str]:
    return [word.value or "" for word in call.operands()]


def _says_watch(call: Call) -> bool:
    return any(
        value in {"--watch", "--watchAll", "--watch-all", "--watch=true", "--watchAll=true"}
        for value in call.values()
    )


def _watch_option(call: Call) -> _Endless | None:
    return _WATCHES if _says_watch(call) else None


def _watch_letter(call: Call) -> _Endless | None:
    return _WATCHES if _says_watch(call) or {"-w", "-watch"} & {*call.values()} else None


def _vitest(call: Call) -> _Endless | None:
    once = {"run", "list", "init", "--run", "--watch=false", "--no-watch", "-v", "bench"}
    if once & {*call.values()}:
        return None
    return _Endless("watches for changes", "use `vitest run`")


def _package_manager(call: Call) -> _Endless | None:
    given = _operands(call)
    if given[:1] in (["run"], ["run-script"]):
        given = given[1:]
    elif call.program in {"npm", "bun"} and given[:1] not in (["start"], ["test"]):
        return None
    if given and _SCRIPTS.fullmatch(given[0]):
        return _SERVES
    return _watch_option(call)


def _vite(call: Call) -> _Endless | None:
    given = _operands(call)
    if given[:1] == ["build"]:
        return _WATCHES if call.has("-w", "--watch") else None
    return None if given[:1] == ["optimize"] else _SERVES


def _python(call: Call) -> _Endless | None:
    given = _operands(call)
    return _SERVES if len(given) > 1 and given[1] == "runserver" else None


def _compose(call: Call) -> _Endless | None:
    given = _operands(call)
    if "up" in given[:3] and "exec" not in given and "run" not in given:
        return None if call.has(*_DETACHED, *_UNTIL) else _SERVES
    return _FOLLOWS if "logs" in given[:3] and call.has("-f", "--follow") else None


def _docker(call: Call) -> _Endless | None:
    given = _operands(call)
    if given[:1] == ["compose"]:
        return _compose(call)
    return _FOLLOWS if given[:1] == ["logs"] and call.has("-f", "--follow") else None


def _daemon(call: Call) -> _Endless | None:
    return None if call.has("-D", "--daemon", "--daemonize", "--fork") else _SERVES


def _sleep(call: Call) -> _Endless | None:
    return _WAITS if {"infinity", "inf"} & {*call.values()} else None


def _tail(call: Call) -> _Endless | None:
    return _FOLLOWS if call.has("-f", "-F", "--follow") and not call.has("--pid") else None


def _ping(call: Call) -> _Endless | None:
    return None if call.has("-c", "-w") else _Endless("runs for ever", "use `ping -c 1`")


def _nginx(call: Call) -> _Endless | None:
    return _SERVES if any("daemon off" in value for value in call.values()) else None


_JUDGES: dict[str, Callable[[Call], _Endless | None]] = {
    "vitest": _vitest,
    "watch": _always(_RUNS_AGAIN),
    **dict.fromkeys(
        words("nodemon entr pytest-watch pytest_watch ptw watchexec watchmedo guard live-server"),
        _always(_WATCHES),
    ),
    **dict.fromkeys(
        words(
            "jest mocha ava tap rollup esbuild parcel tailwindcss sass swc babel nest karma node "
            "bun deno tsx playwright cypress elm-test stylelint eslint phpunit"
        ),
        _watch_option,
    ),
    **dict.fromkeys(words("tsc webpack tsup vue-tsc"), _watch_letter),
    **dict.fromkeys(words("npm yarn pnpm"), _package_manager),
    "vite": _vite,
    "cargo": _on(_WATCHES, "watch"),
    "dotnet": _on(_WATCHES, "watch"),
    **dict.fromkeys(words("gradle gradlew"), _with(_WATCHES, "-t", "--continuous")),
    "mix": _on(_SERVES, "phx.server", "test.watch"),
    "tail": _tail,
    "journalctl": _with(_FOLLOWS, "-f", "--follow"),
    "dmesg": _with(_FOLLOWS, "-w", "--follow"),
    "inotifywait": _with(_WATCHES, "-m", "--monitor"),
    **dict.fromkeys(
        words(
            "http.server uvicorn hypercorn daphne waitress-serve puma rackup http-server "
            "json-server serve sphinx-autobuild redis-server postgres gunicorn mongod"
        ),
        _daemon,
    ),
    "ng": lambda call: _on(_SERVES, "serve", "s")(call) or _watch_option(call),
    "flask": lambda call: _SERVES if "run" in _operands(call) else None,
    "fastapi": _on(_SERVES, "dev", "run"),
    "streamlit": _on(_SERVES, "run"),
    "jupyter": _on(_SERVES, "notebook", "lab"),
    "next": _on(_SERVES, "dev", "start"),
    "nuxt": _on(_SERVES, "dev", "start"),
    "astro": _on(_SERVES, "dev", "preview"),
    "react-scripts": _on(_SERVES, "start"),
    "rails": _on(_SERVES, "s", "server"),
    "jekyll": _on(_SERVES, "serve", "s"),
    "hugo": _on(_SERVES, "server", "serve"),
    "mkdocs": _on(_SERVES, "serve"),
    "django-admin": _on(_SERVES, "runserver"),
    "manage.py": _on(_SERVES, "runserver"),
    "python": _python,
    "celery": _on(_SERVES, "worker", "beat"),
    "php": _with(_SERVES, "-S"),
    "caddy": _on(_SERVES, "run"),
    "nginx": _nginx,
    "docker": _docker,
    "docker-compose": _compose,
    "kubectl": lambda call: (
        _SERVES
        if "port-forward" in _operands(call)[:2]
        else _FOLLOWS
        if "logs" in _operands(call)[:2] and call.has("-f", "--follow")
        else None
    ),
    **dict.fromkeys(words("nc ncat netcat"), _with(_WAITS, "-l", "--listen")),
    "sleep": _sleep,
    "ping": _ping,
}

RULE = Rule(code="PB605", name="watch-mode", severity=Severity.ERROR, check=check)
