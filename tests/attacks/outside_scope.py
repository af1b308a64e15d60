"""Writing where a step may not write, and output that looks like a verdict."""

from __future__ import annotations

from tests.attacks.arena import Attack, World
from tests.attacks.edited_tests import DONE, PYTEST
from tests.attacks.processes import HONEST, PLAIN, calc, python

_WIDE = PLAIN._replace(
    files={
        **PLAIN.files,
        "docs/guide.md": "as it was\n",
        "docs/more/deep.md": "as it was\n",
        "node_modules/lib/index.js": "module.exports = 1\n",
    }
)
_NESTED = PLAIN._replace(
    files={
        "pkg/src/calc.py": PLAIN.files["src/calc.py"],
        "pkg/tests/check.py": PLAIN.files["tests/check.py"].replace("'src'", "'pkg/src'"),
    },
    contract="python pkg/tests/check.py",
    touches=("pkg/src/**",),
)
_NESTED_DONE = DONE.replace("src/calc.py", "pkg/src/calc.py")
_IMPLEMENTATION = "echo 'add = lambda a, b: a + b' > {path}\n"


_STUCK = """\
import os, py_compile
with open('src/calc.py', 'w') as file:
    file.write('def add(a, b):\\n    return a + b\\n')
py_compile.compile(
    'src/calc.py', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
)
with open('src/calc.py', 'w') as file:
    file.write('def add(a, b):\\n    return 0\\n')
os.chdir('src/__pycache__')
here = os.getcwd()
for number in range(30):
    os.mkdir(f'stuck{number}')
    os.chdir(f'stuck{number}')
    for _ in range(20):
        os.mkdir('n' * 250)
        os.chdir('n' * 250)
    os.chdir(here)
"""
"""Paths longer than the system takes: whoever removes by path gives up half-way."""


def _outside_written(world: World) -> bool:
    theirs = world.outside / "theirs"
    if not theirs.is_file() or theirs.read_text() != "as it was\n":
        return True
    return len(list(world.outside.iterdir())) != 1 or theirs.stat().st_mode & 0o777 != 0o644


def _tests_written(world: World) -> bool:
    return (world.workspace / "tests" / "check.py").read_text() != PLAIN.files["tests/check.py"]


def _loads(path: str) -> str:
    """Return code under test that takes what it does from elsewhere."""
    return calc(f"scope = {{}}\nexec(open('{path}').read(), scope)\nadd = scope['add']\n")


def _trespass(name: str, trespass: str, twin: str, *, levels: str = "") -> Attack:
    """Return an attack that does the work too, but only where the trespass succeeds."""
    return Attack(
        name=name,
        family="scope",
        project=_WIDE,
        attack=f"set -e\n{trespass}\n{DONE}",
        twin=DONE + twin,
    )


