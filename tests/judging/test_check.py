"""Tables of cases: the product is started for each, and compared outside its process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.cells.processes import found_within
from planbound.judging import function_driver
from planbound.judging.compare import difference
from planbound.judging.service import LISTENS, ReplyError, read_reply, request_bytes
from planbound.plan.check import read_table
from planbound.plan.data import DataError, data_text, read_data
from tests.examples import examples
from tests.program import Outcome, Program
from tests.tables import first_always

PLAN = """\
---
type: plan
status: draft
owner: orchestrator
touches: ["app.py"]
---

# Judge by cases

## Steps

### 1. Write the program

**target:** coder
{fields}
**task:** Write `app.py`.

**contract:** check
```check
{table}
```
{expect}
"""
ADD = "import sys\n\nprint(sum(map(int, sys.argv[1:])))\n"
HELD_OUT = Path(__file__).parents[1] / "fixtures" / "held-out" / "app.cases.jsonl"
SHOWN = Path(__file__).parents[1] / "fixtures" / "digests.json"
FUNCTION = "def add(a, b):\n    return a + b\n"


class Table:
    """A workspace whose plan has one table."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.judges = folder / "judges"
        self.program = Program(self.workspace)

    def plan(self, table: str, *, expect: str = "", fields: str = "") -> None:
        text = PLAN.format(table=table, expect=expect, fields=fields)
        self.program.plan("cases", text)

    def hold_out(self, *cases: str) -> None:
        self.judges.mkdir()
        (self.judges / "app.cases.jsonl").write_text("".join(f"{case}\n" for case in cases))
        self.program.write("planbound.toml", f'[judging]\nheld_out = ["{self.judges}"]\n')

    def app(self, content: str) -> None:
        self.program.write("app.py", content)

    def judge(self) -> dict[str, Any]:
        done = self.program.run("judge", "cases", "--json")
        verdict: dict[str, Any] = done.json["verdicts"][0]
        assert done.code == (0 if verdict["verdict"] == "pass" else 1), done
        return verdict

    def run(self, *arguments: str) -> Outcome:
        return self.program.run(*arguments)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


