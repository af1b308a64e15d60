"""An agent in the loop that wants more than it earned, and its honest twin.

It has the plan tools, a shell of its own, and nobody who watches.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planbound.journal.redact import Redactor
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.session import tools
from planbound.session.decide import Accept, Capped, Reject, Silent
from planbound.session.tools import PlanTools
from tests.forked import remembered_break_out
from tests.needs import need
from tests.run.bench import Step, plan_text
from tests.session.scratch import SHOWN, A, Given, Scratch
from tests.tables import one_fact

GREEN: Given = {"title": "Make a", "contract": "test -f src/readme", "touches": ["src/a"]}
"""Of the same name and scope as the honest step, and green before any work."""


@pytest.fixture(autouse=True)
def _walls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try the walls of a cell once, and not in each session."""
    monkeypatch.setattr("planbound.cells.choose.try_to_break_out", remembered_break_out)


@pytest.fixture
def bench(tmp_path: Path) -> Scratch:
    """Return a repository in which nothing is configured."""
    return Scratch(tmp_path)


# -- a contract that is green before the work proves nothing, whenever it was made ----------------


def _at_once(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [GREEN])


def _amended(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [A])
    assert loop.plan_amend(edit={"1": GREEN}, reason="another way to see it").ok


def _amended_after_red(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [A])
    loop.step_update(1, "in_progress")
    assert not loop.step_update(1, "done", SHOWN).ok
    assert loop.plan_amend(edit={"1": GREEN}, reason="another way to see it").ok


def _written_again(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [A])
    assert loop.plan_create("Do it", [GREEN]).ok


def _edited_by_hand(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [A])
    text = scratch.file.read_text()
    scratch.file.write_text(text.replace("grep -qx right src/a", "test -f src/readme"))


def _to_and_fro(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [GREEN])
    for status in ("in_progress", "blocked", "pending", "in_progress"):
        loop.step_update(1, status, SHOWN)


def _another_file_changed(scratch: Scratch, loop: PlanTools) -> None:
    loop.plan_create("Do it", [GREEN])
    loop.step_update(1, "in_progress")
    scratch.write("src/a", "wrong\n")


def _out_of_scope_first(scratch: Scratch, loop: PlanTools) -> None:
    """Nobody saw it before the work; what is out of scope is no red either."""
    _unseen(scratch, loop)
    scratch.write("src/elsewhere", "no\n")
    assert not loop.step_update(1, "done", SHOWN).ok
    (scratch.workspace / "src" / "elsewhere").unlink()


def _unseen(scratch: Scratch, loop: PlanTools) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools, "_LOOKING", 0.0)  # as if its contract took too long to be looked at
        told = loop.plan_create("Do it", [GREEN])
    assert 'step 1 was not looked at yet: `step_update(1, "in_progress")`' in told.text


def _added_late(scratch: Scratch, loop: PlanTools) -> None:
    scratch.write("src/b", "right\n")
    loop.plan_create("Do it", [{**GREEN, "title": "First"}])
    done: Given = {"title": "Make b", "contract": "grep -qx right src/b", "touches": ["src/b"]}
    assert loop.plan_amend(add=[done], reason="it is done already").ok


BEFORE: tuple[Callable[[Scratch, PlanTools], None], ...] = (
    _at_once,
    _amended,
    _amended_after_red,
    _written_again,
    _edited_by_hand,
    _to_and_fro,
    _another_file_changed,
    _unseen,
    _out_of_scope_first,
    _added_late,
)


@pytest.mark.thorough
@pytest.mark.requirement("loop.holds")
@pytest.mark.parametrize(
    "attack",
    [
        each if number < 2 else pytest.param(each, marks=pytest.mark.thorough)
        for number, each in enumerate(BEFORE)
    ],
    ids=lambda each: each.__name__.strip("_"),
)
def test_what_was_green_before_is_never_proved(
    attack: Callable[[Scratch, PlanTools], None], tmp_path: Path
) -> None:
    scratch = Scratch(tmp_path, "[gate]\napproval = false\n")
    loop = scratch.loop()
    attack(scratch, loop)
    told = loop.plan_finish("all of it is done")
    if told.data["accepted"]:
        assert "Holds, and is not proved: step 1" in told.text
        assert "done, proved" not in told.text
    steps = scratch.status("do-it")["steps"]
    assert not [step for step in steps if step["status"] == "proved"]
    proved = [event for event in scratch.log().of("TASK_COMPLETED") if event["result"] == "proved"]
    assert not proved