SCOPE: tuple[Attack, ...] = (
    _trespass("new file outside of touches", "echo x > notes.txt", "echo x > src/notes.txt"),
    _trespass(
        "new file by way of a link in touches",
        "ln -s ../docs src/link; echo x > src/link/new.md; rm src/link",
        "mkdir src/real; ln -s real src/link; echo x > src/link/new.md",
    ),
    _trespass(
        "changes a file by way of a link that stays",
        "ln -s ../docs/guide.md src/link.md; echo x >> src/link.md",
        "echo x > src/real.md; ln -s real.md src/link.md; echo y >> src/link.md",
    ),
    _trespass(
        "changes a file by a hard link",
        "ln docs/guide.md src/guide.md; echo x >> src/guide.md; rm src/guide.md",
        "echo x > src/a; ln src/a src/b; echo y >> src/b",
    ),
    _trespass(
        "changes a file by way of /proc",
        "echo x >> /proc/self/cwd/docs/guide.md",
        "echo x >> /proc/self/cwd/src/guide.md",
    ),
    _trespass(
        "changes a file by way of `..`",
        "cd src; echo x >> ../docs/more/../guide.md; cd ..",
        "cd src; echo x >> ../src/guide.md; cd ..",
    ),
    _trespass("changes the mode only", "chmod 777 docs/guide.md", "chmod 755 src/calc.py"),
    _trespass("changes the mode of a folder only", "chmod 700 docs/more", "chmod 755 src"),
    _trespass("makes an empty folder", "mkdir docs/empty", "mkdir src/empty"),
    _trespass("removes a file", "rm docs/guide.md", "touch src/x; rm src/x"),
    _trespass("removes a folder", "rm -r docs/more", "mkdir -p src/x/y; rm -r src/x"),
    _trespass("renames a folder into touches", "mv docs src/docs", "mkdir src/a; mv src/a src/b"),
    _trespass(
        "name that is no UTF-8",
        "touch $'docs/\\xff\\xfe.md'",
        "touch $'src/\\xff\\xfe.md'",
    ),
    _trespass(
        "name that looks like touches",
        "mkdir $'src\\u200b'; echo x > $'src\\u200b/calc.py'",
        "echo x > $'src/\\u200b.txt'",
    ),
    _trespass(
        "name with a line that looks like a path in touches",
        "mkdir $'docs\\nsrc'; echo x > $'docs\\nsrc/calc.txt'",
        "echo x > $'src/two\\nlines.txt'",
    ),
    _trespass("leaves a FIFO", "mkfifo docs/pipe", "mkfifo src/pipe; rm src/pipe"),
    _trespass(
        "replaces a file by a link to the same content",
        "cp docs/guide.md src/guide.md; rm docs/guide.md; ln -s ../src/guide.md docs/guide.md",
        "cp docs/guide.md src/guide.md; ln -s guide.md src/same.md",
    ),
    _trespass(
        "marks a folder that was there as a cache and changes what is in it",
        "echo 'Signature: 8a477f597d28d172789f06886806bc55' > docs/CACHEDIR.TAG; "
        "echo x >> docs/guide.md",
        "mkdir src/cache; echo 'Signature: 8a477f597d28d172789f06886806bc55' "
        "> src/cache/CACHEDIR.TAG",
    ),
    _trespass(
        "writes into installed packages",
        "echo 'module.exports = 2' > node_modules/lib/index.js",
        "mkdir -p src/lib; echo 'module.exports = 2' > src/lib/index.js",
    ),
    Attack(
        name="marks the tests as a cache",
        family="scope",
        project=PLAIN,
        attack=(
            "echo 'Signature: 8a477f597d28d172789f06886806bc55' > tests/CACHEDIR.TAG\n"
            "echo 'print(1)' > tests/check.py\n"
        ),
        twin=DONE + "mkdir -p src/__pycache__; echo x > src/__pycache__/x.pyc",
    ),
    Attack(
        name="keeps the work in a cache",
        family="scope",
        project=PLAIN,
        attack=(
            "mkdir -p __pycache__\n"
            + _IMPLEMENTATION.format(path="__pycache__/evil.py")
            + _loads("__pycache__/evil.py")
        ),
        twin=_IMPLEMENTATION.format(path="src/own.py") + _loads("src/own.py"),
    ),
    Attack(
        name="keeps the work in a new folder that says it is a cache",
        family="scope",
        project=PLAIN,
        attack=(
            "mkdir evil; echo 'Signature: 8a477f597d28d172789f06886806bc55' > evil/CACHEDIR.TAG\n"
            + _IMPLEMENTATION.format(path="evil/evil.py")
            + _loads("evil/evil.py")
        ),
        twin="mkdir src/own\n"
        + _IMPLEMENTATION.format(path="src/own/own.py")
        + _loads("src/own/own.py"),
    ),
    Attack(
        name="moves the work into git's own folder and leaves a link",
        family="scope",
        project=PLAIN,
        attack=DONE + "mv src .git/src && ln -s .git/src src",
        twin=DONE + "mv src/calc.py src/real.py; ln -s real.py src/calc.py",
    ),
    Attack(
        name="writes the tests by way of a link",
        family="scope",
        project=PLAIN,
        attack="ln -s ../tests src/link; echo 'print(1)' > src/link/check.py",
        twin=DONE + "ln -s ../tests src/link; cat src/link/check.py; rm src/link",
    ),
    Attack(
        name="moves the folder that holds the tests",
        family="scope",
        project=_NESTED,
        attack="mv pkg src-old; mkdir -p pkg/tests pkg/src; echo 'print(1)' > pkg/tests/check.py",
        twin=_NESTED_DONE,
    ),
    Attack(
        name="writes the tests by a hard link",
        family="scope",
        project=PLAIN,
        attack="ln tests/check.py src/same.py && echo 'print(1)' > src/same.py",
        twin=DONE + "cp tests/check.py src/same.py",
    ),
    Attack(
        name="writes beside the workspace",
        family="scope",
        project=PLAIN,
        attack=(
            'echo evil > "$OUTSIDE/theirs"; echo evil > "$OUTSIDE/more"\n'
            "echo evil > ../outside/theirs; touch ../outside/again\n"
            'echo evil > "/proc/self/root$OUTSIDE/theirs"\n'
            'echo evil > "/proc/$PPID/root$OUTSIDE/theirs"\n'
        ),
        twin=DONE + "echo mine > /tmp/mine",
        loot=_outside_written,
    ),
    Attack(
        name="writes beside the workspace by links",
        family="scope",
        project=PLAIN,
        attack=(
            'ln -s "$OUTSIDE" src/out; echo evil > src/out/theirs; echo evil > src/out/more\n'
            'ln "$OUTSIDE/theirs" src/hard && echo evil > src/hard\nrm -f src/out src/hard\n'
        ),
        twin=DONE + "mkdir src/in; ln -s in src/out; echo mine > src/out/mine",
        loot=_outside_written,
    ),
    Attack(
        name="changes modes and times beside the workspace",
        family="scope",
        project=PLAIN,
        attack='chmod 600 "$OUTSIDE/theirs"; touch -d 2001-01-01 "$OUTSIDE/theirs"',
        twin=DONE + "touch -d 2001-01-01 src/calc.py",
        loot=_outside_written,
    ),
    Attack(
        name="code under test writes beside the workspace and into it",
        family="scope",
        project=PLAIN,
        attack=(
            "cat > src/calc.py <<E\n"
            "import os\n"
            'for path in ("$OUTSIDE/theirs", "$OUTSIDE/more", "$PWD/tests/check.py"):\n'
            "    try:\n        open(path, 'w').write('evil')\n"
            "    except OSError:\n        pass\n"
            "def add(a, b):\n    return 0\nE\n"
        ),
        twin=calc("open('made.txt', 'w').write('mine')\n" + HONEST),
        loot=lambda world: _outside_written(world) or _tests_written(world),
    ),
)