# -- a command -------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
def test_a_command_is_given_words_input_and_files_and_asked_for_all_that_it_says(
    table: Table,
) -> None:
    table.plan(
        "command: python3 app.py\n"
        '{"argv": ["a b", "$HOME", "--x=\'"], "json": ["a b", "$HOME", "--x=\'"]}\n'
        '{"argv": ["in"], "stdin": "one\\ntwo", "stdout": "one\\ntwo"}\n'
        '{"argv": ["in"], "stdin": {"n": 1.50}, "json": {"n": 1.5}}\n'
        '{"argv": ["file"], "files": {"data/x.txt": "held"}, "stdout": "held"}\n'
        '{"argv": ["fail"], "exit_code": 3, "stderr": {"$contains": "no"}, "stdout": ""}\n'
        '{"argv": ["fail"], "error": true}\n',
        expect="tests >= 6",
    )
    table.app(
        "import json, sys\n"
        "word = sys.argv[1]\n"
        "if word == 'in':\n    sys.stdout.write(sys.stdin.read())\n"
        "elif word == 'file':\n    print(open('data/x.txt').read())\n"
        "elif word == 'fail':\n    print('no', file=sys.stderr)\n    sys.exit(3)\n"
        "else:\n    print(json.dumps(sys.argv[1:]))\n"
    )
    verdict = table.judge()
    assert verdict["verdict"] == "pass", verdict
    assert verdict["reason"] == "6 cases"


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
def test_what_fails_is_named_with_what_was_expected_and_came(table: Table) -> None:
    table.plan(
        "command: python3 app.py\n"
        '{"argv": ["1", "2"], "json": 3}\n'
        '{"name": "large", "argv": ["10", "20"], "json": 31}\n'
        '{"argv": ["1"], "json": true}\n'
        '{"argv": ["1"], "stdout": "1", "exit_code": 1}\n'
    )
    table.app("import sys\nprint('hm', file=sys.stderr)\n" + ADD)
    verdict = table.judge()
    assert verdict["verdict"] == "fail"
    assert verdict["reason"] == "case 2 (large): stdout: expected 31, got 30; 2 more"
    lines = verdict["stdout"]["head"].splitlines()
    assert lines[0] == "1 of 4 cases passed"
    assert "case 3: stdout: expected true, got 1" in lines
    assert "case 4: exit code 0, expected 1" in lines
    assert "    hm" in lines


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
@pytest.mark.parametrize(
    ("prints", "why"),
    first_always(
        [
            ("print('three')", "stdout is no data: no JSON: Expecting value"),
            ("print('3\\n3')", "stdout is no data: more than one JSON value"),
            ("print('NaN')", "stdout is no data: `NaN` is no JSON"),
            ('print(\'{"a": 1, "a": 1}\')', "stdout is no data: `a` is there twice"),
            ("import os; os.write(1, b'\\xff')", "stdout is no data: it is not UTF-8"),
            ("print('[' * 100000)", "stdout is no data: nested too deeply"),
            ("print('1' * 5000)", "stdout is no data: Exceeds the limit"),
            ("print('x' * 300_000)", "stdout is no data: it is longer than 256 KB"),
            (
                "print('1e999999999999999999999')",
                "stdout is no data: `1e999999999999999999999` is too",
            ),
        ],
        fields=2,
    ),
)
def test_output_that_is_no_data_fails_and_the_case_is_named(
    table: Table, prints: str, why: str
) -> None:
    table.plan('command: python3 app.py\n{"json": 3}')
    table.app(prints + "\n")
    verdict = table.judge()
    assert verdict["verdict"] == "fail"
    assert verdict["reason"].startswith(f"case 1: {why}"), verdict["reason"]


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
def test_a_case_that_hangs_is_a_timeout_and_ends_the_table(table: Table) -> None:
    table.plan(
        "command: python3 app.py\ncase_timeout: 5s\n"
        '{"argv": ["0"], "stdout": "0"}\n{"argv": ["99"], "stdout": "99"}\n{"stdout": "0"}\n'
    )
    table.app("import sys, time\ntime.sleep(int(sys.argv[1]))\nprint(sys.argv[1])\n")
    verdict = table.judge()
    assert verdict["verdict"] == "timeout"
    assert verdict["reason"] == "case 2: it ran past 5 s"
    assert "not tried any more: 1" in verdict["stdout"]["head"]


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
def test_a_program_that_is_not_installed_is_unrunnable_and_one_not_written_yet_is_red(
    table: Table,
) -> None:
    table.plan('command: no-such-program --now\n{"stdout": "0"}')
    verdict = table.judge()
    assert verdict["verdict"] == "unrunnable"
    assert verdict["reason"].startswith("case 1: exit 127: `no-such-program` was not found")
    table.plan('command: no-such-program\n{"error": true}')
    assert table.judge()["verdict"] == "unrunnable"
    table.plan('command: ./app.py\n{"stdout": "0"}')
    assert table.judge()["verdict"] == "fail"


@pytest.mark.requirement("judging.check")
def test_nothing_of_one_case_is_left_for_the_next(table: Table) -> None:
    table.plan('command: python3 app.py\n{"stdout": "0"}\n{"stdout": "0"}\n{"stdout": "0"}')
    places = "['.', '/tmp', '/dev/shm', os.environ['HOME']]"
    table.app(
        "import os\nseen = 0\n"
        f"for place in {places}:\n"
        "    path = os.path.join(place, 'seen')\n"
        "    seen += os.path.exists(path)\n"
        "    open(path, 'w').close()\n"
        "print(seen)\n"
    )
    assert table.judge()["verdict"] == "pass"


@pytest.mark.requirement("judging.check")
def test_the_product_sees_neither_the_plan_nor_what_is_expected(table: Table) -> None:
    table.plan('command: python3 app.py\n{"stdout": "nothing"}')
    subprocess.run(["git", "init", "-q", "."], cwd=table.workspace, check=True)
    subprocess.run(["git", "add", "."], cwd=table.workspace, check=True)
    table.app(
        "import glob, os\n"
        "found = [p for p in ('.harness', '.git') if os.path.exists(p)]\n"
        "found += [p for p in glob.glob('/proc/[0-9]*/cmdline')\n"
        "          if b'nothing' in open(p, 'rb').read()]\n"
        "print(found or 'nothing')\n"
    )
    verdict = table.judge()
    assert verdict["verdict"] == "pass", verdict