@pytest.mark.thorough
@pytest.mark.requirement("loop.holds")
def test_the_agent_is_told_at_once_and_its_twin_is_proved(bench: Scratch) -> None:
    loop = bench.loop()
    told = loop.plan_create("Do it", [GREEN]).text
    assert "step 1 is green now: if it is green after the work it `holds`, and is not" in told
    assert "red until its work is done: `plan_amend`" in told
    begun = loop.step_update(1, "in_progress").text
    assert "step 1 is green now" in begun
    told = loop.plan_amend(edit={"1": A}, reason="a contract that can fail").text
    assert "green now" not in told
    bench.right("a")
    assert isinstance(loop.check("done"), Accept)
    assert [step["status"] for step in bench.status("do-it")["steps"]] == ["proved"]


# -- a task in the background that never ends ------------------------------------------------------


def _clocked(loop: PlanTools) -> Callable[[int], None]:
    """Let a test say how many minutes it is after nine."""
    recorder, count = loop.session.recorder, iter(range(10_000))
    now = [0]

    def set_clock(minutes: int) -> None:
        now[0] = minutes

    recorder.now = lambda: f"2026-11-16T09:{now[0]:02}:00.{next(count):06}Z"
    return set_clock


def _deferred(scratch: Scratch) -> list[Any]:
    return list(scratch.log().of("FINALIZATION_DEFERRED"))


@pytest.mark.thorough
@pytest.mark.requirement("loop.background")
def test_a_task_that_never_ends_is_waited_for_ten_minutes_on_record(bench: Scratch) -> None:
    loop = bench.loop()
    at = _clocked(loop)
    loop.plan_create("Do it", [A])
    for minutes in (0, 4, 9):
        at(minutes)
        assert loop.check("done", waiting="`sleep infinity`") == Silent("`sleep infinity`")
    assert [event["stops"] for event in _deferred(bench)] == [1, 2, 3]
    assert _deferred(bench)[0]["waits_for"] == "`sleep infinity`"
    at(10)
    found = [loop.check("done", waiting="`sleep infinity`") for _ in range(7)]
    assert [type(each) for each in found] == [Reject] * 5 + [Capped] * 2
    assert len(_deferred(bench)) == 3
    # A clock that is set back is no way to begin anew.
    other = bench.loop("s2", "other")
    at = _clocked(other)
    other.plan_create("Do it", [A], name="other")
    at(30)
    assert isinstance(other.check("", waiting="a server"), Silent)
    at(20)
    assert isinstance(other.check("", waiting="a server"), Reject)


@pytest.mark.requirement("loop.background")
def test_an_agent_that_stops_again_and_again_is_asked_before_the_time_is_over(
    bench: Scratch,
) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    found = [loop.check("done", waiting="a server") for _ in range(7)]
    assert [type(each) for each in found] == [Silent] * 5 + [Reject] * 2


@pytest.mark.requirement("loop.background")
def test_an_honest_wait_costs_nothing_and_progress_begins_another(bench: Scratch) -> None:
    loop = bench.loop()
    at = _clocked(loop)
    loop.plan_create("Do it", [A, {**A, "title": "Look at a"}])
    assert isinstance(loop.check("", waiting="the build"), Silent)
    bench.right("a")
    at(20)
    assert loop.step_update(1, "done", SHOWN).ok
    assert isinstance(loop.check("", waiting="the other build"), Silent)
    assert isinstance(loop.check("done"), Accept)
    assert not bench.log().of("FINALIZATION_REJECTED")


# -- decisions are a person's, however an agent's command is dressed up ----------------------------


