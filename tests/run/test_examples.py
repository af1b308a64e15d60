"""Three plans as a designer writes them, from `verify` to `done`, without one word of `touches`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.run.bench import Bench

EXAMPLES = Path(__file__).parents[1] / "fixtures" / "examples"
UV = """\
#!/bin/sh
[ "$1" = run ] || exit 2
shift
exec "$@"
"""
# Says of test files what pytest would, in a twentieth of the time.
PYTEST = """\
#!/usr/bin/python3 -S
import importlib.util, pathlib, sys
sys.path[:0] = ["src"]
paths = [pathlib.Path(each) for each in sys.argv[1:] if not each.startswith("-")]
files = [each for path in paths for each in (path.rglob("test_*.py") if path.is_dir() else [path])]
count = {"failed": 0, "passed": 0}
for file in sorted(files):
    if not file.exists():
        sys.exit(f"ERROR: file or directory not found: {file}\\n\\n= no tests ran in 0.00s =")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in [each for each in vars(module) if each.startswith("test_")]:
        try:
            vars(module)[name]()
            count["passed"] += 1
        except AssertionError:
            print(f"FAILED {file}::{name}")
            count["failed"] += 1
told = ", ".join(f"{number} {word}" for word, number in count.items() if number)
print(f"===== {told or 'no tests ran'} in 0.01s =====")
sys.exit(1 if count["failed"] else 0 if count["passed"] else 5)
"""
RUFF = """\
#!/bin/sh
[ "$1" = check ] || exit 2
shift
! grep -rn "import unused" "$@" && echo "All checks passed!"
"""
PYRIGHT = """\
#!/bin/sh
! grep -rn "type: wrong" "$@" && echo "0 errors, 0 warnings, 0 informations"
"""
GH = """\
#!/usr/bin/python3 -S
import json, sys, urllib.request
url, command = "http://127.0.0.1:{port}/", sys.argv[2]
if command == "create":
    data = json.dumps({{"state": "OPEN", "title": "Done with pytest"}}).encode()
    urllib.request.urlopen(urllib.request.Request(url, data, method="POST"))
    sys.exit(0)
pulls = json.load(urllib.request.urlopen(url))
if not pulls:
    sys.exit("no pull requests found for branch")
print(json.dumps(pulls[0] if command == "view" else pulls, separators=(",", ":")))
"""
AGENT = """\
#!/bin/bash
prompt=$(cat)
title=${{prompt%%$'\\n'*}}
case "${{title#\\# }}" in
{cases}
*) exit 3;;
esac
"""


class Hub:
    """What `gh` asks: a service that knows of pull requests."""

    def __init__(self) -> None:
        self.pulls: list[Any] = []
        self.port = 0


@contextmanager
def hub() -> Iterator[Hub]:
    """Serve pull requests as long as the block lasts."""
    found = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(json.dumps(found.pulls).encode())

        def do_POST(self) -> None:
            found.pulls.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(b"{}")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Project:
    """A repository with its tools, and agents that follow a script."""

    def __init__(
        self, bench: Bench, port: int, roles: tuple[str, ...], work: dict[str, str]
    ) -> None:
        self.bench = bench
        tools = bench.folder / "tools"
        tools.mkdir()
        texts = {"uv": UV, "pytest": PYTEST, "ruff": RUFF, "pyright": PYRIGHT}
        for name, text in {**texts, "gh": GH.format(port=port)}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        agent = bench.folder / "agents" / "agent"
        cases = "\n".join(f'"{title}"*)\n{script}\n;;' for title, script in work.items())
        agent.write_text(AGENT.format(cases=cases))
        agent.chmod(0o755)
        table = "".join(f'[agents.{role}]\ncommand = ["{agent}"]\n' for role in roles)
        bench.write(
            "planbound.toml",
            f'{table}[judging]\ncanary = false\n[contracts]\npath = ["{tools}"]\nnetwork = true\n',
        )
        bench.extra["PATH"] = f"{tools}:{bench.environment()['PATH']}"

    def goes_through(self, text: str) -> list[str]:
        """Take a plan from `verify` to its end; return what its steps came to."""
        bench = self.bench
        bench.write(".harness/PLAN.md", text)
        assert "error" not in bench.goes("verify").out.replace("0 errors", "")
        return self.runs()

    def runs(self) -> list[str]:
        """Approve and run; return what the steps came to."""
        self.bench.approve()
        self.bench.goes("run")
        status = self.bench.status()
        assert status["status"] == "done"
        assert status["waiting"] == []
        return [step["status"] for step in status["steps"]]


def example(name: str, *changes: tuple[str, str]) -> str:
    """Return an example, with some passages as other people would write them."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


