"""Others are told of what happens."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shlex
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from planbound.journal.event import EventKind
from planbound.journal.record import Details, Draft, Json, Provenance
from planbound.journal.sqlite import SqliteJournal
from tests.needs import need
from tests.program import Program
from tests.receiver import PATIENCE, Receiver, receiving, wait_until_gone

SECRET = "correct horse battery staple"


def configure(program: Program, **values: object) -> None:
    """Write one entry; what has happened before does not concern it."""
    write(program, **values)
    done = program.run("notify", HOOK_SECRET=SECRET)
    assert (done.code, done.out) == (3, "")
    assert "is told of what happens from now on" in done.err


def write(program: Program, **values: object) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"events": ["*"], **values}.items()]
    program.write("planbound.toml", "\n".join(["[[notify]]", *lines, ""]))


def hook(program: Program, receiver: Receiver | None, url: str = "", **values: object) -> None:
    configure(
        program, url=url or (receiver.url if receiver else ""), secret_env="HOOK_SECRET", **values
    )


def notify(program: Program, *arguments: str, **extra: str) -> tuple[int, list[str]]:
    done = program.run(
        "notify", *arguments, stdin="", cwd=None, obeys_permissions=False, process=False,
        HOOK_SECRET=SECRET, **extra,
    )  # fmt: skip
    assert done.err in {"", "nothing to do: everybody was told of everything\n"}
    return done.code, done.out.splitlines()


def log(program: Program) -> list[dict[str, Any]]:
    return [json.loads(line) for line in program.run("log", "--json").out.splitlines()]


def append(program: Program, name: str, **details: Json) -> None:
    """Put an event into the journal as it is, secrets and all."""
    (path,) = (program.workspace / ".home/.local/state/planbound").glob("*/journal.sqlite")
    journal = SqliteJournal(str(path))
    journal.append(
        [
            Draft(
                id=name,
                timestamp="2026-11-15T09:10:11.000000Z",
                kind=EventKind.RECOVERY_ESCALATION,
                plan="rounding",
                task_id="s2",
                task_name="Round once",
                details=Details.of({"reason": "no progress", "user_decision": None, **details}),
            )
        ]
    )
    journal.close()


def test_without_receivers_there_is_nothing_to_do(program: Program) -> None:
    done = program.run("notify")
    assert (done.code, done.out) == (3, "")
    assert done.err == "nothing to do: the configuration has no `[[notify]]`\n"


@pytest.mark.requirement("command.notify")
def test_a_webhook_gets_what_the_log_prints_signed_and_in_order(program: Program) -> None:
    with receiving() as receiver:
        program.run("new", "before")
        hook(program, receiver)
        for name in ("a", "b", "c"):
            program.run("new", name)
        assert notify(program) == (
            0,
            [f"delivered: PLAN_CREATED {x} to http://127.0.0.1:{receiver.port}" for x in "abc"],
        )
        assert notify(program) == (3, [])
    found = [request.json for request in receiver.requests]
    project = found[0]["project"]
    assert found == [{**event, "project": project} for event in log(program)[1:]]
    for request in receiver.requests:
        assert request.path == "/hook?of=planbound"
        headers = request.headers
        assert headers["Content-Type"] == "application/json"
        assert headers["X-Planbound-Event"] == "PLAN_CREATED"
        assert headers["X-Planbound-Delivery"] == request.json["id"]
        stamp = headers["X-Planbound-Timestamp"]
        assert abs(int(stamp) - time.time()) < 600
        signed = hmac.new(SECRET.encode(), f"{stamp}.".encode() + request.body, hashlib.sha256)
        assert headers["X-Planbound-Signature"] == f"sha256={signed.hexdigest()}"
        assert SECRET not in f"{headers} {request.body!r}"


def test_only_the_events_that_were_asked_for_are_sent(program: Program) -> None:
    with receiving() as receiver:
        hook(program, receiver, events=["RECOVERY_ESCALATION", "EXECUTION_COMPLETE"])
        program.run("new", "a")
        assert notify(program) == (3, [])
        append(program, "e1")
        program.run("new", "b")
        code, lines = notify(program)
    assert code == 0
    assert lines == [
        f"delivered: RECOVERY_ESCALATION rounding/s2 to http://127.0.0.1:{receiver.port}"
    ]
    assert [request.json["event"] for request in receiver.requests] == ["RECOVERY_ESCALATION"]


def test_what_was_played_again_is_not_news(program: Program) -> None:
    with receiving() as receiver:
        program.run("new", "a")
        hook(program, receiver)
        (path,) = (program.workspace / ".home/.local/state/planbound").glob("*/journal.sqlite")
        journal = SqliteJournal(str(path))
        details: dict[str, Json] = {"reason": "old", "user_decision": None}
        stamp = "2026-11-15T09:10:11.000000Z"
        for number, provenance in enumerate(Provenance):
            kind = EventKind.RECOVERY_ESCALATION
            old = Draft(
                str(number), stamp, kind, "a", details=Details.of(details), provenance=provenance
            )
            journal.append([old])
        journal.close()
        assert notify(program)[0] == 0
    assert [request.json["provenance"] for request in receiver.requests] == ["live"]


@pytest.mark.thorough
def test_a_receiver_that_fails_is_asked_again(program: Program) -> None:
    with receiving(500, 200) as receiver:
        hook(program, receiver, retries=1)
        program.run("new", "a")
        code, lines = notify(program)
    assert code == 0
    assert lines == [
        f"failed: PLAN_CREATED a to http://127.0.0.1:{receiver.port}: HTTP status 500 (try 1 of 2)",
        f"delivered: PLAN_CREATED a to http://127.0.0.1:{receiver.port}",
    ]
    first, second = receiver.requests
    assert first.headers["X-Planbound-Delivery"] == second.headers["X-Planbound-Delivery"]
    assert first.body == second.body


def test_a_receiver_that_was_not_there_is_told_later(program: Program) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hook(program, None, url=f"http://localhost:{port}/")
    program.run("new", "a")
    code, lines = notify(program, "--once")
    assert code == 1
    assert "Connection refused (try 1 of 6)" in lines[0]
    doctor = program.run("doctor", HOOK_SECRET=SECRET)
    assert f"`http://localhost:{port}` did not take an event yet: Connection refused" in doctor.out
    with receiving(port=port) as receiver:
        assert notify(program, "--once") == (
            0,
            [f"delivered: PLAN_CREATED a to http://localhost:{port}"],
        )
    assert [request.json["plan"] for request in receiver.requests] == ["a"]
    doctor = program.run("doctor", HOOK_SECRET=SECRET)
    assert "OK    notify: everybody takes what they are told" in doctor.out


@pytest.mark.requirement("notify.finite")
def test_after_so_many_retries_an_event_is_given_up_and_the_next_one_comes(
    program: Program,
) -> None:
    with receiving(500, 500, 200) as receiver:
        hook(program, receiver, retries=1)
        program.run("new", "a")
        program.run("new", "b")
        done = program.run("notify", "--json", HOOK_SECRET=SECRET)
    assert done.code == 1
    assert [(each["plan"], each["fate"], each["tries"]) for each in done.json["deliveries"]] == [
        ("a", "failed", 1),
        ("a", "given-up", 2),
        ("b", "delivered", 1),
    ]
    assert done.json["deliveries"][1]["reason"] == "HTTP status 500"
    assert notify(program) == (3, [])


def test_doctor_tells_of_what_was_given_up(program: Program) -> None:
    with receiving(500) as receiver:
        hook(program, receiver, retries=0)
        program.run("new", "a")
        assert notify(program)[0] == 1
        where = f"http://127.0.0.1:{receiver.port}"
    doctor = program.run("doctor", HOOK_SECRET=SECRET)
    assert f"WARN  notify: `{where}` was not told of an event: HTTP status 500" in doctor.out
    doctor = program.run("doctor")
    assert f"`HOOK_SECRET`, which signs what is sent to `{where}`, is not set" in doctor.out


@pytest.mark.requirement("notify.signed")
def test_a_redirect_is_not_followed(program: Program) -> None:
    with receiving(302) as receiver:
        hook(program, receiver)
        program.run("new", "a")
        code, lines = notify(program, "--once")
    assert code == 1
    assert "HTTP status 302, a redirect, which is not followed" in lines[0]
    assert [request.path for request in receiver.requests] == ["/hook?of=planbound"]


def test_http_to_another_machine_is_refused(program: Program) -> None:
    write(program, url="http://hooks.example.org/", secret_env="HOOK_SECRET")
    done = program.run("notify", HOOK_SECRET=SECRET)
    assert (done.code, done.out) == (2, "")
    assert "`notify[1].url` goes to `hooks.example.org` by `http`" in done.err


def test_a_certificate_that_nobody_vouches_for_is_refused(
    program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need("openssl", "it makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with receiving(context=context) as receiver:
        where = f"https://localhost:{receiver.port}"
        hook(program, receiver, url=where)
        program.run("new", "a")
        code, lines = notify(program, "--once")
        assert (code, receiver.requests) == (1, [])
        assert "its certificate does not hold" in lines[0]
        delivered = notify(program, "--once", SSL_CERT_FILE=str(certificate))
        assert delivered == (0, [f"delivered: PLAN_CREATED a to {where}"])
        assert receiver.requests[0].headers["Host"] == f"localhost:{receiver.port}"


def test_a_receiver_that_drips_is_cut_off(program: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                # Never an end of line, and never a pause that is as long as the time limit.
                while not over.wait(0.05):
                    try:
                        connection.send(b"H")
                    except OSError:
                        return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            port = server.getsockname()[1]
            hook(program, None, url=f"http://127.0.0.1:{port}/", timeout="400ms")
            program.run("new", "a")
            code, lines = notify(program, "--once")
        finally:
            over.set()
            dripping.join()
    assert code == 1
    assert "no answer within 0.4 s" in lines[0]


def test_nothing_is_sent_unsigned(program: Program) -> None:
    with receiving() as receiver:
        hook(program, receiver)
        program.run("new", "a")
        done = program.run("notify")
        assert (done.code, done.out) == (1, "")
        assert "`HOOK_SECRET`, which signs what is sent to" in done.err
        assert receiver.requests == []
        assert notify(program)[0] == 0  # it was not counted against the event


# -- secrets -----------------------------------------------------------------------------------


@pytest.mark.requirement("notify.no-secrets")
def test_secrets_arrive_redacted(program: Program) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    late = "hunter2-and-more"
    with receiving() as receiver:
        program.plan("sound")
        program.run("verify", "sound")
        write(program, url=receiver.url, secret_env="HOOK_SIGNS")  # a name that tells nothing
        program.run("notify", HOOK_SIGNS=SECRET)
        asked = program.run("ask", "sound", f"is {token} right?", "--as", "Anna")
        assert asked.code in {0, 4}, asked.err
        append(program, "e1", x_note=f"the word is {late}, the key {SECRET}")
        done = program.run("notify", HOOK_SIGNS=SECRET, SERVICE_PASSWORD=late)
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    first, second = receiver.requests
    assert first.json["event"] == "GATE_CLARIFICATION_ASKED"
    assert first.json["details"]["question"].startswith("is [redacted:")
    assert token.encode() not in first.body
    assert second.json["details"]["x_note"].count("[redacted:environment]") == 2
    assert second.json["redactions"] == 2
    assert late.encode() not in second.body
    assert SECRET.encode() not in second.body


# -- commands ----------------------------------------------------------------------------------


def told(folder: Path, then: str = "") -> list[str]:
    """Return a command that writes down all it sees, then goes on."""
    script = f"""
