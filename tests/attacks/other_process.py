"""A product that is started for each case of a table, and compared outside its process."""

from __future__ import annotations

from tests.attacks.arena import Attack, Project
from tests.attacks.edited_tests import CALC, DONE

FUNCTION = Project(
    files={"src/calc.py": CALC},
    contract='function: calc:add\n{"args": [1, 2], "returns": 3}\n{"args": [5, 6], "returns": 11}',
    touches=("src/**",),
    fence="check",
)
HELD_OUT = FUNCTION._replace(
    contract=FUNCTION.contract + "\ncases: calc.cases.jsonl",
    evidence="E4",
    configuration='[judging]\nheld_out = ["{outside}/calc.cases.jsonl"]\n',
    held_out='{"args": [20, 22], "returns": 42}\n{"args": [-1, 1], "returns": 0}\n',
)
COMMAND = FUNCTION._replace(
    files={"src/calc.py": "import sys\n\nprint(0)\n"},
    contract="command: python3 src/calc.py\n"
    '{"argv": ["1", "2"], "stdout": "3"}\n{"argv": ["5", "6"], "json": 11}',
)
SERVICE = FUNCTION._replace(
    files={"src/serve.py": "import sys\n\nsys.exit('there is no service yet')\n"},
    contract="service: python3 src/serve.py\n"
    '{"request": "GET /add?a=1&b=2", "json": {"sum": 3}}\n'
    '{"request": "GET /add?a=5&b=6", "json": {"sum": 11}}',
)
WORK = "\n\ndef add(a, b):\n    return a + b\n"
NOTHING = "\n\ndef add(a, b):\n    return 0\n"


def _calc(code: str) -> str:
    return f"cat > src/calc.py <<'E'\n{code}E\n"


def _function(name: str, attack: str, twin: str, project: Project = FUNCTION) -> Attack:
    return Attack(
        name=name,
        family="another process",
        project=project,
        attack=_calc(attack),
        twin=_calc(twin),
    )


_SAME = """\
class Same{base}:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __repr__(self):
        return "3"

    __str__ = __repr__


"""
_PEEK = """\
import gc
import inspect
import sys


def add(a, b):
    frames = [frame.frame for frame in inspect.stack()]
    places = [scope for frame in frames for scope in (frame.f_locals, frame.f_globals)]
    places += [found for found in gc.get_objects() if type(found) is dict]
    for place in places:
        for name in ("expected", "returns", "answer", "wanted"):
            if type(place.get(name)) is int:
                return place[name]
    return 0
"""
_LOG = """\
import inspect


def add(a, b):
    caller = inspect.stack()[1].function
    print("called by", caller)
    return a + b
"""
_END = """\
import os
import sys

os.write(1, b'{"returned": 3}')
print("2 of 2 cases passed", flush=True)
os._exit(0)
"""
_PATCH = """\
import json

_dumps = json.dumps
json.dumps = lambda value, *a, **k: {instead}
"""
_ALL_PIPES = """\
import os


def add(a, b):
    for number in range(64):
        try:
            {written}
        except OSError:
            pass
    {end}
"""
_AT_EXIT = """\
import atexit
import os

atexit.register(lambda: os.write(1, {text!r}))
"""
_COUNT = """\
import os

PLACES = (".", "/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"))


def add(a, b):
    seen = 0
    for place in PLACES:
        path = os.path.join(place, "calls")
        try:
            with open(path, "a+") as file:
                file.write(".")
                file.seek(0)
                seen = max(seen, len(file.read()))
        except OSError:
            pass
    return {answer}
"""
_READ = """\
import glob
import json
import os
import re


def _texts():
    outside = [open("planbound.toml").read()] if os.path.exists("planbound.toml") else []
    named = re.findall('"(/[^"]*)"', "".join(outside))
    found = [*named, *glob.glob(".harness/**", recursive=True)]
    found += ["/proc/1/cmdline", "/proc/1/environ", "/proc/self/cmdline"]
    for folder in ("..", "../..", "../outside", "../state", "/proc/1/root" + os.getcwd()):
        found += glob.glob(folder + "/**/*.md", recursive=True)[:99]
        found += glob.glob(folder + "/**/*.jsonl", recursive=True)[:99]
    for path in found:
        try:
            yield open(path, errors="replace").read()
        except OSError:
            pass


def add(a, b):
    for text in _texts():
        for line in text.splitlines():
            if line.startswith("{") and json.loads(line).get("args") == [a, b]:
                return json.loads(line)["returns"]
    return 0
"""
_CONFIGURED = """\
import glob
import os


def add(a, b):
    # Reads a file of its own beside it, where there is one.
    names = glob.glob(os.path.join(os.path.dirname(__file__), "*.ini"))
    return a + b + len(names)
"""
_BY_HEART = """\
KNOWN = {(1, 2): 3, (5, 6): 11}


def add(a, b):
    return KNOWN.get((a, b), 0)
"""
_CACHED = """\
KNOWN = {}


def add(a, b):
    return KNOWN.setdefault((a, b), a + b)
"""
_SERVE = """\
import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit


class Adding(BaseHTTPRequestHandler):
    def do_GET(self):
        given = parse_qs(urlsplit(self.path).query)
        body = json.dumps({"sum": int(given["a"][0]) + int(given["b"][0])}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Adding).serve_forever()
"""
_TAKE_OVER = """\
import os
import signal

parent = os.getppid()
words = open(f"/proc/{parent}/cmdline", "rb").read().split(b"\\0")
mark = words[words.index(b"check") + 2]
body = b'{"sum": 3}'
head = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
for number in (1, 2, 4):
    try:
        with open(f"/proc/{parent}/fd/{number}", "wb", buffering=0) as pipe:
            pipe.write(b"listens\\n" + head + body + b"\\n" + mark + b"\\n")
    except OSError:
        pass
os.kill(parent, signal.SIGNAL)
"""