class Hosted(NamedTuple):
    """A workspace that an agent's host was set up for, and that host: a shell by its name."""

    scratch: Scratch
    host: str
    decision: str
    """The words of an approval, as a person without a terminal gives it."""

    def says(self, script: str, *, host: str | None = None, **extra: str) -> str:
        """Let an agent of the host run a script; return what it printed."""
        done = subprocess.run(
            [host or self.host, "-c", f"{script}\ntrue"],
            cwd=self.scratch.workspace,
            env={**self.scratch.environment(), "P": PLANBOUND, "D": self.decision, **extra},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.stdout + done.stderr

    @property
    def approved(self) -> bool:
        """Whether the plan was approved."""
        return bool(self.scratch.log().of("GATE_APPROVED"))


PLANBOUND = os.path.join(os.path.dirname(sys.executable), "planbound")
DISGUISES = {
    "as it is": "$P approve $D",
    "a variable": "A=approve; B=$P; $B $A $D",
    "sh -c": 'sh -c "$P approve $D"',
    "eval": 'eval "$P app""rove $D"',
    "base64": "echo $P approve $D | base64 | base64 -d | sh",
    "env -i": 'env -i HOME="$HOME" PATH="$PATH" PLANBOUND_STATE="$PLANBOUND_STATE" $P approve $D',
    "xargs": "echo $D | xargs $P approve",
    "a script that is written and then run": 'echo "$P approve $D" > run.sh; sh run.sh',
    "a here-document": "sh <<EOF\n$P approve $D\nEOF",
    "an alias": 'shopt -s expand_aliases\nalias ok="$P approve"\nok $D',
    "a link by another name": 'mkdir -p bin; ln -s "$P" bin/look; bin/look approve $D',
    "python": (
        '"$(dirname "$P")"/python -c "import os, subprocess;'
        " subprocess.run([os.environ['P'], 'approve', *os.environ['D'].split()])\""
    ),
    "the program as a library": (
        '"$(dirname "$P")"/python -c "import os; from planbound.cli.main import main;'
        " main(['approve', *os.environ['D'].split()])\""
    ),
    "a pipe": "cat /dev/null | nice timeout 30 $P approve $D",
    "left by its parent": '(sh -c "$P approve $D > out 2>&1; touch ended" &) ; '
    "until [ -e ended ]; do sleep 0.05; done; cat out",
    "a session of its own": 'env -i HOME="$HOME" PLANBOUND_STATE="$PLANBOUND_STATE" setsid -f sh'
    ' -c "$P approve $D > out 2>&1; touch ended";'
    " until [ -e ended ]; do sleep 0.05; done; cat out",
    "a terminal of its own": 'script -qec "$P approve $D" /dev/null',
    "another home": (
        'HOME=$HOME/other XDG_STATE_HOME=$HOME/other $P --state "$PLANBOUND_STATE" approve $D'
    ),
    "settings that are taken away first": "rm -r .claude .mcp.json; $P approve $D",
    "the words of a decision": "$P decide rounding approved --digest ${D#* --digest } ",
    "an end that is not its own": "$P release rounding --reason done --as ann",
    "a page that decides": "$P page --port 0 --decide-anyway",
    "a waiver": "$P waive rounding 1 --reason fine --as ann",
    "a host that stands above": (
        'W=$PWD; cd ..; setsid -f sh -c "cd $W; $P approve $D > out 2>&1; touch ended";'
        " until [ -e $W/ended ]; do sleep 0.05; done; cat $W/out"
    ),
    "no host any more": "$P install claude --uninstall",
}
QUICK = frozenset({"a variable", "a session of its own"})


@pytest.fixture
def hosted(tmp_path: Path) -> Hosted:
    scratch = Scratch(tmp_path)
    path = scratch.workspace / ".harness" / "PLAN-rounding.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(plan_text(Step("Make a")))
    assert scratch.run("install", "claude").code == 0
    (tmp_path / "bin").mkdir()
    host = shutil.copy("/bin/bash", tmp_path / "bin" / "claude")
    seen = digest(parse(path.read_bytes(), path="PLAN-rounding.md"))[:12]
    return Hosted(scratch, str(host), f"rounding --as ann --digest {seen}")


@pytest.mark.requirement("loop.decisions")
@pytest.mark.parametrize(
    "disguise",
    [
        each if each in QUICK else pytest.param(each, marks=pytest.mark.thorough)
        for each in DISGUISES
    ],
)
def test_no_agent_decides_however_its_command_is_dressed_up(hosted: Hosted, disguise: str) -> None:
    said = hosted.says(DISGUISES[disguise])
    assert "this is for a person to decide, and an agent's hand is in it" in said
    assert "a terminal of your own" in said
    assert not hosted.approved
    assert not hosted.scratch.log().of("WAIVED")
    assert (hosted.scratch.workspace / ".claude").exists() == ("taken away" not in disguise)


@pytest.mark.thorough
@pytest.mark.requirement("loop.decisions")
def test_an_agent_takes_no_new_baseline_of_an_approved_plan(hosted: Hosted) -> None:
    """Other judges would stand in the place of those that a person approved."""
    assert "this is for a person" not in hosted.says("$P baseline rounding")
    assert "approved" in hosted.says("$P approve $D", host="/bin/bash")
    before = len(hosted.scratch.log().of("BASELINE_OBSERVED"))
    assert "this is for a person to decide" in hosted.says("$P baseline rounding")
    assert len(hosted.scratch.log().of("BASELINE_OBSERVED")) == before
    hosted.says("$P baseline rounding", host="/bin/bash")
    assert len(hosted.scratch.log().of("BASELINE_OBSERVED")) > before


@pytest.mark.requirement("loop.decisions")
def test_an_agent_of_a_run_does_not_decide_either(hosted: Hosted) -> None:
    said = hosted.says(
        "env -u PLANBOUND_ATTEMPT $P approve $D", host="/bin/bash", PLANBOUND_ATTEMPT="1"
    )
    assert "is an agent's of `planbound run`" in said
    assert not hosted.approved


@pytest.mark.thorough
@pytest.mark.requirement("loop.decisions")
def test_a_person_decides_beside_a_host_and_in_one_that_was_not_set_up(hosted: Hosted) -> None:
    assert "approved" in hosted.says("$P approve $D", host="/bin/bash")
    assert hosted.approved
    other = shutil.copy("/bin/bash", Path(hosted.host).parent / "goose")
    assert "rejected" in hosted.says("$P reject rounding --as ann --reason no", host=str(other))


@pytest.mark.requirement("loop.decisions")
@pytest.mark.thorough
def test_a_signature_says_whose_decision_it_is_whoever_hands_it_in(
    hosted: Hosted, tmp_path: Path
) -> None:
    """But not by a list of signers that the agent brings along: it is not the account's own."""
    sign = (
        'ssh-keygen -q -t ed25519 -N "" -f "$T/key"\n'
        'mkdir -p "$T/mine/planbound"\n'
        'echo "ann $(cat "$T/key.pub")" > "$T/mine/planbound/allowed_signers"\n'
        "$P approve rounding --statement > $T/said\n"
        'ssh-keygen -Y sign -f "$T/key" -n planbound-approval@v1 "$T/said"\n'
        "$P approve rounding --as ann --signature $T/said.sig\n"
    )
    need("ssh-keygen", "signatures are made by it")
    beside = {"T": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "mine")}
    said = hosted.says(sign, **beside)
    assert "an agent's hand is in it" in said
    assert not hosted.approved
    again = sign.replace("ssh-keygen -q", 'rm -f "$T"/key* "$T"/said*; ssh-keygen -q')
    said = hosted.says(again, host="/bin/bash", **beside)
    assert hosted.approved, said


