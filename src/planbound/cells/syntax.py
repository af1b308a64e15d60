"""Shell syntax of many commands in one process, none of them run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from planbound.errors import FileProblem
from planbound.verify.facts import SyntaxFault

# One value may have 128 KiB, the environment as a whole a quarter of the stack (2 MiB).
_MAX_COMMAND = 100_000
_MAX_BATCH = 1_000_000
_LIMIT_SECONDS = 30
_CANARY = "planbound_canary"
_ENVIRONMENT = {b"PATH": b"/usr/bin:/bin", b"LC_ALL": b"C"}
# `eval` counts the line that it stands on and the `set -n` before the command.
_ONE_BY_ONE = r"""
n=0
while IFS= read -r -d '' command; do
  said=$(eval $'set -n\n'"$command" 2>&1 >/dev/null) || {
    said=${said%%$'\n'*}
    line=${said#*line } line=${line%%:*}
    printf 'c%d: line %d: %s\n' "$n" "$((line - 6))" "${said#*line *: }"
  }
  n=$((n + 1))
done
"""
_MESSAGE = re.compile(
    r"^[^\n]*?\bc(?P<number>\d+): line (?P<line>-?\d+): (?P<text>.*)$", re.MULTILINE
)


class BashSyntax:
    """Asks the bash of this machine."""

    def __init__(self, bash: str = "/bin/bash") -> None:
        self.bash = bash
        self._known: dict[str, SyntaxFault | None] = {}
        """What this very bash said before: a run asks about every contract more than once."""
        self._asked: tuple[int, ...] | None = None

    def faults(self, commands: Sequence[str]) -> Mapping[str, SyntaxFault]:
        """Return the commands that bash cannot parse."""
        asked = self._identity()
        if asked is None or asked != self._asked:
            self._known, self._asked = {}, asked
        known = self._known
        for batch in _batches([each for each in commands if each not in known]):
            found = self._ask(batch)
            known |= {command: found.get(command) for command in batch}
        return {each: fault for each in commands if (fault := known.get(each)) is not None}

    def _identity(self) -> tuple[int, ...] | None:
        """Return what another program at this place would not have; None where there is none."""
        try:
            found = os.stat(self.bash)
        except OSError:
            return None
        return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def _ask(self, commands: list[str]) -> dict[str, SyntaxFault]:
        environment = dict(_ENVIRONMENT)
        for number, command in enumerate(commands):
            # Two line ends: a backslash at the end of the command must not join the brace.
            body = f"() {{ {command}\n\n}}".encode("utf-8", "surrogateescape")
            environment[f"BASH_FUNC_c{number}%%".encode()] = body
        environment[f"BASH_FUNC_{_CANARY}%%".encode()] = b"() { fi\n}"
        complaints = self._complaints(environment)
        if _CANARY in complaints:
            return _read(complaints, commands)
        return self._ask_one_by_one(commands)

    def _complaints(self, environment: Mapping[bytes, bytes]) -> str:
        """Return what bash says when it starts with this environment, and does nothing."""
        # Not through `subprocess`: importing it takes as long as bash does.
        reading, writing = os.pipe()
        try:
            process = os.posix_spawn(
                self.bash,
                [self.bash, "--norc", "--noprofile", "-c", ":"],
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 2),
                ],
            )
        except OSError as error:
            os.close(reading)
            raise self._problem(error.strerror or str(error)) from error
        finally:
            os.close(writing)
        with open(reading, "rb") as pipe:
            said = pipe.read()
        os.waitpid(process, 0)
        return said.decode("utf-8", "replace")

    def _ask_one_by_one(self, commands: list[str]) -> dict[str, SyntaxFault]:
        import subprocess  # noqa: PLC0415 - only where bash does not take functions from outside

        given = "\0".join([*commands, "fi", ""]).encode("utf-8", "surrogateescape")
        try:
            done = subprocess.run(  # noqa: S603 - a script of ours, see above
                [self.bash, "--norc", "--noprofile", "-c", _ONE_BY_ONE],
                env=_ENVIRONMENT,
                input=given,
                capture_output=True,
                timeout=_LIMIT_SECONDS,
                check=False,
            )
        except OSError as error:
            raise self._problem(error.strerror or str(error)) from error
        except subprocess.TimeoutExpired as error:
            raise self._problem(f"it took over {_LIMIT_SECONDS} s") from error
        answer = done.stdout.decode("utf-8", "replace")
        if f"c{len(commands)}: " not in answer:
            raise self._problem("it does not say what is wrong with a command")
        return _read(answer, commands)

    def _problem(self, reason: str) -> FileProblem:
        message = f"the shell syntax cannot be checked: {self.bash}: {reason}"
        return FileProblem(message, hint="install bash")


def _batches(commands: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for command in commands:
        # Nothing to parse, too long for the environment, or impossible in it: other rules speak.
        if not _has_code(command) or len(command.encode("utf-8", "replace")) > _MAX_COMMAND:
            continue
        if "\0" in command or _has_lone_surrogate(command):
            continue
        if batch and size + len(command) > _MAX_BATCH // 4:
            yield batch
            batch, size = [], 0
        batch.append(command)
        size += len(command) + 40
    if batch:
        yield batch


def _has_code(command: str) -> bool:
    return any(line.strip() and not line.strip().startswith("#") for line in command.split("\n"))


def _has_lone_surrogate(command: str) -> bool:
    """Say whether a command holds more than text and the bytes that were none in UTF-8."""
    try:
        command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return True
    return False


def _read(complaints: str, commands: list[str]) -> dict[str, SyntaxFault]:
    found: dict[str, SyntaxFault] = {}
    for match in _MESSAGE.finditer(complaints):
        number = int(match["number"])
        if number >= len(commands) or commands[number] in found:
            continue  # broken on purpose; or the line that quotes the text at fault
        command = commands[number]
        last = command.count("\n")
        message = match["text"].strip()
        if message.startswith("syntax error near unexpected token `}'") and "}" not in command:
            message = "the command ends too early: something in it is not closed"
        elif message.startswith(("unexpected EOF", "syntax error: unexpected end of file")):
            message = message.replace("unexpected EOF while looking for", "no")
            message = message.replace("syntax error: unexpected end of file", "it ends too early")
        found[command] = SyntaxFault(max(0, min(int(match["line"]), last)), message)
    return found
