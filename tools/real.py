"""`make real`: real projects with their real suites go the whole way.

Three projects come from the package indexes into a scratch folder, each with its own environment:
click (src layout), httpx (some of its tests fail before any work) and fast-uri (Node; the tarball
of commander has no tests). Planbound is installed as a user installs it. For each project: `init`
tries the suite; the code is broken; the contract is red; a plan whose agent mends it is approved
and run; the contract is proved. At the end a table says what was judged, and with what.

Needs the network; nothing of it is kept. `python -m tools.real click` walks one of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UV = ROOT / ".tools/bin/uv"
OWN_ENVIRONMENT = Path(sys.prefix)
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PLAN = """\
---
type: plan
status: draft
owner: mara
touches: ["{top}/**"]
---

# Mend {name}

## Steps

### 1. Mend what was broken

**target:** coder
**task:** A change of `{file}` broke the tests. Put it right.

**contract:**
```shell
{command}
```
{expected}
"""


@dataclass(frozen=True)
class Project:
    """A project of a package index, and a way to break it."""

    name: str
    version: str
    file: str
    sound: str
    broken: str
    set_up: Callable[[Bench], None]
    extra: Callable[[Bench], None] | None = None


@dataclass
class Row:
    """One line of the table at the end."""

    project: str
    what: str
    tools: str
    verdict: str
    numbers: str
    seconds: float


@dataclass
class Bench:
    """A project in its scratch folder, and the program as it was installed."""

    project: Project
    folder: Path
    home: Path
    program: Path
    rows: list[Row] = field(default_factory=list)
    tools: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """What a user's shell has: the one program of ours, and the system's folders."""
        passed = {key: value for key, value in os.environ.items() if key.startswith(_PASSED)}
        path = f"{self.program.parent}{os.pathsep}{SYSTEM_PATH}"
        return {**passed, "HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8"}

    def call(self, *words: str | Path, ends: tuple[int, ...] = (0,), **more: str) -> str:
        """Run a command in the project; return what it printed on standard output."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env=self.environment | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
        if done.returncode not in ends:
            shown = " ".join(str(word) for word in words)
            raise SystemExit(
                f"{self.project.name}: `{shown}` ended with {done.returncode}\n"
                f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done.stdout

    def planbound(self, *words: str, ends: tuple[int, ...] = (0,), **more: str) -> str:
        """Run the program."""
        return self.call(self.program, *words, ends=ends, **more)

    def change(self, path: str, old: str, new: str) -> None:
        """Put one text in the place of another, which is there exactly once."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, (path, old, text.count(old))
        file.write_text(text.replace(old, new), encoding="utf-8")

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.call("git", "add", "--all")
        identity = ("-c", "user.name=Real", "-c", "user.email=real@localhost")
        self.call("git", *identity, "commit", "--quiet", "--message", message)

    def judged(self, what: str, wanted: str, **more: str) -> dict[str, Any]:
        """Judge step 1, note it, and insist on the verdict."""
        before = time.monotonic()
        said = self.planbound("judge", "--step", "1", "--json", ends=(0, 1), **more)
        data = json.loads(said)
        (verdict,) = data["verdicts"]
        self.tools = ", ".join(f"{t['name']} {t['version']} ({t['path']})" for t in data["tools"])
        self.note(what, verdict["verdict"], verdict["reason"], time.monotonic() - before)
        if verdict["verdict"] != wanted:
            raise SystemExit(f"{self.project.name}, {what}: expected {wanted}, got {verdict}")
        return dict(verdict)

    def note(self, what: str, verdict: str, numbers: str, seconds: float) -> None:
        """Add a line to the table."""
        name = f"{self.project.name} {self.project.version}"
        row = Row(name, what, self.tools, verdict, numbers, seconds)
        self.rows.append(row)
        print(f"{row.project}: {what}: {verdict}, {numbers} ({seconds:.0f} s)", flush=True)


_PASSED = (
    "PIP_",
    "UV_",
    "npm_config_",
    "NPM_CONFIG_",
    "HTTP",
    "http",
    "NO_PROXY",
    "no_proxy",
    "SSL_",
)


# -- the projects ----------------------------------------------------------------------------------


def python_project(*packages: str) -> Callable[[Bench], None]:
    """Return what makes the environment of a Python project, as its contributors would."""

    def set_up(bench: Bench) -> None:
        bench.call(UV, "venv", "--quiet", ".venv")
        python = ("--python", ".venv/bin/python")
        bench.call(UV, "pip", "install", "--quiet", *python, *packages)

    return set_up


def node_project(bench: Bench) -> None:
    """Install what a Node project needs."""
    bench.call("npm", "install", "--no-audit", "--no-fund", PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD="1")


def raises_on_import(bench: Bench) -> None:
    """See that a product which cannot be imported does not pass, wherever Planbound runs from.

    The environment that Planbound is developed in may have a click of its own.
    """
    file = bench.folder / "src/click/__init__.py"
    sound = file.read_bytes()
    file.write_text("raise RuntimeError('this product cannot be imported')\n", encoding="utf-8")
    bench.judged("raises on import", "fail")
    installed = bench.program
    bench.program = OWN_ENVIRONMENT / "bin/planbound"
    active = {"VIRTUAL_ENV": str(OWN_ENVIRONMENT)}
    bench.judged("the same, Planbound's own environment active", "fail", **active)
    bench.program = installed
    file.write_bytes(sound)


def breaks_another_test(bench: Bench) -> None:
    """See that a test which passed before is missed by its name."""
    path, old, new = "httpx/_status_codes.py", '"Not Found"', '"Not found"'
    bench.change(path, old, new)
    verdict = bench.judged("breaks another test", "fail")
    if "test_" not in verdict["reason"]:
        raise SystemExit(f"httpx: the verdict names no test: {verdict['reason']}")
    bench.change(path, new, old)


PROJECTS = (
    Project(
        "click", "8.5.1", "src/click/decorators.py",
        '"Show this message and exit."', '"Show this message."',
        python_project("--editable", ".", "pytest"),
        raises_on_import,
    ),
    Project(
        "httpx", "0.28.1", "httpx/_utils.py",
        'return "true"', 'return "True"',
        python_project(
            "--editable", ".[brotli,cli,http2,socks,zstd]",
            *("pytest", "trio", "trustme", "uvicorn", "cryptography", "chardet"),
        ),
        breaks_another_test,
    ),
    Project("fast-uri", "4.2.3", "lib/utils.js", r"|\d)\.){3}(", r"|\d)\.){2}(", node_project),
)  # fmt: skip


# -- the way ---------------------------------------------------------------------------------------


def download(project: Project, scratch: Path) -> Path:
    """Fetch a project's source as its index has it, and unpack it."""
    folder = scratch / "downloads" / project.name
    folder.mkdir(parents=True)
    if project.set_up is node_project:
        fetch = ["npm", "pack", "--silent", f"{project.name}@{project.version}"]
    else:
        pip = [str(ROOT / ".tools/bin/python"), "-m", "pip", "download", "-qq", "--no-deps"]
        fetch = [*pip, "--no-binary", ":all:", f"{project.name}=={project.version}"]
    subprocess.run(fetch, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.iterdir()
    shutil.unpack_archive(archive, folder, "gztar", filter="data")
    archive.unlink()
    (unpacked,) = folder.iterdir()
    return unpacked.rename(scratch / project.name)


def install(scratch: Path) -> Path:
    """Install Planbound as the quickstart says; return the program."""
    home = scratch / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "UV_TOOL_DIR": str(home / ".local/share/tools")}
    subprocess.run(
        [UV, "tool", "install", "--quiet", ROOT], env=environment, check=True, cwd=scratch
    )
    return home / ".local/bin/planbound"


def walk(bench: Bench) -> None:
    """Take one project the whole way."""
    project = bench.project
    bench.folder.joinpath(".gitignore").write_text(
        ".venv/\nnode_modules/\n__pycache__/\n.pytest_cache/\n*.egg-info/\n", encoding="utf-8"
    )
    bench.call("git", "init", "--quiet", "--initial-branch=main")
    project.set_up(bench)
    bench.commit("as the index has it")
    begun = time.monotonic()
    said = bench.planbound("init")
    print("".join(f"  {line}\n" for line in said.splitlines()), end="", flush=True)
    bench.tools = tools_in(said)
    command, expected, numbers = proposed(bench, said)
    bench.note("as it is", "init", numbers, time.monotonic() - begun)

    bench.change(project.file, project.sound, project.broken)
    bench.commit("a change that breaks it")
    text = PLAN.format(
        name=project.name,
        file=project.file,
        top=project.file.partition("/")[0],
        command=command,
        expected=expected,
    )
    bench.folder.joinpath(".harness/PLAN.md").write_text(text, encoding="utf-8")
    mend = (
        f"s{_SEPARATOR}{_escaped(project.broken)}{_SEPARATOR}{_replaced(project.sound)}{_SEPARATOR}"
    )
    with bench.folder.joinpath("planbound.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[agents.coder]\ncommand = {json.dumps(['sed', '-i', mend, project.file])}\n")
    bench.commit("a plan")
    approve_and_run(bench)
    bench.judged("mended", "pass")
    if project.extra is not None:
        project.extra(bench)


def approve_and_run(bench: Bench) -> None:
    """Approve the plan, see that its contract is red, let the agent mend the code."""
    digest = json.loads(bench.planbound("show", "--json"))["digest"]
    begun = time.monotonic()
    sheet = bench.planbound("approve", "--digest", digest[:12], "--as", "mara")
    bench.tools = tools_in(sheet)
    red = re.search(r"(?m)^\s*red now: (.*)$", sheet)
    if red is None:
        raise SystemExit(f"{bench.project.name}: not red before the work:\n{sheet}")
    bench.note("broken", "red", red[1], time.monotonic() - begun)
    begun = time.monotonic()
    last = bench.planbound("run").splitlines()[-1]
    if not last.startswith("1/1 proved"):
        raise SystemExit(f"{bench.project.name}: not proved: {last}")
    bench.note("run", "proved", last.partition(".")[0], time.monotonic() - begun)


def proposed(bench: Bench, said: str) -> tuple[str, str, str]:
    """Return the contract that `init` wrote, for the suite as it is; and what it saw."""
    plan = (bench.folder / ".harness/PLAN.md").read_text(encoding="utf-8")
    found = re.search(r"```shell\n(.+)\n```\n((?:[^*\n].*\n)+)", plan)
    tried = re.search(r"(?m)^tried .*?`: (.*), [0-9.]+ s$", said)
    if found is None or tried is None:
        raise SystemExit(f"{bench.project.name}: `init` found no contract that runs:\n{said}")
    # It asks for one test more than there are; mending brings back those that there were.
    expected = re.sub(r"tests >= (\d+)", lambda match: f"tests >= {int(match[1]) - 1}", found[2])
    return found[1], expected.rstrip("\n"), tried[1]


def tools_in(said: str) -> str:
    """Return the programs that contracts use, as the program names them."""
    found = re.search(r"(?m)^\s*contracts use (.*)$", said)
    if found is None:
        raise SystemExit(f"nothing says which programs are used:\n{said}")
    return found[1]


_SEPARATOR = "\x01"
"""Of the parts of a command for sed: in no text that is replaced."""


def _escaped(text: str) -> str:
    return re.sub(r"([\\.*^$\[\]])", r"\\\1", text)


def _replaced(text: str) -> str:
    return text.replace("\\", "\\\\").replace("&", "\\&")


def table(rows: list[Row]) -> str:
    """Return what was judged, as a table."""
    lines = ["| project | what | verdict | numbers | with | s |", "| --- " * 5 + "| ---: |"]
    lines += [
        f"| {row.project} | {row.what} | {row.verdict} | {row.numbers} | {row.tools}"
        f" | {row.seconds:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> int:
    """Walk the projects that are named, or all of them."""
    wanted = sys.argv[1:] or [project.name for project in PROJECTS]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="planbound-real-") as name:
        scratch = Path(name)
        program = install(scratch)
        for project in PROJECTS:
            if project.name in wanted:
                bench = Bench(project, download(project, scratch), scratch / "home", program)
                walk(bench)
                rows += bench.rows
    print(f"\n{table(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