# -- secrets in other clothes ----------------------------------------------------------------------


KNOWN = "correct-Horse_42/batt=ery"
"""The value of a variable of the harness."""
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
"""A token that nobody knows, but by its look."""


def _lines(secret: str, width: int, before: str = "") -> str:
    parts = [secret[place : place + width] for place in range(0, len(secret), width)]
    return f"\n{before}".join(parts)


def _hex(secret: str, joint: str = "") -> str:
    return joint.join(f"{byte:02x}" for byte in secret.encode())


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CLOTHES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("as it is", str),
    ("in JSON", lambda s: json.dumps({"said": f'he said "{s}"'})),
    ("in JSON in JSON", lambda s: json.dumps(json.dumps({"said": s}))),
    ("by codes of JSON", lambda s: "".join(f"\\u{ord(c):04x}" for c in s)),
    ("by codes of Python", lambda s: "".join(f"\\x{ord(c):02x}" for c in s)),
    ("by octal codes", lambda s: "".join(f"\\{ord(c):03o}" for c in s)),
    ("by codes of HTML", lambda s: "".join(f"&#{ord(c)};" for c in s)),
    ("in an address", lambda s: f"q={urllib.parse.quote(s, safe='')}"),
    ("in an address, every letter", lambda s: "".join(f"%{ord(c):02X}" for c in s)),
    ("in an address, twice", lambda s: "".join(f"%25{ord(c):02x}" for c in s)),
    ("in colours", lambda s: f"{s[:9]}\x1b[1;31m{s[9:14]}\x1b[0m{s[14:]}"),
    ("in colours of JSON", lambda s: json.dumps(f"{s[:9]}\x1b[31m{s[9:]}")),
    ("each letter in a colour", lambda s: "".join(f"\x1b[3{i % 8}m{c}" for i, c in enumerate(s))),
    ("as where a link leads", lambda s: f"\x1b]8;;{s}\x07x\x1b]8;;\x07"),
    ("as the name of a window", lambda s: f"\x1b]0;{s}\x1b\\"),
    ("with what nobody sees", "\u200b".join),
    ("with zeros", "\0".join),
    ("wrapped", lambda s: _lines(s, 20)),
    ("wrapped and set in", lambda s: _lines(f"it is {s}", 16, "    ")),
    ("wrapped by a backslash", lambda s: s[:18] + "\\\n" + s[18:]),
    ("in hexadecimal", _hex),
    ("in large hexadecimal", lambda s: f"key {_hex(s).upper()} end"),
    ("in Base64", _base64),
    ("in Base64 with others", lambda s: _base64(f"user: {s}\n")),
    ("in Base64 for addresses", lambda s: base64.urlsafe_b64encode(s.encode()).decode()),
    ("backwards", lambda s: s[::-1]),
)
OF_KNOWN: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("in hexadecimal with colons", lambda s: _hex(s, ":")),
    ("in hexadecimal with blanks", lambda s: _hex(s, " ")),
    ("as an array of C", lambda s: ", ".join(f"0x{byte:02x}" for byte in s.encode())),
    ("in narrow lines", lambda s: _lines(s, 3)),
    ("in strings side by side", lambda s: f'{s[:8]}" "{s[8:]}'),
    ("in Base64, wrapped", lambda s: _lines(_base64(f"so: {s}"), 19)),
    ("backwards and wrapped", lambda s: _lines(s[::-1], 7)),
)