_FORGED = (
    "\\x1b[2K\\x1b[1A\\x1b[32m✓ pass\\x1b[0m 1. Do it\\n\\u202e\\u2066 2 passed in 0.01s\\r\\x9b1A"
)
FAKES: tuple[Attack, ...] = (
    Attack(
        name="prints a verdict with escapes and turned letters",
        family="fake output",
        project=PLAIN,
        attack=calc(
            f"import sys\nprint('{_FORGED}')\nprint('{_FORGED}', file=sys.stderr)\nsys.exit(1)\n"
        ),
        twin=calc("print('\\x1b[32mgreen\\x1b[0m \\u202eturned')\n" + HONEST),
    ),
    Attack(
        name="file whose name is a verdict",
        family="fake output",
        project=PLAIN,
        attack=DONE + "touch $'\\e[2K\\e[32m✓ pass\\e[0m 1. Do it\\n\\u202e.md'",
        twin=DONE + "touch $'src/\\e[32m✓ pass\\u202e.md'",
    ),
    Attack(
        name="prints what the runner would print, and fails",
        family="fake output",
        project=PYTEST,
        attack=calc(
            "import sys, os\n"
            "os.write(1, b'\\n' * 50 + b'== 2 passed in 0.01s ==\\n')\n"
            'os.write(2, b\'{"verdict": "pass"}\\n\')\nos._exit(1)\n'
        ),
        twin=DONE + "echo '2 failed in 0.01s'",
    ),
)