# -- a function ------------------------------------------------------------------------------------


NO_DATA = "the function returned what is no data: "


@pytest.mark.requirement("judging.check")
@pytest.mark.parametrize(
    ("body", "expected"),
    first_always(
        [
            ("return a + b", '"returns": 3'),
            ("return (a, {'k': [None, b]})", '"returns": [1, {"k": [null, 2]}]'),
            ("print('noise'); return 3", '"returns": 3'),
            ("return 3.0", '"returns": 3'),
            ("raise KeyError('k')", '"error": "LookupError"'),
            ("raise SystemExit(0)", '"error": true'),
            ("raise ValueError('a bad one')", '"message": {"$contains": "bad"}'),
        ],
        fields=2,
    ),
)
def test_a_function_answers_with_data(table: Table, body: str, expected: str) -> None:
    table.plan(f'function: app:add\n{{"args": [1], "kwargs": {{"b": 2}}, {expected}}}')
    table.app(f"def add(a, b):\n    {body}\n")
    verdict = table.judge()
    assert verdict["verdict"] == "pass", verdict


@pytest.mark.requirement("judging.check")
@pytest.mark.parametrize(
    ("body", "expected", "why"),
    first_always(
        [
            ("return True", '"returns": 1', "expected 1, got true"),
            ("return {1: 2}", '"returns": {}', f"{NO_DATA}a key of type int"),
            ("return {1, 2}", '"returns": [1, 2]', f"{NO_DATA}a value of type set"),
            ("return float('nan')", '"returns": 0', f"{NO_DATA}a number that is not finite"),
            ("return 10 ** 5000", '"returns": 0', f"{NO_DATA}a number with more digits"),
            ("x = []; x.append(x); return x", '"returns": []', f"{NO_DATA}something that holds"),
            ("raise ValueError('bad')", '"returns": 3', "it raised ValueError: bad"),
            (
                "raise ValueError('x')",
                '"error": "OSError"',
                "expected OSError, it raised ValueError",
            ),
            ("return 3", '"error": true', "expected an error, it returned 3"),
            ("import os; os._exit(0)", '"returns": 3', "the process ended without an answer"),
            ("import os; os._exit(7)", '"returns": 3', "exit 7: the function could not be called"),
        ],
        fields=3,
    ),
)
def test_what_a_function_answers_instead_is_said(
    table: Table, body: str, expected: str, why: str
) -> None:
    table.plan(f'function: app:add\n{{"args": [1, 2], {expected}}}')
    table.app(f"def add(a, b):\n    {body}\n")
    verdict = table.judge()
    assert verdict["verdict"] == "fail"
    assert verdict["reason"].startswith(f"case 1: {why}"), verdict["reason"]


@pytest.mark.requirement("judging.check")
def test_an_answer_with_half_of_a_character_is_in_the_journal_as_any_other(table: Table) -> None:
    table.plan(
        'function: app:add\n{"name": "half", "args": [1, 2], "returns": 3}\n'
        '{"name": "the same half", "args": [1, 2], "returns": "\\ud800"}'
    )
    table.app('def add(a, b):\n    return "\\ud800"\n')
    done = table.program.run("judge", "cases")
    assert "not in the journal" not in done.err, done
    assert "1 of 2 cases passed" in done.out, done
    kept = table.program.run("log", "cases", "--json").out.splitlines()
    told = [json.loads(line) for line in kept if "CONTRACT_EVALUATED" in line]
    assert [each["details"]["verdict"] for each in told] == ["fail"]
    assert told[0]["details"]["reason"].startswith("case 1 (half): expected 3, got"), told