@pytest.mark.requirement("loop.clothes")
@one_fact("name, dress", [*CLOTHES, *OF_KNOWN])
def test_a_known_secret_is_taken_out_in_any_clothes(name: str, dress: Callable[[str], str]) -> None:
    for before, after in (("", ""), ("the log says: ", "\nok\n")):
        said, count = Redactor({"APP_SECRET": KNOWN}).redact(f"{before}{dress(KNOWN)}{after}")
        assert count >= 1, said
        assert "[redacted:environment]" in said
        assert said.startswith(before)
        assert said.endswith(after)
        left = said.replace("[redacted:environment]", "")
        assert len(left) <= len(before) + len(after) + 30, said


@pytest.mark.requirement("loop.clothes")
@one_fact(
    "name, byte",
    [
        ("by octal codes", lambda b: f"\\{b:03o}"),
        ("as git writes names", lambda b: f"\\{b:03o}" if b > 0x7F else chr(b)),
        ("in an address", lambda b: f"%{b:02x}"),
    ],
)
@one_fact("secret", ["geheimnis-für-morgen", "trésor caché, à demain"])
def test_a_known_secret_with_accents_is_found_byte_by_byte(
    name: str, byte: Callable[[int], str], secret: str
) -> None:
    dressed = "".join(map(byte, secret.encode()))
    said, count = Redactor({"APP_SECRET": secret}).redact(f"it is {dressed}\n")
    assert count == 1, said
    # Of the first escape its beginning may be left.
    assert re.fullmatch(r"it is (?:%\w|\\\w\w)?\[redacted:environment\]\n", said), said


@pytest.mark.requirement("loop.clothes")
@one_fact("name, dress", CLOTHES)
def test_a_token_is_taken_out_in_any_clothes(name: str, dress: Callable[[str], str]) -> None:
    said, count = Redactor({}).redact(f"the log says: {dress(TOKEN)}\nok\n")
    assert count >= 1, said
    assert said.startswith("the log says: ")
    assert said.endswith("\nok\n")
    assert len(said) < 100, said


ORDINARY = (
    "\x1b[32mPASSED\x1b[0m tests/test_a.py::test_one\x1b[2K\r[ 42%]\n" * 20,
    "100% of 25%40 done, 7%2 left; printf '%d%%\\n' \\x1b[0m \\u00e4\n",
    "commit 4f2a0c1d5e6b7a8990a1b2c3d4e5f60718293a4b\nsha256:" + "ab12" * 16 + "\n",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n",
    "/usr/lib/python3/dist-packages/some_package/with_a_long_name/module_of_it.py:3: in f\n",
    "disk-\nusage of task-\nrunner_with_a_long_name_and_1_number is fine\n",
    _base64("a text like any other, of which nobody has to be afraid\n"),
    _hex("a text like any other, of which nobody has to be afraid\n"),
    "00000000: 7468 6520 6c6f 6720 7361 7973 2068 656c  the log says hel\n",
    "a key of the map, the token that the parser reads, one secret of success\n",
    "href=%2Fdocs%2Fhow-to%2Fhooks.md%23who-decides&q=a%20b\n",
)


@pytest.mark.requirement("loop.clothes")
@one_fact("text", ORDINARY)
def test_ordinary_output_is_left_as_it_is(text: str) -> None:
    redactor = Redactor({"APP_SECRET": KNOWN, "PGPASSWORD": "postgres", "CI_TOKEN": "abcdef0123"})
    assert redactor.redact(text) == (text, 0)
