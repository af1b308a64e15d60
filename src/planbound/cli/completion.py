"""`planbound completion`: what lets a shell complete commands, options, choices, plans and files.

The script is written once, from the parsers of all commands; only the names of plans are asked for
when somebody presses the key, so that is a way that imports next to nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from planbound.cli.commands import COMMANDS, GROUPS
from planbound.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from planbound.cli.terminal import Terminal

SHELLS = ("bash", "zsh", "fish")
PLANS, STAGED = "plans", "staged"
"""What the scripts ask the program for."""
_FILES, _FOLDERS, _NOTHING = "files", "folders", "nothing"
_KINDS = {"PLAN": PLANS, "FILE": _FILES, "DIR": _FOLDERS, "TOPIC": "topics"}
_EVERYWHERE = frozenset({"--workspace", "--state"})
_STAGED_FOLDER = "queued-plans"


# -- names of plans, quickly and silently --------------------------------------------------------


def plan_names(shelf: str) -> list[str]:
    """Return the names of the plans in the nearest `.harness/` upwards."""
    folder = os.getcwd()
    while not os.path.isdir(os.path.join(folder, ".harness")):
        above = os.path.dirname(folder)
        if above == folder:
            return []
        folder = above
    place = os.path.join(folder, ".harness", _STAGED_FOLDER if shelf == STAGED else "")
    try:
        files = sorted(os.listdir(place))
    except OSError:
        return []
    slugs = [name.removesuffix(".md") for name in files if name.endswith(".md")]
    return [
        slug.removeprefix("PLAN-") for slug in slugs if slug == "PLAN" or slug.startswith("PLAN-")
    ]


# -- what there is to complete -------------------------------------------------------------------


class Completed(NamedTuple):
    """An option or argument, and what may follow it."""

    names: tuple[str, ...]
    """None for an argument."""
    kind: str
    """What its value is; empty where it takes none."""
    choices: tuple[str, ...]
    value: str
    """How the help calls what follows."""
    text: str
    repeats: bool


def completed_of(command: str) -> list[Completed]:
    """Return the options and arguments of a command."""
    from planbound.cli.parser import parser_of  # noqa: PLC0415 - not to name plans

    actions = parser_of(command)._actions  # noqa: SLF001 - argparse has no public list of them
    return [_completed(command, action) for action in actions]


def _completed(command: str, action: argparse.Action) -> Completed:
    choices = tuple(map(str, action.choices or ()))
    kind = "" if action.nargs == 0 else _kind(command, action)
    text = " ".join((action.help or "").split())
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    repeats = action.nargs in {"*", "+"}
    return Completed(tuple(action.option_strings), kind, choices, value, text, repeats)


def _kind(command: str, action: argparse.Action) -> str:
    if action.choices is not None:
        return "choices"
    if command in {"activate", "archive"} and not action.option_strings:
        return STAGED if command == "activate" else PLANS
    if action.dest in {"plan", "plans"}:
        return PLANS
    return _KINDS.get(str(action.metavar), _NOTHING)


# -- bash ----------------------------------------------------------------------------------------

_BASH = r"""# Completion of planbound for bash.
_planbound() {
    local cur=${COMP_WORDS[COMP_CWORD]} command= kind= at=0 i word
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $kind ]]; then kind=; continue; fi
        if [[ $word == -* ]]; then _planbound_option "$command" "$word"
        elif [[ -z $command ]]; then command=$word
        else ((at++)); fi
    done
    if [[ -z $kind && $cur == -* ]]; then
        _planbound_options "$command"
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        return
    fi
    [[ -n $kind ]] || { [[ -n $command ]] && _planbound_argument "$command" "$at"; }
    [[ -n $command || -n $kind ]] || kind="@COMMANDS@"
    case $kind in
        plans) mapfile -t COMPREPLY < <(_planbound_names plans; compgen -f -- "$cur") ;;
        staged) mapfile -t COMPREPLY < <(_planbound_names staged) ;;
        files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        nothing | '') COMPREPLY=() ;;
        *) COMPREPLY=($(compgen -W "$kind" -- "$cur")) ;;
    esac
}
_planbound_names() {
    local IFS=$'\n' name
    for name in $(planbound completion "$1" 2>/dev/null); do
        [[ $name == "$cur"* ]] && printf '%q\n' "$name"
    done
}
"""


def bash_lines() -> Iterator[str]:
    """Yield the script for bash."""
    yield from _BASH.replace("@COMMANDS@", " ".join(COMMANDS)).splitlines()
    known = {name: completed_of(name) for name in COMMANDS}
    yield from ("_planbound_option() {", "    kind=", '    case "$1 $2" in')
    yield "        *' --workspace' | *' --state') kind=folders ;;"
    for name, words in known.items():
        for word in words:
            if word.kind and word.names and not _EVERYWHERE.intersection(word.names):
                cases = " | ".join(shlex.quote(f"{name} {option}") for option in word.names)
                yield f"        {cases}) kind={shlex.quote(_value(word))} ;;"
    yield from ("    esac", "}", "_planbound_options() {", "    case $1 in")
    for name, words in known.items():
        options = " ".join(option for word in words for option in word.names)
        yield f"        {name}) words={shlex.quote(options)} ;;"
    yield "        *) words='--help --version --workspace --state' ;;"
    yield from ("    esac", "}", "_planbound_argument() {", '    case "$1 $2" in')
    for name, words in known.items():
        arguments = [word for word in words if not word.names]
        for number, word in enumerate(arguments):
            place = f"'{name} '*" if word.repeats else f"'{name} {number}'"
            yield f"        {place}) kind={shlex.quote(_value(word))} ;;"
    yield from ("    esac", "}", "complete -F _planbound planbound")


def _value(word: Completed) -> str:
    if word.kind == "topics":
        return " ".join(dict.fromkeys([*GROUPS, *COMMANDS]))
    return " ".join(word.choices) if word.choices else word.kind


# -- zsh -----------------------------------------------------------------------------------------


def zsh_lines() -> Iterator[str]:
    """Yield the script for zsh, by its own `_arguments`."""
    yield from ("#compdef planbound", "# Completion of planbound for zsh.")
    for shelf in (PLANS, STAGED):
        yield from (
            f"_planbound_{shelf}() {{",
            "    local -a names",
            f'    names=(${{(f)"$(planbound completion {shelf} 2>/dev/null)"}})',
            f"    compadd -a names{'; _files' if shelf == PLANS else ''}",
            "}",
        )
    yield from ("_planbound() {", "    local state line", "    local -a commands", "    commands=(")
    for name, command in COMMANDS.items():
        yield f"        {shlex.quote(f'{name}:{command.sentence}')}"
    yield from (
        "    )",
        "    _arguments -C '--workspace[the workspace]:DIR:_files -/' \\",
        "        '--state[the state home]:DIR:_files -/' '--version[show the version]' \\",
        "        '--help[show the help]' '1: :->command' '*:: :->rest'",
        "    case $state in",
        "        command) _describe command commands ;;",
        "        rest)",
        "            case $words[1] in",
    )
    for name in COMMANDS:
        yield f"                {name}) _arguments {' '.join(_zsh_words(name))} ;;"
    yield from ("            esac ;;", "    esac", "}")
    yield from ('if [[ "$funcstack[1]" == _planbound ]]; then', '    _planbound "$@"', "else")
    yield from ("    compdef _planbound planbound", "fi")


def _zsh_words(command: str) -> Iterator[str]:
    for word in completed_of(command):
        text = word.text.replace("[", "(").replace("]", ")").replace(":", "\\:")
        asked = f":value:{_zsh_value(word)}" if word.kind else ""
        if not word.names:
            yield shlex.quote(f"{'*' if word.repeats else ''}:value:{_zsh_value(word)}")
        for option in word.names:
            yield shlex.quote(f"{option}[{text}]{asked}")


def _zsh_value(word: Completed) -> str:
    match word.kind:
        case "choices" | "topics":
            return f"({_value(word)})"
        case "plans" | "staged":
            return f"_planbound_{word.kind}"
        case "files":
            return "_files"
        case "folders":
            return "_files -/"
    return " "


# -- fish ----------------------------------------------------------------------------------------


def fish_lines() -> Iterator[str]:
    """Yield the script for fish."""
    yield "# Completion of planbound for fish."
    yield "complete -c planbound -f"
    yield "complete -c planbound -l workspace -r -a '(__fish_complete_directories)'"
    yield "complete -c planbound -l state -r -a '(__fish_complete_directories)'"
    first = "-n __fish_use_subcommand"
    yield f"complete -c planbound {first} -l version -d 'show the version'"
    for name, command in COMMANDS.items():
        yield f"complete -c planbound {first} -a {name} -d {_fish(command.sentence)}"
    for name in COMMANDS:
        begin = f"complete -c planbound -n '__fish_seen_subcommand_from {name}'"
        for word in completed_of(name):
            if {"--workspace", "--state", "--help"}.intersection(word.names):
                continue
            options = "".join(f" -l {option.removeprefix('--')}" for option in word.names)
            wants = f" -r{_fish_value(word)}" if word.kind and word.names else ""
            if not word.names:
                wants = _fish_value(word)
            if options or wants:
                yield f"{begin}{options}{wants} -d {_fish(word.text)}"


def _fish_value(word: Completed) -> str:
    match word.kind:
        case "choices" | "topics":
            return f" -a {_fish(_value(word))}"
        case "plans":
            return " -F -a '(planbound completion plans 2>/dev/null)'"
        case "staged":
            return " -a '(planbound completion staged 2>/dev/null)'"
        case "files":
            return " -F"
        case "folders":
            return " -a '(__fish_complete_directories)'"
    return ""


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# -- `planbound completion` ----------------------------------------------------------------------


def configure_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which one")


def run_completion(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print the script of a shell."""
    scripts = {"bash": bash_lines, "zsh": zsh_lines, "fish": fish_lines}
    for line in scripts[arguments.shell]():
        terminal.out(line)
    return ExitCode.DONE