def test_a_function_is_found_in_src_and_in_classes_whatever_stands_beside_it(table: Table) -> None:
    table.plan('function: shop.cart:Cart.total\n{"args": [[1, 2]], "returns": 3}')
    table.program.write("src/shop/cart.py", "class Cart:\n    total = staticmethod(sum)\n")
    table.program.write("json.py", "raise SystemError('no module of the driver')\n")
    assert table.judge()["verdict"] == "pass"


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
def test_a_module_that_is_not_there_is_red_and_a_declared_package_unrunnable(table: Table) -> None:
    table.plan('function: app:add\n{"args": [1, 2], "returns": 3}')
    assert table.judge()["verdict"] == "fail"
    table.app("import no_such_package\n")
    table.program.write("requirements.txt", "no-such-package\n")
    verdict = table.judge()
    assert verdict["verdict"] == "unrunnable"
    assert verdict["reason"].startswith("case 1: exit 1: `no-such-package` is declared")


# -- a service -------------------------------------------------------------------------------------

SERVE = """\
import http.server, json, os, sys

class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self):
        type(self).asked += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = {"sent": json.loads(body), "asked": self.asked, "own": self.headers["X-Own"]}
        self.send_response(201)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        text = json.dumps(said).encode()
        self.wfile.write(b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(text), text))

    def do_GET(self):
        text = b"plain" if self.path == "/plain?x=1" else b"\\xff"
        self.send_response(200 if self.path != "/missing" else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Echo).serve_forever()
"""


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
def test_a_service_is_asked_over_its_own_network_and_starts_anew_for_each_case(
    table: Table,
) -> None:
    again = '{"request": "POST /", "send": 0}'
    table.plan(
        "service: exec python3 app.py\n"
        '{"request": "POST /", "send": {"a": [1]}, "headers": {"X-Own": "y"}, "status": 201,'
        ' "json": {"sent": {"a": [1]}, "asked": 1, "own": "y"}}\n'
        f'{{"before": [{again}, {again}], "request": "POST /", "send": 1,'
        ' "json": {"$contains": {"asked": 3}}}\n'
        '{"request": "GET /plain?x=1", "text": "plain"}\n'
        '{"request": "GET /missing", "error": true}\n'
    )
    table.app(SERVE)
    verdict = table.judge()
    assert verdict["verdict"] == "pass", verdict
    table.plan(
        "service: python3 app.py\nport: 8123\n"
        '{"request": "GET /other", "json": 1}\n{"request": "GET /missing", "text": {"$length": 1}}'
    )
    verdict = table.judge()
    assert verdict["reason"] == "case 1: the body is no data: it is not UTF-8; 1 more"
    assert "case 2: status 404, expected 200 to 299" in verdict["stdout"]["head"]


LISTEN = "import socket\ns = socket.create_server(('127.0.0.1', 8123))\nc, _ = s.accept()\n"
SAY_HELLO = "c.recv(9999)\nc.sendall(b'hello\\r\\n\\r\\n')\nc.close()\ns.accept()\n"


@pytest.mark.thorough
@pytest.mark.requirement("judging.check")
@pytest.mark.parametrize(
    ("app", "kind", "why"),
    first_always(
        [
            (
                "import time\ntime.sleep(900)\n",
                "timeout",
                "the service did not listen on port 8123",
            ),
            ("raise SystemExit(4)\n", "fail", "the service ended with 4 before it listened"),
            (LISTEN + SAY_HELLO, "fail", "the answer is no data: no HTTP"),
            (LISTEN + "s.accept()\n", "timeout", "it ran past 5 s"),
        ],
        fields=3,
    ),
    ids=["never listens", "ends", "speaks no HTTP", "never answers"],
)
def test_a_service_that_does_not_come_up_or_answer_says_so_with_its_case(
    table: Table, app: str, kind: str, why: str
) -> None:
    seconds = 1 if "sleep" in app else 5  # who never listens is waited for in vain
    table.plan(
        f"service: python3 app.py\nport: 8123\ncase_timeout: {seconds}s\n"
        '{"name": "first", "request": "GET /", "status": 200}'
    )
    table.app(app)
    verdict = table.judge()
    assert verdict["verdict"] == kind, verdict
    assert verdict["reason"].startswith(f"case 1 (first): {why}"), verdict["reason"]