TEST = r"""cat >> tests/auth/{file} <<END
from auth.refresh import refresh


def test_concurrent_refresh():
    assert refresh() == refresh()
END"""
REPRODUCED = """\
test -f {0} && ! uv run pytest {0} -x
```
exit_code == 0""".format("tests/auth/test_concurrent_refresh.py")
IN_THE_TEST_FILE = (
    ("in `tests/auth/test_concurrent_refresh.py`", "in `tests/auth/test_refresh.py`"),
    (REPRODUCED, "uv run pytest tests/auth/test_refresh.py -x\n```\nexit_code == 1"),
    ("tests/auth/test_concurrent_refresh.py", "tests/auth/test_refresh.py"),
)


@pytest.mark.thorough
@pytest.mark.requirement("language.examples")
@pytest.mark.parametrize(
    ("changes", "file"),
    [((), "test_concurrent_refresh.py"), (IN_THE_TEST_FILE, "test_refresh.py")],
    ids=["a test file of its own", "in a test file that is there"],
)
def test_the_bug_fix_is_shown_mended_and_proposed(
    bench: Bench, changes: tuple[tuple[str, str], ...], file: str
) -> None:
    bench.write("src/auth/refresh.py", "import itertools\n\nrefresh = itertools.count().__next__\n")
    bench.write("tests/auth/test_refresh.py", "def test_it():\n    import auth.refresh\n")
    for topic in ("auth-architecture", "pull-requests"):
        bench.write(f".harness/topics/{topic}.md", "Be kind.\n")
    work = {
        "Investigate the race": TEST.format(file=file),
        "Fix the race": r"printf 'def refresh():\n    return 1\n' > src/auth/refresh.py",
        "Run the whole suite": "uv run pytest tests/",
        "Open the pull request": "gh pr create --fill",
    }
    with hub() as github:
        project = Project(bench, github.port, ("coder",), work)
        # The suite was green before, and a pull request changes no file.
        assert project.goes_through(example("bug-fix.md", *changes)) == [
            "done",
            "done",
            "holds",
            "holds",
        ]
        assert len(github.pulls) == 1
    assert not bench.log().of("FAILURE_DETECTED")


@pytest.mark.requirement("language.examples")
def test_the_extraction_is_made_tested_documented_and_reviewed(bench: Bench) -> None:
    bench.write("src/app.py", "import os\n\n\ndef load_config():\n    return dict(os.environ)\n")
    bench.write("src/server.py", "from app import load_config\n")
    bench.write("tests/test_app.py", "def test_it():\n    from app import load_config\n")
    bench.write("conftest.py", "import sys\n\nsys.path.insert(0, 'src')\n")
    bench.write("README.md", "# App\n")
    for topic in ("code-style", "code-review"):
        bench.write(f".harness/topics/{topic}.md", "Be kind.\n")
    tests = r"for n in 1 2 3; do printf 'def test_%s():\n    import config\n' $n; done"
    work = {
        "Extract the config": "mv src/app.py src/config.py; echo 'import config' > src/app.py;"
        " echo 'from config import load_config' >> src/app.py",
        "Update the imports": "sed -i 's/from app/from config/' src/server.py",
        "Test the module": f"{tests} > tests/test_config.py",
        "Document it": "echo '## Configuration' >> README.md",
        "Review the": "mkdir -p docs; echo APPROVED > docs/review.md",
    }
    project = Project(bench, 0, ("coder", "tester", "reviewer"), work)
    assert project.goes_through(example("extraction.md")) == ["done"] * 5
    assert not bench.log().of("FAILURE_DETECTED")


@pytest.mark.thorough
@pytest.mark.requirement("language.examples")
def test_the_migration_is_expanded_and_every_batch_is_done(bench: Bench) -> None:
    for number in range(7):
        name = f"tests/test_{number}.py"
        bench.write(name, "import unittest\n\n\ndef test_it():\n    assert unittest\n")
    bench.write("README.md", "# App\n")
    bench.write(".harness/topics/testing.md", "Be kind.\n")
    plain = r"printf 'def test_it():\n    pass\n'"
    work = {
        "List what": "mkdir -p docs; grep -l unittest tests/*.py > docs/migration.md",
        "Prepare the": "echo '# fixtures' > tests/conftest.py",
        "Migrate file batch": "for file in $(sed -n 's/^- //p' <<< \"$prompt\" | grep ^tests);"
        f" do {plain} > $file; done",
        "Remove unittest": "echo '# App, tested by pytest' > README.md",
        "Open the pull": "gh pr create",
    }
    with hub() as github:
        project = Project(bench, github.port, ("coder", "reviewer"), work)
        bench.write(".harness/PLAN.md", example("migration.md"))
        assert "`3-N` is a template" in bench.goes("verify").out
        bench.write("batches.txt", "".join(f"tests/test_{each}.py\n" for each in range(7)))
        bench.goes("expand", "--step", "3-N", "--batches", "batches.txt", "--size", "5")
        assert "6 steps, 0 errors" in bench.goes("verify").out
        assert project.runs() == ["done", "done", "holds", "holds", "done", "holds"]
        assert len(github.pulls) == 1
    assert "unittest" not in "".join(
        path.read_text() for path in (bench.workspace / "tests").glob("*.py")
    )
    assert not bench.log().of("FAILURE_DETECTED")
