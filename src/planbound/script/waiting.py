"""Commands that do not end by themselves, or that wait for a person."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from planbound.script.runners import (
    BY_PROGRAM,
)
from planbound.script.runners.runner import Runner
from planbound.script.tree import Call, words
from planbound.source import lazy_pattern

# -- commands that do not end by themselves --------------------------------------------------------


class Endless(Struct, frozen=True):
    """What a command does instead of ending, and what to write instead."""

    does: str
    hint: str


_START = "start it in the background with `&`, then check it with a command that ends"
_ONCE = "let it run once: drop the option that makes it watch"
_WATCHES = Endless("watches for changes", _ONCE)
_RUNS_AGAIN = Endless("runs again and again", "call the command itself, once")
_SERVES = Endless("serves until somebody stops it", _START)
_FOLLOWS = Endless("follows its input for ever", "drop the option that makes it follow")
_WAITS = Endless("waits for ever", "put `timeout` in front of it")
_ENDS = words("--version --help -h version help --check-config --init --showConfig --listFilesOnly")
_SCRIPTS = lazy_pattern(r"(?:dev|start|serve|watch|develop|preview)(?:[:.].*)?|.*[:-]watch")
_DETACHED = ("-d", "--detach", "--wait", "--no-start")
_UNTIL = ("--abort-on-container-exit", "--exit-code-from", "--abort-on-container-failure")


def _always(endless: Endless) -> Callable[[Call], Endless | None]:
    return lambda _call: endless


def _with(endless: Endless, *options: str) -> Callable[[Call], Endless | None]:
    """Judge by options."""
    return lambda call: endless if call.has(*options) else None


def _on(endless: Endless, *subcommands: str) -> Callable[[Call], Endless | None]:
    """Judge by the subcommand."""
    known = frozenset(subcommands)
    return lambda call: endless if known & {*operands(call)[:2]} else None


def operands(call: Call) -> list[str]:
    """Return the words of a call that are no options."""
    return [word.value or "" for word in call.operands()]


def _says_watch(call: Call) -> bool:
    return any(
        value in {"--watch", "--watchAll", "--watch-all", "--watch=true", "--watchAll=true"}
        for value in call.values()
    )


def _watch_option(call: Call) -> Endless | None:
    return _WATCHES if _says_watch(call) else None


def _watch_letter(call: Call) -> Endless | None:
    return _WATCHES if _says_watch(call) or {"-w", "-watch"} & {*call.values()} else None


def _unless_once(runner: Runner) -> Callable[[Call], Endless | None]:
    """Return what says that a runner goes on when no word of the call makes it run once."""
    endless = Endless("watches for changes", f"use `{runner.proposed}`")
    return lambda call: None if runner.words.once & {*call.values()} else endless


def _package_manager(call: Call) -> Endless | None:
    given = operands(call)
    if given[:1] in (["run"], ["run-script"]):
        given = given[1:]
    elif call.program in {"npm", "bun"} and given[:1] not in (["start"], ["test"]):
        return None
    if given and _SCRIPTS.fullmatch(given[0]):
        return _SERVES
    return _watch_option(call)


def _vite(call: Call) -> Endless | None:
    given = operands(call)
    if given[:1] == ["build"]:
        return _WATCHES if call.has("-w", "--watch") else None
    return None if given[:1] == ["optimize"] else _SERVES


def _python(call: Call) -> Endless | None:
    given = operands(call)
    return _SERVES if len(given) > 1 and given[1] == "runserver" else None


def _compose(call: Call) -> Endless | None:
    given = operands(call)
    if "up" in given[:3] and "exec" not in given and "run" not in given:
        return None if call.has(*_DETACHED, *_UNTIL) else _SERVES
    return _FOLLOWS if "logs" in given[:3] and call.has("-f", "--follow") else None


def _docker(call: Call) -> Endless | None:
    given = operands(call)
    if given[:1] == ["compose"]:
        return _compose(call)
    return _FOLLOWS if given[:1] == ["logs"] and call.has("-f", "--follow") else None


def _daemon(call: Call) -> Endless | None:
    return None if call.has("-D", "--daemon", "--daemonize", "--fork") else _SERVES


def _sleep(call: Call) -> Endless | None:
    return _WAITS if {"infinity", "inf"} & {*call.values()} else None


def _tail(call: Call) -> Endless | None:
    return _FOLLOWS if call.has("-f", "-F", "--follow") and not call.has("--pid") else None


def _ping(call: Call) -> Endless | None:
    return None if call.has("-c", "-w") else Endless("runs for ever", "use `ping -c 1`")


def _nginx(call: Call) -> Endless | None:
    return _SERVES if any("daemon off" in value for value in call.values()) else None


_NEVER_END: dict[str, Callable[[Call], Endless | None]] = {
    "watch": _always(_RUNS_AGAIN),
    **dict.fromkeys(
        words("nodemon entr pytest-watch pytest_watch ptw watchexec watchmedo guard live-server"),
        _always(_WATCHES),
    ),
    **dict.fromkeys(
        words(
            "rollup esbuild parcel tailwindcss sass swc babel nest tsx elm-test stylelint eslint"
        ),
        _watch_option,
    ),
    **{
        program: _unless_once(runner) if runner.words.once else _watch_option
        for program, runner in BY_PROGRAM.items()
        if runner.words.watches
    },
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
    "flask": lambda call: _SERVES if "run" in operands(call) else None,
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
        if "port-forward" in operands(call)[:2]
        else _FOLLOWS
        if "logs" in operands(call)[:2] and call.has("-f", "--follow")
        else None
    ),
    **dict.fromkeys(words("nc ncat netcat"), _with(_WAITS, "-l", "--listen")),
    "sleep": _sleep,
    "ping": _ping,
}


def why_endless(call: Call) -> Endless | None:
    """Return what a call does instead of ending; None where it ends, or where that is not known."""
    look = _NEVER_END.get(call.program)
    if look is None or call.background or call.limited:
        return None
    return look(call) if _ENDS.isdisjoint(call.values()) else None


# -- commands that wait for a person ---------------------------------------------------------------


_ENDS_AT_ONCE = words("--version --help -V -h -v")
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


def _always_asks(hint: str) -> Callable[[Call], str | None]:
    return lambda _call: hint


def _unless(hint: str, *options: str) -> Callable[[Call], str | None]:
    return lambda call: None if call.has(*options) else hint


def _unfed(hint: str, *options: str) -> Callable[[Call], str | None]:
    return lambda call: None if call.fed or call.has(*options) else hint


def _without(*options: str) -> Callable[[Call], str | None]:
    return lambda call: f"drop `{options[0]}`" if call.has(*options) else None


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
    own = replace(call, arguments=call.arguments[given.index("commit") :])
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


_ASKS: dict[str, Callable[[Call], str | None]] = {
    **dict.fromkeys(words("vim vi nvim ex view"), _vim),
    **dict.fromkeys(words("nano pico emacsclient micro joe"), _always_asks(_EDIT)),
    "ed": _unfed(_EDIT),
    "emacs": _emacs,
    **dict.fromkeys(words("less more most man"), _pages),
    "top": _unless("use `top -b -n 1`", "-b", "-l"),
    **dict.fromkeys(words("htop btop atop fzf dialog whiptail visudo"), _always_asks(_PRINT)),
    "read": _read,
    **dict.fromkeys(
        words("python pypy node irb ipython ghci bash sh zsh dash ksh lua julia php pry"), _console
    ),
    "pdb": _always_asks("run the program without the debugger"),
    "git": _git,
    "npm": _initialises,
    "yarn": _initialises,
    **dict.fromkeys(words("rm cp mv ln"), _asks),
    "gh": _gh,
    **dict.fromkeys(words("passwd su login chsh"), _always_asks(_NO_QUESTIONS)),
    "psql": _database("-c", "-f", "-l", "--command", "--file", "--list"),
    **dict.fromkeys(words("mysql mariadb"), _database("-e", "--execute")),
    **dict.fromkeys(words("mongosh mongo"), _database("--eval", "--file")),
    "sqlite3": _sqlite,
    "redis-cli": _redis,
    **dict.fromkeys(words("docker podman kubectl"), _terminal),
    "crontab": lambda call: _EDIT if call.has("-e") else None,
    **{
        program: _without(*runner.words.asks)
        for program, runner in BY_PROGRAM.items()
        if runner.words.asks
    },
}


def how_not_to_ask(call: Call) -> str | None:
    """Return what to write instead of a call that waits for a person; None where it does not."""
    look = _ASKS.get(call.program)
    return look(call) if look is not None and _ENDS_AT_ONCE.isdisjoint(call.values()) else None