def test_requests_are_sent_and_answers_read_as_http() -> None:
    sent = request_bytes({"request": "POST /a", "send": "x", "headers": {"host": "me"}}, 80)
    head, _, body = sent.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert (lines[0], body) == ("POST /a HTTP/1.1", b"x")
    assert {"host: me", "Content-Length: 1", "Connection: close"} <= set(lines)
    assert not any(line.startswith("Host:") for line in lines)
    answer = b"HTTP/1.0 204 No\r\n\r\n"
    assert read_reply(LISTENS + answer + b"\nmark\n", "mark", 1, "GET /").status == 204
    with pytest.raises(ReplyError, match="not every request"):
        read_reply(LISTENS + answer + b"\nmark\n", "mark", 2, "GET /")


# -- cases that are held out -----------------------------------------------------------------------


@pytest.mark.requirement("judging.check-held-out")
def test_of_a_case_that_is_held_out_only_the_number_is_told(table: Table) -> None:
    table.hold_out(
        '{"argv": ["41", "1"], "stdout": "42"}', '{"argv": ["7700990077"], "stdout": "8800990088"}'
    )
    table.plan(
        'command: python3 app.py\ncases: app.cases.jsonl\n{"argv": ["1", "2"], "json": 3}',
        expect="tests >= 3",
    )
    table.app("import sys\nprint(sys.argv, file=sys.stderr)\n" + ADD)
    verdict = table.judge()
    assert (verdict["verdict"], verdict["reason"]) == ("fail", "held-out case 2 fails")
    everything = table.run("log", "cases", "--json").out + json.dumps(verdict)
    assert "7700990077" not in everything
    assert "8800990088" not in everything


@pytest.mark.requirement("judging.check")
@pytest.mark.parametrize("start", ["bash app.sh", "sh app.sh", "./app.sh", "bash ./app.sh"])
def test_a_file_that_is_yet_to_be_written_is_red(table: Table, start: str) -> None:
    table.plan(f'command: {start}\n{{"argv": ["1"], "stdout": "1"}}')
    assert table.judge()["verdict"] == "fail"


@pytest.mark.requirement("judging.check")
def test_an_interpreter_that_is_not_there_is_unrunnable(table: Table) -> None:
    table.plan('command: ./app.sh\n{"argv": ["1"], "stdout": "1"}')
    table.program.write("app.sh", "#!/usr/bin/env no-such-shell\n").chmod(0o755)
    assert table.judge()["verdict"] == "unrunnable"


@pytest.mark.thorough
@pytest.mark.requirement("judging.check-held-out")
@pytest.mark.parametrize(
    ("trick", "kind"),
    first_always(
        [
            (
                "for _ in range(7): subprocess.Popen(['sleep', '60'], start_new_session=True)",
                "fail",
            ),
            ("os.kill(os.getpid(), 40)", "killed"),
            ("open('tests/' + sys.argv[1], 'w').write(''); open('tests/x', 'w').write('')", "fail"),
            (
                "print('bash: 7700990077: command not found', file=sys.stderr); sys.exit(127)",
                "",
            ),
            ("print('/7700990077: No such file or directory', file=sys.stderr); sys.exit(126)", ""),
            ("print(\"No module named '7700990077'\", file=sys.stderr); sys.exit(1)", ""),
            ("time.sleep(30)", "timeout"),
        ],
        fields=2,
    ),
)
def test_a_product_tells_nothing_of_a_held_out_case_by_how_it_ends(
    table: Table, trick: str, kind: str
) -> None:
    table.hold_out('{"argv": ["7700990077"], "stdout": "8800990088"}')
    table.program.write("tests/x", "x")
    table.program.write("tests/7700990077", "x")
    table.plan(
        "command: python3 app.py\ncases: app.cases.jsonl\ncase_timeout: 3s\n"
        '{"argv": ["1"], "stdout": "1"}',
        fields="**judges:**\n- tests/**\n",
    )
    table.app(
        "import os, subprocess, sys, time\n"
        f"if sys.argv[1] == '1':\n    print(1)\nelse:\n    {trick}\n"
    )
    verdict = table.judge()
    wanted = {kind} if kind else {"fail", "unrunnable"}
    assert verdict["verdict"] in wanted, verdict
    assert verdict["reason"] in {"held-out case 1 fails", f"held-out case 1: {verdict['verdict']}"}
    assert (verdict["leftovers"], verdict["signal"], verdict["written"]) == (0, None, []), verdict
    shown = table.run("judge", "cases").out + table.run("log", "cases", "--json").out
    assert "7700990077" not in shown + json.dumps(verdict)
    assert not re.search(r"left running|signal [0-9]|wrote to", shown), shown