import json, os, sys
seen = {{"environment": dict(os.environ), "body": json.load(sys.stdin), "cwd": os.getcwd()}}
with open({str(folder / "seen")!r}, "a") as file:
    file.write(json.dumps(seen) + "\\n")
{then}
"""
    return [sys.executable, "-I", "-S", "-c", script]


def seen(folder: Path) -> list[Any]:
    path = folder / "seen"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_command_sees_the_event_and_no_secret(
    program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    configure(program, command=told(outside))
    program.run("new", "a")
    append(program, "e1")
    inside = f"{program.workspace}/.venv/bin"
    path = f"{inside}:relative:{os.environ['PATH']}"
    extra = {"API_TOKEN": "t0ken-t0ken", "LANG": "C.UTF-8", "PATH": path, "PLANBOUND_STATE": ""}
    code, lines = notify(program, **extra)
    assert code == 0
    assert lines[1] == f"delivered: RECOVERY_ESCALATION rounding/s2 to {sys.executable}"
    first, second = seen(outside)
    assert first["cwd"] == str(program.workspace)
    assert first["body"]["plan"] == first["environment"]["PLANBOUND_PLAN"] == "a"
    assert first["environment"]["PLANBOUND_TASK"] == ""
    environment = second["environment"]
    environment.pop("LC_CTYPE", None)  # the interpreter sets it by itself
    assert environment == {
        "PLANBOUND_EVENT": "RECOVERY_ESCALATION",
        "PLANBOUND_PLAN": "rounding",
        "PLANBOUND_TASK": "s2",
        "HOME": str(program.workspace / ".home"),
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }


def test_a_command_in_the_workspace_is_refused(program: Program) -> None:
    script = program.write("tell.sh", "#!/bin/sh\n")
    script.chmod(0o755)
    write(program, command=[str(script)])
    done = program.run("notify")
    assert (done.code, done.out) == (2, "")
    assert "which lies in the workspace" in done.err
    assert "agents can change it there" in done.err


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["sh", "-c", "echo a; echo 'no bus' >&2; exit 3"], "exit code 3: no bus (try 1 of 6)"),
        (["sh", "-c", "kill -TERM $$"], "ended by signal 15"),
        (["there-is-no-such-program"], "it cannot be started: No such file or directory"),
        (["sh", "-c", "echo my $0 >&2; exit 1", "ghp_" + "a1B2c3D4e5F6" * 3], "my [redacted:"),
    ],
)
def test_a_command_that_fails_says_why(program: Program, command: list[str], reason: str) -> None:
    configure(program, command=command)
    program.run("new", "a")
    code, lines = notify(program, "--once")
    assert code == 1
    assert f"to {command[0]}: " in lines[0]
    assert reason in lines[0]


@pytest.mark.thorough
def test_a_command_that_hangs_is_killed_with_all_that_it_started(
    program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    numbers = shlex.quote(str(outside / "numbers"))
    script = f"sleep 1000 & echo $$ $! > {numbers}; wait"
    configure(program, command=["sh", "-c", script], timeout="500ms")
    program.run("new", "a")
    code, lines = notify(program, "--once")
    assert code == 1
    assert "it did not end within 0.5 s" in lines[0]
    for number in (outside / "numbers").read_text().split():
        wait_until_gone(int(number))


# -- crashes and company -----------------------------------------------------------------------


@pytest.mark.requirement("notify.at-least-once")
def test_who_is_killed_before_writing_it_down_delivers_again(
    program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    once = str(outside / "once")
    kill = f"if not os.path.exists({once!r}): open({once!r}, 'w'); os.kill(os.getppid(), 9)"
    configure(program, command=told(outside, kill))
    program.run("new", "a")
    program.run("new", "b")
    assert program.run("notify", process=True).code == -9
    assert notify(program)[0] == 0
    ids = [each["body"]["id"] for each in seen(outside)]
    events = [event["id"] for event in log(program)]
    assert ids == [events[0], *events]


@pytest.mark.thorough
@pytest.mark.requirement("notify.at-least-once")
def test_two_processes_do_not_deliver_the_same(program: Program) -> None:
    with receiving() as receiver:
        hook(program, receiver)
        for name in ("a", "b", "c"):
            program.run("new", name)
        receiver.held = threading.Event()
        with subprocess.Popen(
            [sys.executable, "-m", "planbound", "notify"],
            cwd=program.workspace,
            stdout=subprocess.PIPE,
            env=program.environment(HOOK_SECRET=SECRET),
        ) as first:
            receiver.wait_for(1)
            second = program.run("notify", "--once", HOOK_SECRET=SECRET)
            assert (second.code, second.out) == (3, "")
            assert second.err == "nothing to do: another process delivers just now\n"
            receiver.held.set()
            out, _ = first.communicate(timeout=PATIENCE)
        assert first.returncode == 0
        assert len(out.splitlines()) == 3
    assert [request.json["plan"] for request in receiver.requests] == ["a", "b", "c"]


def test_a_file_that_is_damaged_is_named(program: Program) -> None:
    configure(program, command=["true"])
    (path,) = (program.workspace / ".home/.local/state/planbound").glob("*/notify.json")
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    done = program.run("notify")
    assert (done.code, done.out) == (2, "")
    assert "does not say who was told of what" in done.err
    assert "FAIL  notify:" in program.run("doctor").out
    path.unlink()
    program.run("new", "a")
    assert program.run("notify").code == 3