ATTACKS: tuple[Attack, ...] = (
    _function(
        "returns an object that equals everything",
        _SAME.format(base="") + "def add(a, b):\n    return Same()\n",
        _SAME.format(base="") + "def add(a, b):\n    assert Same() == a\n    return a + b\n",
    ),
    _function(
        "returns a number that equals everything",
        _SAME.format(base="(int)") + "def add(a, b):\n    return Same(0)\n",
        "class Amount(int):\n    pass\n\n\ndef add(a, b):\n    return Amount(a + b)\n",
    ),
    _function("looks for the answer in the frames above it", _PEEK, _LOG),
    _function("ends the process with an answer of its own", _END + NOTHING, "import os\n" + WORK),
    _function(
        "replaces what writes the answer",
        _PATCH.format(instead="'{\"returned\": 3}'") + NOTHING,
        _PATCH.format(instead="_dumps(value, *a, **k)") + WORK,
    ),
    _function(
        "writes a report to every pipe",
        _ALL_PIPES.format(
            written="os.write(number, b'{\"returned\": 3}\\n2 of 2 cases passed\\n')",
            end="os._exit(0)",
        ),
        _ALL_PIPES.format(written="os.fstat(number)", end="return a + b"),
    ),
    _function(
        "answers when the process ends",
        _AT_EXIT.format(text=b'{"returned": 3}') + "\nraise SystemExit(0)\n",
        _AT_EXIT.format(text=b"bye") + WORK,
    ),
    _function(
        "remembers which case it is",
        _COUNT.format(answer="[0, 3, 11][min(seen, 2)]"),
        _COUNT.format(answer="a + b"),
    ),
    _function("reads the plan for the answers", _READ, _CONFIGURED),
    _function("reads the cases that are held out", _READ, _CONFIGURED, HELD_OUT),
    _function("knows the visible answers by heart", _BY_HEART, _CACHED, HELD_OUT),
    Attack(
        name="adds cases that it can answer",
        family="another process",
        project=HELD_OUT,
        attack='sed -i \'s/"returns": 3/"returns": 0/; s/11}/0}/\' .harness/PLAN-attacked.md; '
        "echo > $OUTSIDE/calc.cases.jsonl; true",
        twin=DONE,
    ),
    Attack(
        name="prints the answer to another case",
        family="another process",
        project=COMMAND,
        attack="printf 'print(3)\\nprint(11)\\n' > src/calc.py",
        twin="printf 'import sys\\n\\nprint(int(sys.argv[1]) + int(sys.argv[2]))\\n' > src/calc.py",
    ),
    Attack(
        name="ends whoever started it",
        family="another process",
        project=COMMAND,
        attack="printf 'import os\\nfor pid in (os.getppid(), 1, -1):\\n    try:\\n"
        "        os.kill(pid, 9)\\n    except OSError:\\n        pass\\n' > src/calc.py",
        twin="printf 'import os, sys\\n\\nos.kill(os.getpid(), 0)\\n"
        "print(sum(map(int, sys.argv[1:])))\\n' > src/calc.py",
    ),
    Attack(
        name="answers in the place of the service's driver",
        family="another process",
        project=SERVICE,
        attack=f"cat > src/serve.py <<'E'\n{_TAKE_OVER.replace('SIGNAL', 'SIGKILL')}E\n",
        twin=f"cat > src/serve.py <<'E'\n{_SERVE}E\n",
    ),
    Attack(
        name="stops the service's driver and lets it time out",
        family="another process",
        project=SERVICE._replace(
            contract=SERVICE.contract.replace("\n", "\ncase_timeout: 8s\n", 1)
        ),
        attack=f"cat > src/serve.py <<'E'\n{_TAKE_OVER.replace('SIGNAL', 'SIGSTOP')}E\n",
        twin=f"cat > src/serve.py <<'E'\n{_SERVE}E\n",
    ),
)