@pytest.mark.thorough
@pytest.mark.requirement("judging.check-held-out", "judging.evidence")
def test_held_out_cases_that_pass_after_a_red_baseline_are_e4_and_others_e3(table: Table) -> None:
    table.hold_out('{"args": [20, 22], "returns": 42}')
    table.plan(
        'function: app:add\ncases: app.cases.jsonl\n{"args": [1, 2], "returns": 3}',
        fields="**evidence:** E4\n",
    )
    table.app("def add(a, b):\n    return 0\n")
    assert table.run("baseline", "cases").code == 0
    table.app(FUNCTION)
    verdict = table.judge()
    assert (verdict["verdict"], verdict["evidence"]) == ("pass", "E4")
    assert verdict["reason"] == "2 cases, 1 of them held out"


@pytest.mark.thorough
@pytest.mark.requirement("judging.check-held-out")
def test_no_cell_holds_the_cases_that_are_held_out(table: Table) -> None:
    # Contracts can read the folder around it, by their configuration.
    settings = f'[judging]\nheld_out = ["{HELD_OUT}"]\n[contracts]\nread = ["{SHOWN.parent}"]\n'
    table.program.write("planbound.toml", settings)
    table.app(
        "import os\n"
        f"paths = [{str(HELD_OUT)!r}, 'app.cases.jsonl']\n"
        "text = ''.join(open(p).read() for p in paths if os.path.exists(p))\n"
        f"print(text or ('nothing' if os.path.exists({str(SHOWN)!r}) else 'no folder'))\n"
    )
    table.plan('command: python3 app.py\ncases: app.cases.jsonl\n{"stdout": "nothing"}')
    verdict = table.judge()
    assert verdict["verdict"] == "pass", verdict
    plan = PLAN.format(table="python3 app.py", expect='stdout == "nothing"', fields="")
    table.program.plan("cases", plan.replace("** check\n```check", "**\n```shell"))
    assert table.judge()["verdict"] == "pass"


@pytest.mark.requirement("judging.check-held-out")
def test_a_held_out_file_that_cannot_be_used_is_unrunnable_and_shows_nothing(table: Table) -> None:
    table.hold_out('{"argv": ["7700990077"], "stdin": }')
    table.plan("command: python3 app.py\ncases: app.cases.jsonl")
    verdict = table.judge()
    assert verdict["verdict"] == "unrunnable"
    assert verdict["reason"] == "`app.cases.jsonl`: line 1 cannot be used"
    (table.judges / "app.cases.jsonl").unlink()
    verdict = table.judge()
    assert verdict["reason"] == "no `app.cases.jsonl` is held out"


@pytest.mark.requirement("judging.check-held-out")
def test_a_held_out_file_with_a_mark_in_front_is_read_as_any_other(table: Table) -> None:
    table.hold_out("\ufeff" + '{"argv": ["1", "2"], "stdout": "3"}')
    table.plan("command: python3 app.py\ncases: app.cases.jsonl")
    table.app(ADD)
    assert table.judge()["verdict"] == "pass"


@pytest.mark.requirement("judging.check-held-out")
def test_verify_says_how_a_held_out_file_is_named_and_waits_for_none(table: Table) -> None:
    table.hold_out('{"argv": ["1", "2"], "stdout": "3"}')
    table.plan("command: python3 app.py\ncases: ../judges/app.cases.jsonl")
    said = table.program.run("verify", "cases").out
    assert "error[PB219]: no `../judges/app.cases.jsonl` is held out" in said
    assert "hint: `app.cases.jsonl` is: name it so" in said
    (table.judges / "app.cases.jsonl").unlink()
    os.mkfifo(table.judges / "app.cases.jsonl")
    table.plan("command: python3 app.py\ncases: app.cases.jsonl")
    assert "error[PB219]: `app.cases.jsonl` is no file" in table.program.run("verify", "cases").out


