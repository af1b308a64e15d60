"""`planbound page` from outside."""

from __future__ import annotations

import json
import signal
import socket
import threading
from pathlib import Path

import pytest

from planbound.errors import INTERRUPTED
from planbound.page.merges import MergeDesk
from planbound.team.merge import Integrated
from planbound.workspace.context import Context
from tests.page.browser import serving
from tests.program import WITHOUT_WALLS, Program
from tests.run.bench import Bench

pytestmark = pytest.mark.requirement("command.page")


def test_page_serves_until_it_is_told_to_stop(program: Program) -> None:
    program.plan("hello")
    with serving(program) as running:
        assert running.enter().status == 200
        assert "hello" in running.get("/").text
        running.stop()
        assert running.process.returncode == 0
    assert "Traceback" not in (program.workspace / ".page-log").read_text()


@pytest.mark.thorough
def test_serve_is_another_word_for_it(program: Program) -> None:
    with serving(program, word="serve") as running:
        assert running.enter().status == 200


@pytest.mark.thorough
def test_an_empty_workspace_has_a_page_too(program: Program) -> None:
    (program.workspace / ".harness").mkdir()
    with serving(program) as running:
        running.enter()
        for target in ("/", "/journal", "/costs"):
            answer = running.get(target)
            assert answer.status == 200
        assert "There is no plan here yet" in running.get("/").text
        assert "there is no journal" in running.get("/journal").text
        program.plan("later")
        assert "later" in running.get("/").text


def test_a_link_is_printed_for_the_page_that_runs(program: Program) -> None:
    refused = program.run("page", "--url")
    assert refused.code == 2
    assert "no page is served for this workspace" in refused.err
    with serving(program) as running:
        link = program.run("page", "--url", "--json").json
        assert link["port"] == running.port
        assert link["url"].startswith(f"{running.address}/enter?token=")
        with serving(program) as other:
            several = program.run("page", "--url")
            assert several.code == 2
            assert "name one with `--port`" in several.err
            elsewhere = program.run("page", "--url", "--port", "1")
            assert "no page of this workspace is served at port 1" in elsewhere.err
            assert str(running.port) in elsewhere.err
            named = program.run("page", "--url", "--port", str(other.port))
            assert named.out.startswith(other.address)
        running.process.kill()
        running.process.wait()
    assert program.run("page", "--url").code == 2


@pytest.mark.thorough
def test_a_port_that_is_taken_is_said_and_the_usual_one_gives_way(program: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = program.run("page", "--port", str(port), process=True)
        assert refused.code == 2
        why = "cannot be listened on: Address already in use\n"
        assert f"port {port} of `127.0.0.1` {why}" in refused.err
    for wrong in ("-1", "70000", "x"):
        assert program.run("page", "--port", wrong).code == 2
    program.write("planbound.toml", "[page]\nport = 70000\n")
    assert "up to 65535" in program.run("page").err


@pytest.mark.parametrize(
    "words", [["--json"], ["--url", "--decide"], ["--url", "--host", "127.0.0.1"]]
)
def test_words_that_do_not_go_together_are_refused(program: Program, words: list[str]) -> None:
    assert program.run("page", *words).code == 2


@pytest.mark.thorough
def test_the_browser_is_opened_by_the_link(program: Program, tmp_path: Path) -> None:
    told = tmp_path / "told"
    opener = program.write("opener", f'#!/bin/sh\nprintf %s "$1" > {told}\n')
    opener.chmod(0o755)
    with serving(program, "--open", BROWSER=str(opener)) as running:
        running.enter()
        # It is opened after the link was printed, and before the first request is answered.
        assert told.read_text() == running.link


@pytest.mark.thorough
def test_a_page_decides_where_agents_cannot_reach_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    tried = bench.run("selftest", "--json").json["cells"]
    apart = any(
        each["works"] and each["isolation"] >= "I2" for each in tried if each["for"] == "agent"
    )
    with serving(bench, "--decide") as running:
        running.enter()
        assert ("This page only shows" not in running.get("/").text) is apart


def test_where_agents_could_reach_it_a_page_only_shows(program: Program) -> None:
    bare = Program(program.workspace)
    bare.program = WITHOUT_WALLS
    with serving(bare, "--decide") as running:
        running.enter()
        assert "agents are kept apart at I" in running.get("/").text
        answer = running.post("/", {"nonce": "x"})
        assert answer.status == 403
        assert "--decide-anyway" in answer.text
    with serving(bare, "--decide-anyway") as running:
        running.enter()
        assert "This page only shows" not in running.get("/").text


def test_what_is_missing_to_serve_a_page_is_said(program: Program) -> None:
    program.write("hidden/starlette/__init__.py", "raise ModuleNotFoundError(name='starlette')\n")
    refused = program.run("page", process=True, PYTHONPATH=str(program.workspace / "hidden"))
    assert refused.code == 2
    assert "the package `starlette` is not here, and `planbound page` needs it" in refused.err
    assert "planbound[page]" in refused.err


@pytest.mark.thorough
def test_a_broken_configuration_is_said_on_the_page(program: Program) -> None:
    program.plan("hello")
    with serving(program) as running:
        running.enter()
        program.write("planbound.toml", "[contracts]\nnonsense = 1\n")
        answer = running.get("/plan/hello/sheet")
        assert answer.status == 500
        assert "nonsense" in answer.text
        program.write("planbound.toml", "")
        assert running.get("/plan/hello/sheet").status == 200


@pytest.mark.thorough
def test_what_page_prints_for_programs_is_one_document(program: Program) -> None:
    with serving(program):
        found = json.loads(program.run("page", "--url", "--json").out)
    assert set(found) == {"url", "port"}


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_every_word_to_end_ends_it_in_peace(program: Program, number: signal.Signals) -> None:
    with serving(program) as running:
        (note,) = (program.workspace / ".home").rglob(f"page/{running.port}.json")
        running.process.send_signal(number)
        assert running.process.wait(timeout=60) == 0
        assert not note.exists()
    assert "the page has ended" in (program.workspace / ".page-log").read_text()


class MergesUntilStopped:
    """What merges until it is told to end."""

    begun = threading.Event()

    def __init__(self, *_: object) -> None:
        self.told = threading.Event()
        self.reason = ""

    def stop(self, reason: str) -> None:
        self.reason = reason
        self.told.set()

    def execute(self) -> Integrated:
        self.begun.set()
        assert self.told.wait(60)
        return Integrated("main", "a", "a", (), interrupted=self.reason == INTERRUPTED)


def test_a_merge_that_goes_on_is_stopped_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planbound.page.merges.Integrator", MergesUntilStopped)
    desk = MergeDesk()
    assert list(desk.end()) == [], "nothing goes on"
    context = Context(workspace=str(tmp_path), state=str(tmp_path / "state"))
    for waits in (True, False):  # also where it was told before it began
        job = desk.begin(context, ["hello"], "main")
        if waits:
            assert MergesUntilStopped.begun.wait(60)
        (said,) = desk.end()
        assert "stopping to merge into `main`" in said
        assert job.ended.is_set()
        assert job.done is not None
        assert job.done.interrupted
        assert list(desk.end()) == []