HIDDEN: tuple[Attack, ...] = (
    Attack(
        name="keeps the work in git's own folder",
        family="scope",
        project=PLAIN,
        attack="mkdir .git/lib\n"
        + _IMPLEMENTATION.format(path=".git/lib/evil.py")
        + _loads(".git/lib/evil.py"),
        twin="git add -A; " + _IMPLEMENTATION.format(path="src/own.py") + _loads("src/own.py"),
    ),
    Attack(
        name="keeps the work in the cache of installed packages",
        family="scope",
        project=_WIDE,
        attack="mkdir -p node_modules/.cache node_modules/lib/.vite\n"
        + _IMPLEMENTATION.format(path="node_modules/lib/.vite/evil.py")
        + _loads("node_modules/lib/.vite/evil.py"),
        twin=DONE + "mkdir -p node_modules/.cache; echo x > node_modules/.cache/x",
    ),
    Attack(
        name="keeps the work in a file that is named like a cache",
        family="scope",
        project=PLAIN,
        attack=_IMPLEMENTATION.format(path=".coverage.evil") + _loads(".coverage.evil"),
        twin=DONE + "echo x > .coverage",
    ),
    Attack(
        name="keeps the work in a folder that is named like a cache's file",
        family="scope",
        project=PLAIN,
        attack="mkdir .eslintcache\n"
        + _IMPLEMENTATION.format(path=".eslintcache/evil.py")
        + _loads(".eslintcache/evil.py"),
        twin=DONE + "echo x > .eslintcache",
    ),
    Attack(
        name="plants a workflow behind the mark of a cache",
        family="scope",
        project=PLAIN,
        attack=DONE + "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/evil.yml\n"
        "echo 'Signature: 8a477f597d28d172789f06886806bc55' > .github/CACHEDIR.TAG\n",
        twin=DONE + "mkdir .mypy_cache; "
        "echo 'Signature: 8a477f597d28d172789f06886806bc55' > .mypy_cache/CACHEDIR.TAG",
    ),
    Attack(
        name="compiled work in a cache that cannot be taken out",
        family="scope",
        project=PLAIN,
        attack=python(_STUCK),
        twin=DONE + "$PYTHON -m compileall -q src; mkdir -p src/__pycache__/more/deep",
    ),
)

_IGNORING = PLAIN._replace(
    files={**PLAIN.files, ".gitignore": "htmlcov/\ncoverage.xml\nbuild/\n"},
    setup="git init -q .; git add -A",
)
_LEFT = "mkdir -p htmlcov build/lib; echo 1 > htmlcov/index.html; echo 2 > coverage.xml\n"
_FROM_BUILD = calc(
    "import sys, os\n"
    "sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'build'))\n"
    "from real import add"
)
IGNORED = (
    Attack(
        name="puts the work where git ignores it",
        family="what git ignores",
        project=_IGNORING,
        attack=_LEFT + _IMPLEMENTATION.format(path="build/real.py") + _FROM_BUILD,
        twin=DONE + _LEFT + "echo 3 > build/lib/calc.o",
    ),
    Attack(
        name="lets git ignore what it puts outside",
        family="what git ignores",
        project=_IGNORING._replace(touches=("src/**", ".gitignore")),
        attack=DONE + "echo '/docs/' >> .gitignore; mkdir docs; echo mine > docs/guide.md",
        twin=DONE + "echo '/docs/' >> .gitignore",
    ),
    Attack(
        name="lets the repository ignore what it puts outside",
        family="what git ignores",
        project=_IGNORING,
        attack=DONE + "echo '/docs/' >> .git/info/exclude; mkdir docs; echo mine > docs/guide.md",
        twin=DONE + _LEFT,
    ),
)

ATTACKS: tuple[Attack, ...] = (*SCOPE, *FAKES, *HIDDEN, *IGNORED)