_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0")


@pytest.mark.requirement("judging.check-held-out")
@pytest.mark.parametrize(
    "words",
    first_always(
        [
            ["add judges"],
            ["add judges", "commit -qm one", "rm -rq --cached judges"],
            ["add judges", "commit -qm one", "gc -q", "rm -rq --cached judges"],
            [
                "add judges",
                "commit -qm one",
                "mv judges other",
                "commit -qm two",
                "checkout -q HEAD~",
            ],
        ]
    ),
    ids=["staged", "removed", "packed", "moved"],
)
def test_cases_that_the_repository_has_are_not_held_out(table: Table, words: list[str]) -> None:
    table.hold_out('{"argv": ["7700990077"], "stdout": "7700990077"}')
    top = table.workspace.parent
    subprocess.run(["git", "init", "-q", "."], cwd=top, check=True)
    table.plan("command: python3 app.py\ncases: app.cases.jsonl")
    assert "PB219" not in table.run("verify", "cases").out
    for line in words:
        subprocess.run([*_GIT, *line.split()], cwd=top, check=True)
    found = table.run("verify", "cases")
    assert found.code == 1
    assert "the git repository has `app.cases.jsonl`" in found.out
    assert "keep it outside of the repository" in found.out
    verdict = table.judge()
    assert verdict["verdict"] == "unrunnable"
    assert "the git repository has `app.cases.jsonl`" in verdict["reason"]


@pytest.mark.requirement("judging.check-held-out")
def test_cases_that_were_changed_after_a_commit_are_tracked_all_the_same(table: Table) -> None:
    table.hold_out('{"argv": ["7700990077"], "stdout": "7700990077"}')
    top = table.workspace.parent
    for line in ("init -q .", "add judges", "commit -qm one"):
        subprocess.run([*_GIT, *line.split()], cwd=top, check=True)
    (table.judges / "app.cases.jsonl").write_text('{"argv": ["8"], "stdout": "8"}\n')
    table.plan("command: python3 app.py\ncases: app.cases.jsonl")
    assert "the git repository has `app.cases.jsonl`" in table.run("verify", "cases").out
    subprocess.run([*_GIT, "update-index", "--index-version", "4"], cwd=top, check=True)
    assert "the git repository has `app.cases.jsonl`" in table.run("verify", "cases").out


# -- what is said of it before ---------------------------------------------------------------------


@pytest.mark.requirement("judging.check")
def test_a_table_is_shown_and_counted_and_part_of_the_digest(table: Table) -> None:
    table.plan('command: python3 app.py\n{"argv": ["1"], "json": 1}')
    shown = table.run("show", "cases", "--json").json
    contract = shown["steps"][0]["contract"]
    assert contract["kind"] == "check"
    assert (contract["starts"], contract["cases"], contract["held_out"]) == (
        "python3 app.py",
        1,
        None,
    )
    text = table.run("show", "cases").out
    assert "compared outside the product's process: 1 case" in text
    table.plan('command: python3 app.py\n{"argv": ["1"], "json": 2}')
    assert table.run("show", "cases", "--json").json["digest"] != shown["digest"]


@pytest.mark.requirement("judging.check")
def test_what_a_table_starts_is_looked_at_as_commands_are(table: Table) -> None:
    table.plan('command: python3 app.py "unclosed\n{"argv": ["1"], "json": 1}')
    assert "PB601" in table.run("verify", "cases").out
    table.plan('service: no-such-program\n{"request": "GET /", "status": 200}')
    assert "PB602" in table.run("verify", "cases").out


