"""Installs the real agent programs of the tests, each into a folder of its own in a cache.

`python -m tests.agents.install [NAME ...]` installs what is missing and prints what is there.
The cache is `$PLANBOUND_TEST_AGENTS`, or `~/.cache/planbound-test-agents`. A failure is told by
name with the end of the installer's output, and ends with exit code 1.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TAIL = 15


class Npm(NamedTuple):
    """A package of the npm registry; `options` go to `npm install`."""

    packages: tuple[str, ...]
    program: str
    options: tuple[str, ...] = ()

    def commands(self, folder: Path) -> list[list[str]]:
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
        return [["npm", "install", "--prefix", str(folder), *quiet, *self.options, *self.packages]]


class Pip(NamedTuple):
    """Packages of PyPI in a virtual environment of their own."""

    packages: tuple[str, ...]
    program: str

    def commands(self, folder: Path) -> list[list[str]]:
        uv = _uv()
        python = str(folder / "bin/python")
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [
                uv,
                "pip",
                "install",
                "--quiet",
                "--compile-bytecode",
                "--python",
                python,
                *self.packages,
            ],
        ]


# A script of a package that is not needed does not run on the machine of a contributor.
NO_SCRIPTS = ("--ignore-scripts",)

PROGRAMS: dict[str, Npm | Pip] = {
    "codex": Npm(("@openai/codex@0.166.0",), "node_modules/.bin/codex"),
    "opencode": Npm(("opencode-ai@1.18.33",), "node_modules/.bin/opencode"),
    "gemini": Npm(("@google/gemini-cli@0.61.0",), "node_modules/.bin/gemini", NO_SCRIPTS),
    "qwen": Npm(("@qwen-code/qwen-code@0.15.10",), "node_modules/.bin/qwen", NO_SCRIPTS),
    "goose": Npm(
        ("@aaif/goose-binary-linux-x64@1.52.0",),
        "node_modules/@aaif/goose-binary-linux-x64/bin/goose",
    ),
    "codex-acp": Npm(("@agentclientprotocol/codex-acp@2.6.0",), "node_modules/.bin/codex-acp"),
    "aider": Pip(("aider-chat==0.86.2",), "bin/aider"),
    # litellm imports mcp when a reply has tool calls, and does not ask for it when installed.
    "mini": Pip(("mini-swe-agent==2.4.6", "mcp"), "bin/mini"),
}


class InstallError(Exception):
    """An agent program could not be installed; the text names it and quotes its installer."""


def cache() -> Path:
    """The folder that holds all agent programs."""
    told = os.environ.get("PLANBOUND_TEST_AGENTS")
    return Path(told) if told else Path.home() / ".cache/planbound-test-agents"


def installed(name: str, wanted: Npm | Pip | None = None) -> Path:
    """The path of the program `name`, or of what else is wanted, installed where it is missing."""
    wanted = wanted or PROGRAMS[name]
    folder = cache() / name
    stamp = folder / "planbound-installed"
    content = "\n".join(wanted.packages) + "\n"
    program = folder / wanted.program
    if _is_there(stamp, content, program):
        return program
    with _locked(cache() / f"{name}.lock"):
        if not _is_there(stamp, content, program):
            _install(name, wanted, folder)
            stamp.write_text(content, encoding="utf-8")
    return program


def _is_there(stamp: Path, content: str, program: Path) -> bool:
    return stamp.exists() and stamp.read_text(encoding="utf-8") == content and program.exists()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(name: str, wanted: Npm | Pip, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in wanted.commands(folder):
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise InstallError(f"`{name}` cannot be installed: {command[0]}: {error}") from error
        if done.returncode != 0:
            tail = "\n".join(done.stdout.splitlines()[-TAIL:])
            raise InstallError(
                f"`{name}` cannot be installed: `{' '.join(command)}` ended with "
                f"{done.returncode}:\n{tail}"
            )
    if not (folder / wanted.program).exists():
        raise InstallError(f"`{name}` was installed, but has no `{wanted.program}`")


def _uv() -> str:
    ours = ROOT / ".tools/bin/uv"
    return str(ours) if ours.exists() else "uv"


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        print(f"no agent program is called {unknown[0]!r}; known: {', '.join(PROGRAMS)}")
        return 2
    failed = False
    for name in names or PROGRAMS:
        try:
            program = installed(name)
        except InstallError as error:
            failed = True
            print(f"FAILED {error}", flush=True)
        else:
            print(f"{name}\t{' '.join(PROGRAMS[name].packages)}\t{program}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
