"""A program that stands for an agent program: it plays turns that a test has written down.

`install(folder, name, turns)` makes it. Each call plays the next turn, the last one for ever: it
does some work in the shell, writes files into its home, prints, and ends. What it was called with
is kept beside it, where it can write there: in a cell without walls.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Turn(NamedTuple):
    """What the program does when it is called."""

    stdout: str = ""
    shell: str = ""
    exit_code: int = 0
    stderr: str = ""
    home: Mapping[str, str] = {}
    """Files that it writes into its home."""


class Called(NamedTuple):
    """What the program was called with."""

    words: list[str]
    environment: dict[str, str]
    stdin: str
    files: dict[str, str]
    """The content of the files that its words and variables name."""

    @property
    def told(self) -> str:
        """All that it could know."""
        return self.stdin + "".join(self.files.values())

    def after(self, word: str) -> str:
        """The word that follows another."""
        return self.words[self.words.index(word) + 1]


def install(folder: Path, name: str, turns: Sequence[Turn]) -> None:
    """Put the program into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.turns").write_text(json.dumps([turn._asdict() for turn in turns]))
    program = folder / name
    source = Path(__file__).read_text(encoding="utf-8")
    program.write_text(f"#!{sys.executable} -I\n{source}", encoding="utf-8")
    program.chmod(0o755)


def calls(folder: Path, name: str) -> list[Called]:
    """What the program was called with, each time."""
    lines = (folder / f"{name}.calls").read_text(encoding="utf-8").splitlines()
    return [Called(**json.loads(line)) for line in lines]


def main() -> int:
    program = Path(sys.argv[0])
    stdin = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode()
    named = [*sys.argv[1:], *os.environ.values()]
    called = Called(
        words=sys.argv[1:],
        environment=dict(os.environ),
        stdin=stdin,
        files={word: Path(word).read_text() for word in named if _is_file(word)},
    )
    try:
        with Path(f"{program}.calls").open("a", encoding="utf-8") as file:
            file.write(json.dumps(called._asdict()) + "\n")
    except OSError:
        pass  # behind walls
    turns = [Turn(**fields) for fields in json.loads(Path(f"{program}.turns").read_text())]
    counter = Path(os.environ["HOME"], ".fake-calls")
    number = len(counter.read_text()) if counter.exists() else 0
    counter.write_text("x" * (number + 1))
    turn = turns[min(number, len(turns) - 1)]
    if turn.shell:
        subprocess.run(["/bin/bash", "-c", turn.shell], check=True)
    for path, content in turn.home.items():
        place = Path(os.environ["HOME"], path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    sys.stderr.write(turn.stderr)
    sys.stdout.write(turn.stdout)
    return turn.exit_code


def _is_file(word: str) -> bool:
    return word.startswith("/") and "planbound-agent-" in word and Path(word).is_file()


if __name__ == "__main__":
    sys.exit(main())