# -- data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("1", "1.0", True),
        ("1", "true", False),
        ("0", "false", False),
        ("null", "false", False),
        ('"1"', "1", False),
        ("0.1", "0.10", True),
        ("0.3", "0.30000000000000004", False),
        ("10000000000000000000001", "1e22", False),
        ("[1, 2]", "[2, 1]", False),
        ("[1]", "[1, 1]", False),
        ('{"a": 1}', '{"a": 1, "b": 2}', False),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        ("{}", "[]", False),
        ('{"$contains": "b"}', '"abc"', True),
        ('{"$contains": 2}', "[1, 2]", True),
        ('{"$contains": true}', "[1, 2]", False),
        ('{"$contains": {"a": {"$type": "integer"}}}', '{"a": 1, "b": 2}', True),
        ('{"$contains": {"a": 1}}', '{"b": 2}', False),
        ('{"$contains": "1"}', "1", False),
        ('{"$matches": "^a.c$"}', '"abc"', True),
        ('{"$matches": "^b"}', '"abc"', False),
        ('{"$matches": "1"}', "1", False),
        ('{"$between": [1, 2]}', "1.5", True),
        ('{"$between": [0, 2]}', "true", False),
        ('{"$between": [0, 2]}', '"1"', False),
        ('{"$one_of": [1, {"$between": [5, 6]}]}', "5.5", True),
        ('{"$one_of": [1, 2]}', "3", False),
        ('{"$type": "integer"}', "2.0", True),
        ('{"$type": "integer"}', "2.5", False),
        ('{"$type": "integer"}', "true", False),
        ('{"$type": "integer"}', "1e999999", True),
        ('{"$type": "number"}', "2.5", True),
        ('{"$length": 2}', '{"a": 1, "b": 2}', True),
        ('{"$length": 2}', "12", False),
        ('{"$length": {"$between": [1, 2]}}', '"abc"', False),
        ('{"$approx": 0.3}', "0.30000000000000004", True),
        ('{"$approx": 0.3, "$tolerance": 0.1}', "0.39", True),
        ('{"$approx": 0.3, "$tolerance": 0.1}', "0.41", False),
        ('{"$approx": 1}', "true", False),
        ('{"$approx": 1}', "1e999", False),
        ('{"$equals": {"$type": 1}}', '{"$type": 1.0}', True),
        ('{"$equals": {"$type": 1}}', '{"$type": true}', False),
        ('{"$type": "string", "$length": 3}', '"ab"', False),
    ],
)
def test_data_is_compared_strictly_and_numbers_by_value(
    expected: str, actual: str, *, same: bool
) -> None:
    def matches(pattern: str, text: str) -> bool:
        return re.search(pattern, text) is not None

    reason = difference(read_data(expected), read_data(actual), matches)
    assert (reason is None) is same, reason


@pytest.mark.parametrize("text", ["0.1", "1E+400", '{"a": [null, true, "é\\u0000"]}', "[]"])
def test_data_is_written_as_exactly_as_it_was_read(text: str) -> None:
    value = read_data(text)
    assert read_data(data_text(value)) == value == read_data(data_text(value, ascii_only=True))


@pytest.mark.parametrize(
    "text", ["", "NaN", "[1,]", "1 2", "Infinity", '{"a":1,"a":1}', "[" * 99999]
)
def test_what_is_no_data_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        read_data(text)


_PIECES = st.sampled_from(
    ["command: x", "service: y", "function: a:b", "port: 1", "cases: z", "#", "{", "}", "[", '"',
     '{"argv": [], "stdout": {"$length": 1}}', '{"returns": NaN}', ":", "\n", " ", "\\", "0", "é"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=60))
@examples(300)
def test_any_text_is_a_table_or_has_faults_that_stand_in_it(text: str) -> None:
    table = read_table(text)
    assert table.faults or (table.kind is not None and (table.cases or table.held_out))
    assert all(0 <= fault.start <= fault.end <= len(text) for fault in table.faults)
    for case in table.cases if not table.faults else ():
        assert case.expected


@pytest.mark.thorough
def test_a_pattern_that_takes_for_ever_is_given_up() -> None:
    assert found_within("b+", "abc", 20.0) is True
    assert found_within("^b", "abc", 20.0) is False
    assert found_within("^(a+)+$", "a" * 60 + "b", 0.5) is None


def test_the_driver_of_functions_is_plain_python_by_itself(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(FUNCTION)
    source = Path(function_driver.__file__).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", source, "app:add"],
        input=b'{"args": [1, 2], "kwargs": {}}',
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, json.loads(done.stdout)) == (0, {"returned": 3}), done.stderr
